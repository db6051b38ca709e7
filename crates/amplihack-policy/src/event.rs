//! Events that are judged, and facts of the world that a rule may ask for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;

/// The source of judged text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The user's own prompt.
    Prompt,
    /// A page that was fetched.
    Page,
    /// The output of a tool.
    ToolOutput,
}

/// The reason for judging the commands of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandFileOccasion {
    /// The file is about to get this text.
    Written,
    /// A tool is about to run what the file holds.
    Run,
}

/// A file's text, as a rule may ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// The text.
    pub text: String,
    /// True if the file was written since the session began, as far as the file system tells.
    pub is_new: bool,
}

/// A thing that an agent is about to do, or has read.
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
        /// The source of the text.
        origin: Origin,
    },
    /// Write a file that holds commands, or run what it holds.
    CommandFile {
        /// The file; relative to `cwd` if it is.
        path: &'a Path,
        /// The file's text; of one that is written, as it will be.
        text: &'a str,
        /// The directory in which its commands would run.
        cwd: &'a Path,
        /// The reason for judging it.
        occasion: CommandFileOccasion,
    },
    /// Use a tool that the policy has no rules for.
    Other {
        /// The tool's name.
        tool: &'a str,
    },
}

/// Facts that only the machine knows. Asked lazily; `None` means that it cannot be found out.
pub trait World {
    /// The branch that is checked out in the repository that holds `dir`.
    fn branch(&self, dir: &Path) -> Option<String>;
    /// Reports whether the repository that holds `dir` has uncommitted changes.
    fn dirty(&self, dir: &Path) -> Option<bool>;
    /// `path` without symbolic links, as far as it exists.
    fn real(&self, path: &Path) -> Option<PathBuf>;
    /// The user's home directory.
    fn home(&self) -> Option<PathBuf>;
    /// Absolute paths of the directories that hold the state of amplihack: registrations, journals, audit, grants. One that is reached
    /// through symbolic links is there as it is written and without them.
    fn state_directories(&self) -> Vec<PathBuf>;
    /// The command that git's alias `name` stands for, in the repository that holds `dir`.
    fn git_alias(&self, dir: &Path, name: &str) -> Option<String>;
    /// Absolute directories of hosts and of the guard's configuration, as the environment says, each with the name that it has by default
    /// below a home: `/x/claude` and `.claude`. One that is reached through symbolic links is there as it is written and without them.
    fn guard_directories(&self) -> Vec<(PathBuf, &'static str)> {
        Vec::new()
    }
    /// Absolute paths of the guard's programs, also where a look-up by name would find another one first.
    fn guard_programs(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Directories that must survive besides the one where a call runs: where the session lives, and where it was launched.
    fn kept_directories(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// The value of an environment variable that names a place of the guard or of a host; of any other `None`.
    fn env_variable(&self, _name: &str) -> Option<String> {
        None
    }
    /// Reports whether there is something at `path`.
    fn path_exists(&self, _path: &Path) -> Option<bool> {
        None
    }
    /// Reports whether this command line of an agent's own is known to start no model. The table of agents' commands is not in this crate.
    fn reaches_no_model(&self, _agent: AgentBinary, _args: &[OsString]) -> bool {
        false
    }
    /// The text of a small regular file, links followed. `None`: there is none, it is large, or no text.
    fn file_text(&self, _path: &Path) -> Option<FileText> {
        None
    }
}
