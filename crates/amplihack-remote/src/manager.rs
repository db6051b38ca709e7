//! Sessions in the state file, one change at a time.

use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use jiff::Timestamp;

use crate::error::RemoteError;
use crate::mode::CommandMode;
use crate::session::{Session, SessionStatus};
use crate::state::{NewSession, RemoteState, SessionRecord, state_path};
use crate::state_lock;

/// The sessions of one state file. Every call reads the file anew, and every change does so under its lock: managers in several
/// processes lose nothing of each other. It touches no machine.
#[derive(Debug, Clone)]
pub struct SessionManager {
    path: PathBuf,
}

impl SessionManager {
    /// The sessions in `state_file`; `None`: `AMPLIHACK_REMOTE_STATE`, else `~/.amplihack/remote-state.json`. A missing file is made
    /// by the first change.
    ///
    /// # Errors
    /// `Validation` at once, where the file cannot be read or used, or there is no place for it.
    pub fn new(state_file: Option<PathBuf>) -> Result<Self, RemoteError> {
        let manager = Self { path: state_path(&Env::from_process(), state_file)? };
        state_lock::read(&manager.path)?;
        Ok(manager)
    }

    /// The state file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a new, pending session down. On a machine of the pool it takes a slot. `mode`: `auto` if not said; `max_turns`: 10.
    ///
    /// # Errors
    /// `Validation` for what no session can have; `Provisioning` if the machine is in the pool and has no free slot.
    pub fn create_session(
        &mut self,
        vm_name: &str,
        prompt: &str,
        mode: Option<&str>,
        max_turns: Option<u32>,
        memory_mb: Option<u32>,
    ) -> Result<Session, RemoteError> {
        let invalid = |message: &str| RemoteError::Validation(message.into());
        if vm_name.trim().is_empty() {
            return Err(invalid("no machine is named"));
        }
        if prompt.trim().is_empty() {
            return Err(invalid("the prompt is empty; describe the task"));
        }
        let command = match mode {
            None => CommandMode::Auto,
            Some(word) => {
                word.parse().map_err(|error: crate::UnknownCommandMode| invalid(&error.to_string()))?
            }
        };
        let max_turns = max_turns.unwrap_or(10);
        if !(1..=50).contains(&max_turns) {
            return Err(invalid("the number of turns must be from 1 to 50"));
        }
        let now = current_second();
        let memory_mb = memory_mb.filter(|_| !amplihack_sys::sabotage::is_active("remote-manager-memory"));
        let new = NewSession { prompt: prompt.to_owned(), command, max_turns, memory_mb };
        if amplihack_sys::sabotage::is_active("remote-manager-create") {
            let mut nowhere = RemoteState::default();
            let id = nowhere.add_session(new, now)?;
            return Ok(nowhere.session(&id)?.session.clone());
        }
        state_lock::with_lock(&self.path, |state| {
            let id = state.add_session(new, now)?;
            state.put_on(&id, vm_name)?;
            Ok(state.session(&id)?.session.clone())
        })
    }

    /// Marks a pending session as running, since now. One that runs already stays as it is.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Validation` where it has ended, or the state file cannot be read or written.
    pub fn start_session(&mut self, session_id: &str) -> Result<Session, RemoteError> {
        let now = current_second();
        self.change_session(session_id, |state| {
            let status = state.session(session_id)?.session.status;
            if status.is_final() {
                let message =
                    format!("session '{session_id}' is {status} and cannot be started; create a new one");
                return Err(RemoteError::Validation(message.into()));
            }
            if status == SessionStatus::Pending && !amplihack_sys::sabotage::is_active("remote-manager-start")
            {
                state.mark_started(session_id, now)?;
            }
            Ok(())
        })
    }

    /// Marks a session as ended by itself: completed if the code is 0, else failed. Its slot is free. An ended one stays as it is.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Validation` where the state file cannot be read or written.
    pub fn complete_session(&mut self, session_id: &str, exit_code: i32) -> Result<Session, RemoteError> {
        let now = current_second();
        self.change_session(session_id, |state| state.mark_ended(session_id, exit_code, now, now).map(drop))
    }

    /// Marks a session as one that could not be started. Its slot is free. An ended one stays as it is.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Validation` where the state file cannot be read or written.
    pub fn fail_session(&mut self, session_id: &str, error: &str) -> Result<Session, RemoteError> {
        self.change_session(session_id, |state| {
            state.mark_failed(session_id, error, current_second()).map(drop)
        })
    }

    /// Marks a session as ended by the user. Its slot is free. An ended one stays as it is.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Validation` where the state file cannot be read or written.
    pub fn kill_session(&mut self, session_id: &str) -> Result<Session, RemoteError> {
        self.change_session(session_id, |state| {
            state.mark_killed(session_id, None, true, current_second()).map(drop)
        })
    }

    /// The session.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Validation` where the state file cannot be read.
    pub fn get_session(&self, session_id: &str) -> Result<Session, RemoteError> {
        self.session_record(session_id).map(|record| record.session)
    }

    /// Everything that is known of the session.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Validation` where the state file cannot be read.
    pub fn session_record(&self, session_id: &str) -> Result<SessionRecord, RemoteError> {
        let mut state = state_lock::read(&self.path)?;
        state
            .sessions
            .remove(session_id)
            .ok_or_else(|| RemoteError::SessionNotFound { session_id: session_id.to_owned() })
    }

    /// The sessions that stand so, or all, in the order of their ids.
    ///
    /// # Errors
    /// `Validation` where the state file cannot be read.
    pub fn list_sessions(&self, status: Option<SessionStatus>) -> Result<Vec<Session>, RemoteError> {
        let state = state_lock::read(&self.path)?;
        let sessions = state.sessions.into_values().map(|record| record.session);
        Ok(sessions.filter(|session| status.is_none_or(|wanted| session.status == wanted)).collect())
    }

    fn change_session(
        &mut self,
        session_id: &str,
        change: impl FnOnce(&mut RemoteState) -> Result<(), RemoteError>,
    ) -> Result<Session, RemoteError> {
        state_lock::with_lock(&self.path, |state| {
            change(state)?;
            Ok(state.session(session_id)?.session.clone())
        })
    }
}

fn current_second() -> Timestamp {
    let now = Timestamp::now();
    // Whole seconds, as ids have them: what is written is what is read.
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
