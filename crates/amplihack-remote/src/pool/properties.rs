//! Whatever happens in whatever order: no slot too many, no session without a place, no slot without a session.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::tests::{add, at, client, host, seen};
use super::*;
use crate::protocol::FarState;
use crate::state::{Admission, BackendKind, Client, Phase, State, decode, encode};

/// Something that happens. Numbers choose among what is there.
#[derive(Debug, Clone)]
enum Event {
    Know { name: u8, capacity: usize },
    Start { client: u32, count: usize, rented: bool, at_most: Option<usize> },
    Again { client: u32, session: u16, rented: bool },
    Advance { session: u16, phase: Phase },
    Runs { session: u16 },
    Ends { session: u16, code: i32 },
    Fails { session: u16 },
    Kill { session: u16, confirmed: bool },
    Made { machine: u16 },
    NotMade { machine: u16 },
    Admit { machine: u16, admission: Admission },
    Remove { machine: u16, discard: bool, client: u32 },
    Removed { machine: u16, gone: bool },
    Dies { client: u32 },
    Reconcile { seen: Vec<(u16, FarState)>, cut: Vec<u16>, looked: Vec<(u16, u8)> },
}

fn far() -> impl Strategy<Value = FarState> {
    prop_oneof![
        Just(FarState::Absent),
        Just(FarState::Waiting),
        Just(FarState::Running),
        (0..3).prop_map(FarState::Ended),
        Just(FarState::Killed(143)),
        Just(FarState::Lost),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let phase = prop_oneof![Just(Phase::Sent), Just(Phase::Claimed), Just(Phase::Started)];
    let admission = prop_oneof![Just(Admission::Open), Just(Admission::Cordoned), Just(Admission::Draining)];
    let seen = proptest::collection::vec((any::<u16>(), far()), 0..8);
    let looked = proptest::collection::vec((any::<u16>(), 0..3_u8), 0..3);
    prop_oneof![
        (0..3_u8, 0..4_usize).prop_map(|(name, capacity)| Event::Know { name, capacity }),
        (0..4_u32, 1..6_usize, any::<bool>(), proptest::option::of(0..4_usize))
            .prop_map(|(client, count, rented, at_most)| Event::Start { client, count, rented, at_most }),
        (0..4_u32, any::<u16>(), any::<bool>()).prop_map(|(client, session, rented)| Event::Again {
            client,
            session,
            rented
        }),
        (any::<u16>(), phase).prop_map(|(session, phase)| Event::Advance { session, phase }),
        any::<u16>().prop_map(|session| Event::Runs { session }),
        (any::<u16>(), 0..3).prop_map(|(session, code)| Event::Ends { session, code }),
        any::<u16>().prop_map(|session| Event::Fails { session }),
        (any::<u16>(), any::<bool>()).prop_map(|(session, confirmed)| Event::Kill { session, confirmed }),
        any::<u16>().prop_map(|machine| Event::Made { machine }),
        any::<u16>().prop_map(|machine| Event::NotMade { machine }),
        (any::<u16>(), admission).prop_map(|(machine, admission)| Event::Admit { machine, admission }),
        (any::<u16>(), any::<bool>(), 0..4_u32).prop_map(|(machine, discard, client)| Event::Remove {
            machine,
            discard,
            client
        }),
        (any::<u16>(), any::<bool>()).prop_map(|(machine, gone)| Event::Removed { machine, gone }),
        (0..4_u32).prop_map(|client| Event::Dies { client }),
        (seen, proptest::collection::vec(any::<u16>(), 0..2), looked)
            .prop_map(|(seen, cut, looked)| Event::Reconcile { seen, cut, looked }),
    ]
}

fn chosen<T>(map: &BTreeMap<String, T>, number: u16) -> Option<String> {
    map.keys().nth(usize::from(number) % map.len().max(1)).cloned()
}

/// The state, and which processes have died.
#[derive(Default)]
struct World {
    state: State,
    dead: BTreeSet<u32>,
    now: i64,
}

impl World {
    fn session(&self, number: u16) -> Option<String> {
        chosen(&self.state.sessions, number)
    }

    fn machine(&self, number: u16) -> Option<String> {
        chosen(&self.state.vm_pool, number)
    }

    fn wants(rented: bool, at_most: Option<usize>) -> Wants {
        if !rented {
            return Wants::any(BackendKind::Ssh);
        }
        let make = Some(Make { name: "vm".into(), capacity: 2, at_most });
        Wants { make, size: "s".into(), ..Wants::any(BackendKind::Azlin) }
    }

    /// Errors are answers here: what must hold is looked at after each event.
    fn happen(&mut self, event: Event) {
        self.now += 1;
        let now = at(self.now);
        match event {
            Event::Know { name, capacity } => self.state.know(host(&format!("h{name}"), capacity), now),
            Event::Start { client: pid, count, rented, at_most } => {
                let ids = add(&mut self.state, count);
                let wants = Self::wants(rented, at_most);
                let got = self.state.reserve(&ids, &wants, &client(pid), now).unwrap();
                assert_eq!(got.placed.len() + got.queued.len(), count);
            }
            Event::Again { client: pid, session, rented } => {
                let ids: Vec<String> = self.session(session).into_iter().collect();
                self.state.reserve(&ids, &Self::wants(rented, None), &client(pid), now).unwrap();
            }
            Event::Reconcile { seen, cut, looked } => self.reconcile(&seen, &cut, &looked),
            Event::Dies { client } => drop(self.dead.insert(client)),
            Event::Advance { session, .. }
            | Event::Runs { session }
            | Event::Ends { session, .. }
            | Event::Fails { session }
            | Event::Kill { session, .. } => {
                if let Some(id) = self.session(session) {
                    self.about_session(&id, &event);
                }
            }
            Event::Made { machine }
            | Event::NotMade { machine }
            | Event::Admit { machine, .. }
            | Event::Remove { machine, .. }
            | Event::Removed { machine, .. } => {
                if let Some(name) = self.machine(machine) {
                    self.about_machine(&name, &event);
                }
            }
        }
    }

    fn about_session(&mut self, id: &str, event: &Event) {
        let (now, state) = (at(self.now), &mut self.state);
        match event {
            Event::Advance { phase, .. } => drop(state.advance(id, *phase)),
            // As callers do: what has no slot does not run.
            Event::Runs { .. } if state.sessions[id].phase != Some(Phase::Queued) => {
                state.started(id, now).unwrap();
            }
            Event::Ends { code, .. } => drop(state.ended(id, *code, now, now).unwrap()),
            Event::Fails { .. } => drop(state.failed(id, "x", now).unwrap()),
            Event::Kill { confirmed, .. } => drop(state.killed(id, None, *confirmed, now).unwrap()),
            _ => {}
        }
    }

    fn about_machine(&mut self, name: &str, event: &Event) {
        let (now, state) = (at(self.now), &mut self.state);
        let machine = &state.vm_pool[name];
        match event {
            Event::Made { .. } if machine.making.is_some() => {
                state.made(name, Found::default(), now).unwrap();
            }
            Event::NotMade { .. } if machine.making.is_some() => drop(state.not_made(name, now).unwrap()),
            Event::Admit { admission, .. } => state.set_admission(name, *admission).unwrap(),
            Event::Remove { discard, client: pid, .. } => {
                let used = !machine.active_sessions.is_empty() || !machine.made_by_us;
                let began = state.begin_removal(name, *discard, &client(*pid), now);
                assert!(began.is_err() || !used);
            }
            Event::Removed { gone, .. } if machine.removing.is_some() => {
                assert!(machine.active_sessions.is_empty(), "somebody got a slot on it");
                if *gone {
                    state.removed(name, now).unwrap();
                } else {
                    state.not_removed(name);
                }
            }
            _ => {}
        }
    }

    fn reconcile(&mut self, seen_: &[(u16, FarState)], cut: &[u16], looked: &[(u16, u8)]) {
        let mut observations = Observations::default();
        for (session, far) in seen_ {
            let Some(id) = self.session(*session) else { continue };
            let vm = self.state.sessions[&id].session.vm_name.clone();
            let host = observations.hosts.entry(vm).or_insert_with(|| HostSeen::Answered(BTreeMap::new()));
            if let HostSeen::Answered(sessions) = host {
                sessions.insert(id.clone(), seen(&id, *far));
            }
        }
        for machine in cut {
            if let Some(name) = self.machine(*machine) {
                observations.hosts.insert(name, HostSeen::Unreachable);
            }
        }
        for (machine, answer) in looked {
            let Some(name) = self.machine(*machine) else { continue };
            let found = match answer {
                0 => LookedUp::There(Found::default()),
                1 => LookedUp::Gone,
                _ => LookedUp::Unknown("x".into()),
            };
            observations.looked_up.insert(name, found);
        }
        self.look(&observations);
    }

    fn look(&mut self, observations: &Observations) {
        let dead = self.dead.clone();
        let alive = move |client: &Client| !dead.contains(&client.pid);
        let (me, now) = (client(99), at(self.now));
        self.state.reconcile(observations, &me, &alive, now).unwrap();
        let once = self.state.clone();
        self.state.reconcile(observations, &me, &alive, now).unwrap();
        assert_eq!(self.state, once, "the same answers again change nothing more");
    }

    fn holds(&self) {
        assert_eq!(self.state.disagreements(), [""; 0]);
        let (again, foreign) = decode(&encode(&self.state).unwrap()).unwrap();
        assert_eq!((&again, foreign), (&self.state, false), "what is written is what is read");
    }

    /// Everybody is dead, and every machine and provider answers.
    fn the_morning_after(&mut self, ends: FarState) {
        self.now += 1;
        self.dead = (0..4).collect();
        let mut observations = Observations::default();
        for (vm, ids) in self.state.to_observe() {
            let sessions = ids.iter().map(|id| (id.clone(), seen(id, ends))).collect();
            observations.hosts.insert(vm, HostSeen::Answered(sessions));
        }
        for name in self.state.vm_pool.keys() {
            observations.looked_up.insert(name.clone(), LookedUp::There(Found::default()));
        }
        self.look(&observations);
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
        events in proptest::collection::vec(event(), 0..60),
        ends in prop_oneof![Just(FarState::Absent), Just(FarState::Ended(0)), Just(FarState::Killed(1)), Just(FarState::Lost)],
    ) {
        let mut world = World::default();
        for event in events {
            world.happen(event);
            world.holds();
        }
        world.the_morning_after(ends);
        world.holds();
    }
}
