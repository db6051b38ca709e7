//! Examples of rules, and the small world in which they are judged.

use std::path::{Path, PathBuf};

use crate::event::{Event, Origin, World};
use crate::fetch::Lists;
use crate::xpia::{Level, XpiaSettings};

/// What an example is.
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
    /// What a tool printed.
    Output,
}

/// One example. It is judged in [`ExampleWorld::CWD`], on the branch `feature/x` unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// What `text` is.
    pub kind: ExampleKind,
    /// The script, path or URL.
    pub text: &'static str,
    /// The branch that is checked out; empty: it is not known.
    pub branch: &'static str,
    /// Whether there are uncommitted changes.
    pub dirty: bool,
    /// Whether the strictest level of `XPIA_SECURITY_LEVEL` holds.
    pub strict: bool,
}

const fn example(kind: ExampleKind, text: &'static str) -> Example {
    Example { kind, text, branch: "feature/x", dirty: false, strict: false }
}

pub(crate) const fn sh(text: &'static str) -> Example {
    example(ExampleKind::Shell, text)
}

pub(crate) const fn write(text: &'static str) -> Example {
    example(ExampleKind::Write, text)
}

pub(crate) const fn read(text: &'static str) -> Example {
    example(ExampleKind::Read, text)
}

pub(crate) const fn fetch(text: &'static str) -> Example {
    example(ExampleKind::Fetch, text)
}

pub(crate) const fn output(text: &'static str) -> Example {
    example(ExampleKind::Output, text)
}

impl Example {
    pub(crate) const fn on(mut self, branch: &'static str) -> Self {
        self.branch = branch;
        self
    }

    pub(crate) const fn dirty(mut self) -> Self {
        self.dirty = true;
        self
    }

    pub(crate) const fn strictest(mut self) -> Self {
        self.strict = true;
        self
    }

    /// What the user's variables say: `denied.example` is denied, `allowed.example` allowed.
    pub fn settings(&self) -> XpiaSettings {
        XpiaSettings {
            level: if self.strict { Level::Strict } else { Level::default() },
            lists: Lists::from_text("denied.example", "allowed.example"),
            ..XpiaSettings::default()
        }
    }

    /// The world that it is judged in.
    pub fn world(&self) -> ExampleWorld {
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

    fn state(&self) -> Vec<PathBuf> {
        vec![Path::new(Self::HOME).join(".amplihack"), PathBuf::from(Self::STATE)]
    }

    fn git_alias(&self, _: &Path, name: &str) -> Option<String> {
        match name {
            "ci" => Some("commit".to_owned()),
            "yolo" => Some("!git commit --no-verify".to_owned()),
            _ => None,
        }
    }
}
