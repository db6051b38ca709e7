//! The log in which tests name what they left out. Runners hide what a test that passed writes to stderr.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::{Failure, shell};

/// The log of one run.
pub(crate) struct SkipLog(PathBuf);

impl SkipLog {
    /// Begins an empty one.
    pub(crate) fn begin() -> Result<Self, Failure> {
        Self::begin_at(shell::target().join("skipped-tests.txt"))
    }

    fn begin_at(path: PathBuf) -> Result<Self, Failure> {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(format!("failed to remove {}: {error}", path.display()))
            }
            _ => Ok(Self(path)),
        }
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The tests that were left out, each once with its reason, sorted.
    pub(crate) fn read(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_skip_counts_once_and_those_of_an_earlier_run_do_not() {
        let path = std::env::temp_dir().join(format!("xtask-skips-{}", std::process::id()));
        fs::write(&path, "old: why\n").unwrap();
        let log = SkipLog::begin_at(path.clone()).unwrap();
        assert_eq!(log.read(), [""; 0]);
        fs::write(log.path(), "b: no tmux\na: no tmux\nb: no tmux\n").unwrap();
        assert_eq!(log.read(), ["a: no tmux", "b: no tmux"]);
        fs::remove_file(path).unwrap();
    }
}
