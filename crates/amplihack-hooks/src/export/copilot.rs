//! Copilot's `--deny-tool` patterns: `shell(words:*)`, `write(path)`, `url(address)`. It has no way to ask.

use std::path::Path;

use amplihack_sys::push_line;
use amplihack_verdict::Decision;

use super::call::{PermissionCall, begins_with_words};
use super::{ExportEntry, ExportSubject, NativeRule, PermissionLanguage};

pub(super) static LANGUAGE: PermissionLanguage = PermissionLanguage {
    place: "the command line of copilot, each line one argument; denials hold against --allow-all-tools too",
    patterns: copilot_patterns,
    text: render_copilot_arguments,
    matches: matches_copilot_pattern,
};

fn copilot_patterns(entry: &ExportEntry) -> Vec<String> {
    if entry.decision != Decision::Deny {
        return Vec::new();
    }
    match &entry.what {
        ExportSubject::Words(words) => shell_pattern(words, ":*"),
        ExportSubject::Exactly(words) => shell_pattern(words, ""),
        // A path that does not begin at the root is met by its last parts, wherever they are: one part alone would be too common.
        ExportSubject::Write(path) => {
            let path = path.strip_prefix("~/").unwrap_or(path);
            let fits = !path.ends_with("/**") && path.contains('/');
            fits.then(|| format!("write({path})")).into_iter().collect()
        }
        ExportSubject::Fetch(host) => {
            ["http", "https"].map(|scheme| format!("url({scheme}://{host})")).into()
        }
        _ => Vec::new(),
    }
}

/// A pattern for `words`; none if they have a star or a bracket, since nobody showed what it means there.
fn shell_pattern(words: &[String], end: &str) -> Vec<String> {
    let text = words.join(" ");
    if text.contains(['*', '(', ')', ',']) { Vec::new() } else { vec![format!("shell({text}{end})")] }
}

fn render_copilot_arguments(rules: &[NativeRule]) -> String {
    rules.iter().fold(String::new(), |mut text, rule| {
        push_line!(text, "--deny-tool={}", rule.pattern);
        text
    })
}

/// Copilot 1.0.102 holds the text of each command of a script against a pattern, up to the end of a word.
fn matches_copilot_pattern(pattern: &str, call: &PermissionCall<'_>) -> bool {
    let Some((kind, rest)) = pattern.strip_suffix(')').and_then(|rule| rule.split_once('(')) else {
        return false;
    };
    match (kind, call) {
        ("shell", PermissionCall::Shell(..)) => {
            call.script_commands().iter().any(|part| match rest.strip_suffix(":*") {
                Some(begin) => begins_with_words(&part.text, begin),
                None => part.text == rest,
            })
        }
        ("write", PermissionCall::Write(path)) => path.ends_with(Path::new(rest)),
        ("url", PermissionCall::Fetch(url, host)) => {
            let of = |scheme| url.starts_with(scheme) && rest.strip_prefix(scheme) == Some(host);
            of("http://") || of("https://")
        }
        _ => false,
    }
}
