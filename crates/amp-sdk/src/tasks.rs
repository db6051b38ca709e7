//! Tasks, which only older CLIs have.

use std::path::Path;

use crate::capability::CliFeature;
use crate::manage::{CommandWords, ManagementCall, calls};
use crate::setters::setters;

/// Options of [`import`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskImportOptions {
    /// Into this repository's tasks.
    pub repo: Option<String>,
    /// Say what would be done.
    pub dry_run: bool,
    /// Also what is there already.
    pub force: bool,
}

setters! {
    TaskImportOptions {
        into(String) with_repo = repo,
        plain(bool) with_dry_run = dry_run,
        plain(bool) with_force = force,
    }
}

calls! {
    amp;

    /// The tasks, as the CLI prints them.
    list() -> String {
        Ok(ManagementCall::new_text(CommandWords::new(&["tasks", "list"]), &[CliFeature::Tasks]))
    }

    /// Imports the tasks of a file.
    import(file: &Path, how: &TaskImportOptions) -> String {
        let words = CommandWords::new(&["tasks", "import"])
            .with_positional("file", file)
            .with_option("--repo", how.repo.as_ref())
            .with_switch("--dry-run", how.dry_run)
            .with_switch("--force", how.force);
        Ok(ManagementCall::new_text(words, &[CliFeature::Tasks]))
    }
}
