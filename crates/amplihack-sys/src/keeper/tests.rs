//! The keeper as a real process: records, pumping, ends of trees.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{KeeperOptions, PreparedKeeper, ProcessExit, StepKeeper, StepProgram, StepRecord, not_started};
use crate::{ProcessEntry, Signal, living_process, process_alive, send_to_process};

struct Started {
    keeper: StepKeeper,
    done: File,
    dir: tempfile::TempDir,
}

fn prepared(program: &StepProgram, dir: &Path, grace: Duration) -> PreparedKeeper {
    let append = OpenOptions::new().append(true).create(true).open(dir.join("processes")).unwrap();
    let file = |name: &str| Arc::new(File::create(dir.join(name)).unwrap());
    let keep = KeeperOptions {
        input: Arc::new(File::open("/dev/null").unwrap()),
        output: file("out"),
        error: file("err"),
        directory: Arc::new(File::open(dir).unwrap()),
        record: c"exit".to_owned(),
        unfinished: c"exit.new".to_owned(),
        processes: Arc::new(append),
        grace,
    };
    PreparedKeeper::new(program, keep).unwrap()
}

fn program(path: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> StepProgram {
    let environment = [("PATH".into(), "/nonexistent:/usr/bin:/bin".into())].into();
    StepProgram { path: path.into(), arguments: Vec::new(), environment, directory: directory.into() }
}

fn start(script: &str, grace: Duration) -> Started {
    let dir = tempfile::tempdir().unwrap();
    let program = StepProgram { arguments: vec!["-c".into(), script.into()], ..program("bash", dir.path()) };
    let (keeper, done) = prepared(&program, dir.path(), grace).start_keeper().unwrap();
    Started { keeper, done: done.into(), dir }
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

impl Started {
    fn told(&mut self) -> Option<StepRecord> {
        let mut told = String::new();
        self.done.read_to_string(&mut told).unwrap();
        StepRecord::parse(&told)
    }
}

fn processes(dir: &Path) -> Vec<ProcessEntry> {
    crate::recorded_processes(&std::fs::read(dir.join("processes")).unwrap())
}

const LONG: Duration = Duration::from_mins(1);

#[test]
fn a_step_is_written_down_with_its_output() {
    let mut started = start("echo one; echo two >&2; exit 7", LONG);
    let record = started.told().unwrap();
    let exit = ProcessExit::Code(7);
    let expected = StepRecord { exit, ended_by_us: false, bytes: [4, 4], lost: false, left: false };
    assert_eq!(record, expected);
    let keeper_id = started.keeper.id();
    started.keeper.wait().unwrap();
    let at = |name: &str| text(&started.dir.path().join(name));
    assert_eq!((at("out").as_str(), at("err").as_str()), ("one\n", "two\n"));
    assert_eq!(StepRecord::parse(&at("exit")), Some(expected));
    let processes = processes(started.dir.path());
    let [keeper, step] = &processes[..] else { panic!("{processes:?}") };
    assert_eq!((keeper.pid, keeper.pgid, step.ppid), (keeper_id, keeper_id, keeper_id));
    assert_eq!(step.pgid, step.pid);
}

#[test]
fn a_program_that_cannot_be_started_is_told_with_its_error() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    for program in [program(&missing, dir.path()), program("missing", dir.path()), program("true", &missing)]
    {
        let (keeper, done) = prepared(&program, dir.path(), LONG).start_keeper().unwrap();
        let mut told = String::new();
        File::from(done).read_to_string(&mut told).unwrap();
        assert_eq!(not_started(&told).unwrap().kind(), std::io::ErrorKind::NotFound, "{told}");
        keeper.wait().unwrap();
        assert!(!dir.path().join("exit").exists());
    }
    for told in ["", "code 0 0 0 0 0 0\n", "failed", "failed x\n"] {
        assert!(not_started(told).is_none(), "{told}");
    }
}

#[test]
fn what_the_kernel_cannot_be_given_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let keep = || {
        let file = Arc::new(File::open("/dev/null").unwrap());
        let [input, output, error, directory, processes] = std::array::from_fn(|_| Arc::clone(&file));
        let (record, unfinished) = (c"exit".to_owned(), c"exit.new".to_owned());
        KeeperOptions { input, output, error, directory, record, unfinished, processes, grace: LONG }
    };
    let plain = program("true", dir.path());
    let argument = StepProgram { arguments: vec!["a\0b".into()], ..plain.clone() };
    let variable = StepProgram { environment: [("NAME".into(), "a\0b".into())].into(), ..plain.clone() };
    let directory = StepProgram { directory: dir.path().join("a\0b"), ..plain };
    for program in [argument, variable, directory, program("a\0b", dir.path())] {
        let error = PreparedKeeper::new(&program, keep()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{program:?}");
    }
}

#[test]
fn a_step_begins_with_default_signals_its_own_environment_and_none_of_the_keepers_files() {
    // The test process itself ignores SIGPIPE, as each Rust program does.
    assert!(crate::ignores_signal(Signal::PIPE));
    let script = "grep -E '^Sig(Ign|Blk):' /proc/self/status; echo [$(find /proc/self/fd -lname \"$PWD/*\")]; env | sort";
    let mut started = start(script, LONG);
    assert_eq!(started.told().unwrap().exit, ProcessExit::Code(0));
    started.keeper.wait().unwrap();
    let said = text(&started.dir.path().join("out"));
    let lines: Vec<&str> = said.lines().collect();
    let [blocked, ignored, own_files, variables @ ..] = &lines[..] else { panic!("{said}") };
    for mask in [blocked, ignored] {
        assert_eq!(mask.split_once('\t').unwrap().1, "0000000000000000");
    }
    assert_eq!(*own_files, "[]");
    let names: Vec<&str> = variables.iter().map(|line| line.split_once('=').unwrap().0).collect();
    assert_eq!(names, ["PATH", "PWD", "SHLVL", "_"]);
}

#[test]
fn many_keepers_at_once_leave_this_process_and_each_other_alone() {
    let all = std::thread::scope(|scope| {
        let many = (0..8_usize).map(|thread| {
            scope.spawn(move || {
                let mut said = Vec::new();
                for round in 0..12 {
                    let mut started = start(&format!("echo {thread} {round}; exit {round}"), LONG);
                    // Allocations and failed calls of this process go on meanwhile.
                    let missing = std::fs::metadata(started.dir.path().join("missing")).unwrap_err();
                    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
                    assert_eq!(started.told().unwrap().exit, ProcessExit::Code(round));
                    started.keeper.wait().unwrap();
                    said.push(text(&started.dir.path().join("out")));
                }
                said
            })
        });
        let many: Vec<_> = many.collect();
        many.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for (thread, said) in all.iter().enumerate() {
        let expected: Vec<String> = (0..12).map(|round| format!("{thread} {round}\n")).collect();
        assert_eq!(*said, expected);
    }
}

#[test]
fn a_signal_is_told_as_one() {
    let mut started = start("kill -9 $$", LONG);
    assert_eq!(started.told().unwrap().exit, ProcessExit::Signal(9));
    started.keeper.wait().unwrap();
}

#[test]
fn a_child_in_the_background_does_not_hold_the_step_and_keeps_its_output() {
    let mut started = start("(sleep 0.3; echo late; touch late; exec sleep 600) & echo started", LONG);
    let record = started.told().unwrap();
    assert_eq!((record.exit, record.bytes[0], record.left), (ProcessExit::Code(0), 8, true));
    assert!(living_process(started.keeper.id()).is_some());
    while !started.dir.path().join("late").exists() {
        std::thread::yield_now();
    }
    send_to_process(started.keeper.id(), Signal::TERM).unwrap();
    started.keeper.wait().unwrap();
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
    let begun = crate::start_time(stray).unwrap();
    send_to_process(started.keeper.id(), Signal::TERM).unwrap();
    let record = started.told().unwrap();
    assert_eq!((record.exit, record.ended_by_us), (ProcessExit::Signal(9), true));
    started.keeper.wait().unwrap();
    assert!(!process_alive(stray, begun));
}

#[test]
fn a_killed_keeper_takes_its_step_along_and_writes_nothing() {
    let mut started = start("touch ready; exec sleep 600", LONG);
    while !started.dir.path().join("ready").exists() {
        std::thread::yield_now();
    }
    send_to_process(started.keeper.id(), Signal::KILL).unwrap();
    assert_eq!(started.told(), None);
    started.keeper.wait().unwrap();
    let step = processes(started.dir.path())[1].clone();
    while process_alive(step.pid, step.start_time) {
        std::thread::yield_now();
    }
    assert!(!started.dir.path().join("exit").exists());
}

#[test]
fn a_record_is_read_whole_or_not() {
    let line = "signal 15 1 10 20 0 1\n";
    let exit = ProcessExit::Signal(15);
    let expected = StepRecord { exit, ended_by_us: true, bytes: [10, 20], lost: false, left: true };
    assert_eq!(StepRecord::parse(line), Some(expected));
    for bad in ["", "code", "code 1 0 0 0 0", "code x 0 0 0 0 0", "word 1 0 0 0 0 0", "code 1 0 0 0 0 0 0"] {
        assert_eq!(StepRecord::parse(bad), None, "{bad:?}");
    }
}
