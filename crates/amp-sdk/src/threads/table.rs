//! The list of threads as a table for people: title, time, visibility, messages, and an id or an address.

use super::{ThreadSummary, bare_id};

/// Reads a table. The header is left out if a rule follows it; `no …` in the first line is an empty list.
///
/// Columns are separated by two blanks or more. A title may hold such blanks too: the last four columns are told from the end.
pub(super) fn parse_table(text: &str) -> Result<Vec<ThreadSummary>, String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let Some(first) = lines.first() else { return Ok(Vec::new()) };
    if first.to_lowercase().starts_with("no ") {
        return Ok(Vec::new());
    }
    let headed = first.contains("Thread ID") || first.contains("Thread URL");
    let headed = headed && lines.get(1).is_some_and(|line| is_rule(line));
    lines.iter().skip(if headed { 2 } else { 0 }).map(|line| parse_row(line)).collect()
}

fn is_rule(line: &str) -> bool {
    !line.is_empty() && line.chars().all(|c| c.is_whitespace() || matches!(c, '─' | '-' | '━' | '='))
}

fn parse_row(line: &str) -> Result<ThreadSummary, String> {
    let bad = || format!("the line {line:?} is no thread: title, time, visibility, messages, id");
    let mut rest = line;
    let mut last = || {
        let at = rest.rfind("  ")?;
        let column = rest[at..].trim();
        rest = rest[..at].trim_end();
        Some(column)
    };
    let (id, messages) = (last().ok_or_else(bad)?, last().ok_or_else(bad)?);
    let (visibility, updated) = (last().ok_or_else(bad)?, last().ok_or_else(bad)?);
    Ok(ThreadSummary {
        id: bare_id(id).ok_or_else(bad)?.to_owned(),
        title: rest.trim().to_owned(),
        last_updated: Some(updated.to_owned()),
        visibility: Some(visibility.to_lowercase()),
        messages: Some(messages.parse().map_err(|_| bad())?),
        extra: serde_json::Map::new(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_tables_are_read() {
        let older = "Title      Last Updated  Visibility  Messages  Thread ID\n─────  ────  ────  ───  ────\nA  b   c   4h ago        Private     7         T-1-a\n";
        let read = parse_table(older).unwrap();
        assert_eq!((read[0].id.as_str(), read[0].title.as_str()), ("T-1-a", "A  b   c"));
        assert_eq!(
            (read[0].visibility.as_deref(), read[0].messages, read[0].last_updated.as_deref()),
            (Some("private"), Some(7), Some("4h ago"))
        );
        assert_eq!(parse_table("No threads found.\n"), Ok(Vec::new()));
        assert_eq!(parse_table(""), Ok(Vec::new()));
        assert!(parse_table("Error: something").unwrap_err().contains("Error: something"));
        assert!(parse_table("a  1h ago  Private  many  T-1").is_err());
    }

    proptest! {
        #[test]
        fn a_title_never_spoils_its_row(title in "[a-z]([a-z  é|]{0,20}[a-z])?", messages in 0..1000_u64) {
            let line = format!("{title}  1w ago  Workspace  {messages}  https://h/threads/T-1-b   ");
            let read = parse_row(line.trim_end()).unwrap();
            prop_assert_eq!((read.title, read.messages, read.id.as_str()), (title, Some(messages), "T-1-b"));
        }
    }
}
