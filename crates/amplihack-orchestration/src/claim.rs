//! An agent's report on its own work: a JSON object, or a fixed line at the end of its answer.

use serde::{Deserialize, Serialize};

use crate::prompts::shorten_text;

/// Start of the line in which an agent reports its status.
pub const MARK: &str = "AMPLIHACK-STATUS:";

/// Characters that Markdown may put around the line.
const WRAP: [char; 4] = ['*', '`', '_', ' '];
/// So far indented, a line is code in Markdown.
const CODE_INDENT: usize = 4;
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

/// Progress of the work, as the agent reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatus {
    /// Everything that was asked for is done.
    Done,
    /// There is more to do.
    Working,
    /// The agent cannot continue alone.
    Blocked,
}

/// An agent's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentClaim {
    /// Progress of the work.
    pub status: ClaimStatus,
    /// Summary of the work that was done, or of the help that is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// True if the task asks for changes to files; `None` if the agent does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<bool>,
}

/// The claim of `text`: its last line that is not blank, or all of the text where that is an object.
///
/// A line counts if it stands alone, outside of code blocks and quotes. Whoever mentions the line, or repeats how to write it,
/// claims nothing.
pub fn read(text: &str) -> Option<AgentClaim> {
    let mut claim: AgentClaim =
        match last_line(text).and_then(|line| line.trim_start_matches(WRAP).strip_prefix(MARK)) {
            Some(object) => parse_lone_object(object)?,
            None => serde_json::from_str(text).ok()?,
        };
    if let Some(summary) = &mut claim.summary {
        *summary = shorten_text(summary, MAX_SUMMARY);
    }
    Some(claim)
}

/// The last line of `text` that is not blank, if it is prose: not inside a code block, not indented like one.
///
/// A quote begins with `>`, which no mark does.
fn last_line(text: &str) -> Option<&str> {
    let (before, last) = match text.trim_end().rsplit_once('\n') {
        Some((before, last)) => (before, last),
        None => ("", text.trim_end()),
    };
    let indent = last.len() - last.trim_start().len();
    let prose = indent < CODE_INDENT && !last.starts_with('\t') && !inside_fence(before);
    prose.then(|| last.trim())
}

/// Reports whether a fence of `text` is still open at its end, by the rules of Markdown.
fn inside_fence(text: &str) -> bool {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        let Some(mark) = bare.chars().next().filter(|first| matches!(first, '`' | '~')) else { continue };
        let length = bare.chars().take_while(|next| *next == mark).count();
        if length < 3 || line.len() - bare.len() >= CODE_INDENT {
            continue;
        }
        let info = bare.trim_start_matches(mark);
        open = match open {
            // An info string of a fence of backticks has none: `` ```x``` `` is a line of code.
            None if mark == '~' || !info.contains('`') => Some((mark, length)),
            Some((opened, least)) if opened == mark && length >= least && info.trim().is_empty() => None,
            before => before,
        };
    }
    open.is_some()
}

/// The object in `text`, if nothing else stands there.
fn parse_lone_object(text: &str) -> Option<AgentClaim> {
    let object = text.trim_start_matches(WRAP);
    let mut read = serde_json::Deserializer::from_str(object).into_iter::<AgentClaim>();
    let claim = read.next()?.ok()?;
    let rest = object.get(read.byte_offset()..)?;
    rest.trim_start_matches(WRAP).is_empty().then_some(claim)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn status(text: &str) -> Option<ClaimStatus> {
        read(text).map(|claim| claim.status)
    }

    const DONE: &str = "AMPLIHACK-STATUS: {\"status\":\"done\",\"summary\":\"it's\",\"changes\":true}";

    #[test]
    fn the_last_line_holds_and_what_is_no_claim_is_none() {
        let object = "{\"status\":\"done\",\"summary\":\"it's\",\"changes\":true}";
        for (text, expected) in [
            (format!("did it\n{DONE}"), Some(ClaimStatus::Done)),
            (format!("did it\r\n\r\n{DONE}\r\n \n"), Some(ClaimStatus::Done)),
            (format!("did it\n`{DONE}`\n\n"), Some(ClaimStatus::Done)),
            (format!("did it\n**AMPLIHACK-STATUS:** {object}"), Some(ClaimStatus::Done)),
            (format!("did it\n**AMPLIHACK-STATUS: {object}**"), Some(ClaimStatus::Done)),
            (format!("```sh\nls\n```\n{DONE}"), Some(ClaimStatus::Done)),
            (format!("{DONE}\nAMPLIHACK-STATUS: {{\"status\":\"working\"}}"), Some(ClaimStatus::Working)),
            (object.to_owned(), Some(ClaimStatus::Done)),
            // Goodbyes, mentions, repetitions.
            (format!("{DONE}\nBye!"), None),
            (format!("I will finish with {DONE}"), None),
            (format!("I will finish with {DONE} as you asked."), None),
            (format!("{DONE} as you asked."), None),
            (format!("{DONE}\nbut I am not done yet"), None),
            (format!("The line will be:\n> {DONE}"), None),
            (format!("- {DONE}"), None),
            // Code.
            (format!("```\n{DONE}\n```"), None),
            (format!("```text\n{DONE}"), None),
            (format!("~~~~\n~~~\n{DONE}"), None),
            (format!("so:\n\n    {DONE}"), None),
            (format!("so:\n\n\t{DONE}"), None),
            // No objects of this form.
            ("AMPLIHACK-STATUS: {\"status\":\n\"blocked\"}".to_owned(), None),
            ("AMPLIHACK-STATUS:\n```json\n{\"status\":\n\"blocked\"}\n```".to_owned(), None),
            (format!("{object} is what I would say"), None),
            (format!("I would say {object}"), None),
            ("AMPLIHACK-STATUS: {\"status\":\"finished\"}".to_owned(), None),
            (format!("AMPLIHACK-STATUS: {object} {object}"), None),
            ("all criteria met, objective achieved".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(status(&text), expected, "{text}");
        }
        let claim = read(DONE).unwrap();
        assert_eq!((claim.summary.as_deref(), claim.changes), (Some("it's"), Some(true)));
    }

    proptest! {
        /// A mention anywhere but alone on the last line is no claim, and the last line is one after any prose.
        #[test]
        fn a_mention_is_no_claim(
            before in "[a-z `*>#~\n.-]{0,40}",
            word in "[a-z]{1,8}",
            blank in "[ \r\n]{0,4}",
        ) {
            let expected = (!inside_fence(&before)).then_some(ClaimStatus::Done);
            prop_assert_eq!(status(&format!("{before}\n{DONE}{blank}")), expected);
            prop_assert_eq!(status(&format!("{before}\n{word} {DONE}{blank}")), None);
            prop_assert_eq!(status(&format!("{before}\n{DONE} {word}{blank}")), None);
            prop_assert_eq!(status(&format!("{before}\n{DONE}\n{blank}{word}")), None);
            prop_assert_eq!(status(&format!("{before}\n> {DONE}{blank}")), None);
            prop_assert_eq!(status(&format!("{before}\n\n    {DONE}{blank}")), None);
        }
    }

    #[test]
    fn the_schema_describes_a_claim() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let claim =
            AgentClaim { status: ClaimStatus::Working, summary: Some("s".to_owned()), changes: Some(false) };
        let written = serde_json::to_value(&claim).unwrap();
        let named =
            |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(named(&written), named(&schema["properties"]));
        for status in schema["properties"]["status"]["enum"].as_array().unwrap() {
            assert!(serde_json::from_value::<ClaimStatus>(status.clone()).is_ok(), "{status}");
        }
    }
}
