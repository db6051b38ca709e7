//! Many processes on one state file, and processes that are killed while they write it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use amplihack_config::env::Env;
use amplihack_remote::pool::{MachineRequest, NewMachinePlan, PoolObservations};
use amplihack_remote::state::{
    BackendKind, ClientProcess, NewSession, PoolMachine, RemoteState, StartPhase, VmRecord,
};
use amplihack_remote::{CommandMode, RemoteError, SessionManager, state_lock};
use jiff::Timestamp;

const FILE: &str = "STATE_CROWD_FILE";
const ROUNDS: &str = "STATE_CROWD_ROUNDS";

fn wants(backend: BackendKind) -> MachineRequest {
    let make = (backend == BackendKind::Azlin).then(|| NewMachinePlan {
        name: "made".into(),
        capacity: 2,
        at_most: Some(3),
    });
    MachineRequest { make, ..MachineRequest::from_backend(backend) }
}

/// One round of a process: a session is added and reserved, goes forward if it has a slot, and ends one way or another.
fn round(path: &Path, number: usize, client: &ClientProcess) -> Result<String, RemoteError> {
    let now = Timestamp::now();
    let backend = if number.is_multiple_of(3) { BackendKind::Azlin } else { BackendKind::Ssh };
    let prompt = format!("{} {number}", client.pid);
    let new = NewSession { prompt, command: CommandMode::Auto, max_turns: 10, memory_mb: None };
    let (id, got) = state_lock::with_lock(path, |state| {
        let id = state.add_session(new, now)?;
        let got = state.reserve_slots(std::slice::from_ref(&id), &wants(backend), client, now)?;
        Ok((id, got))
    })?;
    for name in &got.to_make {
        state_lock::with_lock(path, |state| match number % 5 {
            0 => state.not_made(name, now).map(drop),
            _ => state.mark_made(name, amplihack_remote::pool::PoolMachineFacts::default(), now),
        })?;
    }
    // Its machine may not have been made, by whoever made it.
    let sent = state_lock::with_lock(path, |state| {
        if state.session(&id)?.phase == Some(StartPhase::Queued) {
            return state.mark_failed(&id, "no room", now).map(|_| false);
        }
        state.advance_start(&id, StartPhase::Sent)?;
        state.mark_started(&id, now)
    })?;
    let mut manager = SessionManager::new(Some(path.to_owned()))?;
    match number % 3 {
        _ if !sent => {}
        0 => drop(manager.kill_session(&id)?),
        1 => drop(manager.complete_session(&id, 0)?),
        _ => drop(manager.fail_session(&id, "as it happens")?),
    }
    Ok(id)
}

/// What the other tests start: this test program again, with this test alone.
#[test]
#[ignore = "a process of the other tests"]
fn client() {
    let env = Env::from_process();
    let (Some(path), Some(rounds)) = (env.path(FILE), env.text(ROUNDS)) else { return };
    let client = ClientProcess::from_current_process();
    for number in 0..rounds.parse().unwrap() {
        println!("made {}", round(&path, number, &client).unwrap());
    }
}

fn spawn(path: &Path, rounds: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "state_crowd::client", "--ignored", "--nocapture", "--test-threads=1"])
        .env(FILE, path)
        .env(ROUNDS, rounds.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn three_hosts(path: &Path) {
    state_lock::with_lock(path, |state| {
        for (name, capacity) in [("a", 1), ("b", 2), ("c", 3)] {
            let vm = VmRecord { name: name.into(), ..VmRecord::default() };
            let backend = Some(BackendKind::Ssh);
            state.register_machine(
                PoolMachine { vm, capacity, backend, ..PoolMachine::default() },
                Timestamp::now(),
            );
        }
        Ok(())
    })
    .unwrap();
}

fn intact(state: &RemoteState) {
    assert_eq!(state.find_disagreements(), [""; 0]);
}

#[test]
fn twenty_processes_lose_no_session_and_never_hold_more_than_there_is_room_for() {
    let rounds = if amplihack_testkit::long() { 50 } else { 6 };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("remote-state.json");
    three_hosts(&path);
    let done = AtomicBool::new(false);
    let (looks, made) = std::thread::scope(|scope| {
        let observer = scope.spawn(|| {
            let (mut looks, mut most) = (0, 0);
            while !done.load(Ordering::Relaxed) {
                let state = state_lock::read(&path).unwrap();
                intact(&state);
                assert!(state.sessions.len() >= most, "a session was lost");
                most = state.sessions.len();
                looks += 1;
            }
            looks
        });
        let clients: Vec<Child> = (0..20).map(|_| spawn(&path, rounds)).collect();
        let mut made = BTreeSet::new();
        let mut failed = Vec::new();
        for client in clients {
            let output = client.wait_with_output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            made.extend(
                text.lines().filter_map(|line| line.split_once("made ")).map(|(_, id)| id.to_owned()),
            );
            if !output.status.success() {
                failed.push(text);
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(failed.is_empty(), "{failed:#?}");
        (observer.join().unwrap(), made)
    });
    assert!(looks > 10, "{looks}");
    let state = state_lock::read(&path).unwrap();
    assert_eq!(state.sessions.keys().cloned().collect::<BTreeSet<_>>(), made);
    assert_eq!(made.len(), 20 * rounds);
    assert!(state.sessions.values().all(|record| record.session.status.is_final()));
    assert!(
        state.vm_pool.values().all(|machine| machine.active_sessions.is_empty() && machine.making.is_none())
    );
}

#[test]
fn a_writer_that_is_killed_at_any_moment_leaves_a_whole_file_and_nothing_that_cannot_be_reconciled() {
    let kills = if amplihack_testkit::long() { 300 } else { 25 };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("remote-state.json");
    three_hosts(&path);
    let mut known = BTreeSet::new();
    for kill in 0..kills {
        let mut child = spawn(&path, 1000);
        // Until it has written, and then a moment that differs from kill to kill.
        let begun = Instant::now();
        while state_lock::read(&path).unwrap().sessions.len() == known.len() {
            assert!(begun.elapsed() < Duration::from_mins(1), "the client does nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(u64::from(kill % 50_u32) * 377));
        child.kill().unwrap();
        child.wait().unwrap();
        let state = state_lock::read(&path).unwrap();
        intact(&state);
        let now: BTreeSet<String> = state.sessions.keys().cloned().collect();
        assert!(now.is_superset(&known));
        known = now;
    }
    let me = ClientProcess::from_current_process();
    let left = state_lock::read(&path).unwrap().needs_reconciling(ClientProcess::is_alive);
    let (mut seen, now) = (PoolObservations::default(), Timestamp::now());
    // Machines that were being made are not there; what was sent arrived nowhere.
    let state = state_lock::read(&path).unwrap();
    for name in state.vm_pool.keys().filter(|name| name.starts_with("made")) {
        seen.looked_up.insert(name.clone(), amplihack_remote::pool::LookedUp::Gone);
    }
    let reconciled =
        state_lock::with_lock(&path, |state| state.reconcile(&seen, &me, &ClientProcess::is_alive, now))
            .unwrap();
    assert_eq!(left.is_empty(), reconciled.changes.is_empty(), "{left:#?} {reconciled:#?}");
    let state = state_lock::read(&path).unwrap();
    intact(&state);
    assert!(
        state
            .sessions
            .values()
            .all(|record| record.phase != Some(StartPhase::Reserved) || record.session.status.is_final())
    );
}
