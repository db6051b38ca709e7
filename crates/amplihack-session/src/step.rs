//! A single program of a recipe: in a group of its own, with its output in files, and with an end that is written down even
//! when this process is dead.
//!
//! The spawned process is a keeper ([`sys::StepKeeper`]); the program is its child. Nothing of the output is in this process's
//! memory until it is asked for. What the program leaves in the background lives on with its keeper until
//! [`StepBackground::end_and_wait`].

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use amplihack_sys::StepProgram;
use amplihack_sys::{self as sys, KeeperOptions, PreparedKeeper, Signal, StepRecord};
use tokio::net::unix::pipe;
use tokio::time::Instant;

use crate::error::RunError;
use crate::leftovers;
use crate::output::{DeadlineKind, EndCause};
use crate::spawner::{self, OwnedChild};

/// A record is shorter than this.
const RECORD: usize = 256;
/// After the grace and SIGKILL, how long a keeper may take to see that all are gone.
const LAST: Duration = Duration::from_secs(5);

/// Directory that steps write to: their outputs, their records, and the list of their processes.
#[derive(Debug)]
pub struct StepSpool {
    path: PathBuf,
    directory: Arc<File>,
    processes: Arc<File>,
    /// `/dev/null`
    nothing: Arc<File>,
}

impl StepSpool {
    /// The spool in `path`, a private directory. The list of processes is `processes` in it.
    ///
    /// # Errors
    /// The system's error, if the directory or `/dev/null` cannot be opened, or the list not written.
    pub fn open(path: &Path) -> io::Result<Self> {
        let processes = leftovers::open_list(&path.join(PROCESSES))?;
        let open = |path: &Path| File::open(path).map(Arc::new);
        let (directory, nothing) = (open(path)?, open(Path::new("/dev/null"))?);
        Ok(Self { path: path.to_owned(), directory, processes: Arc::new(processes), nothing })
    }

    /// The list of processes, for what is no step: see [`RunSpec::record`](crate::RunSpec).
    ///
    /// # Errors
    /// The system's error, if its descriptor cannot be duplicated.
    pub fn process_list(&self) -> io::Result<File> {
        self.processes.try_clone()
    }

    /// The record of the step `name`, if it has ended.
    pub fn read_record(&self, name: &str) -> Option<StepRecord> {
        StepRecord::parse(&std::fs::read_to_string(self.path.join(format!("{name}.exit"))).ok()?)
    }

    /// The outputs of the step `name`, of which `record` tells.
    ///
    /// # Errors
    /// The system's error, if a file of the step's is missing or cannot be opened.
    pub fn open_outputs(&self, name: &str, record: &StepRecord) -> io::Result<[SpooledFile; 2]> {
        let open = |kind: &str, bytes: u64| {
            let file = Arc::new(File::open(self.path.join(format!("{name}.{kind}")))?);
            Ok::<_, io::Error>(SpooledFile { file, bytes })
        };
        Ok([open("out", record.bytes[0])?, open("err", record.bytes[1])?])
    }
}

/// The list of processes of a [`StepSpool`].
pub const PROCESSES: &str = "processes";

/// An output that is in a file.
#[derive(Debug)]
pub struct SpooledFile {
    file: Arc<File>,
    bytes: u64,
}

impl SpooledFile {
    /// Number of bytes in the file.
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Reports whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The first bytes, at most `limit`.
    ///
    /// # Errors
    /// The system's error, if the file cannot be read or has become shorter.
    pub fn read_head(&self, limit: usize) -> io::Result<Vec<u8>> {
        self.read_part(0, limit)
    }

    /// The last bytes, at most `limit`.
    ///
    /// # Errors
    /// The system's error, if the file cannot be read or has become shorter.
    pub fn read_tail(&self, limit: usize) -> io::Result<Vec<u8>> {
        self.read_part(self.bytes.saturating_sub(limit as u64), limit)
    }

    fn read_part(&self, from: u64, limit: usize) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.bytes - from).unwrap_or(usize::MAX).min(limit);
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, from)?;
        Ok(bytes)
    }
}

/// A step to be started.
#[derive(Debug)]
pub struct StepSpec<'a> {
    /// Program that runs. Its standard input is `/dev/null`.
    pub program: &'a StepProgram,
    /// Spool that the step writes to.
    pub spool: &'a StepSpool,
    /// The name of its files there; no other step's.
    pub name: &'a str,
    /// Time that the step may take. `None`: no limit.
    pub timeout: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
}

/// A step that runs. Dropping it makes its keeper end the program and all that came of it.
pub struct StepRun {
    program: std::ffi::OsString,
    kid: OwnedChild,
    done: pipe::Receiver,
    said: Vec<u8>,
    outputs: [Arc<File>; 2],
    deadline: Option<Instant>,
    /// Time at which this process stops waiting for a keeper that was told to end its step.
    patience: Option<Instant>,
    grace: Duration,
    cause: EndCause,
}

/// The output of a step's program, as its keeper wrote it down.
#[derive(Debug)]
pub struct SpooledOutput {
    /// Record of the step's keeper. `None`: the keeper was killed, and the step with it.
    pub record: Option<StepRecord>,
    /// The cause of its end.
    pub cause: EndCause,
    /// Standard output and standard error.
    pub outputs: [SpooledFile; 2],
    /// Processes that the step left in the background.
    pub background: Option<StepBackground>,
}

/// Processes that a step left, with their keeper. Dropping it makes the keeper end them; [`StepBackground::end_and_wait`] waits for that.
pub struct StepBackground {
    kid: OwnedChild,
    grace: Duration,
}

impl std::fmt::Debug for StepBackground {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepBackground").field("keeper", &self.kid.pid).finish_non_exhaustive()
    }
}

impl StepRun {
    /// Starts a step. Its processes are in the spool's list before the program is exec'd.
    ///
    /// # Errors
    /// [`RunError::Watch`] if the files of its output cannot be made or its end not be heard of, [`RunError::Spawn`] if its keeper cannot
    /// be started. That the program itself cannot be exec'd is said by [`Self::wait_for_end`].
    pub async fn start(spec: StepSpec<'_>) -> Result<Self, RunError> {
        let StepSpec { program: image, spool, name, timeout, grace } = spec;
        let program = image.path.clone().into_os_string();
        let watch = |what| RunError::watch_error(&program, what);
        let file = |kind: &str| {
            let path = spool.path.join(format!("{name}.{kind}"));
            let open =
                OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(path);
            open.map(Arc::new)
        };
        let open = || Ok::<_, io::Error>([file("out")?, file("err")?]);
        let outputs = open().map_err(watch("make the files of its output"))?;
        let spawn = |source| RunError::Spawn { program: program.clone(), source };
        let keeper = prepare_keeper(image, spool, name, &outputs, grace).map_err(spawn)?;
        let (kid, done) = spawner::spawn_keeper(keeper).await.map_err(spawn)?;
        let done = pipe::Receiver::from_owned_fd(done).map_err(watch("hear of its end"))?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let said = Vec::with_capacity(RECORD);
        Ok(Self {
            program,
            kid,
            done,
            said,
            outputs,
            deadline,
            patience: None,
            grace,
            cause: EndCause::Ended,
        })
    }

    /// Ends the step because this process received `signal`: SIGTERM, and after the grace SIGKILL, to its whole tree.
    pub fn end_on_signal(&mut self, signal: Signal) {
        self.begin_end(EndCause::Interrupted(signal));
    }

    fn begin_end(&mut self, cause: EndCause) {
        if self.patience.is_some() {
            return;
        }
        self.cause = cause;
        self.deadline = None;
        self.patience = Instant::now().checked_add(self.grace + LAST);
        if let Err(error) = sys::send_to_process(self.kid.pid, Signal::TERM) {
            tracing::warn!(pid = self.kid.pid, %error, "a step's keeper cannot be signalled");
        }
    }

    /// Waits for the end of the step's own program, or for its deadline and then its end. Cancel-safe.
    ///
    /// # Errors
    /// [`RunError::Spawn`] if the program could not be started, [`RunError::Watch`] if its end cannot be heard of.
    pub async fn wait_for_end(&mut self) -> Result<(), RunError> {
        loop {
            let wake = self.deadline.or(self.patience);
            let woken = async {
                match wake {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                told = self.done.readable() => {
                    told.map_err(RunError::watch_error(&self.program, "hear of its end"))?;
                    match self.done.try_read_buf(&mut self.said) {
                        Ok(0) => return self.check_started(),
                        // The keeper ends with it, or stays with what is in the background.
                        Ok(_) if self.said.ends_with(b"\n") => return self.check_started(),
                        Ok(_) => {}
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        Err(error) => return Err(RunError::watch_error(&self.program, "hear of its end")(error)),
                    }
                }
                () = woken => {
                    if self.patience.is_some() {
                        // Not even its keeper can end it.
                        return Ok(());
                    }
                    self.begin_end(EndCause::Deadline(DeadlineKind::Total));
                }
            }
        }
    }

    /// Checks that the step was started, now that it has ended.
    fn check_started(&self) -> Result<(), RunError> {
        match std::str::from_utf8(&self.said).ok().and_then(sys::not_started) {
            None => Ok(()),
            Some(source) => Err(RunError::Spawn { program: self.program.clone(), source }),
        }
    }

    /// Output of a step that has ended, as [`Self::wait_for_end`] reported.
    pub fn into_output(self) -> SpooledOutput {
        let record = std::str::from_utf8(&self.said).ok().and_then(StepRecord::parse);
        let [output, error] = self.outputs;
        let bytes = record.map_or_else(
            || [&output, &error].map(|file| file.metadata().map_or(0, |found| found.len())),
            |record| record.bytes,
        );
        let [output, error] =
            [(output, bytes[0]), (error, bytes[1])].map(|(file, bytes)| SpooledFile { file, bytes });
        let background = match record {
            Some(StepRecord { left: false, .. }) => {
                self.kid.reap_child();
                None
            }
            Some(_) => Some(StepBackground { kid: self.kid, grace: self.grace }),
            None => None,
        };
        SpooledOutput { record, cause: self.cause, outputs: [output, error], background }
    }

    /// The keeper's process id, which is also its group's.
    pub fn pid(&self) -> u32 {
        self.kid.pid
    }
}

impl StepBackground {
    /// Reports whether all that was left has ended by now.
    pub fn is_over(&self) -> bool {
        sys::living_process(self.kid.pid).is_none()
    }

    /// Ends it: SIGTERM, and after the grace SIGKILL.
    pub async fn end_and_wait(self) {
        if let Err(error) = sys::send_to_process(self.kid.pid, Signal::TERM) {
            tracing::warn!(pid = self.kid.pid, %error, "a step's keeper cannot be signalled");
        }
        let until = Instant::now() + self.grace + LAST;
        let mut pause = Duration::from_millis(1);
        while !self.is_over() && Instant::now() < until {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        if self.is_over() {
            self.kid.reap_child();
        }
    }
}

fn prepare_keeper(
    program: &StepProgram,
    spool: &StepSpool,
    name: &str,
    outputs: &[Arc<File>; 2],
    grace: Duration,
) -> io::Result<PreparedKeeper> {
    let name = |kind: &str| CString::new(format!("{name}.{kind}"));
    let [output, error] = outputs.clone();
    let keep = KeeperOptions {
        input: Arc::clone(&spool.nothing),
        output,
        error,
        directory: Arc::clone(&spool.directory),
        record: name("exit")?,
        unfinished: name("exit.new")?,
        processes: Arc::clone(&spool.processes),
        grace,
    };
    PreparedKeeper::new(program, keep)
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
