//! Skills: what the agent can be taught from directories and repositories.

use std::path::PathBuf;

use crate::capability::CliFeature;
use crate::manage::{CommandWords, ManagementCall, calls};
use crate::setters::setters;

/// Options of the installation by [`add`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillAddOptions {
    /// Into this directory.
    pub target: Option<PathBuf>,
    /// For all of this user's projects.
    pub global: bool,
    /// In the place of one of the same name.
    pub overwrite: bool,
    /// Under another name.
    pub name: Option<String>,
}

setters! {
    SkillAddOptions {
        into(PathBuf) with_target = target,
        plain(bool) with_global = global,
        plain(bool) with_overwrite = overwrite,
        into(String) with_name = name,
    }
}

calls! {
    amp;

    /// Installs the skills of a source: `owner/repo/path`, a git address, a directory.
    add(source: &str, how: &SkillAddOptions) -> String {
        let words = CommandWords::new(&["skill", "add"])
            .with_positional("source", source)
            .with_option("--target", how.target.as_ref())
            .with_switch("--global", how.global)
            .with_switch("--overwrite", how.overwrite)
            .with_option("--name", how.name.as_ref());
        Ok(ManagementCall::new_text(words, &[CliFeature::Skills]))
    }

    /// The available skills, as the CLI prints them, or its JSON.
    list(json: bool) -> String {
        Ok(ManagementCall::new_text(CommandWords::new(&["skill", "list"]).with_switch("--json", json), &[CliFeature::Skills]))
    }

    /// Removes a skill.
    remove(name: &str) -> String {
        Ok(ManagementCall::new_text(CommandWords::new(&["skill", "remove"]).with_positional("name", name), &[CliFeature::Skills]))
    }

    /// Returns a skill, as the CLI prints it.
    info(name: &str) -> String {
        Ok(ManagementCall::new_text(CommandWords::new(&["skill", "info"]).with_positional("name", name), &[CliFeature::Skills]))
    }
}
