//! Single words of a command line: flags with and without `=`, lists of tools.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use amplihack_agent::copilot::nested::{CopilotFlagMeaning, flag_meaning};
use amplihack_agent::grammar::ArgumentGrammar;
use amplihack_agent::{AgentBinary, agent_profile};

/// A word of the command line that is a flag, taken apart.
pub(super) struct ParsedFlag {
    /// The flag's name; empty if it is not UTF-8.
    pub(super) name: String,
    /// Text behind `=`, or, for a short flag, behind its letter.
    pub(super) attached: Option<OsString>,
    /// More short switches behind this one, as a word of its own.
    pub(super) more: Option<OsString>,
}

/// Number of values that a flag of an agent takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlagArity {
    None,
    One,
    AtMostOne,
    Any,
}

pub(super) fn is_flag(word: &OsStr) -> bool {
    word.as_bytes().first() == Some(&b'-') && word != "-"
}

impl ParsedFlag {
    /// Takes `word` apart as Copilot does: `--flag=value`, `-fvalue`, `-f=value`, `-sf value`.
    pub(super) fn read(word: &OsStr) -> Self {
        let bytes = word.as_bytes();
        if bytes.starts_with(b"--") {
            let equals = bytes.iter().position(|byte| *byte == b'=');
            let name = &bytes[..equals.unwrap_or(bytes.len())];
            let attached = equals.map(|at| OsStr::from_bytes(&bytes[at + 1..]).to_owned());
            return Self { name: text_or_empty(name), attached, more: None };
        }
        let (short, rest) = bytes.split_at(bytes.len().min(2));
        let name = text_or_empty(short);
        if rest.is_empty() {
            return Self { name, attached: None, more: None };
        }
        let value = rest.strip_prefix(b"=").unwrap_or(rest);
        match copilot_arity(&name) {
            _ if flag_meaning(&name).is_some() => {
                Self { name, attached: Some(OsStr::from_bytes(value).to_owned()), more: None }
            }
            Some(FlagArity::One | FlagArity::AtMostOne) => {
                Self { name, attached: Some(OsStr::from_bytes(value).to_owned()), more: None }
            }
            Some(FlagArity::None) => {
                let mut more = OsString::from("-");
                more.push(OsStr::from_bytes(rest));
                Self { name, attached: None, more: Some(more) }
            }
            // Nothing that is known: the whole word is its name.
            _ => Self { name: text_or_empty(bytes), attached: None, more: None },
        }
    }
}

fn text_or_empty(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap_or_default()
}

fn arity_in(grammar: &ArgumentGrammar, flag: &str) -> Option<FlagArity> {
    let listed = |list: &[&str]| list.contains(&flag);
    if listed(grammar.value_flags) {
        Some(FlagArity::One)
    } else if listed(grammar.optional_value_flags) {
        Some(FlagArity::AtMostOne)
    } else if listed(grammar.variadic_flags) {
        Some(FlagArity::Any)
    } else if listed(grammar.switches) || listed(grammar.information_flags) {
        Some(FlagArity::None)
    } else {
        None
    }
}

/// Number of values that Copilot's flag takes; `None` if Copilot has no such flag.
pub(super) fn copilot_arity(flag: &str) -> Option<FlagArity> {
    arity_in(&agent_profile(AgentBinary::Copilot).grammar, flag)
}

/// Number of values that Claude's flag takes; `None` if Claude has no such flag.
pub(super) fn claude_arity(flag: &str) -> Option<FlagArity> {
    arity_in(&agent_profile(AgentBinary::Claude).grammar, flag)
}

/// Reports whether `word` is `--` or a flag of one of the two agents, and so not the value of a flag before it.
pub(super) fn is_known_flag(word: &OsStr) -> bool {
    if word == "--" {
        return true;
    }
    if !is_flag(word) {
        return false;
    }
    let bytes = word.as_bytes();
    let equals = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
    let name = text_or_empty(&bytes[..equals]);
    flag_meaning(&name).is_some() || copilot_arity(&name).is_some() || claude_arity(&name).is_some()
}

/// The names in a list of Claude's tools: between commas or blanks that are in no parentheses.
pub(super) fn split_tools(list: &str) -> Vec<String> {
    let (mut names, mut name, mut depth) = (Vec::new(), String::new(), 0_usize);
    for c in list.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            names.push(std::mem::take(&mut name));
        } else {
            name.push(c);
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

/// Reports whether a bare word behind a list of tools belongs to it, as Claude reads it: Claude's tools begin with a capital letter.
pub(super) fn is_tool(word: &OsStr) -> bool {
    let Some(text) = word.to_str() else { return false };
    let name = text.split('(').next().unwrap_or_default().trim_end_matches(',');
    let server = name.starts_with("mcp__");
    let own =
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphanumeric());
    server || own
}

/// A switch's value as yes or no; `None` if it is neither.
pub(super) fn yes_or_no(value: &OsStr) -> Option<bool> {
    match value.to_str()?.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Reports whether a flag of this meaning needs a value.
pub(super) fn needs_value(meaning: CopilotFlagMeaning) -> bool {
    !matches!(
        meaning,
        CopilotFlagMeaning::Print
            | CopilotFlagMeaning::SkipPermissions
            | CopilotFlagMeaning::MaySkipPermissions
            | CopilotFlagMeaning::GrantAll(_)
            | CopilotFlagMeaning::Restrict(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str) -> (String, Option<OsString>, Option<OsString>) {
        let ParsedFlag { name, attached, more } = ParsedFlag::read(OsStr::new(word));
        (name, attached, more)
    }

    #[test]
    fn words_are_taken_apart_as_copilot_does() {
        let is = |name: &str, attached: Option<&str>, more: Option<&str>| {
            (name.to_owned(), attached.map(OsString::from), more.map(OsString::from))
        };
        assert_eq!(read("--prompt=a=b"), is("--prompt", Some("a=b"), None));
        assert_eq!(read("--prompt="), is("--prompt", Some(""), None));
        assert_eq!(read("-phello"), is("-p", Some("hello"), None));
        assert_eq!(read("-p=-x"), is("-p", Some("-x"), None));
        assert_eq!(read("-sp"), is("-s", None, Some("-p")));
        assert_eq!(read("-C/a"), is("-C", Some("/a"), None));
        assert_eq!(read("-xyz"), is("-xyz", None, None));
        assert_eq!(read("-"), is("-", None, None));
    }

    #[test]
    fn lists_of_tools_are_split_outside_of_parentheses() {
        assert_eq!(split_tools(" Bash , ,Write,"), ["Bash", "Write"]);
        assert_eq!(split_tools("Bash(git add, git rm) Edit"), ["Bash(git add, git rm)", "Edit"]);
        assert!(split_tools(" , ").is_empty());
        assert!(is_tool(OsStr::new("Bash(git:*)")) && is_tool(OsStr::new("mcp__a__b")));
        assert!(!is_tool(OsStr::new("Fix the tests")) && !is_tool(OsStr::new("file.txt")));
    }
}
