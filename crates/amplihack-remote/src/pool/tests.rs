//! Each way in which a start can be cut off, and what becomes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::*;
use crate::mode::CommandMode;
use crate::protocol::{FarState, Observed};
use crate::session::{SessionCondition, SessionStatus};
use crate::state::{
    BackendKind, ClientProcess, MachineAdmission, MadeFor, NewSession, PoolMachine, RemoteState, StartPhase,
    VmRecord,
};

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_777_690_000 + second).unwrap()
}

pub(super) fn client(pid: u32) -> ClientProcess {
    ClientProcess { pid, start_time: 1, boot: "b".into(), host: "h".into() }
}

fn rented(size: &str, region: &str, capacity: usize) -> MachineRequest {
    let make = Some(NewMachinePlan { name: "vm".into(), capacity, at_most: None });
    MachineRequest {
        size: size.into(),
        region: region.into(),
        make,
        ..MachineRequest::from_backend(BackendKind::Azlin)
    }
}

pub(super) fn host(name: &str, capacity: usize) -> PoolMachine {
    let vm = VmRecord { name: name.into(), ..VmRecord::default() };
    PoolMachine { vm, capacity, backend: Some(BackendKind::Ssh), ..PoolMachine::default() }
}

pub(super) fn add(state: &mut RemoteState, count: usize) -> Vec<String> {
    let new =
        NewSession { prompt: "p".into(), command: CommandMode::Auto, max_turns: 10, memory_mb: Some(32_768) };
    (0..count).map(|_| state.add_session(new.clone(), at(0)).unwrap()).collect()
}

/// What `gc` gives back: idle machines that nothing keeps.
fn removable(state: &RemoteState, idle: Duration, now: Timestamp) -> Vec<String> {
    state
        .idle_machines(idle, now)
        .into_iter()
        .filter(|name| state.keep_reason(name, false).is_none())
        .collect()
}

pub(super) fn seen(id: &str, far: FarState) -> SeenSession {
    let times = !matches!(far, FarState::Absent | FarState::Waiting);
    let observed = Observed {
        id: id.into(),
        state: far,
        started: times.then(|| at(10)),
        ended: matches!(far, FarState::Ended(_) | FarState::Killed(_)).then(|| at(20)),
        log_bytes: 0,
    };
    SeenSession { observed, job: None }
}

/// What `host` answers about one session.
fn answer(host: &str, id: &str, far: FarState) -> PoolObservations {
    let sessions = BTreeMap::from([(id.to_owned(), seen(id, far))]);
    PoolObservations {
        hosts: BTreeMap::from([(host.to_owned(), HostSeen::Answered(sessions))]),
        ..PoolObservations::default()
    }
}

fn looked_up(name: &str, found: LookedUp) -> PoolObservations {
    PoolObservations { looked_up: BTreeMap::from([(name.to_owned(), found)]), ..PoolObservations::default() }
}

fn machines(reservation: &SlotReservation, ids: &[String]) -> Vec<String> {
    ids.iter().map(|id| reservation.placed[id].clone()).collect()
}

/// One session on the host `h`, its start as far as `phase`.
fn one(phase: StartPhase) -> (RemoteState, String) {
    let mut state = RemoteState::default();
    state.register_machine(host("h", 1), at(0));
    let id = add(&mut state, 1).remove(0);
    state
        .reserve_slots(
            std::slice::from_ref(&id),
            &MachineRequest::from_backend(BackendKind::Ssh),
            &client(1),
            at(0),
        )
        .unwrap();
    match phase {
        StartPhase::Queued => unreachable!(),
        StartPhase::Started => drop(state.mark_started(&id, at(10)).unwrap()),
        phase => state.advance_start(&id, phase).unwrap(),
    }
    (state, id)
}

const DEAD: fn(&ClientProcess) -> bool = |client| client.pid != 1;
const ALIVE: fn(&ClientProcess) -> bool = |_| true;

fn reconcile(
    state: &mut RemoteState,
    seen: &PoolObservations,
    alive: fn(&ClientProcess) -> bool,
) -> ReconcileReport {
    let did = state.reconcile(seen, &client(2), &alive, at(100)).unwrap();
    assert_eq!(state.find_disagreements(), [""; 0]);
    did
}

#[test]
fn sessions_are_shared_out_over_hosts_and_what_finds_no_room_waits() {
    let mut state = RemoteState::default();
    state.register_machine(host("a", 1), at(0));
    state.register_machine(host("b", 3), at(0));
    let ids = add(&mut state, 5);
    let got = state
        .reserve_slots(&ids, &MachineRequest::from_backend(BackendKind::Ssh), &client(1), at(0))
        .unwrap();
    assert_eq!(machines(&got, &ids[..4]), ["b", "b", "a", "b"]);
    assert_eq!((got.queued, got.to_make), (vec![ids[4].clone()], vec![]));
    let again = state
        .reserve_slots(&ids[..4], &MachineRequest::from_backend(BackendKind::Ssh), &client(1), at(0))
        .unwrap();
    assert_eq!(again.placed, got.placed, "asking again changes nothing");
    state.mark_ended(&ids[0], 0, at(1), at(1)).unwrap();
    let got = state
        .reserve_slots(&ids, &MachineRequest::from_backend(BackendKind::Ssh), &client(1), at(0))
        .unwrap();
    assert_eq!((got.placed[&ids[4]].as_str(), got.ended), ("b", vec![ids[0].clone()]));
}

#[test]
fn a_host_is_chosen_by_name_labels_and_backend_and_not_when_it_is_closed() {
    let mut state = RemoteState::default();
    state
        .register_machine(PoolMachine { labels: ["gpu".into(), "big".into()].into(), ..host("a", 9) }, at(0));
    state.register_machine(host("b", 9), at(0));
    let place = |state: &mut RemoteState, wants: MachineRequest| {
        let ids = add(state, 1);
        state.reserve_slots(&ids, &wants, &client(1), at(0)).unwrap().placed.into_values().next()
    };
    let ssh = || MachineRequest::from_backend(BackendKind::Ssh);
    assert_eq!(
        place(&mut state, MachineRequest { labels: ["gpu".into()].into(), ..ssh() }).as_deref(),
        Some("a")
    );
    assert_eq!(place(&mut state, MachineRequest { labels: ["tpu".into()].into(), ..ssh() }), None);
    assert_eq!(place(&mut state, MachineRequest { host: Some("b".into()), ..ssh() }).as_deref(), Some("b"));
    assert_eq!(place(&mut state, MachineRequest::from_backend(BackendKind::Slurm)), None);
    for closed in [MachineAdmission::Cordoned, MachineAdmission::Draining] {
        state.set_admission("b", closed).unwrap();
        assert_eq!(place(&mut state, MachineRequest { host: Some("b".into()), ..ssh() }), None);
    }
}

#[test]
fn machines_are_rented_as_few_as_hold_the_sessions_and_by_size_and_region() {
    let mut state = RemoteState::default();
    let ids = add(&mut state, 9);
    let got = state.reserve_slots(&ids[..5], &rented("E16", "eastus", 4), &client(1), at(0)).unwrap();
    assert_eq!(got.to_make, ["vm", "vm-2"]);
    assert_eq!(machines(&got, &ids[..5]), ["vm", "vm", "vm", "vm", "vm-2"]);
    // Another process: its sessions wait for the same machine.
    let other = state.reserve_slots(&ids[5..8], &rented("E16", "EastUS", 4), &client(2), at(0)).unwrap();
    assert_eq!((machines(&other, &ids[5..8]), other.to_make), (vec!["vm-2".to_owned(); 3], vec![]));
    for different in [rented("E8", "eastus", 2), rented("E16", "westus", 4)] {
        let mut state = state.clone();
        let got = state.reserve_slots(&ids[8..], &different, &client(2), at(0)).unwrap();
        assert_eq!(got.to_make, ["vm-3"]);
    }
    let at_most = NewMachinePlan { name: "vm".into(), capacity: 4, at_most: Some(2) };
    let got = state
        .reserve_slots(
            &ids[8..],
            &MachineRequest { make: Some(at_most), ..rented("E16", "eastus", 4) },
            &client(2),
            at(0),
        )
        .unwrap();
    assert_eq!((got.queued.len(), got.to_make.len()), (1, 0));
}

#[test]
fn a_machine_for_one_prompt_is_not_the_pools_and_no_reuse_makes_a_new_one() {
    let mut state = RemoteState::default();
    let ids = add(&mut state, 4);
    let exec = MachineRequest { made_for: MadeFor::Exec, ..rented("D2", "", 1) };
    assert_eq!(state.reserve_slots(&ids[..1], &exec, &client(1), at(0)).unwrap().to_make, ["vm"]);
    state.mark_made("vm", PoolMachineFacts::default(), at(1)).unwrap();
    state.mark_ended(&ids[0], 0, at(2), at(2)).unwrap();
    assert_eq!(
        state.reserve_slots(&ids[1..2], &rented("D2", "", 1), &client(1), at(0)).unwrap().to_make,
        ["vm-2"]
    );
    let fresh = MachineRequest { reuse: false, ..exec.clone() };
    assert_eq!(state.reserve_slots(&ids[2..3], &fresh, &client(1), at(0)).unwrap().to_make, ["vm-3"]);
    let reused = state.reserve_slots(&ids[3..], &exec, &client(1), at(0)).unwrap();
    assert_eq!(machines(&reused, &ids[3..]), ["vm"]);
}

#[test]
fn a_machine_that_could_not_be_made_gives_everybody_back_to_the_queue() {
    let mut state = RemoteState::default();
    let ids = add(&mut state, 2);
    state.reserve_slots(&ids[..1], &rented("E8", "", 2), &client(1), at(0)).unwrap();
    state.reserve_slots(&ids[1..], &rented("E8", "", 2), &client(2), at(0)).unwrap();
    let mut queued = state.not_made("vm", at(1)).unwrap();
    queued.sort();
    assert_eq!(queued, ids.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
    assert_eq!(state.sessions[&ids[0]].phase, Some(StartPhase::Queued));
    assert!(
        state.mark_made("vm", PoolMachineFacts::default(), at(1)).is_err(),
        "it has to be deleted by whoever made it"
    );
    let again = state.reserve_slots(&ids, &rented("E8", "", 2), &client(2), at(2)).unwrap();
    assert_eq!(again.to_make, ["vm"]);
}

#[test]
fn nothing_is_sent_of_a_session_that_was_ended_meanwhile() {
    let (mut state, id) = one(StartPhase::Reserved);
    state.mark_killed(&id, None, true, at(5)).unwrap();
    let error = state.advance_start(&id, StartPhase::Sent).unwrap_err();
    assert_eq!(error.to_string(), format!("session '{id}' cannot continue: it is killed or has no machine"));
    assert_eq!(state.vm_pool["h"].idle_since, Some(at(5)));
}

#[test]
fn a_start_that_died_before_it_sent_anything_has_failed_without_asking() {
    let (mut state, id) = one(StartPhase::Reserved);
    assert_eq!(
        reconcile(&mut state.clone(), &PoolObservations::default(), ALIVE),
        ReconcileReport::default()
    );
    assert_eq!(
        state.needs_reconciling(DEAD),
        [format!("session {id}: the process that was starting it has ended")]
    );
    let did = reconcile(&mut state, &PoolObservations::default(), DEAD);
    assert!(matches!(&did.changes[..], [RemoteStateChange::Failed(failed, _)] if *failed == id), "{did:?}");
    assert_eq!(did.actions, []);
    assert!(state.vm_pool["h"].active_sessions.is_empty());
    assert_eq!(state.needs_reconciling(DEAD), [""; 0]);
}

#[test]
fn a_start_that_died_while_it_sent_is_told_by_its_machine() {
    let state_and_id = || one(StartPhase::Sent);
    let (mut state, id) = state_and_id();
    assert_eq!(
        reconcile(&mut state, &PoolObservations::default(), DEAD),
        ReconcileReport::default(),
        "nobody asked"
    );

    let absent = answer("h", &id, FarState::Absent);
    assert_eq!(reconcile(&mut state, &absent, ALIVE), ReconcileReport::default(), "it is on its way");
    let did = reconcile(&mut state, &absent, DEAD);
    assert!(matches!(&did.changes[..], [RemoteStateChange::Failed(..)]), "{did:?}");
    // What was on its way must not start later, and that is asked for until it is confirmed.
    let end = PoolAction::End(id.clone(), "h".into());
    assert_eq!(did.actions, std::slice::from_ref(&end));
    assert_eq!(state.to_observe()["h"], std::slice::from_ref(&id));
    assert_eq!(reconcile(&mut state, &absent, DEAD).actions, [end]);
    state.end_confirmed(&id).unwrap();
    assert_eq!(reconcile(&mut state, &absent, DEAD), ReconcileReport::default());

    let (mut state, id) = state_and_id();
    let did = reconcile(&mut state, &answer("h", &id, FarState::Waiting), DEAD);
    assert_eq!(did.actions, [PoolAction::FinishStart(id.clone(), "h".into())]);
    // Taken over: nobody else finishes it as well.
    assert_eq!(state.sessions[&id].client, Some(client(2)));
    assert_eq!(reconcile(&mut state, &answer("h", &id, FarState::Waiting), DEAD), ReconcileReport::default());

    let (mut state, id) = state_and_id();
    let did = reconcile(&mut state, &answer("h", &id, FarState::Running), DEAD);
    assert_eq!(
        did,
        ReconcileReport { changes: vec![RemoteStateChange::Running(id.clone())], actions: vec![] }
    );
    let record = &state.sessions[&id];
    assert_eq!((record.session.status, record.session.started_at), (SessionStatus::Running, Some(at(10))));
    assert_eq!(state.needs_reconciling(DEAD), [""; 0]);
}

#[test]
fn an_end_is_what_the_machine_wrote_down() {
    for (far, status, code) in [
        (FarState::Ended(0), SessionStatus::Completed, Some(0)),
        (FarState::Ended(7), SessionStatus::Failed, Some(7)),
        (FarState::Killed(143), SessionStatus::Killed, Some(143)),
    ] {
        for phase in [StartPhase::Sent, StartPhase::Claimed, StartPhase::Started] {
            let (mut state, id) = one(phase);
            let did = reconcile(&mut state, &answer("h", &id, far), DEAD);
            assert_eq!(did.changes, [RemoteStateChange::Ended(id.clone(), status)]);
            let session = &state.sessions[&id].session;
            assert_eq!((session.status, session.exit_code), (status, code));
            assert_eq!((session.started_at, session.completed_at), (Some(at(10)), Some(at(20))));
            assert_eq!(state.vm_pool["h"].idle_since, Some(at(100)));
        }
    }
}

#[test]
fn a_machine_that_does_not_answer_changes_only_the_condition() {
    let (mut state, id) = one(StartPhase::Started);
    let cut = PoolObservations {
        hosts: BTreeMap::from([("h".to_owned(), HostSeen::Unreachable)]),
        ..PoolObservations::default()
    };
    assert_eq!(reconcile(&mut state, &cut, DEAD).changes, [RemoteStateChange::Unreachable(id.clone())]);
    assert_eq!(reconcile(&mut state, &cut, DEAD).changes, []);
    let record = &state.sessions[&id];
    assert_eq!(
        (record.condition, record.condition_since),
        (Some(SessionCondition::Unreachable), Some(at(100)))
    );
    assert_eq!(record.session.status, SessionStatus::Running);
    assert_eq!(state.vm_pool["h"].free_slots(), 0);
    let did = reconcile(&mut state, &answer("h", &id, FarState::Running), DEAD);
    assert_eq!(did.changes, [RemoteStateChange::Reachable(id.clone())]);
    assert_eq!((state.sessions[&id].condition, state.sessions[&id].last_seen), (None, Some(at(100))));
}

#[test]
fn a_lost_session_has_failed_without_a_code_until_its_end_or_itself_is_found() {
    for far in [FarState::Lost, FarState::Absent] {
        let (mut state, id) = one(StartPhase::Started);
        assert_eq!(
            reconcile(&mut state, &answer("h", &id, far), ALIVE).changes,
            [RemoteStateChange::Lost(id.clone())]
        );
        let record = &state.sessions[&id];
        assert_eq!((record.session.status, record.session.exit_code), (SessionStatus::Failed, None));
        assert_eq!(record.condition, Some(SessionCondition::Lost));
        assert_eq!(state.vm_pool["h"].free_slots(), 1);

        let mut found = state.clone();
        reconcile(&mut found, &answer("h", &id, FarState::Ended(0)), ALIVE);
        let record = &found.sessions[&id];
        assert_eq!((record.session.status, record.session.exit_code), (SessionStatus::Completed, Some(0)));
        assert_eq!((record.condition, &record.error), (None, &None));

        let mut found = state.clone();
        let did = reconcile(&mut found, &answer("h", &id, FarState::Running), ALIVE);
        assert_eq!(did.changes, [RemoteStateChange::Running(id.clone())]);
        assert_eq!(
            (found.sessions[&id].session.status, found.vm_pool["h"].free_slots()),
            (SessionStatus::Running, 0)
        );

        let other = add(&mut state, 1);
        state
            .reserve_slots(&other, &MachineRequest::from_backend(BackendKind::Ssh), &client(2), at(50))
            .unwrap();
        let did = reconcile(&mut state, &answer("h", &id, FarState::Running), ALIVE);
        assert_eq!(did.changes, [RemoteStateChange::Stray(id.clone(), "h".into())]);
    }
}

#[test]
fn what_was_ended_by_force_is_ended_when_its_machine_answers() {
    let (mut state, id) = one(StartPhase::Started);
    state.mark_killed(&id, None, false, at(30)).unwrap();
    assert_eq!(state.vm_pool["h"].free_slots(), 1);
    assert_eq!(
        state.needs_reconciling(ALIVE),
        [format!("session {id}: its machine did not confirm its end")]
    );
    let did = reconcile(&mut state, &answer("h", &id, FarState::Running), ALIVE);
    assert_eq!(did.actions, [PoolAction::End(id.clone(), "h".into())]);
    let did = reconcile(&mut state, &answer("h", &id, FarState::Killed(137)), ALIVE);
    assert_eq!(did, ReconcileReport::default());
    let record = &state.sessions[&id];
    assert_eq!((record.session.status, record.session.exit_code), (SessionStatus::Killed, Some(137)));
    assert!(!record.end_unconfirmed);
}

#[test]
fn a_job_that_was_never_submitted_is_submitted_by_whoever_finds_it() {
    let (mut state, id) = one(StartPhase::Sent);
    state.session_mut(&id).unwrap().backend = Some(BackendKind::Slurm);
    let with = |job| {
        let mut seen = answer("h", &id, FarState::Waiting);
        if let Some(HostSeen::Answered(sessions)) = seen.hosts.get_mut("h") {
            sessions.get_mut(&id).unwrap().job = job;
        }
        seen
    };
    assert_eq!(
        reconcile(&mut state, &with(Some(SchedulerJobState::Known)), DEAD),
        ReconcileReport::default()
    );
    assert_eq!(reconcile(&mut state, &with(None), DEAD), ReconcileReport::default(), "nobody knows");
    let did = reconcile(&mut state, &with(Some(SchedulerJobState::Absent)), DEAD);
    assert_eq!(did.actions, [PoolAction::Resubmit(id.clone(), "h".into())]);
    assert_eq!(
        reconcile(&mut state, &with(Some(SchedulerJobState::Absent)), DEAD),
        ReconcileReport::default()
    );
}

#[test]
fn a_machine_whose_maker_died_is_looked_up_before_anything_is_said_of_it() {
    let begin = || {
        let mut state = RemoteState::default();
        let ids = add(&mut state, 2);
        state.reserve_slots(&ids[..1], &rented("E8", "", 2), &client(1), at(0)).unwrap();
        state.reserve_slots(&ids[1..], &rented("E8", "", 2), &client(3), at(0)).unwrap();
        (state, ids)
    };
    let (mut state, ids) = begin();
    assert_eq!(reconcile(&mut state, &PoolObservations::default(), ALIVE), ReconcileReport::default());
    assert_eq!(state.needs_reconciling(DEAD).len(), 2);
    let did = reconcile(&mut state, &PoolObservations::default(), DEAD);
    assert_eq!(did.actions, [PoolAction::LookUp("vm".into())]);
    assert!(matches!(&did.changes[..], [RemoteStateChange::Failed(id, _)] if *id == ids[0]), "{did:?}");
    assert_eq!(state.vm_pool["vm"].active_sessions, ids[1..], "the other process waits for it");

    let mut unknown = state.clone();
    let did = reconcile(&mut unknown, &looked_up("vm", LookedUp::Unknown("no network".into())), DEAD);
    assert_eq!(did.changes, [RemoteStateChange::MayCost("vm".into(), "no network".into())]);
    assert_eq!(unknown, state);

    let mut there = state.clone();
    let did = reconcile(&mut there, &looked_up("vm", LookedUp::There(PoolMachineFacts::default())), DEAD);
    assert_eq!(did.changes, [RemoteStateChange::MachineAdopted("vm".into())]);
    assert!(there.vm_pool["vm"].making.is_none() && there.vm_pool["vm"].made_by_us);
    there.advance_start(&ids[1], StartPhase::Sent).unwrap();

    let did = reconcile(&mut state, &looked_up("vm", LookedUp::Gone), DEAD);
    assert_eq!(
        did.changes,
        [RemoteStateChange::Queued(ids[1].clone()), RemoteStateChange::MachineForgotten("vm".into())]
    );
    assert!(state.vm_pool.is_empty());

    let (mut state, _) = begin();
    let did = reconcile(&mut state, &looked_up("vm", LookedUp::Gone), ALIVE);
    assert_eq!(did, ReconcileReport::default(), "whoever makes it knows better");
}

#[test]
fn the_sessions_of_a_machine_that_is_gone_are_lost() {
    let mut state = RemoteState::default();
    let ids = add(&mut state, 1);
    state.reserve_slots(&ids, &rented("E8", "", 2), &client(1), at(0)).unwrap();
    state.mark_made("vm", PoolMachineFacts::default(), at(1)).unwrap();
    state.mark_started(&ids[0], at(2)).unwrap();
    let did = reconcile(&mut state, &looked_up("vm", LookedUp::Gone), ALIVE);
    assert_eq!(
        did.changes,
        [RemoteStateChange::Lost(ids[0].clone()), RemoteStateChange::MachineForgotten("vm".into())]
    );
}

#[test]
fn a_machine_is_kept_for_its_sessions_its_results_and_its_owner() {
    let mut state = RemoteState::default();
    state.register_machine(host("h", 1), at(0));
    let ids = add(&mut state, 1);
    state.reserve_slots(&ids, &rented("E8", "", 2), &client(1), at(0)).unwrap();
    assert_eq!(state.keep_reason("h", true), Some(MachineKeepReason::NotOurs));
    assert_eq!(state.keep_reason("x", true), Some(MachineKeepReason::Unknown));
    assert_eq!(state.keep_reason("vm", true), Some(MachineKeepReason::Busy));
    state.mark_made("vm", PoolMachineFacts::default(), at(1)).unwrap();
    assert_eq!(state.keep_reason("vm", true), Some(MachineKeepReason::InUse(ids.clone())));
    state.mark_started(&ids[0], at(2)).unwrap();
    state.mark_ended(&ids[0], 0, at(3), at(3)).unwrap();
    assert_eq!(state.keep_reason("vm", false), Some(MachineKeepReason::Results(ids.clone())));
    assert_eq!(state.keep_reason("vm", true), None, "the user gives them up");
    assert_eq!(removable(&state, Duration::ZERO, at(9)), [""; 0]);
    let retrieved =
        crate::state::RetrievedResults { refs: vec!["r".into()], verified: true, at: at(4), log_bytes: 0 };
    state.session_mut(&ids[0]).unwrap().retrieved = Some(retrieved);
    assert_eq!(removable(&state, Duration::from_secs(6), at(8)), [""; 0]);
    assert_eq!(removable(&state, Duration::from_secs(6), at(9)), ["vm"]);
    state.set_admission("vm", MachineAdmission::Draining).unwrap();
    assert_eq!(removable(&state, Duration::from_hours(1), at(8)), ["vm"]);
    state.set_admission("vm", MachineAdmission::Open).unwrap();

    state.begin_removal("vm", false, &client(1), at(9)).unwrap();
    assert_eq!(state.begin_removal("vm", false, &client(2), at(9)), Err(MachineKeepReason::Busy));
    let late = add(&mut state, 1);
    let got = state
        .reserve_slots(&late, &MachineRequest { make: None, ..rented("E8", "", 2) }, &client(2), at(9))
        .unwrap();
    assert_eq!(got.queued, late, "nobody gets a slot on it any more");
    assert_eq!(
        reconcile(&mut state, &PoolObservations::default(), DEAD).actions,
        [PoolAction::LookUp("vm".into())]
    );
    let mut there = state.clone();
    reconcile(&mut there, &looked_up("vm", LookedUp::There(PoolMachineFacts::default())), DEAD);
    assert_eq!(removable(&there, Duration::from_hours(1), at(9)), ["vm"], "it may be deleted again");
    reconcile(&mut state, &looked_up("vm", LookedUp::Gone), DEAD);
    assert!(!state.vm_pool.contains_key("vm"));
}

#[test]
fn a_capacity_that_was_made_smaller_comes_as_sessions_end() {
    let mut state = RemoteState::default();
    state.register_machine(host("h", 3), at(0));
    let ids = add(&mut state, 3);
    state.reserve_slots(&ids, &MachineRequest::from_backend(BackendKind::Ssh), &client(1), at(0)).unwrap();
    state.register_machine(host("h", 1), at(1));
    assert_eq!(state.vm_pool["h"].capacity, 3);
    for (id, capacity) in ids.iter().zip([2, 1, 1]) {
        state.mark_failed(id, "x", at(2)).unwrap();
        assert_eq!(state.vm_pool["h"].capacity, capacity);
    }
    assert_eq!(state.vm_pool["h"].capacity_wanted, None);
}

#[test]
fn a_file_that_somebody_edited_is_brought_in_line() {
    let (mut state, id) = one(StartPhase::Started);
    let machine = state.vm_pool.get_mut("h").unwrap();
    machine.active_sessions = vec!["sess-x".into(), "sess-y".into()];
    assert_eq!(state.needs_reconciling(ALIVE).len(), 4);
    let did = reconcile(&mut state, &PoolObservations::default(), ALIVE);
    let freed = |id: &str| RemoteStateChange::SlotFreed(id.into(), "h".into());
    assert_eq!(did.changes, [freed("sess-x"), freed("sess-y"), RemoteStateChange::SlotTaken(id, "h".into())]);
}
