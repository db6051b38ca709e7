//! The binary and the script serve one directory at the same time, and the script serves where the binary cannot.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use amplihack_config::secret::Secret;
use amplihack_remote::LocalRunner;
use amplihack_remote::far::FarSide;
use amplihack_remote::protocol::{Claim, FarState};
use tokio::task::JoinSet;

use crate::support::{PATIENCE, Place};

/// The ways to one machine: by the binary, and by the script.
fn both(place: &Place) -> [FarSide; 2] {
    let far = FarSide::new(Arc::new(LocalRunner::new(place.path("root"), &place.env)), "here");
    [far.clone().with_native(true), far]
}

/// Whether a session's runner is the binary.
fn is_native(place: &Place, id: &str) -> bool {
    let line = std::fs::read(format!("/proc/{}/cmdline", place.word(id, "pid", 0))).unwrap();
    let line = String::from_utf8(line).unwrap();
    assert!(line.contains("\0run\0"), "{line}");
    line.contains("\0remote\0runner\0")
}

#[tokio::test]
async fn a_session_that_one_started_is_followed_ended_and_gathered_by_the_other() {
    let place = Place::native();
    place.store().await;
    let ways = both(&place);
    for (number, (one, other)) in (1..).zip([(&ways[0], &ways[1]), (&ways[1], &ways[0])]) {
        let mut spec = place.session(number, "echo \"$KEY\"; echo new >new; (setsid sleep 600 &); sleep 600");
        spec.key_name = Some("KEY".to_owned());
        let key = Secret::new("the key");
        assert_eq!(one.start_session(&spec, Some(&key)).await.unwrap(), Claim::Started);
        assert_eq!(other.start_session(&spec, Some(&key)).await.unwrap(), Claim::Already);
        assert_eq!(is_native(&place, &spec.id), number == 1);
        place.until_file(&place.file(&spec.id, "repo/new")).await;
        let seen = [
            one.observe_sessions(&[&spec.id]).await.unwrap(),
            other.observe_sessions(&[&spec.id]).await.unwrap(),
        ];
        assert_eq!(seen[0], seen[1]);
        assert_eq!(seen[0][0].state, FarState::Running);
        assert_eq!(other.read_log(&spec.id, 0, PATIENCE).await.unwrap().bytes, b"the key\n");
        assert!(other.remove_session(&spec.id).await.is_err(), "it runs");
        assert_eq!(other.end_session(&spec.id, Duration::from_secs(5)).await.unwrap(), 0);
        let seen = [one.observe_sessions(&[]).await.unwrap(), other.observe_sessions(&[]).await.unwrap()];
        assert_eq!(seen[0], seen[1]);
        assert_eq!(place.observe(&spec.id).await.state, FarState::Killed(143), "{}", place.said(&spec.id));
        assert!(other.collect_results(&spec.id).await.unwrap().wip.is_some());
        other.remove_session(&spec.id).await.unwrap();
    }
}

#[tokio::test]
async fn starts_of_one_id_by_both_run_it_once() {
    let place = Place::native();
    place.store().await;
    for number in 1..=3 {
        let mut spec = place.session(number, "echo ran >>\"$1\"");
        let ran = place.path(format!("ran{number}"));
        spec.argv.push(ran.display().to_string());
        let mut starts = JoinSet::new();
        for far in both(&place).into_iter().cycle().take(8) {
            let spec = spec.clone();
            starts.spawn(async move { far.start_session(&spec, None).await.unwrap() });
        }
        let claims = starts.join_all().await;
        assert_eq!(claims.iter().filter(|claim| **claim == Claim::Started).count(), 1, "{claims:?}");
        assert_eq!(place.until_ended(&spec.id).await, FarState::Ended(0), "{}", place.said(&spec.id));
        assert_eq!(std::fs::read_to_string(ran).unwrap(), "ran\n");
    }
}

#[tokio::test]
async fn what_one_prepared_the_other_starts() {
    let place = Place::native();
    place.store().await;
    let ways = both(&place);
    for (number, (one, other)) in (1..).zip([(&ways[0], &ways[1]), (&ways[1], &ways[0])]) {
        let spec = place.session(number, "exit 4");
        assert_eq!(one.prepare_session(&spec, None).await.unwrap(), Claim::Started);
        assert_eq!(other.start_session(&spec, None).await.unwrap(), Claim::Started);
        assert_eq!(place.until_ended(&spec.id).await, FarState::Ended(4));
    }
}

#[tokio::test]
async fn where_the_binary_cannot_serve_the_script_does() {
    for text in [
        // One of before this protocol, one of another version, one for another machine.
        "#!/bin/sh\nexit 2\n",
        "#!/bin/sh\nexit 93\n",
        "#!/no/such/loader\n",
    ] {
        let place = Place::new(Path::new("/bin/sh"));
        let program = place.path("bin/amplihack");
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let [far, _] = both(&place);
        far.store_file(&place.path("bundle"), &place.bundle).await.unwrap();
        let spec = place.session(1, "sleep 600");
        assert_eq!(far.start_session(&spec, None).await.unwrap(), Claim::Started, "{text}");
        assert!(!is_native(&place, &spec.id));
        assert_eq!(far.end_session(&spec.id, Duration::from_secs(5)).await.unwrap(), 0);
    }
    // The binary itself refuses what is not its version, and says so by the code.
    let place = Place::native();
    let mut asked = std::process::Command::new(place.path("bin/amplihack"));
    let output = asked.args(["remote", "runner", "2", "probe"]).env_clear().envs(place.env.iter()).output();
    assert_eq!(output.unwrap().status.code(), Some(93));
}
