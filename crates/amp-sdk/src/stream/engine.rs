//! The machine behind the stream: start, read, decode, end.

use std::collections::VecDeque;
use std::time::Duration;

use amplihack_agent::framer::{Framer, MAX_LINE, StreamFrame};
use amplihack_agent::{AgentBinary, agent_profile};
use amplihack_session::{
    AgentRun, ChildInput, ChildOutput, DeadlineKind, Deadlines, EndCause, ProcessOutput, RunSpec, RunStep,
};
use tracing::Span;

use super::StreamFacts;
use super::input::{FirstInput, MessageFeed, RunInput};
use super::interrupt::StreamInterrupter;
use crate::error::{CliEnd, Error, Result, StreamWait};
use crate::launch::CliLaunch;
use crate::options::Options;
use crate::overlay::OverlayFiles;
use crate::plan::{OverlayContents, cli_arguments, option_warnings};
use crate::prompt::UserInputMessage;
use crate::wire::{LineDiagnostic, StreamMessage, WireError};

type StreamItem = Result<StreamMessage>;

/// A run, from its options to its end.
pub(super) struct StreamEngine {
    stage: EngineStage,
    options: Options,
    lines: MessageLines,
    facts: StreamFacts,
    interrupter: StreamInterrupter,
}

enum EngineStage {
    Waits(RunInput),
    Runs(Box<RunningCli>),
    Over,
}

struct RunningCli {
    run: AgentRun,
    launch: CliLaunch,
    /// Messages that are still to come.
    feed: Option<MessageFeed>,
}

/// Result of a turn of the loop.
enum EngineTurn {
    Goes,
    /// The run has ended by itself.
    Ended,
    /// Nothing more is wanted of it. Dropping it kills it.
    Dropped,
}

/// From bytes to messages.
struct MessageLines {
    framer: Framer,
    ready: VecDeque<StreamItem>,
    strict: bool,
    /// Values that must not be seen are in the way of diagnostics.
    governed: bool,
    /// Results that came.
    results: usize,
    /// Messages that were sent, each of which is answered by a result.
    asked: usize,
    /// Further messages may be sent.
    open: bool,
    /// The run's span, with the id of the session once that is known.
    span: Span,
    named: bool,
    /// A line ended the stream.
    broken: bool,
    /// The CLI asks a person to log in, and would wait for ever.
    asks_for_login: bool,
}

impl StreamEngine {
    pub(super) fn new(input: RunInput, options: Options, interrupter: StreamInterrupter) -> Self {
        let lines = MessageLines {
            framer: Framer::default(),
            ready: VecDeque::new(),
            strict: options.strict,
            governed: options.is_governed(),
            results: 0,
            asked: 0,
            open: false,
            span: Span::none(),
            named: false,
            broken: false,
            asks_for_login: false,
        };
        Self { stage: EngineStage::Waits(input), options, lines, facts: StreamFacts::default(), interrupter }
    }

    /// Sets the span in which the run is noted down.
    pub(super) fn set_span(&mut self, span: Span) {
        self.lines.span = span;
    }

    pub(super) fn facts(&self) -> &StreamFacts {
        &self.facts
    }

    /// Removes and returns the next message that was read and not taken yet.
    pub(super) fn pop_ready(&mut self) -> Option<StreamItem> {
        if amplihack_sys::sabotage::is_active("amp-as-they-come") && !matches!(self.stage, EngineStage::Over)
        {
            return None;
        }
        self.lines.ready.pop_front()
    }

    /// The next message; `None` when the run is over.
    pub(super) async fn next(&mut self) -> Option<StreamItem> {
        loop {
            if let Some(item) = self.pop_ready() {
                return Some(item);
            }
            match std::mem::replace(&mut self.stage, EngineStage::Over) {
                EngineStage::Over => return None,
                EngineStage::Waits(input) => match self.start_cli(input).await {
                    Ok(running) => self.stage = EngineStage::Runs(Box::new(running)),
                    Err(error) => return Some(Err(error)),
                },
                EngineStage::Runs(mut running) => match self.take_turn(&mut running).await {
                    Ok(EngineTurn::Goes) => self.stage = EngineStage::Runs(running),
                    Ok(EngineTurn::Ended) => {
                        let RunningCli { run, launch, .. } = *running;
                        match run.finish_run() {
                            Ok(outcome) => self.finish_run(&outcome, &launch),
                            Err(error) => self.push_error(launch.scrub_error(Error::from_run(error))),
                        }
                    }
                    Ok(EngineTurn::Dropped) => {}
                    Err(error) => self.push_error(running.launch.scrub_error(error)),
                },
            }
        }
    }

    /// Checks, writes private files, and starts the CLI.
    async fn start_cli(&mut self, input: RunInput) -> Result<RunningCli> {
        self.options.validate()?;
        self.options.check_input(input.is_json())?;
        let FirstInput { prompt, messages, rest } = tokio::select! {
            first = input.first() => first?,
            () = self.interrupter.wait() => return Err(interrupted(CliEnd::default())),
        };
        if self.interrupter.is_interrupted() {
            return Err(interrupted(CliEnd::default()));
        }
        (self.lines.asked, self.lines.open) = (messages, rest.is_some());
        let launch = CliLaunch::new(&self.options)?;
        let contents = OverlayContents::new(&self.options, launch.env())?;
        self.facts.warnings = option_warnings(&self.options);
        for warning in &self.facts.warnings {
            tracing::warn!("{warning}");
        }
        // Files come after every check: a run that is refused leaves none behind. The child keeps them until it is reaped.
        let mut overlay = OverlayFiles::default();
        let settings = match &contents.settings {
            Some(settings) => {
                Some(overlay.write(launch.env(), "settings.json", settings.to_string().as_bytes())?)
            }
            None => None,
        };
        let mcp = match &contents.mcp {
            Some(mcp) => Some(overlay.write(launch.env(), "mcp.json", mcp)?),
            None => None,
        };
        let argv = cli_arguments(&self.options, prompt.is_json(), settings, mcp);
        let (command, stdin) = launch.build_command(&argv, Some(prompt.into_bytes()))?;
        let stdin = match stdin {
            ChildInput::Bytes(bytes) if rest.is_some() => ChildInput::Open(bytes),
            stdin => stdin,
        };
        let spec = RunSpec {
            clean_environment: true,
            stdin,
            stdout: ChildOutput::Stream,
            stderr: match self.options.max_stderr_buffer_bytes {
                bytes if amplihack_sys::sabotage::is_active("amp-stderr-tail") => ChildOutput::Head(bytes),
                bytes => ChildOutput::Tail(bytes),
            },
            keep: Box::new(overlay),
            deadlines: self.deadlines(),
            timekeeper: true,
            grace: self.options.grace(),
            linger: Some(Duration::from_millis(self.options.linger_timeout_ms)),
            tag: if amplihack_sys::sabotage::is_active("amp-nothing-left") {
                String::new()
            } else {
                launch.process_tag()
            },
            ..RunSpec::new(command)
        };
        let run = AgentRun::start(spec).await.map_err(|error| launch.scrub_error(Error::from_run(error)))?;
        self.facts.pid = Some(run.pid());
        self.lines.span.record("pid", run.pid());
        tracing::debug!("the Amp CLI runs");
        Ok(RunningCli { run, launch, feed: rest })
    }

    fn deadlines(&self) -> Deadlines {
        Deadlines {
            startup: Some(Duration::from_millis(self.options.startup_timeout_ms)),
            idle: Some(Duration::from_millis(self.options.stream_timeout_ms))
                .filter(|_| !amplihack_sys::sabotage::is_active("amp-option-timeout")),
            total: self.options.run_deadline_ms.map(Duration::from_millis),
        }
    }

    /// Waits for what comes next: output, the next message to send, an interrupt, or the end.
    async fn take_turn(&mut self, running: &mut RunningCli) -> Result<EngineTurn> {
        let RunningCli { run, launch, feed } = running;
        let takes_input = run.takes_input();
        let was_over = self.lines.has_ended();
        tokio::select! {
            step = run.next_step() => match step.map_err(Error::from_run)? {
                RunStep::Output(bytes) => self.lines.push(bytes, launch),
                RunStep::Over => return Ok(EngineTurn::Ended),
                _ => {}
            },
            message = next_message(feed), if takes_input => {
                if let Some(message) = message.transpose()? {
                    run.write_input(message.to_line().as_bytes());
                    self.lines.asked += 1;
                } else {
                    run.close_input();
                    *feed = None;
                    self.lines.open = false;
                }
            }
            () = self.interrupter.wait() => run.interrupt_run().map_err(Error::from_run)?,
        }
        if self.lines.broken {
            return Ok(EngineTurn::Dropped);
        }
        if self.lines.has_ended() && !was_over {
            run.expect_end().map_err(Error::from_run)?;
        } else if feed.is_some() {
            run.await_input(self.lines.is_answered()).map_err(Error::from_run)?;
        }
        Ok(EngineTurn::Goes)
    }

    fn push_error(&mut self, error: Error) {
        if !self.lines.is_over()
            && !self.lines.broken
            && !amplihack_sys::sabotage::is_active("amp-end-at-error")
        {
            self.lines.ready.push_back(Err(error));
        }
    }

    /// Takes the end of the CLI in: without a result it is an error.
    fn finish_run(&mut self, outcome: &ProcessOutput, launch: &CliLaunch) {
        self.lines.push(&outcome.stdout.bytes, launch);
        self.lines.finish_lines(launch);
        let end = launch.cli_end(outcome);
        self.facts.end = Some(end.clone());
        self.lines.span.record("exit", tracing::field::display(outcome.exit));
        if !outcome.survivors.is_empty() {
            let left: Vec<String> = outcome.survivors.iter().map(ToString::to_string).collect();
            self.add_warning(format!("the CLI left processes that do not end: {}", left.join(", ")));
        }
        if let Some(bytes) = outcome.unread {
            self.add_warning(format!("the CLI ended with {bytes} bytes of the prompt unread"));
        }
        if self.lines.asks_for_login {
            let message = "the CLI has no API key".to_owned();
            self.push_error(launch.scrub_error(Error::Auth { message, end: Box::new(end) }));
        } else if self.lines.is_unanswered_in_part()
            && outcome.exit.is_success()
            && outcome.cause == EndCause::Ended
            && outcome.unread.is_none()
        {
            // The CLI read all of it and ended well: it has taken several messages together.
            self.add_warning(format!(
                "{} results came for {} messages",
                self.lines.results, self.lines.asked
            ));
        } else if !self.lines.is_over() {
            let error = self.end_error(outcome, end);
            self.push_error(launch.scrub_error(error));
        } else if outcome.cause == EndCause::Ended && !outcome.exit.is_success() {
            self.add_warning(format!("{} after the result", outcome.exit));
        }
    }

    fn add_warning(&mut self, warning: String) {
        tracing::warn!("{warning}");
        self.facts.warnings.push(warning);
    }

    fn end_error(&self, outcome: &ProcessOutput, end: CliEnd) -> Error {
        let after = Duration::from_millis;
        match outcome.cause {
            EndCause::Deadline(DeadlineKind::Startup) => Error::StreamTimeout {
                wait: StreamWait::Startup,
                after: after(self.options.startup_timeout_ms),
                end: Box::new(end),
            },
            EndCause::Deadline(DeadlineKind::Idle) => Error::StreamTimeout {
                wait: StreamWait::Idle,
                after: after(self.options.stream_timeout_ms),
                end: Box::new(end),
            },
            EndCause::Deadline(DeadlineKind::Total) => Error::RunDeadline {
                after: after(self.options.run_deadline_ms.unwrap_or_default()),
                end: Box::new(end),
            },
            EndCause::Interrupted(_) => interrupted(end),
            EndCause::Ended | EndCause::Lingered | EndCause::Unguarded => Error::from_end(end),
        }
    }
}

/// The next message to send; `None`: there is none any more.
async fn next_message(feed: &mut Option<MessageFeed>) -> Option<Result<UserInputMessage>> {
    match feed {
        Some(feed) => feed.next().await,
        None => std::future::pending().await,
    }
}

/// The end of a run that its owner interrupted before its result.
fn interrupted(end: CliEnd) -> Error {
    Error::ExecutionFailed {
        message: "it was interrupted".to_owned(),
        subtype: "user_cancelled".to_owned(),
        permission_denials: Vec::new(),
        end: Box::new(end),
    }
}

impl MessageLines {
    /// Reports whether each message that was sent has its result.
    fn is_answered(&self) -> bool {
        self.asked > 0 && self.results >= self.asked
    }

    /// Reports whether the last result came; what follows it does not count.
    fn is_over(&self) -> bool {
        !self.open && self.is_answered()
    }

    /// Reports whether some messages have a result, and others none.
    fn is_unanswered_in_part(&self) -> bool {
        self.results > 0 && self.results < self.asked
    }

    /// Reports whether nothing more is to come of the run itself.
    fn has_ended(&self) -> bool {
        self.is_over() || self.asks_for_login
    }

    fn push(&mut self, bytes: &[u8], launch: &CliLaunch) {
        let mut framer = std::mem::take(&mut self.framer);
        framer.push(bytes, |frame| self.push_frame(frame, launch));
        self.framer = framer;
    }

    fn finish_lines(&mut self, launch: &CliLaunch) {
        let mut framer = std::mem::take(&mut self.framer);
        framer.finish(|frame| self.push_frame(frame, launch));
    }

    fn push_frame(&mut self, frame: StreamFrame<'_>, launch: &CliLaunch) {
        if self.has_ended() || self.broken {
            return;
        }
        // A line that is no message ends only a strict stream, and one that asks for a login counts before it is judged as a message.
        let (error, line) = match frame {
            StreamFrame::Line(line) if line.trim_ascii().is_empty() => return,
            StreamFrame::Line(line) => match StreamMessage::from_line(line) {
                Ok(message) => {
                    if message.is_final() && !amplihack_sys::sabotage::is_active("amp-end-at-result") {
                        self.results += 1;
                    }
                    if let Some(session) =
                        message.session_id().filter(|_| !std::mem::replace(&mut self.named, true))
                    {
                        self.span.record("session_id", session);
                    }
                    if matches!(message, StreamMessage::ErrorResult(_))
                        && amplihack_sys::sabotage::is_active("amp-failure-inline")
                    {
                        return self.ready.push_back(Err(Error::NoResult { end: Box::default() }));
                    }
                    return self.ready.push_back(Ok(message));
                }
                Err(error) => (error, line),
            },
            StreamFrame::TooLong(_) => (WireError::TooLong { limit: MAX_LINE as u64 }, &[][..]),
        };
        if agent_profile(AgentBinary::Amp).asks_for_login(line) {
            self.asks_for_login = true;
            return;
        }
        let mut diagnostic = LineDiagnostic::new(error, line);
        if self.governed {
            diagnostic.line = launch.hide_values(&diagnostic.line);
        }
        self.broken = self.strict;
        self.ready.push_back(if self.strict {
            Err(diagnostic.into())
        } else {
            Ok(StreamMessage::Diagnostic(diagnostic))
        });
    }
}

impl From<LineDiagnostic> for Error {
    fn from(diagnostic: LineDiagnostic) -> Self {
        let (message, details) = (diagnostic.error.to_string(), diagnostic.line);
        match diagnostic.error.kind() {
            "parse_error" => Self::Parse { message, details },
            _ => Self::InvalidMessage { message, cause: diagnostic.error.cause(), details },
        }
    }
}
