//! Three deadlines, each with its name.

use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use amplihack_session::{AgentRun, ChildOutput, DeadlineKind, Deadlines, EndCause, RunError, RunSpec};

use crate::support::{block_on, run_clean, spec, tagged, text};

const SHORT: Option<Duration> = Some(Duration::from_millis(300));

fn ended_by(script: &str, deadlines: Deadlines) -> (EndCause, i32, String) {
    let start = Instant::now();
    let outcome = run_clean(RunSpec { deadlines, ..spec(script) });
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    (outcome.cause, outcome.code(), text(&outcome.stdout.bytes))
}

#[test]
fn silence_from_the_start_is_a_startup_deadline() {
    let deadlines = Deadlines { startup: SHORT, ..Deadlines::default() };
    assert_eq!(
        ended_by("sleep 47", deadlines),
        (EndCause::Deadline(DeadlineKind::Startup), 5, String::new())
    );
    assert_eq!(ended_by("echo a; sleep 0.6", deadlines), (EndCause::Ended, 0, "a\n".into()));
}

#[test]
fn silence_after_output_is_an_idle_deadline() {
    let deadlines = Deadlines { idle: SHORT, ..Deadlines::default() };
    assert_eq!(
        ended_by("echo a; sleep 47", deadlines),
        (EndCause::Deadline(DeadlineKind::Idle), 5, "a\n".into())
    );
    let ticking = "for i in 1 2 3 4 5 6; do echo . >&2; sleep 0.1; done";
    assert_eq!(ended_by(ticking, deadlines).0, EndCause::Ended);
}

#[test]
fn output_does_not_put_off_the_total_deadline() {
    let deadlines = Deadlines { total: SHORT, ..Deadlines::default() };
    let (why, code, _) = ended_by("for i in $(seq 600); do echo .; sleep 0.05; done", deadlines);
    assert_eq!((why, code), (EndCause::Deadline(DeadlineKind::Total), 5));
}

#[test]
fn a_child_that_ignores_int_and_term_is_killed_after_two_graces() {
    let deadlines = Deadlines { total: SHORT, ..Deadlines::default() };
    let start = Instant::now();
    let (why, _, out) = ended_by(
        "trap 'echo int' INT; trap 'echo term' TERM; for i in $(seq 600); do sleep 0.05; done",
        deadlines,
    );
    assert_eq!((why, out), (EndCause::Deadline(DeadlineKind::Total), "int\nterm\n".into()));
    assert!(start.elapsed() >= Duration::from_millis(300 + 2 * 400));
}

#[test]
fn deadlines_hold_while_nobody_polls_if_the_time_is_kept() {
    for (timekeeper, left) in [(true, 0), (false, 1)] {
        let deadlines = Deadlines { total: SHORT, ..Deadlines::default() };
        let spec = RunSpec {
            deadlines,
            timekeeper,
            grace: Duration::from_millis(200),
            ..spec("trap '' INT TERM; while :; do sleep 47; done")
        };
        let tag = spec.tag.clone();
        block_on(async {
            let run = AgentRun::start(spec).await.unwrap();
            std::thread::sleep(Duration::from_millis(1_500));
            assert_eq!(tagged(&tag).len().min(1), left, "{timekeeper}");
            assert_eq!(run.wait().await.unwrap().cause, EndCause::Deadline(DeadlineKind::Total));
        });
    }
}

#[test]
fn a_run_needs_a_runtime_with_io_and_time() {
    let start = |runtime: Option<tokio::runtime::Runtime>| {
        let mut run = Box::pin(AgentRun::start(spec("sleep 47")));
        match runtime {
            Some(runtime) => runtime.block_on(run).map(drop),
            None => match run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(started) => started.map(drop),
                Poll::Pending => panic!("it waits"),
            },
        }
    };
    let mut bare = tokio::runtime::Builder::new_current_thread();
    for runtime in [None, Some(bare.build().unwrap()), Some(bare.enable_time().build().unwrap())] {
        let error = start(runtime).unwrap_err();
        assert!(matches!(error, RunError::NoRuntime { .. }), "{error}");
    }
}

#[test]
fn what_is_not_read_cannot_be_silent() {
    let deadlines = Deadlines { startup: SHORT, idle: SHORT, total: None };
    let silent =
        RunSpec { stdout: ChildOutput::Null, stderr: ChildOutput::Null, deadlines, ..spec("sleep 0.6") };
    assert_eq!(run_clean(silent).cause, EndCause::Ended);
}
