//! A command line that cannot be read, told on a terminal: what the user gave is shown escaped and not longer than a line.

use clap::Error;
use clap::error::ContextValue;

/// Characters of a rejected value that are shown.
const SHOWN: usize = 120;

/// `error` with the foreign text in it made safe to print.
pub(crate) fn make_printable(mut error: Error) -> Error {
    let foreign: Vec<_> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, ContextValue::String(escape_text(text)?))),
            _ => None,
        })
        .collect();
    for (kind, value) in foreign {
        error.insert(kind, value);
    }
    error
}

/// `text` without control characters and cut; `None` if it may be shown as it is.
fn escape_text(text: &str) -> Option<String> {
    let is_long = text.chars().nth(SHOWN).is_some();
    if !is_long && !text.contains(char::is_control) {
        return None;
    }
    let mut shown = String::new();
    for character in text.chars().take(SHOWN) {
        if character.is_control() { shown.extend(character.escape_default()) } else { shown.push(character) }
    }
    if is_long {
        shown.push('…');
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::escape_text;

    #[test]
    fn what_is_harmless_stays_and_the_rest_is_escaped_and_cut() {
        assert_eq!(escape_text("it's \"CODEX\" 漢"), None);
        assert_eq!(escape_text("\u{1b}[31mred\n").as_deref(), Some("\\u{1b}[31mred\\n"));
        let long = escape_text(&"x".repeat(100_000)).unwrap();
        assert_eq!(long.chars().count(), 121);
    }
}
