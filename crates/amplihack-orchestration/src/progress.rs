//! Progress of a run while it is under way, and its end in one line.

use amplihack_agent::event::{ActivityPhase, RunOutcome, UsageTotals};
use amplihack_agent::{AgentBinary, AgentEvent};
use amplihack_session::{EndEvidence, RunEnd};
use serde::Serialize;

use crate::drive::AutoRunSummary;
use crate::names::first_names;
use crate::turns::{TurnPhase, VerificationResult};
use crate::verify::{BaselineOutcome, CheckBaseline, WorkVerification};

/// Something that happened in a run. Never a word of a prompt, nor of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AutoProgress {
    /// The run began, or continues.
    Began {
        /// True if the run continues.
        resumed: bool,
        /// Directory in which the run works.
        directory: String,
        /// Branch of its worktree, where it works in one of its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// The checks were run before the first turn.
    Baseline {
        /// Results of the checks.
        baseline: CheckBaseline,
    },
    /// A check is about to be run.
    Checking {
        /// The turn whose work is checked; 0 before the first one.
        turn: u32,
        /// The command.
        command: String,
        /// The most that it may take, in seconds.
        limit_seconds: u64,
    },
    /// The agent is asked.
    Turn {
        /// The turn.
        turn: u32,
        /// Of so many at most.
        of: u32,
        /// Purpose of the turn.
        phase: TurnPhase,
        /// Agent that is asked.
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
        used: UsageTotals,
    },
    /// The turn is over.
    Answered {
        /// The turn.
        turn: u32,
        /// End of the turn and status that is claimed, in a word.
        how: String,
    },
    /// Something to know.
    Notice {
        /// Text of the notice.
        message: String,
    },
    /// The worktree stays, since it holds something.
    Kept {
        /// The worktree.
        worktree: String,
        /// Reason why it stays: what it holds.
        reason: String,
    },
    /// A claim was checked.
    Checked {
        /// The turn that made it.
        turn: u32,
        /// Findings of the verification.
        verdict: WorkVerification,
    },
    /// The run is over.
    Ended {
        /// The outcome.
        end: RunOutcome,
        /// The reason.
        reason: String,
        /// The ground that the outcome stands on.
        evidence: EndEvidence,
        /// Turns that were made.
        turns: u32,
        /// Usage of the run.
        used: UsageTotals,
        /// Denied calls: rules of the policy, tools.
        denied: Vec<String>,
        /// True if files differ from the beginning; `None` if that is not known.
        #[serde(skip_serializing_if = "Option::is_none")]
        changed: Option<bool>,
        /// Outcome of the checks before the first turn.
        #[serde(skip_serializing_if = "Option::is_none")]
        baseline: Option<BaselineOutcome>,
        /// The limit, or other end, at which a verification found the work done.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<RunOutcome>,
        /// Files of the checks themselves that were changed.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        check_changed: Vec<String>,
        /// All of it in one line for a person.
        #[serde(skip)]
        headline: String,
    },
}

impl AutoProgress {
    /// The last event of a run.
    pub fn from_summary(summary: &AutoRunSummary) -> Self {
        Self::Ended {
            end: summary.end.outcome(),
            reason: summary.end.reason().to_owned(),
            evidence: summary.end.evidence,
            turns: summary.turns,
            used: summary.end.usage,
            denied: summary.end.denials.denied_rules().to_vec(),
            changed: summary.changed,
            baseline: summary.baseline.as_ref().map(|baseline| baseline.outcome),
            limit: summary.limit,
            check_changed: summary.check_changed.clone(),
            headline: summary.headline(),
        }
    }

    /// Returns the progress that an event of the agent makes, in a word; `None` for one that is not told.
    pub fn from_event(event: &AgentEvent) -> Option<Self> {
        let what = match event {
            AgentEvent::Thinking(text) | AgentEvent::Text(text) if text.delta => return None,
            AgentEvent::Started(_) => "started".to_owned(),
            AgentEvent::Thinking(_) => "thinking".to_owned(),
            AgentEvent::Text(_) => "writing".to_owned(),
            AgentEvent::ToolCall(call) => format!("calls {}", call.name),
            AgentEvent::ToolResult(result) if result.is_error => "call failed".to_owned(),
            AgentEvent::ToolResult(_) => "call answered".to_owned(),
            AgentEvent::PermissionDecided(decided) if decided.allowed == Some(false) => "denied".to_owned(),
            AgentEvent::Retry(_) => "tries a request again".to_owned(),
            AgentEvent::RateLimit(limit) if limit.is_in_the_way() => format!("limit: {}", limit.status),
            AgentEvent::Compaction(compaction) if compaction.phase == ActivityPhase::Started => {
                "makes its conversation shorter".to_owned()
            }
            // Nobody has to heed it.
            AgentEvent::Warning(warning) if warning.kind == "notice" => return None,
            AgentEvent::Warning(warning) => format!("warning: {}", warning.kind),
            _ => return None,
        };
        Some(Self::Did { what })
    }
}

/// The end of a run in one line for a person: the outcome, and what a success stands on before the reason.
pub fn end_headline(
    end: &RunEnd,
    baseline: Option<&CheckBaseline>,
    limit: Option<RunOutcome>,
    check_changed: &[String],
) -> String {
    if end.outcome() != RunOutcome::Verified {
        return format!("{}: {}", end.name(), end.reason());
    }
    let before = baseline.map(|baseline| baseline.outcome);
    let first = if before == Some(BaselineOutcome::Green) { "was green already: " } else { "" };
    let turned = baseline.and_then(CheckBaseline::describe_change);
    let notes: Vec<String> = turned.into_iter().chain(limit.map(|limit| format!("at {limit}"))).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
    if check_changed.is_empty() {
        return format!("{first}verified{notes}: {}", end.reason());
    }
    format!("{first}verified{notes}, but the check itself was changed: {}", first_names(check_changed))
}

/// Name of a phase in a line.
pub const fn phase_name(phase: TurnPhase) -> &'static str {
    match phase {
        TurnPhase::Clarify => "clarify",
        TurnPhase::Plan => "plan",
        TurnPhase::Execute => "execute",
        TurnPhase::GoOn => "go on",
        TurnPhase::Adjust => "adjust",
    }
}

/// Name of a verification's result in a line.
pub const fn verification_result_name(checked: VerificationResult) -> &'static str {
    match checked {
        VerificationResult::Passed => "check passed",
        VerificationResult::Unproved => "nothing to check with",
        VerificationResult::Unchanged => "no file changed",
        VerificationResult::Refuted => "check failed",
    }
}

#[cfg(test)]
mod tests {
    use amplihack_session::EndEvidence;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_agent_waits_for_is_told_in_words() {
        for (event, expected) in [
            (json!({"type": "retry", "reason": "overloaded", "attempt": 1}), Some("tries a request again")),
            (json!({"type": "rate_limit", "status": "allowed_warning"}), Some("limit: allowed_warning")),
            (json!({"type": "rate_limit", "status": "allowed"}), None),
            (json!({"type": "compaction", "phase": "started"}), Some("makes its conversation shorter")),
            (json!({"type": "compaction", "phase": "completed"}), None),
            (json!({"type": "warning", "kind": "error", "message": "x"}), Some("warning: error")),
            (json!({"type": "warning", "kind": "notice", "message": "x"}), None),
        ] {
            let told = AutoProgress::from_event(&serde_json::from_value(event.clone()).unwrap());
            let expected = expected.map(|what| AutoProgress::Did { what: what.to_owned() });
            assert_eq!(told, expected, "{event}");
        }
    }

    #[test]
    fn a_headline_begins_with_what_the_success_stands_on() {
        let verified =
            RunEnd::from_outcome(RunOutcome::Verified, "the check passed", EndEvidence::Verification);
        let baseline = |outcome| CheckBaseline { outcome, checks: Vec::new(), changed: Vec::new() };
        let (red, green) = (baseline(BaselineOutcome::Red), baseline(BaselineOutcome::Green));
        let changed: Vec<String> = (1..=7).map(|number| format!("{number}.sh")).collect();
        let at = Some(RunOutcome::MaxTurns);
        let check =
            |outcome| crate::verify::BaselineCheck { command: "x".to_owned(), outcome, found: String::new() };
        let checks = vec![check(BaselineOutcome::Green), check(BaselineOutcome::Red)];
        let mixed = CheckBaseline { checks, ..red.clone() };
        for (before, limit, changed, expected) in [
            (Some(&mixed), None, &changed[..0], "verified (red → green: 1 of 2 checks): the check passed"),
            (None, None, &changed[..0], "verified: the check passed"),
            (Some(&red), None, &[], "verified (red → green): the check passed"),
            (Some(&green), None, &[], "was green already: verified: the check passed"),
            (Some(&red), at, &[], "verified (red → green, at max_turns): the check passed"),
            (
                Some(&red),
                None,
                &changed[..1],
                "verified (red → green), but the check itself was changed: 1.sh",
            ),
            (
                Some(&green),
                at,
                &changed,
                "was green already: verified (at max_turns), but the check itself was changed: \
                 1.sh, 2.sh, 3.sh, 4.sh, 5.sh and 2 more",
            ),
        ] {
            assert_eq!(end_headline(&verified, before, limit, changed), expected);
        }
        let end = RunEnd::from_outcome(RunOutcome::MaxTurns, "not done", EndEvidence::Record);
        assert_eq!(end_headline(&end, Some(&green), None, &changed), "max_turns: not done");
    }
}
