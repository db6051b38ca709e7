//! JSON Schemas of what the derived ones do not see: types of other crates, and JSON that is passed on.

use std::borrow::Cow;

use amplihack_config::agent_binary::AgentBinary;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::EventJson;

/// The schema (draft 2020-12) of `T` as it is written, as JSON of several lines.
pub fn schema_text<T: JsonSchema>() -> String {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    // A schema is a value, and a value always has a text.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

impl JsonSchema for EventJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

/// A time: RFC 3339, UTC.
pub fn time_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time" })
}

/// The name of an agent.
pub fn agent_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": AgentBinary::ALL.map(AgentBinary::name) })
}

/// A line of an agent: text, or its bytes where it is no UTF-8.
pub(super) fn line_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "oneOf": [
        { "type": "string" },
        { "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": 255 } },
    ] })
}

/// Schema of a process's exit: a code or a signal.
pub(super) fn exit_schema(_: &mut SchemaGenerator) -> Schema {
    let one = |name: &str| json_schema!({ "type": "object", "properties": { name: { "type": "integer" } }, "required": [name], "additionalProperties": false });
    json_schema!({ "oneOf": [one("code"), one("signal")] })
}
