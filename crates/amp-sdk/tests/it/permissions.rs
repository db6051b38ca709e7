//! The evaluator against what the real CLI answered.

use amp_sdk::Permission;
use amp_sdk::permissions::{check, evaluate};
use serde_json::{Map, Value, json};

fn rows(text: &str) -> impl Iterator<Item = Value> {
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
        let issues: Vec<Value> = check(&row["rules"]).iter().map(|issue| issue.to_value()).collect();
        seen += 1;
        if !row["config_error"].is_null() {
            assert_eq!(json!(issues), row["config_error"], "{row}");
            continue;
        }
        assert_eq!(issues, [] as [Value; 0], "{row}");
        let tool = row["tool"].as_str().unwrap();
        let found = evaluate(&rules(&row["rules"]), tool, &object(&row["args"]), row["context"].as_str());
        assert_eq!(json!(found.action.map(|action| action.as_str())), row["action"], "{row}");
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
        let issues: Vec<Value> = check(&row["rules"]).iter().map(|issue| issue.to_value()).collect();
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
