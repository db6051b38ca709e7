//! Copilot's `--deny-tool` patterns: `shell(words:*)`, `write(path)`, `url(address)`. It has no way to ask.

use std::fmt::Write as _;
use std::path::Path;

use amplihack_policy::Decision;

use super::call::{Call, begins};
use super::{Entry, Language, Native, What};

pub(super) static LANGUAGE: Language = Language {
    place: "the command line of copilot, each line one argument; denials hold against --allow-all-tools too",
    patterns,
    text,
    matches,
};

fn patterns(entry: &Entry) -> Vec<String> {
    if entry.decision != Decision::Deny {
        return Vec::new();
    }
    match &entry.what {
        What::Words(words) => shell(words, ":*"),
        What::Exactly(words) => shell(words, ""),
        // A path that does not begin at the root is met by its last parts, wherever they are: one part alone would be too common.
        What::Write(path) => {
            let path = path.strip_prefix("~/").unwrap_or(path);
            let fits = !path.ends_with("/**") && path.contains('/');
            fits.then(|| format!("write({path})")).into_iter().collect()
        }
        What::Fetch(host) => ["http", "https"].map(|scheme| format!("url({scheme}://{host})")).into(),
        _ => Vec::new(),
    }
}

/// What has a star or a bracket is left out: nobody showed what it means there.
fn shell(words: &[String], end: &str) -> Vec<String> {
    let text = words.join(" ");
    if text.contains(['*', '(', ')', ',']) { Vec::new() } else { vec![format!("shell({text}{end})")] }
}

fn text(rules: &[Native]) -> String {
    rules.iter().fold(String::new(), |mut text, rule| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "--deny-tool={}", rule.pattern);
        text
    })
}

/// Copilot 1.0.102 holds the text of each command of a script against a pattern, up to the end of a word.
fn matches(pattern: &str, call: &Call<'_>) -> bool {
    let Some((kind, rest)) = pattern.strip_suffix(')').and_then(|rule| rule.split_once('(')) else {
        return false;
    };
    match (kind, call) {
        ("shell", Call::Shell(..)) => call.parts().iter().any(|part| match rest.strip_suffix(":*") {
            Some(begin) => begins(&part.text, begin),
            None => part.text == rest,
        }),
        ("write", Call::Write(path)) => path.ends_with(Path::new(rest)),
        ("url", Call::Fetch(url, host)) => {
            let of = |scheme| url.starts_with(scheme) && rest.strip_prefix(scheme) == Some(host);
            of("http://") || of("https://")
        }
        _ => false,
    }
}
