//! Checks of a list of rules, with the CLI's own messages.

use serde_json::{Map, Value};

/// A defect of a list of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleIssue {
    /// Path of the defect, as `0.matches.cmd`; empty: the list itself.
    pub path: String,
    /// Message, in the CLI's words.
    pub message: String,
    /// Kind of the defect: `invalid_type`, `invalid_value`, `too_small`, `custom`.
    pub code: &'static str,
}

impl RuleIssue {
    fn new(path: String, code: &'static str, message: impl Into<String>) -> Self {
        Self { path, message: message.into(), code }
    }

    /// `{"path", "message", "code"}`.
    pub fn to_value(&self) -> Value {
        serde_json::json!({ "path": self.path, "message": self.message, "code": self.code })
    }
}

/// Returns the CLI's objections to the value of `amp.permissions`, in its order. Empty: the rules can be used. An absent or `null` value
/// is an empty list.
pub fn check_rules(rules: &Value) -> Vec<RuleIssue> {
    match rules {
        Value::Null => Vec::new(),
        Value::Array(rules) => {
            let mut issues = Vec::new();
            for (at, rule) in rules.iter().enumerate() {
                match rule {
                    Value::Object(rule) => check_rule(&at.to_string(), rule, &mut issues),
                    other => issues.push(type_issue("object", Some(other), at.to_string())),
                }
            }
            issues
        }
        other => vec![type_issue("array", Some(other), String::new())],
    }
}

fn check_rule(path: &str, rule: &Map<String, Value>, issues: &mut Vec<RuleIssue>) {
    let at = |key: &str| format!("{path}.{key}");
    let before = issues.len();
    check_text(rule.get("tool"), at("tool"), true, issues);
    match rule.get("matches") {
        None => {}
        Some(Value::Object(matches)) => {
            for (key, pattern) in matches {
                check_alternatives(pattern, format!("{path}.matches.{key}"), issues);
            }
        }
        Some(other) => issues.push(type_issue("record", Some(other), at("matches"))),
    }
    one_of(&["allow", "reject", "ask", "delegate"], rule.get("action"), at("action"), issues);
    if let Some(context) = rule.get("context") {
        one_of(&["thread", "subagent"], Some(context), at("context"), issues);
    }
    if let Some(to) = rule.get("to") {
        check_text(Some(to), at("to"), true, issues);
    }
    if let Some(message) = rule.get("message") {
        check_text(Some(message), at("message"), false, issues);
    }
    // Like the CLI: how keys go together is looked at only where each has its type.
    if issues[before..].iter().all(|issue| issue.code == "too_small") {
        check_combinations(path, rule, issues);
    }
}

/// Checks that the keys go with the action.
fn check_combinations(path: &str, rule: &Map<String, Value>, issues: &mut Vec<RuleIssue>) {
    let action = rule.get("action").and_then(Value::as_str).unwrap_or_default();
    let filled = |key: &str| rule.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let mut custom =
        |key: &str, message| issues.push(RuleIssue::new(format!("{path}.{key}"), "custom", message));
    if action == "delegate" && !filled("to") {
        custom("to", "delegate action requires \"to\" field");
    }
    if action != "delegate" && filled("to") {
        custom("to", "\"to\" field only allowed with delegate action");
    }
    if action != "reject" && filled("message") {
        custom("message", "\"message\" field only allowed with reject action");
    }
}

fn check_text(value: Option<&Value>, path: String, filled: bool, issues: &mut Vec<RuleIssue>) {
    const SMALL: &str = "Too small: expected string to have >=1 characters";
    match value {
        Some(Value::String(text)) if filled && text.is_empty() => {
            issues.push(RuleIssue::new(path, "too_small", SMALL));
        }
        Some(Value::String(_)) => {}
        Some(Value::Array(list)) if filled && list.is_empty() => {
            issues.push(type_issue("string", value, path.clone()));
            issues.push(RuleIssue::new(path, "too_small", EMPTY));
        }
        other => issues.push(type_issue("string", other, path)),
    }
}

fn one_of(words: &[&str], value: Option<&Value>, path: String, issues: &mut Vec<RuleIssue>) {
    if value.and_then(Value::as_str).is_some_and(|word| words.contains(&word)) {
        return;
    }
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let message = format!("Invalid option: expected one of {}", words.join("|"));
    issues.push(RuleIssue::new(path, "invalid_value", message));
}

/// Message of the CLI about an empty list.
const EMPTY: &str = "Too small: expected array to have >=1 items";

/// A list has to name at least one alternative, at every depth.
fn check_alternatives(pattern: &Value, path: String, issues: &mut Vec<RuleIssue>) {
    match pattern {
        Value::Array(all) if all.is_empty() => issues.push(RuleIssue::new(path, "too_small", EMPTY)),
        Value::Array(all) => {
            for (at, one) in all.iter().enumerate() {
                check_alternatives(one, format!("{path}.{at}"), issues);
            }
        }
        Value::Object(pairs) => {
            for (key, one) in pairs {
                check_alternatives(one, format!("{path}.{key}"), issues);
            }
        }
        _ => {}
    }
}

fn type_issue(what: &str, found: Option<&Value>, path: String) -> RuleIssue {
    let found = match found {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    };
    RuleIssue::new(path, "invalid_type", format!("Invalid input: expected {what}, received {found}"))
}
