//! The machine behind the stream: start, read, decode, end.

use std::collections::VecDeque;
use std::time::Duration;

use amplihack_agent::framer::{Frame, Framer, MAX_LINE};
use amplihack_session::{AgentRun, Deadline, Deadlines, EndCause, Output, ProcessOutput, RunSpec};

use super::Facts;
use crate::error::{CliEnd, Error, Result, Wait};
use crate::launch::Launch;
use crate::options::Options;
use crate::overlay::Overlay;
use crate::plan::{Contents, warnings, words};
use crate::prompt::Prompt;
use crate::wire::{Diagnostic, StreamMessage, WireError};

type Item = Result<StreamMessage>;

/// One run, from its options to its end.
pub(super) struct Engine {
    stage: Stage,
    options: Options,
    lines: Lines,
    facts: Facts,
}

enum Stage {
    Waits(Prompt),
    Runs(Box<Running>),
    Over,
}

struct Running {
    run: AgentRun,
    launch: Launch,
}

/// From bytes to messages.
struct Lines {
    framer: Framer,
    ready: VecDeque<Item>,
    strict: bool,
    /// Values that must not be seen are in the way of diagnostics.
    governed: bool,
    /// The result came; what follows it does not count.
    over: bool,
    /// A line ended the stream.
    broken: bool,
}

impl Engine {
    pub(super) fn new(prompt: Prompt, options: Options) -> Self {
        let lines = Lines {
            framer: Framer::default(),
            ready: VecDeque::new(),
            strict: options.strict,
            governed: options.governed_authority.is_some(),
            over: false,
            broken: false,
        };
        Self { stage: Stage::Waits(prompt), options, lines, facts: Facts::default() }
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What was read and not taken yet.
    pub(super) fn ready(&mut self) -> Option<Item> {
        if amplihack_utils::sabotage::active("amp-as-they-come") && !matches!(self.stage, Stage::Over) {
            return None;
        }
        self.lines.ready.pop_front()
    }

    /// The next message; `None` when the run is over.
    pub(super) async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.ready() {
                return Some(item);
            }
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Over => return None,
                Stage::Waits(prompt) => match self.start(prompt).await {
                    Ok(running) => self.stage = Stage::Runs(Box::new(running)),
                    Err(error) => return Some(Err(error)),
                },
                Stage::Runs(running) => self.read(running).await,
            }
        }
    }

    /// Checks, writes private files, and starts the CLI.
    async fn start(&mut self, prompt: Prompt) -> Result<Running> {
        self.options.validate()?;
        prompt.validate()?;
        let launch = Launch::new(&self.options)?;
        let contents = Contents::new(&self.options, launch.env())?;
        self.facts.warnings = warnings(&self.options);
        for warning in &self.facts.warnings {
            tracing::warn!("{warning}");
        }
        let mut overlay = Overlay::default();
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
        let argv = words(&self.options, prompt.is_json(), settings, mcp);
        let (command, stdin) = launch.command(&argv, Some(prompt.into_bytes()))?;
        let spec = RunSpec {
            stdin,
            stdout: Output::Stream,
            stderr: match self.options.max_stderr_buffer_bytes {
                bytes if amplihack_utils::sabotage::active("amp-stderr-tail") => Output::Head(bytes),
                bytes => Output::Tail(bytes),
            },
            keep: Box::new(overlay),
            deadlines: self.deadlines(),
            grace: Duration::from_millis(self.options.transport_headless_timeout_ms),
            linger: Some(Duration::from_millis(self.options.linger_timeout_ms)),
            tag: if amplihack_utils::sabotage::active("amp-nothing-left") {
                String::new()
            } else {
                launch.tag()
            },
            ..RunSpec::new(command)
        };
        let run = AgentRun::start(spec).await.map_err(|error| launch.scrub(Error::from_run(error)))?;
        self.facts.pid = Some(run.pid());
        tracing::debug!(pid = run.pid(), "the Amp CLI runs");
        Ok(Running { run, launch })
    }

    fn deadlines(&self) -> Deadlines {
        Deadlines {
            startup: Some(Duration::from_millis(self.options.startup_timeout_ms)),
            idle: Some(Duration::from_millis(self.options.stream_timeout_ms))
                .filter(|_| !amplihack_utils::sabotage::active("amp-option-timeout")),
            total: self.options.run_deadline_ms.map(Duration::from_millis),
        }
    }

    /// Reads some more, or takes the end in.
    async fn read(&mut self, mut running: Box<Running>) {
        match running.run.chunk().await {
            Ok(Some(bytes)) => {
                let was_over = self.lines.over;
                self.lines.push(bytes, &running.launch);
                if self.lines.broken {
                    // Dropping the run kills it.
                    return;
                }
                if self.lines.over
                    && !was_over
                    && let Err(error) = running.run.expect_end()
                {
                    tracing::warn!(%error, "the Amp CLI cannot be watched after its result");
                    return;
                }
                self.stage = Stage::Runs(running);
            }
            Ok(None) => {
                let Running { run, launch } = *running;
                match run.finish() {
                    Ok(outcome) => self.finish(&outcome, &launch),
                    Err(error) => self.fail(launch.scrub(Error::from_run(error))),
                }
            }
            Err(error) => self.fail(running.launch.scrub(Error::from_run(error))),
        }
    }

    fn fail(&mut self, error: Error) {
        if !self.lines.over && !self.lines.broken && !amplihack_utils::sabotage::active("amp-end-at-error") {
            self.lines.ready.push_back(Err(error));
        }
    }

    /// Takes the end of the CLI in: without a result it is an error.
    fn finish(&mut self, outcome: &ProcessOutput, launch: &Launch) {
        self.lines.push(&outcome.stdout.bytes, launch);
        self.lines.finish(launch);
        let end = launch.end(outcome);
        self.facts.end = Some(end.clone());
        if !outcome.survivors.is_empty() {
            let left: Vec<String> = outcome.survivors.iter().map(ToString::to_string).collect();
            self.warn(format!("the CLI left processes that do not end: {}", left.join(", ")));
        }
        if let Some(bytes) = outcome.unread {
            self.warn(format!("the CLI ended with {bytes} bytes of the prompt unread"));
        }
        if !self.lines.over {
            let error = self.why(outcome, end);
            self.fail(launch.scrub(error));
        } else if outcome.cause == EndCause::Ended && !outcome.exit.success() {
            self.warn(format!("{} after the result", outcome.exit));
        }
    }

    fn warn(&mut self, warning: String) {
        tracing::warn!("{warning}");
        self.facts.warnings.push(warning);
    }

    fn why(&self, outcome: &ProcessOutput, end: CliEnd) -> Error {
        let after = Duration::from_millis;
        match outcome.cause {
            EndCause::Deadline(Deadline::Startup) => Error::StreamTimeout {
                wait: Wait::Startup,
                after: after(self.options.startup_timeout_ms),
                end: Box::new(end),
            },
            EndCause::Deadline(Deadline::Idle) => Error::StreamTimeout {
                wait: Wait::Idle,
                after: after(self.options.stream_timeout_ms),
                end: Box::new(end),
            },
            EndCause::Deadline(Deadline::Total) => Error::RunDeadline {
                after: after(self.options.run_deadline_ms.unwrap_or_default()),
                end: Box::new(end),
            },
            EndCause::Ended | EndCause::Lingered | EndCause::Interrupted(_) => Error::from_end(end),
        }
    }
}

impl Lines {
    fn push(&mut self, bytes: &[u8], launch: &Launch) {
        let mut framer = std::mem::take(&mut self.framer);
        framer.push(bytes, |frame| self.frame(frame, launch));
        self.framer = framer;
    }

    fn finish(&mut self, launch: &Launch) {
        let mut framer = std::mem::take(&mut self.framer);
        framer.finish(|frame| self.frame(frame, launch));
    }

    fn frame(&mut self, frame: Frame<'_>, launch: &Launch) {
        if self.over || self.broken {
            return;
        }
        let (error, line) = match frame {
            Frame::Line(line) if line.trim_ascii().is_empty() => return,
            Frame::Line(line) => match StreamMessage::from_line(line) {
                Ok(message) => {
                    self.over = message.is_final() && !amplihack_utils::sabotage::active("amp-end-at-result");
                    if matches!(message, StreamMessage::ErrorResult(_))
                        && amplihack_utils::sabotage::active("amp-failure-inline")
                    {
                        return self.ready.push_back(Err(Error::NoResult { end: Box::default() }));
                    }
                    return self.ready.push_back(Ok(message));
                }
                Err(error) => (error, line),
            },
            Frame::TooLong(_) => (WireError::TooLong { limit: MAX_LINE as u64 }, &[][..]),
        };
        let mut diagnostic = Diagnostic::new(error, line);
        if self.governed {
            diagnostic.line = launch.hide(&diagnostic.line);
        }
        self.broken = self.strict;
        self.ready.push_back(if self.strict {
            Err(diagnostic.into())
        } else {
            Ok(StreamMessage::Diagnostic(diagnostic))
        });
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        let (message, details) = (diagnostic.error.to_string(), diagnostic.line);
        match diagnostic.error.kind() {
            "parse_error" => Self::Parse { message, details },
            _ => Self::InvalidMessage { message, cause: diagnostic.error.cause(), details },
        }
    }
}
