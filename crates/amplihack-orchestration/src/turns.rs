//! What an unattended run does next: a state machine without processes, files or clocks.
//!
//! A run is a series of turns of one agent: clarify, plan, execute, and adjust until what was done passes its verification.
//! An agent's word is a claim. Only a verification makes it an end.

use amplihack_agent::event::{EndEvent, FailKind, RunOutcome, Summary};
use amplihack_hooks::continuation::{Continuation, Count, Lock, Step, StopSignal};
use amplihack_session::{Denials, Evidence, RunEnd};
use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Status};

/// What the agent is asked for in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
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
pub struct Rules {
    /// The agent is asked at most so often.
    pub max_turns: u32,
    /// There is another agent to go on with.
    pub fallback: bool,
    /// A denied call ends the run.
    pub end_on_denial: bool,
}

/// A turn that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "AnswerForm")]
pub struct Answer {
    /// The end of its launch. The agent's text is not in it.
    pub run: Box<RunEnd>,
    /// The run ended the turn with its work kept, because the agent went on and on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The agent's word about its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Whether the agent said or did anything at all.
    pub alive: bool,
    /// Whether the turn was to go on with a session of the agent.
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
    claim: Option<Claim>,
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

impl From<AnswerForm> for Answer {
    fn from(form: AnswerForm) -> Self {
        let AnswerForm { run, cut, claim, alive, resumed, denials, turn_end, kind, message } = form;
        let word = turn_end.as_deref();
        let older = || match word {
            Some("answered") => RunEnd::new(EndEvent::success(Summary::default()), Evidence::Record),
            Some("cut") => RunEnd::of(RunOutcome::Interrupted, "cut", Evidence::Nothing),
            Some("denied") => RunEnd::of(RunOutcome::Denied, message, Evidence::Record),
            Some("stalled") => RunEnd::of(RunOutcome::Stalled, message, Evidence::Record),
            _ => RunEnd::failed(kind.unwrap_or(FailKind::Agent), message),
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

impl Answer {
    /// Whether the agent answered and was not cut off.
    pub const fn is_whole(&self) -> bool {
        !self.cut && self.run.is_success()
    }
}

/// What the verification showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// A command showed that it is done, and nothing speaks against it.
    Passed,
    /// Nothing speaks against it, and no command was there to show it.
    Unproved,
    /// It is not done.
    Refuted,
}

/// Why a run is stopped from outside of its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
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
    /// A turn is over.
    Answered(Answer),
    /// A verification is over.
    Checked {
        /// What it showed.
        outcome: Checked,
    },
    /// The run is stopped.
    Stopped {
        /// Why.
        why: Stop,
    },
}

/// What a run does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOutput {
    /// Ask the agent.
    Ask(Ask),
    /// Check the agent's claim.
    Verify,
    /// Nothing more: the run is over.
    End {
        /// The outcome.
        end: RunOutcome,
        /// Why, for a person.
        reason: String,
    },
}

/// A turn to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Its number, from 1; the same again for one whose session could not be gone on with.
    pub turn: u32,
    /// What for.
    pub phase: Phase,
    /// In a new session of the agent, with what is known carried in the prompt.
    pub fresh: bool,
    /// By the other agent, from here on.
    pub fall_back: bool,
}

/// The machine. Feed it with [`step`](Self::step); the same inputs give the same outputs.
#[derive(Debug, Clone)]
pub struct Turns {
    rules: Rules,
    turn: u32,
    phase: Phase,
    failures: u32,
    fell_back: bool,
    lost_session: bool,
    ended: Option<(RunOutcome, String)>,
}

impl Turns {
    /// A run that has not begun.
    pub const fn new(rules: Rules) -> Self {
        Self {
            rules,
            turn: 0,
            phase: opening(rules.max_turns),
            failures: 0,
            fell_back: false,
            lost_session: false,
            ended: None,
        }
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
        match input {
            TurnInput::Begin => self.ask(self.phase, false, false),
            TurnInput::Answered(answer) => self.answered(answer),
            TurnInput::Checked { outcome: Checked::Passed } => {
                self.end(RunOutcome::Verified, "the verification passed")
            }
            TurnInput::Checked { outcome: Checked::Unproved } => self.end(
                RunOutcome::Claimed,
                "the agent says that it is done, and no command was given to show it",
            ),
            TurnInput::Checked { outcome: Checked::Refuted } => self.ask(Phase::Adjust, false, false),
            TurnInput::Stopped { why } => match why {
                Stop::Budget => self.end(RunOutcome::Budget, "the budget is used up"),
                Stop::Deadline => self.end(RunOutcome::Deadline, "the deadline has passed"),
                Stop::Interrupted => self.end(RunOutcome::Interrupted, "the run was ended from outside"),
                Stop::Failed => self.end(RunOutcome::Failed, "something that the run needs failed"),
            },
        }
    }

    fn answered(&mut self, answer: Answer) -> TurnOutput {
        let Answer { run, cut, claim, alive, resumed, denials } = answer;
        if self.rules.end_on_denial && denials > 0 {
            return self.end(RunOutcome::Denied, "a call was denied");
        }
        if self.rules.end_on_denial && run.denials == Denials::Unknown {
            let reason = "whether a call was denied is not known: no report of the guard arrived";
            return self.end(RunOutcome::Unguarded, reason);
        }
        if cut {
            return self.ask(next(self.phase), false, false);
        }
        if let Some(kind) = run.event.kind {
            return self.failed(kind, run.reason().to_owned(), resumed && !alive);
        }
        if !run.is_success() {
            return self.end(run.outcome(), run.reason());
        }
        self.failures = 0;
        match claim.map(|claim| claim.status) {
            Some(Status::Done) => TurnOutput::Verify,
            Some(Status::Blocked) if denials > 0 => {
                self.end(RunOutcome::Denied, "the agent cannot go on, and calls of it were denied")
            }
            Some(Status::Blocked) => self.end(RunOutcome::Failed, "the agent says that it cannot go on"),
            Some(Status::Working) | None => self.ask(next(self.phase), false, false),
        }
    }

    fn failed(&mut self, kind: FailKind, message: String, session_gone: bool) -> TurnOutput {
        if matches!(kind, FailKind::Auth | FailKind::Quota | FailKind::RateLimit) {
            if self.rules.fallback && !self.fell_back {
                self.fell_back = true;
                self.failures = 0;
                return self.ask(self.phase, true, true);
            }
            return self.end(kind.outcome(), message);
        }
        // A session that cannot be gone on with costs nothing: it is left behind once.
        if session_gone && !self.lost_session {
            self.lost_session = true;
            return TurnOutput::Ask(Ask {
                turn: self.turn,
                phase: self.phase,
                fresh: true,
                fall_back: false,
            });
        }
        self.failures += 1;
        if self.failures > 1 {
            return self.end(kind.outcome(), message);
        }
        self.ask(self.phase, kind == FailKind::ContextLength, false)
    }

    /// Asks, if the rules of going on let the run go on: those that hold an agent's stop.
    fn ask(&mut self, phase: Phase, fresh: bool, fall_back: bool) -> TurnOutput {
        let rules = Continuation { max_iterations: u64::from(self.rules.max_turns), ttl_seconds: u64::MAX };
        let held = self.turn > 0
            && matches!(
                rules.step(&StopSignal {
                    session: "auto",
                    stop_active: false,
                    lock: Some(Lock { session: Some("auto".to_owned()), locked_at: None }),
                    count: Count::Times(u64::from(self.turn) - 1),
                    prompt: None,
                    goal: None,
                    now: 0,
                }),
                Step::Stop { .. }
            );
        if held {
            return self.end(RunOutcome::MaxTurns, format!("not done after {} turns", self.turn));
        }
        self.turn += 1;
        self.phase = phase;
        TurnOutput::Ask(Ask { turn: self.turn, phase, fresh, fall_back })
    }

    fn end(&mut self, end: RunOutcome, reason: impl Into<String>) -> TurnOutput {
        let reason = reason.into();
        self.ended = Some((end, reason.clone()));
        TurnOutput::End { end, reason }
    }
}

/// Where a run of so many turns begins: it must come to doing the task.
const fn opening(max_turns: u32) -> Phase {
    match max_turns {
        0 | 1 => Phase::Execute,
        2 => Phase::Plan,
        _ => Phase::Clarify,
    }
}

/// What follows an answer that claims nothing.
const fn next(phase: Phase) -> Phase {
    match phase {
        Phase::Clarify => Phase::Plan,
        Phase::Plan => Phase::Execute,
        Phase::Execute | Phase::GoOn | Phase::Adjust => Phase::GoOn,
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
