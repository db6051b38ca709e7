//! Output about sessions on other machines.

use amplihack_agent::event::RunOutcome;
use amplihack_remote::{Backend, CommandMode, SessionStatus};
use serde_json::Value;

use super::policy::{exit_code, failure};
use super::shape::{
    any_of, count, flag, integer, list, map, merged, nullable, object, text, time, typed, words,
};

fn session() -> Value {
    object([
        ("session_id", text()),
        ("vm_name", text()),
        ("workspace", text()),
        ("tmux_session", text()),
        ("prompt", text()),
        ("command", words(&CommandMode::ALL.map(CommandMode::name))),
        ("max_turns", count()),
        ("status", words(&SessionStatus::ALL.map(SessionStatus::name))),
        ("memory_mb", nullable(count())),
        ("created_at", time()),
        ("started_at", nullable(time())),
        ("completed_at", nullable(time())),
        ("exit_code", exit_code()),
    ])
}

fn summary() -> Value {
    object([
        ("branches", list(text())),
        ("commits", count()),
        ("files_changed", count()),
        ("conflicts", list(text())),
    ])
}

pub(super) fn exec() -> Value {
    object([("exit_code", integer()), ("summary", nullable(summary())), ("vm_name", nullable(text()))])
}

pub(super) fn start() -> Value {
    let started = object([("prompt", text()), ("session", session())]);
    let failed = object([("prompt", text()), ("error", failure())]);
    object([("sessions", list(any_of([started, failed]))), ("started", count()), ("failed", count())])
}

pub(super) fn list_sessions() -> Value {
    let more = object([
        ("end", nullable(typed::<RunOutcome>())),
        ("condition", nullable(words(&["unreachable", "lost"]))),
        ("backend", nullable(words(&Backend::ALL.map(Backend::name)))),
    ]);
    list(merged(session(), &more))
}

pub(super) fn output() -> Value {
    object([("session", session()), ("output", text())])
}

pub(super) fn kill() -> Value {
    object([
        ("session", session()),
        ("remote_kill_attempted", flag()),
        ("remote_kill_succeeded", flag()),
        ("capacity_released", flag()),
    ])
}

fn machine() -> Value {
    object([
        ("name", text()),
        ("size", text()),
        ("region", text()),
        ("capacity", count()),
        ("active_sessions", count()),
        ("available_capacity", count()),
    ])
}

pub(super) fn status() -> Value {
    let pool = object([
        ("total_vms", count()),
        ("total_capacity", count()),
        ("active_sessions", count()),
        ("available_capacity", count()),
        ("vms", list(machine())),
    ]);
    let sessions = object([
        ("running", count()),
        ("completed", count()),
        ("failed", count()),
        ("killed", count()),
        ("pending", count()),
    ]);
    object([("pool", pool), ("sessions", sessions), ("total_sessions", count())])
}

pub(super) fn wait() -> Value {
    object([("sessions", list(session())), ("timed_out", flag())])
}

pub(super) fn pull() -> Value {
    object([("session_id", text()), ("summary", nullable(summary()))])
}

pub(super) fn pool_list() -> Value {
    list(machine())
}

pub(super) fn pool_drain() -> Value {
    object([("vm", text()), ("draining", flag())])
}

pub(super) fn pool_gc() -> Value {
    object([("released", list(text())), ("kept", map(text())), ("failed", map(text()))])
}

pub(super) fn doctor() -> Value {
    list(object([("host", text()), ("facts", list(text())), ("problems", list(text()))]))
}
