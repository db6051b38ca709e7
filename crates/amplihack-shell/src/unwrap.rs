//! Commands that only start another one: what they start.

use super::env::env_commands;
use super::feeders::{find_commands, parallel_commands, xargs_commands};
use super::interpreters::interpreter_commands;
use super::launchers::launched_commands;
use super::model::{ShellWord, WordPiece};
use super::wrappers::{self, OTHERS};

/// A command or script that a wrapper starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WrappedCommand {
    /// A command.
    Argv { words: Vec<ShellWord>, assignments: Vec<(String, ShellWord)>, cd: Option<ShellWord> },
    /// A shell's script, with `$0`, `$1`, … behind it.
    Script { text: String, positional: Vec<ShellWord> },
    /// A script of a shell whose language is not bash's: what bash does not read in it decides nothing.
    Foreign(String),
    /// A script that is made at run time.
    Unknown(&'static str),
}

/// Reason for code with very many calls, which is not looked at to its end.
pub(super) const TOO_MANY: &str = "the code starts more commands than are looked at";

impl WrappedCommand {
    pub(super) fn from_words(words: Vec<ShellWord>) -> Self {
        Self::Argv { words, assignments: Vec::new(), cd: None }
    }

    pub(super) fn from_script_word(word: &ShellWord) -> Self {
        Self::Script { text: render_word(word), positional: Vec::new() }
    }
}

/// A word as source: what is not known stays an expansion.
pub(super) fn render_word(word: &ShellWord) -> String {
    word.pieces
        .iter()
        .map(|piece| match piece {
            WordPiece::Literal { text, .. } => text.clone(),
            WordPiece::Variable(name) => format!("${{{name}}}"),
            WordPiece::Dynamic(source) => source.clone(),
        })
        .collect()
}

/// Words as source, with blanks between them.
pub(super) fn render_words(words: &[ShellWord]) -> String {
    words.iter().map(render_word).collect::<Vec<_>>().join(" ")
}

/// Words as source, each one word again where it is known.
pub(super) fn quote_words(words: &[ShellWord]) -> String {
    let one = |word: &ShellWord| match (word.pieces.as_slice(), word.literal_text()) {
        ([WordPiece::Literal { quoted: false, .. }], _) | (_, None) => render_word(word),
        (_, Some(text)) => format!("'{}'", text.replace('\'', "'\\''")),
    };
    words.iter().map(one).collect::<Vec<_>>().join(" ")
}

pub(super) fn literal_or_empty(word: &ShellWord) -> String {
    word.literal_text().unwrap_or_default()
}

/// Reports whether nothing of the word is known.
fn is_opaque(word: &ShellWord) -> bool {
    word.pieces.iter().all(|piece| match piece {
        WordPiece::Literal { text, .. } => text.trim().is_empty(),
        WordPiece::Variable(_) | WordPiece::Dynamic(_) => true,
    }) && word.literal_text().is_none()
}

/// The commands that `words` start, when fed the script or text `input`.
pub(super) fn unwrap_command(program: &str, words: &[ShellWord], input: Option<&str>) -> Vec<WrappedCommand> {
    let arguments = &words[1..];
    match program {
        shell if super::is_shell(shell) => shell_scripts(arguments, input),
        "source" | "." => match (arguments.first(), input) {
            (Some(file), Some(input)) if is_stdin(file) || is_reader(file) => {
                vec![WrappedCommand::Script { text: input.to_owned(), positional: Vec::new() }]
            }
            _ => Vec::new(),
        },
        "eval" if arguments.iter().all(is_opaque) => Vec::new(),
        "eval" => vec![WrappedCommand::Script {
            text: render_words(skip_dashes(arguments)),
            positional: Vec::new(),
        }],
        "trap" => arguments
            .iter()
            .find(|word| !literal_or_empty(word).starts_with('-'))
            .map(WrappedCommand::from_script_word)
            .into_iter()
            .collect(),
        "alias" => arguments.iter().filter_map(alias_script).collect(),
        "env" => env_commands(arguments),
        "command"
            if arguments.first().is_some_and(|word| {
                matches!(literal_or_empty(word).as_str(), "-v" | "-V" | "-pv" | "-pV")
            }) =>
        {
            Vec::new()
        }
        "bun" if arguments.first().is_some_and(|word| literal_or_empty(word) == "x") => {
            launched_commands("bunx", &arguments[1..], input)
        }
        "xargs" => xargs_commands(arguments, input),
        "find" | "fd" | "fdfind" => find_commands(arguments),
        "parallel" => parallel_commands(arguments, input),
        "ssh" => wrappers::ssh_commands(arguments, input),
        "flock" | "su" | "sg" | "runuser" | "script" | "watch" => {
            wrappers::scripted_commands(program, arguments)
        }
        "at" | "batch" => input
            .map(|text| WrappedCommand::Script { text: text.to_owned(), positional: Vec::new() })
            .into_iter()
            .collect(),
        "docker" | "docker-compose" | "podman" | "kubectl" | "nerdctl" | "git" | "uv" | "poetry"
        | "pipenv" | "pdm" | "hatch" | "bundle" | "pnpm" => {
            let mut found = wrappers::sub_command(program, arguments);
            if found.is_empty()
                && matches!(program, "uv" | "pnpm" | "poetry" | "pipenv" | "pdm" | "hatch" | "bundle")
            {
                found = super::runners::suspected_commands(program, arguments);
            }
            found
        }
        "busybox" | "toybox" => plain_command(arguments),
        // Where the command begins depends on too many options: every place is looked at.
        "bwrap" | "capsh" | "daemonize" | "start-stop-daemon" | "nsjail" | "minijail0" | "ld.so" => {
            tail_commands(arguments)
        }
        _ if program.starts_with("qemu-") => tail_commands(arguments),
        "claude" | "codex" | "copilot" | "gemini" => wrappers::sub_command(program, arguments),
        "tar" | "rsync" | "scp" | "sftp" => {
            let mut found: Vec<WrappedCommand> = arguments
                .iter()
                .enumerate()
                .filter_map(|(at, word)| option_script(arguments, at, word))
                .collect();
            let own: &[&str] = match program {
                "tar" => &["--rsh-command", "--new-volume-script"],
                "rsync" => &["--rsync-path"],
                _ => &["-S"],
            };
            found.extend(super::launchers::to_scripts(super::launchers::option_values(arguments, own)));
            found
        }
        _ if program.starts_with("ld-linux") || program.starts_with("ld-musl") => plain_command(arguments),
        _ => {
            let known = interpreter_commands(program, arguments, input)
                .or_else(|| listed_wrapper(program, arguments));
            known.unwrap_or_else(|| {
                let mut found = launched_commands(program, arguments, input);
                found.extend(super::runners::runner_commands(program, arguments));
                // The tables may take the program's name for the value of an option.
                let more = super::runners::suspected_commands(program, arguments);
                found.extend(more.into_iter().filter(|inner| !found.contains(inner)).collect::<Vec<_>>());
                found
            })
        }
    }
}

/// The rest is a command.
pub(super) fn plain_command(words: &[ShellWord]) -> Vec<WrappedCommand> {
    if words.is_empty() { Vec::new() } else { vec![WrappedCommand::from_words(words.to_vec())] }
}

/// Every end of these words, since any of them may be the command.
pub(super) fn tail_commands(words: &[ShellWord]) -> Vec<WrappedCommand> {
    let starts = (0..words.len().min(16)).filter(|at| !literal_or_empty(&words[*at]).starts_with('-'));
    let mut found: Vec<WrappedCommand> =
        starts.map(|at| WrappedCommand::from_words(words[at..].to_vec())).collect();
    // `capsh -- -c SCRIPT`, and a program whose arguments follow a `--`.
    if let Some(at) = words.iter().position(|word| literal_or_empty(word) == "--") {
        let program = words[..at].iter().rev().find(|word| !literal_or_empty(word).starts_with('-')).cloned();
        let program = program.unwrap_or_else(|| ShellWord::from_plain("bash", words[at].span));
        found.push(WrappedCommand::from_words([&[program][..], &words[at + 1..]].concat()));
    }
    found
}

/// The rest is joined to a script, as ssh does.
pub(super) fn joined_script(words: &[ShellWord]) -> Vec<WrappedCommand> {
    if words.is_empty() {
        Vec::new()
    } else {
        vec![WrappedCommand::Script { text: render_words(words), positional: Vec::new() }]
    }
}

fn skip_dashes(words: &[ShellWord]) -> &[ShellWord] {
    if words.first().is_some_and(|word| literal_or_empty(word) == "--") { &words[1..] } else { words }
}

fn listed_wrapper(program: &str, arguments: &[ShellWord]) -> Option<Vec<WrappedCommand>> {
    let wrapper = OTHERS.iter().find(|wrapper| wrapper.names.contains(&program))?;
    let mut rest = &arguments[count_options(arguments, wrapper.short, wrapper.long)..];
    rest = rest.get(wrapper.operands..).unwrap_or_default();
    // What bash takes for no assignment is the program behind its keyword.
    let begins =
        |word: &ShellWord| render_word(word).starts_with(|ch: char| ch.is_ascii_alphabetic() || ch == '_');
    let is_command = program == "time" && rest.first().is_some_and(|word| !begins(word));
    let (assignments, rest) = if is_command { (Vec::new(), rest) } else { leading_assignments(rest) };
    let cd = (program == "chroot")
        .then(|| arguments.iter().find(|word| !literal_or_empty(word).starts_with('-')).cloned())
        .flatten();
    Some(if rest.is_empty() {
        Vec::new()
    } else {
        vec![WrappedCommand::Argv { words: rest.to_vec(), assignments, cd }]
    })
}

/// Number of words that are options; `short` and `long` are those whose value is a word of its own.
pub(super) fn count_options(words: &[ShellWord], short: &str, long: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).and_then(ShellWord::literal_text) {
        at += 1;
        if word == "--" {
            return at;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return at - 1;
        };
        let separate = match letters.strip_prefix('-') {
            Some(_) => long.contains(&word.as_str()),
            // `-u root` takes the next word, `-uroot` does not.
            None => letters
                .char_indices()
                .find(|(_, c)| short.contains(*c))
                .is_some_and(|(at, c)| at + c.len_utf8() == letters.len()),
        };
        at += usize::from(separate);
    }
    at.min(words.len())
}

pub(super) fn leading_assignments(words: &[ShellWord]) -> (Vec<(String, ShellWord)>, &[ShellWord]) {
    let assignments: Vec<_> = words.iter().map_while(any_assignment).collect();
    let rest = &words[assignments.len()..];
    (assignments, rest)
}

/// `NAME=value` as an argument.
pub(super) fn read_assignment(word: &ShellWord) -> Option<(String, ShellWord)> {
    let Some(WordPiece::Literal { text, .. }) = word.pieces.first() else { return None };
    let name = text.split_once('=')?.0;
    let plain = !name.is_empty() && super::word::name_len(name.as_bytes()) == name.len();
    plain.then(|| (name.to_owned(), without_prefix(word, name.len() + 1)))
}

/// An argument that `env` puts into the environment, whatever its name is: `a.b=c`; and what bash takes for one: `a[1]=b`, `a+=b`.
fn any_assignment(word: &ShellWord) -> Option<(String, ShellWord)> {
    let Some(WordPiece::Literal { text, .. }) = word.pieces.first() else { return None };
    let name = text.split_once('=')?.0;
    (!name.is_empty()).then(|| (name.to_owned(), without_prefix(word, name.len() + 1)))
}

/// The word without its first `len` bytes.
pub(super) fn without_prefix(word: &ShellWord, len: usize) -> ShellWord {
    let mut word = word.clone();
    if let Some(WordPiece::Literal { text, .. }) = word.pieces.first_mut() {
        *text = text.get(len..).unwrap_or_default().to_owned();
    }
    word
}

fn alias_script(word: &ShellWord) -> Option<WrappedCommand> {
    let at = render_word(word).find('=')?;
    let Some(WordPiece::Literal { text, .. }) = word.pieces.first() else {
        return Some(WrappedCommand::Unknown("an alias is made at run time"));
    };
    (text.len() > at).then(|| WrappedCommand::from_script_word(&without_prefix(word, at + 1)))
}

fn shell_scripts(arguments: &[ShellWord], input: Option<&str>) -> Vec<WrappedCommand> {
    let (mut at, mut command, mut stdin) = (0, false, false);
    while let Some(word) = arguments.get(at).and_then(ShellWord::literal_text) {
        if word == "-" || word == "--" {
            at += 1;
            break;
        }
        let Some(letters) = word.strip_prefix(['-', '+']) else { break };
        at += 1;
        if letters.starts_with('-') {
            at += usize::from(matches!(letters, "-rcfile" | "-init-file"));
            command |= letters == "-command";
            continue;
        }
        command |= letters.contains('c') && word.starts_with('-');
        stdin |= letters.contains('s') && word.starts_with('-');
        at += letters.chars().filter(|c| matches!(c, 'o' | 'O')).count();
    }
    let rest = arguments.get(at..).unwrap_or_default();
    match rest.first() {
        Some(script) if command && (is_opaque(script) || literal_or_empty(script) == "{}") => {
            vec![WrappedCommand::Unknown("the script of a shell is made at run time")]
        }
        Some(script) if command => {
            vec![WrappedCommand::Script { text: render_word(script), positional: rest[1..].to_vec() }]
        }
        Some(file) if !stdin && !is_stdin(file) && !is_reader(file) => Vec::new(),
        _ => input
            .map(|text| WrappedCommand::Script {
                text: text.to_owned(),
                positional: if stdin { [&arguments[..1], rest].concat() } else { Vec::new() },
            })
            .into_iter()
            .collect(),
    }
}

fn is_stdin(word: &ShellWord) -> bool {
    let text = literal_or_empty(word);
    text == "/dev/stdin" || text.starts_with("/dev/fd/") || text.starts_with("/proc/self/fd/")
}

/// `<(…)`
fn is_reader(word: &ShellWord) -> bool {
    matches!(word.pieces.first(), Some(WordPiece::Dynamic(source)) if source.starts_with("<("))
}

/// Options of archivers and copiers whose value is a command.
fn option_script(arguments: &[ShellWord], at: usize, word: &ShellWord) -> Option<WrappedCommand> {
    let source = render_word(word);
    for prefix in [
        "--checkpoint-action=exec=",
        "--to-command=",
        "--use-compress-program=",
        "--rsh=",
        "-oProxyCommand=",
        "--rmt-command=",
        "--info-script=",
    ] {
        if let Some(text) = source.strip_prefix(prefix) {
            return Some(WrappedCommand::Script { text: text.to_owned(), positional: Vec::new() });
        }
    }
    let next = arguments.get(at + 1)?;
    match source.as_str() {
        "-I" | "-F" | "-e" | "--rsh" | "--use-compress-program" | "--to-command" => {
            Some(WrappedCommand::from_script_word(next))
        }
        "--checkpoint-action" => render_word(next)
            .strip_prefix("exec=")
            .map(|text| WrappedCommand::Script { text: text.to_owned(), positional: Vec::new() }),
        "-o" => render_word(next)
            .strip_prefix("ProxyCommand=")
            .map(|text| WrappedCommand::Script { text: text.to_owned(), positional: Vec::new() }),
        _ => None,
    }
}

/// What was found, as text.
#[cfg(test)]
pub(super) fn texts(found: Vec<WrappedCommand>) -> Vec<String> {
    let text = |inner| match inner {
        WrappedCommand::Script { text, .. } | WrappedCommand::Foreign(text) => text,
        WrappedCommand::Argv { words, .. } => render_words(&words),
        WrappedCommand::Unknown(why) => why.to_owned(),
    };
    found.into_iter().map(text).collect()
}
