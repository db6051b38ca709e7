//! Progress and ends of sessions; the slot is given back in the step that ends a session.

use amplihack_session::RunEnd;
use jiff::Timestamp;

use crate::error::{ErrorContext, RemoteError};
use crate::session::{SessionCondition, SessionStatus};
use crate::state::{RemoteState, SessionRecord, StartPhase};

impl RemoteState {
    /// Notes how far the start of `id` has come. Called under the lock *before* what it names is done.
    ///
    /// # Errors
    /// `Validation`, when the session has ended meanwhile or has no slot: then nothing may be sent.
    pub fn advance_start(&mut self, id: &str, phase: StartPhase) -> Result<(), RemoteError> {
        let record = self.session_mut(id)?;
        let status = record.session.status;
        if status.is_final() || record.phase.is_none_or(|now| now == StartPhase::Queued) {
            let message = format!("session '{id}' cannot continue: it is {status} or has no machine");
            return Err(RemoteError::Validation(ErrorContext::new(message).with_fact("session_id", id)));
        }
        record.phase = record.phase.max(Some(phase));
        Ok(())
    }

    /// The scheduler of their machine has these now.
    pub fn mark_submitted(&mut self, ids: &[&str]) {
        for id in ids {
            if let Some(record) =
                self.sessions.get_mut(*id).filter(|record| !record.session.status.is_final())
            {
                record.phase = record.phase.max(Some(StartPhase::Submitted));
            }
        }
    }

    /// `id` was seen to run since `at`. `false` if it is at its end, and stays so.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id.
    pub fn mark_started(&mut self, id: &str, at: Timestamp) -> Result<bool, RemoteError> {
        let record = self.session_mut(id)?;
        if record.session.status.is_final() {
            return Ok(false);
        }
        record.session.status = SessionStatus::Running;
        if amplihack_sys::sabotage::is_active("remote-start-running") {
            record.session.status = SessionStatus::Pending;
        }
        record.session.started_at = Some(at);
        if record.phase.is_some() {
            record.phase = Some(StartPhase::Started);
        }
        if amplihack_sys::sabotage::is_active("remote-start-capacity") {
            self.release_slot(id, at);
        }
        Ok(true)
    }

    /// `id` ended by itself with this code, at `at` by its machine's clock. `false` if it was at its end already.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id.
    pub fn mark_ended(
        &mut self,
        id: &str,
        exit_code: i32,
        at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, RemoteError> {
        let run = RunEnd::from_exit_file(exit_code);
        let status = if run.is_success() { SessionStatus::Completed } else { SessionStatus::Failed };
        self.record_end(id, status, Some(exit_code), at, now)
    }

    /// `id` could not be started, for this reason. `false` if it was at its end already.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id.
    pub fn mark_failed(
        &mut self,
        id: &str,
        error: impl Into<String>,
        now: Timestamp,
    ) -> Result<bool, RemoteError> {
        let did = self.record_end(id, SessionStatus::Failed, None, now, now)?;
        if did {
            self.session_mut(id)?.error = Some(error.into());
        }
        Ok(did)
    }

    /// `id` was ended by the user. `confirmed`: nothing of it runs there, as its machine said; without that its machine is told again
    /// when it answers. `false` if it was at its end already.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id.
    pub fn mark_killed(
        &mut self,
        id: &str,
        exit_code: Option<i32>,
        confirmed: bool,
        now: Timestamp,
    ) -> Result<bool, RemoteError> {
        let did = self.record_end(id, SessionStatus::Killed, exit_code, now, now)?;
        let record = self.session_mut(id)?;
        if did && !confirmed && record.phase.is_none_or(|phase| phase >= StartPhase::Sent) {
            record.end_unconfirmed = true;
        }
        Ok(did)
    }

    /// The machine of `id` said that nothing of it runs and nothing will.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id.
    pub fn end_confirmed(&mut self, id: &str) -> Result<(), RemoteError> {
        self.session_mut(id)?.end_unconfirmed = false;
        Ok(())
    }

    /// Neither `id` nor its end is on its machine: it failed, without a code.
    pub(super) fn mark_lost(&mut self, id: &str, error: &str, now: Timestamp) -> Result<bool, RemoteError> {
        let did = self.mark_failed(id, error, now)?;
        if did {
            self.session_mut(id)?.set_condition(Some(SessionCondition::Lost), now);
        }
        Ok(did)
    }

    fn record_end(
        &mut self,
        id: &str,
        status: SessionStatus,
        exit_code: Option<i32>,
        at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, RemoteError> {
        let record = self.session_mut(id)?;
        let did = record.finish_session(status, exit_code, at);
        if did {
            record.set_condition(None, now);
            self.release_slot(id, now);
        }
        Ok(did)
    }

    /// Takes the slot of `id` back, wherever it is.
    pub(super) fn release_slot(&mut self, id: &str, now: Timestamp) {
        for machine in self.vm_pool.values_mut() {
            machine.give_back(id, now);
        }
    }

    /// The machine `name` is not there. Its sessions of which nothing was sent are queued again, the others are lost; answers both.
    pub(super) fn forget_machine(
        &mut self,
        name: &str,
        now: Timestamp,
    ) -> Result<(Vec<String>, Vec<String>), RemoteError> {
        let there = |record: &SessionRecord| record.needs_slot() && record.session.vm_name == name;
        let there = self.sessions.iter().filter(|(_, record)| there(record));
        let unsent = |record: &SessionRecord| record.phase.is_some_and(|phase| phase < StartPhase::Sent);
        let ids = there.map(|(id, record)| (id.clone(), unsent(record)));
        let (unsent, sent): (Vec<_>, Vec<_>) = ids.partition(|(_, unsent)| *unsent);
        for (id, _) in &unsent {
            let record = self.session_mut(id)?;
            record.session.vm_name.clear();
            record.phase = Some(StartPhase::Queued);
            record.set_condition(None, now);
        }
        for (id, _) in &sent {
            self.mark_lost(id, "its machine is gone", now)?;
        }
        self.vm_pool.remove(name);
        let ids = |list: Vec<(String, bool)>| list.into_iter().map(|(id, _)| id).collect();
        Ok((ids(unsent), ids(sent)))
    }
}
