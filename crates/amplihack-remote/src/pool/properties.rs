//! Whatever happens in whatever order: no slot too many, no session without a place, no slot without a session.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::tests::{add, at, client, host, seen};
use super::*;
use crate::protocol::FarState;
use crate::state::{
    BackendKind, ClientProcess, MachineAdmission, RemoteState, StartPhase, decode_state, encode_state,
};

/// Something that happens. Numbers choose among what is there.
#[derive(Debug, Clone)]
enum PoolTestEvent {
    Know { name: u8, capacity: usize },
    Start { client: u32, count: usize, rented: bool, at_most: Option<usize> },
    Again { client: u32, session: u16, rented: bool },
    Advance { session: u16, phase: StartPhase },
    Runs { session: u16 },
    Ends { session: u16, code: i32 },
    Fails { session: u16 },
    Kill { session: u16, confirmed: bool },
    Made { machine: u16 },
    NotMade { machine: u16 },
    Admit { machine: u16, admission: MachineAdmission },
    Remove { machine: u16, discard: bool, client: u32 },
    Removed { machine: u16, gone: bool },
    Dies { client: u32 },
    Reconcile { seen: Vec<(u16, FarState)>, cut: Vec<u16>, looked: Vec<(u16, u8)> },
}

fn far_state_strategy() -> impl Strategy<Value = FarState> {
    prop_oneof![
        Just(FarState::Absent),
        Just(FarState::Waiting),
        Just(FarState::Running),
        (0..3).prop_map(FarState::Ended),
        Just(FarState::Killed(143)),
        Just(FarState::Lost),
    ]
}

fn event_strategy() -> impl Strategy<Value = PoolTestEvent> {
    let phase = prop_oneof![Just(StartPhase::Sent), Just(StartPhase::Claimed), Just(StartPhase::Started)];
    let admission = prop_oneof![
        Just(MachineAdmission::Open),
        Just(MachineAdmission::Cordoned),
        Just(MachineAdmission::Draining)
    ];
    let seen = proptest::collection::vec((any::<u16>(), far_state_strategy()), 0..8);
    let looked = proptest::collection::vec((any::<u16>(), 0..3_u8), 0..3);
    prop_oneof![
        (0..3_u8, 0..4_usize).prop_map(|(name, capacity)| PoolTestEvent::Know { name, capacity }),
        (0..4_u32, 1..6_usize, any::<bool>(), proptest::option::of(0..4_usize)).prop_map(
            |(client, count, rented, at_most)| PoolTestEvent::Start { client, count, rented, at_most }
        ),
        (0..4_u32, any::<u16>(), any::<bool>()).prop_map(|(client, session, rented)| PoolTestEvent::Again {
            client,
            session,
            rented
        }),
        (any::<u16>(), phase).prop_map(|(session, phase)| PoolTestEvent::Advance { session, phase }),
        any::<u16>().prop_map(|session| PoolTestEvent::Runs { session }),
        (any::<u16>(), 0..3).prop_map(|(session, code)| PoolTestEvent::Ends { session, code }),
        any::<u16>().prop_map(|session| PoolTestEvent::Fails { session }),
        (any::<u16>(), any::<bool>())
            .prop_map(|(session, confirmed)| PoolTestEvent::Kill { session, confirmed }),
        any::<u16>().prop_map(|machine| PoolTestEvent::Made { machine }),
        any::<u16>().prop_map(|machine| PoolTestEvent::NotMade { machine }),
        (any::<u16>(), admission)
            .prop_map(|(machine, admission)| PoolTestEvent::Admit { machine, admission }),
        (any::<u16>(), any::<bool>(), 0..4_u32)
            .prop_map(|(machine, discard, client)| PoolTestEvent::Remove { machine, discard, client }),
        (any::<u16>(), any::<bool>()).prop_map(|(machine, gone)| PoolTestEvent::Removed { machine, gone }),
        (0..4_u32).prop_map(|client| PoolTestEvent::Dies { client }),
        (seen, proptest::collection::vec(any::<u16>(), 0..2), looked)
            .prop_map(|(seen, cut, looked)| PoolTestEvent::Reconcile { seen, cut, looked }),
    ]
}

fn choose_key<T>(map: &BTreeMap<String, T>, number: u16) -> Option<String> {
    map.keys().nth(usize::from(number) % map.len().max(1)).cloned()
}

/// The state, and which processes have died.
#[derive(Default)]
struct PoolTestModel {
    state: RemoteState,
    dead: BTreeSet<u32>,
    now: i64,
}

impl PoolTestModel {
    fn session_id(&self, number: u16) -> Option<String> {
        choose_key(&self.state.sessions, number)
    }

    fn machine_name(&self, number: u16) -> Option<String> {
        choose_key(&self.state.vm_pool, number)
    }

    fn machine_request(rented: bool, at_most: Option<usize>) -> MachineRequest {
        if !rented {
            return MachineRequest::from_backend(BackendKind::Ssh);
        }
        let make = Some(NewMachinePlan { name: "vm".into(), capacity: 2, at_most });
        MachineRequest { make, size: "s".into(), ..MachineRequest::from_backend(BackendKind::Azlin) }
    }

    /// Errors are answers here: what must hold is looked at after each event.
    fn apply_event(&mut self, event: PoolTestEvent) {
        self.now += 1;
        let now = at(self.now);
        match event {
            PoolTestEvent::Know { name, capacity } => {
                self.state.register_machine(host(&format!("h{name}"), capacity), now);
            }
            PoolTestEvent::Start { client: pid, count, rented, at_most } => {
                let ids = add(&mut self.state, count);
                let wants = Self::machine_request(rented, at_most);
                let got = self.state.reserve_slots(&ids, &wants, &client(pid), now).unwrap();
                assert_eq!(got.placed.len() + got.queued.len(), count);
            }
            PoolTestEvent::Again { client: pid, session, rented } => {
                let ids: Vec<String> = self.session_id(session).into_iter().collect();
                self.state
                    .reserve_slots(&ids, &Self::machine_request(rented, None), &client(pid), now)
                    .unwrap();
            }
            PoolTestEvent::Reconcile { seen, cut, looked } => self.apply_reconcile(&seen, &cut, &looked),
            PoolTestEvent::Dies { client } => drop(self.dead.insert(client)),
            PoolTestEvent::Advance { session, .. }
            | PoolTestEvent::Runs { session }
            | PoolTestEvent::Ends { session, .. }
            | PoolTestEvent::Fails { session }
            | PoolTestEvent::Kill { session, .. } => {
                if let Some(id) = self.session_id(session) {
                    self.about_session(&id, &event);
                }
            }
            PoolTestEvent::Made { machine }
            | PoolTestEvent::NotMade { machine }
            | PoolTestEvent::Admit { machine, .. }
            | PoolTestEvent::Remove { machine, .. }
            | PoolTestEvent::Removed { machine, .. } => {
                if let Some(name) = self.machine_name(machine) {
                    self.about_machine(&name, &event);
                }
            }
        }
    }

    fn about_session(&mut self, id: &str, event: &PoolTestEvent) {
        let (now, state) = (at(self.now), &mut self.state);
        match event {
            PoolTestEvent::Advance { phase, .. } => drop(state.advance_start(id, *phase)),
            // As callers do: what has no slot does not run.
            PoolTestEvent::Runs { .. } if state.sessions[id].phase != Some(StartPhase::Queued) => {
                state.mark_started(id, now).unwrap();
            }
            PoolTestEvent::Ends { code, .. } => drop(state.mark_ended(id, *code, now, now).unwrap()),
            PoolTestEvent::Fails { .. } => drop(state.mark_failed(id, "x", now).unwrap()),
            PoolTestEvent::Kill { confirmed, .. } => {
                state.mark_killed(id, None, *confirmed, now).unwrap();
            }
            _ => {}
        }
    }

    fn about_machine(&mut self, name: &str, event: &PoolTestEvent) {
        let (now, state) = (at(self.now), &mut self.state);
        let machine = &state.vm_pool[name];
        match event {
            PoolTestEvent::Made { .. } if machine.making.is_some() => {
                state.mark_made(name, PoolMachineFacts::default(), now).unwrap();
            }
            PoolTestEvent::NotMade { .. } if machine.making.is_some() => {
                drop(state.not_made(name, now).unwrap());
            }
            PoolTestEvent::Admit { admission, .. } => state.set_admission(name, *admission).unwrap(),
            PoolTestEvent::Remove { discard, client: pid, .. } => {
                let used = !machine.active_sessions.is_empty() || !machine.made_by_us;
                let began = state.begin_removal(name, *discard, &client(*pid), now);
                assert!(began.is_err() || !used);
            }
            PoolTestEvent::Removed { gone, .. } if machine.removing.is_some() => {
                assert!(machine.active_sessions.is_empty(), "somebody got a slot on it");
                if *gone {
                    state.mark_removed(name, now).unwrap();
                } else {
                    state.not_removed(name);
                }
            }
            _ => {}
        }
    }

    fn apply_reconcile(&mut self, seen_: &[(u16, FarState)], cut: &[u16], looked: &[(u16, u8)]) {
        let mut observations = PoolObservations::default();
        for (session, far) in seen_ {
            let Some(id) = self.session_id(*session) else { continue };
            let vm = self.state.sessions[&id].session.vm_name.clone();
            let host = observations.hosts.entry(vm).or_insert_with(|| HostSeen::Answered(BTreeMap::new()));
            if let HostSeen::Answered(sessions) = host {
                sessions.insert(id.clone(), seen(&id, *far));
            }
        }
        for machine in cut {
            if let Some(name) = self.machine_name(*machine) {
                observations.hosts.insert(name, HostSeen::Unreachable);
            }
        }
        for (machine, answer) in looked {
            let Some(name) = self.machine_name(*machine) else { continue };
            let found = match answer {
                0 => LookedUp::There(PoolMachineFacts::default()),
                1 => LookedUp::Gone,
                _ => LookedUp::Unknown("x".into()),
            };
            observations.looked_up.insert(name, found);
        }
        self.reconcile_twice(&observations);
    }

    fn reconcile_twice(&mut self, observations: &PoolObservations) {
        let dead = self.dead.clone();
        let alive = move |client: &ClientProcess| !dead.contains(&client.pid);
        let (me, now) = (client(99), at(self.now));
        self.state.reconcile(observations, &me, &alive, now).unwrap();
        let once = self.state.clone();
        self.state.reconcile(observations, &me, &alive, now).unwrap();
        assert_eq!(self.state, once, "the same answers again change nothing more");
    }

    fn assert_promises(&self) {
        assert_eq!(self.state.find_disagreements(), [""; 0]);
        let (again, foreign) = decode_state(&encode_state(&self.state).unwrap()).unwrap();
        assert_eq!((&again, foreign), (&self.state, false), "what is written is what is read");
    }

    /// Everybody is dead, and every machine and provider answers.
    fn the_morning_after(&mut self, ends: FarState) {
        self.now += 1;
        self.dead = (0..4).collect();
        let mut observations = PoolObservations::default();
        for (vm, ids) in self.state.to_observe() {
            let sessions = ids.iter().map(|id| (id.clone(), seen(id, ends))).collect();
            observations.hosts.insert(vm, HostSeen::Answered(sessions));
        }
        for name in self.state.vm_pool.keys() {
            observations.looked_up.insert(name.clone(), LookedUp::There(PoolMachineFacts::default()));
        }
        self.reconcile_twice(&observations);
        for (id, record) in &self.state.sessions {
            assert!(record.session.status.is_final(), "{id} is {}", record.session.status);
        }
        for (name, machine) in &self.state.vm_pool {
            let at_rest =
                machine.active_sessions.is_empty() && machine.making.is_none() && machine.removing.is_none();
            assert!(at_rest && machine.idle_since.is_some(), "{name} is not at rest");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_promises_hold_after_every_event(
        events in proptest::collection::vec(event_strategy(), 0..60),
        ends in prop_oneof![Just(FarState::Absent), Just(FarState::Ended(0)), Just(FarState::Killed(1)), Just(FarState::Lost)],
    ) {
        let mut world = PoolTestModel::default();
        for event in events {
            world.apply_event(event);
            world.assert_promises();
        }
        world.the_morning_after(ends);
        world.assert_promises();
    }
}
