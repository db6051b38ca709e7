//! The last message of a run.

use serde_json::{Map, Value};

use super::json::AmpJson;
use super::read_session_id;
use super::scan::{JsonCursor, ScanFault};
use super::untyped_fields::{UntypedFields, put_count, put_filled, put_value, read_unknown_field};
use super::usage::AmpUsage;
use super::{MessageReadError, StreamMessage};

/// `result` of a run that succeeded.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ResultMessage {
    /// `success`
    pub subtype: String,
    /// The thread, `T-…`.
    pub session_id: Option<String>,
    /// The last text of the agent, byte for byte.
    pub result: Option<String>,
    /// Figures that both kinds of result have.
    pub summary: AmpRunSummary,
    /// Further keys, such as `total_cost_usd`.
    pub extra: Map<String, Value>,
    kept: UntypedFields,
}

/// `result` of a run that failed.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ErrorResultMessage {
    /// `error_during_execution`, `error_max_turns`, …
    pub subtype: String,
    /// The thread, `T-…`.
    pub session_id: Option<String>,
    /// Description of what went wrong; see [`ErrorResultMessage::message`].
    pub error: Option<String>,
    /// The last text of the agent, byte for byte.
    pub result: Option<String>,
    /// Figures that both kinds of result have.
    pub summary: AmpRunSummary,
    /// Further keys.
    pub extra: Map<String, Value>,
    is_error: bool,
    kept: UntypedFields,
}

/// Time, turns, tokens and denials of a run.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AmpRunSummary {
    /// Milliseconds from start to end.
    pub duration_ms: Option<u64>,
    /// Milliseconds of waiting for the model.
    pub duration_api_ms: Option<u64>,
    /// Turns of the agent.
    pub num_turns: Option<u64>,
    /// Tokens of the whole run.
    pub usage: Option<AmpUsage>,
    /// Calls that were denied.
    pub permission_denials: Vec<PermissionDenial>,
}

/// A call that was denied.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PermissionDenial {
    /// As a text: `Bash: rm -rf /`.
    Text(String),
    /// As anything else, such as `{"tool_name", "tool_input"}`.
    Other(AmpJson),
}

impl std::fmt::Display for PermissionDenial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Other(json) => f.write_str(json.get()),
        }
    }
}

impl PermissionDenial {
    fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => text.clone().into(),
            Self::Other(json) => json.to_value(),
        }
    }
}

impl AmpRunSummary {
    fn write_fields(&self, map: &mut Map<String, Value>) {
        put_count(map, "duration_ms", self.duration_ms);
        put_count(map, "duration_api_ms", self.duration_api_ms);
        put_count(map, "num_turns", self.num_turns);
        put_value(map, "usage", self.usage.as_ref().map(AmpUsage::to_value));
        let denials = || self.permission_denials.iter().map(PermissionDenial::to_value).collect::<Value>();
        put_value(map, "permission_denials", (!self.permission_denials.is_empty()).then(denials));
    }
}

/// Dollars: `total_cost_usd` or `cost_usd`.
fn cost_in_dollars(extra: &Map<String, Value>) -> Option<f64> {
    ["total_cost_usd", "cost_usd"].into_iter().find_map(|key| extra.get(key)?.as_f64())
}

impl ResultMessage {
    /// Cost of the run in US dollars, where the CLI reports it.
    pub fn cost_usd(&self) -> Option<f64> {
        cost_in_dollars(&self.extra)
    }

    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start_map(&self.extra);
        map.insert("type".to_owned(), "result".into());
        put_filled(&mut map, "subtype", &self.subtype);
        put_value(&mut map, "session_id", self.session_id.clone());
        put_value(&mut map, "result", self.result.clone());
        self.summary.write_fields(&mut map);
        Value::Object(map)
    }
}

impl ErrorResultMessage {
    /// Cost of the run in US dollars, where the CLI reports it.
    pub fn cost_usd(&self) -> Option<f64> {
        cost_in_dollars(&self.extra)
    }

    /// Description of what went wrong: `error`, else the text of the result, else a sentence with the subtype.
    pub fn message(&self) -> String {
        let said = [&self.error, &self.result].into_iter().flatten().find(|text| !text.trim().is_empty());
        said.cloned().unwrap_or_else(|| match self.subtype.as_str() {
            "" => "the run ended in an error that the CLI did not describe".to_owned(),
            subtype => format!("the run ended in {subtype}, which the CLI did not describe"),
        })
    }

    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start_map(&self.extra);
        map.insert("type".to_owned(), "result".into());
        put_filled(&mut map, "subtype", &self.subtype);
        put_value(&mut map, "session_id", self.session_id.clone());
        put_value(&mut map, "error", self.error.clone());
        put_value(&mut map, "result", self.result.clone());
        put_value(&mut map, "is_error", self.is_error.then_some(true));
        self.summary.write_fields(&mut map);
        Value::Object(map)
    }
}

/// Usage that is none must not cost the run its end: it is kept.
fn read_usage(kept: &mut UntypedFields, cursor: &mut JsonCursor<'_>) -> Result<Option<AmpUsage>, ScanFault> {
    let from = cursor.position();
    if cursor.peek() == b'{' {
        match AmpUsage::read(cursor) {
            Ok(usage) => return Ok(Some(usage)),
            Err(MessageReadError::Fault(fault)) => return Err(fault),
            Err(MessageReadError::Field(_)) => cursor.move_to(from),
        }
    }
    kept.keep_next("usage", cursor)?;
    Ok(None)
}

fn read_denials(
    kept: &mut UntypedFields,
    cursor: &mut JsonCursor<'_>,
) -> Result<Vec<PermissionDenial>, ScanFault> {
    let from = cursor.position();
    let mut denials = Vec::new();
    if cursor.peek() == b'[' {
        cursor.read_array(|cursor| {
            denials.push(match cursor.peek() {
                b'"' => PermissionDenial::Text(cursor.read_string()?.into_owned()),
                _ => PermissionDenial::Other(AmpJson::from_scan(cursor.skip_value()?)),
            });
            Ok::<_, ScanFault>(())
        })?;
    }
    if denials.is_empty() {
        cursor.move_to(from);
        kept.keep_next("permission_denials", cursor)?;
    }
    Ok(denials)
}

/// Reads a result. It is an error if it says so, or if its subtype does.
pub(super) fn read(cursor: &mut JsonCursor<'_>) -> Result<StreamMessage, ScanFault> {
    let mut message = ErrorResultMessage::default();
    cursor.read_object(|cursor, key| {
        let (kept, summary) = (&mut message.kept, &mut message.summary);
        match key.as_ref() {
            "type" => cursor.own_type("result")?,
            "subtype" => message.subtype = kept.read_filled("subtype", cursor)?,
            "session_id" => message.session_id = read_session_id(kept, cursor)?,
            "is_error" => message.is_error = kept.read_flag("is_error", cursor)?,
            "error" => message.error = kept.read_text("error", cursor)?,
            "result" => message.result = kept.read_text("result", cursor)?,
            "duration_ms" => summary.duration_ms = kept.read_count("duration_ms", cursor)?,
            "duration_api_ms" => summary.duration_api_ms = kept.read_count("duration_api_ms", cursor)?,
            "num_turns" if amplihack_sys::sabotage::is_active("amp-wire-result") => {
                kept.keep_next("num_turns", cursor)?;
            }
            "num_turns" => summary.num_turns = kept.read_count("num_turns", cursor)?,
            "usage" => summary.usage = read_usage(kept, cursor)?,
            "permission_denials" if amplihack_sys::sabotage::is_active("amp-wire-denials") => {
                kept.keep_next("permission_denials", cursor)?;
            }
            "permission_denials" => summary.permission_denials = read_denials(kept, cursor)?,
            _ => read_unknown_field(&mut message.extra, key, cursor)?,
        }
        Ok::<_, ScanFault>(())
    })?;
    if message.is_error
        || message.subtype.starts_with("error") && !amplihack_sys::sabotage::is_active("amp-wire-max-turns")
    {
        return Ok(StreamMessage::ErrorResult(message));
    }
    let ErrorResultMessage { subtype, session_id, error, result, summary, extra, kept, .. } = message;
    let mut extra = extra;
    put_value(&mut extra, "error", error);
    Ok(StreamMessage::Result(ResultMessage { subtype, session_id, result, summary, extra, kept }))
}
