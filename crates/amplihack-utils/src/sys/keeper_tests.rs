//! The keeper as a real process: records, pumping, ends of trees.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{Exit, Keep, StepRecord, keep};
use crate::sys::{ChildOptions, Proc, Signal, prepare_child, process_alive, send_to_process};

struct Started {
    keeper: Child,
    done: OwnedFd,
    dir: tempfile::TempDir,
}

fn start(script: &str, grace: Duration) -> Started {
    let dir = tempfile::tempdir().unwrap();
    let append = OpenOptions::new().append(true).create(true).open(dir.path().join("processes")).unwrap();
    let file = |name: &str| File::create(dir.path().join(name)).unwrap();
    let mut command = Command::new("bash");
    command.args(["-c", script]).stdin(Stdio::null()).current_dir(dir.path());
    prepare_child(&mut command, ChildOptions { group: true, death_signal: false });
    let asked = Keep {
        output: file("out"),
        error: file("err"),
        directory: File::open(dir.path()).unwrap().into(),
        record: c"exit".to_owned(),
        unfinished: c"exit.new".to_owned(),
        processes: append.into(),
        grace,
    };
    let done = keep(&mut command, asked).unwrap();
    let keeper = command.spawn().unwrap();
    Started { keeper, done, dir }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

impl Started {
    fn told(&mut self) -> Option<StepRecord> {
        let mut told = String::new();
        File::from(self.done.try_clone().unwrap()).read_to_string(&mut told).unwrap();
        StepRecord::parse(&told)
    }

    fn processes(&self) -> Vec<Proc> {
        let lines = std::fs::read(self.dir.path().join("processes")).unwrap();
        lines.split(|byte| *byte == b'\n').filter_map(Proc::parse).collect()
    }
}

const LONG: Duration = Duration::from_mins(1);

#[test]
fn a_step_is_written_down_with_its_output() {
    let mut started = start("echo one; echo two >&2; exit 7", LONG);
    let record = started.told().unwrap();
    let exit = Exit::Code(7);
    let expected = StepRecord { exit, ended_by_us: false, bytes: [4, 4], lost: false, left: false };
    assert_eq!(record, expected);
    assert!(started.keeper.wait().unwrap().success());
    let at = |name: &str| text(&started.dir.path().join(name));
    assert_eq!((at("out").as_str(), at("err").as_str()), ("one\n", "two\n"));
    assert_eq!(StepRecord::parse(&at("exit")), Some(expected));
    let [keeper, step] = &started.processes()[..] else { panic!("{:?}", started.processes()) };
    assert_eq!((keeper.pid, step.ppid), (started.keeper.id(), keeper.pid));
    assert_eq!(step.pgid, step.pid);
}

#[test]
fn a_program_that_cannot_be_started_is_the_spawns_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = || File::create(dir.path().join("x")).unwrap();
    let mut command = Command::new("/nonexistent/program");
    let asked = Keep {
        output: file(),
        error: file(),
        directory: File::open(dir.path()).unwrap().into(),
        record: c"exit".to_owned(),
        unfinished: c"exit.new".to_owned(),
        processes: file().into(),
        grace: LONG,
    };
    let _done = keep(&mut command, asked).unwrap();
    assert_eq!(command.spawn().unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_signal_is_told_as_one() {
    let mut started = start("kill -9 $$", LONG);
    assert_eq!(started.told().unwrap().exit, Exit::Signal(9));
    started.keeper.wait().unwrap();
}

#[test]
fn a_child_in_the_background_does_not_hold_the_step_and_keeps_its_output() {
    let mut started = start("(sleep 0.3; echo late; touch late; exec sleep 600) & echo started", LONG);
    let record = started.told().unwrap();
    assert_eq!((record.exit, record.bytes[0], record.left), (Exit::Code(0), 8, true));
    assert!(started.keeper.try_wait().unwrap().is_none());
    while !started.dir.path().join("late").exists() {
        std::thread::yield_now();
    }
    send_to_process(started.keeper.id(), Signal::TERM).unwrap();
    assert!(started.keeper.wait().unwrap().success());
    assert_eq!(text(&started.dir.path().join("out")), "started\nlate\n");
}

#[test]
fn sigterm_ends_the_whole_tree_and_sigkill_what_ignores_it() {
    let script = "trap '' TERM; setsid bash -c \"trap '' TERM; echo \\$\\$ > stray; while :; do sleep 1; done\" & \
                  while [ ! -s stray ]; do sleep 0.01; done; touch ready; while :; do sleep 1; done";
    let mut started = start(script, Duration::from_millis(200));
    while !started.dir.path().join("ready").exists() {
        std::thread::yield_now();
    }
    let stray: u32 = text(&started.dir.path().join("stray")).trim().parse().unwrap();
    let begun = crate::sys::start_time(stray).unwrap();
    send_to_process(started.keeper.id(), Signal::TERM).unwrap();
    let record = started.told().unwrap();
    assert_eq!((record.exit, record.ended_by_us), (Exit::Signal(9), true));
    started.keeper.wait().unwrap();
    assert!(!process_alive(stray, begun));
}

#[test]
fn a_killed_keeper_takes_its_step_along_and_writes_nothing() {
    let mut started = start("touch ready; exec sleep 600", LONG);
    while !started.dir.path().join("ready").exists() {
        std::thread::yield_now();
    }
    started.keeper.kill().unwrap();
    assert_eq!(started.told(), None);
    started.keeper.wait().unwrap();
    let step = started.processes()[1].clone();
    while process_alive(step.pid, step.start_time) {
        std::thread::yield_now();
    }
    assert!(!started.dir.path().join("exit").exists());
}

#[test]
fn a_record_is_read_whole_or_not() {
    let line = "signal 15 1 10 20 0 1\n";
    let exit = Exit::Signal(15);
    let expected = StepRecord { exit, ended_by_us: true, bytes: [10, 20], lost: false, left: true };
    assert_eq!(StepRecord::parse(line), Some(expected));
    for bad in ["", "code", "code 1 0 0 0 0", "code x 0 0 0 0 0", "word 1 0 0 0 0 0", "code 1 0 0 0 0 0 0"] {
        assert_eq!(StepRecord::parse(bad), None, "{bad:?}");
    }
}
