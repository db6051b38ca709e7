//! The decision of one side of a joined answer, parsed from its stdout. Output that is not exactly one JSON object can only deny.

use amplihack_verdict::Decision;
use serde_json::{Map, Value, json};

use crate::dialect;
use crate::repeated_keys::RepeatedKeyJson;

const BLOCKED: &str = "Blocked by amplihack pre-tool-use hook.";

/// Keys that an allow or an ask may bring along. Other arguments for the tool are not among them before they are judged.
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
pub(super) struct SideDecision {
    pub(super) decision: Decision,
    /// The object to hand on.
    pub(super) payload: Map<String, Value>,
    /// Other arguments for the tool, which nobody has judged.
    pub(super) changed: Option<Map<String, Value>>,
}

/// Fields in which a hook gives other arguments.
const CHANGED: [&str; 2] = ["modifiedArgs", "updatedInput"];

impl SideDecision {
    /// A side that has nothing to say.
    pub(super) fn with_silence() -> Self {
        Self { decision: Decision::None, payload: Map::new(), changed: None }
    }

    /// A side that denies.
    pub(super) fn with_denial(why: &str) -> Self {
        Self { decision: Decision::Deny, payload: denial_object(why), changed: None }
    }

    /// A side that failed.
    pub(super) fn with_failure(name: &str, how: &str) -> Self {
        Self::with_denial(&format!("the {name} hook {how}, so the call is denied; run `amplihack doctor`"))
    }

    /// The decision of the side `name`, which printed `stdout` and ended with `code`; `None` if a signal ended it. A deny is one
    /// whatever the code, and whatever stands around it.
    pub(super) fn read(name: &str, stdout: &str, code: Option<i64>) -> Self {
        let side = match parse_printed(stdout) {
            PrintedAnswer::Nothing => Self::with_silence(),
            PrintedAnswer::Object(object) => parse_decision(name, &object),
            PrintedAnswer::Garbage(objects) => objects
                .iter()
                .map(|object| parse_decision(name, object))
                .find(|side| side.decision == Decision::Deny)
                .unwrap_or_else(|| {
                    Self::with_failure(name, "answered with something that is not one JSON object")
                }),
        };
        if code != Some(0) && side.decision != Decision::Deny {
            return Self::with_failure(name, "failed");
        }
        side
    }
}

/// The stricter of both, `first` where they are equally strict.
pub(super) fn stricter_payload(first: SideDecision, second: SideDecision) -> Map<String, Value> {
    let winner = if second.decision > first.decision { second } else { first };
    if winner.decision == Decision::None { Map::new() } else { winner.payload }
}

pub(super) fn denial_object(why: &str) -> Map<String, Value> {
    let why = dialect::one_line(why);
    let object = json!({"permissionDecision": "deny", "permissionDecisionReason": why, "message": why});
    object.as_object().cloned().unwrap_or_default()
}

/// The content of a hook's stdout.
#[derive(Debug, PartialEq)]
pub(super) enum PrintedAnswer {
    /// Nothing, or an empty list.
    Nothing,
    /// A single object and nothing else.
    Object(RepeatedKeyJson),
    /// Anything else, with the objects that are found in it: whole lines, and what the text begins with.
    Garbage(Vec<RepeatedKeyJson>),
}

/// Reads a hook's whole stdout.
pub(super) fn parse_printed(stdout: &str) -> PrintedAnswer {
    let stdout = stdout.trim_start_matches('\u{feff}').trim();
    if stdout.is_empty() {
        return PrintedAnswer::Nothing;
    }
    match serde_json::from_str(stdout) {
        Ok(object @ RepeatedKeyJson::Object(_)) => PrintedAnswer::Object(object),
        Ok(RepeatedKeyJson::List(values)) if values.is_empty() => PrintedAnswer::Nothing,
        Ok(_) => PrintedAnswer::Garbage(Vec::new()),
        Err(_) => {
            let begins = serde_json::Deserializer::from_str(stdout).into_iter().map_while(Result::ok);
            let by_line = stdout.lines().filter_map(|line| serde_json::from_str(line).ok());
            PrintedAnswer::Garbage(begins.chain(by_line).collect())
        }
    }
}

/// Parses the decision of an object: the strictest of everything in it, and a deny if a part is not understood.
fn parse_decision(name: &str, object: &RepeatedKeyJson) -> SideDecision {
    let nested: Vec<&RepeatedKeyJson> = object.values_of("hookSpecificOutput").collect();
    let everywhere = || std::iter::once(object).chain(nested.iter().copied());
    let mut decision = Decision::None;
    for value in
        everywhere().flat_map(|part| part.values_of("permissionDecision")).filter(|value| !value.is_null())
    {
        decision = decision.max(match value.as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("allow") => Decision::Allow,
            Some("ask") => Decision::Ask,
            Some("deny") => Decision::Deny,
            _ => {
                return SideDecision::with_failure(
                    name,
                    "decided with a word that is not one of allow, ask and deny",
                );
            }
        });
    }
    let blocks = object.values_of("block").any(|value| {
        is_truthy(&value.to_value()) && !amplihack_sys::sabotage::is_active("copilot-precedence-block")
    }) || object.values_of("decision").any(is_blocking);
    let stops = object.values_of("continue").any(is_stopping);
    if blocks || stops {
        decision = Decision::Deny;
    }
    let changed = match changed_arguments(everywhere()) {
        Ok(changed) => changed,
        Err(()) if decision == Decision::Deny => None,
        Err(()) => {
            return SideDecision::with_failure(
                name,
                "changed the tool's arguments in a way that is not clear",
            );
        }
    };
    if decision == Decision::None {
        return SideDecision { changed, ..SideDecision::with_silence() };
    }
    let reason = denial_reason(object, &nested, stops)
        .filter(|_| !amplihack_sys::sabotage::is_active("copilot-precedence-block-message"))
        .unwrap_or_else(|| match decision {
            Decision::Deny if blocks => BLOCKED.to_owned(),
            _ => format!("the {name} hook gives no reason"),
        });
    let flat = object.get("permissionDecision").and_then(RepeatedKeyJson::as_str).unwrap_or_default();
    let plain = nested.is_empty() && !blocks && !stops && object.repeated_key().is_none();
    let mut payload = if plain && flat == decision.to_string() {
        object.to_object()
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
    SideDecision { decision, payload, changed }
}

/// Other arguments for the tool in these objects; an error if there are several, so that it is not known which a host would take.
fn changed_arguments<'j>(
    parts: impl Iterator<Item = &'j RepeatedKeyJson>,
) -> Result<Option<Map<String, Value>>, ()> {
    let mut found: Vec<&RepeatedKeyJson> = parts
        .flat_map(|part| CHANGED.iter().flat_map(|key| part.values_of(key)))
        .filter(|value| !value.is_null())
        .collect();
    found.dedup();
    match found[..] {
        [] => Ok(None),
        [one @ RepeatedKeyJson::Object(_)] if one.repeated_key().is_none() => Ok(Some(one.to_object())),
        _ => Err(()),
    }
}

/// Reports whether the value of `decision` holds something up.
pub(super) fn is_blocking(word: &RepeatedKeyJson) -> bool {
    let known = |word: &str| ["block", "deny"].iter().any(|known| word.eq_ignore_ascii_case(known));
    word.as_str().is_some_and(known)
}

/// Reports whether the value of `continue` stops the agent. A value that is neither yes nor no counts as no.
pub(super) fn is_stopping(value: &RepeatedKeyJson) -> bool {
    !matches!(value, RepeatedKeyJson::Plain(Value::Null | Value::Bool(true)))
}

fn denial_reason(object: &RepeatedKeyJson, nested: &[&RepeatedKeyJson], stops: bool) -> Option<String> {
    let names = ["permissionDecisionReason", "message", "reason", "stopReason"];
    let names = &names[..if stops { 4 } else { 3 }];
    let texts = names.iter().flat_map(|name| {
        std::iter::once(object).chain(nested.iter().copied()).filter_map(|part| part.get(name)?.as_str())
    });
    texts.map(str::trim).find(|text| !text.is_empty()).map(str::to_owned)
}

/// As the hooks' first language has it: everything but false, null, zero and nothing.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}
