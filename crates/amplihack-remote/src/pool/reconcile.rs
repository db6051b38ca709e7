//! What is true after a crash, a cut or a restart: adopted, ended, failed or given back, never guessed.

use jiff::Timestamp;

use super::needs::is_abandoned;
use super::{HostSeen, Job, LookedUp, Observations, SeenSession};
use crate::error::RemoteError;
use crate::protocol::{FarState, Observed};
use crate::session::{Condition, SessionStatus};
use crate::state::{BackendKind, Client, Phase, State, Work};

/// What changed in the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It runs, as is known now.
    Running(String),
    /// It ended, as is known now.
    Ended(String, SessionStatus),
    /// It was never started, for this reason.
    Failed(String, String),
    /// Neither it nor its end is on its machine.
    Lost(String),
    /// Its machine does not answer; nothing else changed.
    Unreachable(String),
    /// Its machine answers again.
    Reachable(String),
    /// Its machine could not be had; the process that starts it looks for another.
    Queued(String),
    /// This session's slot on this machine is free.
    SlotFreed(String, String),
    /// This session has a slot on this machine again.
    SlotTaken(String, String),
    /// The machine is there, though the process that made it has ended.
    MachineAdopted(String),
    /// The machine is not there.
    MachineForgotten(String),
    /// Nobody knows whether the machine is there, for this reason.
    MayCost(String, String),
    /// It runs on its machine, which has no slot for it: end it, or make room.
    Stray(String, String),
}

/// What has to be done outside now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Ask the provider whether the machine is there, and reconcile with the answer.
    LookUp(String),
    /// `end` the session on the machine, which makes sure that nothing of it runs *or starts later*, then
    /// [`State::end_confirmed`].
    End(String, String),
    /// `start` the session on the machine again: it is claimed there, and nobody finishes it.
    FinishStart(String, String),
    /// Submit the session's job on the machine again: it is claimed there, and there is no job.
    Resubmit(String, String),
}

/// What reconciling came to: first sessions, then machines, each in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// What is different in the state.
    pub changes: Vec<Change>,
    /// What has to be done outside.
    pub actions: Vec<Action>,
}

struct Step<'a> {
    state: &'a mut State,
    me: &'a Client,
    alive: &'a dyn Fn(&Client) -> bool,
    now: Timestamp,
    out: Reconciled,
}

impl State {
    /// Brings the state to what `seen` and `alive` say. `me` takes over what a dead process left claimed.
    ///
    /// Doing it again with the same answers changes nothing more.
    pub fn reconcile(
        &mut self,
        seen: &Observations,
        me: &Client,
        alive: &dyn Fn(&Client) -> bool,
        now: Timestamp,
    ) -> Result<Reconciled, RemoteError> {
        let mut step = Step { state: self, me, alive, now, out: Reconciled::default() };
        // What ended makes room for what was found again.
        let ids =
            step.state.sessions.iter().map(|(id, record)| (record.session.status.is_final(), id.clone()));
        let (over, open): (Vec<_>, Vec<_>) = ids.partition(|(over, _)| *over);
        for (_, id) in open.iter().chain(&over) {
            step.session(id, seen)?;
        }
        let names: Vec<String> = step.state.vm_pool.keys().cloned().collect();
        for name in &names {
            step.machine(name, seen.looked_up.get(name))?;
            step.slots(name);
        }
        Ok(step.out)
    }
}

impl Step<'_> {
    fn session(&mut self, id: &str, seen: &Observations) -> Result<(), RemoteError> {
        let record = self.state.session(id)?;
        let asked = record.phase != Some(Phase::Queued);
        match seen.hosts.get(&record.session.vm_name).filter(|_| asked) {
            Some(HostSeen::Unreachable) => self.unreachable(id)?,
            Some(HostSeen::Answered(sessions)) => {
                if let Some(seen) = sessions.get(id) {
                    self.answered(id, seen)?;
                }
            }
            None => {}
        }
        // Before anything was sent there is nothing to ask for.
        let record = self.state.session(id)?;
        if is_abandoned(record, self.alive) && record.phase < Some(Phase::Sent) {
            self.fail(id, "the process that was starting it ended before anything was sent")?;
        }
        Ok(())
    }

    fn unreachable(&mut self, id: &str) -> Result<(), RemoteError> {
        let record = self.state.session_mut(id)?;
        if record.needs_slot() && record.condition != Some(Condition::Unreachable) {
            record.set_condition(Some(Condition::Unreachable), self.now);
            self.out.changes.push(Change::Unreachable(id.to_owned()));
        }
        Ok(())
    }

    fn answered(&mut self, id: &str, seen: &SeenSession) -> Result<(), RemoteError> {
        let record = self.state.session_mut(id)?;
        record.last_seen = Some(self.now);
        if record.condition == Some(Condition::Unreachable) {
            record.set_condition(None, self.now);
            self.out.changes.push(Change::Reachable(id.to_owned()));
        }
        if record.session.status.is_final() { self.was_final(id, seen) } else { self.was_open(id, seen) }
    }

    fn was_open(&mut self, id: &str, seen: &SeenSession) -> Result<(), RemoteError> {
        let far = &seen.observed;
        let record = self.state.session(id)?;
        let abandoned = is_abandoned(record, self.alive);
        let began = record.session.status == SessionStatus::Running
            || record.phase.is_none_or(|phase| phase >= Phase::Claimed);
        match far.state {
            FarState::Absent if began => {
                self.lose(id, "its machine has neither the session nor its end")?;
            }
            FarState::Absent if abandoned && record.phase == Some(Phase::Sent) => {
                self.fail(id, "the process that was starting it ended before its machine had claimed it")?;
                // What was on its way may still arrive.
                self.state.session_mut(id)?.end_unconfirmed = true;
                self.act_on(id, Action::End)?;
            }
            FarState::Absent => {}
            FarState::Waiting => self.waiting(id, seen.job, abandoned)?,
            FarState::Running => {
                let news = record.session.status != SessionStatus::Running;
                self.state.started(id, far.started.unwrap_or(self.now))?;
                if news {
                    self.out.changes.push(Change::Running(id.to_owned()));
                }
            }
            FarState::Ended(code) => {
                self.began(id, far.started)?;
                self.state.ended(id, code, far.ended.unwrap_or(self.now), self.now)?;
                self.tell_end(id)?;
            }
            FarState::Killed(code) => {
                self.began(id, far.started)?;
                self.state.killed(id, Some(code), true, self.now)?;
                if let Some(at) = far.ended {
                    self.state.session_mut(id)?.session.completed_at = Some(at);
                }
                self.tell_end(id)?;
            }
            FarState::Lost if far.started.is_none() => {
                self.lose(id, "its scheduler has its job no more, and it never began: it was cancelled, or a node failed")?;
            }
            FarState::Lost => {
                self.began(id, far.started)?;
                self.lose(
                    id,
                    "its runner is gone and wrote down no end: power was lost, or everything was killed",
                )?;
            }
        }
        Ok(())
    }

    /// Claimed, and not started there yet.
    fn waiting(&mut self, id: &str, job: Option<Job>, abandoned: bool) -> Result<(), RemoteError> {
        let me = self.me.clone();
        let record = self.state.session_mut(id)?;
        record.phase = record.phase.max(Some(Phase::Claimed));
        if !abandoned {
            return Ok(());
        }
        if record.backend == Some(BackendKind::Slurm) {
            if job != Some(Job::Absent) {
                return Ok(());
            }
            record.client = Some(me);
            return self.act_on(id, Action::Resubmit);
        }
        record.client = Some(me);
        self.act_on(id, Action::FinishStart)
    }

    /// What is at its end here, and what its machine says to that.
    fn was_final(&mut self, id: &str, seen: &SeenSession) -> Result<(), RemoteError> {
        let record = self.state.session_mut(id)?;
        let lost = record.condition == Some(Condition::Lost);
        match seen.observed.state {
            FarState::Running | FarState::Waiting if record.end_unconfirmed => {
                self.act_on(id, Action::End)?;
            }
            // What was on its way may still arrive.
            FarState::Absent if record.phase == Some(Phase::Sent) && record.end_unconfirmed => {
                self.act_on(id, Action::End)?;
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
            record.phase = record.phase.max(Some(Phase::Started));
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
            Some(machine) => machine.removing.is_none() && machine.take(id),
            None => !pooled,
        };
        if !room {
            self.out.changes.push(Change::Stray(id.to_owned(), vm));
            return Ok(());
        }
        let now = self.now;
        let record = self.state.session_mut(id)?;
        record.session.status = SessionStatus::Running;
        record.session.completed_at = None;
        record.session.started_at = started.or(record.session.started_at);
        record.error = None;
        record.phase = record.phase.max(Some(Phase::Started));
        record.set_condition(None, now);
        self.out.changes.push(Change::Running(id.to_owned()));
        Ok(())
    }

    fn machine(&mut self, name: &str, found: Option<&LookedUp>) -> Result<(), RemoteError> {
        let Some(machine) = self.state.vm_pool.get(name) else { return Ok(()) };
        let dead = |work: &Option<Work>| work.as_ref().is_some_and(|work| !(self.alive)(&work.client));
        let (making, removing) = (dead(&machine.making), dead(&machine.removing));
        let busy = machine.making.is_some() || machine.removing.is_some();
        match found {
            // A live process that makes or deletes it knows better.
            Some(LookedUp::Gone) if making || removing || !busy => self.forget(name)?,
            Some(LookedUp::There(found)) if making => {
                self.state.made(name, found.clone(), self.now)?;
                self.out.changes.push(Change::MachineAdopted(name.to_owned()));
            }
            Some(LookedUp::There(_)) if removing => {
                self.state.not_removed(name);
                self.out.changes.push(Change::MachineAdopted(name.to_owned()));
            }
            Some(LookedUp::Unknown(why)) if making || removing => {
                self.out.changes.push(Change::MayCost(name.to_owned(), why.clone()));
            }
            None if making || removing => self.out.actions.push(Action::LookUp(name.to_owned())),
            _ => {}
        }
        Ok(())
    }

    fn forget(&mut self, name: &str) -> Result<(), RemoteError> {
        // Sessions that nothing was sent of belong to processes that live: the others were failed before.
        let (queued, lost) = self.state.forget(name, self.now)?;
        self.out.changes.extend(queued.into_iter().map(Change::Queued));
        self.out.changes.extend(lost.into_iter().map(Change::Lost));
        self.out.changes.push(Change::MachineForgotten(name.to_owned()));
        Ok(())
    }

    /// Brings the slots of a machine in line with its sessions.
    fn slots(&mut self, name: &str) {
        let (freed, taken) = self.state.align_slots(name, Some(self.now));
        let changes = &mut self.out.changes;
        changes.extend(freed.into_iter().map(|id| Change::SlotFreed(id, name.to_owned())));
        changes.extend(taken.into_iter().map(|id| Change::SlotTaken(id, name.to_owned())));
    }

    fn began(&mut self, id: &str, started: Option<Timestamp>) -> Result<(), RemoteError> {
        let record = self.state.session_mut(id)?;
        // Its machine knows; what stands there is when it was heard here.
        record.session.started_at = started.or(record.session.started_at);
        if record.phase.is_some() {
            record.phase = Some(Phase::Started);
        }
        Ok(())
    }

    fn fail(&mut self, id: &str, why: &str) -> Result<(), RemoteError> {
        if self.state.failed(id, why, self.now)? {
            self.out.changes.push(Change::Failed(id.to_owned(), why.to_owned()));
        }
        Ok(())
    }

    fn lose(&mut self, id: &str, why: &str) -> Result<(), RemoteError> {
        if self.state.lost(id, why, self.now)? {
            self.out.changes.push(Change::Lost(id.to_owned()));
        }
        Ok(())
    }

    fn tell_end(&mut self, id: &str) -> Result<(), RemoteError> {
        let status = self.state.session(id)?.session.status;
        self.out.changes.push(Change::Ended(id.to_owned(), status));
        Ok(())
    }

    fn act_on(&mut self, id: &str, action: fn(String, String) -> Action) -> Result<(), RemoteError> {
        let vm = self.state.session(id)?.session.vm_name.clone();
        self.out.actions.push(action(id.to_owned(), vm));
        Ok(())
    }
}
