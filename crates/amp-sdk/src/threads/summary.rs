//! A line of the list of threads.

use semver::Version;
use serde_json::{Map, Value};

use super::{ThreadListOptions, bare_id, table};
use crate::capability::CliFeature;
use crate::error::Result;
use crate::manage::{CommandAnswer, CommandWords, ManagementCall};

/// A thread in a list.
///
/// Wire form of current CLIs: `{"id", "title", "updated", "tree", "messageCount"}`; older ones print a table, whose columns have the same fields.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ThreadSummary {
    /// `T-…`, bare.
    pub id: String,
    /// Empty for a thread that has none yet.
    pub title: String,
    /// RFC 3339, or the table's own words: `4h ago`.
    pub last_updated: Option<String>,
    /// In lower case; only tables have it.
    pub visibility: Option<String>,
    /// Number of messages; absent if the CLI does not give it.
    pub messages: Option<u64>,
    /// Further fields of the wire form, and known ones in an unknown form.
    pub extra: Map<String, Value>,
}

impl ThreadSummary {
    /// Reads an object of the list. An id that is an address is made bare.
    pub(crate) fn read(value: Value) -> std::result::Result<Self, String> {
        let Value::Object(mut map) = value else { return Err("an entry is no object".to_owned()) };
        let id = map.remove("id").as_ref().and_then(Value::as_str).and_then(bare_id).map(str::to_owned);
        let id = id.ok_or("an entry has no \"id\" that begins with T-")?;
        let mut text = |key: &str| match map.get(key) {
            Some(Value::String(text)) => {
                let text = text.clone();
                map.remove(key);
                Some(text)
            }
            _ => None,
        };
        let (title, updated, visibility) = (text("title"), text("updated"), text("visibility"));
        let messages = map.get("messageCount").and_then(Value::as_u64);
        if messages.is_some() {
            map.remove("messageCount");
        }
        Ok(Self {
            id,
            title: title.unwrap_or_default(),
            last_updated: updated,
            visibility,
            messages,
            extra: if amplihack_sys::sabotage::is_active("amp-list-threads") { Map::new() } else { map },
        })
    }

    /// The wire form. What is `None` is not in it; `title` always is.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("id".into(), self.id.clone().into());
        if !self.extra.contains_key("title") {
            map.insert("title".into(), self.title.clone().into());
        }
        for (key, value) in [("updated", &self.last_updated), ("visibility", &self.visibility)] {
            if let Some(value) = value {
                map.insert(key.into(), value.clone().into());
            }
        }
        if let Some(messages) = self.messages {
            map.insert("messageCount".into(), messages.into());
        }
        map.extend(self.extra.clone());
        Value::Object(map)
    }
}

/// The command: JSON where the CLI has it, else the table.
pub(super) fn list_call(
    which: &ThreadListOptions,
    version: Option<&Version>,
) -> ManagementCall<Vec<ThreadSummary>> {
    let json = CliFeature::ThreadsListJson.support_in(version).is_usable();
    let words = CommandWords::new(&["threads", "list"])
        .with_switch("--include-archived", which.include_archived)
        .with_number("--limit", which.limit)
        .with_number("--offset", which.offset)
        .with_switch("--json", json);
    ManagementCall::new(words, &[CliFeature::ThreadsList], parse_threads)
}

fn parse_threads(answer: &CommandAnswer) -> Result<Vec<ThreadSummary>> {
    let text = answer.stdout.trim();
    if text.starts_with('[') {
        let list: Vec<Value> =
            serde_json::from_str(text).map_err(|error| answer.unreadable_error(error.to_string()))?;
        let list: std::result::Result<Vec<_>, String> = list.into_iter().map(ThreadSummary::read).collect();
        return list.map_err(|why| answer.unreadable_error(why));
    }
    table::parse_table(text).map_err(|why| answer.unreadable_error(why))
}
