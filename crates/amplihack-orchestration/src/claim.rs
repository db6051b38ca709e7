//! What an agent says of its own work: a JSON object, or a fixed line at the end of its answer.

use serde::{Deserialize, Serialize};

use crate::prompts::shortened;

/// What begins the line in which an agent says how far it is.
pub const MARK: &str = "AMPLIHACK-STATUS:";

/// Lines from the end among which the mark is looked for: agents like to say goodbye after it.
const LAST_LINES: usize = 12;
/// The most that is kept of a summary, in bytes.
const MAX_SUMMARY: usize = 4096;

/// The JSON schema of a claim, for agents that can be held to one.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "status": { "type": "string", "enum": ["done", "working", "blocked"] },
    "summary": { "type": "string" },
    "changes": { "type": "boolean" }
  },
  "required": ["status", "summary", "changes"],
  "additionalProperties": false
}
"#;

/// How far an agent says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Everything that was asked for is done.
    Done,
    /// There is more to do.
    Working,
    /// It cannot go on alone.
    Blocked,
}

/// An agent's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// How far it is.
    pub status: Status,
    /// What it did, or what it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether the task asks for changes to files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<bool>,
}

/// The claim at the end of `text`; the last one holds.
///
/// It is the object after the last mark, or all of the text where that is an object.
pub fn read(text: &str) -> Option<Claim> {
    let marked = text.lines().rev().take(LAST_LINES).any(|line| line.contains(MARK));
    let mut claim: Claim = if marked {
        let (_, rest) = text.rsplit_once(MARK)?;
        // What follows the object, a fence or a goodbye, is not its part.
        let object = rest.trim_start_matches(['*', '`', ' ']);
        serde_json::Deserializer::from_str(object).into_iter().next()?.ok()?
    } else {
        serde_json::from_str(text).ok()?
    };
    if let Some(summary) = &mut claim.summary {
        *summary = shortened(summary, MAX_SUMMARY);
    }
    Some(claim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> Option<Status> {
        read(text).map(|claim| claim.status)
    }

    #[test]
    fn the_last_mark_holds_and_what_is_no_claim_is_none() {
        let done = "{\"status\":\"done\",\"summary\":\"it's\",\"changes\":true}";
        for (text, expected) in [
            (format!("did it\nAMPLIHACK-STATUS: {done}"), Some(Status::Done)),
            (
                format!("**AMPLIHACK-STATUS:** nothing\n`AMPLIHACK-STATUS: {done}`\n\nBye!"),
                Some(Status::Done),
            ),
            (
                format!("AMPLIHACK-STATUS: {done}\nAMPLIHACK-STATUS: {{\"status\":\"working\"}}"),
                Some(Status::Working),
            ),
            ("AMPLIHACK-STATUS:\n```json\n{\"status\":\n\"blocked\"}\n```".to_owned(), None),
            ("AMPLIHACK-STATUS: {\"status\":\n\"blocked\"}".to_owned(), Some(Status::Blocked)),
            (done.to_owned(), Some(Status::Done)),
            (format!("{done} is what I would say"), None),
            (format!("I would say {done}"), None),
            ("AMPLIHACK-STATUS: {\"status\":\"finished\"}".to_owned(), None),
            ("all criteria met, objective achieved".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(status(&text), expected, "{text}");
        }
        let claim = read(&format!("AMPLIHACK-STATUS: {done}")).unwrap();
        assert_eq!((claim.summary.as_deref(), claim.changes), (Some("it's"), Some(true)));
    }

    #[test]
    fn the_schema_describes_a_claim() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let claim = Claim { status: Status::Working, summary: Some("s".to_owned()), changes: Some(false) };
        let written = serde_json::to_value(&claim).unwrap();
        let named =
            |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(named(&written), named(&schema["properties"]));
        for status in schema["properties"]["status"]["enum"].as_array().unwrap() {
            assert!(serde_json::from_value::<Status>(status.clone()).is_ok(), "{status}");
        }
    }

    #[test]
    fn a_mark_far_from_the_end_is_no_claim() {
        let text = format!("AMPLIHACK-STATUS: {{\"status\":\"done\"}}\n{}", "more\n".repeat(LAST_LINES));
        assert_eq!(status(&text), None);
    }
}
