//! From a rule that was tried to a rule that stays: what a run was denied becomes a rule, the evaluator proves what it changes, and only then
//! does the user's own Amp get it.

mod common;

use amp_sdk::permissions::{self, PermissionAddOptions, evaluate};
use amp_sdk::testing::{FakeAmp, FakeReply};
use amp_sdk::{AmpContext, Permission, PermissionAction, StreamMessage, execute};
use common::{cli, say};
use serde_json::{Map, json};

fn command(cmd: &str) -> Map<String, serde_json::Value> {
    [("cmd".to_owned(), json!(cmd))].into_iter().collect()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> amp_sdk::Result<()> {
    let denied = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "I may not run the tests.",
        "duration_ms": 1, "num_turns": 1, "session_id": "T-1", "permission_denials": ["Bash: cargo nextest run"],
    });
    let fake = FakeAmp::new().with_command(&["permissions", "add"], FakeReply::new());
    let (given, _fake) = cli(fake.with_run(FakeReply::new().init().message(&denied)))?;

    // 1. A run under rules that reject every command.
    let rules = vec![Permission::new("Bash", PermissionAction::Reject)];
    let options = given.clone().with_permissions(rules.clone()).with_no_notifications(true).with_no_ide(true);
    let mut messages = execute("Run the tests", options);
    while let Some(message) = messages.next().await {
        if let StreamMessage::Result(result) = message? {
            for denial in &result.summary.permission_denials {
                say(format_args!("denied: {denial}\n"));
            }
        }
    }

    // 2. A narrower rule in front, and what it changes.
    let promoted = Permission::new("Bash", PermissionAction::Allow).with_match("cmd", "cargo nextest *");
    let with: Vec<Permission> = [vec![promoted.clone()], rules.clone()].concat();
    for cmd in ["cargo nextest run", "cargo publish", "curl example.org"] {
        let [before, after] =
            [&rules, &with].map(|rules| evaluate(rules, "Bash", &command(cmd), None).action);
        let word = |action: Option<PermissionAction>| action.map_or("runs", PermissionAction::as_str);
        say(format_args!("{cmd}: {} -> {}\n", word(before), word(after)));
    }

    // 3. The rule for a whole tool goes to Amp itself: its command takes no patterns.
    permissions::add(
        &AmpContext::from(given),
        "Read",
        PermissionAction::Allow,
        &PermissionAddOptions::default(),
    )
    .await?;
    say("added: allow Read\n");
    Ok(())
}
