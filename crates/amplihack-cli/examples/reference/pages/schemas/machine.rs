//! Output about this machine: which agent, what is installed, what is configured.

use serde_json::Value;

use super::shape::{
    agent, any_of, anything, count, flag, integer, list, map, nullable, object, text, time, words,
};

/// The places that an answer about the active agent comes from.
fn source() -> Value {
    words(&["environment", "runtime_root", "context_file", "stale_cache", "default"])
}

pub(super) fn which() -> Value {
    object([
        ("agent", agent()),
        ("source", source()),
        ("file", nullable(text())),
        ("session", nullable(text())),
    ])
}

pub(super) fn doctor() -> Value {
    let channel = object([
        ("agent", agent()),
        ("capabilities", list(text())),
        ("note", text()),
        ("effective_for_long_prompt", text()),
        ("warning", nullable(text())),
        ("launch_rejects_explicit_tempfile_and_stdin", flag()),
    ]);
    let leg = object([("leg", text()), ("held", nullable(flag())), ("detail", text())]);
    let found = object([
        ("agent", agent()),
        ("found", serde_json::json!({ "const": true })),
        ("path", text()),
        ("version", nullable(text())),
        ("proved", flag()),
        ("probed_here_at", nullable(time())),
        ("refuted_here", list(text())),
        ("guard_here", list(leg)),
    ]);
    let missing =
        object([("agent", agent()), ("found", serde_json::json!({ "const": false })), ("hint", text())]);
    let states = ["absent", "rules", "unreadable", "incomplete", "off", "stale", "holds", "does_not_hold"];
    let registration = object([
        ("scope", words(&["user", "repo"])),
        ("path", text()),
        ("state", words(&states)),
        ("program", nullable(text())),
        ("trusted", nullable(flag())),
        ("fault", nullable(text())),
    ]);
    let hooks = object([
        ("agent", agent()),
        ("guarded_launches", flag()),
        ("unasked_tools", list(object([("name", text()), ("harmless", text())]))),
        ("why_not", nullable(text())),
        ("registrations", list(registration)),
    ]);
    object([
        (
            "prompt_delivery",
            object([("requested", text()), ("auto_threshold_bytes", count()), ("agents", list(channel))]),
        ),
        ("active_agent", object([("agent", agent()), ("source", source()), ("file", nullable(text()))])),
        ("agents", list(any_of([found, missing]))),
        ("hooks", object([("agents", list(hooks)), ("note", text())])),
        ("tools", list(object([("name", text()), ("version", nullable(text()))]))),
        ("broken", list(text())),
    ])
}

pub(super) fn install() -> Value {
    let outcomes = ["written", "unchanged", "restored", "stripped", "removed", "kept"];
    let file = object([("path", text()), ("outcome", words(&outcomes))]);
    let of_agent = object([("agent", agent()), ("files", list(file)), ("notes", list(text()))]);
    let answer = || object([("stopped", flag()), ("code", nullable(integer())), ("object", anything())]);
    let event = object([
        ("event", text()),
        ("command", text()),
        ("harmless", answer()),
        ("forbidden", nullable(answer())),
        ("fault", nullable(text())),
    ]);
    let verified = object([("agent", agent()), ("events", list(event))]);
    object([("agents", list(of_agent)), ("verified?", list(verified))])
}

pub(super) fn config_show() -> Value {
    let layers = ["built_in", "system", "user", "repository", "environment", "command_line"];
    list(object([("key", text()), ("value", text()), ("layer", words(&layers)), ("origin", text())]))
}

pub(super) fn copilot_normalize() -> Value {
    list(text())
}

pub(super) fn amp_permissions_test() -> Value {
    let rule = object([
        ("tool", text()),
        ("matches?", anything()),
        ("action", text()),
        ("context?", text()),
        ("to?", text()),
        ("message?", text()),
    ]);
    let decided = object([
        ("tool", text()),
        ("arguments", map(anything())),
        ("context?", text()),
        ("action", nullable(words(&["allow", "reject", "ask", "delegate"]))),
        ("matchedEntry?", rule),
        ("matchIndex?", count()),
        ("source?", words(&["user", "built-in"])),
        ("error?", text()),
    ]);
    let issue = object([("path", text()), ("message", text()), ("code", text())]);
    let refused = object([
        ("tool", text()),
        ("arguments", map(anything())),
        ("context?", text()),
        ("success", serde_json::json!({ "const": false })),
        ("error", text()),
        ("details", list(issue)),
    ]);
    any_of([decided, refused])
}
