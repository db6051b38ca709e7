//! Programs that start a command for each of many values: `xargs`, `find -exec`, `parallel`.

use super::model::{Piece, Word};
use super::unwrap::{Inner, join, operands, render, text};
use crate::decision::Span;

pub(super) fn xargs(arguments: &[Word], input: Option<&str>) -> Vec<Inner> {
    let at = operands(
        arguments,
        "ILnPsdaE",
        &[
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--delimiter",
            "--arg-file",
            "--replace",
            "--max-chars",
        ],
    );
    let mut words = arguments[at..].to_vec();
    let Some(span) = words.first().map(|word| word.span) else { return Vec::new() };
    let mark = arguments[..at].iter().enumerate().find_map(|(at, word)| {
        let word = text(word);
        match word.as_str() {
            "-I" => arguments.get(at + 1).map(text),
            "-i" | "--replace" => Some("{}".to_owned()),
            _ => word.strip_prefix("-I").or_else(|| word.strip_prefix("--replace=")).map(str::to_owned),
        }
    });
    let unknown = Word { pieces: vec![Piece::Dynamic("$(xargs)".to_owned())], span };
    match (mark, input) {
        (None, Some(input)) => {
            words.extend(input.split_whitespace().take(256).map(|text| active(text, span)));
        }
        (None, None) => words.push(unknown),
        (Some(mark), input) => {
            let value = input.map(str::trim).filter(|input| !input.contains('\n'));
            for word in &mut words {
                match (word.literal(), value) {
                    (Some(text), Some(value)) if text.contains(&mark) => {
                        *word = active(&text.replace(&mark, value), word.span);
                    }
                    (Some(text), None) if text == mark => *word = unknown.clone(),
                    (Some(text), None) if text.contains(&mark) && !text.contains(char::is_whitespace) => {
                        let parts = text.split(&mark).map(|part| active(part, span).pieces);
                        word.pieces = parts.collect::<Vec<_>>().join(&unknown.pieces[0]);
                    }
                    _ => {}
                }
            }
        }
    }
    vec![Inner::argv(words)]
}

/// Text in which a `~` or a glob that the shell has put there, or would have, still counts.
fn active(text: &str, span: Span) -> Word {
    Word { pieces: vec![Piece::Literal { text: text.to_owned(), quoted: false }], span }
}

pub(super) fn find(arguments: &[Word]) -> Vec<Inner> {
    let is_start = |word: &Word| {
        matches!(
            text(word).as_str(),
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "--exec" | "-X" | "--exec-batch"
        )
    };
    let mut found = Vec::new();
    let mut rest = arguments;
    while let Some(start) = rest.iter().position(is_start) {
        let behind = &rest[start + 1..];
        let len =
            behind.iter().position(|word| matches!(text(word).as_str(), ";" | "+")).unwrap_or(behind.len());
        let words = &behind[..len];
        rest = &behind[len..];
        match words.first().map(text).as_deref() {
            Some("{}") => found.push(Inner::Unknown("find runs what it finds")),
            Some(_) => found.push(Inner::argv(words.to_vec())),
            None => {}
        }
    }
    found
}

pub(super) fn parallel(arguments: &[Word]) -> Vec<Inner> {
    let at = operands(
        arguments,
        "jNnLIaSP",
        &["--jobs", "--arg-file", "--colsep", "--delay", "--timeout", "--retries", "--joblog", "--results"],
    );
    let rest = &arguments[at..];
    let command: Vec<Word> = rest.iter().take_while(|word| !text(word).starts_with(":::")).cloned().collect();
    let values = rest.iter().skip(command.len() + 1).filter(|word| !text(word).starts_with(":::"));
    if command.is_empty() {
        return values.map(Inner::script).collect();
    }
    let source = join(&command);
    let values: Vec<String> = values.take(64).map(render).collect();
    if values.is_empty() {
        return vec![Inner::Script { text: source, positional: Vec::new() }];
    }
    let fill = |value: &String| {
        if source.contains("{}") { source.replace("{}", value) } else { format!("{source} {value}") }
    };
    values.iter().map(|value| Inner::Script { text: fill(value), positional: Vec::new() }).collect()
}
