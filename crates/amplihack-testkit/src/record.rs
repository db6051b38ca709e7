//! How a fake agent was called: one JSON line for each start, written before it does anything else.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use amplihack_config::env::Env;
use serde::{Deserialize, Serialize};

use crate::{Bytes, procs};

/// One start of a fake agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The name that it was called by, without directories.
    pub name: String,
    /// All of argv, the program itself first.
    pub argv: Vec<Bytes>,
    /// The whole environment in the order of its names.
    pub env: Vec<(Bytes, Bytes)>,
    /// The working directory.
    pub cwd: Bytes,
    /// What stdin was.
    pub stdin_kind: StdinKind,
    /// What stdin brought; `None` if it was not read.
    pub stdin: Option<Bytes>,
    /// Its process id.
    pub pid: i32,
    /// Its parent's process id.
    pub ppid: i32,
    /// Its process group.
    pub pgid: i32,
    /// Its session.
    pub sid: i32,
}

/// What a program finds as its stdin. A closed one is shown as `Null`: the Rust runtime opens `/dev/null` in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StdinKind {
    /// `/dev/null`.
    Null,
    /// A pipe or socket.
    Pipe,
    /// A terminal.
    Tty,
    /// A regular file.
    File,
    /// Something else.
    Other,
}

impl StdinKind {
    /// What this process has as its stdin.
    pub fn of_this_process() -> Self {
        if io::stdin().is_terminal() {
            return Self::Tty;
        }
        let Ok(found) = std::fs::metadata("/proc/self/fd/0") else { return Self::Other };
        let kind = found.file_type();
        if kind.is_fifo() || kind.is_socket() {
            Self::Pipe
        } else if kind.is_file() {
            Self::File
        } else if kind.is_char_device() && is_null(&found) {
            Self::Null
        } else {
            Self::Other
        }
    }
}

fn is_null(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == found.rdev())
}

impl Record {
    /// How this process was called, with what its stdin brought. Variables in `hidden` are left out.
    pub fn of_this_process(env: &Env, hidden: &[&str], stdin: Option<Vec<u8>>) -> io::Result<Self> {
        let argv: Vec<Bytes> = std::env::args_os().map(Bytes::from).collect();
        let shown = env.iter().filter(|(name, _)| !hidden.iter().any(|hidden| *name == *hidden));
        // As /proc tells it: a group or session outside of this PID namespace has the id 0, which rustix rules out.
        let me = procs::this().ok_or_else(|| io::Error::other("/proc does not show this process"))?;
        Ok(Self {
            name: called_by(),
            argv,
            env: shown.map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: std::env::current_dir()?.into_os_string().into(),
            stdin_kind: StdinKind::of_this_process(),
            stdin: stdin.map(Bytes),
            pid: me.pid,
            ppid: me.ppid,
            pgid: me.pgid,
            sid: me.sid,
        })
    }

    /// Appends this record to `path`, one line, one write.
    pub fn append(&self, path: &Path) -> io::Result<()> {
        append_line(path, self)
    }

    /// All records in `path`, in the order of their writing; none if there is no such file.
    pub fn read_all(path: &Path) -> Vec<Self> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            read => read.unwrap_or_else(|error| panic!("failed to read {}: {error}", path.display())),
        };
        text.lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("bad record {line:?}: {error}"))
            })
            .collect()
    }

    /// What followed the program's name.
    pub fn args(&self) -> &[Bytes] {
        self.argv.get(1..).unwrap_or_default()
    }

    /// What an agent was asked, on its stdin or as its last argument.
    pub fn prompt(&self) -> String {
        let piped = self.stdin.as_ref().filter(|bytes| !bytes.0.is_empty());
        piped.or_else(|| self.args().last()).map(Bytes::lossy).unwrap_or_default()
    }

    /// The value of the environment variable `name`.
    pub fn variable(&self, name: &str) -> Option<&Bytes> {
        self.env.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Whether this start was only a question for the version.
    pub fn is_version_probe(&self) -> bool {
        self.args().first().is_some_and(|first| *first == "--version")
    }
}

/// The name that this process was called by, without directories.
pub fn called_by() -> String {
    let first = std::env::args_os().next().unwrap_or_default();
    Path::new(&first).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Appends `value` to `path` as one line of JSON with one write, so that lines of several processes do not mix.
pub fn append_line(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    File::options().append(true).create(true).open(path)?.write_all(&line)
}
