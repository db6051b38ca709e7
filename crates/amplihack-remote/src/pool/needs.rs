//! Open questions of the state: for callers that ask machines, and for callers that only read.

use std::collections::BTreeMap;

use crate::session::SessionCondition;
use crate::state::{ClientProcess, RemoteState, SessionRecord, StartPhase};

impl RemoteState {
    /// The sessions that their machines should be asked for, by machine.
    pub(crate) fn to_observe(&self) -> BTreeMap<String, Vec<String>> {
        let mut ask: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (id, record) in &self.sessions {
            let open = record.needs_slot() && record.phase.is_none_or(|phase| phase >= StartPhase::Sent);
            let unsure = record.end_unconfirmed || record.condition == Some(SessionCondition::Lost);
            if (open || unsure) && !record.session.vm_name.is_empty() {
                ask.entry(record.session.vm_name.clone()).or_default().push(id.clone());
            }
        }
        ask
    }

    /// Work that a process left half done when it ended, a line each, in order; empty if there is nothing to reconcile.
    pub fn needs_reconciling(&self, alive: impl Fn(&ClientProcess) -> bool) -> Vec<String> {
        let mut left = Vec::new();
        for (id, record) in &self.sessions {
            if is_abandoned(record, &alive) {
                left.push(format!("session {id}: the process that was starting it has ended"));
            } else if record.end_unconfirmed {
                left.push(format!("session {id}: its machine did not confirm its end"));
            }
        }
        for (name, machine) in &self.vm_pool {
            let over = |work: &Option<crate::state::MachineWork>| {
                work.as_ref().is_some_and(|work| !alive(&work.client))
            };
            if over(&machine.making) {
                left.push(format!(
                    "machine {name}: the process that was making it has ended; it may cost money"
                ));
            } else if over(&machine.removing) {
                left.push(format!(
                    "machine {name}: the process that was deleting it has ended; it may cost money"
                ));
            }
        }
        left.extend(self.find_disagreements());
        left
    }
}

/// Reports whether no live process will finish the start of a session.
pub(super) fn is_abandoned(record: &SessionRecord, alive: impl Fn(&ClientProcess) -> bool) -> bool {
    let starting = record.phase.is_some_and(|phase| phase < StartPhase::Submitted);
    starting
        && !record.session.status.is_final()
        && record.client.as_ref().is_none_or(|client| !alive(client))
}
