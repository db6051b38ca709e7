//! One-liners of interpreters: what Python, Perl, Ruby, Node and PHP code on a command line or in a here-document names.

use super::call::Call;
use super::change::Kind;
use super::options::Options;
use super::script::Script;

/// Code that a command gives an interpreter, if it is known.
pub(crate) fn code(script: &Script<'_>, call: &Call<'_>) -> Option<String> {
    let flags = flags(&call.program)?;
    let mut code = String::new();
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
    let mut found = Vec::new();
    let mut rest = code.chars();
    while let Some(ch) = rest.next() {
        if !matches!(ch, '\'' | '"' | '`') {
            continue;
        }
        let mut text = String::new();
        while let Some(inner) = rest.next() {
            match inner {
                '\\' => text.extend(rest.next()),
                inner if inner == ch => break,
                inner => text.push(inner),
            }
        }
        found.push(text);
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

/// What code takes away: the places that stand in the calls that do it.
pub(crate) fn removals(code: &str) -> Vec<(Kind, Vec<String>)> {
    let mut found = Vec::new();
    for (name, kind) in REMOVERS {
        for start in at(code, name) {
            let arguments = arguments(&code[start + name.len()..]);
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
                let from = code[..start].rfind([';', '\n']).map_or(0, |at| at + 1);
                let statement = code[from..].split([';', '\n']).next().unwrap_or_default();
                places.extend(literals(statement).into_iter().filter(|text| text.starts_with(['/', '~'])));
            }
            // `Path("x").rmdir()`: the place stands in front.
            if arguments.trim().is_empty() {
                let before = code.get(..start).unwrap_or_default();
                places.extend(literals(before).pop());
                // `[p.unlink() for p in Path.home().rglob("*")]`: it stands in the same statement.
                let from = before.rfind([';', '\n']).map_or(0, |at| at + 1);
                let statement = code[from..].split([';', '\n']).next().unwrap_or_default();
                places.extend(statement.contains(".home()").then(|| "~".to_owned()));
            }
            found.push((kind, places));
        }
    }
    found
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
