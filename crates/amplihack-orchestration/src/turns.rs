//! What an unattended run does next: a state machine without processes, files or clocks.
//!
//! A run is a series of turns of one agent: clarify, plan, execute, and adjust until what was done passes its verification.
//! An agent's word is a claim. Only a verification makes it an end.

use amplihack_agent::event::FailKind;
use amplihack_hooks::continuation::{Continuation, Count, Lock, Step, StopSignal};
use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Status};

/// How a run ended. A word of the contract each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoEnd {
    /// The agent said that it was done, and a command showed it.
    Verified,
    /// The agent said that it was done, nothing speaks against it, and there was no command to show it.
    Claimed,
    /// The turns were used up.
    MaxTurns,
    /// The tokens or the money were used up.
    Budget,
    /// The time was used up.
    Deadline,
    /// What it needed was denied.
    Denied,
    /// The agent, or something that the run needs, failed.
    Failed,
    /// Nothing went on any more.
    Stalled,
    /// Somebody ended it.
    Interrupted,
}

impl AutoEnd {
    /// Its word, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Claimed => "claimed",
            Self::MaxTurns => "max_turns",
            Self::Budget => "budget",
            Self::Deadline => "deadline",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Stalled => "stalled",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether the task is done, as far as it can be told.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Verified | Self::Claimed)
    }
}

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

/// How a turn of the agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "turn_end", rename_all = "snake_case")]
pub enum TurnEnd {
    /// It answered.
    Answered,
    /// It went on and on, and was ended with its work kept.
    Cut,
    /// It failed.
    Failed {
        /// How.
        kind: FailKind,
        /// What is said about it.
        message: String,
    },
    /// It says that it was denied what it needed.
    Denied {
        /// What is said about it.
        message: String,
    },
    /// Nothing was heard of it, or the same failure over and over.
    Stalled {
        /// Which.
        message: String,
    },
}

/// A turn that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// How it ended.
    #[serde(flatten)]
    pub end: TurnEnd,
    /// What the agent says of its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Whether the agent said or did anything at all.
    pub alive: bool,
    /// Whether the turn was to go on with a session of the agent.
    pub resumed: bool,
    /// Calls that were denied.
    pub denials: u32,
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

/// What a run is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
        /// How.
        end: AutoEnd,
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
    ended: Option<(AutoEnd, String)>,
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
                self.end(AutoEnd::Verified, "the verification passed")
            }
            TurnInput::Checked { outcome: Checked::Unproved } => self
                .end(AutoEnd::Claimed, "the agent says that it is done, and no command was given to show it"),
            TurnInput::Checked { outcome: Checked::Refuted } => self.ask(Phase::Adjust, false, false),
            TurnInput::Stopped { why } => match why {
                Stop::Budget => self.end(AutoEnd::Budget, "the budget is used up"),
                Stop::Deadline => self.end(AutoEnd::Deadline, "the deadline has passed"),
                Stop::Interrupted => self.end(AutoEnd::Interrupted, "the run was ended from outside"),
                Stop::Failed => self.end(AutoEnd::Failed, "something that the run needs failed"),
            },
        }
    }

    fn answered(&mut self, answer: Answer) -> TurnOutput {
        let Answer { end, claim, alive, resumed, denials } = answer;
        if self.rules.end_on_denial && denials > 0 {
            return self.end(AutoEnd::Denied, "a call was denied");
        }
        match end {
            TurnEnd::Answered => {
                self.failures = 0;
                match claim.map(|claim| claim.status) {
                    Some(Status::Done) => TurnOutput::Verify,
                    Some(Status::Blocked) if denials > 0 => {
                        self.end(AutoEnd::Denied, "the agent cannot go on, and calls of it were denied")
                    }
                    Some(Status::Blocked) => self.end(AutoEnd::Failed, "the agent says that it cannot go on"),
                    Some(Status::Working) | None => self.ask(next(self.phase), false, false),
                }
            }
            TurnEnd::Cut => self.ask(next(self.phase), false, false),
            TurnEnd::Denied { message } => self.end(AutoEnd::Denied, message),
            TurnEnd::Stalled { message } => self.end(AutoEnd::Stalled, message),
            TurnEnd::Failed { kind, message } => self.failed(kind, message, resumed && !alive),
        }
    }

    fn failed(&mut self, kind: FailKind, message: String, session_gone: bool) -> TurnOutput {
        if matches!(kind, FailKind::Auth | FailKind::Quota | FailKind::RateLimit) {
            if self.rules.fallback && !self.fell_back {
                self.fell_back = true;
                self.failures = 0;
                return self.ask(self.phase, true, true);
            }
            return self.end(AutoEnd::Failed, message);
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
            return self.end(AutoEnd::Failed, message);
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
            return self.end(AutoEnd::MaxTurns, format!("not done after {} turns", self.turn));
        }
        self.turn += 1;
        self.phase = phase;
        TurnOutput::Ask(Ask { turn: self.turn, phase, fresh, fall_back })
    }

    fn end(&mut self, end: AutoEnd, reason: impl Into<String>) -> TurnOutput {
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
