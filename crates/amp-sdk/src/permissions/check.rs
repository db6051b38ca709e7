//! What the CLI refuses in a list of rules, in its own words.

use serde_json::{Map, Value};

/// One thing that is wrong with a list of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Issue {
    /// Where, as `0.matches.cmd`; empty: the list itself.
    pub path: String,
    /// What, in the CLI's words.
    pub message: String,
    /// Its kind: `invalid_type`, `invalid_value`, `too_small`, `custom`.
    pub code: &'static str,
}

impl Issue {
    fn new(path: String, code: &'static str, message: impl Into<String>) -> Self {
        Self { path, message: message.into(), code }
    }

    /// `{"path", "message", "code"}`.
    pub fn to_value(&self) -> Value {
        serde_json::json!({ "path": self.path, "message": self.message, "code": self.code })
    }
}

/// What the CLI refuses in the value of `amp.permissions`, in the order in which it says so. Empty: the rules can be used. An absent or `null` value
/// is an empty list.
pub fn check(rules: &Value) -> Vec<Issue> {
    match rules {
        Value::Null => Vec::new(),
        Value::Array(rules) => {
            let mut issues = Vec::new();
            for (at, rule) in rules.iter().enumerate() {
                match rule {
                    Value::Object(rule) => self::rule(&at.to_string(), rule, &mut issues),
                    other => issues.push(expected("object", Some(other), at.to_string())),
                }
            }
            issues
        }
        other => vec![expected("array", Some(other), String::new())],
    }
}

fn rule(path: &str, rule: &Map<String, Value>, issues: &mut Vec<Issue>) {
    let at = |key: &str| format!("{path}.{key}");
    let before = issues.len();
    text(rule.get("tool"), at("tool"), true, issues);
    match rule.get("matches") {
        None => {}
        Some(Value::Object(matches)) => {
            for (key, pattern) in matches {
                alternatives(pattern, format!("{path}.matches.{key}"), issues);
            }
        }
        Some(other) => issues.push(expected("record", Some(other), at("matches"))),
    }
    one_of(&["allow", "reject", "ask", "delegate"], rule.get("action"), at("action"), issues);
    if let Some(context) = rule.get("context") {
        one_of(&["thread", "subagent"], Some(context), at("context"), issues);
    }
    if let Some(to) = rule.get("to") {
        text(Some(to), at("to"), true, issues);
    }
    if let Some(message) = rule.get("message") {
        text(Some(message), at("message"), false, issues);
    }
    // Like the CLI: how keys go together is looked at only where each has its type.
    if issues[before..].iter().all(|issue| issue.code == "too_small") {
        together(path, rule, issues);
    }
}

/// Which keys go with which action.
fn together(path: &str, rule: &Map<String, Value>, issues: &mut Vec<Issue>) {
    let action = rule.get("action").and_then(Value::as_str).unwrap_or_default();
    let filled = |key: &str| rule.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let mut custom = |key: &str, message| issues.push(Issue::new(format!("{path}.{key}"), "custom", message));
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

fn text(value: Option<&Value>, path: String, filled: bool, issues: &mut Vec<Issue>) {
    const SMALL: &str = "Too small: expected string to have >=1 characters";
    match value {
        Some(Value::String(text)) if filled && text.is_empty() => {
            issues.push(Issue::new(path, "too_small", SMALL));
        }
        Some(Value::String(_)) => {}
        Some(Value::Array(list)) if filled && list.is_empty() => {
            issues.push(expected("string", value, path.clone()));
            issues.push(Issue::new(path, "too_small", EMPTY));
        }
        other => issues.push(expected("string", other, path)),
    }
}

fn one_of(words: &[&str], value: Option<&Value>, path: String, issues: &mut Vec<Issue>) {
    if value.and_then(Value::as_str).is_some_and(|word| words.contains(&word)) {
        return;
    }
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let message = format!("Invalid option: expected one of {}", words.join("|"));
    issues.push(Issue::new(path, "invalid_value", message));
}

/// What the CLI says of an empty list.
const EMPTY: &str = "Too small: expected array to have >=1 items";

/// A list has to name at least one alternative, at every depth.
fn alternatives(pattern: &Value, path: String, issues: &mut Vec<Issue>) {
    match pattern {
        Value::Array(all) if all.is_empty() => issues.push(Issue::new(path, "too_small", EMPTY)),
        Value::Array(all) => {
            for (at, one) in all.iter().enumerate() {
                alternatives(one, format!("{path}.{at}"), issues);
            }
        }
        Value::Object(pairs) => {
            for (key, one) in pairs {
                alternatives(one, format!("{path}.{key}"), issues);
            }
        }
        _ => {}
    }
}

fn expected(what: &str, found: Option<&Value>, path: String) -> Issue {
    let found = match found {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    };
    Issue::new(path, "invalid_type", format!("Invalid input: expected {what}, received {found}"))
}
