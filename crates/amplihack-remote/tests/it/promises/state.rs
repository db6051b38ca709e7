//! The state file and its manager.

use amplihack_remote::{SessionManager, SessionStatus};
use serde_json::Value;

fn manager(home: &tempfile::TempDir) -> SessionManager {
    SessionManager::new(Some(home.path().join("state.json"))).unwrap()
}

fn file(home: &tempfile::TempDir) -> Value {
    serde_json::from_slice(&std::fs::read(home.path().join("state.json")).unwrap()).unwrap()
}

#[test]
fn a_session_that_was_created_is_there_for_the_next_manager() {
    let home = tempfile::tempdir().unwrap();
    let session =
        manager(&home).create_session("vm", "implement it", Some("auto"), Some(10), Some(32_768)).unwrap();
    let found = manager(&home).get_session(&session.session_id).unwrap();
    assert_eq!(found, session);
    assert_eq!((found.vm_name.as_str(), found.prompt.as_str()), ("vm", "implement it"));
    assert_eq!((found.command.as_str(), found.max_turns, found.status), ("auto", 10, SessionStatus::Pending));
}

#[test]
fn a_session_that_was_started_is_running() {
    let home = tempfile::tempdir().unwrap();
    let id = manager(&home).create_session("vm", "p", None, None, None).unwrap().session_id;
    manager(&home).start_session(&id).unwrap();
    assert_eq!(manager(&home).get_session(&id).unwrap().status, SessionStatus::Running);
}

#[test]
fn the_memory_of_a_session_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let id = manager(&home).create_session("vm", "p", None, None, Some(32_768)).unwrap().session_id;
    assert_eq!(file(&home)["sessions"][&id]["memory_mb"], 32_768);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut manager = manager(&home);
                for _ in 0..15 {
                    manager.create_session("vm", "p", None, None, None).unwrap();
                }
            });
        }
    });
    assert_eq!(manager(&home).list_sessions(None).unwrap().len(), 60);
}
