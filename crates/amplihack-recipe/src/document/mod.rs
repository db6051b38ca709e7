//! The file of a recipe: YAML with places, read into typed steps.

mod fields;
mod recipe;
mod scalar;
mod scalar_span;
mod step;
#[cfg(test)]
mod tests;
mod tree;

use std::path::Path;

use crate::diagnostic::{RecipeDiagnostic, RecipeSeverity, RecipeSource, RecipeSourceSpan};
use crate::model::Recipe;

/// Bytes of the largest recipe.
pub(crate) const LARGEST: usize = 1_000_000;

/// Reads a recipe out of a file's bytes; `path` is for the diagnostics.
///
/// All errors that can be found are given, those of conditions aside, which are kept with their step.
pub fn parse_recipe(path: &Path, bytes: &[u8]) -> Result<Recipe, Vec<RecipeDiagnostic>> {
    match parse_partly(path, bytes) {
        (Some(recipe), errors) if errors.is_empty() => Ok(recipe),
        (_, errors) => Err(errors),
    }
}

/// Reads what can be read of a recipe, and gives the errors beside it. `None`: nothing can be.
pub(crate) fn parse_partly(path: &Path, bytes: &[u8]) -> (Option<Recipe>, Vec<RecipeDiagnostic>) {
    let source = |text: &str| RecipeSource { path: path.to_owned(), text: text.into() };
    if bytes.len() > LARGEST {
        let what = format!("recipe is too large: {} bytes, max {LARGEST}", bytes.len());
        return (None, vec![RecipeDiagnostic::error_at(&source(""), RecipeSourceSpan::default(), what)]);
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            let span = RecipeSourceSpan { start: valid.len(), end: valid.len() };
            let what = "the recipe is not UTF-8 from here on";
            return (None, vec![RecipeDiagnostic::error_at(&source(&valid), span, what)]);
        }
    };
    let mut reader = DocumentReader { source: source(text), found: Vec::new() };
    let recipe = match tree::read_tree(&reader.source) {
        Ok(root) => recipe::read_recipe(&mut reader, &root),
        Err(error) => return (None, vec![error]),
    };
    let (errors, warnings): (Vec<_>, Vec<_>) =
        reader.found.into_iter().partition(|found| found.severity == RecipeSeverity::Error);
    (recipe.map(|recipe| Recipe { warnings, ..recipe }), errors)
}

/// The source that is being read, and the faults found so far.
struct DocumentReader {
    source: RecipeSource,
    found: Vec<RecipeDiagnostic>,
}

impl DocumentReader {
    fn add_error(&mut self, span: RecipeSourceSpan, message: impl Into<String>) {
        self.found.push(RecipeDiagnostic::error_at(&self.source, span, message));
    }

    fn add_error_with_help(
        &mut self,
        span: RecipeSourceSpan,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.found.push(RecipeDiagnostic::error_at(&self.source, span, message).with_help(help));
    }

    fn add_warning(&mut self, span: RecipeSourceSpan, message: impl Into<String>, help: Option<String>) {
        let mut warning = RecipeDiagnostic::warning_at(&self.source, span, message);
        warning.help = help;
        self.found.push(warning);
    }

    /// Adds a warning that is an error where every mistake counts.
    fn add_control_warning(
        &mut self,
        span: RecipeSourceSpan,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        let mut warning = RecipeDiagnostic::warning_at(&self.source, span, message);
        (warning.help, warning.is_control) = (help, true);
        self.found.push(warning);
    }
}
