//! Changes that builtins make for the commands behind them: variables, the directory, functions.

use std::collections::HashSet;

use super::model::{ShellCommand, ShellWord, WordPiece};
use super::output;
use super::script_reader::{ScriptReader, ShellContext};
use super::unwrap::render_word;
use super::variables::VariableValue;

impl ScriptReader<'_> {
    /// Applies the changes that a builtin makes for the commands behind it.
    pub(super) fn apply_builtin(&mut self, program: &str, command: &ShellCommand, shell: &mut ShellContext) {
        let arguments = &command.words[1..];
        match program {
            "cd" | "pushd" | "chdir" => {
                let target = arguments.iter().find(|word| {
                    word.literal_text().is_none_or(|text| text == "-" || !text.starts_with('-'))
                });
                let home =
                    || ShellWord { pieces: vec![WordPiece::Variable("HOME".to_owned())], span: command.span };
                self.note_cd(target.cloned().unwrap_or_else(home), shell);
            }
            "alias" => {
                for (name, word) in arguments.iter().filter_map(super::unwrap::read_assignment) {
                    self.aliases.insert(name, render_word(&word));
                }
            }
            "popd" => self.note_cd(ShellWord::from_plain("-", command.span), shell),
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                let mut assignments = Vec::new();
                for (name, word) in arguments.iter().filter_map(super::unwrap::read_assignment) {
                    if self.note_if_late(command.span) {
                        return;
                    }
                    let value =
                        known_text(&word).map_or_else(VariableValue::new_unknown, VariableValue::from_text);
                    self.variables.set_value(&name, value, shell.maybe);
                    self.follow_assigned(&name, &word, command.span, shell);
                    assignments.push((name, word));
                }
                self.note_assignments(command, assignments);
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" => {
                for name in arguments.iter().filter_map(ShellWord::literal_text) {
                    let text = (program == "read").then(|| shell.input.clone()).flatten();
                    let value = text
                        .filter(|text| text.lines().count() == 1)
                        .map_or_else(VariableValue::new_unknown, |text| {
                            VariableValue::from_text(text.trim())
                        });
                    self.variables.set_value(&name, value.clone(), shell.maybe);
                    self.variables.set_value(
                        &format!("{name}[@]"),
                        VariableValue::new_unknown(),
                        shell.maybe,
                    );
                }
            }
            "printf" if arguments.first().and_then(ShellWord::literal_text).as_deref() == Some("-v") => {
                if let Some(name) = arguments.get(1).and_then(ShellWord::literal_text) {
                    let literal: Option<Vec<String>> =
                        arguments[2..].iter().map(ShellWord::literal_text).collect();
                    let words = literal.map(|words| [vec!["printf".to_owned()], words].concat());
                    let value = words
                        .and_then(|words| output::printed_text(&words, None))
                        .map_or_else(VariableValue::new_unknown, VariableValue::from_text);
                    self.variables.set_value(&name, value, shell.maybe);
                }
            }
            "set" => {
                let operands: Vec<ShellWord> = arguments
                    .iter()
                    .skip_while(|word| {
                        word.literal_text().is_some_and(|text| text.starts_with('-') && text != "--")
                    })
                    .cloned()
                    .collect();
                let operands = match operands.first() {
                    Some(first) if first.literal_text().as_deref() == Some("--") => &operands[..],
                    Some(first) => &[&[first.clone()][..], &operands[..]].concat(),
                    None => return,
                };
                self.set_positional(operands);
            }
            "shift" => {
                self.variables.set_value("@", VariableValue::new_unknown(), false);
                // Each may now be any that stood behind it.
                for at in 1..9 {
                    let behind = self.variables.get(&(at + 1).to_string(), shell.maybe).cloned();
                    match behind {
                        Some(behind) => self.variables.set_value(&at.to_string(), behind, true),
                        None if at == 1 && shell.function.is_none() => {
                            self.variables.set_value("1", VariableValue::new_unknown(), false);
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
                    self.set_positional(&command.words);
                }
                for cd in self.functions.get(program).cloned().unwrap_or_default() {
                    self.note_cd(cd, shell);
                }
            }
        }
    }

    fn note_cd(&mut self, target: ShellWord, shell: &mut ShellContext) {
        if shell.cds.len() >= 64 {
            self.note_undecided("the directory is changed too often to follow", target.span);
        } else {
            shell.cds.push(target);
        }
    }

    fn note_assignments(&mut self, command: &ShellCommand, made: Vec<(String, ShellWord)>) {
        if made.is_empty() {
            return;
        }
        let words: Vec<String> = command.words.iter().map(render_word).collect();
        let Some(index) = self.known.get(&(command.span.start, words, command.via.clone())) else { return };
        let assignments = &mut self.out.commands[*index].assignments;
        let mut names: HashSet<String> = assignments.iter().map(|(name, _)| name.clone()).collect();
        assignments.extend(made.into_iter().filter(|(name, _)| names.insert(name.clone())));
    }

    pub(super) fn set_positional(&mut self, words: &[ShellWord]) {
        for (index, word) in words.iter().enumerate() {
            if self.note_if_late(word.span) {
                return;
            }
            let value = known_text(word).map_or_else(VariableValue::new_unknown, VariableValue::from_text);
            self.variables.set_value(&index.to_string(), value, true);
        }
        let all: Option<Vec<String>> = words.iter().skip(1).map(known_text).collect();
        let all = all.map_or_else(VariableValue::new_unknown, |fields| VariableValue {
            choices: vec![fields],
            unknown: false,
        });
        self.variables.set_value("@", all.clone(), true);
        self.variables.set_value("*", all, true);
    }
}

/// A word whose only variables are the directories that every session has; they stay as they are written, and a tilde is one of them.
pub(super) fn known_text(word: &ShellWord) -> Option<String> {
    let plain = word.pieces.iter().all(|piece| match piece {
        WordPiece::Literal { .. } => true,
        WordPiece::Variable(name) => super::variables::STANDING.contains(&name.as_str()),
        WordPiece::Dynamic(_) => false,
    });
    let tilde = match word.pieces.first() {
        Some(WordPiece::Literal { text, quoted: false }) => text.strip_prefix('~'),
        _ => None,
    };
    let home = tilde.filter(|rest| rest.is_empty() || rest.starts_with('/'));
    plain.then(|| match home {
        Some(_) => render_word(word).replacen('~', "${HOME}", 1),
        None => render_word(word),
    })
}
