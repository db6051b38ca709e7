//! Names in templates that nothing can set: most of them are slips of the pen.

use std::collections::BTreeSet;

use crate::diagnostic::RecipeDiagnostic;
use crate::model::StepKind;
use crate::plan::PlannedRecipe;

/// A warning for each step and name that no context, output, step context or argument of the command line sets.
pub(super) fn warn_unset_names(recipes: &[PlannedRecipe], given: &[String]) -> Vec<RecipeDiagnostic> {
    let mut set: BTreeSet<&str> = given.iter().map(String::as_str).collect();
    for planned in recipes {
        set.extend(planned.recipe.context.iter().map(|(name, _)| name));
        for step in &planned.recipe.steps {
            set.extend(step.output.as_deref());
            if let StepKind::Recipe { context, .. } = &step.kind {
                set.extend(context.iter().map(|(name, _)| name.as_str()));
            }
        }
    }
    let known = |name: &str| {
        let prefixes = name.match_indices('.').map(|(dot, _)| &name[..dot]);
        prefixes.chain([name]).any(|prefix| set.contains(prefix))
            || given.iter().any(|given| given.split('.').next() == name.split('.').next())
    };
    let mut warnings = Vec::new();
    for planned in recipes {
        for step in &planned.recipe.steps {
            let mut seen = BTreeSet::new();
            for name in step.template_names() {
                if known(name) || !seen.insert(name) {
                    continue;
                }
                let what = format!("step `{}`: nothing sets `{name}`; its placeholder is empty", step.id);
                let mut warning = RecipeDiagnostic::warning_at(&step.source, step.span, what);
                let near = set
                    .iter()
                    .map(|known| (strsim::damerau_levenshtein(known, name), known))
                    .filter(|(distance, known)| *distance <= 1 + known.len() / 6)
                    .min();
                warning.help = near.map(|(_, known)| format!("did you mean `{known}`?"));
                warnings.push(warning);
            }
        }
    }
    warnings
}
