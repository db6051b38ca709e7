//! Management commands of the CLI: one process each, its outputs kept apart, a deadline, a typed answer.

mod words;

use std::ffi::OsString;
use std::time::Duration;

use amplihack_session::{
    ChildOutput, Deadlines, EndCause, ProcessOutput, RunError, RunSpec, run_blocking, run_to_end,
};
use tracing::Instrument;

use crate::capability::CliFeature;
use crate::error::{CliEnd, Error, Result};
use crate::launch::CliLaunch;
use crate::options::Options;
use crate::setters::setters;

pub(crate) use words::CommandWords;

/// Time that a management command may take. A review has five times as long.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// The most that is read of an answer.
const MOST: usize = 64 * 1024 * 1024;

/// The CLI for management commands: which one, where, with which settings, for how long.
///
/// Of [`Options`] these count here: where the CLI is and runs (`cli_path`, `cli_version`, `cwd`, `env`, `base_env`, `execution_surface`,
/// `governed_authority`), `settings_file`, `log_level`, `log_file`, `max_stderr_buffer_bytes` and `transport_headless_timeout_ms`.
///
/// ```no_run
/// use amp_sdk::{AmpContext, threads};
///
/// # async fn f() -> amp_sdk::Result<()> {
/// for thread in threads::list(&AmpContext::default(), &threads::ThreadListOptions::default()).await? {
///     println!("{} {}", thread.id, thread.title);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AmpContext {
    /// Options that locate the CLI and say how it runs.
    pub options: Options,
    /// Time that the command may take. Default: [`DEFAULT_TIMEOUT`], 300 s for a review.
    pub timeout: Option<Duration>,
    /// Input that the command reads. Default: nothing, `/dev/null`.
    pub stdin: Option<Vec<u8>>,
}

setters! {
    AmpContext {
        some(Duration) with_timeout = timeout,
        into(Vec<u8>) with_stdin = stdin,
    }
}

impl From<Options> for AmpContext {
    fn from(options: Options) -> Self {
        Self { options, ..Self::default() }
    }
}

/// Answer of a command.
pub(crate) struct CommandAnswer {
    /// Standard output, whole.
    pub stdout: String,
    /// The end of the command's process.
    pub end: CliEnd,
    /// The command as errors name it.
    pub command: String,
}

impl CommandAnswer {
    /// The output without blanks at its ends.
    pub(crate) fn trimmed_text(&self) -> String {
        self.stdout.trim().to_owned()
    }

    /// An answer that cannot be read, with its beginning.
    pub(crate) fn unreadable_error(&self, message: impl Into<String>) -> Error {
        Error::Parse { message: message.into(), details: self.stdout.chars().take(4096).collect() }
    }
}

/// A command to be run: its words, what it needs of the CLI, and how its answer is read.
pub(crate) struct ManagementCall<T> {
    words: CommandWords,
    needs: Vec<CliFeature>,
    ungoverned: bool,
    timeout: Duration,
    stdin: Option<Vec<u8>>,
    /// Codes besides 0 that are answers.
    codes: &'static [i32],
    read: fn(&CommandAnswer) -> Result<T>,
    instead: Option<Box<dyn FnOnce() -> Result<T> + Send>>,
}

impl ManagementCall<String> {
    /// A command whose answer is its text, without blanks at the ends.
    pub(crate) fn new_text(words: CommandWords, needs: &[CliFeature]) -> Self {
        Self::new(words, needs, |answer| Ok(answer.trimmed_text()))
    }
}

impl<T: Send + 'static> ManagementCall<T> {
    pub(crate) fn new(
        words: CommandWords,
        needs: &[CliFeature],
        read: fn(&CommandAnswer) -> Result<T>,
    ) -> Self {
        Self {
            words,
            needs: needs.to_vec(),
            ungoverned: false,
            timeout: DEFAULT_TIMEOUT,
            stdin: None,
            codes: &[],
            read,
            instead: None,
        }
    }

    /// Replaces the default deadline.
    pub(crate) fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Gives the command something to read, unless the caller gives something else.
    pub(crate) fn with_stdin(mut self, stdin: Option<Vec<u8>>) -> Self {
        self.stdin = stdin;
        self
    }

    /// Accepts these exit codes as answers too.
    pub(crate) fn with_answer_codes(mut self, codes: &'static [i32]) -> Self {
        self.codes = codes;
        self
    }

    /// Lets the SDK do the work itself: no process is started.
    pub(crate) fn with_replacement(mut self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Self {
        self.instead = Some(Box::new(work));
        self
    }

    /// Refuses the command in governed execution, where only the authority decides.
    pub(crate) fn refuse_governed(mut self) -> Self {
        self.ungoverned = true;
        self
    }

    /// Refuses commands that neither the CLI nor the SDK in its place may do.
    fn check_allowed(&self, amp: &AmpContext) -> Result<()> {
        if self.ungoverned
            && !amplihack_sys::sabotage::is_active("amp-governed-management")
            && amp.options.is_governed()
        {
            let message = "governed execution changes no permissions, MCP servers or their credentials; \
                 drop it or drop governed_authority";
            return Err(Error::invalid_option(self.words.command_name(), message));
        }
        let version = amp.options.cli_version.as_ref();
        self.needs.iter().try_for_each(|feature| feature.require_in(version))
    }

    /// Checks all else that is needed to start a process, and describes that process.
    fn prepare_launch(&self, amp: &AmpContext) -> Result<(CliLaunch, RunSpec, Duration)> {
        let timeout = amp.timeout.unwrap_or(self.timeout);
        if timeout.is_zero() {
            return Err(Error::invalid_option("timeout", "it is 0; give a positive time"));
        }
        let words = self.build_argv(&amp.options)?;
        amp.options.validate()?;
        let launch = CliLaunch::new(&amp.options)?;
        let stdin = amp.stdin.clone().or_else(|| self.stdin.clone());
        let (command, stdin) = launch.build_command(&words, stdin)?;
        let spec = RunSpec {
            clean_environment: true,
            stdin,
            stdout: ChildOutput::Head(MOST),
            stderr: ChildOutput::Tail(amp.options.max_stderr_buffer_bytes),
            deadlines: Deadlines { total: Some(timeout), ..Deadlines::default() },
            grace: amp.options.grace(),
            tag: launch.process_tag(),
            ..RunSpec::new(command)
        };
        Ok((launch, spec, timeout))
    }

    /// The CLI's words: global options first, since what follows a `--` is not the CLI's.
    pub(crate) fn build_argv(&self, options: &Options) -> Result<Vec<OsString>> {
        let mut words = Vec::new();
        let path =
            |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.clone().into_os_string());
        for (flag, value) in [
            ("--settings-file", path(&options.settings_file)),
            ("--log-level", options.log_level.as_ref().map(OsString::from)),
            ("--log-file", path(&options.log_file)),
        ] {
            if let Some(value) = value {
                words.extend([flag.into(), value]);
            }
        }
        words.extend(self.words.to_argv()?);
        Ok(words)
    }

    fn read_outcome(
        &self,
        launch: &CliLaunch,
        outcome: Result<ProcessOutput, RunError>,
        after: Duration,
    ) -> Result<T> {
        let command = self.words.command_name();
        let outcome = outcome.map_err(|error| match Error::from_run(error) {
            error @ Error::CliNotFound { .. } => error,
            error => Error::CommandExecution { command: command.clone(), source: Box::new(error) },
        });
        let outcome = outcome.map_err(|error| launch.scrub_error(error))?;
        let end = launch.cli_end(&outcome);
        if outcome.cause != EndCause::Ended {
            return Err(Error::CommandTimeout { command, after, end: Box::new(end) });
        }
        let stdout = launch.hide_values(&String::from_utf8_lossy(&outcome.stdout.bytes));
        let answer = CommandAnswer { stdout, end, command };
        if outcome.stdout.dropped > 0 {
            return Err(answer.unreadable_error(format!("the answer is longer than {MOST} bytes")));
        }
        let code = outcome.exit.code();
        if code == 0 || self.codes.contains(&code) {
            (self.read)(&answer)
        } else {
            Err(launch.scrub_error(Error::from_command(answer.command, answer.end)))
        }
    }

    pub(crate) async fn run(mut self, amp: &AmpContext) -> Result<T> {
        self.check_allowed(amp)?;
        let span = tracing::info_span!("amp_command", command = self.words.command_name());
        if let Some(work) = self.instead.take() {
            let Ok(runtime) = tokio::runtime::Handle::try_current() else {
                return Err(Error::TaskExit {
                    what: format!("run `amp {}`", self.words.command_name()),
                    message: "there is no tokio runtime; use the blocking form".to_owned(),
                });
            };
            let done = runtime.spawn_blocking(move || span.in_scope(work)).await;
            return done.map_err(|error| Error::TaskExit {
                what: format!("run `amp {}`", self.words.command_name()),
                message: error.to_string(),
            })?;
        }
        let (launch, spec, timeout) = self.prepare_launch(amp)?;
        let outcome = run_to_end(spec).instrument(span).await;
        self.read_outcome(&launch, outcome, timeout)
    }

    pub(crate) fn run_blocking(mut self, amp: &AmpContext) -> Result<T> {
        self.check_allowed(amp)?;
        let _entered = tracing::info_span!("amp_command", command = self.words.command_name()).entered();
        if let Some(work) = self.instead.take() {
            return work();
        }
        let (launch, spec, timeout) = self.prepare_launch(amp)?;
        let outcome = run_blocking(spec);
        self.read_outcome(&launch, outcome, timeout)
    }
}

/// Makes the asynchronous and the blocking form of each command.
macro_rules! calls {
    ($amp:ident; $($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) -> $out:ty $body:block)*) => {
        $(
            $(#[$doc])*
            pub async fn $name($amp: &$crate::AmpContext, $($arg: $type),*) -> $crate::Result<$out> {
                let call = || -> $crate::Result<$crate::manage::ManagementCall<$out>> { $body };
                call()?.run($amp).await
            }
        )*

        /// Blocking forms of these commands. May be called from anywhere, also from within a runtime, which they block.
        pub mod blocking {
            use super::*;

            $(
                $(#[$doc])*
                pub fn $name($amp: &$crate::AmpContext, $($arg: $type),*) -> $crate::Result<$out> {
                    let call = || -> $crate::Result<$crate::manage::ManagementCall<$out>> { $body };
                    call()?.run_blocking($amp)
                }
            )*
        }
    };
}

pub(crate) use calls;
