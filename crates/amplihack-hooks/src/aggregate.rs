//! Two hooks' answers joined into one, for wrappers that also run hooks of a user's own: strictest wins, XPIA before
//! amplihack where both are equally strict, and a side that failed is a deny.

use amplihack_policy::Decision;
use serde_json::{Map, Value, json};

use crate::dialect::{self, Bad, Reply};

const BLOCKED: &str = "Blocked by amplihack pre-tool-use hook.";

/// What one side said.
#[derive(Debug)]
struct Said {
    decision: Decision,
    /// What to hand on.
    payload: Map<String, Value>,
}

/// Joins `{"amplihack":{"stdout","code"},"xpia":{"stdout","code"}}` into one flat object.
///
/// A side that is null or missing was not there: without XPIA no call is let through, without amplihack XPIA decides alone.
pub fn answer(payload: Result<Vec<u8>, Bad>) -> Reply {
    let joined = payload.map_err(|bad| bad.to_string()).and_then(|bytes| join(&bytes));
    Reply::object(&Value::Object(joined.unwrap_or_else(|why| denied(&why))))
}

fn join(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    if bytes.len() > dialect::MAX_PAYLOAD {
        return Err(Bad::TooLarge.to_string());
    }
    let sides: Value =
        serde_json::from_slice(bytes).map_err(|error| Bad::Json(error.to_string()).to_string())?;
    if !sides.is_object() {
        return Err("the two hooks' answers are not a JSON object".to_owned());
    }
    let xpia = match &sides["xpia"] {
        Value::Null => Said {
            decision: Decision::Deny,
            payload: denied("the XPIA hook is missing, so no call is let through; run `amplihack install`"),
        },
        side => said("XPIA", side),
    };
    let amplihack = match &sides["amplihack"] {
        Value::Null => Said { decision: Decision::None, payload: Map::new() },
        side => said("amplihack", side),
    };
    let (amplihack, xpia) = (heard("amplihack", amplihack), heard("XPIA", xpia));
    let tie = amplihack.decision == xpia.decision
        && amplihack_utils::sabotage::active("copilot-precedence-xpia-first");
    let mut winner = if amplihack.decision > xpia.decision || tie { amplihack } else { xpia };
    if amplihack_utils::sabotage::active("copilot-precedence-unchanged") {
        winner.payload.retain(|key, _| key == "permissionDecision");
    }
    if winner.decision == Decision::None && amplihack_utils::sabotage::active("copilot-precedence-none") {
        winner = Said {
            decision: Decision::Allow,
            payload: Map::from_iter([("permissionDecision".to_owned(), "allow".into())]),
        };
    }
    Ok(if winner.decision == Decision::None { Map::new() } else { winner.payload })
}

/// What a side said; nothing if a fault makes nothing of its decision.
fn heard(side: &str, said: Said) -> Said {
    let ignored = match (side, said.decision) {
        ("XPIA", Decision::Allow) => amplihack_utils::sabotage::active("copilot-precedence-xpia-allow"),
        ("XPIA", Decision::Ask) => amplihack_utils::sabotage::active("copilot-precedence-xpia-ask"),
        ("XPIA", Decision::Deny) => amplihack_utils::sabotage::active("copilot-precedence-xpia-deny"),
        (_, Decision::Allow) => amplihack_utils::sabotage::active("copilot-precedence-amplihack-allow"),
        (_, Decision::Ask) => amplihack_utils::sabotage::active("copilot-precedence-amplihack-ask"),
        (_, Decision::Deny) => amplihack_utils::sabotage::active("copilot-precedence-amplihack-deny"),
        (_, Decision::None) => false,
    };
    if ignored { Said { decision: Decision::None, payload: Map::new() } } else { said }
}

/// Every object of a side counts, and the strictest is its answer, whatever its exit code.
fn said(side: &str, answer: &Value) -> Said {
    let code = ["code", "exit"].iter().find_map(|name| answer.get(name)).map_or(Some(0), Value::as_i64);
    let Some(stdout) = answer.get("stdout").and_then(Value::as_str) else {
        return failed(side, "said nothing that can be read");
    };
    let Some(objects) = objects(stdout) else {
        return failed(side, "answered with something that is not JSON");
    };
    let mut strictest = Said { decision: Decision::None, payload: Map::new() };
    for object in objects {
        let said = one(side, object);
        if said.decision > strictest.decision {
            strictest = said;
        }
    }
    if code != Some(0) && strictest.decision != Decision::Deny {
        return failed(side, "failed");
    }
    strictest
}

fn failed(side: &str, how: &str) -> Said {
    let payload =
        denied(&format!("the {side} hook {how}, so the call is not let through; run `amplihack doctor`"));
    Said { decision: Decision::Deny, payload }
}

fn denied(why: &str) -> Map<String, Value> {
    let why = dialect::one_line(why);
    let object = json!({"permissionDecision": "deny", "permissionDecisionReason": why, "message": why});
    object.as_object().cloned().unwrap_or_default()
}

/// The JSON objects of an output: the whole of it, or its lines. `None` if there is text but no JSON at all.
fn objects(stdout: &str) -> Option<Vec<Map<String, Value>>> {
    let stdout = stdout.trim_start_matches('\u{feff}').trim();
    if stdout.is_empty() {
        return Some(Vec::new());
    }
    let values: Vec<Value> = if let Ok(value) = serde_json::from_str(stdout) {
        vec![value]
    } else {
        let values = serde_json::Deserializer::from_str(stdout).into_iter().map_while(Result::ok);
        let by_line = stdout.lines().filter_map(|line| serde_json::from_str(line).ok());
        values.chain(by_line).collect()
    };
    if values.is_empty() {
        return None;
    }
    Some(values.into_iter().filter_map(|value| value.as_object().cloned()).collect())
}

/// What one object decides. A word that is not understood is a deny.
fn one(side: &str, mut object: Map<String, Value>) -> Said {
    let nested =
        object.get("hookSpecificOutput").and_then(|nested| nested.get("permissionDecision")).cloned();
    let flat = object.get("permissionDecision").cloned();
    let mut decision = Decision::None;
    for value in [flat, nested.clone()].into_iter().flatten().filter(|value| !value.is_null()) {
        decision = decision.max(match value.as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("allow") => Decision::Allow,
            Some("ask") => Decision::Ask,
            Some("deny") => Decision::Deny,
            _ => return failed(side, "decided with a word that is none of allow, ask and deny"),
        });
    }
    let blocks = object
        .get("block")
        .is_some_and(|block| truthy(block) && !amplihack_utils::sabotage::active("copilot-precedence-block"))
        || object
            .get("decision")
            .and_then(Value::as_str)
            .is_some_and(|word| ["block", "deny"].iter().any(|known| word.eq_ignore_ascii_case(known)));
    if blocks {
        decision = Decision::Deny;
    }
    if decision == Decision::None {
        return Said { decision, payload: Map::new() };
    }
    let reason = reason(&object)
        .filter(|_| !amplihack_utils::sabotage::active("copilot-precedence-block-message"))
        .unwrap_or_else(|| match decision {
            Decision::Deny if blocks => BLOCKED.to_owned(),
            _ => format!("the {side} hook gives no reason"),
        });
    let flat_word = object.get("permissionDecision").and_then(Value::as_str).unwrap_or_default();
    if blocks || nested.is_some() || flat_word != decision.to_string() {
        // Not in the words that Copilot reads, or contradicting itself: said anew.
        object = Map::new();
        object.insert("permissionDecision".to_owned(), decision.to_string().into());
        object.insert("message".to_owned(), reason.clone().into());
    }
    if decision >= Decision::Ask {
        // The only key whose text reaches the model.
        object.entry("permissionDecisionReason").or_insert(reason.into());
    }
    Said { decision, payload: object }
}

fn reason(object: &Map<String, Value>) -> Option<String> {
    let nested = object.get("hookSpecificOutput").and_then(Value::as_object);
    let texts = ["permissionDecisionReason", "message", "reason"].iter().flat_map(|name| {
        [Some(object), nested].into_iter().flatten().filter_map(move |object| object.get(*name)?.as_str())
    });
    texts.map(str::trim).find(|text| !text.is_empty()).map(str::to_owned)
}

/// As the hooks' first language has it: everything but false, null, zero and nothing.
fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}
