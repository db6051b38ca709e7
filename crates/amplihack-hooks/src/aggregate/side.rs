//! What one side of a joined answer decided, read from what it printed. What is not exactly one JSON object decides nothing but a deny.

use amplihack_policy::Decision;
use serde_json::{Map, Value, json};

use crate::dialect;
use crate::repeated::Json;

const BLOCKED: &str = "Blocked by amplihack pre-tool-use hook.";

/// What an allow or an ask may bring along. Other arguments for the tool are not among it: nobody judged them.
const HANDED_ON: &[&str] = &[
    "permissionDecision",
    "permissionDecisionReason",
    "message",
    "additionalContext",
    "systemMessage",
    "suppressOutput",
];

/// The decision of one side.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) decision: Decision,
    /// What to hand on.
    pub(super) payload: Map<String, Value>,
}

impl Side {
    /// A side that has nothing to say.
    pub(super) fn silent() -> Self {
        Self { decision: Decision::None, payload: Map::new() }
    }

    /// A side that denies.
    pub(super) fn denying(why: &str) -> Self {
        Self { decision: Decision::Deny, payload: denied(why) }
    }

    /// A side that failed.
    pub(super) fn failed(name: &str, how: &str) -> Self {
        Self::denying(&format!(
            "the {name} hook {how}, so the call is not let through; run `amplihack doctor`"
        ))
    }

    /// The decision of the side `name`, which printed `stdout` and ended with `code`; `None` if a signal ended it. A deny is one
    /// whatever the code, and whatever stands around it.
    pub(super) fn read(name: &str, stdout: &str, code: Option<i64>) -> Self {
        let side = match printed(stdout) {
            Printed::Nothing => Self::silent(),
            Printed::Object(object) => decided(name, &object),
            Printed::Garbage(objects) => objects
                .iter()
                .map(|object| decided(name, object))
                .find(|side| side.decision == Decision::Deny)
                .unwrap_or_else(|| Self::failed(name, "answered with something that is not one JSON object")),
        };
        if code != Some(0) && side.decision != Decision::Deny {
            return Self::failed(name, "failed");
        }
        side
    }
}

/// The stricter of both, `first` where they are equally strict.
pub(super) fn stricter(first: Side, second: Side) -> Map<String, Value> {
    let winner = if second.decision > first.decision { second } else { first };
    if winner.decision == Decision::None { Map::new() } else { winner.payload }
}

pub(super) fn denied(why: &str) -> Map<String, Value> {
    let why = dialect::one_line(why);
    let object = json!({"permissionDecision": "deny", "permissionDecisionReason": why, "message": why});
    object.as_object().cloned().unwrap_or_default()
}

/// What stands on a hook's stdout.
#[derive(Debug, PartialEq)]
pub(super) enum Printed {
    /// Nothing, or an empty list.
    Nothing,
    /// One object and nothing else.
    Object(Json),
    /// Anything else, with the objects that are found in it: whole lines, and what the text begins with.
    Garbage(Vec<Json>),
}

/// Reads a hook's whole stdout.
pub(super) fn printed(stdout: &str) -> Printed {
    let stdout = stdout.trim_start_matches('\u{feff}').trim();
    if stdout.is_empty() {
        return Printed::Nothing;
    }
    match serde_json::from_str(stdout) {
        Ok(object @ Json::Object(_)) => Printed::Object(object),
        Ok(Json::List(values)) if values.is_empty() => Printed::Nothing,
        Ok(_) => Printed::Garbage(Vec::new()),
        Err(_) => {
            let begins = serde_json::Deserializer::from_str(stdout).into_iter().map_while(Result::ok);
            let by_line = stdout.lines().filter_map(|line| serde_json::from_str(line).ok());
            Printed::Garbage(begins.chain(by_line).collect())
        }
    }
}

/// What one object decides: the strictest of everything that it says, and a deny if that is not understood.
fn decided(name: &str, object: &Json) -> Side {
    let nested: Vec<&Json> = object.all("hookSpecificOutput").collect();
    let everywhere = || std::iter::once(object).chain(nested.iter().copied());
    let mut decision = Decision::None;
    for value in everywhere().flat_map(|part| part.all("permissionDecision")).filter(|value| !value.is_null())
    {
        decision = decision.max(match value.as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("allow") => Decision::Allow,
            Some("ask") => Decision::Ask,
            Some("deny") => Decision::Deny,
            _ => return Side::failed(name, "decided with a word that is none of allow, ask and deny"),
        });
    }
    let blocks = object.all("block").any(|value| {
        truthy(&value.value()) && !amplihack_utils::sabotage::active("copilot-precedence-block")
    }) || object.all("decision").any(blocking);
    let stops = object.all("continue").any(stopping);
    if blocks || stops {
        decision = Decision::Deny;
    }
    if decision == Decision::None {
        return Side::silent();
    }
    let reason = reason(object, &nested, stops)
        .filter(|_| !amplihack_utils::sabotage::active("copilot-precedence-block-message"))
        .unwrap_or_else(|| match decision {
            Decision::Deny if blocks => BLOCKED.to_owned(),
            _ => format!("the {name} hook gives no reason"),
        });
    let flat = object.get("permissionDecision").and_then(Json::as_str).unwrap_or_default();
    let plain = nested.is_empty() && !blocks && !stops && object.repeated().is_none();
    let mut payload = if plain && flat == decision.to_string() {
        object.object()
    } else {
        // Not in the words that Copilot reads, or contradicting itself: put anew.
        let mut anew = Map::new();
        anew.insert("permissionDecision".to_owned(), decision.to_string().into());
        anew.insert("message".to_owned(), reason.clone().into());
        anew
    };
    if decision < Decision::Deny {
        payload.retain(|key, _| HANDED_ON.contains(&key.as_str()));
    }
    if decision >= Decision::Ask {
        // The only key whose text reaches the model.
        payload.entry("permissionDecisionReason").or_insert(reason.into());
    }
    Side { decision, payload }
}

/// Whether `decision` says that something is held up.
pub(super) fn blocking(word: &Json) -> bool {
    let known = |word: &str| ["block", "deny"].iter().any(|known| word.eq_ignore_ascii_case(known));
    word.as_str().is_some_and(known)
}

/// Whether `continue` says that the agent is to stop. What is neither yes nor no is no.
pub(super) fn stopping(value: &Json) -> bool {
    !matches!(value, Json::Plain(Value::Null | Value::Bool(true)))
}

fn reason(object: &Json, nested: &[&Json], stops: bool) -> Option<String> {
    let names = ["permissionDecisionReason", "message", "reason", "stopReason"];
    let names = &names[..if stops { 4 } else { 3 }];
    let texts = names.iter().flat_map(|name| {
        std::iter::once(object).chain(nested.iter().copied()).filter_map(|part| part.get(name)?.as_str())
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
