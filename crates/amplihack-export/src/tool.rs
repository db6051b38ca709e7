//! A tool call for people: its arguments by name, and edits as what was taken out and put in.

use amplihack_agent::event::EventJson;
use serde_json::Value;

use crate::clean::{CleanText, TextCleaner};

/// Names of the old and the new text of an edit, as agents call them.
const EDITS: &[(&str, &str)] =
    &[("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText")];

/// A part of a tool call's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArgumentPart {
    /// An argument.
    Argument(CleanText, CleanText),
    /// An edit, as lines of a patch.
    Edit(CleanText),
}

/// The parts of `input`.
pub(crate) fn argument_parts(input: &EventJson, cleaner: TextCleaner) -> Vec<ArgumentPart> {
    let mut input = input.to_value();
    if cleaner.is_redacting() {
        cleaner.clean_value(&mut input);
    }
    match input {
        Value::Object(object) => {
            let mut out = Vec::new();
            let edit = find_edit(&object);
            for (name, value) in &object {
                if edit.as_ref().is_some_and(|(old, new, _)| name == old || name == new) {
                    continue;
                }
                match (name.as_str(), value) {
                    ("edits", Value::Array(edits))
                        if edits
                            .iter()
                            .all(|one| one.as_object().is_some_and(|one| find_edit(one).is_some())) =>
                    {
                        let patches = edits.iter().filter_map(|one| find_edit(one.as_object()?));
                        out.extend(
                            patches.map(|(_, _, patch)| ArgumentPart::Edit(cleaner.clean_text(&patch))),
                        );
                    }
                    _ => out.push(argument_part(name, value, cleaner)),
                }
            }
            out.extend(edit.map(|(_, _, patch)| ArgumentPart::Edit(cleaner.clean_text(&patch))));
            out
        }
        Value::Null => Vec::new(),
        Value::String(text) => vec![ArgumentPart::Argument(CleanText::default(), cleaner.clean_text(&text))],
        other => vec![ArgumentPart::Argument(CleanText::default(), cleaner.clean_text(&pretty_json(&other)))],
    }
}

fn argument_part(name: &str, value: &Value, cleaner: TextCleaner) -> ArgumentPart {
    let text = match value {
        Value::String(text) => cleaner.clean_text(text),
        other => cleaner.clean_text(&pretty_json(other)),
    };
    ArgumentPart::Argument(cleaner.clean_text(name), text)
}

fn pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The names of the old and the new text in `object`, and the patch.
fn find_edit(object: &serde_json::Map<String, Value>) -> Option<(&'static str, &'static str, String)> {
    EDITS.iter().find_map(|(old, new)| {
        let (was, is) = (object.get(*old)?.as_str()?, object.get(*new)?.as_str()?);
        Some((*old, *new, edit_patch(was, is)))
    })
}

/// The lines of `was` and `is`: those that begin and end both stand once.
fn edit_patch(was: &str, is: &str) -> String {
    let (was, is): (Vec<&str>, Vec<&str>) = (was.lines().collect(), is.lines().collect());
    let before = was.iter().zip(&is).take_while(|(a, b)| a == b).count();
    let after = was[before..].iter().rev().zip(is[before..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut out = String::new();
    let mut all = |sign: char, lines: &[&str]| {
        for line in lines {
            out.push(sign);
            out.push_str(line);
            out.push('\n');
        }
    };
    all(' ', &was[..before]);
    all('-', &was[before..was.len() - after]);
    all('+', &is[before..is.len() - after]);
    all(' ', &was[was.len() - after..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(input: &Value, redact: bool) -> Vec<String> {
        let told = argument_parts(&EventJson::from(input), TextCleaner::new(redact));
        told.iter()
            .map(|part| match part {
                ArgumentPart::Argument(name, text) => format!("{}={}", name.as_str(), text.as_str()),
                ArgumentPart::Edit(patch) => format!("edit:{}", patch.as_str()),
            })
            .collect()
    }

    #[test]
    fn arguments_are_told_by_name_and_edits_as_patches() {
        let input = json!({"file_path": "a.rs", "old_string": "a\nb\nc", "new_string": "a\nx\ny\nc", "replace_all": false});
        assert_eq!(told(&input, true), ["file_path=a.rs", "replace_all=false", "edit: a\n-b\n+x\n+y\n c\n"]);
        let input =
            json!({"edits": [{"old_string": "a", "new_string": ""}, {"old_string": "", "new_string": "b"}]});
        assert_eq!(told(&input, true), ["edit:-a\n", "edit:+b\n"]);
        assert_eq!(told(&json!({"edits": [1]}), true), ["edits=[\n  1\n]"]);
        assert_eq!(told(&json!("ls"), true), ["=ls"]);
        assert_eq!(told(&json!(null), true), [""; 0]);
    }

    #[test]
    fn an_argument_whose_name_is_that_of_a_secret_is_replaced() {
        let input = json!({"api_key": "short", "text": "password = \"hunter2hunter2Q\""});
        let shown = told(&input, true);
        assert_eq!(shown[0], "api_key=[redacted]");
        assert!(!shown[1].contains("hunter2"), "{shown:?}");
        assert_eq!(told(&input, false)[0], "api_key=short");
    }

    #[test]
    fn lines_that_both_texts_share_stand_once() {
        assert_eq!(edit_patch("a\na", "a"), " a\n-a\n");
        assert_eq!(edit_patch("", ""), "");
        assert_eq!(edit_patch("a", "a"), " a\n");
    }
}
