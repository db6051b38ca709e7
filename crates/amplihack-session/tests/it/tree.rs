//! Nothing of a headless run outlives it, wherever it hides; and nothing else is touched.

use std::process::Stdio;
use std::time::{Duration, Instant};

use amplihack_session::{AgentRun, EndCause, ProcessExit, RunSpec};
use amplihack_sys as sys;

use crate::support::{LONG, block_on, mark, run_clean, sh, spec, tagged, text, wait_until};

#[test]
fn a_tool_in_a_session_of_its_own_is_found_and_named() {
    let outcome = run_clean(spec(&format!("setsid {LONG} >/dev/null 2>&1 </dev/null & exit 7")));
    assert_eq!((outcome.exit, outcome.cause), (ProcessExit::Code(7), EndCause::Ended));
    assert_eq!(outcome.background.iter().map(|process| process.name.as_str()).collect::<Vec<_>>(), ["sleep"]);
}

#[test]
fn a_daemon_that_forked_twice_is_found() {
    let daemon = format!("setsid sh -c '(trap \"\" HUP; {LONG} >/dev/null 2>&1 </dev/null &) ; exit 0'");
    let outcome = run_clean(spec(&daemon));
    assert_eq!(outcome.background.len(), 1, "{:?}", outcome.background);
}

#[test]
fn background_processes_that_ignore_term_are_killed() {
    let start = Instant::now();
    let script = "setsid sh -c 'trap \"\" TERM INT HUP; for i in $(seq 600); do sleep 0.1; done' >/dev/null 2>&1 & exit 0";
    run_clean(spec(script));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn processes_that_keep_forking_are_ended() {
    let script = "setsid sh -c 'trap \"\" TERM; for i in $(seq 600); do sleep 0.01; setsid sh -c \"sleep 0.02; sleep 47\" & done' >/dev/null 2>&1 &";
    run_clean(spec(script));
}

#[test]
fn a_stopped_process_sees_its_sigterm() {
    let script = format!("setsid {LONG} >/dev/null 2>&1 & sleep 0.1; kill -STOP $!; exit 0");
    let start = Instant::now();
    let outcome = run_clean(RunSpec { grace: Duration::from_mins(2), ..spec(&script) });
    assert_eq!(outcome.background.len(), 1);
    assert!(start.elapsed() < Duration::from_secs(40), "only SIGKILL reached it: {:?}", start.elapsed());
}

#[test]
fn a_session_id_of_an_older_process_does_not_make_it_a_member() {
    let tag = mark();
    let mut older = sh(&format!("exec {LONG}")).env("AMPLIHACK_SESSION_ID", &tag).spawn().unwrap();
    // Start times have a resolution of 10 ms.
    std::thread::sleep(Duration::from_millis(30));
    let outcome = block_on(amplihack_session::run_to_end(RunSpec { tag, ..spec("exit 0") })).unwrap();
    assert_eq!((outcome.background, outcome.survivors), (vec![], vec![]));
    assert_eq!(older.try_wait().unwrap(), None);
    older.kill().unwrap();
    older.wait().unwrap();
}

#[test]
fn runs_beside_each_other_keep_their_processes() {
    block_on(async {
        let other = spec(LONG);
        let tag = other.tag.clone();
        let other = AgentRun::start(other).await.unwrap();
        let outcome = amplihack_session::run_to_end(spec("exit 0")).await.unwrap();
        assert_eq!(outcome.background, []);
        assert_ne!(tagged(&tag), [""; 0]);
        drop(other);
    });
}

#[test]
fn dropping_a_run_kills_its_tree_without_blocking() {
    let script = format!("setsid sh -c 'trap \"\" TERM; {LONG}' & {LONG} & trap '' TERM; wait");
    let spec = RunSpec { stdout: amplihack_session::ChildOutput::Null, ..spec(&script) };
    let tag = spec.tag.clone();
    block_on(async {
        let run = AgentRun::start(spec).await.unwrap();
        let (pid, started) = (run.pid(), run.start_time());
        wait_until("the tree is there", || tagged(&tag).len() >= 4);
        let start = Instant::now();
        drop(run);
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        wait_until("the tree is gone", || tagged(&tag).is_empty());
        assert!(!sys::process_alive(pid, started));
        wait_until("the child is reaped", || sys::start_time(pid).is_none());
    });
}

#[test]
fn dropping_the_future_of_a_waiting_run_kills_its_tree() {
    let spec = spec(&format!("{LONG} & {LONG}"));
    let tag = spec.tag.clone();
    block_on(async {
        let waited =
            tokio::time::timeout(Duration::from_millis(300), amplihack_session::run_to_end(spec)).await;
        assert!(waited.is_err());
        wait_until("the tree is gone", || tagged(&tag).is_empty());
    });
}

#[test]
fn a_group_of_its_own_and_a_parent_that_ends_it_by_name() {
    let outcome = run_clean(spec("read _ _ _ _ group _ < /proc/$$/stat; test $group = $$ && echo own"));
    assert_eq!(text(&outcome.stdout.bytes), "own\n");
    let mut outside = sh(&format!("exec {LONG}")).stdin(Stdio::null()).spawn().unwrap();
    run_clean(spec("exit 0"));
    assert_eq!(outside.try_wait().unwrap(), None, "a process of nobody's was ended");
    outside.kill().unwrap();
    outside.wait().unwrap();
}
