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

use amplihack_policy::rules;
use amplihack_policy::{Decision, Event, Limits, Policy, RuleId};
use amplihack_utils::agent_binary::AgentBinary;

pub use call::Call;
pub use entry::{Entry, What};

use crate::error::HookError;

/// One rule in an agent's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Native {
    /// The pattern.
    pub pattern: String,
    /// [`Decision::Deny`] or [`Decision::Ask`].
    pub decision: Decision,
    /// The rule of the policy behind it.
    pub rule: RuleId,
}

/// Harm that the policy stops, and how much of it the export does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gaps {
    /// Calls that the policy stops.
    pub harmful: usize,
    /// Of these, what the export lets through.
    pub missed: usize,
}

impl Gaps {
    /// The share that the export lets through, in percent; 0 if there is nothing to stop.
    pub fn percent(self) -> usize {
        (self.missed * 100).checked_div(self.harmful).unwrap_or_default()
    }
}

/// The policy for one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The agent.
    pub agent: AgentBinary,
    /// Where the text belongs.
    pub place: &'static str,
    /// The text.
    pub text: String,
    /// Its rules.
    pub rules: Vec<Native>,
    /// What it does not stop, of the examples of the policy's own rules.
    pub gaps: Gaps,
}

/// What is different from agent to agent.
struct Language {
    place: &'static str,
    /// The patterns that say an entry; none if the language cannot.
    patterns: fn(&Entry) -> Vec<String>,
    /// All rules as one text.
    text: fn(&[Native]) -> String,
    /// Whether a pattern is about a call, as the agent documents it.
    matches: fn(&str, &Call<'_>) -> bool,
}

fn language(agent: AgentBinary) -> Result<&'static Language, HookError> {
    match agent {
        AgentBinary::Claude => Ok(&claude::LANGUAGE),
        AgentBinary::Codex => Ok(&codex::LANGUAGE),
        AgentBinary::Copilot => Ok(&copilot::LANGUAGE),
        AgentBinary::Amp => Ok(&amp::LANGUAGE),
        _ => Err(HookError::NoPermissions { binary: agent }),
    }
}

/// Compiles `policy` for `agent`. A policy that only observes compiles to nothing.
///
/// # Errors
/// The agent has no permission language.
pub fn export(policy: &Policy, agent: AgentBinary) -> Result<Export, HookError> {
    let language = language(agent)?;
    let mut rules: Vec<Native> = Vec::new();
    for entry in entry::entries(policy) {
        for pattern in (language.patterns)(&entry) {
            if !rules.iter().any(|rule| rule.pattern == pattern) {
                rules.push(Native { pattern, decision: entry.decision, rule: entry.rule.clone() });
            }
        }
    }
    let text = (language.text)(&rules);
    let gaps = gaps(policy, language, &rules);
    Ok(Export { agent, place: language.place, text, rules, gaps })
}

impl Export {
    /// What these rules say about a call: deny, ask, or none if no pattern is about it.
    pub fn judge(&self, event: &Event<'_>) -> Decision {
        language(self.agent).map_or(Decision::None, |language| said(language, &self.rules, event))
    }
}

fn said(language: &Language, rules: &[Native], event: &Event<'_>) -> Decision {
    let Some(call) = Call::new(event) else { return Decision::None };
    let about = rules.iter().filter(|rule| (language.matches)(&rule.pattern, &call));
    about.map(|rule| rule.decision).max().unwrap_or_default()
}

/// Counts what the examples of the policy's rules, judged by this policy, show.
fn gaps(policy: &Policy, language: &Language, own: &[Native]) -> Gaps {
    let mut gaps = Gaps::default();
    for example in rules::all().flat_map(|rule| rule.matches) {
        example.with_event(|event| {
            // Text that is only read is no call.
            let stops = Call::new(event).is_some()
                && policy.judge(event, &example.world(), &Limits::default()).decision >= Decision::Ask;
            gaps.harmful += usize::from(stops);
            gaps.missed += usize::from(stops && said(language, own, event) < Decision::Ask);
        });
    }
    gaps
}
