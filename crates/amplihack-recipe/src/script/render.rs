//! The script's text with references in the places of placeholders.

use std::ops::Range;

use amplihack_policy::shell::{Before, Place, Places, QuotedDocument, Quoting};

use super::names::{NUMBER, VARIABLE};
use crate::template::Placeholder;

/// A part of the script and what is written in its place.
pub(super) type Edit = (Range<usize>, String);

/// The reference that is written for a placeholder.
pub(super) fn reference(placeholder: &Placeholder, place: &Place, suffix: &str, number: bool) -> Edit {
    let value = if number {
        // Not set means: not a number. Bash says so and ends.
        format!("${{{NUMBER}{suffix}?the value is not a number}}")
    } else {
        format!("${{{VARIABLE}{suffix}}}")
    };
    let mut range = placeholder.range.clone();
    let takes_before = matches!(
        place.quoting,
        Quoting::Bare | Quoting::Double | Quoting::HereDocument { quoted: false } | Quoting::Ansi
    );
    let before = if takes_before { place.before } else { Before::Nothing };
    if before != Before::Nothing {
        range.start -= 1;
    }
    let prefix = match (before, place.quoting) {
        // In bare text the backslash quotes what follows, which is quoted anyway.
        (Before::Nothing, _) | (Before::Backslash, Quoting::Bare) => "",
        (Before::Backslash, _) => "\\\\",
        (Before::Dollar, Quoting::Ansi) => "$",
        (Before::Dollar, _) => "\\$",
    };
    let text = match place.quoting {
        Quoting::Bare => format!("\"{prefix}{value}\""),
        Quoting::Single => format!("'\"{value}\"'"),
        Quoting::Ansi => format!("{prefix}'\"{value}\"$'"),
        _ => format!("{prefix}{value}"),
    };
    (range, in_backquotes(&text, place.backquotes))
}

/// The script with all edits made, and with every here-document in which a value stands made to expand it.
pub(super) fn rendered(source: &str, mut edits: Vec<Edit>, places: &Places) -> String {
    let used = |number: usize| places.places.iter().any(|place| place.document == Some(number));
    for (number, document) in places.documents.iter().enumerate().filter(|(number, _)| used(*number)) {
        expand(source, number, document, &mut edits);
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(source.len() + edits.len() * 32);
    let mut at = 0;
    for (range, text) in edits {
        out.push_str(&source[at..range.start]);
        out.push_str(&text);
        at = range.end;
    }
    out.push_str(&source[at..]);
    out
}

/// Makes a here-document with a quoted delimiter one whose body is expanded: its own text is escaped, its delimiter a word that is
/// nowhere in the script.
fn expand(source: &str, number: usize, document: &QuotedDocument, edits: &mut Vec<Edit>) {
    let delimiter = fresh(source, number);
    edits.push((document.opening.clone(), delimiter.clone()));
    if !document.closing.is_empty() {
        edits.push((document.closing.clone(), delimiter));
    }
    let mut holes: Vec<Range<usize>> = edits
        .iter()
        .map(|(range, _)| range.clone())
        .filter(|range| range.start >= document.body.start && range.end <= document.body.end)
        .collect();
    holes.sort_by_key(|range| range.start);
    let mut at = document.body.start;
    for hole in holes.into_iter().chain(std::iter::once(document.body.end..document.body.end)) {
        let text = escaped(&source[at..hole.start], document.backquotes);
        if text != source[at..hole.start] {
            edits.push((at..hole.start, text));
        }
        at = hole.end;
    }
}

fn fresh(source: &str, number: usize) -> String {
    let mut delimiter = format!("RECIPE_DOCUMENT_{number}");
    while source.contains(&delimiter) {
        delimiter.push('_');
    }
    delimiter
}

/// Literal text of a body as bash reads it back from an expanded body.
fn escaped(text: &str, backquotes: usize) -> String {
    let mut text = text.to_owned();
    for _ in 0..backquotes {
        text = out_of_backquotes(&text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if matches!(char, '\\' | '$' | '`') {
            out.push('\\');
        }
        out.push(char);
    }
    in_backquotes(&out, backquotes)
}

/// Text as it has to be written in backquotes.
fn in_backquotes(text: &str, levels: usize) -> String {
    let mut text = text.to_owned();
    for _ in 0..levels {
        text = text.replace('\\', "\\\\").replace('`', "\\`");
    }
    text
}

/// What bash reads of text in backquotes.
fn out_of_backquotes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match (char, chars.peek()) {
            ('\\', Some('`' | '$' | '\\')) => out.extend(chars.next()),
            _ => out.push(char),
        }
    }
    out
}
