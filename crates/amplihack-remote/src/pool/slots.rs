//! Slots and sessions in line with each other, whoever wrote the file.

use jiff::Timestamp;

use crate::state::RemoteState;

impl RemoteState {
    /// Promises of the pool that do not hold, a line each, in order; empty as long as only this program writes the file.
    pub fn find_disagreements(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, machine) in &self.vm_pool {
            if machine.active_sessions.len() > machine.capacity {
                found.push(format!("machine {name}: it holds more sessions than its capacity"));
            }
            for (at, id) in machine.active_sessions.iter().enumerate() {
                let owner = self
                    .sessions
                    .get(id)
                    .filter(|owner| owner.needs_slot() && owner.session.vm_name == *name);
                if owner.is_none() || machine.active_sessions[..at].contains(id) {
                    found.push(format!("machine {name}: its slot for {id} is not needed"));
                }
            }
        }
        for (id, record) in &self.sessions {
            let Some(machine) = self.vm_pool.get(&record.session.vm_name) else {
                if record.needs_slot() && record.phase.is_some() {
                    found.push(format!("session {id}: its machine is not in the pool"));
                }
                continue;
            };
            if record.needs_slot() && !machine.active_sessions.contains(id) {
                found.push(format!("session {id}: it has no slot"));
            }
        }
        found
    }

    /// Frees the slots of `name` that no session there needs, and gives one to each session there that has none. Where they are more
    /// than there is room for, they are there all the same: the capacity is larger until enough have ended.
    ///
    /// Answers whose slots were freed, and who got one.
    pub(crate) fn align_slots(&mut self, name: &str, now: Option<Timestamp>) -> (Vec<String>, Vec<String>) {
        let Some(machine) = self.vm_pool.get_mut(name) else { return Default::default() };
        let here =
            self.sessions.iter().filter(|(_, record)| record.needs_slot() && record.session.vm_name == name);
        let here: Vec<&String> = here.map(|(id, _)| id).collect();
        let (mut kept, mut freed) = (Vec::new(), Vec::new());
        for id in machine.active_sessions.drain(..) {
            let held = here.contains(&&id) && !kept.contains(&id);
            if held { &mut kept } else { &mut freed }.push(id);
        }
        let taken: Vec<String> = here.into_iter().filter(|id| !kept.contains(id)).cloned().collect();
        kept.extend(taken.iter().cloned());
        machine.active_sessions = kept;
        if machine.active_sessions.len() > machine.capacity {
            machine.capacity_wanted.get_or_insert(machine.capacity);
        }
        machine.capacity = machine.capacity.max(machine.active_sessions.len());
        machine.settle_capacity();
        if !machine.active_sessions.is_empty() || machine.making.is_some() {
            machine.idle_since = None;
        } else if machine.idle_since.is_none() {
            machine.idle_since = now;
        }
        (freed, taken)
    }
}
