//! The policy in an agent's own permission language: a second wall, for the case that no hook is asked.
//!
//! An export only ever denies and asks. Each of its rules was put to the policy before: what it stops, the policy stops. What the
//! policy stops and the export does not is counted.

mod amp;
mod call;
mod candidates;
mod claude;
mod codex;
mod copilot;
mod entry;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_policy::rules;
use amplihack_policy::{Event, Policy};
use amplihack_shell::Limits;
use amplihack_verdict::{Decision, RuleId};

pub use call::PermissionCall;
pub use entry::{ExportEntry, ExportSubject};

use crate::error::HookError;

/// A rule in an agent's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeRule {
    /// The pattern.
    pub pattern: String,
    /// [`Decision::Deny`] or [`Decision::Ask`].
    pub decision: Decision,
    /// The rule of the policy behind it.
    pub rule: RuleId,
}

/// Harm that the policy stops, and how much of it the export does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportGaps {
    /// Calls that the policy stops.
    pub harmful: usize,
    /// Of these, what the export lets through.
    pub missed: usize,
}

impl ExportGaps {
    /// The share that the export lets through, in percent; 0 if there is nothing to stop.
    pub fn missed_percent(self) -> usize {
        (self.missed * 100).checked_div(self.harmful).unwrap_or_default()
    }
}

/// The policy for one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyExport {
    /// The agent.
    pub agent: AgentBinary,
    /// The place where the text belongs, for people.
    pub place: &'static str,
    /// The text.
    pub text: String,
    /// Rules of the export.
    pub rules: Vec<NativeRule>,
    /// Harm that the rules do not stop, of the examples of the policy's own rules.
    pub gaps: ExportGaps,
}

/// The parts of an export that differ from agent to agent.
struct PermissionLanguage {
    place: &'static str,
    /// The patterns that say an entry; none if the language cannot.
    patterns: fn(&ExportEntry) -> Vec<String>,
    /// All rules as one text.
    text: fn(&[NativeRule]) -> String,
    /// Reports whether a pattern is about a call, as the agent documents it.
    matches: fn(&str, &PermissionCall<'_>) -> bool,
}

fn permission_language(agent: AgentBinary) -> Result<&'static PermissionLanguage, HookError> {
    match agent {
        AgentBinary::Claude => Ok(&claude::LANGUAGE),
        AgentBinary::Codex => Ok(&codex::LANGUAGE),
        AgentBinary::Copilot => Ok(&copilot::LANGUAGE),
        AgentBinary::Amp => Ok(&amp::LANGUAGE),
        _ => Err(HookError::NoPermissions { binary: agent }),
    }
}

/// Reports whether `agent` has permission rules as which a policy can be written.
pub fn has_permission_rules(agent: AgentBinary) -> bool {
    permission_language(agent).is_ok()
}

/// Compiles `policy` for `agent`. A policy that only observes compiles to nothing.
///
/// # Errors
/// The agent has no permission language.
pub fn export_policy(policy: &Policy, agent: AgentBinary) -> Result<PolicyExport, HookError> {
    let language = permission_language(agent)?;
    let mut rules: Vec<NativeRule> = Vec::new();
    for entry in entry::collect_entries(policy) {
        for pattern in (language.patterns)(&entry) {
            if !rules.iter().any(|rule| rule.pattern == pattern) {
                rules.push(NativeRule { pattern, decision: entry.decision, rule: entry.rule.clone() });
            }
        }
    }
    let text = (language.text)(&rules);
    let gaps = count_gaps(policy, language, &rules);
    Ok(PolicyExport { agent, place: language.place, text, rules, gaps })
}

impl PolicyExport {
    /// Judges a call by these rules: deny, ask, or none if no pattern is about it.
    pub fn judge(&self, event: &Event<'_>) -> Decision {
        permission_language(self.agent)
            .map_or(Decision::None, |language| decide_by_rules(language, &self.rules, event))
    }
}

fn decide_by_rules(language: &PermissionLanguage, rules: &[NativeRule], event: &Event<'_>) -> Decision {
    let Some(call) = PermissionCall::new(event) else { return Decision::None };
    let about = rules.iter().filter(|rule| (language.matches)(&rule.pattern, &call));
    about.map(|rule| rule.decision).max().unwrap_or_default()
}

/// Counts what the examples of the policy's rules, judged by this policy, show.
fn count_gaps(policy: &Policy, language: &PermissionLanguage, own: &[NativeRule]) -> ExportGaps {
    let mut gaps = ExportGaps::default();
    for example in rules::builtin_rules().flat_map(|rule| rule.matches) {
        example.with_event(|event| {
            // Text that is only read is no call.
            let stops = PermissionCall::new(event).is_some()
                && policy.judge(event, &example.example_world(), &Limits::default()).decision
                    >= Decision::Ask;
            gaps.harmful += usize::from(stops);
            gaps.missed += usize::from(stops && decide_by_rules(language, own, event) < Decision::Ask);
        });
    }
    gaps
}
