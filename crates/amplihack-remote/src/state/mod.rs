//! State of sessions and machines on this side, as one value; [`state_lock`](crate::state_lock) keeps it in a file.

mod client;
mod document;
mod machine;
mod migrate;
mod record;
mod sums;

use std::collections::BTreeMap;
use std::path::PathBuf;

use amplihack_config::env::Env;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use client::ClientProcess;
pub use document::{StateFileError, decode_state, encode_state};
pub use machine::{MachineAdmission, MachineWork, MadeFor, PoolMachine, SshAddress, VmRecord};
pub use record::{BackendKind, RetrievedResults, SessionRecord, StartPhase};

use crate::error::RemoteError;
use crate::mode::CommandMode;
use crate::session::{Session, SessionStatus, new_session_id};

/// The version of the file that this program writes. The predecessor's files have none.
pub const VERSION: u64 = 2;

/// Everything that this side knows, in the order of names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemoteState {
    /// [`VERSION`].
    pub version: u64,
    /// The sessions by their ids.
    pub sessions: BTreeMap<String, SessionRecord>,
    /// The machines by their names.
    pub vm_pool: BTreeMap<String, PoolMachine>,
    /// Fields that other programs wrote; kept as they are.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Default for RemoteState {
    fn default() -> Self {
        Self { version: VERSION, sessions: BTreeMap::new(), vm_pool: BTreeMap::new(), other: Map::new() }
    }
}

/// Fields of a session that is to be made.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The prompt of the session.
    pub prompt: String,
    /// The mode of work on the prompt.
    pub command: CommandMode,
    /// The most turns of its agent.
    pub max_turns: u32,
    /// The memory that its agent may use, in MB.
    pub memory_mb: Option<u32>,
}

/// The path of the state file: `explicit`, else `AMPLIHACK_REMOTE_STATE`, else `remote-state.json` in the home of amplihack.
///
/// # Errors
/// `Validation` where nothing names a file and there is no home of amplihack.
pub fn state_path(env: &Env, explicit: Option<PathBuf>) -> Result<PathBuf, RemoteError> {
    let explicit = explicit.filter(|_| !amplihack_sys::sabotage::is_active("remote-state-file"));
    let named = explicit.or_else(|| env.path("AMPLIHACK_REMOTE_STATE"));
    named.or_else(|| Some(env.amplihack_home()?.join("remote-state.json"))).ok_or_else(|| {
        RemoteError::Validation(
            "nowhere to keep remote sessions: HOME is not an absolute path; set it or AMPLIHACK_REMOTE_STATE"
                .into(),
        )
    })
}

impl RemoteState {
    /// The session `id`.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id.
    pub fn session(&self, id: &str) -> Result<&SessionRecord, RemoteError> {
        self.sessions.get(id).ok_or_else(|| RemoteError::SessionNotFound { session_id: id.to_owned() })
    }

    /// The session `id`, to be changed.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id.
    pub fn session_mut(&mut self, id: &str) -> Result<&mut SessionRecord, RemoteError> {
        self.sessions.get_mut(id).ok_or_else(|| RemoteError::SessionNotFound { session_id: id.to_owned() })
    }

    /// Writes a new session down: pending, without a machine. Its id is answered.
    ///
    /// # Errors
    /// `Validation` where every id of this second is taken; `Execution` where there is no source of random numbers.
    pub fn add_session(&mut self, new: NewSession, now: Timestamp) -> Result<String, RemoteError> {
        let id = new_session_id(now, |id| self.sessions.contains_key(id))
            .map_err(|error| RemoteError::Execution(format!("no id for a session: {error}").into()))?
            .ok_or_else(|| {
                RemoteError::Validation("every session id of this second is taken; try again".into())
            })?;
        let session = Session {
            session_id: id.clone(),
            vm_name: String::new(),
            workspace: format!("~/.local/share/amplihack/remote/{id}/repo"),
            tmux_session: id.clone(),
            prompt: new.prompt,
            command: new.command.name().to_owned(),
            max_turns: new.max_turns,
            status: SessionStatus::Pending,
            memory_mb: new.memory_mb,
            created_at: now,
            started_at: None,
            completed_at: None,
            exit_code: None,
        };
        let record = SessionRecord { phase: Some(StartPhase::Queued), ..SessionRecord::from(session) };
        self.sessions.insert(id.clone(), record);
        Ok(id)
    }

    /// The sessions that were made by the call with this key, in the order of its prompts.
    pub(crate) fn made_by_key(&self, key: &str) -> Vec<&SessionRecord> {
        let mut made: Vec<_> =
            self.sessions.values().filter(|record| record.idempotency_key.as_deref() == Some(key)).collect();
        made.sort_by_key(|record| record.prompt_number);
        made
    }
}
