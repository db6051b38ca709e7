//! Output of the policy: verdicts, rules, the audit, the hooks' answers.

use std::collections::BTreeSet;

use amplihack_policy::rules;
use serde_json::{Value, json};

use super::shape::{
    any_of, anything, count, flag, integer, list, map, merged, nullable, number, object, text, time, words,
};

fn decision() -> Value {
    words(&["none", "allow", "ask", "deny"])
}

fn span() -> Value {
    object([("start", count()), ("end", count())])
}

fn verdict(commands: Value) -> Value {
    object([
        ("verdict", decision()),
        ("rule", nullable(text())),
        ("reason", text()),
        ("commands", list(commands)),
    ])
}

pub(super) fn check() -> Value {
    verdict(list(text()))
}

pub(super) fn check_batch() -> Value {
    any_of([check(), object([("error", text()), ("line", count())])])
}

pub(super) fn explain() -> Value {
    let command =
        object([("words", list(text())), ("via", list(text())), ("dir", nullable(text())), ("span", span())]);
    let hit = object([
        ("decision", decision()),
        ("rule", nullable(text())),
        ("reason", text()),
        ("spans", list(span())),
    ]);
    let more = object([("would_be", nullable(decision())), ("hits", list(hit)), ("undecided", list(text()))]);
    merged(verdict(command), &more)
}

pub(super) fn test() -> Value {
    let miss = object([("line", count()), ("command", text()), ("expected", text()), ("got", text())]);
    object([
        ("rows", count()),
        ("harmful", count()),
        ("stopped", count()),
        ("harmless", count()),
        ("false_positives", count()),
        ("misses", list(miss)),
    ])
}

pub(super) fn list_rules() -> Value {
    let packs: BTreeSet<&str> = rules::builtin_rules().map(|rule| rule.pack.name()).collect();
    let rule = object([
        ("id", text()),
        ("pack", words(&packs.into_iter().collect::<Vec<_>>())),
        ("decision", decision()),
        ("harm", text()),
        ("enabled", flag()),
    ]);
    let users = object([
        ("id", text()),
        ("decision", decision()),
        ("program", list(text())),
        ("args", list(text())),
        ("paths", list(text())),
        ("hosts", list(text())),
        ("reason", text()),
    ]);
    let ignored = object([("file", text()), ("what", text()), ("why", text())]);
    object([
        ("mode", words(&["standard", "strict", "observe"])),
        ("rules", list(rule)),
        ("user_rules", list(users)),
        ("disabled", list(text())),
        ("ignored", list(ignored)),
    ])
}

pub(super) fn export() -> Value {
    let rule = object([("pattern", text()), ("decision", decision()), ("rule", text())]);
    object([
        ("agent", super::shape::agent()),
        ("place", text()),
        ("text", text()),
        ("rules", list(rule)),
        ("gaps", object([("harmful", count()), ("missed", count()), ("percent", number())])),
    ])
}

pub(super) fn audit_show() -> Value {
    let events = [
        "pre_tool_validation",
        "hook_error",
        "rust_unavailable",
        "agent_error",
        "session_start",
        "content_scan",
        "policy_change",
    ];
    let data = object([
        ("command?", text()),
        ("is_valid?", flag()),
        ("risk_level?", words(&["none", "low", "medium", "high", "critical"])),
        ("threats?", count()),
        ("session_id?", text()),
        ("tool?", text()),
        ("call_id?", text()),
        ("reason?", text()),
        ("stopped_call?", text()),
        ("error?", text()),
    ]);
    // Local time has no zone, so it is no `date-time`.
    list(object([
        ("timestamp", text()),
        ("event_type", words(&events)),
        ("data", data),
        ("decision", decision()),
        ("rule", nullable(text())),
        ("host", nullable(text())),
        ("cwd", nullable(text())),
        ("duration_us", count()),
        ("allow_once?", text()),
    ]))
}

pub(super) fn audit_verify() -> Value {
    let broken = object([("file", text()), ("line", count()), ("why", text())]);
    object([
        ("whole", flag()),
        ("files", count()),
        ("lines", count()),
        ("torn", count()),
        ("unlinked", count()),
        ("unchained", count()),
        ("pruned", flag()),
        ("broken", nullable(broken)),
    ])
}

/// The answers of a hook: the hosts' own forms. What a user's own hook answered is handed on with whatever it holds.
pub(super) fn hook() -> Value {
    let decided = words(&["allow", "ask", "deny"]);
    let known = [
        ("permissionDecision", decided.clone()),
        ("permissionDecisionReason", text()),
        ("message", text()),
        ("decision", text()),
        ("reason", text()),
        ("additionalContext", text()),
        (
            "hookSpecificOutput",
            json!({
                "type": "object",
                "properties": {
                    "hookEventName": text(),
                    "permissionDecision": decided,
                    "permissionDecisionReason": text(),
                    "additionalContext": text(),
                },
            }),
        ),
    ];
    let properties: serde_json::Map<String, Value> =
        known.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    json!({ "type": "object", "properties": properties })
}

fn risk() -> Value {
    words(&["none", "low", "medium", "high", "critical"])
}

/// The defender's answer that nothing can be told.
fn unknown() -> Value {
    object([
        ("error", json!({ "const": true })),
        ("message", text()),
        ("is_valid", json!({ "const": false })),
        ("risk_level", json!({ "const": "critical" })),
    ])
}

pub(super) fn defend() -> Value {
    let threat = object([
        ("threat_type", text()),
        ("severity", risk()),
        ("description", text()),
        ("location", nullable(span())),
        ("mitigation", text()),
    ]);
    let metadata = object([
        ("backend", json!({ "const": "rust" })),
        ("version", text()),
        ("validated", words(&["bash", "content", "webfetch", "agent"])),
        ("source", text()),
        ("source_agent?", text()),
        ("target_agent?", text()),
        ("decision?", decision()),
        ("would_be?", decision()),
        ("rule?", nullable(text())),
    ]);
    let answer = object([
        ("is_valid", flag()),
        ("risk_level", risk()),
        ("threats", list(threat)),
        ("recommendations", list(text())),
        ("metadata", metadata),
        ("timestamp", time()),
    ]);
    any_of([answer, unknown()])
}

pub(super) fn defend_health() -> Value {
    let health = object([
        ("status", json!({ "const": "healthy" })),
        ("backend", json!({ "const": "rust" })),
        ("version", text()),
        ("rules", count()),
    ]);
    any_of([health, unknown()])
}

pub(super) fn defend_patterns() -> Value {
    let rule =
        object([("id", text()), ("category", text()), ("decision", decision()), ("description", text())]);
    any_of([list(rule), unknown()])
}

pub(super) fn defend_config() -> Value {
    let config = object([
        ("mode", words(&["standard", "strict", "observe"])),
        ("enabled", flag()),
        ("security_level", text()),
        ("block_high_risk", flag()),
        ("log_file", nullable(text())),
        ("blacklist_domains", list(text())),
        ("whitelist_domains", list(text())),
    ]);
    any_of([config, unknown()])
}

/// The object that is printed instead when a command fails.
pub(super) fn error() -> Value {
    object([("error", failure())])
}

/// A failure: its kind, its words, what to do, and the facts.
pub(super) fn failure() -> Value {
    object([("kind", text()), ("message", text()), ("hint", nullable(text())), ("context", map(text()))])
}

/// Traces in OpenTelemetry's own form, which is not ours to close.
pub(super) fn otel() -> Value {
    json!({
        "type": "object",
        "properties": { "resourceSpans": list(anything()) },
        "required": ["resourceSpans"],
    })
}

/// A process's exit code.
pub(super) fn exit_code() -> Value {
    nullable(integer())
}
