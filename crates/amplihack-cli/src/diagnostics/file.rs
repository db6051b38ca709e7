//! Diagnostics in a file: a JSON object a line, private to this user, appended to.

use std::fmt;
use std::sync::Mutex;

use amplihack_config::secret::{REDACTED, is_secret_name};
use amplihack_secrets::redact_credentials;
use amplihack_sys::log::JsonLog;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Appends events to a log.
pub(super) struct JsonLogLayer(pub(super) Mutex<JsonLog>);

impl<S: Subscriber> Layer<S> for JsonLogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let line = event_json(event);
        if let Ok(mut log) = self.0.lock() {
            // A full disk must not end the run; stderr has what matters.
            let _ = log.append_value(&line);
        }
    }
}

/// `event` as an object: `at`, `level`, `target`, `message`, `fields`.
fn event_json(event: &Event<'_>) -> Value {
    let mut fields = EventFields(Map::new());
    event.record(&mut fields);
    let message = fields.0.remove("message");
    json!({
        "at": Timestamp::now(),
        "level": event.metadata().level().as_str().to_ascii_lowercase(),
        "target": event.metadata().target(),
        "message": message,
        "fields": fields.0,
        "pid": std::process::id(),
    })
}

/// The fields of an event, without secrets.
struct EventFields(Map<String, Value>);

impl EventFields {
    fn add_field(&mut self, field: &Field, value: Value) {
        let value = match value {
            _ if is_secret_name(field.name()) => REDACTED.into(),
            Value::String(text) => redact_credentials(&text).into_owned().into(),
            other => other,
        };
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add_field(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add_field(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add_field(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add_field(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add_field(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add_field(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use tracing_subscriber::prelude::*;

    use super::*;

    #[test]
    fn events_are_appended_without_their_secrets() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.jsonl");
        for count in [1_u64, 2] {
            let log = JsonLogLayer(Mutex::new(JsonLog::open(&path).unwrap()));
            tracing::subscriber::with_default(tracing_subscriber::registry().with(log), || {
                let error = "token ghp_R4nd0mQ9xZ7bL2vK8mN3pT6wY1cF5hJ0sDqE\nrefused";
                tracing::warn!(%error, count, api_key = "short", "a call {} failed", "once");
            });
        }
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        for (line, count) in lines.iter().zip(1..) {
            assert_eq!((&line["level"], &line["message"]), (&"warn".into(), &"a call once failed".into()));
            assert_eq!(line["fields"]["count"], count);
            assert_eq!(line["fields"]["api_key"], "[redacted]");
            let error = line["fields"]["error"].as_str().unwrap();
            assert!(error.contains("[redacted:") && error.ends_with("\nrefused"), "{error}");
            assert!(line["at"].as_str().unwrap().parse::<Timestamp>().is_ok());
        }
    }
}
