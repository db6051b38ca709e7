//! A tool call as agents' permission languages see it: plain commands without what wrappers start, a path or an address.

use std::path::Path;

use amplihack_policy::Event;
use amplihack_policy::fetch::host_of;
use amplihack_shell::{Limits, ShellWord};
use amplihack_verdict::Span;

/// A command of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptCommand {
    /// Words of the command, quotes removed; what is made at run time stands as it was written.
    pub words: Vec<String>,
    /// The command's text.
    pub text: String,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionCall<'a> {
    /// A shell script: the whole of it, and its commands.
    Shell(String, Vec<ScriptCommand>),
    /// A file that is read.
    Read(&'a Path),
    /// A file that is written.
    Write(&'a Path),
    /// An address that is fetched, and its host.
    Fetch(&'a str, String),
}

impl<'a> PermissionCall<'a> {
    /// `event` as a call; `None` if it is none that permission languages speak of.
    pub fn new(event: &Event<'a>) -> Option<Self> {
        match *event {
            Event::Shell { script, .. } => {
                let text = String::from_utf8_lossy(script).into_owned();
                let parsed = amplihack_shell::commands(script, &Limits::default());
                let plain = parsed.commands.iter().filter(|command| command.via.is_empty());
                let parts = plain.map(|command| ScriptCommand {
                    words: command.words.iter().map(|word| word_text(word, &text)).collect(),
                    text: text_at(&text, command.span).trim().to_owned(),
                });
                let parts = parts.collect();
                Some(Self::Shell(text, parts))
            }
            Event::Read { path, .. } => Some(Self::Read(path)),
            Event::Write { path, .. } => Some(Self::Write(path)),
            Event::Fetch { url, .. } => Some(Self::Fetch(url, host_of(url).unwrap_or_default())),
            _ => None,
        }
    }

    /// The commands of a script.
    pub(super) fn script_commands(&self) -> &[ScriptCommand] {
        match self {
            Self::Shell(_, parts) => parts,
            _ => &[],
        }
    }
}

fn word_text(word: &ShellWord, text: &str) -> String {
    word.literal_text().unwrap_or_else(|| text_at(text, word.span).to_owned())
}

fn text_at(text: &str, span: Span) -> &str {
    text.get(span.start..span.end).unwrap_or_default()
}

/// Reports whether `text` matches `pattern`, in which each `*` stands for anything.
pub(super) fn matches_glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = pattern.rsplit_once('*').map(|(_, last)| last) else { return rest.is_empty() };
    let middle: Vec<&str> = parts.collect();
    for part in middle.iter().take(middle.len().saturating_sub(1)) {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Reports whether `text` begins with `words` and ends there or continues with a blank.
pub(super) fn begins_with_words(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, expected) in [
            ("ls", "ls", true),
            ("ls", "ls -la", false),
            ("rm *", "rm x y", true),
            ("*/.ssh/*", "/home/u/.ssh/a/b", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(matches_glob(pattern, text), expected, "{pattern} {text}");
        }
        assert!(begins_with_words("rm -rf / x", "rm -rf /") && !begins_with_words("rm -rf /x", "rm -rf /"));
    }

    #[test]
    fn a_script_is_its_plain_commands() {
        let event = Event::Shell { script: b"ls -l && sudo rm -rf \"$HOME\" | cat", cwd: Path::new("/") };
        let call = PermissionCall::new(&event).unwrap();
        let words: Vec<String> = call.script_commands().iter().map(|part| part.words.join("|")).collect();
        assert_eq!(words, ["ls|-l", "sudo|rm|-rf|\"$HOME\"", "cat"]);
        assert_eq!(call.script_commands()[1].text, "sudo rm -rf \"$HOME\"");
    }
}
