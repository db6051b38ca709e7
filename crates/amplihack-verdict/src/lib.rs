//! The answer to a tool call, as data: a decision, the rule behind it, the reason and the places in the text, joined by strictest wins.
//!
//! Nothing here finds a verdict: the policy does. Hooks render one, the audit keeps its decision, exports show it; the readers of scripts and
//! the search for credentials say with a [`Span`] where something stands.

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

/// Bytes of a text, from `start` to `end` (exclusive).
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
    /// A line for the model and for a person: the effect, and an alternative. Empty when there is no objection.
    pub reason: String,
    /// The parts of the text that it is about.
    pub spans: Vec<Span>,
    /// The decision that would hold if the mode did more than observe. `decision` is [`Decision::None`] then.
    pub would_be: Option<Decision>,
}

impl Verdict {
    /// Nothing to say.
    pub fn no_objection() -> Self {
        Self {
            decision: Decision::None,
            rule: None,
            reason: String::new(),
            spans: Vec::new(),
            would_be: None,
        }
    }

    /// A decision of `rule`.
    pub fn new(decision: Decision, rule: RuleId, reason: impl Into<String>, spans: Vec<Span>) -> Self {
        Self { decision, rule: Some(rule), reason: reason.into(), spans, would_be: None }
    }

    /// The stricter of two; of two that are equally strict, this one.
    #[must_use]
    pub fn join_strictest(self, other: Self) -> Self {
        if (other.decision, other.would_be) > (self.decision, self.would_be) { other } else { self }
    }

    /// Returns the verdict as only observed: `decision` is none, and `would_be` holds the decision that there would have been.
    #[must_use]
    pub fn as_observed(self) -> Self {
        let would_be = (self.decision != Decision::None).then_some(self.decision).or(self.would_be);
        Self { decision: Decision::None, would_be, ..self }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdicts() -> impl Strategy<Value = Verdict> {
        let decision = prop_oneof![
            Just(Decision::None),
            Just(Decision::Allow),
            Just(Decision::Ask),
            Just(Decision::Deny)
        ];
        (decision, "[a-c]", any::<bool>()).prop_map(|(decision, rule, observed)| {
            let verdict = Verdict::new(decision, RuleId(Cow::Owned(rule.clone())), rule, Vec::new());
            if observed { verdict.as_observed() } else { verdict }
        })
    }

    /// All but the rule's text.
    fn weight(verdict: &Verdict) -> (Decision, Option<Decision>) {
        (verdict.decision, verdict.would_be)
    }

    proptest! {
        #[test]
        fn join_is_a_lattice(a in verdicts(), b in verdicts(), c in verdicts()) {
            prop_assert_eq!(a.clone().join_strictest(a.clone()), a.clone());
            prop_assert_eq!(weight(&a.clone().join_strictest(b.clone())), weight(&b.clone().join_strictest(a.clone())));
            prop_assert_eq!(a.clone().join_strictest(b.clone()).join_strictest(c.clone()), a.clone().join_strictest(b.clone().join_strictest(c.clone())));
            prop_assert!(a.clone().join_strictest(b.clone()).decision >= a.decision);
            if a.decision <= b.decision {
                prop_assert!(a.join_strictest(c.clone()).decision <= b.join_strictest(c).decision);
            }
        }
    }

    #[test]
    fn none_is_neutral() {
        let deny = Verdict::new(Decision::Deny, RuleId::new("a/b"), "why", vec![Span { start: 1, end: 2 }]);
        assert_eq!(Verdict::no_objection().join_strictest(deny.clone()), deny);
        assert_eq!(deny.clone().join_strictest(Verdict::no_objection()), deny);
        let observed = deny.as_observed();
        assert_eq!((observed.decision, observed.would_be), (Decision::None, Some(Decision::Deny)));
        assert_eq!(observed.clone().as_observed(), observed, "once is enough");
    }
}
