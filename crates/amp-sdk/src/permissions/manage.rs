//! The CLI's own permission commands.

use serde_json::{Map, Value};

use super::answer::{MatchedRule, PermissionEvaluation, RuleSource};
use crate::capability::CliFeature;
use crate::error::{Error, Result};
use crate::manage::{CommandAnswer, CommandWords, ManagementCall, calls};
use crate::rule::{Permission, PermissionAction};
use crate::setters::setters;

/// The rules that [`list`](fn@list) returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PermissionListOptions {
    /// The CLI's own instead of the user's.
    pub builtin: bool,
    /// The workspace's instead of the user's.
    pub workspace: bool,
}

setters! {
    PermissionListOptions {
        plain(bool) with_builtin = builtin,
        plain(bool) with_workspace = workspace,
    }
}

/// The call that [`test()`] asks about.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct PermissionTestCall {
    /// The tool's arguments. The CLI takes them as texts from the command line: a list gives its flag once an element, `null` and empty
    /// texts nothing. No place for secrets.
    pub args: Map<String, Value>,
    /// `thread` or `subagent`.
    pub context: Option<String>,
    /// By the workspace's rules instead of the user's.
    pub workspace: bool,
}

setters! {
    PermissionTestCall {
        plain(Map<String, Value>) with_args = args,
        into(String) with_context = context,
        plain(bool) with_workspace = workspace,
    }
}

/// The place to which [`add`] adds a rule, and further fields of the rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PermissionAddOptions {
    /// Only in this context: `thread` or `subagent`.
    pub context: Option<String>,
    /// The program of `delegate`.
    pub to: Option<String>,
    /// To the workspace's rules instead of the user's.
    pub workspace: bool,
}

setters! {
    PermissionAddOptions {
        into(String) with_context = context,
        into(String) with_to = to,
        plain(bool) with_workspace = workspace,
    }
}

fn parse_rules(answer: &CommandAnswer) -> Result<Vec<Permission>> {
    let list: Vec<Value> =
        serde_json::from_str(&answer.stdout).map_err(|error| answer.unreadable_error(error.to_string()))?;
    let list = list.into_iter().map(Permission::try_from).collect::<Result<_>>();
    list.map_err(|error| answer.unreadable_error(error.to_string()))
}

fn parse_evaluation(answer: &CommandAnswer) -> Result<PermissionEvaluation> {
    let map = match serde_json::from_str(&answer.stdout) {
        Ok(Value::Object(map)) => map,
        // It says nothing on stdout when it could not answer, and exits with the code of an answer.
        _ if answer.stdout.trim().is_empty() => {
            return Err(Error::from_command(answer.command.clone(), answer.end.clone()));
        }
        Ok(_) => return Err(answer.unreadable_error("the answer is no object")),
        Err(error) => return Err(answer.unreadable_error(error.to_string())),
    };
    if map.get("success") == Some(&Value::Bool(false)) {
        let details = map.get("details").and_then(Value::as_array).into_iter().flatten();
        let details: Vec<String> = details
            .map(|issue| format!("{}: {}", text_field(issue, "path"), text_field(issue, "message")))
            .collect();
        return Err(Error::invalid_option(
            "amp.permissions",
            format!("the CLI refuses it: {}", details.join("; ")),
        ));
    }
    let matched = parse_matched(&map).map_err(|why| answer.unreadable_error(why))?;
    let action = match map.get("action") {
        None | Some(Value::Null) => None,
        Some(Value::String(action)) => Some(action.parse::<PermissionAction>()?),
        Some(_) => return Err(answer.unreadable_error("\"action\" is not a string")),
    };
    let string = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    Ok(PermissionEvaluation {
        tool: string("tool").unwrap_or_default(),
        arguments: map.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default(),
        context: string("context"),
        action,
        matched,
        error: string("error"),
    })
}

fn text_field<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn parse_matched(map: &Map<String, Value>) -> std::result::Result<Option<MatchedRule>, String> {
    let Some(entry) = map.get("matchedEntry").filter(|entry| !entry.is_null()) else { return Ok(None) };
    let entry = Permission::try_from(entry.clone()).map_err(|error| error.to_string())?;
    let index = map.get("matchIndex").and_then(Value::as_u64).and_then(|index| index.try_into().ok());
    let source = match map.get("source").and_then(Value::as_str) {
        Some("user") => RuleSource::User,
        Some("built-in") => RuleSource::BuiltIn,
        _ => return Err("\"source\" is neither user nor built-in".to_owned()),
    };
    Ok(Some(MatchedRule { entry, index: index.ok_or("\"matchIndex\" is no number")?, source }))
}

fn argument_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Checks a new rule as the rules of a run are checked, so that the CLI is not asked to write what it will not read.
fn check_new_rule(tool: &str, action: PermissionAction, with: &PermissionAddOptions) -> Result<()> {
    let mut rule = Permission::new(tool, action);
    rule.context.clone_from(&with.context);
    rule.to.clone_from(&with.to);
    rule.validate("permissions add")
}

calls! {
    amp;

    /// The rules, first match first. Reads what the CLI prints with `--json`.
    list(which: &PermissionListOptions) -> Vec<Permission> {
        let words = CommandWords::new(&["permissions", "list", "--json"]);
        let words = words.with_switch("--builtin", which.builtin).with_switch("--workspace", which.workspace);
        Ok(ManagementCall::new(words, &[CliFeature::Permissions], parse_rules))
    }

    /// Asks the CLI itself about a call; programs of `delegate` rules are asked. `evaluate`, with the feature `permissions`, needs no CLI.
    test(tool: &str, what: &PermissionTestCall) -> PermissionEvaluation {
        let mut words = CommandWords::new(&["permissions", "test"]).with_positional("tool", tool);
        for (key, value) in &what.args {
            let values = match value {
                Value::Array(values) => values.iter().filter_map(argument_text).collect(),
                other => argument_text(other).into_iter().collect::<Vec<_>>(),
            };
            words = words.with_each(&format!("--{key}"), values);
        }
        let words = words
            .with_option("--context", what.context.as_ref())
            .with_switch("--workspace", what.workspace)
            .with_switch("--json", true);
        Ok(ManagementCall::new(words, &[CliFeature::Permissions], parse_evaluation).with_answer_codes(&[1, 2]))
    }

    /// Puts a rule in front of all others. Not in governed execution.
    add(tool: &str, action: PermissionAction, with: &PermissionAddOptions) -> String {
        check_new_rule(tool, action, with)?;
        // The current CLI reads what follows the action as a line of its own language: options of the rule, the tool, what it matches.
        let words = CommandWords::new(&["permissions", "add"])
            .with_positional("action", action.as_str())
            .with_option("--context", with.context.as_ref())
            .with_option("--to", with.to.as_ref())
            .with_positional("tool", tool)
            .with_switch("-w", with.workspace);
        Ok(ManagementCall::new_text(words, &[CliFeature::Permissions]).refuse_governed())
    }
}
