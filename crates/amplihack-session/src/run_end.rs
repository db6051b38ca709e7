//! The end of a run: one type for launches, turns, steps, programs that use the SDK, and sessions on other machines.

use std::time::Duration;

use amplihack_agent::event::{EndEvent, FailKind, RunEndSummary, RunOutcome, UsageTotals};
use amplihack_sys::{ProcessExit, Signal};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::output::{CapturedOutput, DeadlineKind, EndCause, NamedProcess, ProcessOutput};

/// The end of a run, with what supports it.
///
/// Whoever knows more about the run wraps this value and, where the new knowledge changes the outcome, changes it here with its
/// evidence. No other type says how a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunEnd {
    /// Outcome, reason, and the agent's own facts.
    #[serde(flatten)]
    pub event: EndEvent,
    /// The ground that the outcome stands on.
    #[serde(default)]
    pub evidence: EndEvidence,
    /// The number of the signal to this process that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Tokens and money used.
    #[serde(default, alias = "used")]
    pub usage: UsageTotals,
    /// Processes that still ran although everything was done to end them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub survivors: Vec<NamedProcess>,
    /// Processes that ran on when the agent had ended, and were ended after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<NamedProcess>,
    /// Bytes of the prompt that the agent left unread; missing if it read all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread_prompt: Option<u64>,
    /// Tool calls that the guard denied.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "denials_schema"))]
    pub denials: GuardDenials,
    /// The tail of standard error. Not written down.
    #[serde(skip)]
    pub stderr: CapturedOutput,
}

/// The ground that an outcome stands on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndEvidence {
    /// The agent's record of its end, in its stream.
    Record,
    /// The exit of the process, and nothing else.
    Exit,
    /// A signal to this process.
    Signal,
    /// The clock.
    Clock,
    /// The usage as it was counted.
    Usage,
    /// Bytes of the prompt left in the pipe.
    Prompt,
    /// The guard's reports.
    Guard,
    /// A verification command.
    Verification,
    /// The agent's word alone.
    Claim,
    /// An exit file that a runner on the machine of the session wrote.
    ExitFile,
    /// Nothing: the run did not start, or its end was not seen.
    #[default]
    Nothing,
}

/// Tool calls that the guard denied, or the fact that nobody knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum GuardDenials {
    /// The rules behind the denied calls, in their order.
    Known(Vec<String>),
    /// There was no guard, or its reports did not arrive. Not the same as none.
    #[default]
    Unknown,
}

impl GuardDenials {
    /// The rules behind the denied calls; empty if they are unknown.
    pub fn denied_rules(&self) -> &[String] {
        match self {
            Self::Known(rules) => rules,
            Self::Unknown => &[],
        }
    }
}

/// An array of rules, or the word `unknown`.
impl Serialize for GuardDenials {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(rules) => rules.serialize(serializer),
            Self::Unknown => serializer.serialize_str("unknown"),
        }
    }
}

impl<'de> Deserialize<'de> for GuardDenials {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Anything but a list of rules is no knowledge of them.
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(serde_json::from_value(value).map_or(Self::Unknown, Self::Known))
    }
}

#[cfg(feature = "schema")]
fn denials_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let rules = generator.subschema_for::<Vec<String>>();
    schemars::json_schema!({ "anyOf": [rules, { "const": "unknown" }] })
}

impl RunEnd {
    /// An end of which only the event is known.
    pub fn new(event: EndEvent, evidence: EndEvidence) -> Self {
        Self {
            event,
            evidence,
            signal: None,
            usage: UsageTotals::default(),
            survivors: Vec::new(),
            background: Vec::new(),
            unread_prompt: None,
            denials: GuardDenials::Unknown,
            stderr: CapturedOutput::default(),
        }
    }

    /// An end that is neither a success nor a failure of the agent, with a reason for people.
    pub fn from_outcome(outcome: RunOutcome, reason: impl Into<String>, evidence: EndEvidence) -> Self {
        Self::new(EndEvent::with_outcome(outcome, reason, RunEndSummary::default()), evidence)
    }

    /// A failure of `kind`, of a run that was not started or not watched.
    pub fn from_failure(kind: FailKind, reason: impl Into<String>) -> Self {
        Self::new(EndEvent::bare_failure(kind, reason), EndEvidence::Nothing)
    }

    /// The end of a program of ours on another machine, of which only the exit code was written down.
    pub fn from_exit_file(code: i32) -> Self {
        let outcome = RunOutcome::of_code(code);
        let mut end = match outcome {
            RunOutcome::Success => {
                Self::new(EndEvent::of_success(RunEndSummary::default()), EndEvidence::ExitFile)
            }
            RunOutcome::Failed => {
                let event =
                    EndEvent::bare_failure(FailKind::Exit, format!("the session ended with code {code}"));
                Self::new(event, EndEvidence::ExitFile)
            }
            other => Self::from_outcome(other, other.meaning(), EndEvidence::ExitFile),
        };
        end.event.summary.exit = Some(ProcessExit::Code(code));
        end
    }

    /// The end of a process of which only the exit is known.
    pub fn from_exit(exit: ProcessExit) -> Self {
        let event = if exit.is_success() {
            EndEvent::of_success(RunEndSummary::default())
        } else {
            EndEvent::bare_failure(FailKind::Exit, format!("the agent ended with {exit}"))
        };
        let mut end = Self::new(event, EndEvidence::Exit);
        end.event.summary.exit = Some(exit);
        end
    }

    /// The end of a process whose stream the caller reads. Its outputs are not in it.
    pub fn from_output(output: &ProcessOutput) -> Self {
        let event = Self::from_exit(output.exit).event;
        let mut end = Self::with_output(event, EndEvidence::Exit, output);
        end.survivors.clone_from(&output.survivors);
        end.background.clone_from(&output.background);
        end
    }

    /// The end of a process whose output passed through: its exit is all that is known.
    pub(crate) fn from_process(output: &mut ProcessOutput) -> Self {
        let event = Self::from_exit(output.exit).event;
        Self::from_stream(event, EndEvidence::Exit, output)
    }

    /// The end of a process whose stream supports `event`. What was done to the process comes first.
    pub(crate) fn from_stream(event: EndEvent, evidence: EndEvidence, output: &mut ProcessOutput) -> Self {
        let mut end = Self::with_output(event, evidence, output);
        if matches!(output.cause, EndCause::Ended | EndCause::Lingered) {
            end.with_stderr(&output.stderr);
        }
        end.survivors = std::mem::take(&mut output.survivors);
        end.background = std::mem::take(&mut output.background);
        end.stderr = std::mem::take(&mut output.stderr);
        end
    }

    fn with_output(event: EndEvent, evidence: EndEvidence, output: &ProcessOutput) -> Self {
        let mut end = Self::new(event, evidence);
        end.event.summary.exit = Some(output.exit);
        match output.cause {
            EndCause::Ended | EndCause::Lingered | EndCause::Unguarded => {}
            EndCause::Interrupted(signal) => {
                end.signal = Some(signal.as_raw());
                end.settle_outcome(
                    RunOutcome::Interrupted,
                    format!("ended on signal {}", signal.as_raw()),
                    EndEvidence::Signal,
                );
            }
            EndCause::Deadline(DeadlineKind::Idle) => {
                let reason = format!("ended after {} without output", limit_text(output.limit));
                end.settle_outcome(RunOutcome::Stalled, reason, EndEvidence::Clock);
            }
            EndCause::Deadline(DeadlineKind::Startup) => {
                let reason = format!("ended after {} without any output", limit_text(output.limit));
                end.event.become_failure(FailKind::Startup, reason);
                end.evidence = EndEvidence::Clock;
            }
            EndCause::Deadline(DeadlineKind::Total) => {
                let reason = format!("ended after {}, its time limit", limit_text(output.limit));
                end.settle_outcome(RunOutcome::Budget, reason, EndEvidence::Clock);
            }
        }
        if output.cause == EndCause::Unguarded {
            let reason = "ended because a tool call had no verdict of the guard";
            end.settle_outcome(RunOutcome::Unguarded, reason, EndEvidence::Guard);
        }
        end.unread_prompt = output.unread;
        if let (true, Some(unread)) = (end.is_success(), output.unread) {
            let reason = format!("the agent ended with {unread} bytes of the prompt unread");
            end.event.become_failure(FailKind::PromptUnread, reason);
            end.evidence = EndEvidence::Prompt;
        }
        end
    }

    /// Completes the reason of a failure without a record by the agent's last line on standard error.
    fn with_stderr(&mut self, stderr: &CapturedOutput) {
        if !matches!(self.event.kind, Some(FailKind::Exit | FailKind::NoResult)) {
            return;
        }
        let stderr = String::from_utf8_lossy(&stderr.bytes);
        if let Some(line) = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
            let line: String = line.chars().take(500).collect();
            self.event.message = Some(format!("{}: {line}", self.event.reason()));
        }
    }

    /// Changes the outcome, by whoever looked.
    pub fn settle_outcome(&mut self, outcome: RunOutcome, reason: impl Into<String>, evidence: EndEvidence) {
        self.event.become_outcome(outcome, reason);
        self.evidence = evidence;
    }

    /// Holds a success to a guard that denied nothing: a denied call makes it `denied`, unknown denials make it `unguarded`.
    pub fn hold_to_denials(&mut self) {
        if !self.is_success() {
            return;
        }
        match &self.denials {
            GuardDenials::Known(rules) if rules.is_empty() => {}
            GuardDenials::Known(rules) => {
                let reason = format!("the policy denied {}", rules.join(", "));
                self.settle_outcome(RunOutcome::Denied, reason, EndEvidence::Guard);
            }
            GuardDenials::Unknown => {
                let reason = "it is unknown whether a call was denied: the guard sent no report";
                self.settle_outcome(RunOutcome::Unguarded, reason, EndEvidence::Nothing);
            }
        }
    }

    /// The outcome.
    pub const fn outcome(&self) -> RunOutcome {
        self.event.outcome
    }

    /// The outcome's word, as in JSON.
    pub const fn name(&self) -> &'static str {
        self.event.name()
    }

    /// Reports whether the run was a success.
    pub const fn is_success(&self) -> bool {
        self.event.is_success()
    }

    /// The reason for people.
    pub fn reason(&self) -> &str {
        self.event.reason()
    }

    /// The exit of the process, if there was one.
    pub const fn exit(&self) -> Option<ProcessExit> {
        self.event.summary.exit
    }

    /// The exit code that this process passes on.
    ///
    /// 128 and the signal after a signal to this process, *whatever the agent said*: agents return 0 after Ctrl-C. A failure has
    /// the agent's own code where that is not 0. Everything else has the code of the table.
    pub fn code(&self) -> u8 {
        let own = self.exit().map_or(0, ProcessExit::code);
        let code = match (self.signal, self.outcome()) {
            (Some(signal), RunOutcome::Interrupted) => 128 + signal,
            // Deadlines for the first output and for silence.
            (_, RunOutcome::Failed | RunOutcome::Stalled) if self.evidence == EndEvidence::Clock => {
                i32::from(RunOutcome::Deadline.code())
            }
            // The agent waited for a login, and was ended: its exit is not its own.
            (None, RunOutcome::Failed)
                if self.event.kind == Some(FailKind::Auth)
                    && matches!(self.exit(), Some(ProcessExit::Signal(_))) =>
            {
                i32::from(RunOutcome::Failed.code())
            }
            (_, RunOutcome::Failed | RunOutcome::Interrupted) if own != 0 => own,
            (None, RunOutcome::Interrupted) => 128 + Signal::INT.as_raw(),
            (_, outcome) => i32::from(outcome.code()),
        };
        u8::try_from(code).unwrap_or(RunOutcome::Failed.code())
    }
}

/// A time limit for people: `5 s`, `90 s`, `20 min`.
fn limit_text(limit: Option<Duration>) -> String {
    limit.map_or_else(|| "its time limit".to_owned(), describe_duration)
}

/// A duration for people, exact: `250 ms`, `5 s`, `1.5 s`, `20 min`, `2 h`. What is no whole number of minutes is in seconds.
pub fn describe_duration(duration: Duration) -> String {
    let (seconds, rest) = (duration.as_secs(), duration.subsec_nanos());
    match (seconds, rest) {
        (0, 1..1_000_000) => format!("{} µs", f64::from(rest) / 1e3),
        (0, _) => format!("{} ms", f64::from(rest) / 1e6),
        (_, 1..) => format!("{} s", duration.as_secs_f64()),
        _ if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        _ if seconds % 60 == 0 && seconds > 60 => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(exit: ProcessExit, cause: EndCause, unread: Option<u64>) -> ProcessOutput {
        ProcessOutput {
            exit,
            cause,
            limit: Some(Duration::from_secs(5)),
            background: Vec::new(),
            survivors: Vec::new(),
            stdout: CapturedOutput::default(),
            stderr: CapturedOutput::default(),
            unread,
        }
    }

    #[test]
    fn a_run_that_a_deadline_ended_says_which() {
        let reason = |kind| {
            RunEnd::from_process(&mut output(ProcessExit::Code(0), EndCause::Deadline(kind), None))
                .reason()
                .to_owned()
        };
        assert_eq!(reason(DeadlineKind::Total), "ended after 5 s, its time limit");
        assert_eq!(reason(DeadlineKind::Idle), "ended after 5 s without output");
        assert_eq!(reason(DeadlineKind::Startup), "ended after 5 s without any output");
    }

    #[test]
    fn durations_are_exact() {
        for (milliseconds, text) in [
            (250, "250 ms"),
            (1500, "1.5 s"),
            (5000, "5 s"),
            (60_000, "60 s"),
            (90_000, "90 s"),
            (1_200_000, "20 min"),
            (7_200_000, "2 h"),
        ] {
            assert_eq!(describe_duration(Duration::from_millis(milliseconds)), text);
        }
    }

    #[test]
    fn what_was_done_to_a_process_comes_before_its_word_and_an_unread_prompt_before_success() {
        let deadline = |which| EndCause::Deadline(which);
        let table = [
            (ProcessExit::Code(0), EndCause::Ended, None, "success", 0),
            (ProcessExit::Code(0), EndCause::Ended, Some(7), "prompt_unread", 1),
            (ProcessExit::Code(7), EndCause::Ended, Some(7), "failed", 7),
            (ProcessExit::Signal(11), EndCause::Ended, None, "failed", 139),
            (ProcessExit::Code(0), EndCause::Interrupted(Signal::INT), None, "interrupted", 130),
            (ProcessExit::Signal(9), EndCause::Interrupted(Signal::TERM), Some(1), "interrupted", 143),
            (ProcessExit::Code(0), deadline(DeadlineKind::Idle), None, "stalled", 5),
            (ProcessExit::Code(0), deadline(DeadlineKind::Total), None, "budget", 5),
            (ProcessExit::Signal(15), deadline(DeadlineKind::Startup), None, "failed", 5),
        ];
        for (exit, cause, unread, name, code) in table {
            let end = RunEnd::from_process(&mut output(exit, cause, unread));
            assert_eq!(
                (end.name(), end.code(), end.unread_prompt),
                (name, code, unread),
                "{exit:?} {cause:?}"
            );
        }
    }

    #[test]
    fn a_success_is_held_to_its_denials_and_unknown_is_not_none() {
        let table = [
            (GuardDenials::Known(Vec::new()), "success", 0),
            (GuardDenials::Known(vec!["pack/rule".to_owned()]), "denied", 4),
            (GuardDenials::Unknown, "unguarded", 4),
        ];
        for (denials, name, code) in table {
            let mut end = RunEnd::from_process(&mut output(ProcessExit::Code(0), EndCause::Ended, None));
            end.denials = denials.clone();
            end.hold_to_denials();
            assert_eq!((end.name(), end.code()), (name, code), "{denials:?}");
            let back: RunEnd = serde_json::from_value(serde_json::to_value(&end).unwrap()).unwrap();
            assert_eq!(back.denials, denials);
        }
    }

    #[test]
    fn an_end_comes_back_as_it_was_written_and_older_ones_are_read() {
        let mut end = RunEnd::from_outcome(RunOutcome::Interrupted, "x", EndEvidence::Signal);
        end.signal = Some(2);
        end.event.summary.agent_session = Some("a".into());
        let text = serde_json::to_string(&end).unwrap();
        assert_eq!(serde_json::from_str::<RunEnd>(&text).unwrap(), end);
        let old: RunEnd =
            serde_json::from_str(r#"{"end":"failed","kind":"auth","message":"m","session":"s"}"#).unwrap();
        assert_eq!(
            (old.event.summary.agent_session.as_deref(), &old.denials),
            (Some("s"), &GuardDenials::Unknown)
        );
    }

    #[test]
    fn an_exit_file_says_as_much_as_its_code() {
        for (code, name) in
            [(0, "success"), (1, "failed"), (4, "denied"), (5, "budget"), (143, "interrupted")]
        {
            let end = RunEnd::from_exit_file(code);
            assert_eq!((end.name(), i32::from(end.code())), (name, code));
        }
    }
}
