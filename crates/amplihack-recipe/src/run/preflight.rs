//! What a recipe asks of its values before the first step.

use std::fmt::Write as _;
use std::path::Path;

use crate::context::Context;
use crate::model::{Check, Recipe};

/// What is wrong with the values of `context`, all of it at once; paths are seen from `cwd`.
pub(crate) fn preflight(recipe: &Recipe, context: &Context, cwd: &Path) -> Option<String> {
    let mut faults = Vec::new();
    for (name, check) in &recipe.context_validation {
        let text = context.lookup(name).map(|value| value.text().to_owned()).unwrap_or_default();
        let path = cwd.join(text.trim());
        let fault = match check {
            Check::Nonempty if text.trim().is_empty() => {
                Some(format!("'{name}' is required but empty or missing"))
            }
            Check::Path if text.trim().is_empty() => {
                Some(format!("'{name}' is required (must be a valid path)"))
            }
            Check::Path if !path.exists() => {
                Some(format!("'{name}' path '{}' does not exist", path.display()))
            }
            Check::GitRepo if text.trim().is_empty() => {
                Some(format!("'{name}' is required (must be a git repo path)"))
            }
            Check::GitRepo if !in_repository(&path) => {
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
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  ✗ {fault}");
    }
    Some(text + "give these values with --set (or -c) and try again")
}

/// Whether a directory is in a work tree, or is a bare repository.
fn in_repository(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let is_bare = |path: &Path| ["HEAD", "objects", "refs"].iter().all(|name| path.join(name).exists());
    path.is_dir() && path.ancestors().any(|above| above.join(".git").exists() || is_bare(above))
}
