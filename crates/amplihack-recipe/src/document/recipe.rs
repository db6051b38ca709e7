//! The top level of a recipe.

use std::collections::BTreeMap;

use super::DocumentReader;
use super::fields::{DocumentFields, RECIPE, node_text};
use super::scalar::node_value;
use super::step;
use super::tree::{YamlNode, YamlNodeKind};
use crate::context::RecipeContext;
use crate::model::{ContextCheck, Recipe, RecipeHooks, RecipeLimits, RecipeStep, SpannedField};
use crate::script::RecipeScript;

/// Fields for readers other than this one.
const METADATA: [&str; 6] =
    ["output", "outputs", "inputs", "parameters", "default_step_timeout", "max_env_value_bytes"];

/// Reads the recipe below `root`; what is wrong is left with the reader.
pub(super) fn read_recipe(reader: &mut DocumentReader, root: &YamlNode) -> Option<Recipe> {
    let mut fields = DocumentFields::from_node(reader, root, RECIPE)?;
    let name = fields.take_text(reader, "name");
    match &name {
        Some(name) if name.value.is_empty() => reader.add_error(name.span, "`name` is empty"),
        Some(_) => {}
        None => reader.add_error(fields.span, "a recipe needs a `name`"),
    }
    let or_empty = |text: Option<SpannedField<String>>| text.map(|text| text.value).unwrap_or_default();
    let description = or_empty(fields.take_text(reader, "description"));
    let version = fields.take_text(reader, "version").map_or_else(|| "1.0.0".to_owned(), |text| text.value);
    let author = or_empty(fields.take_text(reader, "author"));
    let tags = fields.take_texts(reader, "tags");
    let context: RecipeContext = fields
        .take_map(reader, "context")
        .into_iter()
        .map(|entry| (entry.key, node_value(&entry.value)))
        .collect();
    let context_validation = read_checks(reader, &mut fields);
    let limits = read_limits(reader, &mut fields);
    let hooks = read_hooks(reader, &mut fields);
    // Before the steps: a recipe with a parent may have none of its own.
    let extends = fields.take_text(reader, "extends").filter(|name| !name.value.is_empty());
    let steps = read_steps(reader, &mut fields, extends.is_some());
    fields.tolerate_fields(&METADATA);
    fields.warn_unknown(reader);
    Some(Recipe {
        source: reader.source.clone(),
        name: or_empty(name),
        description,
        version,
        author,
        tags,
        context,
        context_validation,
        limits,
        hooks,
        extends,
        steps,
        warnings: Vec::new(),
    })
}

fn read_checks(reader: &mut DocumentReader, fields: &mut DocumentFields) -> BTreeMap<String, ContextCheck> {
    let mut checks = BTreeMap::new();
    for entry in fields.take_map(reader, "context_validation") {
        let what = format!("the rule for `{}`", entry.key);
        let Some(rule) = node_text(reader, &entry.value, &what) else { continue };
        let check = match rule.value.as_str() {
            "nonempty" => ContextCheck::Nonempty,
            "path" => ContextCheck::Path,
            "git_repo" => ContextCheck::GitRepo,
            "optional" | "" => ContextCheck::Optional,
            other => {
                let help = "use nonempty, path, git_repo or optional".to_owned();
                reader.add_warning(
                    rule.span,
                    format!("unknown rule `{other}` for `{}`", entry.key),
                    Some(help),
                );
                ContextCheck::Unknown(other.to_owned())
            }
        };
        checks.insert(entry.key, check);
    }
    checks
}

fn read_limits(reader: &mut DocumentReader, fields: &mut DocumentFields) -> RecipeLimits {
    let Some(entry) = fields.take_field("recursion") else { return RecipeLimits::default() };
    let Some(mut fields) = DocumentFields::from_node(reader, &entry.value, "`recursion`") else {
        return RecipeLimits::default();
    };
    let mut number = |name| {
        fields
            .take_number(reader, name, u32::MAX.into())
            .map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    };
    let limits = RecipeLimits { max_depth: number("max_depth"), max_total_steps: number("max_total_steps") };
    fields.warn_unknown(reader);
    limits
}

fn read_hooks(reader: &mut DocumentReader, fields: &mut DocumentFields) -> RecipeHooks {
    let Some(entry) = fields.take_field("hooks") else { return RecipeHooks::default() };
    let Some(mut fields) = DocumentFields::from_node(reader, &entry.value, "`hooks`") else {
        return RecipeHooks::default();
    };
    let mut hook = |name| fields.take_text(reader, name).map(|text| RecipeScript::parse(&text.value));
    let hooks =
        RecipeHooks { pre_step: hook("pre_step"), post_step: hook("post_step"), on_error: hook("on_error") };
    fields.warn_unknown(reader);
    hooks
}

fn read_steps(reader: &mut DocumentReader, fields: &mut DocumentFields, extends: bool) -> Vec<RecipeStep> {
    let Some(entry) = fields.take_field("steps") else {
        if !extends {
            reader.add_error(fields.span, "a recipe needs at least one step: `steps` is missing");
        }
        return Vec::new();
    };
    let YamlNodeKind::List(items) = &entry.value.kind else {
        reader.add_error(entry.value.span, "`steps` has to be a list");
        return Vec::new();
    };
    if items.is_empty() && !extends {
        reader.add_error(entry.value.span, "a recipe needs at least one step: `steps` is empty");
    }
    let steps: Vec<RecipeStep> = items.iter().filter_map(|item| step::read_step(reader, item)).collect();
    let mut seen = std::collections::HashSet::new();
    for step in &steps {
        if !seen.insert(step.id.as_str()) {
            reader.add_error(step.span, format!("duplicate step id `{}`", step.id));
        }
    }
    steps
}
