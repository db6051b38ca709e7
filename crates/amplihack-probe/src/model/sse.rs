//! Server-sent events: written for the agents, read by the scripted agent.

use serde_json::Value;

/// One server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// An event with a name.
    Named(&'static str, Value),
    /// An event without a name.
    Data(Value),
    /// Chat Completions' end mark.
    Done,
}

/// The events as they go over the wire.
pub(crate) fn encode(events: &[Event]) -> String {
    let mut wire = String::new();
    for event in events {
        let (name, data) = match event {
            Event::Named(name, data) => (Some(*name), data.to_string()),
            Event::Data(data) => (None, data.to_string()),
            Event::Done => (None, "[DONE]".to_owned()),
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
pub(crate) fn data(wire: &str) -> impl Iterator<Item = &str> {
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
            Event::Named("a", json!({"text": "one\ntwo"})),
            Event::Data(json!({"n": 2})),
            Event::Done,
            Event::Data(json!("late")),
        ];
        let wire = encode(&events);
        assert!(wire.starts_with("event: a\ndata: {\"text\":\"one\\ntwo\"}\n\ndata: "), "{wire}");
        let read: Vec<Value> = data(&wire).map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read, [json!({"text": "one\ntwo"}), json!({"n": 2})]);
    }
}
