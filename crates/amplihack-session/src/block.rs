//! Runs for callers without a runtime: a whole run, and the short probes of programs' versions.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::RunError;
use amplihack_utils::sys::Exit;

use crate::outcome::{Outcome, Why};
use crate::run::run_to_end;
use crate::spec::{Deadlines, Output, RunSpec};

/// What a probe keeps of each output.
const PROBE_OUTPUT: usize = 64 * 1024;

/// What a probed program said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeOutput {
    /// How it ended.
    pub exit: Exit,
    /// The first 64 KiB of its standard output.
    pub stdout: Vec<u8>,
    /// The first 64 KiB of its standard error.
    pub stderr: Vec<u8>,
}

/// Starts a run and blocks until its end. May be called from anywhere, also from within a runtime, which it blocks.
pub fn run_blocking(spec: RunSpec) -> Result<Outcome, RunError> {
    let program = spec.command.get_program().to_os_string();
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(RunError::watch(&program, "make a runtime"))?;
        runtime.block_on(run_to_end(spec))
    };
    // A runtime within a runtime panics, so this one has a thread of its own.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("amplihack-run".into())
            .spawn_scoped(scope, run)
            .map_err(RunError::watch(&program, "start a thread"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs a program that answers by itself and soon, such as `agent --version`, with nothing on stdin; blocks.
///
/// Whatever is left of it after its end or after `timeout` is ended. A probe that takes longer is
/// [`RunError::TimedOut`].
pub fn probe(command: Command, timeout: Duration) -> Result<ProbeOutput, RunError> {
    static PROBES: AtomicU64 = AtomicU64::new(0);
    let program = command.get_program().to_os_string();
    let number = PROBES.fetch_add(1, Ordering::Relaxed);
    let outcome = run_blocking(RunSpec {
        stdout: Output::Head(PROBE_OUTPUT),
        stderr: Output::Head(PROBE_OUTPUT),
        deadlines: Deadlines { total: Some(timeout), ..Deadlines::default() },
        grace: Duration::from_millis(200),
        tag: format!("probe-{}-{number}", std::process::id()),
        ..RunSpec::new(command)
    })?;
    match outcome.why {
        Why::Ended | Why::Lingered | Why::Interrupted(_) => {
            Ok(ProbeOutput { exit: outcome.exit, stdout: outcome.stdout.bytes, stderr: outcome.stderr.bytes })
        }
        Why::Deadline(_) => Err(RunError::TimedOut { program, after: timeout }),
    }
}
