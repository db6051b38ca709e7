//! Slots for sessions: on machines that are there, on machines that somebody makes already, on machines to be made.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::error::RemoteError;
use crate::state::{
    BackendKind, ClientProcess, MachineWork, MadeFor, PoolMachine, RemoteState, StartPhase, VmRecord,
};

/// Requirements of sessions on their machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineRequest {
    /// The backend that reaches the machine.
    pub backend: BackendKind,
    /// The only machine that may be used; `None`: any.
    pub host: Option<String>,
    /// The provider's size of the machine; empty: any.
    pub size: String,
    /// The region of the machine; empty: any.
    pub region: String,
    /// All of these are among its labels.
    pub labels: BTreeSet<String>,
    /// Machines that were found unable to run such sessions.
    pub except: BTreeSet<String>,
    /// A machine that was made for [`MadeFor::Exec`] is for such sessions only.
    pub made_for: MadeFor,
    /// A machine that is there will do.
    pub reuse: bool,
    /// Plan for new machines where there are too few; `None`: none is made.
    pub make: Option<NewMachinePlan>,
}

/// Plan for the machines to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMachinePlan {
    /// The name of the first; further ones get a number behind it.
    pub name: String,
    /// Number of sessions that each machine holds.
    pub capacity: usize,
    /// Limit of machines made by this tool at the same time; `None`: no limit.
    pub at_most: Option<usize>,
}

/// The result of reserving slots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlotReservation {
    /// The sessions that have a slot, with their machines. A machine may still be in the making, by this process or another.
    pub placed: BTreeMap<String, String>,
    /// The machines that this process has to make now, in order: they stand in the state as being made by it.
    pub to_make: Vec<String>,
    /// The sessions for which there is no room, in the order asked. They may be reserved again later.
    pub queued: Vec<String>,
    /// The sessions that somebody ended meanwhile.
    pub ended: Vec<String>,
}

impl RemoteState {
    /// Gives each of `ids` a slot if there is one; those that have one keep it, so that asking again changes nothing.
    ///
    /// The slots are taken before anything is sent or made: one machine in the making serves many sessions, of several processes.
    /// Rented machines are filled up, others share the sessions out.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has one of `ids`; nothing is changed then.
    pub fn reserve_slots(
        &mut self,
        ids: &[String],
        wants: &MachineRequest,
        client: &ClientProcess,
        now: Timestamp,
    ) -> Result<SlotReservation, RemoteError> {
        let mut got = SlotReservation::default();
        for id in ids {
            self.session(id)?;
        }
        for id in ids {
            let record = self.session_mut(id)?;
            if record.session.status.is_final() {
                got.ended.push(id.clone());
                continue;
            }
            if record.needs_slot() {
                got.placed.insert(id.clone(), record.session.vm_name.clone());
                continue;
            }
            record.client = Some(client.clone());
            record.backend = Some(wants.backend);
            let Some(name) = self.find_or_make(wants, client, now, &mut got.to_make) else {
                got.queued.push(id.clone());
                continue;
            };
            self.place_session(id, &name)?;
            got.placed.insert(id.clone(), name);
        }
        Ok(got)
    }

    fn find_or_make(
        &mut self,
        wants: &MachineRequest,
        client: &ClientProcess,
        now: Timestamp,
        to_make: &mut Vec<String>,
    ) -> Option<String> {
        if let Some(name) = self.best_machine(wants) {
            return Some(name);
        }
        let name = self.plan_machine(wants, client, now)?;
        to_make.push(name.clone());
        Some(name)
    }

    /// The machine that should get the next session, of those with room.
    fn best_machine(&self, wants: &MachineRequest) -> Option<String> {
        let fits = self.vm_pool.values().filter(|machine| machine.is_admitting() && wants.is_met_by(machine));
        let best = fits.min_by_key(|machine| {
            let free = machine.free_slots();
            let order =
                if wants.backend == BackendKind::Azlin { (free, Reverse(0)) } else { (0, Reverse(free)) };
            // One that is there comes before one that is being made.
            (machine.making.is_some(), order)
        });
        best.map(|machine| machine.vm.name.clone())
    }

    /// Writes down a machine that `client` is going to make. `None` if it may not.
    fn plan_machine(
        &mut self,
        wants: &MachineRequest,
        client: &ClientProcess,
        now: Timestamp,
    ) -> Option<String> {
        let make = wants.make.as_ref().filter(|make| make.capacity > 0)?;
        let ours = self.vm_pool.values().filter(|machine| machine.made_by_us).count();
        if make.at_most.is_some_and(|most| ours >= most) {
            return None;
        }
        let numbered = (2_u32..).map(|number| format!("{}-{number}", make.name));
        let name = std::iter::once(make.name.clone())
            .chain(numbered)
            .find(|name| !self.vm_pool.contains_key(name))?;
        let machine = PoolMachine {
            vm: VmRecord {
                name: name.clone(),
                size: wants.size.clone(),
                region: wants.region.clone(),
                ..VmRecord::default()
            },
            capacity: make.capacity,
            region: wants.region.clone(),
            backend: Some(wants.backend),
            made_by_us: true,
            made_for: Some(wants.made_for),
            making: Some(MachineWork { client: client.clone(), since: now }),
            labels: wants.labels.clone(),
            ..PoolMachine::default()
        };
        self.vm_pool.insert(name.clone(), machine);
        Some(name)
    }

    /// Puts `id` on a machine that the caller chose: with a slot, if it is in the pool.
    pub(crate) fn put_on(&mut self, id: &str, name: &str) -> Result<(), RemoteError> {
        let Some(machine) = self.vm_pool.get(name) else {
            let record = self.session_mut(id)?;
            name.clone_into(&mut record.session.vm_name);
            record.phase = None;
            return Ok(());
        };
        if machine.removing.is_some() {
            return Err(RemoteError::Provisioning(format!("machine '{name}' is being deleted").into()));
        }
        self.place_session(id, name)?;
        self.session_mut(id)?.phase = None;
        Ok(())
    }

    fn place_session(&mut self, id: &str, name: &str) -> Result<(), RemoteError> {
        let taken = self.vm_pool.get_mut(name).is_some_and(|machine| machine.take_slot(id));
        if !taken {
            return Err(RemoteError::Provisioning(format!("machine '{name}' has no free slot").into()));
        }
        let record = self.session_mut(id)?;
        name.clone_into(&mut record.session.vm_name);
        record.phase = Some(StartPhase::Reserved);
        Ok(())
    }
}

impl MachineRequest {
    /// Any machine that is there and is reached by `backend`, for the pool's sessions.
    pub fn from_backend(backend: BackendKind) -> Self {
        Self {
            backend,
            host: None,
            size: String::new(),
            region: String::new(),
            labels: BTreeSet::new(),
            except: BTreeSet::new(),
            made_for: MadeFor::Pool,
            reuse: true,
            make: None,
        }
    }

    /// Reports whether a machine meets the request, whether or not it is full.
    pub fn is_met_by(&self, machine: &PoolMachine) -> bool {
        let same = |wanted: &str, have: &str| wanted.is_empty() || wanted.eq_ignore_ascii_case(have);
        machine.backend == Some(self.backend)
            && !self.except.contains(&machine.vm.name)
            && self.host.as_ref().is_none_or(|host| *host == machine.vm.name)
            && self.reuse
            && (machine.made_for != Some(MadeFor::Exec) || self.made_for == MadeFor::Exec)
            && same(&self.size, &machine.vm.size)
            && same(&self.region, &machine.region)
            && self.labels.is_subset(&machine.labels)
    }
}
