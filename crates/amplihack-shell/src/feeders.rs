//! Programs that start a command for each of many values: `xargs`, `find -exec`, `parallel`.

use amplihack_verdict::Span;

use super::model::{ShellWord, WordPiece};
use super::unwrap::{WrappedCommand, count_options, literal_or_empty, render_word, render_words};

pub(super) fn xargs_commands(arguments: &[ShellWord], input: Option<&str>) -> Vec<WrappedCommand> {
    let at = count_options(
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
        let word = literal_or_empty(word);
        match word.as_str() {
            "-I" => arguments.get(at + 1).map(literal_or_empty),
            "-i" | "--replace" => Some("{}".to_owned()),
            _ => word.strip_prefix("-I").or_else(|| word.strip_prefix("--replace=")).map(str::to_owned),
        }
    });
    // Words arrive that nobody knows here: left out, `xargs rm -rf` would remove nothing.
    let unknown = ShellWord { pieces: vec![WordPiece::Dynamic("$(xargs)".to_owned())], span };
    match (mark, input) {
        (None, Some(input)) => {
            words.extend(input.split_whitespace().take(256).map(|text| active_word(text, span)));
        }
        (None, None) => words.push(unknown),
        (Some(mark), input) => {
            let value = input.map(str::trim).filter(|input| !input.contains('\n'));
            for word in &mut words {
                match (word.literal_text(), value) {
                    (Some(text), Some(value)) if text.contains(&mark) => {
                        *word = active_word(&text.replace(&mark, value), word.span);
                    }
                    (Some(text), None) if text == mark => *word = unknown.clone(),
                    (Some(text), None) if text.contains(&mark) && !text.contains(char::is_whitespace) => {
                        let parts = text.split(&mark).map(|part| active_word(part, span).pieces);
                        word.pieces = parts.collect::<Vec<_>>().join(&unknown.pieces[0]);
                    }
                    _ => {}
                }
            }
        }
    }
    vec![WrappedCommand::from_words(words)]
}

/// Text in which a `~` or a glob that the shell has put there, or would have, still counts.
fn active_word(text: &str, span: Span) -> ShellWord {
    let mut pieces = Vec::new();
    super::variables::push_literal(text, false, &mut pieces);
    ShellWord { pieces, span }
}

pub(super) fn find_commands(arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    let is_start = |word: &ShellWord| {
        matches!(
            literal_or_empty(word).as_str(),
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "--exec" | "-X" | "--exec-batch"
        )
    };
    let mut found = Vec::new();
    let mut rest = arguments;
    while let Some(start) = rest.iter().position(is_start) {
        let behind = &rest[start + 1..];
        let len = behind
            .iter()
            .position(|word| matches!(literal_or_empty(word).as_str(), ";" | "+"))
            .unwrap_or(behind.len());
        let words = &behind[..len];
        rest = &behind[len..];
        match words.first().map(literal_or_empty).as_deref() {
            Some("{}") => found.push(WrappedCommand::Unknown("find runs what it finds")),
            Some(_) => found.push(WrappedCommand::from_words(words.to_vec())),
            None => {}
        }
    }
    found
}

pub(super) fn parallel_commands(arguments: &[ShellWord], input: Option<&str>) -> Vec<WrappedCommand> {
    let at = count_options(
        arguments,
        "jNnLIaSP",
        &["--jobs", "--arg-file", "--colsep", "--delay", "--timeout", "--retries", "--joblog", "--results"],
    );
    let rest = &arguments[at..];
    let command: Vec<ShellWord> =
        rest.iter().take_while(|word| !literal_or_empty(word).starts_with(":::")).cloned().collect();
    let values =
        rest.iter().skip(command.len() + 1).filter(|word| !literal_or_empty(word).starts_with(":::"));
    let given = input.filter(|_| command.len() == rest.len()).into_iter().flat_map(str::lines).take(64);
    let given = given.filter(|line| !line.trim().is_empty()).map(str::to_owned);
    if command.is_empty() {
        let lines = given.map(|text| WrappedCommand::Script { text, positional: Vec::new() });
        return values.map(WrappedCommand::from_script_word).chain(lines).collect();
    }
    let source = render_words(&command);
    let values: Vec<String> = values.take(64).map(render_word).chain(given).collect();
    if values.is_empty() {
        return vec![WrappedCommand::Script { text: source, positional: Vec::new() }];
    }
    let fill = |value: &String| {
        if source.contains("{}") { source.replace("{}", value) } else { format!("{source} {value}") }
    };
    values.iter().map(|value| WrappedCommand::Script { text: fill(value), positional: Vec::new() }).collect()
}
