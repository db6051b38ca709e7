//! Commands that only start another one: what they start.

use super::env::env;
use super::feeders::{find, parallel, xargs};
use super::interpreters::interpreter;
use super::launchers::launched;
use super::model::{Piece, Word};
use super::wrappers::{self, OTHERS};

/// What a wrapper starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inner {
    /// A command.
    Argv { words: Vec<Word>, assignments: Vec<(String, Word)>, cd: Option<Word> },
    /// A shell's script, with `$0`, `$1`, … behind it.
    Script { text: String, positional: Vec<Word> },
    /// A script that is made at run time.
    Unknown(&'static str),
}

/// Why code with very many calls is not looked at to its end.
pub(super) const TOO_MANY: &str = "the code starts more commands than are looked at";

impl Inner {
    pub(super) fn argv(words: Vec<Word>) -> Self {
        Self::Argv { words, assignments: Vec::new(), cd: None }
    }

    pub(super) fn script(word: &Word) -> Self {
        Self::Script { text: render(word), positional: Vec::new() }
    }
}

/// A word as source: what is not known stays an expansion.
pub(super) fn render(word: &Word) -> String {
    word.pieces
        .iter()
        .map(|piece| match piece {
            Piece::Literal { text, .. } => text.clone(),
            Piece::Variable(name) => format!("${{{name}}}"),
            Piece::Dynamic(source) => source.clone(),
        })
        .collect()
}

/// Words as source, with blanks between them.
pub(super) fn join(words: &[Word]) -> String {
    words.iter().map(render).collect::<Vec<_>>().join(" ")
}

/// Words as source, each one word again where it is known.
pub(super) fn quoted(words: &[Word]) -> String {
    let one = |word: &Word| match (word.pieces.as_slice(), word.literal()) {
        ([Piece::Literal { quoted: false, .. }], _) | (_, None) => render(word),
        (_, Some(text)) => format!("'{}'", text.replace('\'', "'\\''")),
    };
    words.iter().map(one).collect::<Vec<_>>().join(" ")
}

pub(super) fn text(word: &Word) -> String {
    word.literal().unwrap_or_default()
}

/// Whether nothing of the word is known.
fn opaque(word: &Word) -> bool {
    word.pieces.iter().all(|piece| match piece {
        Piece::Literal { text, .. } => text.trim().is_empty(),
        Piece::Variable(_) | Piece::Dynamic(_) => true,
    }) && word.literal().is_none()
}

/// What `words` start, when fed the script or text `input`.
pub(super) fn unwrap(program: &str, words: &[Word], input: Option<&str>) -> Vec<Inner> {
    let arguments = &words[1..];
    match program {
        shell if super::is_shell(shell) => self::shell(arguments, input),
        "source" | "." => match (arguments.first(), input) {
            (Some(file), Some(input)) if is_stdin(file) || is_reader(file) => {
                vec![Inner::Script { text: input.to_owned(), positional: Vec::new() }]
            }
            _ => Vec::new(),
        },
        "eval" if arguments.iter().all(opaque) => Vec::new(),
        "eval" => vec![Inner::Script { text: join(skip_dashes(arguments)), positional: Vec::new() }],
        "trap" => arguments
            .iter()
            .find(|word| !text(word).starts_with('-'))
            .map(Inner::script)
            .into_iter()
            .collect(),
        "alias" => arguments.iter().filter_map(alias).collect(),
        "env" => env(arguments),
        "command"
            if arguments
                .first()
                .is_some_and(|word| matches!(text(word).as_str(), "-v" | "-V" | "-pv" | "-pV")) =>
        {
            Vec::new()
        }
        "xargs" => xargs(arguments, input),
        "find" | "fd" | "fdfind" => find(arguments),
        "parallel" => parallel(arguments),
        "ssh" => wrappers::ssh(arguments, input),
        "flock" | "su" | "sg" | "runuser" | "script" | "watch" => wrappers::scripted(program, arguments),
        "at" | "batch" => input
            .map(|text| Inner::Script { text: text.to_owned(), positional: Vec::new() })
            .into_iter()
            .collect(),
        "docker" | "docker-compose" | "podman" | "kubectl" | "nerdctl" | "git" | "uv" | "poetry"
        | "pipenv" | "pdm" | "hatch" | "bundle" | "pnpm" => wrappers::sub_command(program, arguments),
        "busybox" | "toybox" => plain(arguments),
        // Where the command begins depends on too many options: every place is looked at.
        "bwrap" | "capsh" | "daemonize" | "start-stop-daemon" | "nsjail" | "minijail0" | "ld.so" => {
            tails(arguments)
        }
        _ if program.starts_with("qemu-") => tails(arguments),
        "claude" | "codex" | "copilot" | "gemini" => wrappers::sub_command(program, arguments),
        "tar" | "rsync" | "scp" | "sftp" => {
            arguments.iter().enumerate().filter_map(|(at, word)| option(arguments, at, word)).collect()
        }
        _ if program.starts_with("ld-linux") || program.starts_with("ld-musl") => plain(arguments),
        _ => {
            let known = interpreter(program, arguments, input).or_else(|| listed(program, arguments));
            known.unwrap_or_else(|| launched(program, arguments, input))
        }
    }
}

/// The rest is a command.
pub(super) fn plain(words: &[Word]) -> Vec<Inner> {
    if words.is_empty() { Vec::new() } else { vec![Inner::argv(words.to_vec())] }
}

/// Every end of these words, since any of them may be the command.
pub(super) fn tails(words: &[Word]) -> Vec<Inner> {
    let starts = (0..words.len().min(16)).filter(|at| !text(&words[*at]).starts_with('-'));
    let mut found: Vec<Inner> = starts.map(|at| Inner::argv(words[at..].to_vec())).collect();
    // `capsh -- -c SCRIPT`, and a program whose arguments follow a `--`.
    if let Some(at) = words.iter().position(|word| text(word) == "--") {
        let program = words[..at].iter().rev().find(|word| !text(word).starts_with('-')).cloned();
        let program = program.unwrap_or_else(|| Word::plain("bash", words[at].span));
        found.push(Inner::argv([&[program][..], &words[at + 1..]].concat()));
    }
    found
}

/// The rest is joined to a script, as ssh does.
pub(super) fn joined(words: &[Word]) -> Vec<Inner> {
    if words.is_empty() {
        Vec::new()
    } else {
        vec![Inner::Script { text: join(words), positional: Vec::new() }]
    }
}

fn skip_dashes(words: &[Word]) -> &[Word] {
    if words.first().is_some_and(|word| text(word) == "--") { &words[1..] } else { words }
}

fn listed(program: &str, arguments: &[Word]) -> Option<Vec<Inner>> {
    let wrapper = OTHERS.iter().find(|wrapper| wrapper.names.contains(&program))?;
    let mut rest = &arguments[operands(arguments, wrapper.short, wrapper.long)..];
    rest = rest.get(wrapper.operands..).unwrap_or_default();
    let (assignments, rest) = leading_assignments(rest);
    let cd = (program == "chroot")
        .then(|| arguments.iter().find(|word| !text(word).starts_with('-')).cloned())
        .flatten();
    Some(if rest.is_empty() {
        Vec::new()
    } else {
        vec![Inner::Argv { words: rest.to_vec(), assignments, cd }]
    })
}

/// How many words are options; `short` and `long` are those whose value is a word of its own.
pub(super) fn operands(words: &[Word], short: &str, long: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).and_then(Word::literal) {
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

pub(super) fn leading_assignments(words: &[Word]) -> (Vec<(String, Word)>, &[Word]) {
    let assignments: Vec<_> = words.iter().map_while(assignment).collect();
    let rest = &words[assignments.len()..];
    (assignments, rest)
}

/// `NAME=value` as an argument.
pub(super) fn assignment(word: &Word) -> Option<(String, Word)> {
    let Some(Piece::Literal { text, .. }) = word.pieces.first() else { return None };
    let name = text.split_once('=')?.0;
    let plain = !name.is_empty() && super::word::name_len(name.as_bytes()) == name.len();
    plain.then(|| (name.to_owned(), without(word, name.len() + 1)))
}

/// The word without its first `len` bytes.
pub(super) fn without(word: &Word, len: usize) -> Word {
    let mut word = word.clone();
    if let Some(Piece::Literal { text, .. }) = word.pieces.first_mut() {
        *text = text.get(len..).unwrap_or_default().to_owned();
    }
    word
}

fn alias(word: &Word) -> Option<Inner> {
    let at = render(word).find('=')?;
    let Some(Piece::Literal { text, .. }) = word.pieces.first() else {
        return Some(Inner::Unknown("an alias is made at run time"));
    };
    (text.len() > at).then(|| Inner::script(&without(word, at + 1)))
}

fn shell(arguments: &[Word], input: Option<&str>) -> Vec<Inner> {
    let (mut at, mut command, mut stdin) = (0, false, false);
    while let Some(word) = arguments.get(at).and_then(Word::literal) {
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
        Some(script) if command && (opaque(script) || text(script) == "{}") => {
            vec![Inner::Unknown("the script of a shell is made at run time")]
        }
        Some(script) if command => {
            vec![Inner::Script { text: render(script), positional: rest[1..].to_vec() }]
        }
        Some(file) if !stdin && !is_stdin(file) && !is_reader(file) => Vec::new(),
        _ => input
            .map(|text| Inner::Script {
                text: text.to_owned(),
                positional: if stdin { [&arguments[..1], rest].concat() } else { Vec::new() },
            })
            .into_iter()
            .collect(),
    }
}

fn is_stdin(word: &Word) -> bool {
    let text = text(word);
    text == "/dev/stdin" || text.starts_with("/dev/fd/") || text.starts_with("/proc/self/fd/")
}

/// `<(…)`
fn is_reader(word: &Word) -> bool {
    matches!(word.pieces.first(), Some(Piece::Dynamic(source)) if source.starts_with("<("))
}

/// Options of archivers and copiers whose value is a command.
fn option(arguments: &[Word], at: usize, word: &Word) -> Option<Inner> {
    let source = render(word);
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
            return Some(Inner::Script { text: text.to_owned(), positional: Vec::new() });
        }
    }
    let next = arguments.get(at + 1)?;
    match source.as_str() {
        "-I" | "-F" | "-e" | "--rsh" | "--use-compress-program" | "--to-command" => Some(Inner::script(next)),
        "--checkpoint-action" => render(next)
            .strip_prefix("exec=")
            .map(|text| Inner::Script { text: text.to_owned(), positional: Vec::new() }),
        "-o" => render(next)
            .strip_prefix("ProxyCommand=")
            .map(|text| Inner::Script { text: text.to_owned(), positional: Vec::new() }),
        _ => None,
    }
}
