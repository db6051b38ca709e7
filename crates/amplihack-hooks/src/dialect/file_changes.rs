//! Changes that a tool call makes to a file's text, as far as its input tells.

use serde_json::{Map, Value};

/// Changes that a call makes to the text of the files that it names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileChanges {
    /// Whole texts; of several each may be the file's.
    pub whole: Vec<String>,
    /// Replacements, in order: the old text and the new one.
    pub replaced: Vec<(String, String)>,
    /// Lines that come to the file, wherever.
    pub added: Vec<String>,
}

/// Fields with a whole text.
const WHOLE: [&str; 8] =
    ["content", "contents", "file_text", "text", "data", "new_source", "fileText", "file_content"];
/// Fields with an old text and its new one.
const REPLACED: [(&str, &str); 4] =
    [("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"), ("old_text", "new_text")];
/// Fields with lines that come to the file.
const ADDED: [&str; 4] = ["insert_text", "new_lines", "insertText", "text_to_append"];
/// Fields with a patch.
const PATCHES: [&str; 4] = ["patch", "input", "command", "diff"];

impl FileChanges {
    /// The changes in the input of a tool that writes or edits.
    pub(super) fn from_input(input: &Map<String, Value>) -> Self {
        let mut changes = Self::default();
        changes.collect_map(input);
        for edit in input.get("edits").and_then(Value::as_array).into_iter().flatten() {
            if let Some(edit) = edit.as_object() {
                changes.collect_map(edit);
            }
        }
        changes
    }

    /// The changes of a patch.
    pub(super) fn of_patch(patch: &str) -> Self {
        let lines =
            patch.lines().filter_map(|line| line.strip_prefix('+')).filter(|line| !line.starts_with("++"));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        Self { added: Some(text).filter(|text| !text.is_empty()).into_iter().collect(), ..Self::default() }
    }

    fn collect_map(&mut self, input: &Map<String, Value>) {
        let text = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
        self.whole.extend(WHOLE.iter().filter_map(|name| text(name)));
        for (old, new) in REPLACED {
            match (text(old), text(new)) {
                (Some(old), Some(new)) => self.replaced.push((old, new)),
                (None, Some(new)) => self.added.push(new),
                _ => {}
            }
        }
        self.added.extend(ADDED.iter().filter_map(|name| text(name)));
        for name in PATCHES {
            let words = input.get(name).and_then(Value::as_array).into_iter().flatten();
            for patch in input.get(name).into_iter().chain(words).filter_map(Value::as_str) {
                if patch.contains("*** ") || patch.contains("\n@@") {
                    self.added.extend(Self::of_patch(patch).added);
                }
            }
        }
    }

    /// The texts that a file with the text `before` may have afterwards.
    pub(crate) fn possible_texts(&self, before: &str) -> Vec<String> {
        let mut texts = self.whole.clone();
        let mut edited = before.to_owned();
        for (old, new) in &self.replaced {
            if old.is_empty() || !edited.contains(old.as_str()) {
                edited.push('\n');
                edited.push_str(new);
            } else {
                edited = edited.replace(old.as_str(), new);
            }
        }
        for added in &self.added {
            edited.push('\n');
            edited.push_str(added);
        }
        if edited != before {
            texts.push(edited);
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn after(input: &Value, before: &str) -> Vec<String> {
        FileChanges::from_input(input.as_object().unwrap()).possible_texts(before)
    }

    #[test]
    fn the_text_afterwards_is_known() {
        assert_eq!(after(&json!({"file_path": "x", "content": "a"}), "b"), ["a"]);
        assert_eq!(after(&json!({"old_string": "b", "new_string": "c"}), "a b"), ["a c"]);
        assert_eq!(
            after(
                &json!({"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]}),
                "a"
            ),
            ["c"]
        );
        assert_eq!(after(&json!({"old_str": "z", "new_str": "c"}), "a"), ["a\nc"]);
        assert_eq!(after(&json!({"insert_line": 1, "new_str": "c"}), "a"), ["a\nc"]);
        assert_eq!(
            after(&json!({"patch": "*** Begin Patch\n*** Add File: x\n+a\n+b\n*** End Patch"}), ""),
            ["\na\nb\n"]
        );
        assert!(after(&json!({"file_path": "x"}), "a").is_empty());
    }
}
