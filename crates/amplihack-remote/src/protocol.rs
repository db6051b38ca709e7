//! What this side and the far side say to each other. The page `docs/remote/protocol.md` is the whole of it.

use amplihack_utils::secret::Secret;
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

/// What starting came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It was not there, and runs now.
    Started,
    /// It was there already; nothing was started.
    Already,
}

/// How the far side sees a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// The session's id.
    pub id: String,
    /// How it stands.
    pub state: FarState,
    /// When the program was started.
    pub started: Option<Timestamp>,
    /// When it had ended.
    pub ended: Option<Timestamp>,
    /// How long its log is.
    pub log_bytes: u64,
}

/// How a session stands on the far side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FarState {
    /// There is no such session.
    Absent,
    /// It is claimed, and not started yet: its work tree is being made, or a scheduler holds it.
    Waiting,
    /// Its runner lives.
    Running,
    /// It ended with this code.
    Ended(i32),
    /// `end` ended it; the code is the program's.
    Killed(i32),
    /// It was started, its runner is gone, and no end was written down: power was lost, or everything was killed.
    Lost,
}

/// A part of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where it begins.
    pub from: u64,
    /// What is there.
    pub bytes: Vec<u8>,
}

/// What a machine has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probe {
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

/// What a session's work came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// The length of the bundle `results`; 0 if there is nothing beyond the base.
    pub bytes: u64,
    /// The bundle's SHA-256.
    pub sha256: String,
    /// Work that was not committed there is in a commit of its own, on this branch of the bundle.
    pub wip: Option<String>,
    /// Work that is in none of it, and stays on the machine.
    pub left: Vec<String>,
}
