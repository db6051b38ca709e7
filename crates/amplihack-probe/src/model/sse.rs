//! Server-sent events: written for the agents, read by the scripted agent.

use serde_json::Value;

/// A server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SseEvent {
    /// An event with a name.
    Named(&'static str, Value),
    /// An event without a name.
    Data(Value),
    /// Chat Completions' end mark.
    Done,
}

/// The events as they go over the wire.
pub(crate) fn encode_events(events: &[SseEvent]) -> String {
    let mut wire = String::new();
    for event in events {
        let (name, data) = match event {
            SseEvent::Named(name, data) => (Some(*name), data.to_string()),
            SseEvent::Data(data) => (None, data.to_string()),
            SseEvent::Done => (None, "[DONE]".to_owned()),
        };
        if let Some(name) = name {
            wire.push_str("event: ");
            wire.push_str(name);
            wire.push('\n');
        }
        wire.push_str("data: ");
        wire.push_str(&data);
        wire.push_str("\n\n");
    }
    wire
}

/// The data lines of a stream, in order, up to the end mark. Each of ours is one line.
pub(crate) fn data_lines(wire: &str) -> impl Iterator<Item = &str> {
    wire.lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(str::trim_start)
        .take_while(|data| *data != "[DONE]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read() {
        let events = [
            SseEvent::Named("a", json!({"text": "one\ntwo"})),
            SseEvent::Data(json!({"n": 2})),
            SseEvent::Done,
            SseEvent::Data(json!("late")),
        ];
        let wire = encode_events(&events);
        assert!(wire.starts_with("event: a\ndata: {\"text\":\"one\\ntwo\"}\n\ndata: "), "{wire}");
        let read: Vec<Value> = data_lines(&wire).map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read, [json!({"text": "one\ntwo"}), json!({"n": 2})]);
    }
}
