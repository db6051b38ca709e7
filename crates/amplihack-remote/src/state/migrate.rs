//! The predecessor's file: no version, times in several forms, tiers where a provider's size belongs, more sessions than room.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::{RemoteState, VERSION};
use crate::size::VMSize;

/// Brings the predecessor's document into this version's form.
pub(super) fn migrate_document(document: Value) -> Result<Value, String> {
    let Value::Object(mut document) = document else { return Err("it is not an object".to_owned()) };
    document.insert("version".to_owned(), VERSION.into());
    for (name, one) in [
        ("sessions", migrate_session as fn(&str, &mut Map<String, Value>) -> _),
        ("vm_pool", migrate_machine),
    ] {
        let part = document.entry(name).or_insert_with(|| json!({}));
        if part.is_null() {
            *part = json!({});
        }
        let Value::Object(part) = part else { return Err(format!("'{name}' is not an object")) };
        for (key, value) in part {
            let Value::Object(fields) = value else {
                return Err(format!("'{key}' of '{name}' is not an object"));
            };
            one(key, fields)?;
        }
    }
    Ok(Value::Object(document))
}

fn migrate_session(id: &str, fields: &mut Map<String, Value>) -> Result<(), String> {
    for name in ["created_at", "started_at", "completed_at"] {
        if let Some(Value::String(text)) = fields.get(name) {
            let time =
                parse_time(text).ok_or_else(|| format!("'{name}' of session '{id}' is no time: {text}"))?;
            fields.insert(name.to_owned(), time.to_string().into());
        }
    }
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "one of two functions of a table")]
fn migrate_machine(_: &str, fields: &mut Map<String, Value>) -> Result<(), String> {
    fields.insert("backend".to_owned(), "azlin".into());
    let Some(Value::Object(vm)) = fields.get_mut("vm") else { return Ok(()) };
    // The age of a machine only ever kept it from being used again: an unknown one is no reason to refuse the file.
    let made = vm.get("created_at").and_then(Value::as_str).and_then(parse_time);
    vm.insert("created_at".to_owned(), made.map_or(Value::Null, |time| time.to_string().into()));
    let tier = vm.get("size").and_then(Value::as_str).and_then(|size| size.parse::<VMSize>().ok());
    if let Some(tier) = tier {
        vm.insert("size".to_owned(), tier.azure_size().into());
    }
    // The predecessor deleted what it had made, and told it by its name.
    let ours = vm.get("name").and_then(Value::as_str).is_some_and(|name| name.starts_with("amplihack-"));
    let region = vm.get("region").cloned();
    fields.insert("made_by_us".to_owned(), ours.into());
    if let Some(region) = region.filter(|_| !fields.contains_key("region")) {
        fields.insert("region".to_owned(), region);
    }
    Ok(())
}

/// A time in any form that the predecessor and its tools wrote; one without a zone is in UTC.
fn parse_time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let utc = |time: DateTime| TimeZone::UTC.to_timestamp(time).ok();
    text.parse()
        .ok()
        .or_else(|| utc(text.parse::<DateTime>().ok()?))
        .or_else(|| utc(text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight())))
}

/// Slots that nobody needs are free, and a machine that holds more than it may gets no more until enough have ended.
pub(super) fn settle_slots(mut state: RemoteState) -> RemoteState {
    let names: Vec<String> = state.vm_pool.keys().cloned().collect();
    for name in names {
        state.align_slots(&name, None);
    }
    state
}
