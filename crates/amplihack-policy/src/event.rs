//! What is judged, and what a rule may ask of the world.

use std::path::{Path, PathBuf};

/// Where judged text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The user's own prompt.
    Prompt,
    /// A page that was fetched.
    Page,
    /// What a tool printed.
    ToolOutput,
}

/// One thing that an agent is about to do, or has read.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Run a shell script in a directory.
    Shell {
        /// The script, as the host would hand it to bash.
        script: &'a [u8],
        /// The directory, from the payload.
        cwd: &'a Path,
    },
    /// Write or edit a file.
    Write {
        /// The file; relative to `cwd` if it is.
        path: &'a Path,
        /// The directory, from the payload.
        cwd: &'a Path,
    },
    /// Read a file.
    Read {
        /// The file; relative to `cwd` if it is.
        path: &'a Path,
        /// The directory, from the payload.
        cwd: &'a Path,
    },
    /// Fetch a URL.
    Fetch {
        /// The URL.
        url: &'a str,
        /// The directory, from the payload.
        cwd: &'a Path,
    },
    /// Read text that somebody else may have written.
    Content {
        /// The text.
        text: &'a str,
        /// Where it comes from.
        origin: Origin,
    },
    /// Use a tool that the policy has no rules for.
    Other {
        /// Its name.
        tool: &'a str,
    },
}

/// Facts that only the machine knows. Asked lazily; `None` means that it cannot be found out.
pub trait World {
    /// The branch that is checked out in the repository that holds `dir`.
    fn branch(&self, dir: &Path) -> Option<String>;
    /// Whether the repository that holds `dir` has uncommitted changes.
    fn dirty(&self, dir: &Path) -> Option<bool>;
    /// `path` without symbolic links, as far as it exists.
    fn real(&self, path: &Path) -> Option<PathBuf>;
    /// The user's home directory.
    fn home(&self) -> Option<PathBuf>;
    /// Absolute paths of the directories that hold the state of amplihack: registrations, journals, audit, grants. One that is reached
    /// through symbolic links is there as it is written and without them.
    fn state(&self) -> Vec<PathBuf>;
    /// The command that git's alias `name` stands for, in the repository that holds `dir`.
    fn git_alias(&self, dir: &Path, name: &str) -> Option<String>;
}
