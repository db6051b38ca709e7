//! Two hooks' answers joined into one, for wrappers that also run hooks of a user's own: strictest wins, theirs first where both
//! are equally strict, and a side that failed is a deny.

mod script;
mod side;

use amplihack_verdict::Decision;
use serde_json::{Map, Value};

use crate::dialect::{self, HookReply, PayloadError};
use crate::repeated_keys::RepeatedKeyJson;

pub use script::{script_deadline, with_script};

use side::{SideDecision, denial_object, stricter_payload};

/// Joins `{"amplihack":{"stdout","code"},"xpia":{"stdout","code"}}` into one flat object.
///
/// A side that is null or missing was not there: without XPIA no call is let through, without amplihack XPIA decides alone. A key
/// that stands twice is refused, since nobody knows which of the two was meant.
pub fn answer_joined(payload: Result<Vec<u8>, PayloadError>) -> HookReply {
    let joined = payload.map_err(|bad| bad.to_string()).and_then(|bytes| join_sides(&bytes));
    HookReply::from_object(&Value::Object(joined.unwrap_or_else(|why| denial_object(&why))))
}

fn join_sides(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    if bytes.len() > dialect::MAX_PAYLOAD {
        return Err(PayloadError::TooLarge.to_string());
    }
    let sides: RepeatedKeyJson =
        serde_json::from_slice(bytes).map_err(|error| PayloadError::Json(error.to_string()).to_string())?;
    if let Some(key) = sides.repeated_key() {
        return Err(format!("the two hooks' answers have the key {key:?} twice; give each once"));
    }
    let sides = sides.into_value();
    if !sides.is_object() {
        return Err("the two hooks' answers are not a JSON object".to_owned());
    }
    let xpia = match &sides["xpia"] {
        Value::Null => SideDecision::with_denial(
            "the XPIA hook is missing, so no call is let through; run `amplihack install`",
        ),
        side => read(side, "XPIA"),
    };
    let amplihack = match &sides["amplihack"] {
        Value::Null => SideDecision::with_silence(),
        side => read(side, "amplihack"),
    };
    let (xpia, amplihack) = (without_ignored("XPIA", xpia), without_ignored("amplihack", amplihack));
    let (first, second) = if amplihack_sys::sabotage::is_active("copilot-precedence-xpia-first") {
        (amplihack, xpia)
    } else {
        (xpia, amplihack)
    };
    let mut answer = stricter_payload(first, second);
    if amplihack_sys::sabotage::is_active("copilot-precedence-unchanged") {
        answer.retain(|key, _| key == "permissionDecision");
    }
    if answer.is_empty() && amplihack_sys::sabotage::is_active("copilot-precedence-none") {
        answer.insert("permissionDecision".to_owned(), "allow".into());
    }
    Ok(answer)
}

/// The decision of a side, or an empty one if a fault is to ignore that side.
fn without_ignored(name: &str, side: SideDecision) -> SideDecision {
    let is_ignored = match (name, side.decision) {
        ("XPIA", Decision::Allow) => amplihack_sys::sabotage::is_active("copilot-precedence-xpia-allow"),
        ("XPIA", Decision::Ask) => amplihack_sys::sabotage::is_active("copilot-precedence-xpia-ask"),
        ("XPIA", Decision::Deny) => amplihack_sys::sabotage::is_active("copilot-precedence-xpia-deny"),
        (_, Decision::Allow) => amplihack_sys::sabotage::is_active("copilot-precedence-amplihack-allow"),
        (_, Decision::Ask) => amplihack_sys::sabotage::is_active("copilot-precedence-amplihack-ask"),
        (_, Decision::Deny) => amplihack_sys::sabotage::is_active("copilot-precedence-amplihack-deny"),
        (_, Decision::None) => false,
    };
    if is_ignored { SideDecision::with_silence() } else { side }
}

fn read(side: &Value, name: &str) -> SideDecision {
    let code = ["code", "exit"].iter().find_map(|name| side.get(name)).map_or(Some(0), Value::as_i64);
    match side.get("stdout").and_then(Value::as_str) {
        Some(stdout) => SideDecision::read(name, stdout, code),
        None => SideDecision::with_failure(name, "said nothing that can be read"),
    }
}
