//! A recipe and its parents as one.

use std::path::Path;

use crate::context::RecipeContext;
use crate::diagnostic::RecipeDiagnostic;
use crate::find::{RecipeDiscovery, RecipeReadError, read_recipe, recipe_identity};
use crate::model::{Recipe, RecipeHooks, RecipeLimits, SpannedField};
use crate::plan::CompileError;

/// `child` with what its parents bring: their steps first, their values where it has none.
pub(super) fn merge_parents(
    child: Recipe,
    discovery: &RecipeDiscovery,
    top: &Path,
) -> Result<Recipe, CompileError> {
    let mut line = vec![recipe_identity(&child.source.path)];
    let mut merged = child;
    while let Some(parent) = merged.extends.take() {
        // The place of `extends` is in the youngest recipe that was read.
        let source = merged.source.clone();
        let fail = |what: String| {
            CompileError::Extends(vec![RecipeDiagnostic::error_at(&source, parent.span, what)])
        };
        let path = discovery
            .find_sub_recipe(&parent.value, top, &source.path)
            .map_err(|error| fail(format!("parent recipe `{}` cannot be used: {error}", parent.value)))?;
        let real = recipe_identity(&path);
        if line.contains(&real) {
            return Err(fail(format!("circular extends: `{}` is its own parent", parent.value)));
        }
        line.push(real);
        let parent = read_recipe(&path).map_err(|error| match error {
            RecipeReadError::Invalid(found) => CompileError::Extends(found),
            RecipeReadError::File { .. } => fail(error.to_string()),
        })?;
        merged = merge_parent(merged, parent);
    }
    merged.extends = None;
    Ok(merged)
}

/// `child` with what `parent` brings. Its source and its own parent are the parent's, so that the next step looks from there.
fn merge_parent(mut child: Recipe, parent: Recipe) -> Recipe {
    let mut context: RecipeContext = parent.context;
    context.overlay_with(&child.context);
    let mut checks = parent.context_validation;
    checks.append(&mut child.context_validation);
    let mut steps = parent.steps;
    steps.append(&mut child.steps);
    let mut tags = parent.tags;
    tags.append(&mut child.tags);
    tags.sort();
    tags.dedup();
    let mut warnings = parent.warnings;
    warnings.append(&mut child.warnings);
    Recipe {
        source: parent.source,
        context,
        context_validation: checks,
        steps,
        tags,
        warnings,
        limits: RecipeLimits {
            max_depth: child.limits.max_depth.or(parent.limits.max_depth),
            max_total_steps: child.limits.max_total_steps.or(parent.limits.max_total_steps),
        },
        hooks: RecipeHooks {
            pre_step: child.hooks.pre_step.or(parent.hooks.pre_step),
            post_step: child.hooks.post_step.or(parent.hooks.post_step),
            on_error: child.hooks.on_error.or(parent.hooks.on_error),
        },
        extends: parent.extends.map(|name: SpannedField<String>| name),
        name: child.name,
        description: child.description,
        version: child.version,
        author: child.author,
    }
}
