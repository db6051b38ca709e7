//! The answer about a call: of the CLI itself, or of the evaluator.

use serde_json::{Map, Value};

use crate::rule::{Permission, PermissionAction};

/// The list that the deciding rule is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuleSource {
    /// A given rule.
    User,
    /// A rule of the CLI's own.
    BuiltIn,
}

impl RuleSource {
    /// As the CLI writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::BuiltIn => "built-in",
        }
    }
}

/// The rule that decided.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MatchedRule {
    /// The rule, under the name of the shell tool by which it matched.
    pub entry: Permission,
    /// Index of the rule in its list, from 0. Each of the user's rules for the shell tool counts for three, one a name.
    pub index: usize,
    /// List that the rule is from.
    pub source: RuleSource,
}

/// Result of the evaluation of a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PermissionEvaluation {
    /// The tool that was asked about.
    pub tool: String,
    /// Arguments of the call.
    pub arguments: Map<String, Value>,
    /// Context of the call: `thread`, `subagent`; `None`: not given.
    pub context: Option<String>,
    /// Allow, ask or reject; `None`: no rule is about this call, and the CLI lets it run. Never [`PermissionAction::Delegate`].
    pub action: Option<PermissionAction>,
    /// The rule that decided.
    pub matched: Option<MatchedRule>,
    /// Reason for a rejection, where the rule or its program gives one.
    pub error: Option<String>,
}

impl PermissionEvaluation {
    /// The exit code of `amp permissions test`: 0 to run, 1 to ask, 2 to reject.
    pub fn exit_code(&self) -> u8 {
        match self.action {
            None | Some(PermissionAction::Allow) => 0,
            Some(PermissionAction::Ask) => 1,
            Some(PermissionAction::Reject | PermissionAction::Delegate) => 2,
        }
    }

    /// The keys of `amp permissions test --json`: `tool`, `arguments`, `context`?, `action` (null without a rule), `matchedEntry`?, `error`?,
    /// `matchIndex`?, `source`?.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("tool".into(), self.tool.clone().into());
        map.insert("arguments".into(), self.arguments.clone().into());
        if let Some(context) = &self.context {
            map.insert("context".into(), context.clone().into());
        }
        map.insert("action".into(), self.action.map(PermissionAction::as_str).into());
        if let Some(matched) = &self.matched {
            map.insert("matchedEntry".into(), known_wire_form(&matched.entry));
        }
        if let Some(error) = &self.error {
            map.insert("error".into(), error.clone().into());
        }
        if let Some(matched) = &self.matched {
            map.insert("matchIndex".into(), matched.index.into());
            map.insert("source".into(), matched.source.as_str().into());
        }
        Value::Object(map)
    }
}

/// The wire form with the keys that the CLI knows, in its order.
fn known_wire_form(rule: &Permission) -> Value {
    let Value::Object(mut all) = rule.to_value() else { return Value::Null };
    let keys = ["tool", "matches", "action", "context", "to", "message"];
    Value::Object(keys.into_iter().filter_map(|key| Some((key.to_owned(), all.remove(key)?))).collect())
}
