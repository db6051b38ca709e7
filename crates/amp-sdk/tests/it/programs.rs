//! The programs of the document, in Rust, against the fake CLI.

use amp_sdk::testing::{FakeAmp, FakeReply};
use amp_sdk::{ContentBlock, Options, StreamMessage, blocking, create_permission, execute};
use serde_json::json;

use crate::fake::block_on;

/// The document's task: a prompt in, its answer or `[kind] message` out.
fn task(prompt: &str, options: Options) -> String {
    blocking::run(prompt, options).unwrap_or_else(|error| format!("[{}] {error}", error.kind()))
}

#[test]
fn the_task_prints_an_answer_or_a_kind() {
    let fake = FakeAmp::new().with_run(FakeReply::success("A control plane.")).build().unwrap();
    assert_eq!(task("What does this project do?", fake.options()), "A control plane.");
    assert_eq!(fake.calls()[0].stdin, "What does this project do?");
    let fake = FakeAmp::new().with_run(FakeReply::failure("out of luck")).build().unwrap();
    assert_eq!(task("x", fake.options()), "[execution_failed] run the prompt: out of luck");
}

#[test]
fn the_runner_shows_progress_as_it_comes() {
    let reply = FakeReply::new()
        .init()
        .assistant("I'll look. ")
        .tool_use("tu_1", "Read", &json!({ "path": "Cargo.toml" }))
        .tool_result("tu_1", "[workspace]", false)
        .assistant("It is a workspace.")
        .result("It is a workspace.");
    let fake = FakeAmp::new().with_run(reply).build().unwrap();
    let (mut text, mut shown, mut turns) = (String::new(), Vec::new(), None);
    block_on(async {
        let mut messages = execute("What is this?", fake.options());
        while let Some(message) = messages.next().await {
            match message.unwrap() {
                StreamMessage::System(system) => {
                    shown.push(format!("{} tools available", system.tools.len()));
                }
                StreamMessage::Assistant(assistant) => {
                    for block in &assistant.message.content {
                        if let ContentBlock::Text(block) = block {
                            text.push_str(&block.text);
                        }
                    }
                }
                StreamMessage::Result(result) => turns = result.summary.num_turns,
                other => shown.push(other.kind().to_owned()),
            }
        }
    });
    assert_eq!((text.as_str(), turns.is_some()), ("I'll look. It is a workspace.", true));
    assert_eq!(shown, ["2 tools available", "user"]);
}

#[test]
fn the_reviewer_may_read_and_nothing_else() {
    let rule = |tool, action| create_permission(tool, action, amp_sdk::PermissionOptions::default()).unwrap();
    let permissions = vec![
        rule("Read", "allow"),
        rule("glob", "allow"),
        rule("Grep", "allow"),
        rule("Bash", "reject"),
        rule("edit_file", "reject"),
        rule("create_file", "reject"),
    ];
    let fake = FakeAmp::new().with_run(FakeReply::success("No bugs.")).build().unwrap();
    let options = fake.options().with_mode("smart").with_permissions(permissions).with_visibility("private");
    assert_eq!(blocking::run("Review the code in lib/ for bugs.", options).unwrap(), "No bugs.");
    let call = &fake.calls()[0];
    let words = call.args.join(" ");
    assert!(words.contains("--mode smart") && words.contains("--visibility private"), "{words}");
    let settings: serde_json::Value = serde_json::from_str(call.files.values().next().unwrap()).unwrap();
    let rules = [
        json!({"tool": "Read", "action": "allow"}),
        json!({"tool": "glob", "action": "allow"}),
        json!({"tool": "Grep", "action": "allow"}),
        json!({"tool": "Bash", "action": "reject"}),
        json!({"tool": "edit_file", "action": "reject"}),
        json!({"tool": "create_file", "action": "reject"}),
    ];
    assert_eq!(settings["amp.permissions"], json!(rules));
}

#[test]
fn three_steps_go_on_with_one_thread() {
    let fake = FakeAmp::new()
        .with_run(FakeReply::success("The parser accepts empty names."))
        .with_run(FakeReply::success("Refused now."))
        .with_run(FakeReply::success("Two tests added."))
        .build()
        .unwrap();
    let first = fake.options().with_visibility("private").with_dangerously_allow_all(true);
    let next = first.clone().with_continue_thread(amp_sdk::ContinueThread::Last);
    let said = [
        ("Analyze lib/my_app/auth.ex for improvements", first),
        ("Implement the improvements you identified", next.clone()),
        ("Write tests for the changes you made", next),
    ]
    .map(|(prompt, options)| blocking::run(prompt, options).unwrap());
    assert_eq!(said, ["The parser accepts empty names.", "Refused now.", "Two tests added."]);
    let calls = fake.calls();
    assert_eq!(calls[0].args[..2], ["--execute", "--stream-json"]);
    for call in &calls[1..] {
        assert_eq!(call.args[..3], ["threads", "continue", "--last"]);
    }
}
