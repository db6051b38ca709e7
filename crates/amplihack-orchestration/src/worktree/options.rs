//! Options of worktrees: where they lie, and what a new one is given.

use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_hooks::guard::{GuardMachine, refused_write};
use amplihack_sys::fs::normal_path;
use serde::{Deserialize, Serialize};

use crate::error::AutoError;

/// Options of the worktrees of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorktreeOptions {
    /// The directory in which they are made, as it is written; below the user's data directory if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// Patterns of files that git ignores and that are copied, besides those of `.worktreeinclude`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// The shell command that is run once in a new worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// The longest time of that command.
    pub setup_timeout: Duration,
    /// True if submodules are initialized.
    pub submodules: bool,
}

impl Default for WorktreeOptions {
    fn default() -> Self {
        Self {
            directory: None,
            include: Vec::new(),
            setup: None,
            setup_timeout: Duration::from_mins(10),
            submodules: false,
        }
    }
}

impl WorktreeOptions {
    /// Takes from the configuration what is not asked for otherwise.
    pub fn apply_config(&mut self, config: &LayeredConfig) {
        if self.directory.is_none() {
            self.directory = config.worktrees_directory().map(PathBuf::from);
        }
        if self.setup.is_none() {
            self.setup = config.worktrees_setup().map(str::to_owned);
        }
        self.include.extend_from_slice(config.worktrees_include());
        self.setup_timeout = config.worktrees_setup_timeout();
        self.submodules |= config.worktrees_submodules();
    }

    /// The directory of the worktrees of `repository`: outside of the state that the guard protects, and outside of the repository, whose
    /// files compilers, linters and git would find above the worktree's own.
    pub(super) fn base_directory(&self, env: &Env, repository: &Path) -> Result<PathBuf, AutoError> {
        let name = repository.file_name().unwrap_or_else(|| "root".as_ref());
        let base = match &self.directory {
            Some(directory) => {
                let below_home = directory.strip_prefix("~").ok().zip(env.home());
                below_home.map_or_else(|| repository.join(directory), |(rest, home)| home.join(rest))
            }
            None => env.data_home().ok_or(AutoError::NoHome)?.join("amplihack/worktrees"),
        };
        Ok(normal_path(&base).join(name))
    }
}

/// Refuses the place of a worktree in which the guard would let no agent write, or in which git keeps its own files.
pub(super) fn check_location(env: &Env, place: &Path, guarded: bool) -> Result<(), AutoError> {
    let refuse = |why: String| Err(AutoError::WorktreePlace { place: place.to_owned(), why });
    let known = place.ancestors().find_map(|above| above.canonicalize().ok());
    let in_git = |path: &Path| path.components().any(|part| part.as_os_str() == ".git");
    if in_git(place) || known.is_some_and(|known| in_git(&known)) {
        return refuse("git keeps its own files there".to_owned());
    }
    if !guarded {
        return Ok(());
    }
    if let Some(state) = GuardMachine::new(env).state_around(place) {
        let state = state.display();
        return refuse(format!("{state} holds amplihack's own files, which the guard protects from agents"));
    }
    // Any file there stands for all of them.
    match refused_write(env, &place.join("file"), place) {
        Some(reason) => refuse(format!("the policy lets no agent write there: {reason}")),
        None => Ok(()),
    }
}

/// `below` in `path`, without a slash at its end where there is nothing below.
pub(super) fn join_below(path: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { path.to_owned() } else { path.join(below) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(directory: Option<&str>) -> PathBuf {
        let options =
            WorktreeOptions { directory: directory.map(PathBuf::from), ..WorktreeOptions::default() };
        options
            .base_directory(&Env::empty().with_variable("HOME", "/home/u"), Path::new("/src/proj"))
            .unwrap()
    }

    #[test]
    fn a_directory_is_relative_to_the_repository_or_to_the_home() {
        for (directory, expected) in [
            (None, "/home/u/.local/share/amplihack/worktrees/proj"),
            (Some("/t"), "/t/proj"),
            (Some("../trees"), "/src/trees/proj"),
            (Some(".worktrees"), "/src/proj/.worktrees/proj"),
            (Some("~/t"), "/home/u/t/proj"),
            (Some("~"), "/home/u/proj"),
            (Some("~x"), "/src/proj/~x/proj"),
        ] {
            assert_eq!(base(directory), Path::new(expected), "{directory:?}");
        }
        let env = Env::empty().with_variable("HOME", "/home/u").with_variable("XDG_DATA_HOME", "/data");
        let options = WorktreeOptions::default();
        assert_eq!(
            options.base_directory(&env, Path::new("/")).unwrap(),
            Path::new("/data/amplihack/worktrees/root")
        );
        assert!(options.base_directory(&Env::empty(), Path::new("/r")).is_err());
    }

    #[test]
    fn a_place_that_is_guarded_is_refused_in_words() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let env =
            Env::empty().with_variable("HOME", &home).with_variable("AMPLIHACK_HOME", home.join("state"));
        for (place, guarded, why) in [
            ("proj/.git/trees/x", true, Some("git keeps its own files there")),
            ("proj/.git/trees/x", false, Some("git keeps its own files there")),
            (
                "state/trees/x",
                true,
                Some("holds amplihack's own files, which the guard protects from agents"),
            ),
            (
                ".amplihack/trees/x",
                true,
                Some("holds amplihack's own files, which the guard protects from agents"),
            ),
            (".config/amplihack/x", true, Some("the policy lets no agent write there")),
            (".config/amplihack/x", false, None),
            ("trees/x", true, None),
            (".local/share/amplihack/worktrees/proj/x", true, None),
        ] {
            let found = check_location(&env, &home.join(place), guarded).err().map(|error| error.to_string());
            let expected = why.unwrap_or_default();
            let told = found.as_deref().unwrap_or_default();
            assert!(why.is_some() == found.is_some() && told.contains(expected), "{place}: {found:?}");
        }
    }
}
