//! The top level of a recipe.

use std::collections::BTreeMap;

use super::Reader;
use super::fields::{Fields, text};
use super::scalar::value;
use super::step;
use super::tree::{Kind, Node};
use crate::context::Context;
use crate::model::{Check, Hooks, Recipe, RecipeLimits, Spanned, Step};
use crate::script::Script;

/// Fields for readers other than this one.
const METADATA: [&str; 6] =
    ["output", "outputs", "inputs", "parameters", "default_step_timeout", "max_env_value_bytes"];

/// Reads the recipe below `root`; what is wrong is left with the reader.
pub(super) fn read(reader: &mut Reader, root: &Node) -> Option<Recipe> {
    let mut fields = Fields::of(reader, root, "a recipe")?;
    let name = fields.text(reader, "name");
    match &name {
        Some(name) if name.value.is_empty() => reader.error(name.span, "`name` is empty"),
        Some(_) => {}
        None => reader.error(fields.span, "a recipe needs a `name`"),
    }
    let or_empty = |text: Option<Spanned<String>>| text.map(|text| text.value).unwrap_or_default();
    let description = or_empty(fields.text(reader, "description"));
    let version = fields.text(reader, "version").map_or_else(|| "1.0.0".to_owned(), |text| text.value);
    let author = or_empty(fields.text(reader, "author"));
    let tags = fields.texts(reader, "tags");
    let context: Context =
        fields.map(reader, "context").into_iter().map(|entry| (entry.key, value(&entry.value))).collect();
    let context_validation = checks(reader, &mut fields);
    let limits = limits(reader, &mut fields);
    let hooks = hooks(reader, &mut fields);
    let extends = fields.text(reader, "extends").filter(|name| !name.value.is_empty());
    let steps = steps(reader, &mut fields, extends.is_some());
    fields.tolerate(&METADATA);
    fields.finish(reader);
    Some(Recipe {
        source: reader.source.clone(),
        name: name?.value,
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

fn checks(reader: &mut Reader, fields: &mut Fields) -> BTreeMap<String, Check> {
    let mut checks = BTreeMap::new();
    for entry in fields.map(reader, "context_validation") {
        let what = format!("the rule for `{}`", entry.key);
        let Some(rule) = text(reader, &entry.value, &what) else { continue };
        let check = match rule.value.as_str() {
            "nonempty" => Check::Nonempty,
            "path" => Check::Path,
            "git_repo" => Check::GitRepo,
            "optional" | "" => Check::Optional,
            other => {
                let help = "there are nonempty, path, git_repo, optional".to_owned();
                reader.warning(rule.span, format!("unknown rule `{other}` for `{}`", entry.key), Some(help));
                Check::Unknown(other.to_owned())
            }
        };
        checks.insert(entry.key, check);
    }
    checks
}

fn limits(reader: &mut Reader, fields: &mut Fields) -> RecipeLimits {
    let Some(entry) = fields.take("recursion") else { return RecipeLimits::default() };
    let Some(mut fields) = Fields::of(reader, &entry.value, "`recursion`") else {
        return RecipeLimits::default();
    };
    let mut number = |name| {
        fields.number(reader, name, u32::MAX.into()).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    };
    let limits = RecipeLimits { max_depth: number("max_depth"), max_total_steps: number("max_total_steps") };
    fields.finish(reader);
    limits
}

fn hooks(reader: &mut Reader, fields: &mut Fields) -> Hooks {
    let Some(entry) = fields.take("hooks") else { return Hooks::default() };
    let Some(mut fields) = Fields::of(reader, &entry.value, "`hooks`") else { return Hooks::default() };
    let mut hook = |name| fields.text(reader, name).map(|text| Script::parse(&text.value));
    let hooks =
        Hooks { pre_step: hook("pre_step"), post_step: hook("post_step"), on_error: hook("on_error") };
    fields.finish(reader);
    hooks
}

fn steps(reader: &mut Reader, fields: &mut Fields, extends: bool) -> Vec<Step> {
    let Some(entry) = fields.take("steps") else {
        if !extends {
            reader.error(fields.span, "a recipe needs at least one step: `steps` is missing");
        }
        return Vec::new();
    };
    let Kind::List(items) = &entry.value.kind else {
        reader.error(entry.value.span, "`steps` has to be a list");
        return Vec::new();
    };
    if items.is_empty() && !extends {
        reader.error(entry.value.span, "a recipe needs at least one step: `steps` is empty");
    }
    let steps: Vec<Step> = items.iter().filter_map(|item| step::read(reader, item)).collect();
    let mut seen = std::collections::HashSet::new();
    for step in &steps {
        if !seen.insert(step.id.as_str()) {
            reader.error(step.span, format!("duplicate step id `{}`", step.id));
        }
    }
    steps
}
