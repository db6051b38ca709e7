//! The CLI's own permission commands.

use serde_json::{Map, Value};

use super::evaluate::{Evaluation, Matched, Source};
use crate::capability::Feature;
use crate::error::{Error, Result};
use crate::manage::{Answer, Call, Words, calls};
use crate::rule::{Action, Permission};

/// Which rules [`list`](fn@list) names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct List {
    /// The CLI's own instead of the user's.
    pub builtin: bool,
    /// The workspace's instead of the user's.
    pub workspace: bool,
}

/// What [`test()`] asks about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Test {
    /// The tool's arguments. The CLI takes them as texts from the command line: a list gives its flag once an element, `null` and empty
    /// texts nothing. No place for secrets.
    pub args: Map<String, Value>,
    /// `thread` or `subagent`.
    pub context: Option<String>,
    /// By the workspace's rules instead of the user's.
    pub workspace: bool,
}

/// Where [`add`] adds, and what a rule may have besides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Add {
    /// Only in this context: `thread` or `subagent`.
    pub context: Option<String>,
    /// The program of `delegate`.
    pub to: Option<String>,
    /// To the workspace's rules instead of the user's.
    pub workspace: bool,
}

fn rules(answer: &Answer) -> Result<Vec<Permission>> {
    let list: Vec<Value> =
        serde_json::from_str(&answer.stdout).map_err(|error| answer.unreadable(error.to_string()))?;
    let list = list.into_iter().map(Permission::try_from).collect::<Result<_>>();
    list.map_err(|error| answer.unreadable(error.to_string()))
}

fn evaluation(answer: &Answer) -> Result<Evaluation> {
    let map = match serde_json::from_str(&answer.stdout) {
        Ok(Value::Object(map)) => map,
        // It says nothing on stdout when it could not answer, and exits with the code of an answer.
        _ if answer.stdout.trim().is_empty() => {
            return Err(Error::from_command(answer.command.clone(), answer.end.clone()));
        }
        Ok(_) => return Err(answer.unreadable("the answer is no object")),
        Err(error) => return Err(answer.unreadable(error.to_string())),
    };
    if map.get("success") == Some(&Value::Bool(false)) {
        let details = map.get("details").and_then(Value::as_array).into_iter().flatten();
        let details: Vec<String> =
            details.map(|issue| format!("{}: {}", text(issue, "path"), text(issue, "message"))).collect();
        return Err(Error::invalid("amp.permissions", format!("the CLI refuses it: {}", details.join("; "))));
    }
    let matched = matched(&map).map_err(|why| answer.unreadable(why))?;
    let action = match map.get("action") {
        None | Some(Value::Null) => None,
        Some(Value::String(action)) => Some(action.parse::<Action>()?),
        Some(_) => return Err(answer.unreadable("\"action\" is not a string")),
    };
    let string = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    Ok(Evaluation {
        tool: string("tool").unwrap_or_default(),
        arguments: map.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default(),
        context: string("context"),
        action,
        matched,
        error: string("error"),
    })
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn matched(map: &Map<String, Value>) -> std::result::Result<Option<Matched>, String> {
    let Some(entry) = map.get("matchedEntry").filter(|entry| !entry.is_null()) else { return Ok(None) };
    let entry = Permission::try_from(entry.clone()).map_err(|error| error.to_string())?;
    let index = map.get("matchIndex").and_then(Value::as_u64).and_then(|index| index.try_into().ok());
    let source = match map.get("source").and_then(Value::as_str) {
        Some("user") => Source::User,
        Some("built-in") => Source::BuiltIn,
        _ => return Err("\"source\" is neither user nor built-in".to_owned()),
    };
    Ok(Some(Matched { entry, index: index.ok_or("\"matchIndex\" is no number")?, source }))
}

fn argument(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The same checks as for a rule of one run, so that the CLI is not asked to write what it will not read.
fn checked(tool: &str, action: Action, with: &Add) -> Result<()> {
    let mut rule = Permission::new(tool, action);
    rule.context.clone_from(&with.context);
    rule.to.clone_from(&with.to);
    rule.validate("permissions add")
}

calls! {
    amp;

    /// The rules, first match first. Reads what the CLI prints with `--json`.
    list(which: List) -> Vec<Permission> {
        let words = Words::new(&["permissions", "list", "--json"]);
        let words = words.switch("--builtin", which.builtin).switch("--workspace", which.workspace);
        Ok(Call::new(words, &[Feature::Permissions], rules))
    }

    /// What the CLI itself says about a call; programs of `delegate` rules are asked. [`evaluate`](crate::permissions::evaluate()) needs no CLI.
    test(tool: &str, what: &Test) -> Evaluation {
        let mut words = Words::new(&["permissions", "test"]).place("tool", tool);
        for (key, value) in &what.args {
            let values = match value {
                Value::Array(values) => values.iter().filter_map(argument).collect(),
                other => argument(other).into_iter().collect::<Vec<_>>(),
            };
            words = words.each(&format!("--{key}"), values);
        }
        let words = words
            .option("--context", what.context.as_ref())
            .switch("--workspace", what.workspace)
            .switch("--json", true);
        Ok(Call::new(words, &[Feature::Permissions], evaluation).answering(&[1, 2]))
    }

    /// Puts a rule in front of all others. Not in governed execution.
    add(tool: &str, action: Action, with: &Add) -> String {
        checked(tool, action, with)?;
        // The current CLI reads what follows the action as a line of its own language: options of the rule, the tool, what it matches.
        let words = Words::new(&["permissions", "add"])
            .place("action", action.as_str())
            .option("--context", with.context.as_ref())
            .option("--to", with.to.as_ref())
            .place("tool", tool)
            .switch("-w", with.workspace);
        Ok(Call::text(words, &[Feature::Permissions]).ungoverned())
    }
}
