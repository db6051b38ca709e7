//! A plan in words, for `--explain`.

use crate::model::{Recipe, RecipeStep, StepKind};
use crate::plan::Plan;
use amplihack_sys::{push_line, push_text};

/// Describes a plan: the recipe's head, its values, its steps in order, and the recipes below it.
pub fn describe_plan(plan: &Plan) -> String {
    let mut out = String::new();
    let order = std::iter::once(plan.root).chain((0..plan.recipes.len()).filter(|place| *place != plan.root));
    for (number, place) in order.enumerate() {
        if number > 0 {
            out.push('\n');
        }
        write_recipe(&mut out, &plan.recipes[place].recipe);
    }
    out
}

fn write_recipe(out: &mut String, recipe: &Recipe) {
    write_line(out, format_args!("Recipe: {} (v{})", recipe.name, recipe.version));
    for (label, text) in [("Description", &recipe.description), ("Author", &recipe.author)] {
        if !text.is_empty() {
            write_line(out, format_args!("{label}: {}", text.trim_end()));
        }
    }
    if !recipe.tags.is_empty() {
        write_line(out, format_args!("Tags: {}", recipe.tags.join(", ")));
    }
    if let Some(depth) = recipe.limits.max_depth {
        write_line(out, format_args!("Max depth: {depth}"));
    }
    if let Some(steps) = recipe.limits.max_total_steps {
        write_line(out, format_args!("Max total steps: {steps}"));
    }
    if !recipe.context.is_empty() {
        write_line(out, format_args!("Context:"));
        for (name, value) in recipe.context.iter() {
            write_line(out, format_args!("  {name} = {}", shorten_text(&value.json_text())));
        }
    }
    write_line(out, format_args!("Steps ({}):", recipe.steps.len()));
    for (number, step) in recipe.steps.iter().enumerate() {
        write_line(out, format_args!("  {}. {}", number + 1, describe_step(step)));
        match &step.condition {
            Some(Ok(condition)) => write_line(out, format_args!("     if {}", one_line(condition.source()))),
            Some(Err(error)) => write_line(out, format_args!("     if ? ({})", error.message)),
            None => {}
        }
    }
}

/// A step on one line: id, type, what it runs, where its output goes, what is special.
fn describe_step(step: &RecipeStep) -> String {
    let mut out = format!("{} [{}]", step.id, step.kind.name());
    match &step.kind {
        StepKind::Agent { agent: Some(name), .. } | StepKind::Recipe { recipe: Some(name), .. } => {
            push_text!(out, " {}", name.value);
        }
        _ => {}
    }
    if let Some(name) = &step.output {
        push_text!(out, " → {name}");
    }
    let flags = [
        (step.parse_json_required, "json required".to_owned()),
        (step.parse_json && !step.parse_json_required, "json".to_owned()),
        (!step.fatal, "continues on error".to_owned()),
        (step.timeout.is_some(), format!("timeout {} s", step.timeout.unwrap_or_default().as_secs())),
        (
            step.parallel_group.is_some(),
            format!("group {}", step.parallel_group.as_deref().unwrap_or_default()),
        ),
        (!step.when_tags.is_empty(), format!("tags {}", step.when_tags.join(" "))),
    ];
    let flags: Vec<String> = flags.into_iter().filter(|(on, _)| *on).map(|(_, text)| text).collect();
    if !flags.is_empty() {
        push_text!(out, " ({})", flags.join(", "));
    }
    out
}

fn write_line(out: &mut String, text: std::fmt::Arguments<'_>) {
    push_line!(out, "{text}");
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shorten_text(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
