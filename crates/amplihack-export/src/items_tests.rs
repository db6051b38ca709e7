//! Events as a timeline.

use amplihack_agent::event::EventJson;
use serde_json::json;

use super::*;
use crate::testing::{claude_run, numbered_event};

fn told(run: &ExportedRun) -> Vec<String> {
    let told = |item: &TimelineItem| match &item.what {
        TimelineItemKind::Said(text) => format!("{} said {}", item.seq, text.as_str()),
        TimelineItemKind::Thought(text) => format!("{} thought {}", item.seq, text.as_str()),
        TimelineItemKind::Tool(tool) => {
            let gave = tool.result.as_ref().map(|gave| gave.output.as_str().to_owned());
            format!("{} {} {:?}", item.seq, tool.name.as_str(), gave)
        }
        other => format!("{} {other:?}", item.seq),
    };
    timeline_items(run, TextCleaner::new(true)).iter().map(told).collect()
}

fn text(text: &str, delta: bool, message: Option<&str>, parent: Option<&str>) -> AgentText {
    let mut text = AgentText::new(text);
    text.delta = delta;
    text.message = message.map(str::to_owned);
    text.parent = parent.map(str::to_owned);
    text
}

#[test]
fn parts_stand_for_a_text_only_if_it_never_came_whole() {
    let run = claude_run(vec![
        numbered_event(0, AgentEvent::Text(text("he", true, Some("m"), None))),
        numbered_event(1, AgentEvent::Text(text("llo", true, Some("m"), None))),
        numbered_event(2, AgentEvent::Text(text("hello", false, Some("m"), None))),
        numbered_event(3, AgentEvent::Thinking(text("hm", true, Some("n"), None))),
        numbered_event(4, AgentEvent::Text(text("bro", true, Some("n"), None))),
        numbered_event(5, AgentEvent::Text(text("ken", true, Some("n"), None))),
    ]);
    assert_eq!(told(&run), ["2 said hello", "3 thought hm", "4 said broken"]);
}

/// A secret may come in two parts.
#[test]
fn a_secret_in_parts_is_replaced() {
    let run = claude_run(vec![
        numbered_event(0, AgentEvent::Text(text("ghp_R4nd0mQ9xZ7bL2vK", true, None, None))),
        numbered_event(1, AgentEvent::Text(text("8mN3pT6wY1cF5hJ0sDqE", true, None, None))),
    ]);
    assert_eq!(told(&run).len(), 1);
    assert!(!told(&run)[0].contains("mN3pT6"), "{:?}", told(&run));
}

#[test]
fn a_result_stands_with_its_call_and_one_without_a_call_alone() {
    let call =
        |id: &str| AgentEvent::ToolCall(ToolCall::new(id, format!("tool-{id}"), EventJson::from(&json!({}))));
    let result = |id: &str, output: &str| AgentEvent::ToolResult(ToolResult::new(id, output));
    let run = claude_run(vec![
        numbered_event(0, call("a")),
        numbered_event(1, call("b")),
        numbered_event(2, result("b", "B")),
        numbered_event(3, result("a", "A")),
        numbered_event(4, result("c", "C")),
        numbered_event(5, call("d")),
    ]);
    assert_eq!(
        told(&run),
        ["0 tool-a Some(\"A\")", "1 tool-b Some(\"B\")", "4 ? Some(\"C\")", "5 tool-d None"]
    );
}
