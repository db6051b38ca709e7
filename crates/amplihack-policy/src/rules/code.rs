//! Names in one-liners of interpreters: Python, Perl, Ruby, Node and PHP code on a command line or in a here-document.

use amplihack_shell::timed_code;

use super::call::CommandCall;
use super::change::PathChangeKind;
use super::options::CommandOptions;
use super::script::JudgedScript;

/// Code that a command gives an interpreter, if it is known.
pub(crate) fn interpreter_code(script: &JudgedScript<'_>, call: &CommandCall<'_>) -> Option<String> {
    let flags = code_flags(&call.program)?;
    let mut code = String::new();
    if flags == "c" {
        let words: Vec<&str> = call.args.iter().map(super::call::CallArg::text).collect();
        code.extend(timed_code(&words).flat_map(|line| [line, "\n"]));
        if !code.is_empty() {
            return Some(code);
        }
    }
    let mut rest = call.args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.text();
        if matches!(text, "--eval" | "--print" | "--run" | "eval") {
            code.extend(rest.next().map(super::call::CallArg::text));
        } else if let Some(value) = text.strip_prefix("--eval=") {
            code.push_str(value);
        } else if text.len() > 2 && ["--", "-M", "-I"].iter().any(|option| text.starts_with(option)) {
            // Another option, or a module.
            continue;
        } else if let Some(cluster) =
            text.strip_prefix('-').filter(|cluster| !cluster.is_empty() && !cluster.starts_with('-'))
        {
            // `-ne` and `-we` as well as `-e`; behind the letter the code may follow at once.
            if let Some(at) = cluster.find(|ch| flags.contains(ch)) {
                match &cluster[at + 1..] {
                    "" => code.extend(rest.next().map(super::call::CallArg::text)),
                    behind => code.push_str(behind),
                }
            }
        } else if code.is_empty() && text != "-" {
            return None;
        } else {
            break;
        }
        code.push('\n');
    }
    if code.is_empty() {
        code.push_str(script.fed_text(call)?);
    }
    Some(code)
}

/// Options in front of code.
fn code_flags(program: &str) -> Option<&'static str> {
    match interpreter_language(program)? {
        "python" => Some("c"),
        "perl" | "julia" => Some("eE"),
        "ruby" | "lua" | "R" => Some("e"),
        "node" => Some("ep"),
        "php" => Some("rBRE"),
        _ => None,
    }
}

/// The language of an interpreter by its name, versions apart.
pub(crate) fn interpreter_language(program: &str) -> Option<&'static str> {
    let bare = program.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.');
    match bare {
        "python" | "pypy" | "python-" => Some("python"),
        "perl" => Some("perl"),
        "ruby" => Some("ruby"),
        "node" | "nodejs" | "deno" | "bun" => Some("node"),
        "php" => Some("php"),
        "lua" | "luajit" => Some("lua"),
        "R" | "Rscript" => Some("R"),
        "julia" => Some("julia"),
        _ => None,
    }
}

/// Reports whether code has a name in it, not as a part of a longer one.
pub(crate) fn mentions_name(code: &str, name: &str) -> bool {
    name_positions(code, name).next().is_some()
}

fn name_positions<'c>(code: &'c str, name: &'c str) -> impl Iterator<Item = usize> {
    let part = |ch: char| ch.is_alphanumeric() || ch == '_';
    code.match_indices(name).map(|(at, _)| at).filter(move |at| {
        let before = code[..*at].chars().next_back().is_none_or(|ch| !part(ch));
        let behind = code[at + name.len()..].chars().next().is_none_or(|ch| !part(ch));
        before && behind
    })
}

/// Every string literal in code.
pub(crate) fn string_literals(code: &str) -> Vec<String> {
    positioned_literals(code).into_iter().map(|(_, text)| text).collect()
}

/// Every string literal in code, each with the place behind its opening quote.
fn positioned_literals(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = code.chars();
    while let Some(ch) = rest.next() {
        if !matches!(ch, '\'' | '"' | '`') {
            continue;
        }
        let place = code.len() - rest.as_str().len();
        let mut text = String::new();
        while let Some(inner) = rest.next() {
            match inner {
                '\\' => text.extend(rest.next()),
                inner if inner == ch => break,
                inner => text.push(inner),
            }
        }
        found.push((place, text));
    }
    found
}

/// Functions that take a file or directory away.
const REMOVERS: [(&str, PathChangeKind); 17] = [
    ("removeSync", PathChangeKind::Remove),
    ("rmtree", PathChangeKind::Remove),
    ("rmdir", PathChangeKind::Remove),
    ("removedirs", PathChangeKind::Remove),
    ("remove_tree", PathChangeKind::Remove),
    ("remove", PathChangeKind::Remove),
    ("unlink", PathChangeKind::Remove),
    ("rm_rf", PathChangeKind::Remove),
    ("rm_r", PathChangeKind::Remove),
    ("rmSync", PathChangeKind::Remove),
    ("rmdirSync", PathChangeKind::Remove),
    ("unlinkSync", PathChangeKind::Remove),
    ("rm", PathChangeKind::Remove),
    ("rename", PathChangeKind::Move),
    ("renameSync", PathChangeKind::Move),
    ("renames", PathChangeKind::Move),
    ("move", PathChangeKind::Move),
];

/// Calls that move something and stand within the arguments of others, of one name, that are looked at.
const MOVES: usize = 16;

/// Places that code takes away: those named in the calls that do it. Takes time linear in the code's length, however often it
/// names such a call.
pub(crate) fn code_removals(code: &str) -> Vec<(PathChangeKind, Vec<String>)> {
    let literals_of_all = positioned_literals(code);
    let mut found = Vec::new();
    for (name, kind) in REMOVERS {
        // What stands in the arguments of an earlier call was found with them.
        let (mut covered, mut moves) = (0, 0);
        let mut statement = CodeStatement::default();
        for start in name_positions(code, name) {
            if start < covered {
                if kind == PathChangeKind::Remove {
                    continue;
                }
                moves += 1;
                if moves > MOVES {
                    // Each may move anything, and looking at all of them takes too long.
                    found.push((kind, vec!["/".to_owned()]));
                    break;
                }
            }
            let rest = &code[start + name.len()..];
            let arguments = call_arguments(rest);
            covered = arguments.as_ptr() as usize - code.as_ptr() as usize + arguments.len();
            let mut places = string_literals(arguments);
            if kind == PathChangeKind::Move {
                places.truncate(1);
            }
            let here = ["getcwd", "cwd", "pwd", "curdir"].iter().any(|word| mentions_name(arguments, word));
            let home = ["home", "homedir"].iter().any(|word| mentions_name(arguments, word))
                || arguments.contains("HOME");
            places.extend(here.then(|| ".".to_owned()));
            places.extend(home.then(|| "~".to_owned()));
            if places.is_empty() && kind == PathChangeKind::Remove {
                // `for f in os.walk("/x"): os.remove(f)`: the place stands elsewhere in the statement.
                places.extend_from_slice(&statement.statement_around(code, start).places);
            }
            // `Path("x").rmdir()`: the place stands in front.
            if arguments.trim().is_empty() {
                let before = literals_of_all.partition_point(|(at, _)| *at < start);
                places.extend(before.checked_sub(1).map(|last| literals_of_all[last].1.clone()));
                // `[p.unlink() for p in Path.home().rglob("*")]`: it stands in the same statement.
                places.extend(statement.statement_around(code, start).home.then(|| "~".to_owned()));
            }
            found.push((kind, places));
        }
    }
    found
}

/// The statement that was looked at last: many calls may stand in it.
#[derive(Default)]
struct CodeStatement {
    range: std::ops::Range<usize>,
    places: Vec<String>,
    home: bool,
}

impl CodeStatement {
    /// The statement around `start`. Calls come in their order.
    fn statement_around(&mut self, code: &str, start: usize) -> &Self {
        if !self.range.contains(&start) {
            let before = &code[self.range.end..start];
            let from = before.rfind([';', '\n']).map_or(self.range.end, |at| self.range.end + at + 1);
            let text = code[from..].split([';', '\n']).next().unwrap_or_default();
            self.range = from..from + text.len() + 1;
            self.places =
                string_literals(text).into_iter().filter(|text| text.starts_with(['/', '~'])).collect();
            self.home = text.contains(".home()");
        }
        self
    }
}

/// The text in the brackets that open `rest`, else up to the end of the statement.
fn call_arguments(rest: &str) -> &str {
    let Some(inner) = rest.trim_start().strip_prefix('(') else {
        return rest.split([';', '\n']).next().unwrap_or(rest);
    };
    let mut depth = 1_usize;
    for (at, ch) in inner.char_indices() {
        match ch {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &inner[..at];
        }
    }
    inner
}

/// Files that code writes: every literal, where something is opened for writing.
pub(crate) fn written_files(code: &str) -> Vec<String> {
    let literals = string_literals(code);
    let mode = literals
        .iter()
        .any(|text| matches!(text.as_str(), "w" | "a" | "wb" | "ab" | "w+" | "a+" | "x" | ">" | ">>"));
    let names = [
        "write_text",
        "write_bytes",
        "writeFileSync",
        "appendFileSync",
        "writeFile",
        "file_put_contents",
        "copyfile",
        "chmod",
    ];
    if mode || names.iter().any(|name| mentions_name(code, name)) {
        return literals.into_iter().filter(|text| text.contains(['/', '.', '~'])).collect();
    }
    Vec::new()
}

/// Reports whether code opens connections.
pub(crate) fn opens_connections(code: &str) -> bool {
    const NAMES: [&str; 18] = [
        "urllib",
        "requests",
        "httpx",
        "aiohttp",
        "urlopen",
        "socket",
        "smtplib",
        "ftplib",
        "paramiko",
        "fetch",
        "axios",
        "Net::HTTP",
        "LWP",
        "fsockopen",
        "curl_exec",
        "TCPSocket",
        "IO::Socket",
        "XMLHttpRequest",
    ];
    NAMES.iter().any(|name| mentions_name(code, name))
        || code.contains("http.request")
        || code.contains("http.get")
        || code.contains("https.get")
        || code.contains("URI.open")
        || ["net", "http", "https"].iter().any(|module| {
            code.contains(&format!("(\"{module}\")")) || code.contains(&format!("('{module}')"))
        })
        || mentions_name(code, "file_get_contents") && code.contains("://")
        || code.contains("net.connect")
        || code.contains("https.request")
}

/// Reports whether a command takes code from its input: it has no script, no code and no module among its operands.
pub(crate) fn reads_code(call: &CommandCall<'_>) -> bool {
    if interpreter_language(&call.program).is_none() {
        return false;
    }
    let options = CommandOptions::read(&call.args, "WX", &[]);
    let given = options.short.iter().any(|(ch, _)| "cemEnpr".contains(*ch)) || !options.long.is_empty();
    !given && options.operands.first().is_none_or(|first| matches!(first.text(), "-" | "/dev/stdin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removers_name_their_places() {
        for (code, expected) in [
            ("import shutil; shutil.rmtree('/b/p')", "/b/p"),
            ("import shutil,os; shutil.rmtree(os.getcwd())", "."),
            ("from pathlib import Path; Path('/b').rmdir()", "/b"),
            ("rmdir '/b/p';", "/b/p"),
            ("require('fs').rmSync('/b', {recursive: true})", "/b"),
            ("os.rename('/b', '/c')", "/b"),
            ("Deno.removeSync('/b', {recursive: true})", "/b"),
            ("[p.unlink() for p in Path.home().rglob(s)]", "~"),
        ] {
            let places: Vec<String> =
                code_removals(code).into_iter().flat_map(|(_, places)| places).collect();
            assert_eq!(places.first().map(String::as_str), Some(expected), "{code}");
        }
        assert!(code_removals("import subprocess; print('removed')").is_empty());
    }

    #[test]
    fn names_are_whole_words() {
        assert!(mentions_name("import socket;", "socket"));
        assert!(!mentions_name("websocket_client", "socket"));
        assert_eq!(string_literals(r#"open("a\"b", 'w')"#), ["a\"b", "w"]);
    }
}
