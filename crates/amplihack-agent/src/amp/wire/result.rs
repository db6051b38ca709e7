//! The last message of a run.

use serde_json::{Map, Value};

use super::json::Json;
use super::kept::{Kept, put, put_count, put_filled, unknown};
use super::scan::{Cursor, Fault};
use super::session;
use super::usage::Usage;
use super::{Refused, StreamMessage};

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
    /// What both results have.
    pub summary: Summary,
    /// Further keys, such as `total_cost_usd`.
    pub extra: Map<String, Value>,
    kept: Kept,
}

/// `result` of a run that failed.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ErrorResultMessage {
    /// `error_during_execution`, `error_max_turns`, …
    pub subtype: String,
    /// The thread, `T-…`.
    pub session_id: Option<String>,
    /// What went wrong; see [`ErrorResultMessage::message`].
    pub error: Option<String>,
    /// The last text of the agent, byte for byte.
    pub result: Option<String>,
    /// What both results have.
    pub summary: Summary,
    /// Further keys.
    pub extra: Map<String, Value>,
    is_error: bool,
    kept: Kept,
}

/// What a run took.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Milliseconds from start to end.
    pub duration_ms: Option<u64>,
    /// Milliseconds of waiting for the model.
    pub duration_api_ms: Option<u64>,
    /// Turns of the agent.
    pub num_turns: Option<u64>,
    /// Tokens of the whole run.
    pub usage: Option<Usage>,
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
    Other(Json),
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

impl Summary {
    fn put(&self, map: &mut Map<String, Value>) {
        put_count(map, "duration_ms", self.duration_ms);
        put_count(map, "duration_api_ms", self.duration_api_ms);
        put_count(map, "num_turns", self.num_turns);
        put(map, "usage", self.usage.as_ref().map(Usage::to_value));
        let denials = || self.permission_denials.iter().map(PermissionDenial::to_value).collect::<Value>();
        put(map, "permission_denials", (!self.permission_denials.is_empty()).then(denials));
    }
}

/// Dollars: `total_cost_usd` or `cost_usd`.
fn cost(extra: &Map<String, Value>) -> Option<f64> {
    ["total_cost_usd", "cost_usd"].into_iter().find_map(|key| extra.get(key)?.as_f64())
}

impl ResultMessage {
    /// What the run cost, in US dollars, where the CLI says so.
    pub fn cost_usd(&self) -> Option<f64> {
        cost(&self.extra)
    }

    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start(&self.extra);
        map.insert("type".to_owned(), "result".into());
        put_filled(&mut map, "subtype", &self.subtype);
        put(&mut map, "session_id", self.session_id.clone());
        put(&mut map, "result", self.result.clone());
        self.summary.put(&mut map);
        Value::Object(map)
    }
}

impl ErrorResultMessage {
    /// What the run cost, in US dollars, where the CLI says so.
    pub fn cost_usd(&self) -> Option<f64> {
        cost(&self.extra)
    }

    /// What went wrong: `error`, else the text of the result, else a sentence with the subtype.
    pub fn message(&self) -> String {
        let said = [&self.error, &self.result].into_iter().flatten().find(|text| !text.trim().is_empty());
        said.cloned().unwrap_or_else(|| match self.subtype.as_str() {
            "" => "the run ended in an error that the CLI did not describe".to_owned(),
            subtype => format!("the run ended in {subtype}, which the CLI did not describe"),
        })
    }

    /// The wire form, unchanged.
    pub fn to_value(&self) -> Value {
        let mut map = self.kept.start(&self.extra);
        map.insert("type".to_owned(), "result".into());
        put_filled(&mut map, "subtype", &self.subtype);
        put(&mut map, "session_id", self.session_id.clone());
        put(&mut map, "error", self.error.clone());
        put(&mut map, "result", self.result.clone());
        put(&mut map, "is_error", self.is_error.then_some(true));
        self.summary.put(&mut map);
        Value::Object(map)
    }
}

/// Usage that is none must not cost the run its end: it is kept.
fn usage(kept: &mut Kept, cursor: &mut Cursor<'_>) -> Result<Option<Usage>, Fault> {
    let from = cursor.at();
    if cursor.peek() == b'{' {
        match Usage::read(cursor) {
            Ok(usage) => return Ok(Some(usage)),
            Err(Refused::Fault(fault)) => return Err(fault),
            Err(Refused::Field(_)) => cursor.go(from),
        }
    }
    kept.odd("usage", cursor)?;
    Ok(None)
}

fn denials(kept: &mut Kept, cursor: &mut Cursor<'_>) -> Result<Vec<PermissionDenial>, Fault> {
    let from = cursor.at();
    let mut denials = Vec::new();
    if cursor.peek() == b'[' {
        cursor.array(|cursor| {
            denials.push(match cursor.peek() {
                b'"' => PermissionDenial::Text(cursor.string()?.into_owned()),
                _ => PermissionDenial::Other(Json::from_scan(cursor.skip()?)),
            });
            Ok::<_, Fault>(())
        })?;
    }
    if denials.is_empty() {
        cursor.go(from);
        kept.odd("permission_denials", cursor)?;
    }
    Ok(denials)
}

/// Reads a result. It is an error if it says so, or if its subtype does.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<StreamMessage, Fault> {
    let mut message = ErrorResultMessage::default();
    cursor.object(|cursor, key| {
        let (kept, summary) = (&mut message.kept, &mut message.summary);
        match key.as_ref() {
            "type" => cursor.own_type("result")?,
            "subtype" => message.subtype = kept.filled("subtype", cursor)?,
            "session_id" => message.session_id = session(kept, cursor)?,
            "is_error" => message.is_error = kept.flag("is_error", cursor)?,
            "error" => message.error = kept.text("error", cursor)?,
            "result" => message.result = kept.text("result", cursor)?,
            "duration_ms" => summary.duration_ms = kept.count("duration_ms", cursor)?,
            "duration_api_ms" => summary.duration_api_ms = kept.count("duration_api_ms", cursor)?,
            "num_turns" if amplihack_utils::sabotage::active("amp-wire-result") => {
                kept.odd("num_turns", cursor)?;
            }
            "num_turns" => summary.num_turns = kept.count("num_turns", cursor)?,
            "usage" => summary.usage = usage(kept, cursor)?,
            "permission_denials" if amplihack_utils::sabotage::active("amp-wire-denials") => {
                kept.odd("permission_denials", cursor)?;
            }
            "permission_denials" => summary.permission_denials = denials(kept, cursor)?,
            _ => unknown(&mut message.extra, key, cursor)?,
        }
        Ok::<_, Fault>(())
    })?;
    if message.is_error
        || message.subtype.starts_with("error") && !amplihack_utils::sabotage::active("amp-wire-max-turns")
    {
        return Ok(StreamMessage::ErrorResult(message));
    }
    let ErrorResultMessage { subtype, session_id, error, result, summary, extra, kept, .. } = message;
    let mut extra = extra;
    put(&mut extra, "error", error);
    Ok(StreamMessage::Result(ResultMessage { subtype, session_id, result, summary, extra, kept }))
}
