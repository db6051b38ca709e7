//! One program under test: own process group, stdin fed while output is read, an end to every wait.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::Output;

/// How long a program may take unless a test says otherwise.
const TIMEOUT: Duration = Duration::from_mins(1);
/// How long output may stay open after the program's end before it counts as held by someone else.
const DRAIN: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(2);

/// A program that is about to be run.
#[derive(Debug)]
pub struct Run {
    command: Command,
    stdin: Input,
    timeout: Duration,
}

#[derive(Debug)]
enum Input {
    Null,
    Bytes(Vec<u8>),
    Open,
    AsGiven,
}

impl Run {
    /// Runs `command` with `/dev/null` as its stdin, for at most a minute.
    pub fn new(command: Command) -> Self {
        Self { command, stdin: Input::Null, timeout: TIMEOUT }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<std::ffi::OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<std::ffi::OsStr>, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Feeds these bytes to stdin through a pipe, then closes it.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Input::Bytes(bytes.into());
        self
    }

    /// Gives it a stdin pipe that brings nothing and is not closed before the end.
    #[must_use]
    pub fn open_stdin(mut self) -> Self {
        self.stdin = Input::Open;
        self
    }

    /// Leaves stdin as the command has it.
    #[must_use]
    pub fn stdin_as_given(mut self) -> Self {
        self.stdin = Input::AsGiven;
        self
    }

    /// Kills its process group and fails the test after this time.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn output(self) -> Output {
        self.spawn().wait()
    }

    /// Starts it.
    #[track_caller]
    pub fn spawn(mut self) -> Running {
        let what = format!("{}", self.command.get_program().display());
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        let command: Vec<OsString> = words.map(std::ffi::OsStr::to_os_string).collect();
        match self.stdin {
            Input::Null => self.command.stdin(Stdio::null()),
            Input::AsGiven => &mut self.command,
            Input::Bytes(_) | Input::Open => self.command.stdin(Stdio::piped()),
        };
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let started = Instant::now();
        let mut child =
            self.command.spawn().unwrap_or_else(|error| panic!("failed to start {what}: {error}"));
        let pipe = child.stdin.take();
        let open_stdin = match (self.stdin, pipe) {
            (Input::Bytes(bytes), Some(pipe)) => {
                feed(pipe, bytes);
                None
            }
            (_, pipe) => pipe,
        };
        Running {
            stdout: Collector::new(child.stdout.take()),
            stderr: Collector::new(child.stderr.take()),
            open_stdin,
            deadline: started + self.timeout,
            child,
            started,
            what,
            command,
            ended: false,
        }
    }
}

fn feed(mut pipe: ChildStdin, bytes: Vec<u8>) {
    // A program that does not read its stdin to the end is the test's business, not an error here.
    std::thread::spawn(move || drop(pipe.write_all(&bytes)));
}

/// A program that runs. Its process group is killed when this goes away.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Collector,
    stderr: Collector,
    open_stdin: Option<ChildStdin>,
    deadline: Instant,
    started: Instant,
    what: String,
    /// The program and its arguments.
    command: Vec<OsString>,
    ended: bool,
}

impl Running {
    /// Its process id, which is its process group too.
    pub fn pid(&self) -> Pid {
        let raw = i32::try_from(self.child.id()).expect("process ids fit");
        Pid::from_raw(raw).expect("a child has a process id")
    }

    /// Sends `signal` to it alone.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal)
            .unwrap_or_else(|error| panic!("failed to signal {}: {error}", self.what));
    }

    /// Sends `signal` to its whole process group, as a terminal does.
    #[track_caller]
    pub fn signal_group(&self, signal: Signal) {
        kill_process_group(self.pid(), signal)
            .unwrap_or_else(|error| panic!("failed to signal the group of {}: {error}", self.what));
    }

    /// Closes the stdin that was held open.
    pub fn close_stdin(&mut self) {
        self.open_stdin = None;
    }

    /// What it has written to stdout so far.
    pub fn stdout_so_far(&self) -> Vec<u8> {
        self.stdout.so_far()
    }

    /// Waits until `done` holds; fails the test at the program's deadline.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        while !done(self) {
            if Instant::now() > self.deadline {
                self.kill();
                let output = self.left(None);
                panic!("timed out waiting for {what}\n{output}");
            }
            sleep(TICK);
        }
    }

    /// Waits until stdout contains `part`; fails the test at the program's deadline.
    #[track_caller]
    pub fn until_stdout_has(&mut self, part: &str) {
        self.until(&format!("{part:?} on stdout"), |running| {
            String::from_utf8_lossy(&running.stdout.so_far()).contains(part)
        });
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end; fails the test at its deadline, or if it is a program of ours and printed JSON that names a key twice or
    /// breaks its schema.
    #[track_caller]
    pub fn wait(mut self) -> Output {
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    let output = self.left(Some(status));
                    crate::printed::check(&self.command, &output);
                    return output;
                }
                Ok(None) if Instant::now() > self.deadline => {
                    self.kill();
                    let output = self.left(None);
                    panic!("timed out\n{output}");
                }
                Ok(None) => sleep(TICK),
                Err(error) => panic!("failed to wait for {}: {error}", self.what),
            }
        }
    }

    fn left(&mut self, status: Option<ExitStatus>) -> Output {
        let took = self.started.elapsed();
        self.ended = true;
        self.open_stdin = None;
        let end = Instant::now() + DRAIN;
        while Instant::now() < end && !(self.stdout.is_done() && self.stderr.is_done()) {
            sleep(TICK);
        }
        Output {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
            held_open: !(self.stdout.is_done() && self.stderr.is_done()),
            stdout: self.stdout.so_far(),
            stderr: self.stderr.so_far(),
            took,
            what: self.what.clone(),
        }
    }

    fn kill(&mut self) {
        // The group may be gone already; then nothing is left to kill.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
        self.ended = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            self.kill();
        }
    }
}

/// Reads a stream to its end on a thread of its own.
#[derive(Debug)]
struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Collector {
    fn new(stream: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let reader = stream.map(|mut stream| {
            let bytes = Arc::clone(&bytes);
            std::thread::spawn(move || {
                let mut chunk = vec![0; 64 * 1024];
                while let Ok(count) = stream.read(&mut chunk) {
                    if count == 0 {
                        break;
                    }
                    bytes.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&chunk[..count]);
                }
            })
        });
        Self { bytes, reader }
    }

    fn so_far(&self) -> Vec<u8> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_done(&self) -> bool {
        self.reader.as_ref().is_none_or(JoinHandle::is_finished)
    }
}
