//! The checks on a recipe's values before the first step.

use amplihack_config::repository::repository_root;
use std::path::Path;

use amplihack_config::env::Env;
use amplihack_sys::push_line;

use crate::context::RecipeContext;
use crate::model::{ContextCheck, Recipe};

/// Returns every fault of the values of `context`, in one text; paths are seen from `cwd`.
pub(crate) fn preflight_faults(
    recipe: &Recipe,
    context: &RecipeContext,
    cwd: &Path,
    env: &Env,
) -> Option<String> {
    let mut faults = Vec::new();
    for (name, check) in &recipe.context_validation {
        let text = context.lookup_path(name).map(|value| value.text().to_owned()).unwrap_or_default();
        let path = cwd.join(text.trim());
        let fault = match check {
            ContextCheck::Nonempty if text.trim().is_empty() => {
                Some(format!("'{name}' is required but empty or missing"))
            }
            ContextCheck::Path if text.trim().is_empty() => {
                Some(format!("'{name}' is required (must be a valid path)"))
            }
            ContextCheck::Path if !path.exists() => {
                Some(format!("'{name}' path '{}' does not exist", path.display()))
            }
            ContextCheck::GitRepo if text.trim().is_empty() => {
                Some(format!("'{name}' is required (must be a git repo path)"))
            }
            ContextCheck::GitRepo if !in_repository(&path, env) => {
                Some(format!("'{name}' path '{}' is not a git repository", path.display()))
            }
            _ => None,
        };
        faults.extend(fault);
    }
    if faults.is_empty() {
        return None;
    }
    let mut text = format!("pre-flight validation failed for '{}'\n", recipe.name);
    for fault in faults {
        push_line!(text, "  ✗ {fault}");
    }
    Some(text + "give these values with --set (or -c) and try again")
}

/// Reports whether a directory is in a work tree, or is a bare repository.
fn in_repository(path: &Path, env: &Env) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let is_bare = |path: &Path| ["HEAD", "objects", "refs"].iter().all(|name| path.join(name).exists());
    path.is_dir() && (repository_root(&path, env).is_some() || path.ancestors().any(is_bare))
}
