//! One-liners of interpreters: what Python, Perl, Ruby, Node and PHP code on a command line or in a here-document names.

use super::call::Call;
use super::change::Kind;
use super::options::Options;
use super::script::Script;
use crate::shell::oneliner::timed;

/// Code that a command gives an interpreter, if it is known.
pub(crate) fn code(script: &Script<'_>, call: &Call<'_>) -> Option<String> {
    let flags = flags(&call.program)?;
    let mut code = String::new();
    if flags == "c" {
        let words: Vec<&str> = call.args.iter().map(super::call::Arg::text).collect();
        code.extend(timed(&words).flat_map(|line| [line, "\n"]));
        if !code.is_empty() {
            return Some(code);
        }
    }
    let mut rest = call.args.iter();
    while let Some(arg) = rest.next() {
        let text = arg.text();
        if matches!(text, "--eval" | "--print" | "--run" | "eval") {
            code.extend(rest.next().map(super::call::Arg::text));
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
                    "" => code.extend(rest.next().map(super::call::Arg::text)),
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
fn flags(program: &str) -> Option<&'static str> {
    match language(program)? {
        "python" => Some("c"),
        "perl" => Some("eE"),
        "ruby" | "lua" => Some("e"),
        "node" => Some("ep"),
        "php" => Some("rBRE"),
        _ => None,
    }
}

/// The language of an interpreter by its name, versions apart.
pub(crate) fn language(program: &str) -> Option<&'static str> {
    let bare = program.trim_end_matches(|ch: char| ch.is_ascii_digit() || ch == '.');
    match bare {
        "python" | "pypy" | "python-" => Some("python"),
        "perl" => Some("perl"),
        "ruby" => Some("ruby"),
        "node" | "nodejs" | "deno" | "bun" => Some("node"),
        "php" => Some("php"),
        "lua" | "luajit" => Some("lua"),
        _ => None,
    }
}

/// Whether code says a name, not as a part of a longer one.
pub(crate) fn says(code: &str, name: &str) -> bool {
    at(code, name).next().is_some()
}

fn at<'c>(code: &'c str, name: &'c str) -> impl Iterator<Item = usize> {
    let part = |ch: char| ch.is_alphanumeric() || ch == '_';
    code.match_indices(name).map(|(at, _)| at).filter(move |at| {
        let before = code[..*at].chars().next_back().is_none_or(|ch| !part(ch));
        let behind = code[at + name.len()..].chars().next().is_none_or(|ch| !part(ch));
        before && behind
    })
}

/// Every string literal in code.
pub(crate) fn literals(code: &str) -> Vec<String> {
    positioned(code).into_iter().map(|(_, text)| text).collect()
}

/// The same, each with the place behind its opening quote.
fn positioned(code: &str) -> Vec<(usize, String)> {
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
const REMOVERS: [(&str, Kind); 17] = [
    ("removeSync", Kind::Remove),
    ("rmtree", Kind::Remove),
    ("rmdir", Kind::Remove),
    ("removedirs", Kind::Remove),
    ("remove_tree", Kind::Remove),
    ("remove", Kind::Remove),
    ("unlink", Kind::Remove),
    ("rm_rf", Kind::Remove),
    ("rm_r", Kind::Remove),
    ("rmSync", Kind::Remove),
    ("rmdirSync", Kind::Remove),
    ("unlinkSync", Kind::Remove),
    ("rm", Kind::Remove),
    ("rename", Kind::Move),
    ("renameSync", Kind::Move),
    ("renames", Kind::Move),
    ("move", Kind::Move),
];

/// Calls that move something and stand within the arguments of others, of one name, that are looked at.
const MOVES: usize = 16;

/// What code takes away: the places that stand in the calls that do it. Takes time linear in the code's length, however often it
/// names such a call.
pub(crate) fn removals(code: &str) -> Vec<(Kind, Vec<String>)> {
    let literals_of_all = positioned(code);
    let mut found = Vec::new();
    for (name, kind) in REMOVERS {
        // What stands in the arguments of an earlier call was found with them.
        let (mut covered, mut moves) = (0, 0);
        let mut statement = Statement::default();
        for start in at(code, name) {
            if start < covered {
                if kind == Kind::Remove {
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
            let arguments = arguments(rest);
            covered = arguments.as_ptr() as usize - code.as_ptr() as usize + arguments.len();
            let mut places = literals(arguments);
            if kind == Kind::Move {
                places.truncate(1);
            }
            let here = ["getcwd", "cwd", "pwd", "curdir"].iter().any(|word| says(arguments, word));
            let home =
                ["home", "homedir"].iter().any(|word| says(arguments, word)) || arguments.contains("HOME");
            places.extend(here.then(|| ".".to_owned()));
            places.extend(home.then(|| "~".to_owned()));
            if places.is_empty() && kind == Kind::Remove {
                // `for f in os.walk("/x"): os.remove(f)`: the place stands elsewhere in the statement.
                places.extend_from_slice(&statement.around(code, start).places);
            }
            // `Path("x").rmdir()`: the place stands in front.
            if arguments.trim().is_empty() {
                let before = literals_of_all.partition_point(|(at, _)| *at < start);
                places.extend(before.checked_sub(1).map(|last| literals_of_all[last].1.clone()));
                // `[p.unlink() for p in Path.home().rglob("*")]`: it stands in the same statement.
                places.extend(statement.around(code, start).home.then(|| "~".to_owned()));
            }
            found.push((kind, places));
        }
    }
    found
}

/// The statement that was looked at last: many calls may stand in it.
#[derive(Default)]
struct Statement {
    range: std::ops::Range<usize>,
    places: Vec<String>,
    home: bool,
}

impl Statement {
    /// The statement around `start`. Calls come in their order.
    fn around(&mut self, code: &str, start: usize) -> &Self {
        if !self.range.contains(&start) {
            let before = &code[self.range.end..start];
            let from = before.rfind([';', '\n']).map_or(self.range.end, |at| self.range.end + at + 1);
            let text = code[from..].split([';', '\n']).next().unwrap_or_default();
            self.range = from..from + text.len() + 1;
            self.places = literals(text).into_iter().filter(|text| text.starts_with(['/', '~'])).collect();
            self.home = text.contains(".home()");
        }
        self
    }
}

/// The text in the brackets that open `rest`, else up to the end of the statement.
fn arguments(rest: &str) -> &str {
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
pub(crate) fn writes(code: &str) -> Vec<String> {
    let literals = literals(code);
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
    if mode || names.iter().any(|name| says(code, name)) {
        return literals.into_iter().filter(|text| text.contains(['/', '.', '~'])).collect();
    }
    Vec::new()
}

/// Whether code opens connections.
pub(crate) fn connects(code: &str) -> bool {
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
    NAMES.iter().any(|name| says(code, name))
        || code.contains("http.request")
        || code.contains("http.get")
        || code.contains("https.get")
        || code.contains("URI.open")
        || ["net", "http", "https"].iter().any(|module| {
            code.contains(&format!("(\"{module}\")")) || code.contains(&format!("('{module}')"))
        })
        || says(code, "file_get_contents") && code.contains("://")
        || code.contains("net.connect")
        || code.contains("https.request")
}

/// Whether a command has operands for code from its input: no script, no code, no module.
pub(crate) fn reads_code(call: &Call<'_>) -> bool {
    if language(&call.program).is_none() {
        return false;
    }
    let options = Options::read(&call.args, "WX", &[]);
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
            let places: Vec<String> = removals(code).into_iter().flat_map(|(_, places)| places).collect();
            assert_eq!(places.first().map(String::as_str), Some(expected), "{code}");
        }
        assert!(removals("import subprocess; print('removed')").is_empty());
    }

    #[test]
    fn names_are_whole_words() {
        assert!(says("import socket;", "socket"));
        assert!(!says("websocket_client", "socket"));
        assert_eq!(literals(r#"open("a\"b", 'w')"#), ["a\"b", "w"]);
    }
}
