//! The watch over a guard with real sockets.

use amplihack_hooks::HookEvent;
use amplihack_hooks::channel::{HookReport, SOCKET, send_report};
use amplihack_verdict::Decision;

use super::*;

fn denied(rule: &str) -> HookReport {
    let rule = Some(rule.to_owned());
    HookReport { rule, ..HookReport::new(HookEvent::PreToolUse, Decision::Deny) }
}

fn begin(launch: &Path) -> GuardLiveness {
    let watched = WatchOptions { stopper: None, is_streamed: true, is_task: true };
    let files = PinnedGuardFiles::of_nothing();
    let liveness = GuardLiveness::open_watch(launch, files, AgentBinary::Claude, watched).unwrap();
    liveness.start_thread().unwrap();
    liveness
}

fn denials(liveness: &GuardLiveness) -> GuardDenials {
    liveness.shared.drain_reports().state.denials()
}

#[test]
fn every_report_that_was_sent_counts_at_once_however_many_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let liveness = begin(dir.path());
    assert_eq!(denials(&liveness), GuardDenials::Unknown);
    for number in 0..300 {
        send_report(dir.path(), denied("pack/rule")).unwrap();
        assert_eq!(denials(&liveness).denied_rules().len(), number + 1);
    }
    send_report(dir.path(), HookReport::new(HookEvent::PreToolUse, Decision::None)).unwrap();
    assert_eq!(denials(&liveness).denied_rules().len(), 300);
}

#[test]
fn who_says_nothing_or_nonsense_keeps_nobody_from_being_heard() {
    let dir = tempfile::tempdir().unwrap();
    let liveness = begin(dir.path());
    let mut silent = UnixStream::connect(dir.path().join(SOCKET)).unwrap();
    let mut noisy = UnixStream::connect(dir.path().join(SOCKET)).unwrap();
    noisy.write_all(b"{\"type\":\"report\"}\nnonsense\n").unwrap();
    silent.write_all(b"{\"type\":").unwrap();
    send_report(dir.path(), denied("pack/rule")).unwrap();
    assert_eq!(denials(&liveness), GuardDenials::Known(vec!["pack/rule".to_owned()]));
}

#[test]
fn with_the_launch_its_socket_is_deaf() {
    let dir = tempfile::tempdir().unwrap();
    drop(begin(dir.path()));
    send_report(dir.path(), denied("pack/rule")).unwrap_err();
}

#[test]
fn a_socket_that_was_removed_speaks_against_the_guard_and_makes_its_denials_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let liveness = begin(dir.path());
    send_report(dir.path(), denied("pack/rule")).unwrap();
    assert_eq!(liveness.finish_watch(true).findings, []);
    std::fs::remove_file(dir.path().join(SOCKET)).unwrap();
    let record = liveness.finish_watch(true);
    assert_eq!((record.findings, record.denials), (vec![GuardFinding::Unreachable], GuardDenials::Unknown));
}

#[test]
fn a_socket_in_its_place_is_not_the_launchs() {
    let dir = tempfile::tempdir().unwrap();
    let liveness = begin(dir.path());
    std::fs::rename(dir.path().join(SOCKET), dir.path().join("aside")).unwrap();
    let _other = std::os::unix::net::UnixListener::bind(dir.path().join(SOCKET)).unwrap();
    let record = liveness.finish_watch(true);
    assert_eq!(record.findings.first(), Some(&GuardFinding::Unreachable));
    assert_eq!(record.denials, GuardDenials::Unknown);
}

#[test]
fn who_never_stops_talking_keeps_nobody_from_being_heard() {
    let dir = tempfile::tempdir().unwrap();
    let liveness = begin(dir.path());
    let mut talker = UnixStream::connect(dir.path().join(SOCKET)).unwrap();
    let is_over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let talk = std::thread::spawn(move || {
        let lines = format!("{}\n", " ".repeat(4000)).repeat(10);
        while !over.load(std::sync::atomic::Ordering::Relaxed) {
            let _ = talker.write_all(lines.as_bytes());
        }
    });
    for number in 0..5 {
        send_report(dir.path(), denied("pack/rule")).unwrap();
        assert_eq!(denials(&liveness).denied_rules().len(), number + 1);
    }
    is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    talk.join().unwrap();
}

#[test]
fn a_launch_that_asks_no_model_needs_no_hook() {
    for (is_task, found) in [(true, vec![GuardFinding::Silent]), (false, Vec::new())] {
        let dir = tempfile::tempdir().unwrap();
        let watched = WatchOptions { stopper: None, is_streamed: true, is_task };
        let files = PinnedGuardFiles::of_nothing();
        let liveness = GuardLiveness::open_watch(dir.path(), files, AgentBinary::Codex, watched).unwrap();
        assert_eq!(liveness.finish_watch(true).findings, found);
    }
}

#[tokio::test]
async fn what_is_found_is_told_once_and_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let liveness = begin(dir.path());
    let post = HookReport {
        tool: Some("Bash".to_owned()),
        ..HookReport::new(HookEvent::PostToolUse, Decision::None)
    };
    send_report(dir.path(), post).unwrap();
    let soon = std::time::Duration::from_secs(5);
    let found = tokio::time::timeout(soon, liveness.next_finding()).await.unwrap();
    assert_eq!(found, GuardFinding::NoVerdict { tool: "Bash".to_owned() });
    let again = tokio::time::timeout(std::time::Duration::from_millis(20), liveness.next_finding()).await;
    again.unwrap_err();
}
