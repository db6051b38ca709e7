//! Examples of rules, and the small world in which they are judged.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;

use crate::event::{Event, Origin, World};
use crate::fetch::DomainLists;
use crate::xpia::{XpiaLevel, XpiaSettings};

/// The kind of an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExampleKind {
    /// A shell script.
    Shell,
    /// A file that is written.
    Write,
    /// A file that is read.
    Read,
    /// An address that is fetched.
    Fetch,
    /// The output of a tool.
    Output,
}

/// An example. It is judged in [`ExampleWorld::CWD`], on the branch `feature/x` unless it names another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleExample {
    /// The kind of `text`.
    pub kind: ExampleKind,
    /// The script, path or URL.
    pub text: &'static str,
    /// The branch that is checked out; empty: it is not known.
    pub branch: &'static str,
    /// True if there are uncommitted changes.
    pub dirty: bool,
    /// True if the strictest level of `XPIA_SECURITY_LEVEL` holds.
    pub strict: bool,
}

const fn new_example(kind: ExampleKind, text: &'static str) -> RuleExample {
    RuleExample { kind, text, branch: "feature/x", dirty: false, strict: false }
}

pub(crate) const fn shell_example(text: &'static str) -> RuleExample {
    new_example(ExampleKind::Shell, text)
}

pub(crate) const fn write_example(text: &'static str) -> RuleExample {
    new_example(ExampleKind::Write, text)
}

pub(crate) const fn read_example(text: &'static str) -> RuleExample {
    new_example(ExampleKind::Read, text)
}

pub(crate) const fn fetch_example(text: &'static str) -> RuleExample {
    new_example(ExampleKind::Fetch, text)
}

pub(crate) const fn output_example(text: &'static str) -> RuleExample {
    new_example(ExampleKind::Output, text)
}

impl RuleExample {
    pub(crate) const fn on_branch(mut self, branch: &'static str) -> Self {
        self.branch = branch;
        self
    }

    pub(crate) const fn with_dirty_tree(mut self) -> Self {
        self.dirty = true;
        self
    }

    pub(crate) const fn at_strictest_level(mut self) -> Self {
        self.strict = true;
        self
    }

    /// The settings of the example's user: `denied.example` is denied, `allowed.example` allowed.
    pub fn xpia_settings(&self) -> XpiaSettings {
        XpiaSettings {
            level: if self.strict { XpiaLevel::Strict } else { XpiaLevel::default() },
            lists: DomainLists::from_text("denied.example", "allowed.example"),
            ..XpiaSettings::default()
        }
    }

    /// The world that it is judged in.
    pub fn example_world(&self) -> ExampleWorld {
        ExampleWorld { branch: self.branch, dirty: self.dirty }
    }

    /// Calls `f` with the event that it stands for.
    pub fn with_event<T>(&self, f: impl FnOnce(&Event<'_>) -> T) -> T {
        let cwd = Path::new(ExampleWorld::CWD);
        match self.kind {
            ExampleKind::Shell => f(&Event::Shell { script: self.text.as_bytes(), cwd }),
            ExampleKind::Write => f(&Event::Write { path: Path::new(self.text), cwd }),
            ExampleKind::Read => f(&Event::Read { path: Path::new(self.text), cwd }),
            ExampleKind::Fetch => f(&Event::Fetch { url: self.text, cwd }),
            ExampleKind::Output => f(&Event::Content { text: self.text, origin: Origin::ToolOutput }),
        }
    }
}

/// A machine with one user, one repository and another one on `main` in `/home/u/other`. No files, no links.
#[derive(Debug, Clone, Copy)]
pub struct ExampleWorld {
    branch: &'static str,
    dirty: bool,
}

impl ExampleWorld {
    /// The working directory.
    pub const CWD: &'static str = "/home/u/proj";
    /// The user's home.
    pub const HOME: &'static str = "/home/u";
    /// The directory that `AMPLIHACK_HOME` names.
    pub const STATE: &'static str = "/srv/ah/state";
    /// The directory that `CLAUDE_CONFIG_DIR` names.
    pub const CLAUDE: &'static str = "/srv/claude";
    /// The directory that the session was launched in, where that is another one.
    pub const LAUNCHED: &'static str = "/srv/launched/repo";
}

impl Default for ExampleWorld {
    fn default() -> Self {
        Self { branch: "feature/x", dirty: false }
    }
}

impl World for ExampleWorld {
    fn branch(&self, dir: &Path) -> Option<String> {
        if dir.starts_with("/home/u/other") {
            return Some("main".to_owned());
        }
        (dir.starts_with(Self::CWD) && !self.branch.is_empty()).then(|| self.branch.to_owned())
    }

    fn dirty(&self, _: &Path) -> Option<bool> {
        Some(self.dirty)
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_path_buf())
    }

    fn home(&self) -> Option<PathBuf> {
        Some(PathBuf::from(Self::HOME))
    }

    fn state_directories(&self) -> Vec<PathBuf> {
        let launch = Path::new(Self::HOME).join(".amplihack/sessions/s1/hooks");
        vec![Path::new(Self::HOME).join(".amplihack"), PathBuf::from(Self::STATE), launch]
    }

    fn guard_directories(&self) -> Vec<(PathBuf, &'static str)> {
        vec![(PathBuf::from(Self::CLAUDE), ".claude")]
    }

    fn guard_programs(&self) -> Vec<PathBuf> {
        vec![Path::new(Self::HOME).join(".local/bin/amplihack")]
    }

    fn kept_directories(&self) -> Vec<PathBuf> {
        vec![PathBuf::from(Self::LAUNCHED)]
    }

    fn env_variable(&self, name: &str) -> Option<String> {
        let value = match name {
            "AMPLIHACK_HOME" => Self::STATE,
            "CLAUDE_CONFIG_DIR" => Self::CLAUDE,
            _ => return None,
        };
        Some(value.to_owned())
    }

    /// The lines of examples; the real table is the agents'.
    fn reaches_no_model(&self, agent: AgentBinary, args: &[OsString]) -> bool {
        const WORDS: [&str; 8] =
            ["--help", "--version", "mcp", "doctor", "auth", "login", "help", "extensions"];
        let words: Vec<_> = args.iter().filter_map(|arg| arg.to_str()).collect();
        words.first().is_some_and(|first| WORDS.contains(first))
            || matches!(words[..], ["exec", "--help"])
            || agent == AgentBinary::Claude && matches!(words[..], ["-v"])
    }

    fn git_alias(&self, _: &Path, name: &str) -> Option<String> {
        match name {
            "ci" => Some("commit".to_owned()),
            "yolo" => Some("!git commit --no-verify".to_owned()),
            _ => None,
        }
    }
}
