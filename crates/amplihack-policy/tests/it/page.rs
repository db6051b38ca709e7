//! `docs/policy.md` says what is so: its example loads, and its table names every rule.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly, too")]

use std::fs;
use std::path::Path;

use amplihack_policy::rules::{self, ExampleWorld};
use amplihack_policy::user::{Layer, PolicyLayerOwner};
use amplihack_policy::{Event, Policy};
use amplihack_shell::Limits;
use amplihack_verdict::Decision;

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md")).unwrap()
}

#[test]
fn the_table_has_every_rule_with_its_harm() {
    let page = page();
    for rule in rules::builtin_rules() {
        let row = format!("| `{}` | {} | {} |", rule.id, rule.decision, rule.harm);
        assert!(page.contains(&row), "docs/policy.md should have: {row}");
    }
}

#[test]
fn the_example_of_a_users_policy_holds() {
    let page = page();
    let text = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
    let policy =
        Policy::load(&[Layer { owner: PolicyLayerOwner::User, file: "policy.toml".into(), text }]).unwrap();
    assert_eq!(policy.ignored_requests(), []);
    for (script, expected) in [
        ("terraform apply", Decision::Deny),
        ("cat ~/private/x", Decision::Deny),
        ("curl https://mirror.example/", Decision::Ask),
        ("printenv", Decision::Allow),
        ("printenv; rm -rf /", Decision::Deny),
        ("git push --force origin release/2", Decision::Ask),
    ] {
        let event = Event::Shell { script: script.as_bytes(), cwd: Path::new(ExampleWorld::CWD) };
        let verdict = policy.judge(&event, &ExampleWorld::default(), &Limits::with_long_deadline());
        assert_eq!(verdict.decision, expected, "{script}: {}", verdict.reason);
    }
}
