//! Machines that come and go: known, made, cordoned, given up, removed.

use std::time::Duration;

use jiff::Timestamp;

use crate::error::{ErrorContext, RemoteError};
use crate::state::{ClientProcess, MachineAdmission, MachineWork, PoolMachine, RemoteState, SshAddress};

/// Facts about a machine that is there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PoolMachineFacts {
    /// Address for ssh; `None` if it is not known.
    pub address: Option<SshAddress>,
    /// The file that its host key is pinned in.
    pub host_keys: Option<String>,
    /// Time at which the machine was made.
    pub created_at: Option<Timestamp>,
    /// Price of the machine per hour, in dollars.
    pub usd_per_hour: Option<f64>,
}

/// The reason that a machine is not deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MachineKeepReason {
    /// There is none of that name.
    #[error("it is not in the pool")]
    Unknown,
    /// The machine was not made by this tool.
    #[error("it was not made by amplihack")]
    NotOurs,
    /// The machine is being made or deleted.
    #[error("another process is at work on it")]
    Busy,
    /// Sessions run on it.
    #[error("it is used by {}", .0.join(", "))]
    InUse(Vec<String>),
    /// Results of these were not brought home.
    #[error("it has results that were not brought home, of {}", .0.join(", "))]
    Results(Vec<String>),
}

impl RemoteState {
    /// A machine of the user's configuration. What is known of one of that name already stays; a smaller capacity comes as sessions end.
    pub fn register_machine(&mut self, configured: PoolMachine, now: Timestamp) {
        let name = configured.vm.name.clone();
        let Some(known) = self.vm_pool.get_mut(&name) else {
            let fresh = PoolMachine { active_sessions: Vec::new(), idle_since: Some(now), ..configured };
            self.vm_pool.insert(name.clone(), fresh);
            self.align_slots(&name, Some(now));
            return;
        };
        known.vm.size = configured.vm.size;
        known.vm.region = configured.vm.region;
        known.region = configured.region;
        known.backend = configured.backend;
        known.labels = configured.labels;
        known.address = configured.address.or_else(|| known.address.take());
        known.host_keys = configured.host_keys.or_else(|| known.host_keys.take());
        known.capacity_wanted = Some(configured.capacity);
        known.settle_capacity();
    }

    /// The machine `name` is there now; the sessions that have slots on it may be sent.
    ///
    /// # Errors
    /// `Provisioning`, when it is not in the pool any more: then it has to be deleted.
    pub fn mark_made(
        &mut self,
        name: &str,
        found: PoolMachineFacts,
        now: Timestamp,
    ) -> Result<(), RemoteError> {
        let machine = self.vm_pool.get_mut(name).ok_or_else(|| unknown_machine_error(name))?;
        machine.making = None;
        machine.address = found.address.or_else(|| machine.address.take());
        machine.host_keys = found.host_keys.or_else(|| machine.host_keys.take());
        machine.vm.created_at = found.created_at.or(machine.vm.created_at).or(Some(now));
        machine.usd_per_hour = found.usd_per_hour.or(machine.usd_per_hour);
        if machine.active_sessions.is_empty() && machine.idle_since.is_none() {
            machine.idle_since = Some(now);
        }
        Ok(())
    }

    /// The machine `name` could not be made, and is not there. Its sessions, whoever started them, are queued again and answered.
    ///
    /// # Errors
    /// `Provisioning` where the machine is not in the pool.
    pub fn not_made(&mut self, name: &str, now: Timestamp) -> Result<Vec<String>, RemoteError> {
        if !self.vm_pool.contains_key(name) {
            return Err(unknown_machine_error(name));
        }
        Ok(self.forget_machine(name, now)?.0)
    }

    /// Says whether new sessions come to `name`.
    pub(crate) fn set_admission(
        &mut self,
        name: &str,
        admission: MachineAdmission,
    ) -> Result<(), RemoteError> {
        self.vm_pool.get_mut(name).ok_or_else(|| unknown_machine_error(name))?.admission = admission;
        Ok(())
    }

    /// The reason that `name` may not be deleted. `discard`: results that are still there are given up, as the user said.
    pub fn keep_reason(&self, name: &str, discard: bool) -> Option<MachineKeepReason> {
        let Some(machine) = self.vm_pool.get(name) else { return Some(MachineKeepReason::Unknown) };
        if !machine.made_by_us {
            return Some(MachineKeepReason::NotOurs);
        }
        if machine.making.is_some() || machine.removing.is_some() {
            return Some(MachineKeepReason::Busy);
        }
        let there = || self.sessions.iter().filter(|(_, record)| record.session.vm_name == name);
        let running: Vec<String> = there()
            .filter(|(_, record)| record.needs_slot() || record.end_unconfirmed)
            .map(|(id, _)| id.clone())
            .collect();
        if !running.is_empty() || !machine.active_sessions.is_empty() {
            let held = if running.is_empty() { machine.active_sessions.clone() } else { running };
            return Some(MachineKeepReason::InUse(held));
        }
        let waiting: Vec<String> =
            there().filter(|(_, record)| record.has_results_there()).map(|(id, _)| id.clone()).collect();
        (!discard && !waiting.is_empty()).then_some(MachineKeepReason::Results(waiting))
    }

    /// Marks `name` as being deleted by `client`: from here on nobody gets a slot on it.
    pub(crate) fn begin_removal(
        &mut self,
        name: &str,
        discard: bool,
        client: &ClientProcess,
        now: Timestamp,
    ) -> Result<(), MachineKeepReason> {
        if let Some(why) = self.keep_reason(name, discard) {
            return Err(why);
        }
        let machine = self.vm_pool.get_mut(name).ok_or(MachineKeepReason::Unknown)?;
        machine.removing = Some(MachineWork { client: client.clone(), since: now });
        Ok(())
    }

    /// The machine `name` is gone.
    ///
    /// # Errors
    /// `SessionNotFound` where a session of the machine cannot be looked up, which no known state brings about. A machine that is not in
    /// the pool is no error.
    pub fn mark_removed(&mut self, name: &str, now: Timestamp) -> Result<(), RemoteError> {
        self.forget_machine(name, now).map(drop)
    }

    /// The machine `name` is still there: it gets no more sessions, and its removal may begin again.
    pub(crate) fn not_removed(&mut self, name: &str) {
        if let Some(machine) = self.vm_pool.get_mut(name) {
            machine.removing = None;
            machine.admission = MachineAdmission::Draining;
        }
    }

    /// The machines of ours that hold no session: those that drain, and those that have been idle for `idle`. In order.
    pub fn idle_machines(&self, idle: Duration, now: Timestamp) -> Vec<String> {
        let over = |machine: &&PoolMachine| {
            let since = machine.idle_since.map(|since| now.duration_since(since).unsigned_abs());
            let empty = machine.active_sessions.is_empty();
            machine.made_by_us
                && empty
                && (machine.admission == MachineAdmission::Draining
                    || since.is_some_and(|since| since >= idle))
        };
        self.vm_pool.values().filter(over).map(|machine| machine.vm.name.clone()).collect()
    }
}

fn unknown_machine_error(name: &str) -> RemoteError {
    let message = format!("machine '{name}' is not in the pool; see 'amplihack remote pool list'");
    RemoteError::Provisioning(ErrorContext::new(message).with_fact("vm_name", name))
}
