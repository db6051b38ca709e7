//! The file of a recipe: YAML with places, read into typed steps.

mod fields;
mod place;
mod recipe;
mod scalar;
mod step;
#[cfg(test)]
mod tests;
mod tree;

use std::path::Path;

use crate::diagnostic::{Diagnostic, Severity, Source, Span};
use crate::model::Recipe;

/// Bytes of the largest recipe.
pub(crate) const LARGEST: usize = 1_000_000;

/// Reads a recipe out of a file's bytes; `path` is for the diagnostics.
///
/// All errors that can be found are given, those of conditions aside, which are kept with their step.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Recipe, Vec<Diagnostic>> {
    let source = |text: &str| Source { path: path.to_owned(), text: text.into() };
    if bytes.len() > LARGEST {
        let what = format!("recipe is too large: {} bytes, max {LARGEST}", bytes.len());
        return Err(vec![Diagnostic::error(&source(""), Span::default(), what)]);
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            let span = Span { start: valid.len(), end: valid.len() };
            return Err(vec![Diagnostic::error(
                &source(&valid),
                span,
                "the recipe is not UTF-8 from here on",
            )]);
        }
    };
    let mut reader = Reader { source: source(text), found: Vec::new() };
    let recipe = match tree::read(&reader.source) {
        Ok(root) => recipe::read(&mut reader, &root),
        Err(error) => return Err(vec![error]),
    };
    let (errors, warnings): (Vec<_>, Vec<_>) =
        reader.found.into_iter().partition(|found| found.severity == Severity::Error);
    match recipe {
        Some(recipe) if errors.is_empty() => Ok(Recipe { warnings, ..recipe }),
        _ => Err(errors),
    }
}

/// What is being read, and what was wrong so far.
struct Reader {
    source: Source,
    found: Vec<Diagnostic>,
}

impl Reader {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.found.push(Diagnostic::error(&self.source, span, message));
    }

    fn error_with_help(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.found.push(Diagnostic::error(&self.source, span, message).help(help));
    }

    fn warning(&mut self, span: Span, message: impl Into<String>, help: Option<String>) {
        let mut warning = Diagnostic::warning(&self.source, span, message);
        warning.help = help;
        self.found.push(warning);
    }
}
