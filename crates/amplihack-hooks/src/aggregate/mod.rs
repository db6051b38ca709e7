//! Two hooks' answers joined into one, for wrappers that also run hooks of a user's own: strictest wins, theirs first where both
//! are equally strict, and a side that failed is a deny.

mod script;
mod side;

use amplihack_policy::Decision;
use serde_json::{Map, Value};

use crate::dialect::{self, Bad, Reply};
use crate::repeated::Json;

pub use script::{time_of, with_script};

use side::{Side, denied, stricter};

/// Joins `{"amplihack":{"stdout","code"},"xpia":{"stdout","code"}}` into one flat object.
///
/// A side that is null or missing was not there: without XPIA no call is let through, without amplihack XPIA decides alone. A key
/// that stands twice is refused, since nobody knows which of the two was meant.
pub fn answer(payload: Result<Vec<u8>, Bad>) -> Reply {
    let joined = payload.map_err(|bad| bad.to_string()).and_then(|bytes| join(&bytes));
    Reply::object(&Value::Object(joined.unwrap_or_else(|why| denied(&why))))
}

fn join(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    if bytes.len() > dialect::MAX_PAYLOAD {
        return Err(Bad::TooLarge.to_string());
    }
    let sides: Json =
        serde_json::from_slice(bytes).map_err(|error| Bad::Json(error.to_string()).to_string())?;
    if let Some(key) = sides.repeated() {
        return Err(format!("the two hooks' answers have the key {key:?} twice; give each once"));
    }
    let sides = sides.into_value();
    if !sides.is_object() {
        return Err("the two hooks' answers are not a JSON object".to_owned());
    }
    let xpia = match &sides["xpia"] {
        Value::Null => {
            Side::denying("the XPIA hook is missing, so no call is let through; run `amplihack install`")
        }
        side => read(side, "XPIA"),
    };
    let amplihack = match &sides["amplihack"] {
        Value::Null => Side::silent(),
        side => read(side, "amplihack"),
    };
    let (xpia, amplihack) = (heard("XPIA", xpia), heard("amplihack", amplihack));
    let (first, second) = if amplihack_utils::sabotage::active("copilot-precedence-xpia-first") {
        (amplihack, xpia)
    } else {
        (xpia, amplihack)
    };
    let mut answer = stricter(first, second);
    if amplihack_utils::sabotage::active("copilot-precedence-unchanged") {
        answer.retain(|key, _| key == "permissionDecision");
    }
    if answer.is_empty() && amplihack_utils::sabotage::active("copilot-precedence-none") {
        answer.insert("permissionDecision".to_owned(), "allow".into());
    }
    Ok(answer)
}

/// What a side decided; nothing if a fault makes nothing of it.
fn heard(name: &str, side: Side) -> Side {
    let is_ignored = match (name, side.decision) {
        ("XPIA", Decision::Allow) => amplihack_utils::sabotage::active("copilot-precedence-xpia-allow"),
        ("XPIA", Decision::Ask) => amplihack_utils::sabotage::active("copilot-precedence-xpia-ask"),
        ("XPIA", Decision::Deny) => amplihack_utils::sabotage::active("copilot-precedence-xpia-deny"),
        (_, Decision::Allow) => amplihack_utils::sabotage::active("copilot-precedence-amplihack-allow"),
        (_, Decision::Ask) => amplihack_utils::sabotage::active("copilot-precedence-amplihack-ask"),
        (_, Decision::Deny) => amplihack_utils::sabotage::active("copilot-precedence-amplihack-deny"),
        (_, Decision::None) => false,
    };
    if is_ignored { Side::silent() } else { side }
}

fn read(side: &Value, name: &str) -> Side {
    let code = ["code", "exit"].iter().find_map(|name| side.get(name)).map_or(Some(0), Value::as_i64);
    match side.get("stdout").and_then(Value::as_str) {
        Some(stdout) => Side::read(name, stdout, code),
        None => Side::failed(name, "said nothing that can be read"),
    }
}
