//! Steps as real processes.

use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_sys::{ProcessExit, Signal};

use super::{SpooledOutput, StepProgram, StepRun, StepSpec, StepSpool};
use crate::block::build_runtime;
use crate::output::{DeadlineKind, EndCause};

async fn start(spool: &StepSpool, script: &str, timeout: Option<Duration>) -> StepRun {
    let environment = Env::empty().with_variable("PATH", "/usr/bin:/bin");
    let arguments = vec!["-c".into(), script.into()];
    let program = &StepProgram {
        path: "bash".into(),
        arguments,
        environment: environment.into(),
        directory: "/".into(),
    };
    let grace = Duration::from_millis(200);
    StepRun::start(StepSpec { program, spool, name: "0.1", timeout, grace }).await.unwrap()
}

fn run(script: &str, timeout: Option<Duration>) -> SpooledOutput {
    let dir = tempfile::tempdir().unwrap();
    let spool = StepSpool::open(dir.path()).unwrap();
    build_runtime().unwrap().block_on(async {
        let mut run = start(&spool, script, timeout).await;
        run.wait_for_end().await.unwrap();
        let end = run.into_output();
        assert_eq!(spool.read_record("0.1"), end.record);
        end
    })
}

#[test]
fn output_is_in_files_and_asked_for_in_parts() {
    let end = run("printf 0123456789; echo no >&2; exit 3", None);
    assert_eq!((end.record.unwrap().exit, end.cause), (ProcessExit::Code(3), EndCause::Ended));
    let [output, error] = end.outputs;
    assert_eq!(output.len(), 10);
    assert_eq!(output.read_head(4).unwrap(), b"0123");
    assert_eq!(output.read_tail(4).unwrap(), b"6789");
    assert_eq!(output.read_head(99).unwrap(), b"0123456789");
    assert_eq!(error.read_tail(99).unwrap(), b"no\n");
}

#[test]
fn a_deadline_ends_the_step_and_keeps_what_it_said() {
    let end = run("trap '' TERM; echo so far; sleep 600; sleep 600", Some(Duration::from_millis(300)));
    assert_eq!(end.cause, EndCause::Deadline(DeadlineKind::Total));
    assert_eq!(end.record.unwrap().exit, ProcessExit::Signal(9));
    assert_eq!(end.outputs[0].read_head(99).unwrap(), b"so far\n");
    // What was killed may need a moment to be gone.
    while end.background.as_ref().is_some_and(|background| !background.is_over()) {
        std::thread::yield_now();
    }
}

#[test]
fn what_stays_in_the_background_does_not_hold_the_step_and_is_ended_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let spool = StepSpool::open(dir.path()).unwrap();
    build_runtime().unwrap().block_on(async {
        let mut run = start(&spool, "sleep 600 & echo $!", None).await;
        run.wait_for_end().await.unwrap();
        let end = run.into_output();
        let pid: u32 =
            String::from_utf8(end.outputs[0].read_head(99).unwrap()).unwrap().trim().parse().unwrap();
        let background = end.background.unwrap();
        assert!(!background.is_over());
        assert!(amplihack_sys::living_process(pid).is_some());
        background.end_and_wait().await;
        assert!(amplihack_sys::living_process(pid).is_none());
    });
}

#[test]
fn a_step_is_ended_on_a_signal_and_by_a_drop() {
    let dir = tempfile::tempdir().unwrap();
    let sleeper = dir.path().join("sleeper");
    let spool = StepSpool::open(dir.path()).unwrap();
    build_runtime().unwrap().block_on(async {
        let mut run = start(&spool, "sleep 600; true", None).await;
        run.end_on_signal(Signal::INT);
        run.wait_for_end().await.unwrap();
        let end = run.into_output();
        assert_eq!(end.cause, EndCause::Interrupted(Signal::INT));
        assert!(end.record.unwrap().ended_by_us);
        let run = start(&spool, &format!("sleep 600 & echo $! > {}; wait", sleeper.display()), None).await;
        while !std::fs::read_to_string(&sleeper).is_ok_and(|text| text.ends_with('\n')) {
            std::thread::yield_now();
        }
        drop(run);
    });
    let processes = crate::leftovers::listed_processes(&dir.path().join(super::PROCESSES)).unwrap();
    assert_eq!(processes.len(), 4);
    let sleeper: u32 = std::fs::read_to_string(&sleeper).unwrap().trim().parse().unwrap();
    while amplihack_sys::living_process(sleeper).is_some_and(|found| found.name == "sleep") {
        std::thread::yield_now();
    }
    while processes.iter().any(|one| amplihack_sys::process_alive(one.pid, one.start_time)) {
        std::thread::yield_now();
    }
}

#[test]
fn output_of_300_megabytes_stays_out_of_this_process() {
    let end = run("head -c 300000000 /dev/zero", None);
    assert_eq!(end.outputs[0].len(), 300_000_000);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 50 * 1024, "{kilobytes} kB");
}
