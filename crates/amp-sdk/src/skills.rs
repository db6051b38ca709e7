//! Skills: what the agent can be taught from directories and repositories.

use std::path::PathBuf;

use crate::capability::Feature;
use crate::manage::{Call, Words, calls};

/// How [`add`] installs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Add {
    /// Into this directory.
    pub target: Option<PathBuf>,
    /// For all of this user's projects.
    pub global: bool,
    /// In the place of one of the same name.
    pub overwrite: bool,
    /// Under another name.
    pub name: Option<String>,
}

calls! {
    amp;

    /// Installs the skills of a source: `owner/repo/path`, a git address, a directory.
    add(source: &str, how: &Add) -> String {
        let words = Words::new(&["skill", "add"])
            .place("source", source)
            .option("--target", how.target.as_ref())
            .switch("--global", how.global)
            .switch("--overwrite", how.overwrite)
            .option("--name", how.name.as_ref());
        Ok(Call::text(words, &[Feature::Skills]))
    }

    /// The available skills, as the CLI prints them, or its JSON.
    list(json: bool) -> String {
        Ok(Call::text(Words::new(&["skill", "list"]).switch("--json", json), &[Feature::Skills]))
    }

    /// Removes a skill.
    remove(name: &str) -> String {
        Ok(Call::text(Words::new(&["skill", "remove"]).place("name", name), &[Feature::Skills]))
    }

    /// One skill, as the CLI prints it.
    info(name: &str) -> String {
        Ok(Call::text(Words::new(&["skill", "info"]).place("name", name), &[Feature::Skills]))
    }
}
