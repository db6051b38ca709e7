//! A recipe and its parents as one.

use std::path::Path;

use crate::context::Context;
use crate::diagnostic::Diagnostic;
use crate::find::{Discovery, ReadError, identity, read};
use crate::model::{Hooks, Recipe, RecipeLimits, Spanned};
use crate::plan::CompileError;

/// `child` with what its parents bring: their steps first, their values where it has none.
pub(super) fn merged(child: Recipe, discovery: &Discovery, top: &Path) -> Result<Recipe, CompileError> {
    let mut line = vec![identity(&child.source.path)];
    let mut merged = child;
    while let Some(parent) = merged.extends.take() {
        // The place of `extends` is in the youngest recipe that was read.
        let source = merged.source.clone();
        let fail = |what: String| CompileError::Extends(vec![Diagnostic::error(&source, parent.span, what)]);
        let path = discovery
            .sub_recipe(&parent.value, top, &source.path)
            .map_err(|error| fail(format!("parent recipe `{}` cannot be used: {error}", parent.value)))?;
        let real = identity(&path);
        if line.contains(&real) {
            return Err(fail(format!("circular extends: `{}` is its own parent", parent.value)));
        }
        line.push(real);
        let parent = read(&path).map_err(|error| match error {
            ReadError::Invalid(found) => CompileError::Extends(found),
            ReadError::File { .. } => fail(error.to_string()),
        })?;
        merged = merge(merged, parent);
    }
    merged.extends = None;
    Ok(merged)
}

/// `child` with what `parent` brings. Its source and its own parent are the parent's, so that the next step looks from there.
fn merge(mut child: Recipe, parent: Recipe) -> Recipe {
    let mut context: Context = parent.context;
    context.overlay(&child.context);
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
        hooks: Hooks {
            pre_step: child.hooks.pre_step.or(parent.hooks.pre_step),
            post_step: child.hooks.post_step.or(parent.hooks.post_step),
            on_error: child.hooks.on_error.or(parent.hooks.on_error),
        },
        extends: parent.extends.map(|name: Spanned<String>| name),
        name: child.name,
        description: child.description,
        version: child.version,
        author: child.author,
    }
}
