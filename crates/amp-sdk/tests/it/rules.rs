//! Permission rules as a run has them: what the CLI reads, and what it does with them.

use amp_sdk::permissions::evaluate;
use amp_sdk::{
    Permission, PermissionAction, PermissionOptions, StreamMessage, create_permission, execute, plan_run,
};
use serde_json::{Map, Value, json};

use crate::fake::{Fake, INIT, RESULT, block_on, drain};

/// What a run's settings say of rules.
fn written(rules: Vec<Permission>) -> Value {
    let fake = Fake::new("exit 0");
    let options = fake.options().with_permissions(rules);
    plan_run(&"x".into(), &options).unwrap().settings.unwrap()["amp.permissions"].clone()
}

fn made(tool: &str, action: &str, options: PermissionOptions) -> Permission {
    create_permission(tool, action, options).unwrap()
}

fn command(cmd: &str) -> Map<String, Value> {
    json!({ "cmd": cmd }).as_object().cloned().unwrap()
}

/// A CLI that obeys the first rule of its settings: on `ask` it asks, and blocks the call if nobody answers; on `reject` it blocks it;
/// on `delegate` it starts the program. Only `ask` reads an answer.
fn obedient() -> Fake {
    let denied = RESULT.replace("\"session_id\"", "\"permission_denials\":[\"Bash: ls\"],\"session_id\"");
    Fake::new(&format!(
        r#"for word; do case $word in *settings.json) file=$word ;; esac; done
cat >"$AMP_TEST_DIR/prompt"; {INIT}
case $(cat "$file") in
*'"action":"ask"'*) if read -r answer; then echo "$answer" >"$AMP_TEST_DIR/answered"; {RESULT}; else echo asked >"$AMP_TEST_DIR/asked"; {denied}; fi ;;
*'"action":"reject"'*) {denied} ;;
*'"action":"delegate"'*) sh -c "$(sed 's/.*"to":"\([^"]*\)".*/\1/' "$file")"; {RESULT} ;;
*'"action":"allow"'*) echo ran >"$AMP_TEST_DIR/ran"; {RESULT} ;;
esac"#
    ))
}

/// The denied calls of a run of this rule, and the CLI.
fn run(rule: Permission) -> (Vec<String>, Fake) {
    let fake = obedient();
    let options = fake.options().with_permissions([rule]);
    let (messages, error) = block_on(async { drain(&mut execute("x", options)).await });
    assert!(error.is_none(), "{error:?}");
    let Some(StreamMessage::Result(result)) = messages.last() else { panic!("{messages:?}") };
    (result.summary.permission_denials.iter().map(ToString::to_string).collect(), fake)
}

#[test]
fn allow_runs_without_a_question() {
    let (denied, fake) = run(made("Bash", "allow", PermissionOptions::default()));
    assert!(denied.is_empty() && fake.path("ran").exists() && !fake.path("asked").exists());
    let rules = [made("Bash", "allow", PermissionOptions::default())];
    assert_eq!(evaluate(&rules, "Bash", &command("ls"), None).exit_code(), 0);
}

#[test]
fn ask_is_a_denial_where_nobody_answers() {
    let (denied, fake) = run(made("Bash", "ask", PermissionOptions::default()));
    assert_eq!(denied, ["Bash: ls"]);
    // The CLI asked, and found its input at its end.
    assert!(fake.path("asked").exists() && !fake.path("answered").exists());
    let rules = [made("Bash", "ask", PermissionOptions::default())];
    assert_eq!(evaluate(&rules, "Bash", &command("ls"), None).exit_code(), 1);
}

#[test]
fn reject_is_a_denial_without_a_question() {
    let (denied, fake) = run(made("Bash", "reject", PermissionOptions::default()));
    assert_eq!(denied, ["Bash: ls"]);
    assert!(!fake.path("asked").exists() && !fake.path("ran").exists());
    let rules = [made("Bash", "reject", PermissionOptions::default())];
    assert_eq!(evaluate(&rules, "Bash", &command("ls"), None).exit_code(), 2);
}

#[test]
fn delegate_runs_another_command() {
    let to = PermissionOptions::default().with_to("touch $AMP_TEST_DIR/delegated");
    let (denied, fake) = run(made("Bash", "delegate", to));
    assert!(denied.is_empty() && fake.path("delegated").exists());
    let error = create_permission("Bash", "delegate", PermissionOptions::default()).unwrap_err();
    assert!(error.to_string().contains("\"to\""), "{error}");
    create_permission("Bash", "allow", PermissionOptions::default().with_to("x")).unwrap_err();
}

#[test]
fn there_are_four_actions() {
    for action in ["allow", "reject", "ask"] {
        let rule = made("Read", action, PermissionOptions::default());
        assert_eq!(rule.to_value(), json!({"tool": "Read", "action": action}));
    }
    for action in ["deny", "Allow", ""] {
        let error = create_permission("Read", action, PermissionOptions::default()).unwrap_err();
        assert_eq!(error.kind(), "invalid_configuration", "{action}");
    }
}

#[test]
fn a_rule_may_match_arguments() {
    let matches = json!({"cmd": ["rm *", "rmdir *"]}).as_object().cloned().unwrap();
    let rule = made("Bash", "reject", PermissionOptions::default().with_matches(matches));
    assert_eq!(
        written(vec![rule.clone()]),
        json!([{"tool": "Bash", "action": "reject", "matches": {"cmd": ["rm *", "rmdir *"]}}])
    );
    assert_eq!(
        evaluate(std::slice::from_ref(&rule), "Bash", &command("rm x"), None).action,
        Some(PermissionAction::Reject)
    );
    assert_ne!(evaluate(&[rule], "Bash", &command("ls"), None).action, Some(PermissionAction::Reject));
}

#[test]
fn a_rule_may_be_for_subagents_alone() {
    let rule = made("edit_file", "ask", PermissionOptions::default().with_context("subagent"));
    assert_eq!(
        written(vec![rule.clone()]),
        json!([{"tool": "edit_file", "action": "ask", "context": "subagent"}])
    );
    let asked = |context| evaluate(std::slice::from_ref(&rule), "edit_file", &Map::new(), context).matched;
    let user =
        |matched: Option<amp_sdk::permissions::MatchedRule>| matched.is_some_and(|found| found.entry == rule);
    assert!(user(asked(Some("subagent"))) && !user(asked(Some("thread"))) && !user(asked(None)));
}

#[test]
fn rules_keep_their_order_and_take_the_place_of_the_users_own() {
    let fake = Fake::new("exit 0");
    std::fs::write(
        fake.path("mine.json"),
        r#"{"amp.permissions": [{"tool": "*", "action": "allow"}], "x": 1}"#,
    )
    .unwrap();
    let rules: Vec<Permission> =
        ["Read", "glob", "Bash"].map(|tool| Permission::new(tool, PermissionAction::Allow)).into();
    let options = fake.options().with_settings_file(fake.path("mine.json")).with_permissions(rules.clone());
    let settings = plan_run(&"x".into(), &options).unwrap().settings.unwrap();
    assert_eq!(
        settings["amp.permissions"],
        json!(rules.iter().map(Permission::to_value).collect::<Vec<_>>())
    );
    assert_eq!((&settings["x"], &settings["amp.dangerouslyAllowAll"]), (&json!(1), &json!(false)));
}
