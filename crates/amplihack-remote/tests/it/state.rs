//! The state's file: what is read, what is refused, what is written, and with which rights.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_remote::state::{ClientProcess, MachineAdmission, PoolMachine, VmRecord, decode_state};
use amplihack_remote::{RemoteError, RemoteStatus, SessionManager, SessionStatus, state_lock};
use amplihack_sys::error::ErrorExplanation;
use proptest::prelude::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/state").join(name)
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A copy of a fixture in a directory of its own, readable by all as the predecessor's files are.
fn copy(name: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("remote-state.json");
    std::fs::copy(fixture(name), &path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    (dir, path)
}

#[test]
fn the_seeds_example_works_and_is_there_for_the_next_process() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("home/.amplihack/remote-state.json");
    let mut manager = SessionManager::new(Some(path.clone())).unwrap();
    assert_eq!(manager.list_sessions(None).unwrap(), []);
    assert!(!path.parent().unwrap().exists(), "reading makes nothing");
    let session = manager
        .create_session(
            "amplihack-azureuser-20260502",
            "implement remote status JSON",
            Some("auto"),
            Some(10),
            Some(32_768),
        )
        .unwrap();
    assert_eq!((session.status, session.memory_mb), (SessionStatus::Pending, Some(32_768)));
    let started = manager.start_session(&session.session_id).unwrap();
    assert_eq!(started.status, SessionStatus::Running);
    assert!(started.started_at.is_some());

    let other = SessionManager::new(Some(path.clone())).unwrap();
    assert_eq!(other.list_sessions(Some(SessionStatus::Running)).unwrap(), [started]);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&path.with_extension("lock")), 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["version"], 2);
    assert_eq!(document["sessions"][&session.session_id]["memory_mb"], 32_768);
    assert_eq!(document["sessions"][&session.session_id]["status"], "running");
}

#[test]
fn two_managers_of_one_file_lose_nothing_of_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.json");
    let mut one = SessionManager::new(Some(path.clone())).unwrap();
    let mut two = SessionManager::new(Some(path)).unwrap();
    let a = one.create_session("vm", "a", None, None, None).unwrap().session_id;
    let b = two.create_session("vm", "b", Some("fix"), Some(50), None).unwrap().session_id;
    one.start_session(&b).unwrap();
    two.complete_session(&b, 3).unwrap();
    one.kill_session(&a).unwrap();
    let status = |id| two.get_session(id).map(|session| (session.status, session.exit_code)).unwrap();
    assert_eq!(status(&a), (SessionStatus::Killed, None));
    assert_eq!(status(&b), (SessionStatus::Failed, Some(3)));
    // An end is an end.
    assert_eq!(one.complete_session(&a, 0).unwrap().status, SessionStatus::Killed);
    let error = one.start_session(&a).unwrap_err().to_string();
    assert_eq!(error, format!("session '{a}' is killed and cannot be started; create a new one"));
    let error = one.start_session("sess-x").unwrap_err();
    assert_eq!((error.kind(), error.exit_kind().code()), ("session_not_found", 3));
}

#[test]
fn what_no_session_can_have_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.json");
    let mut manager = SessionManager::new(Some(path.clone())).unwrap();
    for (vm, prompt, mode, turns) in [
        (" ", "p", None, None),
        ("vm", " \n", None, None),
        ("vm", "p", Some("prove"), None),
        ("vm", "p", None, Some(0)),
        ("vm", "p", None, Some(51)),
    ] {
        let error = manager.create_session(vm, prompt, mode, turns, None).unwrap_err();
        assert!(matches!(error, RemoteError::Validation(_)), "{error:?}");
    }
    assert!(!path.exists());
}

#[test]
fn a_session_on_a_machine_of_the_pool_takes_a_slot_and_its_end_gives_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.json");
    let machine = PoolMachine {
        vm: VmRecord { name: "m".into(), ..VmRecord::default() },
        capacity: 1,
        ..PoolMachine::default()
    };
    let now = "2026-05-02T03:04:05Z".parse().unwrap();
    state_lock::with_lock(&path, |state| {
        state.register_machine(machine, now);
        Ok(())
    })
    .unwrap();
    let mut manager = SessionManager::new(Some(path.clone())).unwrap();
    let first = manager.create_session("m", "a", None, None, None).unwrap().session_id;
    let full = manager.create_session("m", "b", None, None, None).unwrap_err();
    assert_eq!(full.to_string(), "failed to get a machine: machine 'm' has no free slot");
    assert_eq!(RemoteStatus::from(&state_lock::read(&path).unwrap()).pool.available_capacity, 0);
    manager.fail_session(&first, "no room on its disk").unwrap();
    assert_eq!(manager.session_record(&first).unwrap().error.as_deref(), Some("no room on its disk"));
    manager.create_session("m", "b", None, None, None).unwrap();
    assert_eq!(manager.list_sessions(None).unwrap().len(), 2);
}

#[test]
fn the_predecessors_file_is_read_as_it_is_and_becomes_ours_with_the_first_change() {
    let (dir, path) = copy("predecessor.json");
    let before = std::fs::read(&path).unwrap();
    let mut manager = SessionManager::new(Some(path.clone())).unwrap();
    let state = state_lock::read(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), before, "reading writes nothing");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);

    let running = &state.sessions["sess-20260502-030405-00ff"].session;
    assert_eq!(running.prompt, "say \"hi\"\nto $(whoami) — 你好");
    assert_eq!(running.started_at.unwrap().to_string(), "2026-05-02T03:04:06Z");
    assert_eq!(running.memory_mb, Some(32_768));
    let killed = &state.sessions["sess-20260502-030405-1234"];
    assert_eq!(killed.session.created_at.to_string(), "2026-05-02T03:04:05.5Z");
    assert_eq!(killed.other["note"], "of another tool");
    let machine = &state.vm_pool["amplihack-azureuser-20260502-030400"];
    assert_eq!((machine.vm.size.as_str(), machine.vm.created_at), ("Standard_D8s_v3", None));
    assert!(machine.made_by_us);
    // One slot was given to two that live, and two more to nobody.
    assert_eq!(machine.active_sessions, ["sess-20260502-030405-00ff", "sess-20260502-030407-abcd"]);
    assert_eq!((machine.capacity, machine.capacity_wanted), (2, Some(1)));
    let theirs = &state.vm_pool["theirs"];
    assert_eq!((theirs.made_by_us, theirs.region.as_str()), (false, "eastus"));
    assert_eq!(theirs.vm.created_at.unwrap().to_string(), "2026-05-01T10:00:00Z");
    assert_eq!(state.find_disagreements(), [""; 0]);

    manager.kill_session("sess-20260502-030407-abcd").unwrap();
    let after = state_lock::read(&path).unwrap();
    assert_eq!(after.vm_pool["amplihack-azureuser-20260502-030400"].capacity, 1);
    assert_eq!(after.sessions["sess-20260502-030405-1234"], *killed);
    assert_eq!(mode(&path), 0o600);
    let kept = dir.path().join("remote-state.json.predecessor");
    assert_eq!((std::fs::read(&kept).unwrap(), mode(&kept)), (before, 0o600));
    manager.kill_session("sess-20260502-030405-00ff").unwrap();
    // File, lock and copy: the second change made no other copy.
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
}

#[test]
fn what_cannot_be_used_is_an_error_with_a_way_out_and_stays_as_it_is() {
    let mut shown = String::new();
    for name in [
        "empty.json",
        "blank.json",
        "cut.json",
        "list.json",
        "half.json",
        "misplaced.json",
        "no_time.json",
        "newer.json",
    ] {
        let (dir, path) = copy(name);
        let before = std::fs::read(&path).unwrap();
        let read = SessionManager::new(Some(path.clone())).unwrap_err();
        let written = state_lock::with_lock(&path, |_| -> Result<(), _> { panic!("called with {name}") });
        assert_eq!(written, Err(read.clone()), "{name}");
        assert_eq!(std::fs::read(&path).unwrap(), before, "{name}");
        assert_eq!(mode(&path), 0o644, "{name}");
        assert!(matches!(read, RemoteError::Validation(_)), "{name}");
        let text = read.to_string().replace(&dir.path().display().to_string(), "DIR");
        shown.extend([name, ": ", &text, "\n  ", &read.hint().unwrap(), "\n"]);
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_link_to_the_file_stays_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let (link, real) = (dir.path().join("remote-state.json"), dir.path().join("synced/state.json"));
    std::fs::create_dir(dir.path().join("synced")).unwrap();
    std::fs::write(&real, r#"{"version": 2, "sessions": {}, "vm_pool": {}, "theirs": [1]}"#).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut manager = SessionManager::new(Some(link.clone())).unwrap();
    manager.create_session("vm", "p", None, None, None).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let state = state_lock::read(&real).unwrap();
    assert_eq!((state.sessions.len(), &state.other["theirs"]), (1, &serde_json::json!([1])));
}

#[test]
fn a_change_that_changes_nothing_or_fails_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.json");
    let mut manager = SessionManager::new(Some(path.clone())).unwrap();
    let id = manager.create_session("vm", "p", None, None, None).unwrap().session_id;
    manager.start_session(&id).unwrap();
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(path).unwrap());
    let before = inode(&path);
    manager.start_session(&id).unwrap();
    let refused: Result<(), _> = state_lock::with_lock(&path, |state| {
        state.sessions.clear();
        Err(RemoteError::Validation("no".into()))
    });
    assert!(refused.is_err());
    assert_eq!(inode(&path), before);
    assert_eq!(manager.list_sessions(None).unwrap().len(), 1);
}

#[test]
fn a_directory_or_a_pipe_in_its_place_is_an_error_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let error = SessionManager::new(Some(dir.path().to_owned())).unwrap_err().to_string();
    assert!(error.contains("cannot be read: not a regular file"), "{error}");
}

#[test]
fn every_field_is_written_and_read_back() {
    let client = ClientProcess::from_current_process();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.json");
    let now = "2026-05-02T03:04:05Z".parse().unwrap();
    let wrote = state_lock::with_lock(&path, |state| {
        let mut machine = PoolMachine {
            vm: VmRecord { name: "m".into(), ..VmRecord::default() },
            capacity: 3,
            ..PoolMachine::default()
        };
        machine.admission = MachineAdmission::Draining;
        machine.usd_per_hour = Some(0.384);
        machine.making = Some(amplihack_remote::state::MachineWork { client, since: now });
        machine.labels.insert("gpu".into());
        machine.other.insert("x".into(), serde_json::json!({"y": [null, 1.5]}));
        state.register_machine(machine, now);
        Ok(state.clone())
    });
    assert_eq!(state_lock::read(&path), wrote);
}

fn sample() -> Vec<u8> {
    std::fs::read(fixture("predecessor.json")).unwrap()
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode_state(&bytes);
    }

    #[test]
    fn a_damaged_file_is_read_or_refused_without_a_panic(
        at in any::<prop::sample::Index>(), with in proptest::collection::vec(any::<u8>(), 0..6), cut in 0..4_usize,
    ) {
        let mut bytes = sample();
        let at = at.index(bytes.len());
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, with);
        if let Ok((state, _)) = decode_state(&bytes) {
            prop_assert_eq!(state.find_disagreements(), Vec::<String>::new());
        }
    }

    #[test]
    fn a_file_that_was_cut_off_is_refused(at in any::<prop::sample::Index>()) {
        let bytes = sample();
        let end = bytes.trim_ascii_end().len();
        prop_assert!(decode_state(&bytes[..at.index(end)]).is_err());
    }
}
