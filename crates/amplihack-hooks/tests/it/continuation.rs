//! Lock files on disk: they hold their own session, up to a bound, and nobody touches another's.

use std::path::Path;

use amplihack_config::env::Env;
use amplihack_hooks::HookEvent;
use serde_json::{Value, json};

use crate::world::{answer, object, rows};

struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let this = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(this.locks()).unwrap();
        std::fs::create_dir_all(this.0.path().join("deep/er")).unwrap();
        this
    }

    fn locks(&self) -> std::path::PathBuf {
        self.0.path().join(".claude/runtime/locks")
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.locks().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn files(&self) -> Vec<String> {
        fn list(directory: &Path, below: &str, all: &mut Vec<String>) {
            for entry in std::fs::read_dir(directory).unwrap() {
                let entry = entry.unwrap();
                let name = format!("{below}{}", entry.file_name().to_str().unwrap());
                if entry.path().is_dir() {
                    list(&entry.path(), &format!("{name}/"), all);
                } else {
                    all.push(name);
                }
            }
        }
        let mut all = Vec::new();
        list(&self.locks(), "", &mut all);
        all.sort();
        all
    }

    /// What a stop in this repository is answered with: the words to go on with, or nothing.
    fn stop(&self, session: &str, env: &Env) -> Option<String> {
        let cwd = self.0.path().join("deep/er");
        let payload =
            json!({"hook_event_name": "Stop", "session_id": session, "cwd": cwd, "stop_hook_active": false});
        let reply = answer(HookEvent::Stop, payload.to_string(), env, Path::new("/x"));
        assert_eq!(reply.code, 0);
        match object(&reply) {
            Value::Null => None,
            object => {
                assert_eq!(object["decision"], "block");
                Some(object["reason"].as_str().unwrap().to_owned())
            }
        }
    }
}

#[test]
fn without_a_lock_the_agent_stops() {
    let repository = Repository::new();
    assert_eq!(repository.stop("s1", &Env::empty()), None);
    assert_eq!(answer(HookEvent::Stop, "{}", &Env::empty(), Path::new("/nonexistent")).stdout, b"");
    assert!(repository.files().is_empty());
}

#[test]
fn a_lock_holds_until_its_bound_and_is_then_gone() {
    let repository = Repository::new();
    let env = Env::empty().with_variable("AMPLIHACK_MAX_LOCK_ITERATIONS", "3");
    repository.write(".lock_active", "session_id: s1\n");
    repository.write(".continuation_prompt", "keep on");
    for _ in 0..2 {
        assert_eq!(repository.stop("s1", &env).as_deref(), Some("keep on"));
    }
    assert_eq!(repository.files(), [".continuation_prompt", ".lock_active", "s1/lock_invocations.txt"]);
    assert_eq!(repository.stop("s1", &env), None);
    assert!(repository.files().is_empty());
}

/// Copilot tells of a stop and then of the session's end; an old one tells of the end alone.
#[test]
fn the_end_of_a_copilot_session_is_a_stop_and_no_stop_counts_twice() {
    let home = tempfile::tempdir().unwrap();
    let env = Env::empty()
        .with_variable("AMPLIHACK_HOME", home.path())
        .with_variable("AMPLIHACK_MAX_LOCK_ITERATIONS", "4");
    let repository = Repository::new();
    repository.write(".lock_active", "");
    let tell = |event| {
        let payload = json!({"sessionId": "s1", "timestamp": 1, "cwd": repository.0.path()});
        object(&answer(event, payload.to_string(), &env, Path::new("/x")))["decision"] == "block"
    };
    let count = || std::fs::read_to_string(repository.locks().join("s1/lock_invocations.txt")).unwrap();
    for (event, counted) in [
        (HookEvent::Stop, "1"),
        (HookEvent::SessionStop, "1"),
        // Not told of before.
        (HookEvent::SessionStop, "2"),
        (HookEvent::Stop, "3"),
        (HookEvent::SessionStop, "3"),
    ] {
        assert!(tell(event), "{event} {counted}");
        assert_eq!(count(), counted, "{event}");
    }
    assert!(!tell(HookEvent::SessionStop));
    assert!(repository.files().is_empty());
    assert_eq!(std::fs::read_dir(home.path().join("hook-sessions")).unwrap().count(), 0);
    // Other hosts' sessions are over when they say so.
    repository.write(".lock_active", "");
    let payload = json!({"hook_event_name": "SessionEnd", "session_id": "s1", "cwd": repository.0.path()});
    assert!(answer(HookEvent::SessionStop, payload.to_string(), &env, Path::new("/x")).stdout.is_empty());
}

#[test]
fn a_bound_of_no_iteration_holds_nobody() {
    let repository = Repository::new();
    repository.write(".lock_active", "");
    let env = Env::empty().with_variable("AMPLIHACK_MAX_LOCK_ITERATIONS", "0");
    assert_eq!(repository.stop("s1", &env), None);
    assert!(repository.files().is_empty());
}

#[test]
fn another_sessions_lock_is_not_touched() {
    let repository = Repository::new();
    repository.write(".lock_active", "session_id: s2\nlocked_at: 1\n");
    repository.write("s2/lock_invocations.txt", "4");
    assert_eq!(repository.stop("s1", &Env::empty()), None);
    assert_eq!(repository.files(), [".lock_active", "s2/lock_invocations.txt"]);
}

#[test]
fn stale_locks_and_lost_counts_release() {
    for (lock, count) in [("locked_at: 1000", "1"), ("", "many"), ("", "-3")] {
        let repository = Repository::new();
        repository.write(".lock_active", lock);
        repository.write("s1/lock_invocations.txt", count);
        assert_eq!(repository.stop("s1", &Env::empty()), None, "{lock} {count}");
        assert!(repository.files().is_empty(), "{lock} {count}");
    }
    let repository = Repository::new();
    repository.write(".lock_active", "locked_at: 1000");
    let env = Env::empty().with_variable("AMPLIHACK_LOCK_TTL_SECONDS", "99999999999");
    assert!(repository.stop("s1", &env).is_some());
}

#[test]
fn a_session_stays_inside_the_locks_whatever_its_name() {
    let repository = Repository::new();
    repository.write(".lock_active", "");
    assert!(repository.stop("../../x", &Env::empty()).is_some());
    assert_eq!(repository.files(), [".lock_active", "______x/lock_invocations.txt"]);
}

#[test]
fn the_payloads_session_counts_before_the_environments() {
    let repository = Repository::new();
    repository.write(".lock_active", "session_id: s1");
    let env =
        Env::empty().with_variable("AMPLIHACK_SESSION_ID", "s2").with_variable("CLAUDE_SESSION_ID", "s3");
    assert!(repository.stop("s1", &env).is_some());
    let down = env.with_variable("AMPLIHACK_SHUTDOWN_IN_PROGRESS", "1");
    assert_eq!(repository.stop("s1", &down), None);
}

/// The one row of the shared cases that says which lock files it starts from: none.
#[test]
fn the_case_without_a_lock_holds() {
    let row = rows("stop_and_prompt_hooks.jsonl").into_iter().find(|row| row["name"] == "no_lock").unwrap();
    assert_eq!(row["expected"]["decision"], "approve");
    let repository = Repository::new();
    assert_eq!(repository.stop("s1", &Env::empty().with_variable("CLAUDE_SESSION_ID", "s1")), None);
}
