//! A remote session as users see it: who it is, what it does, how it stands.

use std::fmt;
use std::io;
use std::str::FromStr;

use amplihack_agent::event::FailKind;
use amplihack_session::{EndEvidence, ProcessExit, RunEnd, RunOutcome};
use amplihack_sys::hex::random_bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Status of a session, as far as is known for sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// The session was not seen to run yet.
    Pending,
    /// The session was seen to run, and its end was not seen.
    Running,
    /// The session ended with code 0.
    Completed,
    /// The session ended with another code, or could not be started.
    Failed,
    /// The session was ended by `kill`.
    Killed,
}

impl SessionStatus {
    /// Every status.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Killed];

    /// The name of the status in files and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Killed => "killed",
        }
    }

    /// Reports whether the session has ended, so that the status changes no more.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Killed)
    }
}

impl fmt::Display for SessionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SessionStatus {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|status| status.name() == word);
        known.ok_or_else(|| {
            format!("unknown status '{word}': use pending, running, completed, failed or killed")
        })
    }
}

/// Obstacle to knowing more about a session; beside the status, never instead of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionCondition {
    /// The session's machine did not answer when it was last asked.
    Unreachable,
    /// The machine answered, and neither the session nor its end is there: power was lost, or the machine was made anew.
    Lost,
}

impl fmt::Display for SessionCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unreachable => "unreachable",
            Self::Lost => "lost",
        })
    }
}

/// A session. The fields and their names are those of the state file and of `list --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// `sess-YYYYMMDD-HHMMSS-xxxx`, in UTC, with four hexadecimal digits.
    pub session_id: String,
    /// The machine that it is on.
    pub vm_name: String,
    /// The session's directory on that machine.
    pub workspace: String,
    /// The name of its view in tmux, which is its id.
    pub tmux_session: String,
    /// The prompt of the session.
    pub prompt: String,
    /// The mode of work: the name of a [`CommandMode`](crate::CommandMode).
    pub command: String,
    /// The most turns of the agent.
    pub max_turns: u32,
    /// The status of the session.
    pub status: SessionStatus,
    /// The memory that its agent may use, in MB.
    pub memory_mb: Option<u32>,
    /// Time at which the session was first written down.
    pub created_at: Timestamp,
    /// Time at which the session began to run, by its machine's clock; `None` before that.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// Time at which the session ended, by its machine's clock; `None` before that.
    #[serde(default)]
    pub completed_at: Option<Timestamp>,
    /// Exit code of the session; `None` while there is none.
    #[serde(default)]
    pub exit_code: Option<i32>,
}

impl Session {
    /// The end of the session's run, once it has one: out of the exit code that its machine wrote down, or of what was done to it.
    pub fn run_end(&self) -> Option<RunEnd> {
        match (self.status, self.exit_code) {
            (SessionStatus::Pending | SessionStatus::Running, _) => None,
            (SessionStatus::Completed, code) => Some(RunEnd::from_exit_file(code.unwrap_or_default())),
            (SessionStatus::Failed, Some(code)) => Some(RunEnd::from_exit_file(code)),
            (SessionStatus::Failed, None) => {
                Some(RunEnd::from_failure(FailKind::Spawn, "the session was lost or could not be started"))
            }
            (SessionStatus::Killed, code) => {
                let mut end =
                    RunEnd::from_outcome(RunOutcome::Interrupted, "ended by kill", EndEvidence::Signal);
                end.event.summary.exit = code.map(ProcessExit::Code);
                Some(end)
            }
        }
    }
}

/// Reports whether `text` has the form of a session's id; only such text becomes part of a path.
pub fn is_session_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 25
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            0..5 => *byte == b"sess-"[at],
            13 | 20 => *byte == b'-',
            21.. => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            _ => byte.is_ascii_digit(),
        })
}

/// A new id for a session made at `now`, which `taken` does not know yet. `None` if all of this second are taken.
///
/// # Errors
/// There is no source of random numbers.
pub fn new_session_id(now: Timestamp, taken: impl Fn(&str) -> bool) -> io::Result<Option<String>> {
    let second = now.strftime("sess-%Y%m%d-%H%M%S-").to_string();
    let second = if amplihack_sys::sabotage::is_active("remote-session-id") {
        second.replace("sess-", "id-")
    } else {
        second
    };
    let first = u16::from_ne_bytes(random_bytes()?);
    Ok((0..=u16::MAX).map(|step| format!("{second}{:04x}", first.wrapping_add(step))).find(|id| !taken(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_documented_form_and_do_not_repeat() {
        let now: Timestamp = "2026-05-02T03:04:05Z".parse().unwrap();
        let id = new_session_id(now, |_| false).unwrap().unwrap();
        assert!(id.starts_with("sess-20260502-030405-") && is_session_id(&id), "{id}");
        let other = new_session_id(now, |taken| taken != "sess-20260502-030405-00ff").unwrap().unwrap();
        assert_eq!(other, "sess-20260502-030405-00ff");
        assert_eq!(new_session_id(now, |_| true).unwrap(), None);
        for wrong in
            ["", "sess-20260502-030405-00FF", "sess-20260502-030405-00f", "../../etc/passwd/aaaaaaaaa"]
        {
            assert!(!is_session_id(wrong), "{wrong}");
        }
    }
}
