//! Runs for callers without a runtime: a whole run, and the short probes of programs' versions.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use amplihack_sys::{ProcessExit, check_open_files};

use crate::error::RunError;
use crate::output::{EndCause, ProcessOutput};
use crate::run::run_to_end;
use crate::spec::{ChildOutput, Deadlines, RunSpec};

/// Files that a runtime opens, with those that are open at its start; with fewer it panics.
const RUNTIME_FILES: u64 = 16;

/// Number of bytes that a probe keeps of each output.
const PROBE_OUTPUT: usize = 64 * 1024;

/// Exit and output of a probed program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeOutput {
    /// Exit of the program.
    pub exit: ProcessExit,
    /// The first 64 KiB of its standard output.
    pub stdout: Vec<u8>,
    /// The first 64 KiB of its standard error.
    pub stderr: Vec<u8>,
}

/// Starts a run and blocks until its end. May be called from anywhere, also from within a runtime, which it blocks.
///
/// # Errors
/// Those of [`run_to_end`], and [`RunError::Watch`] if no thread or runtime can be had.
pub fn run_blocking(spec: RunSpec) -> Result<ProcessOutput, RunError> {
    let program = spec.command.get_program().to_os_string();
    block_on_thread(|| run_to_end(spec))
        .map_err(RunError::watch_error(&program, "have a thread and a runtime"))?
}

/// Runs a future of this crate to its end on a thread with a runtime of its own, since a runtime within a runtime panics.
///
/// # Errors
/// The system's error, if no thread or runtime can be had.
pub fn block_on_thread<T: Send, F: Future<Output = T>>(make: impl FnOnce() -> F + Send) -> io::Result<T> {
    // What happens on the thread belongs to whoever waits for it.
    let outer = tracing::Span::current();
    std::thread::scope(|scope| {
        let work = || outer.in_scope(|| Ok(build_runtime()?.block_on(make())));
        let thread = std::thread::Builder::new().name("amplihack-run".into()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Makes this process the program of `command`: same process, same parent, same group, so signals and exit code are its own.
///
/// Nothing of this process goes on, so there is nothing to own. Returns only if the program could not be started.
pub fn become_program(mut command: Command) -> RunError {
    let source = command.exec();
    RunError::Spawn { program: command.get_program().to_os_string(), source }
}

/// A runtime with all that runs need, on the thread that uses it.
///
/// # Errors
/// The system's error, if the runtime cannot be had, and that of [`check_open_files`]: with too few descriptors it would panic.
pub fn build_runtime() -> io::Result<tokio::runtime::Runtime> {
    check_open_files(RUNTIME_FILES)?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Runs a program that answers by itself and soon, such as `agent --version`, with nothing on stdin; blocks.
///
/// Whatever is left of it after its end or after `timeout` is ended.
///
/// # Errors
/// [`RunError::TimedOut`] if the probe takes longer than `timeout`, and those of [`run_blocking`].
pub fn probe_program(command: Command, timeout: Duration) -> Result<ProbeOutput, RunError> {
    static PROBES: AtomicU64 = AtomicU64::new(0);
    let program = command.get_program().to_os_string();
    let number = PROBES.fetch_add(1, Ordering::Relaxed);
    let outcome = run_blocking(RunSpec {
        stdout: ChildOutput::Head(PROBE_OUTPUT),
        stderr: ChildOutput::Head(PROBE_OUTPUT),
        deadlines: Deadlines { total: Some(timeout), ..Deadlines::default() },
        grace: Duration::from_millis(200),
        tag: format!("probe-{}-{number}", std::process::id()),
        ..RunSpec::new(command)
    })?;
    match outcome.cause {
        EndCause::Ended | EndCause::Lingered | EndCause::Unguarded | EndCause::Interrupted(_) => {
            Ok(ProbeOutput { exit: outcome.exit, stdout: outcome.stdout.bytes, stderr: outcome.stderr.bytes })
        }
        EndCause::Deadline(_) => Err(RunError::TimedOut { program, after: timeout }),
    }
}
