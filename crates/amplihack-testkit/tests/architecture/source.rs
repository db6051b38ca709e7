//! A Rust file as the rules see it: code without comments and unit tests, with or without the insides of strings.

use std::ops::Range;
use std::path::PathBuf;

/// One Rust file.
pub(crate) struct Source {
    /// Its path below the workspace's root.
    pub(crate) path: PathBuf,
    /// All of it.
    pub(crate) text: String,
    /// What ships: comments, insides of strings and unit tests are blanks, line breaks stay.
    pub(crate) code: String,
    /// As `code`, with the insides of strings.
    pub(crate) quoting: String,
}

impl Source {
    pub(crate) fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(amplihack_testkit::workspace().join(&path))
            .expect("Rust files are UTF-8");
        let plain = without_text(&text, Strings::Blank);
        let tests = unit_tests(&plain);
        let code = blanked(plain, &tests);
        let quoting = blanked(without_text(&text, Strings::Stay), &tests);
        Self { path, text, code, quoting }
    }

    /// Whether it lies in or is `place`, a path below the root.
    pub(crate) fn is_in(&self, place: &str) -> bool {
        self.path.starts_with(place)
    }

    /// Whether it is only compiled for tests, or runs at build time.
    pub(crate) fn is_test_or_build(&self) -> bool {
        let parts = ["tests", "benches"];
        self.path.components().any(|part| parts.iter().any(|name| part.as_os_str() == *name))
            || self.path.ends_with("build.rs")
            || self.path.ends_with("tests.rs")
    }

    /// Whether it ships: no test, and not of the crates that only develop.
    pub(crate) fn ships(&self) -> bool {
        !self.is_test_or_build()
            && !self.is_in("xtask")
            && !self.is_in("crates/amplihack-testkit")
            && !self.is_in("fuzz")
    }

    /// Every place where `needle` stands as a whole word in what ships, as `path:line`.
    pub(crate) fn places(&self, needle: &str) -> Vec<String> {
        self.lines_with(&self.code, needle)
    }

    /// Every place where `needle` stands as a whole word in what ships or in a string of it, as `path:line`.
    pub(crate) fn quoting_places(&self, needle: &str) -> Vec<String> {
        self.lines_with(&self.quoting, needle)
    }

    fn lines_with(&self, text: &str, needle: &str) -> Vec<String> {
        text.lines()
            .enumerate()
            .filter(|(_, line)| has_word(line, needle))
            .map(|(index, line)| format!("{}:{}: {}", self.path.display(), index + 1, line.trim()))
            .collect()
    }
}

/// Whether `needle` stands in `line`, not as a part of a longer name.
pub(crate) fn has_word(line: &str, needle: &str) -> bool {
    let part_of_name =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let (starts, ends) = (part_of_name(needle.as_bytes().first()), part_of_name(needle.as_bytes().last()));
    line.match_indices(needle).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| line.as_bytes().get(at));
        let after = line.as_bytes().get(at + needle.len());
        !(starts && part_of_name(before) || ends && part_of_name(after))
    })
}

/// What becomes of string and character literals.
#[derive(Clone, Copy, PartialEq)]
enum Strings {
    Blank,
    Stay,
}

/// Comments, and string and character literals unless they stay, as blanks.
fn without_text(source: &str, strings: Strings) -> String {
    let bytes = source.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let is_comment = rest.starts_with(b"//") || rest.starts_with(b"/*");
        let end = if rest.starts_with(b"//") {
            at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            at + comment(rest)
        } else if let Some(length) = raw_string(bytes, at) {
            at + length
        } else if rest[0] == b'"' {
            at + quoted(rest)
        } else if rest[0] == b'\'' {
            at + character(rest)
        } else {
            at += 1;
            continue;
        };
        let end = end.min(bytes.len());
        if !is_comment && strings == Strings::Stay {
            at = end.max(at + 1);
            continue;
        }
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8(code).expect("whole characters were replaced")
}

fn comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The length of a raw string that starts here.
fn raw_string(bytes: &[u8], at: usize) -> Option<usize> {
    let in_name =
        at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_') && bytes[at - 1] != b'b';
    let rest = bytes[at..].strip_prefix(b"r").filter(|_| !in_name)?;
    let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
    if rest.get(hashes) != Some(&b'"') {
        return None;
    }
    let close = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    let inside = &rest[hashes + 1..];
    let length = inside.windows(close.len()).position(|window| window == close)?;
    Some(1 + hashes + 1 + length + close.len())
}

fn quoted(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != b'"' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The length of a character literal; 1 for the mark of a lifetime.
fn character(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        return rest.iter().skip(3).position(|byte| *byte == b'\'').map_or(1, |at| at + 4);
    }
    let text = std::str::from_utf8(&rest[1..rest.len().min(6)]);
    let text =
        text.unwrap_or_else(|error| std::str::from_utf8(&rest[1..=error.valid_up_to()]).unwrap_or_default());
    let width = text.chars().next().map_or(1, char::len_utf8);
    if rest.get(1 + width) == Some(&b'\'') { width + 2 } else { 1 }
}

/// Where `#[cfg(test)]` items stand in `code`, whose strings are blanks.
fn unit_tests(code: &str) -> Vec<Range<usize>> {
    let code = code.as_bytes();
    let mark = b"#[cfg(test)]";
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = code[at..].windows(mark.len()).position(|window| window == mark) {
        let start = at + next;
        let (mut depth, mut end) = (0usize, start + mark.len());
        while end < code.len() {
            match code[end] {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b';' if depth == 0 => break,
                _ => {}
            }
            end += 1;
            if depth == 0 && code[end - 1] == b'}' {
                break;
            }
        }
        found.push(start..end);
        at = end;
    }
    found
}

/// `text` with blanks at `ranges`.
fn blanked(text: String, ranges: &[Range<usize>]) -> String {
    let mut text = text.into_bytes();
    for range in ranges {
        text[range.clone()].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8(text).expect("whole items were replaced")
}

fn without_unit_tests(code: &str) -> String {
    blanked(code.to_owned(), &unit_tests(code))
}

#[test]
fn text_is_not_code() {
    let source = r##"let a = "unsafe"; // unsafe
/* unsafe /* unsafe */ unsafe */ let b = 'u'; let c: &'static str = r#"unsafe " "#;
let d = '"'; let e = '\''; let f = '漢'; let g = b"unsafe \" unsafe"; let h = unsafe { 1 };"##;
    let code = without_text(source, Strings::Blank);
    assert_eq!(code.matches("unsafe").count(), 1, "{code}");
    assert!(code.contains("let h = unsafe { 1 };") && code.contains("static str"), "{code}");
    assert_eq!(code.lines().count(), 3);
    let quoting = without_text(source, Strings::Stay);
    assert_eq!(quoting.matches("unsafe").count(), 5, "{quoting}");
    assert!(quoting.contains("r#\"unsafe \" \"#;") && !quoting.contains("//"), "{quoting}");
}

#[test]
fn unit_tests_do_not_ship() {
    let code = without_unit_tests(
        "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { { } } }\nfn c() {}\n#[cfg(test)]\nuse x;\nfn d() {}",
    );
    for (name, ships) in [("a", true), ("b", false), ("c", true), ("x", false), ("d", true)] {
        assert_eq!(has_word(&code, name), ships, "{name}: {code}");
    }
}

#[test]
fn words_are_whole() {
    assert!(has_word("unsafe {", "unsafe") && has_word("x.spawn()", ".spawn()"));
    assert!(
        !has_word("unsafe_code", "unsafe")
            && !has_word("eprintln!(", "println!")
            && !has_word("_exit(1)", "exit(")
    );
}
