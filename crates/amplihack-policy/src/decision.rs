//! What the policy says: a decision, the rule behind it, and why, joined by strictest wins.

use std::borrow::Cow;
use std::fmt;

/// The answer to a tool call. A greater one is stricter, and wins.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Nothing to say: the host decides by its own rules.
    #[default]
    None,
    /// Allowed, because the user's own policy says so.
    Allow,
    /// A person has to say yes.
    Ask,
    /// Refused.
    Deny,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// The stable name of a rule, `pack/rule`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub Cow<'static, str>);

impl RuleId {
    /// A built-in rule's name.
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Bytes of the judged text, from `start` to `end` (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

/// A decision with its rule and reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// The rule that decided; `None` when there is nothing to say.
    pub rule: Option<RuleId>,
    /// One line for the model and for a person: what would happen, and what to do instead. Empty when there is nothing to say.
    pub reason: String,
    /// The parts of the text that it is about.
    pub spans: Vec<Span>,
}

impl Verdict {
    /// Nothing to say.
    pub fn none() -> Self {
        Self { decision: Decision::None, rule: None, reason: String::new(), spans: Vec::new() }
    }

    /// A decision of `rule`.
    pub fn new(decision: Decision, rule: RuleId, reason: impl Into<String>, spans: Vec<Span>) -> Self {
        Self { decision, rule: Some(rule), reason: reason.into(), spans }
    }

    /// The stricter of two; of two that are equally strict, this one.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        if other.decision > self.decision { other } else { self }
    }
}
