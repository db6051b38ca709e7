//! Commands inside the commands of editors: vi's `!`, emacs' functions, sed's `e`.

use super::launchers::{called_commands, option_values, to_scripts};
use super::model::ShellWord;
use super::unwrap::{WrappedCommand, render_word};

/// vi and its kin: `-c`, `--cmd` and `+`, and what is typed into it.
pub(super) fn vi_commands(
    program: &str,
    arguments: &[ShellWord],
    input: Option<&str>,
) -> Vec<WrappedCommand> {
    let words: Vec<String> = arguments.iter().map(render_word).collect();
    let plus = words.iter().filter_map(|word| word.strip_prefix('+').map(str::to_owned));
    let options = words.windows(2).filter_map(|pair| {
        let option = pair[0].strip_prefix('-')?;
        (option == "-cmd" || !option.starts_with('-') && option.ends_with('c')).then(|| pair[1].clone())
    });
    let silent = matches!(program, "ex" | "ed")
        || words.iter().any(|word| matches!(word.as_str(), "-es" | "-Es" | "-e"));
    let typed = input.filter(|_| silent).into_iter().flat_map(str::lines).map(str::to_owned);
    plus.chain(options).chain(typed).flat_map(|command| ex_commands(&command)).collect()
}

/// Commands of a shell in a single command of ex.
fn ex_commands(command: &str) -> Vec<WrappedCommand> {
    let bang = command.char_indices().find(|(at, ch)| {
        // `w!` and `q!` are no commands of a shell.
        *ch == '!'
            && command[..*at].chars().next_back().is_none_or(|before| {
                before.is_whitespace() || ":%$.|,".contains(before) || before.is_ascii_digit()
            })
    });
    if let Some((at, _)) = bang {
        return to_scripts(
            Some(command[at + 1..].trim().to_owned()).filter(|text| !text.is_empty()).into_iter(),
        );
    }
    let terminal = command.trim_start_matches([':', ' ']);
    if let Some(text) = terminal.strip_prefix("terminal ").or_else(|| terminal.strip_prefix("term ")) {
        return to_scripts(Some(text.to_owned()).into_iter());
    }
    called_commands(command)
}

/// Functions of emacs that run a command line.
const SHELLS: [&str; 4] = ["shell-command", "compile ", "eshell-command", "start-process-shell-command"];

pub(super) fn emacs_commands(arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    let texts =
        |code: &str| -> Vec<String> { code.split('"').skip(1).step_by(2).map(str::to_owned).collect() };
    let mut found = Vec::new();
    for code in option_values(arguments, &["--eval", "-eval", "--execute", "-e"]) {
        if SHELLS.iter().any(|name| code.contains(name)) {
            found.extend(to_scripts(texts(&code).into_iter()));
        } else if ["call-process", "start-process", "process-lines"].iter().any(|name| code.contains(name)) {
            found.extend(to_scripts(Some(texts(&code).join(" ")).into_iter()));
        } else if code.contains("delete-directory") || code.contains("delete-file") {
            let removed = texts(&code).into_iter().map(|path| format!("rm -rf {path}"));
            found.extend(to_scripts(removed));
        }
    }
    found
}

/// sed: the scripts among the arguments.
pub(super) fn sed_commands(arguments: &[ShellWord]) -> Vec<WrappedCommand> {
    let mut given = option_values(arguments, &["-e", "--expression"]).peekable();
    if given.peek().is_some() {
        return given.flat_map(|script| sed_script(&script)).collect();
    }
    let first = arguments.iter().map(render_word).find(|word| !word.starts_with('-'));
    first.map(|script| sed_script(&script)).unwrap_or_default()
}

/// Splits at the next `delimiter` that is not behind a backslash: the text before it, and the text behind it.
fn split_at_delimiter(rest: &str, delimiter: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, ch) in rest.char_indices() {
        if ch == delimiter && !escaped {
            return Some((&rest[..at], &rest[at + ch.len_utf8()..]));
        }
        escaped = ch == '\\' && !escaped;
    }
    None
}

/// Files that a script of sed writes: `w FILE`, and `s` with the flag `w`.
pub fn sed_writes(script: &str) -> Vec<String> {
    sed_effects(script).1
}

/// Commands that a script of sed runs: `e COMMAND`, and `s` with the flag `e`.
fn sed_script(script: &str) -> Vec<WrappedCommand> {
    sed_effects(script).0
}

/// The commands that a script of sed runs, and the files that it writes.
fn sed_effects(script: &str) -> (Vec<WrappedCommand>, Vec<String>) {
    let (mut found, mut written) = (Vec::new(), Vec::new());
    let mut rest = script;
    while let Some(first) = rest.chars().next() {
        let behind = &rest[first.len_utf8()..];
        rest = match first {
            // An address.
            '/' => split_at_delimiter(behind, '/').map_or("", |(_, rest)| rest),
            '\\' => match behind.chars().next() {
                Some(delimiter) => split_at_delimiter(&behind[delimiter.len_utf8()..], delimiter)
                    .map_or("", |(_, rest)| rest),
                None => "",
            },
            'e' => {
                let (command, rest) = behind.split_once('\n').unwrap_or((behind, ""));
                match command.trim() {
                    "" => found.push(WrappedCommand::Unknown("sed runs what it reads")),
                    command => found
                        .push(WrappedCommand::Script { text: command.to_owned(), positional: Vec::new() }),
                }
                rest
            }
            's' | 'y' => {
                let Some(delimiter) = behind.chars().next() else { break };
                let Some((_, rest)) = split_at_delimiter(&behind[delimiter.len_utf8()..], delimiter) else {
                    break;
                };
                let Some((to, rest)) = split_at_delimiter(rest, delimiter) else { break };
                let flags = rest.split(['w', ';', '\n', '}', ' ']).next().unwrap_or_default();
                if first == 's' && flags.contains('e') {
                    found.push(if to.contains(['&', '\\']) {
                        WrappedCommand::Unknown("sed runs what it reads")
                    } else {
                        WrappedCommand::Script { text: to.to_owned(), positional: Vec::new() }
                    });
                }
                let rest = &rest[flags.len()..];
                if first == 's' && rest.starts_with('w') {
                    let (file, rest) = rest[1..].split_once('\n').unwrap_or((&rest[1..], ""));
                    written.push(file.trim().to_owned());
                    rest
                } else {
                    rest
                }
            }
            'w' | 'W' => {
                let (file, rest) = behind.split_once('\n').unwrap_or((behind, ""));
                written.push(file.trim().to_owned());
                rest
            }
            // Text or a name up to the end of the line.
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => behind.split_once('\n').map_or("", |(_, rest)| rest),
            ':' | 'b' | 't' | 'T' => behind.split_once(['\n', ';']).map_or("", |(_, rest)| rest),
            _ => behind,
        };
    }
    (found, written)
}
