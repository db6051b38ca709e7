//! The recipes that are a part of the program, and the starting point of a new one.

use std::path::{Path, PathBuf};

/// Before the name in the place of a bundled recipe. The places of files are absolute, so that nothing is taken for the other.
const PREFIX: &str = "bundled:";

/// Names and texts, in the order of names.
const RECIPES: &[(&str, &str)] = &[
    ("consensus-review", include_str!("../recipes/consensus-review.yaml")),
    ("default-workflow", include_str!("../recipes/default-workflow.yaml")),
    ("investigation-workflow", include_str!("../recipes/investigation-workflow.yaml")),
    ("quality-audit", include_str!("../recipes/quality-audit.yaml")),
    ("smart-orchestrator", include_str!("../recipes/smart-orchestrator.yaml")),
];

const NEW: &str = include_str!("../recipes/new.yaml");

/// The names of the bundled recipes, in order.
pub fn bundled_names() -> impl Iterator<Item = &'static str> {
    RECIPES.iter().map(|(name, _)| *name)
}

/// The place of the bundled recipe `name` (`bundled:` before it may be there or not): what stands for a file's path.
pub fn bundled_path(name: &str) -> Option<PathBuf> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    bundled_names().find(|known| *known == name).map(|name| PathBuf::from(format!("{PREFIX}{name}")))
}

/// The text of the bundled recipe at `place`; `None` for every other path.
pub fn bundled_text(place: &Path) -> Option<&'static str> {
    let name = place.to_str()?.strip_prefix(PREFIX)?;
    RECIPES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A recipe to begin with, called `name`, which must need no escapes within quotes.
pub fn starting_point(name: &str) -> String {
    NEW.replacen("\"NAME\"", &format!("\"{name}\""), 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::RecipeDiscovery;
    use crate::plan::{PlanCompileMode, compile_plan};
    use amplihack_config::env::Env;

    #[test]
    fn every_one_is_called_as_its_file_and_compiles_without_a_warning() {
        let directory = tempfile::tempdir().unwrap();
        let discovery = RecipeDiscovery::new(&Env::empty(), directory.path(), &[]);
        assert!(bundled_names().is_sorted());
        for name in bundled_names() {
            let plan =
                compile_plan(&bundled_path(name).unwrap(), &discovery, PlanCompileMode::Strict, &[]).unwrap();
            assert_eq!(plan.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0], "{name}");
            let recipe = &plan.root().recipe;
            assert_eq!(recipe.name, name);
            assert!(recipe.tags.contains(&"bundled".to_owned()) && !recipe.description.is_empty(), "{name}");
        }
    }

    #[test]
    fn places_are_no_paths_of_files() {
        for path in ["/x/bundled:quality-audit", "quality-audit", "bundled:x", "bundled:quality-audit.yaml"] {
            assert_eq!(bundled_text(Path::new(path)), None, "{path}");
        }
        assert_eq!(bundled_path("bundled:quality-audit"), bundled_path("quality-audit"));
        assert_eq!(bundled_path("bundled:bundled:quality-audit"), None);
    }
}
