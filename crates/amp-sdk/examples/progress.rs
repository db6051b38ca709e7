//! Messages as they come: the session, the agent's text, its tool calls and their results, the end.

mod common;

use amp_sdk::testing::{FakeAmp, FakeReply};
use amp_sdk::{ContentBlock, StreamMessage, execute};
use common::{cli, say};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> amp_sdk::Result<()> {
    let reply = FakeReply::new()
        .init()
        .assistant("I'll look at the project. ")
        .tool_use("tu_1", "Read", &json!({ "path": "Cargo.toml" }))
        .tool_result("tu_1", "[workspace]", false)
        .assistant("It is a Rust workspace.")
        .result("It is a Rust workspace.");
    let (options, _fake) = cli(FakeAmp::new().with_run(reply))?;
    let mut messages = execute(prompt("What is this?"), options);
    while let Some(message) = messages.next().await {
        match message? {
            StreamMessage::System(system) => say(format_args!(
                "[session {}] {} tools\n",
                system.session_id.as_deref().unwrap_or("?"),
                system.tools.len()
            )),
            StreamMessage::Assistant(assistant) => blocks(&assistant.message.content),
            StreamMessage::User(user) => blocks(&user.message.content),
            StreamMessage::Result(result) => say(format_args!(
                "\n[done] {} ms, {} turns\n",
                result.summary.duration_ms.unwrap_or_default(),
                result.summary.num_turns.unwrap_or_default()
            )),
            StreamMessage::ErrorResult(result) => say(format_args!("\n[failed] {}\n", result.message())),
            // Lines that are no message, and messages of types that are not known yet.
            _ => {}
        }
    }
    Ok(())
}

fn blocks(content: &[ContentBlock]) {
    for block in content {
        match block {
            ContentBlock::Text(text) => say(&text.text),
            ContentBlock::ToolUse(call) => say(format_args!("\n[{} {}]\n", call.name, call.input)),
            ContentBlock::ToolResult(result) => say(format_args!("[{} answered]\n", result.tool_use_id)),
            _ => {}
        }
    }
}

/// The first word of the command line that is no flag.
fn prompt(default: &str) -> String {
    std::env::args().skip(1).find(|arg| !arg.starts_with("--")).unwrap_or_else(|| default.to_owned())
}
