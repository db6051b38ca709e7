//! The evaluator against what the real CLI answered.

use std::time::Duration;

use amp_sdk::permissions::{DelegatePrograms, RuleIssue, check_rules, decide_call, evaluate, never_matches};
use amp_sdk::{Permission, PermissionAction};
use amplihack_config::env::Env;
use serde_json::{Map, Value, json};

pub(crate) fn rows(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn rules(value: &Value) -> Vec<Permission> {
    let rules = value.as_array().cloned().unwrap_or_default();
    rules.into_iter().map(|rule| Permission::try_from(rule).unwrap()).collect()
}

#[test]
fn the_shared_oracle_agrees() {
    let mut seen = 0;
    for row in rows(include_str!("../cases/permissions_oracle.jsonl")) {
        let issues: Vec<Value> = check_rules(&row["rules"]).iter().map(RuleIssue::to_value).collect();
        seen += 1;
        if !row["config_error"].is_null() {
            assert_eq!(json!(issues), row["config_error"], "{row}");
            continue;
        }
        assert_eq!(issues, [] as [Value; 0], "{row}");
        let tool = row["tool"].as_str().unwrap();
        let found = evaluate(&rules(&row["rules"]), tool, &object(&row["args"]), row["context"].as_str());
        assert_eq!(json!(found.action.map(PermissionAction::as_str)), row["action"], "{row}");
        assert_eq!(json!(found.exit_code()), row["exit_code"], "{row}");
        let matched = found.matched.as_ref();
        assert_eq!(json!(matched.map(|matched| matched.source.as_str())), row["source"], "{row}");
        assert_eq!(json!(matched.map(|matched| matched.index)), row["match_index"], "{row}");
        if !row["matched_user_rule"].is_null() {
            assert_eq!(found.to_value()["matchedEntry"], row["matched_user_rule"], "{row}");
        }
    }
    assert_eq!(seen, 27);
}

/// Rows recorded from 0.0.1790142911 without an account, as the shared ones: renamed arguments, lines, JavaScript's
/// expressions, globs over tools, contexts, everything that it refuses.
#[test]
fn everything_else_that_was_asked_of_the_real_cli_agrees() {
    let mut wrong = Vec::new();
    for row in rows(include_str!("../cases/permissions_recorded.jsonl")) {
        let issues: Vec<Value> = check_rules(&row["rules"]).iter().map(RuleIssue::to_value).collect();
        let expected = row.get("details").cloned().unwrap_or_else(|| json!([]));
        if json!(issues) != expected {
            wrong.push(format!("{row}\n  refused for {issues:?}"));
        }
        if row.get("details").is_some() {
            continue;
        }
        let tool = row["tool"].as_str().unwrap();
        let found = evaluate(&rules(&row["rules"]), tool, &object(&row["args"]), row["context"].as_str());
        let value = found.to_value();
        let same = ["action", "matchedEntry", "matchIndex", "source", "error"]
            .into_iter()
            .all(|key| value.get(key) == row.get(key));
        if !same || json!(found.exit_code()) != row["exit_code"] {
            wrong.push(format!("{row}\n  is {value}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A program that delegates are tested with.
pub(crate) fn program(dir: &std::path::Path, name: &str, body: &str) -> String {
    let path = dir.join(name);
    // From another process: see `testing::install`.
    let made = std::process::Command::new("/bin/sh")
        .args(["-c", "printf '%s\\n' '#!/bin/sh' \"$2\" > \"$1\" && chmod 700 \"$1\"", "sh"])
        .arg(&path)
        .arg(body)
        .status();
    assert!(made.unwrap().success());
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn programs_of_delegate_rules_are_asked_as_the_cli_asks_them() {
    let dir = tempfile::tempdir().unwrap();
    let env = Env::empty()
        .with_variable("HOME", dir.path())
        .with_variable("PATH", "/usr/bin:/bin")
        .with_variable("OUT", dir.path());
    let delegates = DelegatePrograms::new(env).with_timeout(Duration::from_millis(600));
    let note = "{ cat; printf ' %s %s' \"$AGENT\" \"$AGENT_TOOL_NAME\"; } > \"$OUT/noted\"";
    program(dir.path(), "allow", note);
    let cases = [
        ("~/allow".to_owned(), Some(PermissionAction::Allow), None),
        ("true".to_owned(), Some(PermissionAction::Allow), None),
        ("false".to_owned(), Some(PermissionAction::Ask), None),
        (
            program(dir.path(), "no", "echo because >&2; exit 7"),
            Some(PermissionAction::Reject),
            Some("because\n"),
        ),
        (program(dir.path(), "killed", "kill -9 $$"), Some(PermissionAction::Reject), Some("")),
        (program(dir.path(), "slow", "sleep 60"), Some(PermissionAction::Reject), Some("did not decide")),
        ("bash -c".to_owned(), Some(PermissionAction::Reject), Some("start bash -c")),
    ];
    for (to, action, error) in cases {
        let rules = [Permission::new("t", PermissionAction::Delegate).with_program(to.clone())];
        let args = object(&json!({"a": "x\n"}));
        let found = decide_call(&rules, "T", &args, None, &delegates).await;
        assert_eq!(found.action, action, "{to}");
        assert!(error.is_none_or(|part| found.error.as_deref().unwrap().contains(part)), "{found:?}");
        let rejected = evaluate(&rules, "T", &args, None);
        assert_eq!(rejected.action, Some(PermissionAction::Reject));
        assert_eq!(rejected.matched, found.matched);
    }
    assert_eq!(std::fs::read_to_string(dir.path().join("noted")).unwrap(), "{\"a\":\"x\\n\"} amp T");
}

#[test]
fn an_expression_that_does_not_compile_is_told_apart() {
    for (pattern, never) in [("/(/", true), ("/a/", false), ("/(", false), ("(", false), ("/(?<=a)b/", false)]
    {
        assert_eq!(never_matches(pattern), never, "{pattern}");
    }
}
