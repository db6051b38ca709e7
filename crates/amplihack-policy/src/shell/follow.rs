//! A command whose words are known as far as they can be: noted, its effects taken, what it starts followed.

use std::time::Duration;

use super::heredoc::MARK;
use super::model::{Command, Piece, Word};
use super::output;
use super::simple::WORDS;
use super::union::{Flow, Reader, Shell};
use super::unwrap::{Inner, quoted, render, unwrap};

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

impl Reader<'_> {
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
            text: format!("{text} {}", quoted(&command.words[1..])),
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
