//! Copilot's `--deny-tool` patterns: `shell(stem:*)`, `write(path)`, `url(address)`. It has no way to ask.

use std::fmt::Write as _;
use std::path::Path;

use amplihack_policy::Decision;

use super::call::Call;
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
        What::Words(words) if is_stem(words) => vec![format!("shell({}:*)", words.join(" "))],
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

/// Commands are told apart by their program, those of git and gh by their sub-command too.
fn is_stem(words: &[String]) -> bool {
    match words {
        [program] => !program.contains('/'),
        [git, command] => git == "git" && is_word(command),
        [gh, group, command] => gh == "gh" && is_word(group) && is_word(command),
        _ => false,
    }
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !text.starts_with('-')
}

fn text(rules: &[Native]) -> String {
    rules.iter().fold(String::new(), |mut text, rule| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "--deny-tool={}", rule.pattern);
        text
    })
}

fn matches(pattern: &str, call: &Call<'_>) -> bool {
    let Some((kind, rest)) = pattern.strip_suffix(')').and_then(|rule| rule.split_once('(')) else {
        return false;
    };
    match (kind, call) {
        ("shell", Call::Shell(..)) => rest.strip_suffix(":*").is_some_and(|stem| {
            let stem: Vec<&str> = stem.split(' ').collect();
            call.parts().iter().any(|part| {
                part.words.len() >= stem.len()
                    && part.words.iter().zip(&stem).all(|(word, stem)| word == stem)
            })
        }),
        ("write", Call::Write(path)) => path.ends_with(Path::new(rest)),
        ("url", Call::Fetch(url, host)) => {
            let of = |scheme| url.starts_with(scheme) && rest.strip_prefix(scheme) == Some(host);
            of("http://") || of("https://")
        }
        _ => false,
    }
}
