//! Commands inside other interpreters' one-liners, where they are plain text.

/// A command that a one-liner starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StartedCommand {
    /// A shell's script.
    Script(String),
    /// A program with its arguments.
    Argv(Vec<String>),
    /// More than is looked at.
    TooMany,
}

/// Commands of one text that are looked at. Code that starts more is made to be slow to read.
const MOST: usize = 256;

/// Functions whose first text is a command.
const STARTERS: &[&str] = &[
    "system",
    "popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "Popen",
    "getoutput",
    "getstatusoutput",
    "exec",
    "execSync",
    "execFile",
    "execFileSync",
    "spawn",
    "spawnSync",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "execl",
    "execlp",
    "execle",
    "posix_spawn",
    "spawnv",
    "spawnvp",
    "spawnl",
    "spawnlp",
    "shell_exec",
    "passthru",
    "proc_open",
    "pcntl_exec",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "sh",
    "qx",
    "capture2",
    "capture2e",
    "capture3",
    "execute",
    "spawn_shell",
    "pipeline",
];

/// The commands that `code` starts. `backticks`: they start commands in this language. `pipes`: so does text beside a `|` (awk).
pub(super) fn started_commands(code: &str, backticks: bool, pipes: bool) -> Vec<StartedCommand> {
    let mut found = commands_in_text(code, backticks, pipes);
    // Code in the code: `exec("import os; os.system(…)")`.
    let mut inner: Vec<String> = found.iter().filter_map(evaluated_code).collect();
    for _ in 0..DEEPEST {
        let deeper: Vec<StartedCommand> = inner
            .iter()
            .take(MOST)
            .flat_map(|code| commands_in_text(code, backticks, false))
            .take(MOST)
            .collect();
        inner = deeper.iter().filter_map(evaluated_code).collect();
        found.extend(deeper);
    }
    if found.len() > MOST {
        found.truncate(MOST);
        found.push(StartedCommand::TooMany);
    }
    found
}

/// Texts within texts that are looked at.
const DEEPEST: usize = 2;

/// A text that is code again, if it calls one of the functions that start commands.
fn evaluated_code(start: &StartedCommand) -> Option<String> {
    let StartedCommand::Script(text) = start else { return None };
    STARTERS.iter().any(|name| text.contains(&format!("{name}("))).then(|| text.clone())
}

fn commands_in_text(code: &str, backticks: bool, pipes: bool) -> Vec<StartedCommand> {
    let src = code.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut word) = (0, "");
    let renamed = renamed_starters(code);
    let starts = |word: &str| STARTERS.contains(&word) || renamed.contains(&word);
    // Up to here an earlier call had no texts, so one inside it has none.
    let mut barren = 0;
    while at < src.len() {
        if found.len() > MOST {
            found.truncate(MOST);
            found.push(StartedCommand::TooMany);
            break;
        }
        match src[at] {
            quote @ (b'"' | b'\'') => {
                let (text, end) = read_literal(code, at, quote);
                if pipes && (next_is(src, end, b'|') || before_is(src, at, b'|')) {
                    found.push(StartedCommand::Script(text));
                } else if starts(word) {
                    // perl and ruby need no parentheses.
                    read_arguments(code, at, &mut found, word);
                }
                (at, word) = (end, "");
            }
            b'`' if backticks => {
                let (text, end) = read_literal(code, at, b'`');
                found.push(StartedCommand::Script(text));
                (at, word) = (end, "");
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => {
                let end = at
                    + src[at..]
                        .iter()
                        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
                        .count();
                word = &code[at..end];
                at = end;
                let is_list = word == "qw" || word == "w" && code[..at].ends_with("%w");
                if backticks
                    && is_list
                    && STARTERS.iter().any(|name| statement_before(code, at).contains(name))
                {
                    let words = read_delimited(code, at).map(|list| list.replace('\\', ""));
                    found.extend(
                        words
                            .map(|list| {
                                StartedCommand::Argv(list.split_whitespace().map(str::to_owned).collect())
                            })
                            .filter(|start| *start != StartedCommand::Argv(Vec::new())),
                    );
                }
                if backticks && matches!(word, "qx" | "x") && (word == "qx" || code[..at].ends_with("%x")) {
                    found.extend(read_delimited(code, at).map(StartedCommand::Script));
                }
            }
            b'(' if starts(word) => {
                if at >= barren {
                    barren = read_arguments(code, at + 1, &mut found, word);
                }
                (at, word) = (at + 1, "");
            }
            b' ' => at += 1,
            _ => (at, word) = (at + 1, ""),
        }
    }
    found
}

/// The statement up to `at`.
fn statement_before(code: &str, at: usize) -> &str {
    let mut from = at.saturating_sub(80);
    while !code.is_char_boundary(from) {
        from += 1;
    }
    code[from..at].rsplit([';', '\n']).next().unwrap_or_default()
}

/// The code among python's arguments that `-m timeit` runs.
pub fn timed_code<W: AsRef<str>>(arguments: &[W]) -> impl Iterator<Item = &str> {
    let pair = arguments.windows(2).position(|pair| pair[0].as_ref() == "-m" && pair[1].as_ref() == "timeit");
    let one = || arguments.iter().position(|word| word.as_ref() == "-mtimeit");
    let from = pair.map(|at| at + 2).or_else(|| Some(one()? + 1)).unwrap_or(arguments.len());
    arguments[from..].iter().map(AsRef::as_ref).filter(|word| !word.starts_with('-'))
}

/// The commands that a Tcl script starts: every `exec`, at the start of a command or in brackets.
pub(super) fn tcl_commands(code: &str) -> Vec<StartedCommand> {
    let mut found: Vec<StartedCommand> = code
        .split(['\n', ';', '[', '{'])
        .filter_map(|command| command.trim_start().strip_prefix("exec "))
        .map(|rest| StartedCommand::Script(rest.trim_end_matches([']', '}']).to_owned()))
        .take(MOST + 1)
        .collect();
    if found.len() > MOST {
        found.push(StartedCommand::TooMany);
    }
    found
}

/// Names that code gives functions which start commands: `system as s`, `{execSync: e}`, `f = os.system`.
fn renamed_starters(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for starter in STARTERS {
        for (at, _) in code.match_indices(starter).take(8) {
            let rest = code[at + starter.len()..].trim_start();
            let Some(rest) = rest.strip_prefix("as ").or_else(|| rest.strip_prefix(':')) else { continue };
            let rest = rest.trim_start();
            let len = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            names.extend(rest.get(..len).filter(|name| !name.is_empty()));
        }
        // `f = os.system`
        for (at, _) in code.match_indices(starter).take(8) {
            let is_value =
                code[at + starter.len()..].trim_start_matches([' ', ')']).starts_with([';', '\n', ','])
                    || code[at + starter.len()..].trim().is_empty();
            let part = |ch: char| ch.is_ascii_alphanumeric() || ch == '_';
            let object = code[..at].trim_end_matches(|ch: char| part(ch) || ch == '.').trim_end();
            if let Some(before) = object.strip_suffix('=').filter(|_| is_value) {
                names.extend(
                    before.trim_end().rsplit(|ch: char| !part(ch)).next().filter(|name| !name.is_empty()),
                );
            }
        }
    }
    names
}

/// Collects the commands that the plain texts from `from` to the end of the call start. Returns the place up to which there was no text.
fn read_arguments(code: &str, from: usize, found: &mut Vec<StartedCommand>, name: &str) -> usize {
    let src = code.as_bytes();
    let (mut at, mut depth, mut texts, mut list, mut joins) = (from, 0_i32, Vec::new(), None, false);
    while at < src.len() && depth >= 0 && texts.len() < 64 {
        match src[at] {
            quote @ (b'"' | b'\'' | b'`') => {
                let (text, end) = read_literal(code, at, quote);
                // A look-up in the environment is that variable.
                let lookup = ["ENVIRON[", "environ[", "getenv(", "ENV[", "environ.get("];
                let named = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                if named && lookup.iter().any(|name| code[..at].trim_end().ends_with(name)) {
                    texts.push(format!("${{{text}}}"));
                    joins = true;
                } else {
                    texts.push(text);
                }
                at = end;
                continue;
            }
            b'[' => {
                list.get_or_insert(texts.len());
                depth += 1;
            }
            b'(' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b';' | b'\n' => break,
            _ => {}
        }
        at += 1;
    }
    if texts.is_empty() {
        return at;
    }
    if texts.len() > 1 && (joins || list.is_none()) {
        found.push(StartedCommand::Script(texts.concat()));
    }
    // `execvp(file, [name, …])`: the list's first is only a name.
    if name.starts_with("exec")
        && name != "exec"
        && !name.contains("File")
        && !name.contains("Sync")
        && name != "execute"
        && texts.len() > 1
    {
        texts.remove(1);
    }
    if let [text] = texts.as_slice()
        && list.is_none()
    {
        found.push(StartedCommand::Script(text.clone()));
        return from;
    }
    if list.is_none() {
        found.push(StartedCommand::Script(texts[0].clone()));
    }
    found.push(StartedCommand::Argv(texts));
    from
}

/// The text in quotes at `at`, and where it ends.
fn read_literal(code: &str, at: usize, quote: u8) -> (String, usize) {
    let src = code.as_bytes();
    let mark = [quote; 3];
    if quote != b'`' && src[at..].starts_with(&mark) {
        let rest = &code[at + 3..];
        let len = rest.find(std::str::from_utf8(&mark).unwrap_or_default()).unwrap_or(rest.len());
        return (rest[..len].to_owned(), (at + len + 6).min(src.len()));
    }
    let len = super::lexer::escaped_position(&src[at + 1..], quote).unwrap_or(src.len() - at - 1);
    (super::ansi::unescape_backslashes(&code[at + 1..at + 1 + len]), (at + len + 2).min(src.len()))
}

/// `{…}`, `(…)`, `/…/` behind `qx` and `%x`.
fn read_delimited(code: &str, at: usize) -> Option<String> {
    let rest = code[at..].trim_start();
    let open = rest.chars().next()?;
    let close = match open {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        c if c.is_ascii_punctuation() => c,
        _ => return None,
    };
    let inner = &rest[open.len_utf8()..];
    Some(inner[..inner.find(close)?].to_owned())
}

fn next_is(src: &[u8], at: usize, byte: u8) -> bool {
    src[at.min(src.len())..].iter().find(|byte| **byte != b' ') == Some(&byte)
}

fn before_is(src: &[u8], at: usize, byte: u8) -> bool {
    src[..at].iter().rev().find(|byte| !b" &".contains(byte)) == Some(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_anyone_writes_is_not_looked_at() {
        for code in ["exec(`".repeat(10_000), "system('a') ".repeat(1000)] {
            let found = started_commands(&code, false, false);
            assert_eq!((found.len(), found.last()), (MOST + 1, Some(&StartedCommand::TooMany)));
        }
        assert!(started_commands(&"system(".repeat(10_000), false, false).is_empty());
    }

    #[test]
    fn commands_are_found() {
        let script = |text: &str| vec![StartedCommand::Script(text.to_owned())];
        let argv = |text: &str| vec![StartedCommand::Argv(text.split(' ').map(str::to_owned).collect())];
        assert_eq!(started_commands("import os; os.system('rm -rf /')", false, false), script("rm -rf /"));
        assert_eq!(
            started_commands("import subprocess as s; s.run([\"rm\", '-rf', '/'])", false, false),
            argv("rm -rf /")
        );
        assert_eq!(started_commands("os.execvp('rm', ['rm', '-rf', '/'])", false, false), argv("rm -rf /"));
        assert_eq!(started_commands("print `rm -rf /`", true, false), script("rm -rf /"));
        assert_eq!(started_commands("system \"rm -rf /\"", true, false), script("rm -rf /"));
        assert_eq!(started_commands("print qx{rm -rf /}", true, false), script("rm -rf /"));
        assert_eq!(started_commands("BEGIN{print 1 | \"sh x\"}", false, true), script("sh x"));
        assert_eq!(timed_code(&["-m", "timeit", "-n", "1", "a()"]).collect::<Vec<_>>(), ["1", "a()"]);
        assert_eq!(timed_code(&["-m", "pytest", "timeit"]).count(), 0);
        assert_eq!(tcl_commands("puts a; exec rm -rf /"), script("rm -rf /"));
        assert_eq!(tcl_commands("puts [exec rm -rf /]"), script("rm -rf /"));
        assert!(started_commands("print('system')", false, false).is_empty());
        assert!(started_commands("print('a|b')", false, false).is_empty());
    }
}
