//! The tests of a table of cells on a page, each of which leaves a line in a file of its own when it is done.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Failure, shell, test};

/// The lines that the cells of one run left.
pub(crate) struct CellLines {
    directory: PathBuf,
}

impl CellLines {
    /// Runs the tests of the module `module` of `amplihack-cli` in their long form, with their lines in the directory `name`. Returns
    /// the lines, and how the tests ended.
    pub(crate) fn of_run(module: &str, name: &str) -> Result<(Self, Result<(), Failure>), Failure> {
        let directory = shell::target().join("tmp").join(name);
        if directory.exists() {
            fs::remove_dir_all(&directory)
                .map_err(|error| format!("failed to remove {}: {error}", directory.display()))?;
        }
        let args = ["--long", "--package", "amplihack-cli", "--test", "it", module].map(str::to_owned);
        let tested = test::run(&args);
        Ok((Self { directory }, tested))
    }

    /// The line of the cell of `row` and `agent`; `None` if it left none.
    pub(crate) fn get(&self, row: &str, agent: &str) -> Option<String> {
        let file = self.directory.join(format!("{row}.{agent}"));
        fs::read_to_string(file).ok().map(|text| text.trim().to_owned())
    }
}

/// The text of a page.
pub(crate) fn read_page(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| format!("failed to read {}: {error}", path.display()))
}

/// The cells of a row in Markdown.
pub(crate) fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// Fails unless all cells of `table` hold: `open` are those that do not.
pub(crate) fn verdict(table: &str, open: &[String]) -> Result<(), Failure> {
    if open.is_empty() {
        return Ok(());
    }
    Err(format!("the {table} is not whole: {}", open.join("; ")))
}
