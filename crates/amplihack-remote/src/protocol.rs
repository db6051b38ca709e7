//! Protocol between this side and the far side. The page `docs/remote/protocol.md` is the whole of it.

use amplihack_config::secret::Secret;
use jiff::Timestamp;

/// The version of the protocol; both sides must have the same.
pub const VERSION: u32 = 1;

/// A session as the far side is told to run it.
#[derive(Debug, Clone)]
pub struct SessionSpec {
    /// The session's id.
    pub id: String,
    /// The program and its arguments, run in the session's work tree. The prompt is in the file `../prompt`.
    pub argv: Vec<String>,
    /// Exported to the program. Values may be secret: they travel and are kept as the key is.
    pub env: Vec<(String, Secret)>,
    /// The variable that the key is exported as; `None` if the session has no key.
    pub key_name: Option<String>,
    /// The git bundle to clone the work tree from, by the SHA-256 that it is stored under.
    pub bundle: String,
    /// Bundles that stand there already and that this one stands on, oldest first.
    pub bases: Vec<String>,
    /// The archive with what git does not carry (`.claude/`, uncommitted work), unpacked over the work tree.
    pub extra: Option<String>,
    /// The commit that is checked out, and that results are counted from.
    pub base: String,
    /// The branch that the work tree is on.
    pub branch: String,
    /// The prompt, to the byte.
    pub prompt: Vec<u8>,
    /// The longest time by the far side's clock.
    pub timeout_seconds: Option<u64>,
}

/// The result of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// The session was not there, and runs now.
    Started,
    /// The session was there already; nothing was started.
    Already,
}

/// State of a session as the far side sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The session's id.
    pub id: String,
    /// The state of the session.
    pub state: FarState,
    /// Time at which the program was started; `None` before that.
    pub started: Option<Timestamp>,
    /// Time at which the program ended; `None` before that.
    pub ended: Option<Timestamp>,
    /// Length of the session's log in bytes.
    pub log_bytes: u64,
}

/// State of a session on the far side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FarState {
    /// There is no such session.
    Absent,
    /// The session is claimed, and not started yet: its work tree is being made, or a scheduler holds it.
    Waiting,
    /// The session's runner lives.
    Running,
    /// The session ended with this code.
    Ended(i32),
    /// `end` ended it; the code is the program's.
    Killed(i32),
    /// The session was started, its runner is gone, and no end was written down: power was lost, or everything was killed.
    Lost,
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of the part in the log, in bytes.
    pub from: u64,
    /// The bytes of the part; empty if there are none yet.
    pub bytes: Vec<u8>,
}

/// Resources and programs of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteProbe {
    /// The protocol's version that the runner there speaks.
    pub protocol: u32,
    /// `x86_64`, `aarch64`, …
    pub machine: String,
    /// Identifies this start of the machine.
    pub boot: String,
    /// Processors.
    pub cores: u32,
    /// Memory in MB.
    pub memory_mb: u64,
    /// Room below the sessions' directory, in MB.
    pub free_mb: u64,
    /// The programs that were asked for, with the first line of what they say of their version; `None`: missing.
    pub programs: Vec<(String, Option<String>)>,
}

/// The results that were gathered from a session's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedResults {
    /// The length of the bundle `results`; 0 if there is nothing beyond the base.
    pub bytes: u64,
    /// The bundle's SHA-256.
    pub sha256: String,
    /// Work that was not committed there is in a commit of its own, on this branch of the bundle.
    pub wip: Option<String>,
    /// Work that is in none of it, and stays on the machine.
    pub left: Vec<String>,
}
