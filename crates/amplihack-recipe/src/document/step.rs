//! One step of a recipe.

use std::time::Duration;

use super::Reader;
use super::fields::{Fields, entries, flag};
use super::place;
use super::scalar::{argument, value};
use super::tree::{Kind, Node};
use crate::condition::Condition;
use crate::diagnostic::{Diagnostic, Span};
use crate::model::{Spanned, Step, StepKind};
use crate::script::Script;
use crate::template::Template;

/// Fields for readers other than this one.
const METADATA: [&str; 4] = ["description", "name", "inputs", "max_env_value_bytes"];

/// Keys of a JSON Schema, by which `outputs` is known to be one.
const SCHEMA: [&str; 12] = [
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "$schema",
    "$ref",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
];

/// The types that a step can have.
const TYPES: [&str; 3] = ["bash", "agent", "recipe"];

/// Reads a step; what is wrong is left with the reader.
pub(super) fn read(reader: &mut Reader, node: &Node) -> Option<Step> {
    let mut fields = Fields::of(reader, node, "a step")?;
    let id = fields.text(reader, "id");
    match &id {
        Some(id) if id.value.is_empty() => reader.error(id.span, "`id` of a step is empty"),
        Some(_) => {}
        None => reader.error(fields.span, "a step needs an `id`"),
    }
    let kind = kind(reader, &mut fields, id.as_ref());
    let condition = fields.text(reader, "condition").map(|text| condition(reader, &text));
    let fatal_flag = fields.take_either(reader, "continue_on_error", "nonfatal");
    let goes_on = fatal_flag.is_some_and(|entry| flag(reader, &entry, "continue_on_error") == Some(true));
    let fatal = fields.flag(reader, "fatal").unwrap_or(true) && !goes_on;
    let step = Step {
        id: id.as_ref().map(|id| id.value.clone()).unwrap_or_default(),
        kind: kind.unwrap_or(StepKind::Bash { script: Script::parse("") }),
        output: plain_text(&mut fields, reader, "output").filter(|name| !name.is_empty()),
        condition,
        parse_json: fields.flag(reader, "parse_json").unwrap_or(false),
        parse_json_required: fields.flag(reader, "parse_json_required").unwrap_or(false),
        working_dir: plain_text(&mut fields, reader, "working_dir").map(|text| Template::parse(&text)),
        timeout: fields.number(reader, "timeout", u64::MAX / 1_000_000_000).map(Duration::from_secs),
        fatal,
        parallel_group: plain_text(&mut fields, reader, "parallel_group").filter(|name| !name.is_empty()),
        when_tags: fields.texts(reader, "when_tags"),
        outputs_schema: schema(&mut fields),
        span: id.map_or(fields.span, |id| id.span),
        source: reader.source.clone(),
    };
    fields.tolerate(&METADATA);
    fields.finish(reader);
    Some(step)
}

fn plain_text(fields: &mut Fields, reader: &mut Reader, name: &'static str) -> Option<String> {
    fields.text(reader, name).map(|text| text.value)
}

/// What the step does: its `type`, else what its fields say.
fn kind(reader: &mut Reader, fields: &mut Fields, id: Option<&Spanned<String>>) -> Option<StepKind> {
    let wanted = fields.text(reader, "type");
    let command = fields.text(reader, "command");
    let agent = fields.text(reader, "agent");
    let prompt = fields.text(reader, "prompt");
    let recipe = fields.text(reader, "recipe");
    let model = plain_text(fields, reader, "model");
    let mode = plain_text(fields, reader, "mode");
    let auto_stage = fields.flag(reader, "auto_stage");
    let recovery_on_failure = fields.flag(reader, "recovery_on_failure").unwrap_or(false);
    let context = fields.take_either(reader, "context", "sub_context");
    let context = context.map_or_else(Vec::new, |entry| entries(reader, &entry.value, "context"));

    let name = match &wanted {
        Some(wanted) if TYPES.contains(&wanted.value.as_str()) => wanted.value.as_str(),
        Some(wanted) => {
            let help = "there are bash, agent and recipe, in small letters";
            reader.error_with_help(wanted.span, format!("unknown step type `{}`", wanted.value), help);
            return None;
        }
        None if recipe.is_some() => "recipe",
        None if agent.is_some() || (prompt.is_some() && command.is_none()) => "agent",
        None => "bash",
    };
    let span = id.map_or(fields.span, |id| id.span);
    let shown = id.map_or("", |id| id.value.as_str());
    match name {
        "recipe" => {
            if recipe.is_none() {
                reader.warning(span, format!("step `{shown}` runs a recipe and names none"), None);
            }
            let context = context.iter().map(|entry| (entry.key.clone(), argument(&entry.value))).collect();
            Some(StepKind::Recipe { recipe, context, recovery_on_failure })
        }
        "agent" => {
            if prompt.is_none() {
                reader.warning(span, format!("step `{shown}` asks an agent and has no `prompt`"), None);
            }
            let prompt = prompt.map(|text| Template::parse(&text.value));
            Some(StepKind::Agent { agent, prompt, model, mode, auto_stage })
        }
        _ => {
            let Some(command) = command else {
                let help = "give it a `command`, a `prompt` or a `recipe`";
                reader.error_with_help(span, format!("step `{shown}` has no `command`"), help);
                return None;
            };
            Some(StepKind::Bash { script: Script::parse(&command.value) })
        }
    }
}

/// Reads a condition; an error is kept for whoever wants it.
fn condition(reader: &Reader, text: &Spanned<String>) -> Result<Condition, Diagnostic> {
    Condition::parse(&text.value).map_err(|error| {
        let span: Span = place::inside(&reader.source, text.span, &text.value, error.span);
        let mut found = Diagnostic::error(&reader.source, span, error.text);
        found.help = error.help;
        found
    })
}

/// `outputs`, if it is a JSON Schema and no note for readers.
fn schema(fields: &mut Fields) -> Option<serde_json::Value> {
    let entry = fields.take("outputs")?;
    let Kind::Map(entries) = &entry.value.kind else { return None };
    let is_schema = entries.iter().any(|entry| SCHEMA.contains(&entry.key.as_str()));
    is_schema.then(|| value(&entry.value).to_json())
}
