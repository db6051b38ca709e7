//! Patterns for arguments: a text, a glob over lines, a JavaScript regular expression, another literal, or alternatives.

use regress::{Flags, Regex};
use serde_json::Value;

use super::glob;

/// A compiled pattern of `matches`.
#[derive(Debug)]
pub(super) enum RulePattern {
    /// A text without a `*`: it has to be the whole value.
    Exact(String),
    /// A text in which only `*` is special. It has to match a whole line, and any line will do.
    Glob(String),
    /// `/…/`; also a glob that holds a line end.
    Regex(Box<Regex>),
    /// An expression that does not compile: matches nothing.
    Never,
    /// A number, `true`, `null`, …: matches only itself.
    Literal(Value),
    /// Any of these.
    Any(Vec<RulePattern>),
}

/// The ends of lines that JavaScript knows.
const LINE_ENDS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

impl RulePattern {
    pub(super) fn new(pattern: &Value) -> Self {
        match pattern {
            Value::String(text) => Self::from_text(text),
            // Alternatives do not nest: a list within a list is a literal.
            Value::Array(alternatives) => Self::Any(
                alternatives
                    .iter()
                    .map(|one| match one {
                        Value::String(text) => Self::from_text(text),
                        other => Self::Literal(other.clone()),
                    })
                    .collect(),
            ),
            other => Self::Literal(other.clone()),
        }
    }

    fn from_text(text: &str) -> Self {
        match regex_source(text) {
            Some(expression) => Self::from_regex(expression),
            None if !text.contains('*') => Self::Exact(text.to_owned()),
            None if text.contains(LINE_ENDS) => {
                let parts: Vec<String> = text.split('*').map(escape_regex).collect();
                Self::from_regex(&format!("^{}$", parts.join(".*")))
            }
            None => Self::Glob(text.to_owned()),
        }
    }

    fn from_regex(expression: &str) -> Self {
        // As `new RegExp(…, "m")`: `^` and `$` are the ends of any line.
        let flags = Flags { multiline: true, ..Flags::default() };
        Regex::with_flags(&without_code_points(expression), flags)
            .map_or(Self::Never, |regex| Self::Regex(Box::new(regex)))
    }

    pub(super) fn matches(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Exact(exact), Value::String(text)) => exact == text,
            (Self::Glob(pattern), Value::String(text)) => {
                text.split(LINE_ENDS).any(|line| glob::matches_star(pattern, line))
            }
            (Self::Regex(regex), Value::String(text)) => {
                // JavaScript sees UTF-16: one character outside of the first plane is two for `.`.
                let units: Vec<u16> = text.encode_utf16().collect();
                regex.find_from_ucs2(&units, 0).next().is_some()
            }
            (Self::Literal(literal), value) => literal == value,
            (Self::Any(patterns), value) => patterns.iter().any(|pattern| pattern.matches(value)),
            (Self::Exact(_) | Self::Glob(_) | Self::Regex(_) | Self::Never, _) => false,
        }
    }
}

/// `\u{61}` is 61 times `u` without the flag `u`; regress takes it for a character.
fn without_code_points(expression: &str) -> String {
    let mut out = String::with_capacity(expression.len());
    let mut rest = expression;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let length = 1 + escape[1..].chars().next().map_or(0, char::len_utf8);
        out.push_str(if escape.starts_with("\\u{") { "u" } else { &escape[..length] });
        rest = &escape[length..];
    }
    out + rest
}

/// Returns the text between the slashes of `/…/`; `//` is a text like any other.
fn regex_source(text: &str) -> Option<&str> {
    text.strip_prefix('/')?.strip_suffix('/').filter(|inner| !inner.is_empty())
}

/// Reports whether `pattern` is a `/…/` that does not compile, so that its rule never matches.
pub fn never_matches(pattern: &str) -> bool {
    matches!(RulePattern::from_text(pattern), RulePattern::Never)
}

fn escape_regex(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\^$.|?*+()[]{}/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
