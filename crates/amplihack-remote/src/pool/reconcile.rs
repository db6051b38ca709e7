//! Reconciliation of the state after a crash, a cut or a restart: adopted, ended, failed or given back, never guessed.

use jiff::Timestamp;

use super::needs::is_abandoned;
use super::{HostSeen, LookedUp, PoolObservations, SchedulerJobState, SeenSession};
use crate::error::RemoteError;
use crate::protocol::{FarState, Observed};
use crate::session::{SessionCondition, SessionStatus};
use crate::state::{BackendKind, ClientProcess, MachineWork, RemoteState, StartPhase};

/// A change of the state by reconciling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteStateChange {
    /// The session is now known to run.
    Running(String),
    /// The session is now known to have ended.
    Ended(String, SessionStatus),
    /// The session was never started, for this reason.
    Failed(String, String),
    /// Neither it nor its end is on its machine.
    Lost(String),
    /// The session's machine does not answer; nothing else changed.
    Unreachable(String),
    /// The session's machine answers again.
    Reachable(String),
    /// The session's machine could not be had; the process that starts the session looks for another.
    Queued(String),
    /// The slot of the session on the machine is free.
    SlotFreed(String, String),
    /// The session has a slot on the machine again.
    SlotTaken(String, String),
    /// The machine is there, though the process that made it has ended.
    MachineAdopted(String),
    /// The machine is not there.
    MachineForgotten(String),
    /// Nobody knows whether the machine is there, for this reason.
    MayCost(String, String),
    /// The session runs on a machine that has no slot for it: end the session, or make room.
    Stray(String, String),
}

/// An action outside of the state that is due now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PoolAction {
    /// Ask the provider whether the machine is there, and reconcile with the answer.
    LookUp(String),
    /// `end` the session on the machine, which makes sure that nothing of it runs *or starts later*, then
    /// [`RemoteState::end_confirmed`].
    End(String, String),
    /// `start` the session on the machine again: it is claimed there, and nobody finishes it.
    FinishStart(String, String),
    /// Submit the session's job on the machine again: it is claimed there, and there is no job.
    Resubmit(String, String),
}

/// The result of reconciling: first sessions, then machines, each in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReconcileReport {
    /// Changes of the state.
    pub changes: Vec<RemoteStateChange>,
    /// Actions that are due outside of the state.
    pub actions: Vec<PoolAction>,
}

struct ReconcileStep<'a> {
    state: &'a mut RemoteState,
    me: &'a ClientProcess,
    alive: &'a dyn Fn(&ClientProcess) -> bool,
    now: Timestamp,
    out: ReconcileReport,
}

impl RemoteState {
    /// Brings the state to what `seen` and `alive` say. `me` takes over what a dead process left claimed.
    ///
    /// Doing it again with the same answers changes nothing more.
    ///
    /// # Errors
    /// `SessionNotFound` or `Provisioning` where a session or machine cannot be looked up. All are taken from the state itself, so that no
    /// known state brings that about.
    pub fn reconcile(
        &mut self,
        seen: &PoolObservations,
        me: &ClientProcess,
        alive: &dyn Fn(&ClientProcess) -> bool,
        now: Timestamp,
    ) -> Result<ReconcileReport, RemoteError> {
        let mut step = ReconcileStep { state: self, me, alive, now, out: ReconcileReport::default() };
        // What ended makes room for what was found again.
        let ids =
            step.state.sessions.iter().map(|(id, record)| (record.session.status.is_final(), id.clone()));
        let (over, open): (Vec<_>, Vec<_>) = ids.partition(|(over, _)| *over);
        for (_, id) in open.iter().chain(&over) {
            step.reconcile_session(id, seen)?;
        }
        let names: Vec<String> = step.state.vm_pool.keys().cloned().collect();
        for name in &names {
            step.reconcile_machine(name, seen.looked_up.get(name))?;
            step.align_machine_slots(name);
        }
        Ok(step.out)
    }
}

impl ReconcileStep<'_> {
    fn reconcile_session(&mut self, id: &str, seen: &PoolObservations) -> Result<(), RemoteError> {
        let record = self.state.session(id)?;
        let asked = record.phase != Some(StartPhase::Queued);
        match seen.hosts.get(&record.session.vm_name).filter(|_| asked) {
            Some(HostSeen::Unreachable) => self.mark_unreachable(id)?,
            Some(HostSeen::Answered(sessions)) => {
                if let Some(seen) = sessions.get(id) {
                    self.take_answer(id, seen)?;
                }
            }
            None => {}
        }
        // Before anything was sent there is nothing to ask for.
        let record = self.state.session(id)?;
        if is_abandoned(record, self.alive) && record.phase < Some(StartPhase::Sent) {
            self.fail_session(id, "the process that was starting it ended before anything was sent")?;
        }
        Ok(())
    }

    fn mark_unreachable(&mut self, id: &str) -> Result<(), RemoteError> {
        let record = self.state.session_mut(id)?;
        if record.needs_slot() && record.condition != Some(SessionCondition::Unreachable) {
            record.set_condition(Some(SessionCondition::Unreachable), self.now);
            self.out.changes.push(RemoteStateChange::Unreachable(id.to_owned()));
        }
        Ok(())
    }

    fn take_answer(&mut self, id: &str, seen: &SeenSession) -> Result<(), RemoteError> {
        let record = self.state.session_mut(id)?;
        record.last_seen = Some(self.now);
        if record.condition == Some(SessionCondition::Unreachable) {
            record.set_condition(None, self.now);
            self.out.changes.push(RemoteStateChange::Reachable(id.to_owned()));
        }
        if record.session.status.is_final() {
            self.reconcile_final(id, seen)
        } else {
            self.reconcile_open(id, seen)
        }
    }

    fn reconcile_open(&mut self, id: &str, seen: &SeenSession) -> Result<(), RemoteError> {
        let far = &seen.observed;
        let record = self.state.session(id)?;
        let abandoned = is_abandoned(record, self.alive);
        let began = record.session.status == SessionStatus::Running
            || record.phase.is_none_or(|phase| phase >= StartPhase::Claimed);
        match far.state {
            FarState::Absent if began => {
                self.lose_session(id, "its machine has neither the session nor its end")?;
            }
            FarState::Absent if abandoned && record.phase == Some(StartPhase::Sent) => {
                self.fail_session(
                    id,
                    "the process that was starting it ended before its machine had claimed it",
                )?;
                // What was on its way may still arrive.
                self.state.session_mut(id)?.end_unconfirmed = true;
                self.act_on(id, PoolAction::End)?;
            }
            FarState::Absent => {}
            FarState::Waiting => self.reconcile_waiting(id, seen.job, abandoned)?,
            FarState::Running => {
                let news = record.session.status != SessionStatus::Running;
                self.state.mark_started(id, far.started.unwrap_or(self.now))?;
                if news {
                    self.out.changes.push(RemoteStateChange::Running(id.to_owned()));
                }
            }
            FarState::Ended(code) => {
                self.mark_begun(id, far.started)?;
                self.state.mark_ended(id, code, far.ended.unwrap_or(self.now), self.now)?;
                self.tell_end(id)?;
            }
            FarState::Killed(code) => {
                self.mark_begun(id, far.started)?;
                self.state.mark_killed(id, Some(code), true, self.now)?;
                if let Some(at) = far.ended {
                    self.state.session_mut(id)?.session.completed_at = Some(at);
                }
                self.tell_end(id)?;
            }
            FarState::Lost if far.started.is_none() => {
                self.lose_session(id, "the scheduler no longer has its job, which never began: it was cancelled, or a node failed")?;
            }
            FarState::Lost => {
                self.mark_begun(id, far.started)?;
                self.lose_session(
                    id,
                    "its runner ended without recording an end: the machine lost power, or every process was killed",
                )?;
            }
        }
        Ok(())
    }

    /// Claimed, and not started there yet.
    fn reconcile_waiting(
        &mut self,
        id: &str,
        job: Option<SchedulerJobState>,
        abandoned: bool,
    ) -> Result<(), RemoteError> {
        let me = self.me.clone();
        let record = self.state.session_mut(id)?;
        record.phase = record.phase.max(Some(StartPhase::Claimed));
        if !abandoned {
            return Ok(());
        }
        if record.backend == Some(BackendKind::Slurm) {
            if job != Some(SchedulerJobState::Absent) {
                return Ok(());
            }
            record.client = Some(me);
            return self.act_on(id, PoolAction::Resubmit);
        }
        record.client = Some(me);
        self.act_on(id, PoolAction::FinishStart)
    }

    /// Reconciles a session that has ended here with its machine's answer.
    fn reconcile_final(&mut self, id: &str, seen: &SeenSession) -> Result<(), RemoteError> {
        let record = self.state.session_mut(id)?;
        let lost = record.condition == Some(SessionCondition::Lost);
        match seen.observed.state {
            FarState::Running | FarState::Waiting if record.end_unconfirmed => {
                self.act_on(id, PoolAction::End)?;
            }
            // What was on its way may still arrive.
            FarState::Absent if record.phase == Some(StartPhase::Sent) && record.end_unconfirmed => {
                self.act_on(id, PoolAction::End)?;
            }
            FarState::Running if lost => self.found_again(id, seen.observed.started)?,
            FarState::Ended(code) | FarState::Killed(code) => self.end_found(id, &seen.observed, code)?,
            FarState::Absent | FarState::Lost => record.end_unconfirmed = false,
            FarState::Running | FarState::Waiting => {}
        }
        Ok(())
    }

    /// The end of a session whose end was not known, or only that it was wanted.
    fn end_found(&mut self, id: &str, far: &Observed, code: i32) -> Result<(), RemoteError> {
        let now = self.now;
        let record = self.state.session_mut(id)?;
        record.end_unconfirmed = false;
        if record.session.exit_code.is_some() {
            return Ok(());
        }
        record.session.exit_code = Some(code);
        record.session.completed_at = far.ended.or(record.session.completed_at);
        record.session.started_at = far.started.or(record.session.started_at);
        if record.session.status == SessionStatus::Failed {
            record.session.status = match far.state {
                FarState::Killed(_) => SessionStatus::Killed,
                _ if code == 0 => SessionStatus::Completed,
                _ => SessionStatus::Failed,
            };
            record.error = None;
            record.phase = record.phase.max(Some(StartPhase::Started));
            record.set_condition(None, now);
            self.tell_end(id)?;
        }
        Ok(())
    }

    /// A session that was taken for lost runs: its machine had not its home then.
    fn found_again(&mut self, id: &str, started: Option<Timestamp>) -> Result<(), RemoteError> {
        let vm = self.state.session(id)?.session.vm_name.clone();
        let pooled = self.state.session(id)?.phase.is_some();
        let room = match self.state.vm_pool.get_mut(&vm) {
            Some(machine) => machine.removing.is_none() && machine.take_slot(id),
            None => !pooled,
        };
        if !room {
            self.out.changes.push(RemoteStateChange::Stray(id.to_owned(), vm));
            return Ok(());
        }
        let now = self.now;
        let record = self.state.session_mut(id)?;
        record.session.status = SessionStatus::Running;
        record.session.completed_at = None;
        record.session.started_at = started.or(record.session.started_at);
        record.error = None;
        record.phase = record.phase.max(Some(StartPhase::Started));
        record.set_condition(None, now);
        self.out.changes.push(RemoteStateChange::Running(id.to_owned()));
        Ok(())
    }

    fn reconcile_machine(&mut self, name: &str, found: Option<&LookedUp>) -> Result<(), RemoteError> {
        let Some(machine) = self.state.vm_pool.get(name) else { return Ok(()) };
        let dead = |work: &Option<MachineWork>| work.as_ref().is_some_and(|work| !(self.alive)(&work.client));
        let (making, removing) = (dead(&machine.making), dead(&machine.removing));
        let busy = machine.making.is_some() || machine.removing.is_some();
        match found {
            // A live process that makes or deletes it knows better.
            Some(LookedUp::Gone) if making || removing || !busy => self.forget_machine(name)?,
            Some(LookedUp::There(found)) if making => {
                self.state.mark_made(name, found.clone(), self.now)?;
                self.out.changes.push(RemoteStateChange::MachineAdopted(name.to_owned()));
            }
            Some(LookedUp::There(_)) if removing => {
                self.state.not_removed(name);
                self.out.changes.push(RemoteStateChange::MachineAdopted(name.to_owned()));
            }
            Some(LookedUp::Unknown(why)) if making || removing => {
                self.out.changes.push(RemoteStateChange::MayCost(name.to_owned(), why.clone()));
            }
            None if making || removing => self.out.actions.push(PoolAction::LookUp(name.to_owned())),
            _ => {}
        }
        Ok(())
    }

    fn forget_machine(&mut self, name: &str) -> Result<(), RemoteError> {
        // Sessions that nothing was sent of belong to processes that live: the others were failed before.
        let (queued, lost) = self.state.forget_machine(name, self.now)?;
        self.out.changes.extend(queued.into_iter().map(RemoteStateChange::Queued));
        self.out.changes.extend(lost.into_iter().map(RemoteStateChange::Lost));
        self.out.changes.push(RemoteStateChange::MachineForgotten(name.to_owned()));
        Ok(())
    }

    /// Brings the slots of a machine in line with its sessions.
    fn align_machine_slots(&mut self, name: &str) {
        let (freed, taken) = self.state.align_slots(name, Some(self.now));
        let changes = &mut self.out.changes;
        changes.extend(freed.into_iter().map(|id| RemoteStateChange::SlotFreed(id, name.to_owned())));
        changes.extend(taken.into_iter().map(|id| RemoteStateChange::SlotTaken(id, name.to_owned())));
    }

    fn mark_begun(&mut self, id: &str, started: Option<Timestamp>) -> Result<(), RemoteError> {
        let record = self.state.session_mut(id)?;
        // Its machine knows; what stands there is when it was heard here.
        record.session.started_at = started.or(record.session.started_at);
        if record.phase.is_some() {
            record.phase = Some(StartPhase::Started);
        }
        Ok(())
    }

    fn fail_session(&mut self, id: &str, why: &str) -> Result<(), RemoteError> {
        if self.state.mark_failed(id, why, self.now)? {
            self.out.changes.push(RemoteStateChange::Failed(id.to_owned(), why.to_owned()));
        }
        Ok(())
    }

    fn lose_session(&mut self, id: &str, why: &str) -> Result<(), RemoteError> {
        if self.state.mark_lost(id, why, self.now)? {
            self.out.changes.push(RemoteStateChange::Lost(id.to_owned()));
        }
        Ok(())
    }

    fn tell_end(&mut self, id: &str) -> Result<(), RemoteError> {
        let status = self.state.session(id)?.session.status;
        self.out.changes.push(RemoteStateChange::Ended(id.to_owned(), status));
        Ok(())
    }

    fn act_on(&mut self, id: &str, action: fn(String, String) -> PoolAction) -> Result<(), RemoteError> {
        let vm = self.state.session(id)?.session.vm_name.clone();
        self.out.actions.push(action(id.to_owned(), vm));
        Ok(())
    }
}
