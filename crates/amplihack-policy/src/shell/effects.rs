//! What builtins change for the commands behind them: variables, the directory, functions.

use std::collections::HashSet;

use super::model::{Command, Piece, Word};
use super::output;
use super::union::{Reader, Shell};
use super::unwrap::render;
use super::variables::Value;

impl Reader<'_> {
    /// What a builtin changes for the commands behind it.
    pub(super) fn effects(&mut self, program: &str, command: &Command, shell: &mut Shell) {
        let arguments = &command.words[1..];
        match program {
            "cd" | "pushd" | "chdir" => {
                let target = arguments
                    .iter()
                    .find(|word| word.literal().is_none_or(|text| text == "-" || !text.starts_with('-')));
                let home = || Word { pieces: vec![Piece::Variable("HOME".to_owned())], span: command.span };
                self.cd(target.cloned().unwrap_or_else(home), shell);
            }
            "alias" => {
                for (name, word) in arguments.iter().filter_map(super::unwrap::assignment) {
                    self.aliases.insert(name, render(&word));
                }
            }
            "popd" => self.cd(Word::plain("-", command.span), shell),
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                let mut assignments = Vec::new();
                for (name, word) in arguments.iter().filter_map(super::unwrap::assignment) {
                    if self.late(command.span) {
                        return;
                    }
                    let value = word.literal().map_or_else(Value::anything, Value::text);
                    self.variables.set(&name, value, shell.maybe);
                    self.assigned(&name, &word, command.span, shell);
                    assignments.push((name, word));
                }
                self.note_assignments(command, assignments);
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" => {
                for name in arguments.iter().filter_map(Word::literal) {
                    let text = (program == "read").then(|| shell.input.clone()).flatten();
                    let value = text
                        .filter(|text| text.lines().count() == 1)
                        .map_or_else(Value::anything, |text| Value::text(text.trim()));
                    self.variables.set(&name, value.clone(), shell.maybe);
                    self.variables.set(&format!("{name}[@]"), Value::anything(), shell.maybe);
                }
            }
            "printf" if arguments.first().and_then(Word::literal).as_deref() == Some("-v") => {
                if let Some(name) = arguments.get(1).and_then(Word::literal) {
                    let literal: Option<Vec<String>> = arguments[2..].iter().map(Word::literal).collect();
                    let words = literal.map(|words| [vec!["printf".to_owned()], words].concat());
                    let value = words
                        .and_then(|words| output::of(&words, None))
                        .map_or_else(Value::anything, Value::text);
                    self.variables.set(&name, value, shell.maybe);
                }
            }
            "set" => {
                let operands: Vec<Word> = arguments
                    .iter()
                    .skip_while(|word| {
                        word.literal().is_some_and(|text| text.starts_with('-') && text != "--")
                    })
                    .cloned()
                    .collect();
                let operands = match operands.first() {
                    Some(first) if first.literal().as_deref() == Some("--") => &operands[..],
                    Some(first) => &[&[first.clone()][..], &operands[..]].concat(),
                    None => return,
                };
                self.positional(operands);
            }
            "shift" => {
                self.variables.set("@", Value::anything(), false);
                // Each may now be any that stood behind it.
                for at in 1..9 {
                    let behind = self.variables.get(&(at + 1).to_string(), shell.maybe).cloned();
                    match behind {
                        Some(behind) => self.variables.set(&at.to_string(), behind, true),
                        None if at == 1 && shell.function.is_none() => {
                            self.variables.set("1", Value::anything(), false);
                        }
                        None => {}
                    }
                }
                if let Some(function) = &shell.function {
                    self.forwards.entry(function.clone()).and_modify(|drops| *drops = true);
                }
            }
            _ => {
                if self.functions.contains_key(program) && arguments.len() < 64 {
                    // The function's body sees them as `$1`, `$2`, …
                    self.positional(&command.words);
                }
                for cd in self.functions.get(program).cloned().unwrap_or_default() {
                    self.cd(cd, shell);
                }
            }
        }
    }

    fn cd(&mut self, target: Word, shell: &mut Shell) {
        if shell.cds.len() >= 64 {
            self.undecided("the directory is changed too often to follow", target.span);
        } else {
            shell.cds.push(target);
        }
    }

    fn note_assignments(&mut self, command: &Command, made: Vec<(String, Word)>) {
        if made.is_empty() {
            return;
        }
        let words: Vec<String> = command.words.iter().map(render).collect();
        let Some(index) = self.known.get(&(command.span.start, words, command.via.clone())) else { return };
        let assignments = &mut self.out.commands[*index].assignments;
        let mut names: HashSet<String> = assignments.iter().map(|(name, _)| name.clone()).collect();
        assignments.extend(made.into_iter().filter(|(name, _)| names.insert(name.clone())));
    }

    pub(super) fn positional(&mut self, words: &[Word]) {
        for (index, word) in words.iter().enumerate() {
            if self.late(word.span) {
                return;
            }
            let value = known(word).map_or_else(Value::anything, Value::text);
            self.variables.set(&index.to_string(), value, true);
        }
        let all: Option<Vec<String>> = words.iter().skip(1).map(known).collect();
        let all = all.map_or_else(Value::anything, |fields| Value { choices: vec![fields], unknown: false });
        self.variables.set("@", all.clone(), true);
        self.variables.set("*", all, true);
    }
}

/// A word whose only variables are the directories that every session has; they stay as they are written.
fn known(word: &Word) -> Option<String> {
    let plain = word.pieces.iter().all(|piece| match piece {
        Piece::Literal { .. } => true,
        Piece::Variable(name) => super::variables::STANDING.contains(&name.as_str()),
        Piece::Dynamic(_) => false,
    });
    let tilde = match word.pieces.first() {
        Some(Piece::Literal { text, quoted: false }) => text.strip_prefix('~'),
        _ => None,
    };
    let home = tilde.filter(|rest| rest.is_empty() || rest.starts_with('/'));
    plain.then(|| match home {
        Some(_) => render(word).replacen('~', "${HOME}", 1),
        None => render(word),
    })
}
