//! Decisions of an unattended run: a state machine without processes, files or clocks.
//!
//! A run is a series of turns of one agent: clarify, plan, execute, and adjust until what was done passes its verification; a task
//! of one line begins with the work itself. An agent's word is a claim. Only a verification makes it an end, and each end but those
//! that a person or the guard makes is verified.

use amplihack_agent::event::{EndEvent, FailKind, RunEndSummary, RunOutcome};
use amplihack_hooks::continuation::{
    Continuation, ContinuationCount, ContinuationLock, ContinuationStep, StopSignal,
};
use amplihack_session::{EndEvidence, GuardDenials, RunEnd};
use serde::{Deserialize, Serialize};

use crate::claim::{AgentClaim, ClaimStatus};

/// Purpose of a turn: what the agent is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    /// Read the task and say what it asks for.
    Clarify,
    /// Say how it will be done.
    Plan,
    /// Do it.
    Execute,
    /// Do the rest of it.
    GoOn,
    /// Mend what the verification found.
    Adjust,
}

/// A run's bounds, as far as they are about turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRules {
    /// The agent is asked at most so often.
    pub max_turns: u32,
    /// There is another agent to go on with.
    pub fallback: bool,
    /// A denied call ends the run.
    pub end_on_denial: bool,
    /// There are commands that can show that it is done.
    pub has_checks: bool,
    /// The first turn is for the work itself.
    pub direct: bool,
}

/// Change of the files in a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnFiles {
    /// The files are other than before the turn.
    Changed,
    /// The files are as before the turn.
    Unchanged,
    /// Nobody knows: there is no repository.
    #[default]
    Unknown,
}

/// A turn that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "AnswerForm")]
pub struct TurnAnswer {
    /// The end of its launch. The agent's text is not in it.
    pub run: Box<RunEnd>,
    /// The run ended the turn with its work kept, because the agent went on and on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The agent's word about its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<AgentClaim>,
    /// True if the agent said or did anything at all.
    pub alive: bool,
    /// True if the turn was to continue a session of the agent.
    pub resumed: bool,
    /// Calls that were denied, by the guard or by the agent itself.
    pub denials: u32,
}

/// An answer as a journal has it: this version's form, or that of 0.18.0, which named the turn's end in `turn_end`.
#[derive(Deserialize)]
struct AnswerForm {
    #[serde(default)]
    run: Option<RunEnd>,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    claim: Option<AgentClaim>,
    alive: bool,
    resumed: bool,
    denials: u32,
    #[serde(default)]
    turn_end: Option<String>,
    #[serde(default)]
    kind: Option<FailKind>,
    #[serde(default)]
    message: String,
}

impl From<AnswerForm> for TurnAnswer {
    fn from(form: AnswerForm) -> Self {
        let AnswerForm { run, cut, claim, alive, resumed, denials, turn_end, kind, message } = form;
        let word = turn_end.as_deref();
        let older = || match word {
            Some("answered") => {
                RunEnd::new(EndEvent::of_success(RunEndSummary::default()), EndEvidence::Record)
            }
            Some("cut") => RunEnd::from_outcome(RunOutcome::Interrupted, "cut", EndEvidence::Nothing),
            Some("denied") => RunEnd::from_outcome(RunOutcome::Denied, message, EndEvidence::Record),
            Some("stalled") => RunEnd::from_outcome(RunOutcome::Stalled, message, EndEvidence::Record),
            _ => RunEnd::from_failure(kind.unwrap_or(FailKind::Agent), message),
        };
        Self {
            run: Box::new(run.unwrap_or_else(older)),
            cut: cut || word == Some("cut"),
            claim,
            alive,
            resumed,
            denials,
        }
    }
}

impl TurnAnswer {
    /// Reports whether the agent answered and was not cut off.
    pub const fn is_whole(&self) -> bool {
        !self.cut && self.run.is_success()
    }
}

/// Result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationResult {
    /// A command showed that it is done, and nothing speaks against it.
    Passed,
    /// Nothing speaks against it, and no command was there to show it.
    Unproved,
    /// No command speaks against it, but a change was asked for and no file changed.
    Unchanged,
    /// The work is not done.
    Refuted,
}

/// Cause for which a run is stopped from outside of its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStopCause {
    /// Tokens or money.
    Budget,
    /// Time.
    Deadline,
    /// A signal, or a race that another has won.
    Interrupted,
    /// Something that the run needs does not work.
    Failed,
}

/// An input of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub enum TurnInput {
    /// Begin.
    Begin,
    /// A turn has ended.
    Answered {
        /// Answer of the turn.
        answer: TurnAnswer,
        /// Change of the files.
        files: TurnFiles,
    },
    /// A verification has ended.
    Checked {
        /// Result of the verification.
        outcome: VerificationResult,
        /// True if files differ from the beginning of the run; `None` outside a repository.
        changed: Option<bool>,
        /// The check that refutes the work refuted it before, on the same files.
        repeated: bool,
    },
    /// The run is stopped.
    Stopped {
        /// Cause of the stop.
        why: RunStopCause,
    },
}

/// Next act of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOutput {
    /// Ask the agent.
    Ask(NextTurn),
    /// Check the agent's claim.
    Verify,
    /// Nothing more: the run is over.
    End {
        /// The outcome.
        end: RunOutcome,
        /// Reason, for a person.
        reason: String,
    },
}

/// A turn to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextTurn {
    /// Number of the turn, from 1; used again for one whose session could not be continued.
    pub turn: u32,
    /// Purpose of the turn.
    pub phase: TurnPhase,
    /// In a new session of the agent, with what is known carried in the prompt.
    pub fresh: bool,
    /// By the other agent, from here on.
    pub fall_back: bool,
}

/// The machine. Feed it with [`step`](Self::step); the same inputs give the same outputs.
#[derive(Debug, Clone)]
pub struct Turns {
    rules: TurnRules,
    turn: u32,
    phase: TurnPhase,
    failures: u32,
    fell_back: bool,
    lost_session: bool,
    /// True if every check passed before the first turn; `None` if that is not known.
    green_before: Option<bool>,
    /// Something was done since the last verification.
    worked: bool,
    /// The last verification refuted the work.
    refuted: bool,
    /// The agent reported no status with what is being verified.
    unclaimed: bool,
    /// The agent reported that no change was asked for.
    no_change_asked: bool,
    /// A claim without a change was sent back once.
    sent_back: bool,
    /// Turns in a row in which calls were denied and no file changed.
    denied_in_vain: u32,
    /// The end that holds unless the verification passes.
    pending: Option<(RunOutcome, String)>,
    /// The end that a verification turned into a success.
    limit: Option<RunOutcome>,
    /// A claim waits for its verification.
    verifying: bool,
    ended: Option<(RunOutcome, String)>,
}

impl Turns {
    /// A run that has not begun.
    pub const fn new(rules: TurnRules) -> Self {
        Self {
            rules,
            turn: 0,
            phase: first_phase(rules),
            failures: 0,
            fell_back: false,
            lost_session: false,
            green_before: None,
            worked: false,
            refuted: false,
            unclaimed: false,
            no_change_asked: false,
            sent_back: false,
            denied_in_vain: 0,
            pending: None,
            limit: None,
            verifying: false,
            ended: None,
        }
    }

    /// Takes in whether every check passed before the first turn.
    pub const fn set_baseline(&mut self, green: bool) {
        self.green_before = Some(green);
    }

    /// Takes in that the checks are others now: what those before showed says nothing of these.
    pub const fn forget_baseline(&mut self) {
        self.green_before = None;
    }

    /// Takes in rules whose turns count from the beginning of the run.
    pub const fn set_rules(&mut self, rules: TurnRules) {
        self.rules = rules;
    }

    /// Takes in that a turn was broken off after its beginning.
    pub const fn set_worked(&mut self) {
        self.worked = true;
    }

    /// The limit, or other end, at which a verification found the work done.
    pub const fn limit(&self) -> Option<RunOutcome> {
        self.limit
    }

    /// The number of the turn that was asked for last.
    pub const fn turn(&self) -> u32 {
        self.turn
    }

    /// Takes one input, and says what to do. Once it has said [`TurnOutput::End`], it says nothing else.
    #[must_use]
    pub fn step(&mut self, input: TurnInput) -> TurnOutput {
        if let Some((end, reason)) = &self.ended {
            return TurnOutput::End { end: *end, reason: reason.clone() };
        }
        let is_stop = matches!(input, TurnInput::Stopped { .. });
        let output = self.take_input(input);
        if !is_stop {
            self.verifying = output == TurnOutput::Verify;
        }
        output
    }

    /// The agent is asked at most so often.
    pub const fn max_turns(&self) -> u32 {
        self.rules.max_turns
    }

    /// Continues a run after its end, in which `made` turns were begun, by `rules` whose turns count from here: what was to be done
    /// next is done. A run that was done stays so.
    ///
    /// `None` if it has not ended: then only the rules are new.
    #[must_use]
    pub fn resume_run(&mut self, rules: TurnRules, made: u32) -> Option<TurnOutput> {
        if let Some((end, reason)) = self.ended.as_ref().filter(|(end, _)| end.is_success()) {
            return Some(TurnOutput::End { end: *end, reason: reason.clone() });
        }
        if self.ended.is_some() {
            // One that was to be made when the run was stopped is made now.
            self.turn = made;
        }
        // A turn that is in flight is one of the new ones.
        let made =
            if self.ended.is_some() || self.verifying { self.turn } else { self.turn.saturating_sub(1) };
        self.rules = TurnRules { max_turns: made.saturating_add(rules.max_turns), ..rules };
        self.ended.take()?;
        self.failures = 0;
        self.lost_session = false;
        self.refuted = false;
        self.sent_back = false;
        self.denied_in_vain = 0;
        self.limit = None;
        // A check at an end that nobody claimed shows less than one of a claim: the work continues instead.
        let is_claimed = self.pending.take().is_none();
        if self.verifying && is_claimed {
            return Some(TurnOutput::Verify);
        }
        Some(self.ask_next(self.phase, false, false))
    }

    fn take_input(&mut self, input: TurnInput) -> TurnOutput {
        match input {
            TurnInput::Begin => self.ask_next(self.phase, false, false),
            TurnInput::Answered { answer, files } => {
                self.worked = true;
                self.decide_after_answer(answer, files)
            }
            TurnInput::Checked { outcome, changed, repeated } => {
                self.decide_after_check(outcome, changed, repeated)
            }
            TurnInput::Stopped { why } => match why {
                RunStopCause::Budget => self.conclude_run(RunOutcome::Budget, "the budget is used up"),
                RunStopCause::Deadline => self.conclude_run(RunOutcome::Deadline, "the deadline has passed"),
                RunStopCause::Interrupted => {
                    self.end_run(RunOutcome::Interrupted, "the run was ended from outside")
                }
                // The verification itself cannot be made, so there is nothing to wait for.
                RunStopCause::Failed if self.verifying || self.pending.is_some() => {
                    self.end_run(RunOutcome::Failed, "the verification failed")
                }
                RunStopCause::Failed => {
                    self.conclude_run(RunOutcome::Failed, "an internal operation of the run failed")
                }
            },
        }
    }

    fn decide_after_answer(&mut self, answer: TurnAnswer, files: TurnFiles) -> TurnOutput {
        let TurnAnswer { run, cut, claim, alive, resumed, denials } = answer;
        if self.rules.end_on_denial && denials > 0 {
            return self.end_run(RunOutcome::Denied, "a call was denied");
        }
        if self.rules.end_on_denial && run.denials == GuardDenials::Unknown {
            let reason = "it is unknown whether a call was denied: the guard sent no report";
            return self.end_run(RunOutcome::Unguarded, reason);
        }
        if cut {
            return self.ask_next(next_phase(self.phase), false, false);
        }
        if let Some(kind) = run.event.kind {
            return self.decide_after_failure(kind, run.reason().to_owned(), resumed && !alive);
        }
        if !run.is_success() {
            return self.conclude_run(run.outcome(), run.reason());
        }
        self.failures = 0;
        let in_vain = denials > 0 && files == TurnFiles::Unchanged && is_work(self.phase);
        self.denied_in_vain = if in_vain { self.denied_in_vain + 1 } else { 0 };
        self.unclaimed = claim.is_none();
        self.no_change_asked = claim.as_ref().and_then(|claim| claim.changes) == Some(false);
        match claim.map(|claim| claim.status) {
            Some(ClaimStatus::Done) => TurnOutput::Verify,
            Some(ClaimStatus::Blocked) if denials > 0 => self
                .conclude_run(RunOutcome::Denied, "the agent cannot continue, and calls of it were denied"),
            Some(ClaimStatus::Blocked) => {
                self.conclude_run(RunOutcome::Failed, "the agent reports that it cannot continue")
            }
            // A check that passed before would pass in the middle of the work, too.
            None if self.rules.has_checks
                && files == TurnFiles::Changed
                && self.green_before != Some(true) =>
            {
                TurnOutput::Verify
            }
            // Nothing was done about what the check found.
            None if self.rules.has_checks && self.refuted && files == TurnFiles::Unchanged => {
                TurnOutput::Verify
            }
            Some(ClaimStatus::Working) | None if self.denied_in_vain > 1 => self.conclude_run(
                RunOutcome::Stalled,
                "calls were denied in two turns in a row, and no file changed in them",
            ),
            Some(ClaimStatus::Working) | None => self.ask_next(next_phase(self.phase), false, false),
        }
    }

    fn decide_after_check(
        &mut self,
        outcome: VerificationResult,
        changed: Option<bool>,
        repeated: bool,
    ) -> TurnOutput {
        self.worked = false;
        self.refuted = outcome == VerificationResult::Refuted;
        if let Some((end, reason)) = self.pending.take() {
            // Nobody claims to be done: the work, or a check that turned, has to show it.
            let turned = self.green_before == Some(false) || changed == Some(true);
            if outcome != VerificationResult::Passed || !turned {
                return self.end_run(end, reason);
            }
            self.limit = Some(end);
            return self.end_run(RunOutcome::Verified, format!("the check passed at the end: {reason}"));
        }
        match outcome {
            VerificationResult::Passed if self.unclaimed => {
                self.end_run(RunOutcome::Verified, "the check passed; the agent reported no status")
            }
            VerificationResult::Passed => self.end_run(RunOutcome::Verified, "the check passed"),
            VerificationResult::Unproved if self.no_change_asked && changed == Some(false) => self.end_run(
                RunOutcome::Claimed,
                "the agent reports that it is done and that no change was asked for; nothing changed, and no command was \
                 given to show it",
            ),
            VerificationResult::Unproved => self.end_run(
                RunOutcome::Claimed,
                "the agent reports that it is done, and no command was given to show it",
            ),
            VerificationResult::Unchanged if self.sent_back || self.turn >= self.rules.max_turns => self.end_run(
                RunOutcome::NothingDone,
                "the agent reports that it is done, a change was asked for, and no file changed",
            ),
            VerificationResult::Unchanged => {
                self.sent_back = true;
                self.ask_next(TurnPhase::Adjust, false, false)
            }
            VerificationResult::Refuted if repeated => self.end_run(
                RunOutcome::Stalled,
                "the same check failed twice, and no file changed in between",
            ),
            VerificationResult::Refuted if self.unclaimed && !is_work(self.phase) => {
                self.ask_next(next_phase(self.phase), false, false)
            }
            VerificationResult::Refuted => self.ask_next(TurnPhase::Adjust, false, false),
        }
    }

    fn decide_after_failure(&mut self, kind: FailKind, message: String, session_gone: bool) -> TurnOutput {
        if matches!(kind, FailKind::Auth | FailKind::Quota | FailKind::RateLimit) {
            if self.rules.fallback && !self.fell_back {
                self.fell_back = true;
                self.failures = 0;
                return self.ask_next(self.phase, true, true);
            }
            return self.conclude_run(kind.outcome(), message);
        }
        // A session that cannot be gone on with costs nothing: it is left behind once.
        if session_gone && !self.lost_session {
            self.lost_session = true;
            return TurnOutput::Ask(NextTurn {
                turn: self.turn,
                phase: self.phase,
                fresh: true,
                fall_back: false,
            });
        }
        self.failures += 1;
        if self.failures > 1 {
            return self.conclude_run(kind.outcome(), message);
        }
        self.ask_next(self.phase, kind == FailKind::ContextLength, false)
    }

    /// Asks, if the rules of going on let the run go on: those that hold an agent's stop.
    fn ask_next(&mut self, phase: TurnPhase, fresh: bool, fall_back: bool) -> TurnOutput {
        let rules = Continuation { max_iterations: u64::from(self.rules.max_turns), ttl_seconds: u64::MAX };
        let held = self.turn > 0
            && matches!(
                rules.decide_stop(&StopSignal {
                    session: "auto",
                    stop_active: false,
                    lock: Some(ContinuationLock { session: Some("auto".to_owned()), locked_at: None }),
                    count: ContinuationCount::Times(u64::from(self.turn) - 1),
                    prompt: None,
                    goal: None,
                    now: 0,
                }),
                ContinuationStep::Stop { .. }
            );
        if held {
            // What a run that continues begins with.
            self.phase = phase;
            return self.conclude_run(RunOutcome::MaxTurns, format!("not done after {} turns", self.turn));
        }
        self.turn += 1;
        self.phase = phase;
        TurnOutput::Ask(NextTurn { turn: self.turn, phase, fresh, fall_back })
    }

    /// Ends, unless a verification shows that the work is done.
    fn conclude_run(&mut self, end: RunOutcome, reason: impl Into<String>) -> TurnOutput {
        if let Some((end, reason)) = self.pending.take() {
            return self.end_run(end, reason);
        }
        let judged = matches!(end, RunOutcome::Unguarded | RunOutcome::Interrupted);
        if judged || !self.rules.has_checks || !self.worked {
            return self.end_run(end, reason);
        }
        self.pending = Some((end, reason.into()));
        TurnOutput::Verify
    }

    fn end_run(&mut self, end: RunOutcome, reason: impl Into<String>) -> TurnOutput {
        let reason = reason.into();
        self.ended = Some((end, reason.clone()));
        TurnOutput::End { end, reason }
    }
}

/// Phase in which a run begins: it must come to doing the task.
const fn first_phase(rules: TurnRules) -> TurnPhase {
    match rules.max_turns {
        0 | 1 => TurnPhase::Execute,
        _ if rules.direct => TurnPhase::Execute,
        2 => TurnPhase::Plan,
        _ => TurnPhase::Clarify,
    }
}

/// Reports whether files are to be changed in a turn for `phase`.
const fn is_work(phase: TurnPhase) -> bool {
    matches!(phase, TurnPhase::Execute | TurnPhase::GoOn | TurnPhase::Adjust)
}

/// Phase that follows an answer that claims nothing.
const fn next_phase(phase: TurnPhase) -> TurnPhase {
    match phase {
        TurnPhase::Clarify => TurnPhase::Plan,
        TurnPhase::Plan => TurnPhase::Execute,
        TurnPhase::Execute | TurnPhase::GoOn | TurnPhase::Adjust => TurnPhase::GoOn,
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
