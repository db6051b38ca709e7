//! The faults of a recipe, with their places: file, line, column, the line itself with a caret.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A recipe's file and what was read from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipeSource {
    /// Path to the recipe's file.
    pub path: PathBuf,
    /// The text of the file.
    pub text: Arc<str>,
}

/// A part of a source, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecipeSourceSpan {
    /// The first byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecipeSeverity {
    /// The recipe runs all the same.
    Warning,
    /// The recipe cannot run.
    Error,
}

/// A fault in a recipe. `Display` gives message, place, the line with a caret, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipeDiagnostic {
    /// The severity of the fault.
    pub severity: RecipeSeverity,
    /// The fault, as a lower-case fragment.
    pub message: String,
    /// Advice on how to correct the recipe.
    pub help: Option<String>,
    /// Set for a warning that is an error where every mistake counts ([`PlanCompileMode::Strict`](crate::plan::PlanCompileMode::Strict)): the recipe
    /// would do something other than it says.
    pub is_control: bool,
    /// The recipe.
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    excerpt: Box<str>,
    /// Characters that are underlined.
    width: usize,
}

/// Characters of a long line that are shown before and behind the place.
const SHOWN: usize = 100;

impl RecipeDiagnostic {
    /// An error at `span` of `source`.
    pub fn error_at(source: &RecipeSource, span: RecipeSourceSpan, message: impl Into<String>) -> Self {
        Self::new(RecipeSeverity::Error, source, span, message.into())
    }

    /// A warning at `span` of `source`.
    pub fn warning_at(source: &RecipeSource, span: RecipeSourceSpan, message: impl Into<String>) -> Self {
        Self::new(RecipeSeverity::Warning, source, span, message.into())
    }

    /// Returns the diagnostic with advice on what to do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn new(severity: RecipeSeverity, source: &RecipeSource, span: RecipeSourceSpan, message: String) -> Self {
        let text = &*source.text;
        let start = floor_boundary(text, span.start);
        let before = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let behind = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = floor_boundary(text, span.end.max(start)).min(behind);
        let column = text[before..start].chars().count();
        let width = text[start..end.max(start)].trim_end().chars().count().max(1);
        let cut = column.saturating_sub(SHOWN);
        let excerpt: String = text[before..behind].chars().skip(cut).take(2 * SHOWN).collect();
        Self {
            severity,
            message,
            help: None,
            is_control: false,
            path: source.path.clone(),
            line: text[..before].matches('\n').count() + 1,
            column: column + 1,
            excerpt: excerpt.trim_end().into(),
            width: width.min(SHOWN),
        }
    }

    /// The message with its place, on one line: `recipe.yaml:3:5: message`.
    pub fn to_line(&self) -> String {
        format!("{}:{}:{}: {}", self.path.display(), self.line, self.column, self.message)
    }

    /// The place of the fault: file, line and column.
    pub(crate) fn place(&self) -> (&Path, usize, usize) {
        (&self.path, self.line, self.column)
    }

    /// The recipe's path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The last boundary of a character at or before `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

impl fmt::Display for RecipeDiagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            RecipeSeverity::Error => "error",
            RecipeSeverity::Warning => "warning",
        };
        writeln!(out, "{word}: {}", self.message)?;
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(out, "{margin} --> {}:{}:{}", self.path.display(), self.line, self.column)?;
        writeln!(out, "{margin} |")?;
        writeln!(out, "{number} | {}", printable_line(&self.excerpt))?;
        let lead = printable_line(&self.excerpt).chars().take((self.column - 1).min(SHOWN)).count();
        write!(out, "{margin} | {}{}", " ".repeat(lead), "^".repeat(self.width))?;
        if let Some(help) = &self.help {
            write!(out, "\n{margin} = {help}")?;
        }
        Ok(())
    }
}

/// `line` without characters that would move the caret or the terminal.
fn printable_line(line: &str) -> String {
    line.chars().map(|char| if char == '\t' || char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> RecipeSource {
        RecipeSource { path: "r.yaml".into(), text: text.into() }
    }

    #[test]
    fn a_caret_under_the_place() {
        let at = source("name: x\nsteps:\n  - condition: 'a ='\n");
        let start = at.text.find("='").unwrap();
        let found =
            RecipeDiagnostic::error_at(&at, RecipeSourceSpan { start, end: start + 1 }, "a single `=`")
                .with_help("write `==`");
        insta::assert_snapshot!(found, @r"
        error: a single `=`
          --> r.yaml:3:19
          |
        3 |   - condition: 'a ='
          |                   ^
          = write `==`
        ");
        assert_eq!(found.to_line(), "r.yaml:3:19: a single `=`");
    }

    #[test]
    fn places_that_are_not_there() {
        for (text, span) in
            [("", (0, 0)), ("ü", (1, 1)), ("a", (9, 20)), ("a\n", (2, 2)), ("\u{1}\tb", (2, 90))]
        {
            let found = RecipeDiagnostic::warning_at(
                &source(text),
                RecipeSourceSpan { start: span.0, end: span.1 },
                "m",
            );
            assert!(found.to_string().starts_with("warning: m\n"), "{found}");
        }
        let long = "x".repeat(100_000);
        let found =
            RecipeDiagnostic::error_at(&source(&long), RecipeSourceSpan { start: 50_000, end: 60_000 }, "m");
        assert!(found.to_string().len() < 1000 && found.column == 50_001);
    }
}
