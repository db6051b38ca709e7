//! `sessions search`: a text in what agents said, asked for and were given.

use std::borrow::Cow;

use amplihack_agent::{AgentEvent, Envelope};
use amplihack_session::journal::{JournaledRun, events_path};
use amplihack_sys::log::read_from;
use serde_json::json;

use crate::ui::{self, CommandFailure, json_line};

/// Characters on each side of a hit.
const AROUND: usize = 40;

/// Prints each event of `runs` that has `text` in it. 1 if there is none.
pub(super) fn search_sessions(
    runs: &[JournaledRun],
    text: &str,
    as_json: bool,
) -> Result<u8, CommandFailure> {
    let wanted = text.to_lowercase();
    let mut found = false;
    for run in runs {
        for entry in read_from(&events_path(&run.directory), 0)? {
            // A line of a newer version is passed over.
            let Ok(event) = serde_json::from_slice::<Envelope>(&entry?.1) else { continue };
            let Some((kind, said)) = event_text(&event.event) else { continue };
            let Some(snippet) = text_around(&said, &wanted) else { continue };
            found = true;
            ui::print_data(&if as_json {
                json_line(
                    &json!({ "session": run.id.as_str(), "seq": event.seq, "type": kind, "text": snippet }),
                )?
            } else {
                format!("{} {} {kind}: {snippet}\n", run.id, event.seq)
            })?;
        }
    }
    if !found {
        ui::print_line(&format!("no recorded run has {text:?} in it"));
    }
    Ok(u8::from(!found))
}

fn event_text(event: &AgentEvent) -> Option<(&'static str, Cow<'_, str>)> {
    match event {
        // The whole text comes too, as a rule.
        AgentEvent::Text(text) if !text.delta => Some(("text", text.text.as_str().into())),
        AgentEvent::Thinking(text) if !text.delta => Some(("thinking", text.text.as_str().into())),
        AgentEvent::ToolCall(call) => {
            Some(("tool_call", format!("{} {}", call.name, call.input.text()).into()))
        }
        AgentEvent::ToolResult(result) => Some(("tool_result", result.output.as_str().into())),
        AgentEvent::Warning(warning) => Some(("warning", warning.message.as_str().into())),
        AgentEvent::Retry(retry) => Some(("retry", retry.reason.as_str().into())),
        AgentEvent::RateLimit(limit) => {
            let name = limit.limit.as_deref().unwrap_or_default();
            Some(("rate_limit", format!("{}: {name}", limit.status).into()))
        }
        _ => None,
    }
}

/// Returns the text around the first hit, on one line.
fn text_around(said: &str, wanted: &str) -> Option<String> {
    let lower = said.to_lowercase();
    let before = lower.split_once(wanted)?.0.chars().count();
    let start = before.saturating_sub(AROUND);
    let length = before - start + wanted.chars().count() + AROUND;
    let part: String = said.chars().skip(start).take(length).collect();
    Some(part.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::text_around;

    #[test]
    fn a_hit_is_shown_with_what_stands_around_it() {
        assert_eq!(text_around("one\n  Two three", "two").as_deref(), Some("one Two three"));
        assert_eq!(text_around("one", "two"), None);
        let long = format!("{}Nadel{}", "ä".repeat(100), "b".repeat(100));
        assert_eq!(text_around(&long, "nadel"), Some(format!("{}Nadel{}", "ä".repeat(40), "b".repeat(40))));
    }
}
