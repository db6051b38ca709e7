//! Texts of others, fit to be shown: without secrets, and with nothing in them that hides or disturbs.

use std::borrow::Cow;

use amplihack_agent::event::EventJson;
use amplihack_config::secret::{REDACTED, is_secret_name};
use amplihack_secrets::redact_credentials;
use amplihack_sys::push_text;
use serde_json::Value;

/// The most that is shown of one text, in bytes. The journal has all of it.
const MOST: usize = 1024 * 1024;

/// A text that may be shown, once it is escaped for where it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanText(String);

impl CleanText {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reports whether it has nothing but blanks.
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// The text, and `line` on a line of its own.
    pub(crate) fn and_line(&self, line: &Self) -> Self {
        Self(format!("{}\n{}", self.0, line.0))
    }

    /// Number of lines.
    pub fn line_count(&self) -> usize {
        self.0.lines().count()
    }
}

/// Makes texts clean.
#[derive(Debug, Clone, Copy)]
pub struct TextCleaner {
    redact: bool,
}

impl TextCleaner {
    /// Replaces what looks like a credential if `redact` says so.
    pub const fn new(redact: bool) -> Self {
        Self { redact }
    }

    /// Reports whether credentials are replaced.
    pub(crate) const fn is_redacting(self) -> bool {
        self.redact
    }

    /// `text` without its secrets, otherwise as it is: for programs.
    pub(crate) fn without_secrets(self, text: &str) -> Cow<'_, str> {
        if self.redact { redact_credentials(text) } else { Cow::Borrowed(text) }
    }

    /// `json` without its secrets: text by text, and those whose name says so.
    pub fn clean_json(self, json: &EventJson) -> String {
        if !self.redact {
            return json.text().to_owned();
        }
        let mut value = json.to_value();
        self.clean_value(&mut value);
        value.to_string()
    }

    /// `value` as [`Self::clean_json`] has it.
    pub(crate) fn redact_value(self, value: &mut Value) {
        if self.redact {
            self.clean_value(value);
        }
    }

    /// Replaces the secrets in `value`.
    pub(crate) fn clean_value(self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.without_secrets(text).into_owned(),
            Value::Array(list) => list.iter_mut().for_each(|value| self.clean_value(value)),
            Value::Object(object) => {
                let cleaned = std::mem::take(object).into_iter().map(|(name, value)| {
                    (self.without_secrets(&name).into_owned(), self.clean_named(&name, value))
                });
                *object = cleaned.collect();
            }
            _ => {}
        }
    }

    fn clean_named(self, name: &str, mut value: Value) -> Value {
        match &mut value {
            // A name alone may tell that this is a secret.
            Value::String(text) if self.redact && !text.is_empty() && is_secret_name(name) => {
                REDACTED.clone_into(text);
            }
            _ => self.clean_value(&mut value),
        }
        value
    }

    /// `text` for people.
    pub fn clean_text(self, text: &str) -> CleanText {
        let text = self.without_secrets(text);
        let shown = &text[..text.floor_char_boundary(MOST)];
        let mut out = make_visible(shown);
        if shown.len() < text.len() {
            push_text!(out, "\n[{} more bytes are in the journal]", text.len() - shown.len());
        }
        CleanText(out)
    }
}

/// `text` with controls and other characters that hide or turn text as their numbers, which every font has. Line breaks and tabs stay.
pub fn make_visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            _ if c.is_control() || is_deceptive(c) => {
                push_text!(out, "[U+{:04X}]", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out
}

/// Bidirectional controls, line separators, blanks without width that no script needs, tags, noncharacters.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
        || u32::from(c) & 0xfffe == 0xfffe
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_or_disturbs_is_seen() {
        let cleaner = TextCleaner::new(true);
        let clean = |text: &str| cleaner.clean_text(text).as_str().to_owned();
        assert_eq!(clean("a\0\u{1b}[31mb\u{7f}\r\n\tc\rd"), "a[U+0000][U+001B][31mb[U+007F]\n\tc[U+000D]d");
        assert_eq!(clean("a\u{202e}b\u{2066}\u{200b}\u{e0041}"), "a[U+202E]b[U+2066][U+200B][U+E0041]");
        assert_eq!(clean("\u{85}\u{ffff}\u{fdd0}"), "[U+0085][U+FFFF][U+FDD0]");
        // Joiners are a part of scripts and of pictures.
        assert_eq!(clean("👩\u{200d}💻 می\u{200c}خواهم ä"), "👩\u{200d}💻 می\u{200c}خواهم ä");
    }

    #[test]
    fn secrets_are_replaced_unless_asked_for() {
        let text = "token ghp_R4nd0mQ9xZ7bL2vK8mN3pT6wY1cF5hJ0sDqE end";
        assert!(!TextCleaner::new(true).clean_text(text).as_str().contains("R4nd0m"));
        assert_eq!(TextCleaner::new(false).clean_text(text).as_str(), text);
    }

    #[test]
    fn secrets_in_json_are_replaced_by_shape_and_by_name() {
        let json = serde_json::json!({ "a": ["\u{1b} ghp_R4nd0mQ9xZ7bL2vK8mN3pT6wY1cF5hJ0sDqE"], "b": { "api_key": "short", "n": 1 } });
        let shown = TextCleaner::new(true).clean_json(&EventJson::from(&json));
        assert_eq!(shown, r#"{"a":["\u001b [redacted:github-token]"],"b":{"api_key":"[redacted]","n":1}}"#);
        assert_eq!(TextCleaner::new(false).clean_json(&EventJson::from(&json)), json.to_string());
    }

    #[test]
    fn a_very_long_text_says_how_much_is_left_out() {
        let clean = TextCleaner::new(true).clean_text(&"ä".repeat(MOST));
        assert!(clean.as_str().len() < MOST + 100);
        assert!(clean.as_str().ends_with(&format!("ä\n[{MOST} more bytes are in the journal]")));
    }
}
