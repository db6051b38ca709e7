//! The CLI's version: read from `amp --version`, compared by build.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use amplihack_session::{ChildOutput, Deadlines, EndCause, RunSpec, run_to_end};
use semver::Version;

use crate::error::{Error, Result};
use crate::launch::CliLaunch;
use crate::options::Options;

/// Time that `amp --version` may take.
const PROBE: Duration = Duration::from_secs(10);

/// The build of the newest CLI that the capability table was read from: the patch number of its version.
pub const KNOWN_BUILD: u64 = 1_790_142_911;

/// The newest CLI that the capability table was read from. A CLI whose version nobody asked for is taken for this one.
pub fn newest_known() -> Version {
    Version::new(0, 0, KNOWN_BUILD)
}

/// The version in what `amp --version` printed: `0.0.1790142911-g7618fb (released …)`.
pub fn parse_version(output: &str) -> Option<Version> {
    amplihack_agent::version::parse_version(output)
}

/// Identity of a program when it was asked: its path, modification time and size.
type ProbedProgram = (PathBuf, Option<SystemTime>, u64);

static ANSWERS: Mutex<BTreeMap<ProbedProgram, Version>> = Mutex::new(BTreeMap::new());

/// Asks the CLI that `options` lead to for its version; at most 10 s, once a program and modification time.
///
/// Set [`Options::cli_version`] to the answer, and everything else goes by it. Nothing else of this crate asks: without a
/// version the CLI is taken for [`newest_known`]. The CLI itself may write below its home when it is asked.
///
/// # Errors
/// Those of [`Options::validate`]; `cli_not_found` for a missing CLI, `task_timeout` for one that does not end in time, `parse_error` for
/// one that prints no version. A CLI that cannot be started or fails is the error that its end stands for, such as `transport_exit`.
pub async fn probe_version(options: &Options) -> Result<Version> {
    options.validate()?;
    let launch = CliLaunch::new(options)?;
    let asked = launch.local_program().and_then(|path| {
        let meta = std::fs::metadata(path).ok()?;
        Some((path.to_owned(), meta.modified().ok(), meta.len()))
    });
    let known =
        |asked: &ProbedProgram| ANSWERS.lock().unwrap_or_else(PoisonError::into_inner).get(asked).cloned();
    if let Some(version) = asked.as_ref().and_then(known) {
        return Ok(version);
    }
    let (command, stdin) = launch.build_command(&["--version".into()], None)?;
    let spec = RunSpec {
        clean_environment: true,
        stdin,
        stdout: ChildOutput::Head(64 * 1024),
        stderr: ChildOutput::Tail(64 * 1024),
        deadlines: Deadlines { total: Some(PROBE), ..Deadlines::default() },
        grace: Duration::from_millis(200),
        tag: launch.process_tag(),
        ..RunSpec::new(command)
    };
    let outcome = run_to_end(spec).await.map_err(|error| launch.scrub_error(Error::from_run(error)))?;
    if outcome.cause != EndCause::Ended {
        return Err(Error::TaskTimeout { what: "run `amp --version`".to_owned(), after: PROBE });
    }
    let printed = String::from_utf8_lossy(&outcome.stdout.bytes).into_owned();
    let Some(version) = parse_version(&printed) else {
        let end = launch.cli_end(&outcome);
        return Err(match outcome.exit.code() {
            0 => Error::Parse { message: "`amp --version` printed no version".to_owned(), details: printed },
            _ => launch.scrub_error(Error::from_end(end)),
        });
    };
    if let Some(asked) = asked {
        ANSWERS.lock().unwrap_or_else(PoisonError::into_inner).insert(asked, version.clone());
    }
    Ok(version)
}

/// The blocking form.
pub mod blocking {
    use super::{Options, Result, Version};

    /// [`probe_version`](super::probe_version), blocking. May be called from anywhere.
    ///
    /// # Errors
    /// Those of [`probe_version`](super::probe_version), and `task_exit` if no thread or runtime can be had.
    pub fn probe_version(options: &Options) -> Result<Version> {
        crate::blocking::on_a_thread("ask the CLI for its version", || super::probe_version(options))?
    }
}
