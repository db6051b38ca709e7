//! One simple command of a script: its words expanded as far as they are known, its redirections, what it is fed.

use super::braces;
use super::items::{Raw, Simple};
use super::model::{Command, Fed};
use super::union::{Flow, Place, Reader, Shell};
use super::variables::Value;
use super::word::{Embed, Nested, Part, lex, lex_text};
use crate::decision::Span;

/// A word's parts after brace expansion.
type Words = Vec<(Vec<Part>, Span)>;

/// Words of one script that are looked at, those that braces make included.
pub(super) const WORDS: usize = 40_000;

/// Puts what embedded scripts print in their place, where it is known.
pub(super) fn put_outputs(parts: &mut [Part], flows: &[Flow]) {
    for part in parts {
        if let Part::Dynamic { source, quoted, .. } = part
            && says_above(source)
        {
            *part = Part::Text { text: "..".to_owned(), quoted: *quoted };
        }
        let Part::Dynamic { source, quoted, nested: Some(number) } = part else { continue };
        if source.starts_with(['<', '>']) {
            continue;
        }
        if let Some(name) = said_directory(source) {
            *part = Part::Variable { name: name.to_owned(), quoted: *quoted };
        } else if let Some(text) =
            flows.get(*number).and_then(|flow| flow.output.as_deref()).filter(|text| !text.is_empty())
        {
            *part = Part::Text { text: text.trim_end_matches('\n').to_owned(), quoted: *quoted };
        }
    }
}

/// Whether an expansion gives the directory above.
fn says_above(source: &str) -> bool {
    let plain: String = source.chars().filter(|ch| !matches!(ch, '"' | '\'' | ' ')).collect();
    plain.starts_with("${PWD%")
        || matches!(plain.as_str(), "$(dirname$PWD)" | "$(dirname$(pwd))" | "`dirname$PWD`")
}

/// The variable that holds what a substitution prints: the directory.
fn said_directory(source: &str) -> Option<&'static str> {
    let inner = source.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let inner = inner.or_else(|| source.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')))?;
    // The repository's root is the directory or holds it.
    matches!(
        inner.trim(),
        "pwd" | "pwd -P" | "pwd -L" | "command pwd" | "/bin/pwd" | "git rev-parse --show-toplevel"
    )
    .then_some("PWD")
}

impl Reader<'_> {
    /// A word's parts, its scripts run; and what `<(…)` in it gives.
    pub(super) fn word(&mut self, raw: &Raw, place: Place<'_>, shell: &Shell) -> (Words, Option<Flow>) {
        let span = place.span(raw.start, raw.end());
        let variants = if self.words > WORDS && raw.text.contains('{') {
            None
        } else {
            braces::expand(&raw.text, || self.is_over())
        };
        self.words += variants.as_ref().map_or(0, |variants| variants.len() - 1);
        let Some(variants) = variants else {
            self.embedded(lex(&raw.text).nested, raw, place, shell);
            return (
                vec![(vec![Part::Dynamic { source: raw.text.clone(), quoted: false, nested: None }], span)],
                None,
            );
        };
        let one = variants.len() == 1;
        let (mut words, mut readers) = (Vec::new(), None);
        for variant in variants {
            if !one && self.late(span) {
                break;
            }
            let lexed = lex(&variant);
            let mut flows = Vec::new();
            for mut nested in lexed.nested {
                if nested.embed == Embed::Writer {
                    flows.push(Flow::default());
                    continue;
                }
                nested.at = nested.at.filter(|_| one);
                let flow = self.nested_marked(&nested, raw, place, shell);
                if nested.embed == Embed::Reader {
                    readers.get_or_insert_with(|| flow.clone());
                }
                flows.push(flow);
            }
            for name in lexed.prompts {
                self.prompt(&name, span, shell);
            }
            let mut parts = lexed.parts;
            put_outputs(&mut parts, &flows);
            let mut split = split_texts(parts);
            words.extend(split.drain(..).map(|parts| (parts, span)));
        }
        (words, readers)
    }

    fn nested_marked(&mut self, nested: &Nested, raw: &Raw, place: Place<'_>, shell: &Shell) -> Flow {
        self.nested(nested, raw, place, shell, None)
    }

    /// `${name@P}` runs the scripts in the value.
    fn prompt(&mut self, name: &str, span: Span, shell: &Shell) {
        let value = self.variables.get(name, shell.maybe).cloned().unwrap_or_else(Value::anything);
        if value.unknown {
            self.undecided("a variable is expanded as a prompt", span);
        }
        for text in value.choices.iter().flatten() {
            self.text_scripts(text, span, shell);
        }
    }

    pub(super) fn text_scripts(&mut self, text: &str, span: Span, shell: &Shell) {
        for nested in lex_text(text).nested {
            self.fresh(&nested.text, Some(span), &mut Shell { input: None, fed: None, ..shell.clone() });
        }
    }

    /// A simple command of a script.
    pub(super) fn simple(&mut self, simple: &Simple, place: Place<'_>, shell: &mut Shell) -> Flow {
        let span = place.span(simple.start(), simple.end());
        let mut inner = shell.clone();
        self.redirects(&simple.redirects, place, &mut inner);
        let bare = simple.words.is_empty();
        let mut assignments = Vec::new();
        for raw in &simple.assignments {
            if self.late(span) {
                return Flow::default();
            }
            assignments.extend(self.assignment(raw, place, shell, bare));
        }
        let mut words: Words = Vec::new();
        let mut writers: Vec<(Nested, &Raw)> = Vec::new();
        for raw in &simple.words {
            if self.late(span) {
                return Flow::default();
            }
            let (more, readers) = self.word(raw, place, shell);
            words.extend(more);
            if let (Some(flow), None) = (readers, &inner.fed) {
                inner.input.clone_from(&flow.output);
                inner.fed = Some(flow.output.map_or(Fed::Commands(flow.commands), Fed::Text));
            }
            if raw.text.contains(">(") {
                writers.extend(
                    lex(&raw.text)
                        .nested
                        .into_iter()
                        .filter(|nested| nested.embed == Embed::Writer)
                        .map(|nested| (nested, raw)),
                );
            }
        }
        for redirect in simple.redirects.iter().filter(|redirect| redirect.target.text.contains(">(")) {
            let found =
                lex(&redirect.target.text).nested.into_iter().filter(|nested| nested.embed == Embed::Writer);
            writers.extend(found.map(|nested| (nested, &redirect.target)));
        }
        if self.late(span) {
            return Flow::default();
        }
        let mut flow = Flow { commands: Vec::new(), output: Some(String::new()) };
        for words in self.variables.wordings(&words, shell.maybe) {
            let command = Command {
                words,
                assignments: assignments.clone(),
                redirects: inner.redirects.clone(),
                fed: inner.fed.clone(),
                cds: shell.cds.clone(),
                via: shell.via.clone(),
                span,
            };
            let before = inner.cds.len();
            let one = self.command(&command, &mut inner);
            shell.cds.extend(inner.cds.iter().skip(before).cloned());
            flow.commands.extend(one.commands);
            flow.output = one.output;
        }
        for (nested, raw) in writers {
            let fed = match &flow.output {
                Some(text) if !text.is_empty() => Fed::Text(text.clone()),
                _ => Fed::Commands(flow.commands.clone()),
            };
            let mut input = shell.clone();
            input.input = match &fed {
                Fed::Text(text) => Some(text.clone()),
                Fed::Commands(_) => None,
            };
            self.writer(&nested, raw, place, &input, fed);
        }
        flow
    }

    fn writer(&mut self, nested: &Nested, raw: &Raw, place: Place<'_>, shell: &Shell, fed: Fed) {
        match &fed {
            Fed::Text(text) => {
                let mut inner = Shell {
                    input: Some(text.clone()),
                    fed: Some(fed.clone()),
                    redirects: Vec::new(),
                    ..shell.clone()
                };
                self.fresh(&nested.text, Some(place.span(raw.start, raw.end())), &mut inner);
            }
            Fed::Commands(_) => {
                self.nested(nested, raw, place, shell, Some(fed));
            }
        }
    }
}

/// Text that came from a substitution outside quotes is split into words.
fn split_texts(parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut words = vec![Vec::new()];
    for part in parts {
        match part {
            Part::Text { text, quoted: false } if text.contains([' ', '\n', '\t']) => {
                for (index, piece) in text.split_whitespace().enumerate() {
                    if index > 0 {
                        words.push(Vec::new());
                    }
                    if let Some(word) = words.last_mut() {
                        word.push(Part::Text { text: piece.to_owned(), quoted: false });
                    }
                }
            }
            part => words.last_mut().into_iter().for_each(|word| word.push(part.clone())),
        }
    }
    words
}
