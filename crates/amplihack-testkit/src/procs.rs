//! Looks at the system's processes: who is left, and what stood in whose command line.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use crate::Bytes;

/// One process as `/proc` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its process id.
    pub pid: i32,
    /// Its parent.
    pub ppid: i32,
    /// Its process group; 0 if that began outside of this PID namespace.
    pub pgid: i32,
    /// Its session; 0 if that began outside of this PID namespace.
    pub sid: i32,
    /// Its state letter; `Z` has ended and waits to be reaped.
    pub state: char,
    /// Its command line.
    pub argv: Vec<Bytes>,
}

/// This process.
pub fn this() -> Option<Process> {
    one(std::process::id())
}

/// The process `pid`, unless it has ended.
pub fn one(pid: u32) -> Option<Process> {
    read(i32::try_from(pid).ok()?)
}

/// All processes but this one.
pub fn all() -> Vec<Process> {
    pids().into_iter().filter_map(read).collect()
}

/// All living processes but this one whose command line or environment contains `marker`.
pub fn with_marker(marker: &str) -> Vec<Process> {
    let holds = |process: &Process| {
        let environment = std::fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        process.argv.iter().any(|arg| contains(&arg.0, marker.as_bytes()))
            || contains(&environment, marker.as_bytes())
    };
    all().into_iter().filter(|process| process.state != 'Z' && holds(process)).collect()
}

/// Claims that no living process has `marker` in its command line or environment, now.
#[track_caller]
pub fn assert_none(marker: &str) {
    let left = with_marker(marker);
    assert!(left.is_empty(), "processes with {marker:?} are left: {left:#?}");
}

/// Claims that within `patience` no living process has `marker` in its command line or environment any more.
#[track_caller]
pub fn assert_none_soon(marker: &str, patience: Duration) {
    let end = Instant::now() + patience;
    while Instant::now() < end && !with_marker(marker).is_empty() {
        sleep(Duration::from_millis(5));
    }
    assert_none(marker);
}

/// Ends what is left of a test when that is over, also by a failure: sessions outlive whoever starts them, as they should.
#[derive(Debug)]
pub struct Sweep(String);

impl Sweep {
    /// Will end all processes that have `marker`, which is this test's alone, in their command line or environment.
    pub fn new(marker: impl Into<String>) -> Self {
        Self(marker.into())
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let left = with_marker(&self.0);
            if left.is_empty() || Instant::now() > end {
                return;
            }
            for pid in left.iter().filter_map(|process| rustix::process::Pid::from_raw(process.pid)) {
                // It may have ended by itself.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            sleep(Duration::from_millis(20));
        }
    }
}

fn pids() -> Vec<i32> {
    let own = i32::try_from(std::process::id()).ok();
    let entries = std::fs::read_dir("/proc").expect("/proc is mounted");
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| Some(*pid) != own)
        .collect()
}

/// `None` if it has ended meanwhile.
fn read(pid: i32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, so the fields are counted from its end.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut number = || fields.next()?.parse().ok();
    Some(Process { pid, ppid: number()?, pgid: number()?, sid: number()?, state, argv: argv(pid)? })
}

fn argv(pid: i32) -> Option<Vec<Bytes>> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = line.strip_suffix(&[0]).unwrap_or(&line);
    Some(line.split(|byte| *byte == 0).map(|arg| Bytes(arg.to_vec())).collect())
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

/// Reads the command line of every process again and again, on a thread of its own, until it is finished.
#[derive(Debug)]
pub struct ArgvWatch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Seen>>,
}

/// What a watch saw.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// How often all processes were read.
    pub rounds: usize,
    /// The program, without directories, of every process that started while watched, by process id.
    pub started: BTreeMap<i32, Vec<String>>,
    /// Every command line that held the marker, shortened.
    pub hits: Vec<String>,
}

impl ArgvWatch {
    /// Starts to look for `marker`. Processes that run already are looked at too, but this one is not.
    pub fn start(marker: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let (stop, marker) = (Arc::clone(&stop), marker.as_bytes().to_vec());
            let before = pids();
            std::thread::spawn(move || watch(&stop, &marker, &before))
        };
        Self { stop, thread: Some(thread) }
    }

    /// Ends the watch and tells what it saw.
    pub fn finish(mut self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("a watch is finished once");
        thread.join().unwrap_or_else(|_| panic!("the watch on command lines broke"))
    }
}

impl Drop for ArgvWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Seen {
    /// Claims that `program` was seen running, and the marker in no command line.
    #[track_caller]
    pub fn assert_unseen_while_running(&self, program: &str) {
        let ran = self.started.values().flatten().any(|name| name == program);
        assert!(ran, "{program} was never seen in {} rounds: {:?}", self.rounds, self.started);
        assert!(self.hits.is_empty(), "the marker was in a command line: {:#?}", self.hits);
    }
}

fn watch(stop: &AtomicBool, marker: &[u8], before: &[i32]) -> Seen {
    let mut seen = Seen::default();
    while !stop.load(Ordering::Relaxed) {
        for pid in pids() {
            let Some(argv) = argv(pid) else { continue };
            if !before.contains(&pid) {
                let program = argv.first().map(Bytes::lossy).unwrap_or_default();
                let program = program.rsplit('/').next().unwrap_or_default().to_owned();
                let names = seen.started.entry(pid).or_default();
                if !names.contains(&program) {
                    names.push(program);
                }
            }
            if let Some(arg) = argv.iter().find(|arg| contains(&arg.0, marker)) {
                let line: String = arg.lossy().chars().take(200).collect();
                seen.hits.push(format!("{pid}: {line}"));
            }
        }
        seen.rounds += 1;
        sleep(Duration::from_millis(1));
    }
    seen
}
