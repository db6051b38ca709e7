//! What a run tells while it goes on: as objects, and as one line for a person.

use std::time::Duration;

use amplihack_agent::event::{RunOutcome, Totals};
use amplihack_agent::{AgentBinary, AgentEvent};
use amplihack_session::Evidence;
use serde::Serialize;

use crate::budget::tokens;
use crate::turns::{Checked, Phase};
use crate::verify::Verification;

/// Something that happened in a run. Never a word of a prompt, nor of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Progress {
    /// The run began, or goes on after a kill.
    Began {
        /// It goes on.
        resumed: bool,
        /// Where it works.
        directory: String,
        /// Its branch, where it works in a worktree of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// The agent is asked.
    Turn {
        /// The turn.
        turn: u32,
        /// Of so many at most.
        of: u32,
        /// What for.
        phase: Phase,
        /// Which agent.
        agent: AgentBinary,
        /// The launch, whose events `sessions tail` prints.
        launch: String,
    },
    /// The agent did something.
    Did {
        /// In a word.
        what: String,
    },
    /// More was used.
    Used {
        /// So much by now.
        used: Totals,
    },
    /// The turn is over.
    Answered {
        /// The turn.
        turn: u32,
        /// How it ended, and what is claimed, in a word.
        how: String,
    },
    /// Something to know.
    Notice {
        /// What.
        message: String,
    },
    /// A claim was checked.
    Checked {
        /// The turn that made it.
        turn: u32,
        /// What was found.
        verdict: Verification,
    },
    /// The run is over.
    Ended {
        /// The outcome.
        end: RunOutcome,
        /// The reason.
        reason: String,
        /// The ground that the outcome stands on.
        evidence: Evidence,
        /// Turns that were made.
        turns: u32,
        /// What it used.
        used: Totals,
        /// What was denied.
        denied: Vec<String>,
        /// Whether files are other than at the beginning.
        #[serde(skip_serializing_if = "Option::is_none")]
        changed: Option<bool>,
    },
}

impl Progress {
    /// What an event of the agent is, in a word; `None` for one that is not told.
    pub fn of(event: &AgentEvent) -> Option<Self> {
        let what = match event {
            AgentEvent::Thinking(text) | AgentEvent::Text(text) if text.delta => return None,
            AgentEvent::Started(_) => "started".to_owned(),
            AgentEvent::Thinking(_) => "thinking".to_owned(),
            AgentEvent::Text(_) => "writing".to_owned(),
            AgentEvent::ToolCall(call) => format!("calls {}", call.name),
            AgentEvent::ToolResult(result) if result.is_error => "call failed".to_owned(),
            AgentEvent::ToolResult(_) => "call answered".to_owned(),
            AgentEvent::PermissionDecided(decided) if decided.allowed == Some(false) => "denied".to_owned(),
            AgentEvent::Warning(warning) => format!("warning: {}", warning.kind),
            _ => return None,
        };
        Some(Self::Did { what })
    }
}

/// A run in one line: agent, turn, last event, tokens, cost, time.
#[derive(Debug, Clone, Default)]
pub struct View {
    agent: Option<AgentBinary>,
    turn: u32,
    of: u32,
    last: String,
    used: Totals,
}

impl View {
    /// Takes in what happened.
    pub fn told(&mut self, progress: &Progress) {
        match progress {
            Progress::Began { .. } => "begins".clone_into(&mut self.last),
            Progress::Turn { turn, of, phase, agent, .. } => {
                (self.turn, self.of, self.agent) = (*turn, *of, Some(*agent));
                phase_name(*phase).clone_into(&mut self.last);
            }
            Progress::Did { what } => self.last.clone_from(what),
            Progress::Used { used } => self.used = *used,
            Progress::Answered { how, .. } => self.last.clone_from(how),
            Progress::Notice { .. } => {}
            Progress::Checked { verdict, .. } => checked_name(verdict.outcome).clone_into(&mut self.last),
            Progress::Ended { end, used, .. } => {
                self.used = *used;
                end.name().clone_into(&mut self.last);
            }
        }
    }

    /// The line, `elapsed` after the beginning.
    pub fn line(&self, elapsed: Duration) -> String {
        let agent = self.agent.map_or("-", AgentBinary::name);
        let cost = self.used.cost_usd.map_or_else(String::new, |cost| format!(" ${cost:.4}"));
        let seconds = elapsed.as_secs();
        let time = format!("{}:{:02}", seconds / 60, seconds % 60);
        format!(
            "{agent} {}/{} {} · {} tokens{cost} · {time}",
            self.turn,
            self.of,
            self.last,
            tokens(&self.used)
        )
    }
}

/// What a phase is called in a line.
pub const fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Clarify => "clarify",
        Phase::Plan => "plan",
        Phase::Execute => "execute",
        Phase::GoOn => "go on",
        Phase::Adjust => "adjust",
    }
}

/// What a verification's outcome is called in a line.
pub const fn checked_name(checked: Checked) -> &'static str {
    match checked {
        Checked::Passed => "check passed",
        Checked::Unproved => "nothing to check with",
        Checked::Refuted => "check failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_one_line() {
        let mut view = View::default();
        view.told(&Progress::Turn {
            turn: 2,
            of: 10,
            phase: Phase::Plan,
            agent: AgentBinary::Codex,
            launch: "l".to_owned(),
        });
        view.told(&Progress::Did { what: "calls Bash".to_owned() });
        let used = Totals { input_tokens: 1200, output_tokens: 34, cost_usd: Some(0.5), ..Totals::default() };
        view.told(&Progress::Used { used });
        assert_eq!(view.line(Duration::from_secs(75)), "codex 2/10 calls Bash · 1234 tokens $0.5000 · 1:15");
    }
}
