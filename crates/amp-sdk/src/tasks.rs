//! Tasks, which only older CLIs have.

use std::path::Path;

use crate::capability::Feature;
use crate::manage::{Call, Words, calls};

/// How [`import`] imports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Import {
    /// Into this repository's tasks.
    pub repo: Option<String>,
    /// Say what would be done.
    pub dry_run: bool,
    /// Also what is there already.
    pub force: bool,
}

calls! {
    amp;

    /// The tasks, as the CLI prints them.
    list() -> String {
        Ok(Call::text(Words::new(&["tasks", "list"]), &[Feature::Tasks]))
    }

    /// Imports the tasks of a file.
    import(file: &Path, how: &Import) -> String {
        let words = Words::new(&["tasks", "import"])
            .place("file", file)
            .option("--repo", how.repo.as_ref())
            .switch("--dry-run", how.dry_run)
            .switch("--force", how.force);
        Ok(Call::text(words, &[Feature::Tasks]))
    }
}
