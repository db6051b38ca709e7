//! The search for the place in the file of a part of a scalar's text.

use crate::diagnostic::{RecipeSource, RecipeSourceSpan};

/// The place in the file of `part` (bytes of `text`), which is the text of the scalar at `scalar`.
///
/// Walks through both: quotes, indentation, line ends and escapes are in the file only. What cannot be followed is at the start.
pub(super) fn locate_part(
    source: &RecipeSource,
    scalar: RecipeSourceSpan,
    text: &str,
    part: std::ops::Range<usize>,
) -> RecipeSourceSpan {
    let raw = source.text.get(scalar.start..scalar.end).unwrap_or_default();
    let find = |wanted: usize| locate_byte(raw, text, wanted).map(|at| scalar.start + at);
    let Some(start) = find(part.start) else {
        return RecipeSourceSpan { start: scalar.start, end: scalar.start };
    };
    let end = if part.end > part.start {
        // Behind the last character of the part.
        let last = text[..part.end].char_indices().next_back().map_or(part.start, |(at, _)| at);
        find(last).map_or(start, |at| at + text[last..].chars().next().map_or(0, char::len_utf8))
    } else {
        start
    };
    RecipeSourceSpan { start, end: end.max(start) }
}

/// The byte of `raw` at which byte `wanted` of `text` is written.
fn locate_byte(raw: &str, text: &str, wanted: usize) -> Option<usize> {
    let mut rest = raw.char_indices().peekable();
    if let Some((_, '|' | '>')) = rest.peek() {
        // The header of a block scalar.
        rest.find(|(_, char)| *char == '\n')?;
    }
    let mut end = 0;
    for (at, char) in text.char_indices() {
        let found = if char.is_whitespace() {
            let (found, _) = *rest.peek()?;
            while rest.next_if(|(_, char)| char.is_whitespace()).is_some() {}
            found
        } else {
            loop {
                let (found, next) = rest.next()?;
                if next == char {
                    break found;
                }
                if !(next.is_whitespace() || matches!(next, '\\' | '\'' | '"')) {
                    return None;
                }
            }
        };
        if at >= wanted {
            return Some(found);
        }
        end = found + char.len_utf8();
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_of_every_style() {
        for (raw, text) in [
            ("a = b", "a = b"),
            ("'a = ''b'", "a = 'b"),
            ("\"a \\\"= b\"", "a \"= b"),
            ("|\n    x\n    a = b\n", "x\na = b\n"),
            (">-\n    x\n      a\n    = b\n", "x a = b"),
        ] {
            let source = RecipeSource { path: "r".into(), text: format!("k: {raw}").into() };
            let at = text.find('=').unwrap();
            let span =
                locate_part(&source, RecipeSourceSpan { start: 3, end: 3 + raw.len() }, text, at..at + 1);
            assert_eq!(&source.text[span.start..span.end], "=", "{raw}");
        }
    }

    #[test]
    fn the_end_of_the_text() {
        let source = RecipeSource { path: "r".into(), text: "k: 'a =='".into() };
        assert_eq!(
            locate_part(&source, RecipeSourceSpan { start: 3, end: 9 }, "a ==", 4..4),
            RecipeSourceSpan { start: 8, end: 8 }
        );
        assert_eq!(
            locate_part(&source, RecipeSourceSpan { start: 3, end: 9 }, "other", 1..2),
            RecipeSourceSpan { start: 3, end: 3 }
        );
    }
}
