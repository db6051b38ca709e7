//! Commands inside other interpreters' one-liners, where they are plain text.

/// A command that a one-liner starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Started {
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

/// What `code` starts. `backticks`: they start commands in this language. `pipes`: so does text beside a `|` (awk).
pub(super) fn started(code: &str, backticks: bool, pipes: bool) -> Vec<Started> {
    let src = code.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut word) = (0, "");
    let renamed = renamed(code);
    let starts = |word: &str| STARTERS.contains(&word) || renamed.contains(&word);
    // Up to here an earlier call had no texts, so one inside it has none.
    let mut barren = 0;
    while at < src.len() {
        if found.len() > MOST {
            found.truncate(MOST);
            found.push(Started::TooMany);
            break;
        }
        match src[at] {
            quote @ (b'"' | b'\'') => {
                let (text, end) = literal(code, at, quote);
                if pipes && (next_is(src, end, b'|') || before_is(src, at, b'|')) {
                    found.push(Started::Script(text));
                } else if starts(word) {
                    // perl and ruby need no parentheses.
                    arguments(code, at, &mut found, word);
                }
                (at, word) = (end, "");
            }
            b'`' if backticks => {
                let (text, end) = literal(code, at, b'`');
                found.push(Started::Script(text));
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
                if backticks && matches!(word, "qx" | "x") && (word == "qx" || code[..at].ends_with("%x")) {
                    found.extend(delimited(code, at).map(Started::Script));
                }
            }
            b'(' if starts(word) => {
                if at >= barren {
                    barren = arguments(code, at + 1, &mut found, word);
                }
                (at, word) = (at + 1, "");
            }
            b' ' => at += 1,
            _ => (at, word) = (at + 1, ""),
        }
    }
    found
}

/// The code among python's arguments that `-m timeit` runs.
pub(crate) fn timed<W: AsRef<str>>(arguments: &[W]) -> impl Iterator<Item = &str> {
    let pair = arguments.windows(2).position(|pair| pair[0].as_ref() == "-m" && pair[1].as_ref() == "timeit");
    let one = || arguments.iter().position(|word| word.as_ref() == "-mtimeit");
    let from = pair.map(|at| at + 2).or_else(|| Some(one()? + 1)).unwrap_or(arguments.len());
    arguments[from..].iter().map(AsRef::as_ref).filter(|word| !word.starts_with('-'))
}

/// What a Tcl script starts: every `exec`, at the start of a command or in brackets.
pub(super) fn tcl(code: &str) -> Vec<Started> {
    let mut found: Vec<Started> = code
        .split(['\n', ';', '[', '{'])
        .filter_map(|command| command.trim_start().strip_prefix("exec "))
        .map(|rest| Started::Script(rest.trim_end_matches([']', '}']).to_owned()))
        .take(MOST + 1)
        .collect();
    if found.len() > MOST {
        found.push(Started::TooMany);
    }
    found
}

/// Names that code gives functions which start commands: `system as s`, `{execSync: e}`.
fn renamed(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for starter in STARTERS {
        for (at, _) in code.match_indices(starter).take(8) {
            let rest = code[at + starter.len()..].trim_start();
            let Some(rest) = rest.strip_prefix("as ").or_else(|| rest.strip_prefix(':')) else { continue };
            let rest = rest.trim_start();
            let len = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            names.extend(rest.get(..len).filter(|name| !name.is_empty()));
        }
    }
    names
}

/// What the plain texts from `from` to the end of the call start. Gives the place up to which there was no text.
fn arguments(code: &str, from: usize, found: &mut Vec<Started>, name: &str) -> usize {
    let src = code.as_bytes();
    let (mut at, mut depth, mut texts, mut list, mut joins) = (from, 0_i32, Vec::new(), None, false);
    while at < src.len() && depth >= 0 && texts.len() < 64 {
        match src[at] {
            quote @ (b'"' | b'\'' | b'`') => {
                let (text, end) = literal(code, at, quote);
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
        found.push(Started::Script(texts.concat()));
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
        found.push(Started::Script(text.clone()));
        return from;
    }
    if list.is_none() {
        found.push(Started::Script(texts[0].clone()));
    }
    found.push(Started::Argv(texts));
    from
}

/// The text in quotes at `at`, and where it ends.
fn literal(code: &str, at: usize, quote: u8) -> (String, usize) {
    let src = code.as_bytes();
    let mark = [quote; 3];
    if quote != b'`' && src[at..].starts_with(&mark) {
        let rest = &code[at + 3..];
        let len = rest.find(std::str::from_utf8(&mark).unwrap_or_default()).unwrap_or(rest.len());
        return (rest[..len].to_owned(), (at + len + 6).min(src.len()));
    }
    let len = super::lexer::escaped_position(&src[at + 1..], quote).unwrap_or(src.len() - at - 1);
    (super::ansi::unescape(&code[at + 1..at + 1 + len]), (at + len + 2).min(src.len()))
}

/// `{…}`, `(…)`, `/…/` behind `qx` and `%x`.
fn delimited(code: &str, at: usize) -> Option<String> {
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
            let found = started(&code, false, false);
            assert_eq!((found.len(), found.last()), (MOST + 1, Some(&Started::TooMany)));
        }
        assert!(started(&"system(".repeat(10_000), false, false).is_empty());
    }

    #[test]
    fn commands_are_found() {
        let script = |text: &str| vec![Started::Script(text.to_owned())];
        let argv = |text: &str| vec![Started::Argv(text.split(' ').map(str::to_owned).collect())];
        assert_eq!(started("import os; os.system('rm -rf /')", false, false), script("rm -rf /"));
        assert_eq!(
            started("import subprocess as s; s.run([\"rm\", '-rf', '/'])", false, false),
            argv("rm -rf /")
        );
        assert_eq!(started("os.execvp('rm', ['rm', '-rf', '/'])", false, false), argv("rm -rf /"));
        assert_eq!(started("print `rm -rf /`", true, false), script("rm -rf /"));
        assert_eq!(started("system \"rm -rf /\"", true, false), script("rm -rf /"));
        assert_eq!(started("print qx{rm -rf /}", true, false), script("rm -rf /"));
        assert_eq!(started("BEGIN{print 1 | \"sh x\"}", false, true), script("sh x"));
        assert_eq!(timed(&["-m", "timeit", "-n", "1", "a()"]).collect::<Vec<_>>(), ["1", "a()"]);
        assert_eq!(timed(&["-m", "pytest", "timeit"]).count(), 0);
        assert_eq!(tcl("puts a; exec rm -rf /"), script("rm -rf /"));
        assert_eq!(tcl("puts [exec rm -rf /]"), script("rm -rf /"));
        assert!(started("print('system')", false, false).is_empty());
        assert!(started("print('a|b')", false, false).is_empty());
    }
}
