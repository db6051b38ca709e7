//! The script's text with references in the places of placeholders.

use std::ops::Range;

use amplihack_shell::{PrecedingSign, QuotedDocument, Quoting, QuotingReport, ScriptPosition};

use super::names::{NUMBER, VARIABLE};
use crate::template::TemplatePlaceholder;

/// A part of the script and what is written in its place.
pub(super) type RecipeScriptEdit = (Range<usize>, String);

/// The reference that is written for a placeholder.
pub(super) fn placeholder_edit(
    placeholder: &TemplatePlaceholder,
    place: &ScriptPosition,
    suffix: &str,
    number: bool,
) -> RecipeScriptEdit {
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
    let before = if takes_before { place.before } else { PrecedingSign::Nothing };
    if before != PrecedingSign::Nothing {
        range.start -= 1;
    }
    let prefix = match (before, place.quoting) {
        // In bare text the backslash quotes what follows, which is quoted anyway.
        (PrecedingSign::Nothing, _) | (PrecedingSign::Backslash, Quoting::Bare) => "",
        (PrecedingSign::Backslash, _) => "\\\\",
        (PrecedingSign::Dollar, Quoting::Ansi) => "$",
        (PrecedingSign::Dollar, _) => "\\$",
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
pub(super) fn apply_edits(source: &str, mut edits: Vec<RecipeScriptEdit>, places: &QuotingReport) -> String {
    let used = |number: usize| places.places.iter().any(|place| place.document == Some(number));
    for (number, document) in places.documents.iter().enumerate().filter(|(number, _)| used(*number)) {
        expand_document(source, number, document, &mut edits);
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
fn expand_document(
    source: &str,
    number: usize,
    document: &QuotedDocument,
    edits: &mut Vec<RecipeScriptEdit>,
) {
    let delimiter = fresh_delimiter(source, number);
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
        let text = escape_body(&source[at..hole.start], document.backquotes);
        if text != source[at..hole.start] {
            edits.push((at..hole.start, text));
        }
        at = hole.end;
    }
}

fn fresh_delimiter(source: &str, number: usize) -> String {
    let mut delimiter = format!("RECIPE_DOCUMENT_{number}");
    while source.contains(&delimiter) {
        delimiter.push('_');
    }
    delimiter
}

/// Literal text of a body as bash reads it back from an expanded body.
fn escape_body(text: &str, backquotes: usize) -> String {
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

/// Returns the text that bash reads from text in backquotes.
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
