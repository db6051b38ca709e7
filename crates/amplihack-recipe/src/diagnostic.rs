//! What is wrong with a recipe, and where: file, line, column, the line itself with a caret.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A recipe's file and what was read from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Its text.
    pub text: Arc<str>,
}

/// A part of a source, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The recipe runs all the same.
    Warning,
    /// The recipe cannot run.
    Error,
}

/// One thing that is wrong. `Display` gives message, place, the line with a caret, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong: a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
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

impl Diagnostic {
    /// An error at `span` of `source`.
    pub fn error(source: &Source, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, source, span, message.into())
    }

    /// A warning at `span` of `source`.
    pub fn warning(source: &Source, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, source, span, message.into())
    }

    /// The same with a word on what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn new(severity: Severity, source: &Source, span: Span, message: String) -> Self {
        let text = &*source.text;
        let start = floor(text, span.start);
        let before = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let behind = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = floor(text, span.end.max(start)).min(behind);
        let column = text[before..start].chars().count();
        let width = text[start..end.max(start)].trim_end().chars().count().max(1);
        let cut = column.saturating_sub(SHOWN);
        let excerpt: String = text[before..behind].chars().skip(cut).take(2 * SHOWN).collect();
        Self {
            severity,
            message,
            help: None,
            path: source.path.clone(),
            line: text[..before].matches('\n').count() + 1,
            column: column + 1,
            excerpt: excerpt.trim_end().into(),
            width: width.min(SHOWN),
        }
    }

    /// The message with its place, on one line: `recipe.yaml:3:5: message`.
    pub fn line(&self) -> String {
        format!("{}:{}:{}: {}", self.path.display(), self.line, self.column, self.message)
    }

    /// The recipe's path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The last boundary of a character at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        writeln!(out, "{word}: {}", self.message)?;
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(out, "{margin} --> {}:{}:{}", self.path.display(), self.line, self.column)?;
        writeln!(out, "{margin} |")?;
        writeln!(out, "{number} | {}", shown(&self.excerpt))?;
        let lead = shown(&self.excerpt).chars().take((self.column - 1).min(SHOWN)).count();
        write!(out, "{margin} | {}{}", " ".repeat(lead), "^".repeat(self.width))?;
        if let Some(help) = &self.help {
            write!(out, "\n{margin} = {help}")?;
        }
        Ok(())
    }
}

/// `line` without characters that would move the caret or the terminal.
fn shown(line: &str) -> String {
    line.chars().map(|char| if char == '\t' || char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { path: "r.yaml".into(), text: text.into() }
    }

    #[test]
    fn a_caret_under_the_place() {
        let at = source("name: x\nsteps:\n  - condition: 'a ='\n");
        let start = at.text.find("='").unwrap();
        let found = Diagnostic::error(&at, Span { start, end: start + 1 }, "a single `=`").help("write `==`");
        insta::assert_snapshot!(found, @r"
        error: a single `=`
          --> r.yaml:3:19
          |
        3 |   - condition: 'a ='
          |                   ^
          = write `==`
        ");
        assert_eq!(found.line(), "r.yaml:3:19: a single `=`");
    }

    #[test]
    fn places_that_are_not_there() {
        for (text, span) in
            [("", (0, 0)), ("ü", (1, 1)), ("a", (9, 20)), ("a\n", (2, 2)), ("\u{1}\tb", (2, 90))]
        {
            let found = Diagnostic::warning(&source(text), Span { start: span.0, end: span.1 }, "m");
            assert!(found.to_string().starts_with("warning: m\n"), "{found}");
        }
        let long = "x".repeat(100_000);
        let found = Diagnostic::error(&source(&long), Span { start: 50_000, end: 60_000 }, "m");
        assert!(found.to_string().len() < 1000 && found.column == 50_001);
    }
}
