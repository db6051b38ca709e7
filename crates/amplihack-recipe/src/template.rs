//! Text with placeholders, `{{name}}`: what they name, where they stand, and the text with values in their places.

use std::ops::Range;

use crate::context::RecipeContext;
use crate::value::RecipeValue;

/// Names in one path, beyond which text is no placeholder: `{{a.b.c}}` has three.
pub(crate) const SEGMENTS: usize = 64;

/// A placeholder in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplatePlaceholder {
    /// The place of the placeholder in the text, with its braces.
    pub range: Range<usize>,
    /// The name in the placeholder, as [`RecipeContext::lookup_path`] takes it: `items.1.name` for `{{ items[1].name }}`.
    pub name: String,
}

/// The placeholders of `text`: `{{`, blanks, a name, blanks, `}}`. A name has letters, digits, `_`, `-`, and behind a `.` or in
/// `[…]` the key or number of what is inside. Anything else is text.
pub fn find_placeholders(text: &str) -> Vec<TemplatePlaceholder> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = find_braces(bytes, at) {
        match parse_placeholder(bytes, open) {
            Some((name, end)) => {
                found.push(TemplatePlaceholder { range: open..end, name });
                at = end;
            }
            None => at = open + 1,
        }
    }
    found
}

fn find_braces(bytes: &[u8], from: usize) -> Option<usize> {
    bytes[from..].windows(2).position(|pair| pair == b"{{").map(|at| from + at)
}

fn parse_placeholder(bytes: &[u8], open: usize) -> Option<(String, usize)> {
    let blanks = |at: usize| at + bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let word = |at: usize| {
        at + bytes[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte))
            .count()
    };
    let mut at = blanks(open + 2);
    let mut name = String::new();
    for number in 0..=SEGMENTS {
        let (begin, close) = match bytes.get(at) {
            Some(b'.') if number > 0 => (at + 1, None),
            Some(b'[') if number > 0 => (at + 1, Some(b']')),
            _ if number == 0 => (at, None),
            _ => break,
        };
        let end = word(begin);
        if end == begin || number == SEGMENTS {
            return None;
        }
        if number > 0 {
            name.push('.');
        }
        name.push_str(std::str::from_utf8(&bytes[begin..end]).ok()?);
        at = end;
        if let Some(close) = close {
            if bytes.get(at) != Some(&close) || !bytes[begin..end].iter().all(u8::is_ascii_digit) {
                return None;
            }
            at += 1;
        }
    }
    at = blanks(at);
    bytes[at..].starts_with(b"}}").then_some((name, at + 2))
}

/// Text in which placeholders are replaced once: what a value holds is never looked at again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTemplate {
    text: String,
    places: Vec<TemplatePlaceholder>,
}

impl TextTemplate {
    /// Finds the placeholders of `text`.
    pub fn parse(text: &str) -> Self {
        Self { text: text.to_owned(), places: find_placeholders(text) }
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.text
    }

    /// The names in the placeholders, in order, each as often as it occurs.
    pub fn placeholder_names(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| place.name.as_str())
    }

    /// The names that `context` does not know.
    pub fn missing_names(&self, context: &RecipeContext) -> Vec<String> {
        collect_missing(self.placeholder_names(), context)
    }

    /// The text with values in place; what is not known is empty.
    pub fn render(&self, context: &RecipeContext) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut at = 0;
        for place in &self.places {
            out.push_str(&self.text[at..place.range.start]);
            if let Some(value) = context.lookup_path(&place.name) {
                out.push_str(value.text());
            }
            at = place.range.end;
        }
        out.push_str(&self.text[at..]);
        out
    }

    /// As a value: a text that is one placeholder and nothing else gives the value itself, with its type.
    pub fn render_value(&self, context: &RecipeContext) -> RecipeValue {
        match self.places.as_slice() {
            [only] if only.range == (0..self.text.len()) => {
                context.lookup_path(&only.name).unwrap_or_else(|| RecipeValue::from_string(""))
            }
            _ => RecipeValue::from_string(self.render(context)),
        }
    }
}

/// The names that `context` does not know, each once.
pub(crate) fn collect_missing<'a>(
    names: impl Iterator<Item = &'a str>,
    context: &RecipeContext,
) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for name in names {
        if context.lookup_path(name).is_none() && !missing.iter().any(|known| known == name) {
            missing.push(name.to_owned());
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        find_placeholders(text).into_iter().map(|place| place.name).collect()
    }

    #[test]
    fn what_is_a_placeholder() {
        assert_eq!(
            names("{{a}}{{ b }}{{c.d-e.0}} {{items[1].name}} {{my-key}} {{7}}"),
            ["a", "b", "c.d-e.0", "items.1.name", "my-key", "7"]
        );
        assert_eq!(names("{{{x}}}"), ["x"]);
        for text in [
            "{{#if x}}{{/if}}",
            "{{ }}",
            "{{}}",
            "{x}",
            "{{a b}}",
            "{{a..b}}",
            "{{a.}}",
            "{{.a}}",
            "{{a[b]}}",
            "{{a[0}}",
            "{{a\n}}",
            "{{ü}}",
            "{{a}",
            "{{",
        ] {
            assert_eq!(names(text), [""; 0], "{text}");
        }
        assert_eq!(names(&format!("{{{{{}}}}}", vec!["a"; 65].join("."))), [""; 0]);
        assert_eq!(names(&format!("{{{{{}}}}}", vec!["a"; 64].join("."))).len(), 1);
    }

    #[test]
    fn rendered_once() {
        let mut context = RecipeContext::new();
        context.set_value("a", RecipeValue::from_string("{{b}} $(x)"));
        context.set_value("b", RecipeValue::from_string("no"));
        context.set_value("o", RecipeValue::from_output("{\"k\": [1, 2.0]}"));
        let template = TextTemplate::parse("ü{{a}}|{{missing}}|{{ o.k }}|{{o.k[1]}}{{#if}}");
        assert_eq!(template.render(&context), "ü{{b}} $(x)||[1,2.0]|2.0{{#if}}");
        assert_eq!(template.missing_names(&context), ["missing"]);
        assert_eq!(TextTemplate::parse("{{o}}").render_value(&context), *context.get("o").unwrap());
        assert_eq!(
            TextTemplate::parse("{{o}} ").render_value(&context),
            RecipeValue::from_string("{\"k\": [1, 2.0]} ")
        );
    }
}
