//! The reading of a step of a recipe.

use std::time::Duration;

use super::DocumentReader;
use super::fields::{DocumentFields, entry_flag, map_entries};
use super::scalar::{node_argument, node_value};
use super::scalar_span;
use super::tree::{YamlNode, YamlNodeKind};
use crate::condition::StepCondition;
use crate::diagnostic::{RecipeDiagnostic, RecipeSourceSpan};
use crate::model::{RecipeStep, SpannedField, StepKind};
use crate::script::RecipeScript;
use crate::template::TextTemplate;

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
pub(super) fn read_step(reader: &mut DocumentReader, node: &YamlNode) -> Option<RecipeStep> {
    let mut fields = DocumentFields::from_node(reader, node, "a step")?;
    let id = fields.take_text(reader, "id");
    match &id {
        Some(id) if id.value.is_empty() => reader.add_error(id.span, "`id` of a step is empty"),
        Some(_) => {}
        None => reader.add_error(fields.span, "a step needs an `id`"),
    }
    let kind = read_kind(reader, &mut fields, id.as_ref());
    let condition = fields.take_text(reader, "condition").map(|text| read_condition(reader, &text));
    let fatal_flag = fields.take_either(reader, "continue_on_error", "nonfatal");
    let goes_on =
        fatal_flag.is_some_and(|entry| entry_flag(reader, &entry, "continue_on_error") == Some(true));
    let fatal = fields.take_flag(reader, "fatal").unwrap_or(true) && !goes_on;
    let step = RecipeStep {
        id: id.as_ref().map(|id| id.value.clone()).unwrap_or_default(),
        kind: kind.unwrap_or(StepKind::Bash { script: RecipeScript::parse("") }),
        output: plain_text(&mut fields, reader, "output").filter(|name| !name.is_empty()),
        condition,
        parse_json: fields.take_flag(reader, "parse_json").unwrap_or(false),
        parse_json_required: fields.take_flag(reader, "parse_json_required").unwrap_or(false),
        working_dir: plain_text(&mut fields, reader, "working_dir").map(|text| TextTemplate::parse(&text)),
        timeout: fields.take_number(reader, "timeout", u64::MAX / 1_000_000_000).map(Duration::from_secs),
        fatal,
        parallel_group: plain_text(&mut fields, reader, "parallel_group").filter(|name| !name.is_empty()),
        when_tags: fields.take_texts(reader, "when_tags"),
        outputs_schema: take_outputs_schema(&mut fields),
        span: id.map_or(fields.span, |id| id.span),
        source: reader.source.clone(),
    };
    fields.tolerate_fields(&METADATA);
    fields.warn_unknown(reader);
    Some(step)
}

fn plain_text(
    fields: &mut DocumentFields,
    reader: &mut DocumentReader,
    name: &'static str,
) -> Option<String> {
    fields.take_text(reader, name).map(|text| text.value)
}

/// Reads the kind of the step: its `type`, else the kind that its fields imply.
fn read_kind(
    reader: &mut DocumentReader,
    fields: &mut DocumentFields,
    id: Option<&SpannedField<String>>,
) -> Option<StepKind> {
    let wanted = fields.take_text(reader, "type");
    let command = fields.take_text(reader, "command");
    let agent = fields.take_text(reader, "agent");
    let prompt = fields.take_text(reader, "prompt");
    let recipe = fields.take_text(reader, "recipe");
    let model = plain_text(fields, reader, "model");
    let mode = plain_text(fields, reader, "mode");
    let auto_stage = fields.take_flag(reader, "auto_stage");
    let recovery_on_failure = fields.take_flag(reader, "recovery_on_failure").unwrap_or(false);
    let context = fields.take_either(reader, "context", "sub_context");
    let context = context.map_or_else(Vec::new, |entry| map_entries(reader, &entry.value, "context"));

    // The order is that of the recipe runner before this one: its recipes leave `type` out in two of five steps.
    let name = match &wanted {
        Some(wanted) if TYPES.contains(&wanted.value.as_str()) => wanted.value.as_str(),
        Some(wanted) => {
            let help = "use bash, agent or recipe, in lower case";
            reader.add_error_with_help(wanted.span, format!("unknown step type `{}`", wanted.value), help);
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
                reader.add_warning(span, format!("step `{shown}` is a recipe step without a `recipe`"), None);
            }
            let context =
                context.iter().map(|entry| (entry.key.clone(), node_argument(&entry.value))).collect();
            Some(StepKind::Recipe { recipe, context, recovery_on_failure })
        }
        "agent" => {
            // No error: recipes in use have such steps, and the runner before this one started their agent.
            if prompt.is_none() {
                let what = format!("step `{shown}` is an agent step without a `prompt`");
                reader.add_control_warning(span, what, None);
            }
            let prompt = prompt.map(|text| TextTemplate::parse(&text.value));
            Some(StepKind::Agent { agent, prompt, model, mode, auto_stage })
        }
        _ => {
            let Some(command) = command else {
                let help = "give it a `command`, a `prompt` or a `recipe`";
                reader.add_error_with_help(span, format!("step `{shown}` has no `command`"), help);
                return None;
            };
            Some(StepKind::Bash { script: RecipeScript::parse(&command.value) })
        }
    }
}

/// Reads a condition; an error is kept for whoever wants it.
fn read_condition(
    reader: &DocumentReader,
    text: &SpannedField<String>,
) -> Result<StepCondition, RecipeDiagnostic> {
    StepCondition::parse(&text.value).map_err(|error| {
        let span: RecipeSourceSpan =
            scalar_span::locate_part(&reader.source, text.span, &text.value, error.span);
        let mut found = RecipeDiagnostic::error_at(&reader.source, span, error.text);
        found.help = error.help;
        found
    })
}

/// `outputs`, if it is a JSON Schema and no note for readers.
fn take_outputs_schema(fields: &mut DocumentFields) -> Option<serde_json::Value> {
    let entry = fields.take_field("outputs")?;
    let YamlNodeKind::Map(entries) = &entry.value.kind else { return None };
    let is_schema = entries.iter().any(|entry| SCHEMA.contains(&entry.key.as_str()));
    is_schema.then(|| node_value(&entry.value).to_json())
}
