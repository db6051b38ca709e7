//! One simple command: its words expanded as far as they are known, what it changes, what it starts.

use std::time::Duration;

use super::braces;
use super::heredoc::MARK;
use super::items::{Raw, Simple};
use super::model::{Command, Fed, Piece, Word};
use super::output;
use super::union::{Flow, Place, Reader, Shell};
use super::unwrap::{Inner, render, unwrap};
use super::variables::Value;
use super::word::{Embed, Nested, Part, lex, lex_text, name_len};
use crate::decision::Span;

/// A word's parts after brace expansion.
type Words = Vec<(Vec<Part>, Span)>;

/// Words of one script that are looked at, those that braces make included.
const WORDS: usize = 40_000;

/// Variables whose value some program runs.
const SCRIPTS: &[&str] = &[
    "PROMPT_COMMAND",
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_PROXY_COMMAND",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "RSYNC_RSH",
    "FCEDIT",
    "SUDO_EDITOR",
    "CC",
    "CXX",
    "RUSTC_WRAPPER",
];

/// Commands that evaluate names in their words.
const EVALUATING: &[&str] = &[
    "[",
    "test",
    "printf",
    "read",
    "unset",
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "mapfile",
    "readarray",
    "wait",
    "getopts",
];

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

    fn text_scripts(&mut self, text: &str, span: Span, shell: &Shell) {
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

    /// `NAME=value` in front of a command, or alone.
    fn assignment(&mut self, raw: &Raw, place: Place<'_>, shell: &Shell, bare: bool) -> Vec<(String, Word)> {
        let span = place.span(raw.start, raw.end());
        let len = name_len(raw.text.as_bytes());
        let name = raw.text[..len].to_owned();
        let rest = &raw.text[len..];
        let (subscript, rest) = match rest.strip_prefix('[') {
            Some(inner) => {
                let end = super::lexer::closing(inner.as_bytes(), 0, super::lexer::Kind::Square)
                    .unwrap_or(inner.len());
                (&rest[..=end], &inner[end..])
            }
            None => ("", rest),
        };
        if !subscript.is_empty() {
            let place_of = Raw { start: raw.start + len, text: subscript.to_owned() };
            self.embedded(super::word::scan(subscript), &place_of, place, shell);
            self.subscripts(subscript, span, shell);
        }
        let append = rest.starts_with("+=");
        let value = rest.trim_start_matches('+').strip_prefix('=').unwrap_or_default();
        let at = raw.text.len() - value.len();
        let maybe = shell.maybe || !bare || !subscript.is_empty();
        if value.starts_with('(') {
            let fields = self.array(value, raw.start + at, place, shell);
            for (at, choice) in fields.choices.iter().flatten().take(64).enumerate() {
                self.variables.set(&format!("{name}[{at}]"), Value::text(choice), true);
            }
            self.variables.set(&format!("{name}[@]"), fields.clone(), maybe || append);
            self.variables.set(&format!("{name}[*]"), fields, maybe || append);
            return Vec::new();
        }
        let value = Raw { start: raw.start + at, text: value.to_owned() };
        let word = self.value(&value, place, shell);
        let mut known = word.literal().map_or_else(Value::anything, Value::text);
        if append {
            let before = self.variables.get(&name, shell.maybe).cloned().unwrap_or_default();
            let joined = before
                .choices
                .iter()
                .flat_map(|old| known.choices.iter().map(move |new| vec![old.join(" ") + &new.join(" ")]));
            known = Value { choices: joined.collect(), unknown: before.unknown || known.unknown };
        }
        self.variables.set(&name, known, maybe);
        self.assigned(&name, &word, span, shell);
        vec![(name, word)]
    }

    fn value(&mut self, raw: &Raw, place: Place<'_>, shell: &Shell) -> Word {
        let span = place.span(raw.start, raw.end());
        let lexed = lex(&raw.text);
        let flows: Vec<Flow> =
            lexed.nested.iter().map(|nested| self.nested(nested, raw, place, shell, None)).collect();
        let mut parts = lexed.parts;
        put_outputs(&mut parts, &flows);
        for part in &mut parts {
            if let Part::Variable { quoted, .. } | Part::Text { quoted, .. } = part {
                *quoted = true;
            }
        }
        let words = self.variables.wordings(&[(parts, span)], shell.maybe);
        let pieces = match words.as_slice() {
            [one] => one.iter().flat_map(|word| word.pieces.clone()).collect(),
            _ => vec![Piece::Dynamic(raw.text.clone())],
        };
        Word { pieces, span }
    }

    /// What an assignment alone may set off.
    pub(super) fn assigned(&mut self, name: &str, word: &Word, span: Span, shell: &Shell) {
        let text = render(word);
        self.subscripts(&text, span, shell);
        let mut inner = Shell {
            via: [&shell.via[..], &[name.to_owned()]].concat(),
            fed: None,
            input: None,
            ..shell.clone()
        };
        if SCRIPTS.contains(&name) && word.literal().is_some() {
            self.fresh(&text, Some(span), &mut inner);
        } else if matches!(name, "PS0" | "PS1" | "PS2" | "PS3" | "PS4") {
            self.text_scripts(&text, span, &inner);
        }
    }

    /// The elements of `(…)`.
    fn array(&mut self, value: &str, start: usize, place: Place<'_>, shell: &Shell) -> Value {
        let src = value.as_bytes();
        let mut lexer = super::lexer::Lexer::inside(super::lexer::Kind::Paren { substitution: false });
        let (mut at, mut begin, mut words) = (1, None, Vec::new());
        while at < src.len() {
            let outside = lexer.frames() == 1;
            let blank = outside && (src[at].is_ascii_whitespace() || src[at] == b')');
            if blank && let Some(begin) = begin.take() {
                words.push(Raw { start: start + begin, text: value[begin..at].to_owned() });
            }
            if !blank {
                begin.get_or_insert(at);
            }
            (at, _) = lexer.step(src, at);
        }
        let mut parts = Vec::new();
        for word in &words {
            parts.extend(self.word(word, place, shell).0);
        }
        let mut wordings = self.variables.wordings(&parts, shell.maybe);
        let fields =
            if wordings.len() == 1 { wordings.remove(0).iter().map(Word::literal).collect() } else { None };
        fields.map_or_else(Value::anything, |fields: Vec<String>| Value {
            choices: vec![fields],
            unknown: false,
        })
    }

    /// A command with its words known as far as they can be: noted, its effects taken, what it starts followed.
    pub(super) fn command(&mut self, command: &Command, shell: &mut Shell) -> Flow {
        let span = command.span;
        self.words += command.words.len();
        // What follows takes up to a microsecond a word and does not look at the clock.
        let ahead = u64::try_from(command.words.len()).map_or(Duration::MAX, Duration::from_micros);
        if self.late_after(ahead, span) {
            return Flow::default();
        }
        if self.words > WORDS {
            self.undecided("its wrappers and braces make too many words to look at", span);
            return Flow::default();
        }
        if self.out.commands.len() >= self.limits.commands {
            if !self.out.undecided.iter().any(|undecided| undecided.why.starts_with("more than")) {
                self.undecided(format!("more than {} commands", self.limits.commands), span);
            }
            return Flow::default();
        }
        let words: Vec<String> = command.words.iter().map(render).collect();
        let key = (span.start, words.clone(), command.via.clone());
        let next = self.out.commands.len();
        let index = *self.known.entry(key).or_insert(next);
        if index == next {
            self.out.commands.push(tidy(command.clone()));
        }
        let mut flow = Flow { commands: vec![index], output: None };
        let Some(first) = command.words.first() else {
            flow.output = Some(String::new());
            return flow;
        };
        self.judge_program(first, shell);
        let Some(program) = command.program() else { return flow };
        self.effects(&program, command, shell);
        if EVALUATING.contains(&program.as_str()) {
            for text in &words[1..] {
                self.subscripts(text, span, shell);
            }
        }
        let mut inner = shell.clone();
        inner.via.push(program.clone());
        inner.redirects.clone_from(&command.redirects);
        inner.depth += 1;
        if inner.depth > self.limits.depth.min(64) {
            self.undecided("wrappers within wrappers, too deep to follow", span);
            return flow;
        }
        let literal: Option<Vec<String>> = command.words.iter().map(Word::literal).collect();
        flow.output = literal.and_then(|words| output::of(&words, shell.input.as_deref()));
        if program == "tee" {
            flow.output.clone_from(&shell.input);
        }
        let alias =
            self.aliases.get(&program).filter(|_| command.words[0].literal().as_deref() == Some(&program));
        let alias = alias.map(|text| Inner::Script {
            text: format!("{text} {}", super::unwrap::quoted(&command.words[1..])),
            positional: Vec::new(),
        });
        self.note_written(command, flow.output.as_deref());
        let written = self.runs_written(&program, command);
        for start in self.forwarded(&program, command).into_iter().chain(written).chain(alias).chain(unwrap(
            &program,
            &command.words,
            shell.input.as_deref(),
        )) {
            let more = self.start(start, command, &mut inner);
            flow.commands.extend(more.commands);
            if flow.output.is_none() {
                flow.output = more.output;
            }
        }
        flow
    }

    fn start(&mut self, start: Inner, command: &Command, inner: &mut Shell) -> Flow {
        let span = command.span;
        match start {
            Inner::Argv { words, assignments, cd } => {
                let mut shell = inner.clone();
                shell.cds.extend(cd);
                let mut all = command.assignments.clone();
                for (name, word) in assignments {
                    self.assigned(&name, &word, span, inner);
                    all.push((name, word));
                }
                let command = Command {
                    words,
                    assignments: all,
                    redirects: inner.redirects.clone(),
                    fed: inner.fed.clone(),
                    cds: shell.cds.clone(),
                    via: inner.via.clone(),
                    span,
                };
                self.command(&command, &mut shell)
            }
            Inner::Script { text, positional } => {
                let mut shell = Shell { fed: None, input: None, ..inner.clone() };
                if !positional.is_empty() {
                    self.positional(&positional);
                }
                self.fresh(&text, Some(span), &mut shell)
            }
            Inner::Unknown(why) => {
                self.undecided(why, span);
                Flow::default()
            }
        }
    }

    /// What a function of this script that runs its arguments is told to run.
    fn forwarded(&mut self, program: &str, command: &Command) -> Vec<Inner> {
        let Some(drops) = self.forwards.get(program).copied() else { return Vec::new() };
        let most = if drops { 8 } else { 1 };
        let tails = (1..command.words.len()).take(most).map(|from| command.words[from..].to_vec());
        tails.map(|words| Inner::Argv { words, assignments: Vec::new(), cd: None }).collect()
    }

    fn judge_program(&mut self, first: &Word, shell: &Shell) {
        if self.quiet {
            return;
        }
        let glob = first.pieces.iter().any(|piece| match piece {
            Piece::Literal { text, quoted: false } => {
                text.contains(['*', '?']) || (text.len() > 1 && text != "[[" && text.contains('['))
            }
            _ => false,
        });
        let why = match first.literal() {
            Some(_) if !glob => return,
            Some(_) => "the program's name is a pattern",
            None => "the program's name is made at run time",
        };
        if let (Some(function), [Piece::Variable(name)]) = (&shell.function, first.pieces.as_slice())
            && matches!(name.as_str(), "@" | "*" | "1" | "2" | "3")
        {
            let drops = name.starts_with(['2', '3']);
            *self.forwards.entry(function.clone()).or_default() |= drops;
            return;
        }
        self.undecided(why, first.span);
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

/// A command as it is shown: without the marks of here-documents.
fn tidy(mut command: Command) -> Command {
    let redirects = command.redirects.iter_mut().map(|redirect| &mut redirect.target);
    let assignments = command.assignments.iter_mut().map(|(_, word)| word);
    for word in command.words.iter_mut().chain(redirects).chain(assignments) {
        for piece in &mut word.pieces {
            if let Piece::Dynamic(source) = piece
                && source.contains(MARK)
            {
                *source = source.split(MARK).step_by(2).collect::<Vec<_>>().join("<here-document");
            }
        }
    }
    command
}
