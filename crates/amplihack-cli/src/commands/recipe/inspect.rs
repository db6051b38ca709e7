//! `recipe list`, `validate`, `show`: nothing is started, nothing is written.

use amplihack_config::env::Env;
use amplihack_recipe::diagnostic::RecipeSeverity;
use amplihack_recipe::plan::{PlanCompileMode, compile_plan, describe_plan};
use amplihack_sys::error::ExitKind;
use amplihack_sys::push_line;
use serde_json::{Value, json};

use super::{LookArgs, RecipeListArgs, RecipeShowArgs, compile_failure, not_found, recipe_discovery};
use crate::commands::current_dir;
use crate::ui::{self, CommandFailure, json_line};

pub(super) fn list_recipes(args: &RecipeListArgs, env: &Env) -> Result<u8, CommandFailure> {
    let here = current_dir()?;
    let mut listed = recipe_discovery(env, &here, &here, &args.recipe_dir).list_recipes();
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
        ui::print_data(&json_line(&json!({ "recipes": objects }))?)?;
        return Ok(0);
    }
    let mut text = String::new();
    for found in &listed {
        // A recipe that cannot be read stays in the list: left out, it would look as if it were not found.
        let says = match &found.recipe {
            Ok(recipe) => recipe.description.lines().next().unwrap_or_default(),
            Err(_) => "cannot be read; see `amplihack recipe validate`",
        };
        let mark = if found.is_bundled() { " (bundled)" } else { "" };
        push_line!(text, "{:<32} {says}{mark}", found.name);
    }
    ui::print_report(&ui::make_visible(&text), |_| None)?;
    if listed.is_empty() {
        ui::print_note(
            "hint",
            "no recipe was found; name a directory with -R, or a file with `recipe run PATH`",
        );
    }
    Ok(0)
}

pub(super) fn validate_recipe(args: &LookArgs, env: &Env) -> Result<u8, CommandFailure> {
    let here = current_dir()?;
    let discovery = recipe_discovery(env, &here, &here, &args.recipe_dir);
    let entry = discovery.find_entry(&args.recipe, &here).map_err(|error| not_found(&error.to_string()))?;
    match compile_plan(&entry, &discovery, PlanCompileMode::Strict, &[]) {
        Ok(plan) => {
            let recipe = &plan.root().recipe;
            if args.json {
                let warnings: Vec<String> = plan.warnings.iter().map(ToString::to_string).collect();
                ui::print_data(&json_line(
                    &json!({ "recipe": recipe.name, "valid": true, "errors": [], "warnings": warnings }),
                )?)?;
            } else {
                for warning in &plan.warnings {
                    ui::print_line(&warning.to_string());
                }
                let (steps, recipes) = (recipe.steps.len(), plan.recipes.len());
                let plural = |count: usize| if count == 1 { "" } else { "s" };
                ui::print_visible(&format!(
                    "{}: valid ({steps} step{}, {recipes} recipe{})\n",
                    recipe.name,
                    plural(steps),
                    plural(recipes)
                ))?;
            }
            Ok(0)
        }
        // Only mistakes in a recipe are a report; where no recipe could be read, there is nothing to report on.
        Err(error) if args.json && !error.diagnostics().is_empty() => {
            let (errors, warnings): (Vec<_>, Vec<_>) =
                error.diagnostics().iter().partition(|found| found.severity == RecipeSeverity::Error);
            let texts = |found: Vec<_>| found.into_iter().map(ToString::to_string).collect::<Vec<String>>();
            ui::print_data(&json_line(&json!({
                "recipe": args.recipe,
                "valid": false,
                "errors": texts(errors),
                "warnings": texts(warnings),
            }))?)?;
            Ok(ExitKind::Failed.code())
        }
        Err(error) => Err(compile_failure(&error)),
    }
}

pub(super) fn show_recipe(args: &RecipeShowArgs, env: &Env) -> Result<u8, CommandFailure> {
    let here = current_dir()?;
    let discovery = recipe_discovery(env, &here, &here, &args.recipe_dir);
    let entry = discovery.find_entry(&args.recipe, &here).map_err(|error| not_found(&error.to_string()))?;
    let plan = compile_plan(&entry, &discovery, PlanCompileMode::AsPredecessor, &[])
        .map_err(|error| compile_failure(&error))?;
    let text = if args.explain { describe_plan(&plan) } else { plan.root().recipe.source.text.to_string() };
    ui::print_visible(&text)?;
    Ok(0)
}
