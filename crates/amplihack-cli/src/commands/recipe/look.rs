//! `recipe list`, `validate`, `show`: nothing is started, nothing is written.

use std::fmt::Write as _;

use amplihack_recipe::plan::{Mode, compile, describe};
use amplihack_utils::env::Env;
use amplihack_utils::error::ExitKind;
use serde_json::{Value, json};

use super::{ListArgs, LookArgs, ShowArgs, discovery, not_found, refused};
use crate::commands::current_dir;
use crate::ui::{self, Failure, line};

pub(super) fn list(args: &ListArgs, env: &Env) -> Result<u8, Failure> {
    let here = current_dir()?;
    let mut listed = discovery(env, &here, &here, &args.recipe_dir).list();
    if let Some(tag) = &args.tag {
        listed.retain(|found| found.recipe.as_ref().is_ok_and(|recipe| recipe.tags.contains(tag)));
    }
    if args.json {
        let objects: Vec<Value> = listed
            .iter()
            .map(|found| {
                let recipe = found.recipe.as_ref();
                json!({
                    "name": found.name,
                    "path": found.path.to_string_lossy(),
                    "bundled": found.is_bundled(),
                    "description": recipe.map(|recipe| recipe.description.as_str()).ok(),
                    "version": recipe.map(|recipe| recipe.version.as_str()).ok(),
                    "tags": recipe.map(|recipe| recipe.tags.as_slice()).ok(),
                    "steps": recipe.map(|recipe| recipe.steps.len()).ok(),
                    "error": recipe.err(),
                })
            })
            .collect();
        ui::data(&line(&json!({ "recipes": objects }))?)?;
        return Ok(0);
    }
    let mut text = String::new();
    for found in &listed {
        let says = match &found.recipe {
            Ok(recipe) => recipe.description.lines().next().unwrap_or_default(),
            Err(_) => "cannot be read; see `amplihack recipe validate`",
        };
        let mark = if found.is_bundled() { " (bundled)" } else { "" };
        let _ = writeln!(text, "{:<32} {says}{mark}", found.name);
    }
    ui::shown(&text)?;
    if listed.is_empty() {
        ui::note("hint", "no recipe was found; name a directory with -R, or a file with `recipe run PATH`");
    }
    Ok(0)
}

pub(super) fn validate(args: &LookArgs, env: &Env) -> Result<u8, Failure> {
    let here = current_dir()?;
    let discovery = discovery(env, &here, &here, &args.recipe_dir);
    let entry = discovery.entry(&args.recipe, &here).map_err(|error| not_found(&error.to_string()))?;
    match compile(&entry, &discovery, Mode::Strict, &[]) {
        Ok(plan) => {
            let recipe = &plan.root().recipe;
            if args.json {
                let warnings: Vec<String> = plan.warnings.iter().map(ToString::to_string).collect();
                ui::data(&line(
                    &json!({ "recipe": recipe.name, "valid": true, "errors": [], "warnings": warnings }),
                )?)?;
            } else {
                for warning in &plan.warnings {
                    ui::plain(&warning.to_string());
                }
                let (steps, recipes) = (recipe.steps.len(), plan.recipes.len());
                let plural = |count: usize| if count == 1 { "" } else { "s" };
                ui::shown(&format!(
                    "{}: valid ({steps} step{}, {recipes} recipe{})\n",
                    recipe.name,
                    plural(steps),
                    plural(recipes)
                ))?;
            }
            Ok(0)
        }
        Err(error) if args.json && !error.diagnostics().is_empty() => {
            let errors: Vec<String> = error.diagnostics().iter().map(ToString::to_string).collect();
            ui::data(&line(
                &json!({ "recipe": args.recipe, "valid": false, "errors": errors, "warnings": [] }),
            )?)?;
            Ok(ExitKind::Failed.code())
        }
        Err(error) => Err(refused(&error)),
    }
}

pub(super) fn show(args: &ShowArgs, env: &Env) -> Result<u8, Failure> {
    let here = current_dir()?;
    let discovery = discovery(env, &here, &here, &args.recipe_dir);
    let entry = discovery.entry(&args.recipe, &here).map_err(|error| not_found(&error.to_string()))?;
    let plan = compile(&entry, &discovery, Mode::AsPredecessor, &[]).map_err(|error| refused(&error))?;
    let text = if args.explain { describe(&plan) } else { plan.root().recipe.source.text.to_string() };
    ui::shown(&text)?;
    Ok(0)
}
