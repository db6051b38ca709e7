//! Fields of a tool's input that only its server understands: texts that look like a command, a path or an address.
//!
//! The tool's own language is not known. So each text is taken for what it looks like, and judged for what it would do then.

use std::path::PathBuf;

use serde_json::{Map, Value};

/// Texts of a tool's input, by what they look like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LooseFields {
    /// Possible commands.
    pub scripts: Vec<String>,
    /// Possible paths.
    pub paths: Vec<PathBuf>,
    /// Addresses.
    pub urls: Vec<String>,
    /// `true` if the tool, by its own name, may change the files at the paths.
    pub may_change: bool,
}

/// Fields that hold the text of a file. What stands in a file is no command of this call.
const CONTENT: [&str; 10] = [
    "content",
    "contents",
    "file_text",
    "new_str",
    "old_str",
    "new_string",
    "old_string",
    "new_source",
    "data",
    "patch",
];
/// Words with which the name of a tool begins that changes nothing.
const READING: [&str; 24] = [
    "read", "get", "list", "ls", "search", "find", "view", "fetch", "show", "query", "describe", "info",
    "stat", "head", "tail", "cat", "grep", "glob", "load", "open", "count", "check", "exists", "diff",
];
/// Parts of names of fields that hold a path.
const PATH_FIELDS: [&str; 4] = ["path", "file", "directory", "folder"];
/// Names of fields that hold a path.
const PATH_NAMES: [&str; 7] = ["dir", "src", "source", "dest", "destination", "target", "uri"];
/// The longest text that is taken for a path.
const LONGEST_PATH: usize = 4096;

impl LooseFields {
    /// The texts of `input` for the tool with this own `name`, without its server's. `is_file`: whether it writes a file, so that
    /// what it writes is left out.
    pub(super) fn from_input(input: &Map<String, Value>, name: &str, is_file: bool) -> Self {
        let name = name.to_ascii_lowercase();
        let first = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let mut fields = Self { may_change: !READING.contains(&first), ..Self::default() };
        fields.collect_map(input, is_file);
        fields
    }

    fn collect_map(&mut self, input: &Map<String, Value>, is_file: bool) {
        for (name, value) in input {
            if !is_file || !CONTENT.contains(&name.as_str()) {
                self.collect_value(name, value, is_file);
            }
        }
    }

    fn collect_value(&mut self, name: &str, value: &Value, is_file: bool) {
        match value {
            Value::String(text) => self.collect_text(name, text, is_file),
            Value::Array(values) => {
                for value in values {
                    self.collect_value(name, value, is_file);
                }
                self.collect_words(values);
            }
            Value::Object(map) => self.collect_map(map, is_file),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A list of texts is also one command, as a process is started.
    fn collect_words(&mut self, values: &[Value]) {
        let words: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
        if let Some(words) = words.filter(|words| words.len() > 1) {
            let quoted: Vec<String> =
                words.iter().map(|word| crate::registration::shell_quoted(word)).collect();
            self.scripts.push(quoted.join(" "));
        }
    }

    fn collect_text(&mut self, name: &str, text: &str, is_file: bool) {
        let text = text.trim();
        if matches!(text.as_bytes().first(), Some(b'{' | b'['))
            && let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
        {
            self.collect_value(name, &inner, is_file);
            return;
        }
        let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
        if lower.starts_with("http://") || lower.starts_with("https://") {
            self.urls.push(text.split_whitespace().next().unwrap_or(text).to_owned());
        } else if let Some(path) = text.strip_prefix("file://") {
            self.paths.push(path.into());
        } else if is_path(name, text) {
            self.paths.push(text.into());
        }
        if is_script(text) {
            self.scripts.push(text.to_owned());
        }
    }
}

fn is_path(name: &str, text: &str) -> bool {
    if text.is_empty() || text.len() > LONGEST_PATH || text.contains(['\n', '\0']) {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let is_named = PATH_NAMES.contains(&name.as_str()) || PATH_FIELDS.iter().any(|part| name.contains(part));
    is_named
        || text.starts_with('/')
        || text.starts_with("~/")
        || text.contains('/') && !text.contains(char::is_whitespace)
}

/// Reports whether `text` may be a command: it has several words or signs of the shell, and does not begin as a sentence, a list, a heading
/// or markup does.
fn is_script(text: &str) -> bool {
    let several = |c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '`' | '$' | '<' | '>');
    text.contains(several) && !is_prose(text)
}

/// Reports whether `text` begins with a capitalized word and another word behind it, or as Markdown or markup does.
fn is_prose(text: &str) -> bool {
    let mut words = text.split(' ');
    let first = words.next().unwrap_or_default();
    let mut letters = first.chars();
    let is_word = letters.next().is_some_and(char::is_uppercase)
        && letters.all(|c| c.is_alphabetic() && c.is_lowercase() || matches!(c, ',' | ':' | '\'' | '’'));
    let is_followed = words.next().is_some_and(|next| next.starts_with(char::is_alphabetic));
    is_word && is_followed
        || ["# ", "## ", "- ", "* ", "> ", "```", "<"].iter().any(|sign| text.starts_with(sign))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(name: &str, input: &Value, is_file: bool) -> LooseFields {
        LooseFields::from_input(input.as_object().unwrap(), name, is_file)
    }

    #[test]
    fn texts_at_any_depth_are_taken_for_what_they_look_like() {
        let input = json!({
            "text": "git push --force",
            "deep": [{"argv": ["rm", "-rf", "/"]}, "{\"run\": \"make all\"}"],
            "where": "/etc/passwd", "file": "x.txt", "to": "HTTPS://a.example/b", "doc": "file:///etc/hosts",
            "count": 3, "title": "Add a file", "mode": "fast",
        });
        let fields = of("do_it", &input, false);
        for script in ["git push --force", "rm -rf /", "make all"] {
            assert!(fields.scripts.iter().any(|found| found == script), "{script}: {fields:?}");
        }
        assert_eq!(fields.scripts.len(), 3, "{fields:?}");
        let mut paths: Vec<_> = fields.paths.iter().map(|path| path.to_str().unwrap()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["/", "/etc/hosts", "/etc/passwd", "x.txt"]);
        assert_eq!(fields.urls, ["HTTPS://a.example/b"]);
        assert!(fields.may_change);
        assert!(!of("get_it", &input, false).may_change);
    }

    #[test]
    fn prose_and_what_is_written_into_files_are_no_commands() {
        let prose = json!({
            "body": "Never use `git push --force` here; it hurts.", "notes": "# Title\n\ngit push --force",
            "html": "<p>rm -rf /</p>", "word": "reboot",
        });
        assert_eq!(of("create_issue", &prose, false).scripts, [""; 0]);
        let file = json!({"path": "a.md", "content": "git push --force", "note": "git push --force"});
        assert_eq!(of("write_file", &file, true).scripts, ["git push --force"]);
    }
}
