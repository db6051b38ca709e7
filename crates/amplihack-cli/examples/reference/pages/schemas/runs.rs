//! Output about runs: sessions, recipes, unattended work.

use amplihack_agent::event::{Envelope, RunOutcome, UsageTotals};
use amplihack_session::{EndEvidence, RunEnd, RunRecord, RunReport};
use serde_json::{Value, json};

use super::policy::exit_code;
use super::shape::{
    agent, any_of, anything, count, flag, integer, list, map, merged, nullable, number, object, tagged, text,
    time, typed, words,
};

pub(super) fn event() -> Value {
    typed::<Envelope>()
}

/// A line of a journal as the version that ran the session wrote it, which may be another one.
pub(super) fn sessions_tail() -> Value {
    let mut line = object([("seq", count()), ("at", time()), ("type", text())]);
    line["additionalProperties"] = anything();
    line
}

pub(super) fn report() -> Value {
    typed::<RunReport<'_>>()
}

pub(super) fn run() -> Value {
    typed::<RunRecord>()
}

fn usage() -> Value {
    typed::<UsageTotals>()
}

/// The end of a run.
fn end() -> Value {
    typed::<RunEnd>()
}

fn outcome() -> Value {
    typed::<RunOutcome>()
}

fn evidence() -> Value {
    typed::<EndEvidence>()
}

/// A recorded run: `run.json`, its id, and its state.
fn session() -> Value {
    merged(run(), &object([("id", text()), ("state", text())]))
}

pub(super) fn sessions_list() -> Value {
    object([
        ("sessions", list(session())),
        ("unattended?", list(unattended())),
        ("remote?", list(elsewhere())),
    ])
}

pub(super) fn sessions_show() -> Value {
    any_of([session(), unattended()])
}

pub(super) fn sessions_search() -> Value {
    let kinds = ["text", "thinking", "tool_call", "tool_result", "warning"];
    object([("session", text()), ("seq", count()), ("type", words(&kinds)), ("text", text())])
}

pub(super) fn sessions_cost() -> Value {
    let one = object([("id", text()), ("agent", agent()), ("usage", usage())]);
    object([("sessions", list(one)), ("together", usage())])
}

fn phase() -> Value {
    words(&["clarify", "plan", "execute", "go_on", "adjust"])
}

fn verification() -> Value {
    let check = object([("what", text()), ("passed", flag()), ("found?", text())]);
    object([
        ("outcome", words(&["passed", "unproved", "unchanged", "refuted"])),
        ("checks", list(check)),
        ("changed?", flag()),
        ("check_changed?", list(text())),
    ])
}

fn baseline_outcome() -> Value {
    words(&["red", "green", "could_not_run", "skipped"])
}

/// Result of the checks before the first turn.
fn baseline() -> Value {
    let check = object([("command", text()), ("outcome", baseline_outcome()), ("found?", text())]);
    object([("outcome", baseline_outcome()), ("checks", list(check)), ("changed?", list(text()))])
}

fn turn() -> Value {
    let claim = object([
        ("status", words(&["done", "working", "blocked"])),
        ("summary?", text()),
        ("changes?", flag()),
    ]);
    let answer = object([
        ("run", end()),
        ("cut?", flag()),
        ("claim?", claim),
        ("alive", flag()),
        ("resumed", flag()),
        ("denials", count()),
    ]);
    object([
        ("turn", count()),
        ("phase", phase()),
        ("agent", agent()),
        ("launches", list(text())),
        ("started", time()),
        ("answer?", answer),
        ("denied?", list(text())),
        ("verdict?", verification()),
    ])
}

/// An unattended run.
fn unattended() -> Value {
    let tree = object([
        ("repository", text()),
        ("path", text()),
        ("workdir", text()),
        ("branch", text()),
        ("start", text()),
    ]);
    object([
        ("id", text()),
        ("state", text()),
        ("reason", nullable(text())),
        ("end", nullable(end())),
        ("agent", agent()),
        ("directory", text()),
        ("worktree", nullable(tree)),
        ("began", time()),
        ("ended", nullable(time())),
        ("changed", nullable(flag())),
        ("baseline", nullable(baseline())),
        ("limit", nullable(outcome())),
        ("check_changed", list(text())),
        ("turns", list(turn())),
        ("usage", usage()),
        ("diff", nullable(text())),
        ("task", text()),
        ("base", nullable(text())),
        ("stat", nullable(diff_stat())),
        ("files", list(text())),
        ("kept", nullable(text())),
    ])
}

/// The size of a change.
fn diff_stat() -> Value {
    object([("files", count()), ("added", count()), ("removed", count())])
}

/// A session on another machine, as `sessions list` names it.
fn elsewhere() -> Value {
    object([
        ("id", text()),
        ("state", text()),
        ("agent", nullable(agent())),
        ("machine", text()),
        ("task", text()),
        ("began", time()),
        ("ended", nullable(time())),
    ])
}

pub(super) fn sessions_apply() -> Value {
    object([("id", text()), ("checkout", text()), ("files", list(text()))])
}

pub(super) fn sessions_commit() -> Value {
    object([
        ("id", text()),
        ("commit", nullable(text())),
        ("branch", nullable(text())),
        ("stat", nullable(diff_stat())),
    ])
}

pub(super) fn sessions_merge() -> Value {
    object([
        ("id", text()),
        ("commit", text()),
        ("committed", flag()),
        ("into", text()),
        ("checkout", text()),
        ("stat", nullable(diff_stat())),
        ("left", nullable(text())),
    ])
}

pub(super) fn sessions_discard() -> Value {
    object([("id", text()), ("held", nullable(text())), ("undo", nullable(text()))])
}

/// The objects of an unattended run, but for the run's id.
fn progress() -> Vec<Value> {
    let began = [("resumed", flag()), ("directory", text()), ("branch?", text())];
    let turn =
        [("turn", count()), ("of", count()), ("phase", phase()), ("agent", agent()), ("launch", text())];
    let ended = [
        ("end", outcome()),
        ("reason", text()),
        ("evidence", evidence()),
        ("turns", count()),
        ("used", usage()),
        ("denied", list(text())),
        ("changed?", flag()),
        ("baseline?", baseline_outcome()),
        ("limit?", outcome()),
        ("check_changed?", list(text())),
    ];
    let checking = [("turn", count()), ("command", text()), ("limit_seconds", count())];
    vec![
        tagged("began", began),
        tagged("baseline", [("baseline", baseline())]),
        tagged("checking", checking),
        tagged("turn", turn),
        tagged("did", [("what", text())]),
        tagged("used", [("used", usage())]),
        tagged("answered", [("turn", count()), ("how", text())]),
        tagged("notice", [("message", text())]),
        tagged("kept", [("worktree", text()), ("reason", text())]),
        tagged("checked", [("turn", count()), ("verdict", verification())]),
        tagged("ended", ended),
    ]
}

/// The objects of a run, with `keys` that name it.
fn with_run(keys: &Value) -> Vec<Value> {
    progress().into_iter().map(|one| merged(one, keys)).collect()
}

pub(super) fn auto() -> Value {
    json!({ "oneOf": with_run(&object([("run", text())])) })
}

pub(super) fn parallel() -> Value {
    let ended = object([
        ("task", count()),
        ("agent", agent()),
        ("run", text()),
        ("end", outcome()),
        ("reason", text()),
        ("evidence", evidence()),
        ("turns", count()),
        ("used", usage()),
        ("baseline", nullable(baseline_outcome())),
        ("limit", nullable(outcome())),
        ("check_changed", list(text())),
        ("won", flag()),
        ("worktree", nullable(text())),
        ("branch", nullable(text())),
        ("words", text()),
        ("stat", nullable(diff_stat())),
        ("files", list(text())),
        ("check", nullable(words(&["passed", "unproved", "unchanged", "refuted"]))),
        ("kept", nullable(text())),
    ]);
    let failed = object([
        ("task", count()),
        ("words", text()),
        ("agent", agent()),
        ("end", words(&["failed", "not_begun"])),
        ("reason", text()),
        ("error", text()),
        ("won", json!({ "const": false })),
    ]);
    let task = object([("task", count()), ("agent", agent()), ("title", text())]);
    let mut all = with_run(&object([("run", text()), ("task", count()), ("title", text())]));
    all.push(tagged("parallel", [("id", text()), ("tasks", count())]));
    all.push(tagged("tasks", [("tasks", list(task))]));
    let shared = object([("file", text()), ("tasks", list(count()))]);
    all.push(tagged(
        "table",
        [("id", text()), ("runs", list(any_of([ended, failed]))), ("shared", list(shared))],
    ));
    json!({ "oneOf": all })
}

/// The status of a step. The last two come from other runners only.
fn status() -> Value {
    words(&["completed", "skipped", "failed", "degraded", "running", "pending"])
}

/// The definition of a step's result, which holds those of its sub-recipe.
fn step() -> Value {
    let of_agent = object([("agent", text()), ("session?", text()), ("usage", usage()), ("run?", end())]);
    let definition = object([
        ("step_id", text()),
        ("type?", text()),
        ("status", status()),
        ("output", text()),
        ("error", text()),
        ("duration?", number()),
        ("exit_code?", integer()),
        ("signal?", integer()),
        ("skipped_reason?", text()),
        ("attempts?", count()),
        ("warnings?", list(text())),
        ("output_bytes?", count()),
        ("log?", text()),
        ("agent?", of_agent),
        ("json?", flag()),
        ("exact?", text()),
        ("step_results?", list(json!({ "$ref": "#/$defs/Step" }))),
    ]);
    json!({ "$ref": "#/$defs/Step", "$defs": { "Step": definition } })
}

pub(super) fn recipe_run() -> Value {
    let own = object([
        ("schema_version", json!({ "const": 1 })),
        ("run_id", text()),
        ("recipe_name", text()),
        ("success", flag()),
        ("interrupted?", integer()),
        ("step_results", list(step())),
        ("context?", map(anything())),
        ("duration", number()),
        ("usage?", usage()),
        ("bound?", text()),
    ]);
    // Of another runner less is known.
    let foreign = object([
        ("recipe_name", text()),
        ("success", flag()),
        ("step_results", list(step())),
        ("context", map(anything())),
    ]);
    any_of([own, foreign])
}

pub(super) fn recipe_progress() -> Value {
    let at = || object([("path", text()), ("step", text()), ("ts", number())]);
    let start = tagged("recipe_start", [("path", text()), ("recipe", text()), ("ts", number())]);
    let end = [
        ("kind", text()),
        ("status", status()),
        ("duration", nullable(number())),
        ("exit_code", exit_code()),
        ("signal", exit_code()),
        ("error", text()),
        ("output_bytes", count()),
        ("usage", nullable(usage())),
    ];
    json!({ "oneOf": [
        start,
        merged(tagged("step_start", [("kind", text())]), &at()),
        merged(tagged("step_again", [("why", text()), ("pause", nullable(number()))]), &at()),
        merged(tagged("step_session", [("agent", text()), ("session", text())]), &at()),
        merged(tagged("step_warning", [("message", text())]), &at()),
        merged(tagged("step_end", end), &at()),
        tagged("recipe_end", [("path", text()), ("success", flag()), ("ts", number())]),
        tagged("interrupted", [("signal", integer()), ("ts", number())]),
    ] })
}

pub(super) fn recipe_list() -> Value {
    let recipe = object([
        ("name", text()),
        ("path", text()),
        ("bundled", flag()),
        ("description", nullable(text())),
        ("version", nullable(text())),
        ("tags", nullable(list(text()))),
        ("steps", nullable(count())),
        ("error", nullable(text())),
    ]);
    object([("recipes", list(recipe))])
}

pub(super) fn recipe_validate() -> Value {
    object([("recipe", text()), ("valid", flag()), ("errors", list(text())), ("warnings", list(text()))])
}

fn recipe_run_state() -> Value {
    object([
        ("id", text()),
        ("recipe", text()),
        ("path", text()),
        ("cwd", text()),
        ("state", text()),
        ("began", time()),
        ("last", time()),
        ("steps", count()),
        ("failed", count()),
        ("directory", text()),
    ])
}

pub(super) fn recipe_runs_list() -> Value {
    object([("runs", list(recipe_run_state()))])
}

pub(super) fn recipe_runs_show() -> Value {
    let entry = |name: &str, keys: Value| merged(object([("entry", json!({ "const": name }))]), &keys);
    let runner = object([
        ("schema_version", count()),
        ("run_id", text()),
        ("recipe", text()),
        ("name", text()),
        // What the command was given, as it keeps it for a resume.
        ("asked", anything()),
        ("given", anything()),
        ("sources", list(json!({ "type": "array", "prefixItems": [text(), text()], "items": false }))),
        ("cwd", text()),
        ("pid", count()),
        ("start_time", count()),
    ]);
    let launch = object([
        ("path", text()),
        ("name", text()),
        ("what", text()),
        ("again?", text()),
        ("pause?", number()),
    ]);
    let end = object([("path", text()), ("result", step()), ("fatal?", flag()), ("file?", text())]);
    let entries = json!({ "oneOf": [
        entry("runner", runner),
        entry("recipe", object([("path", text()), ("name", text())])),
        entry("begin", object([("path", text()), ("step", text()), ("kind", text())])),
        entry("launch", launch),
        entry("session", object([("path", text()), ("agent", text()), ("session", text())])),
        entry("warning", object([("path", text()), ("message", text())])),
        entry("end", end),
        entry("recipe_end", object([("path", text()), ("success", flag())])),
        entry("interrupted", object([("signal", integer())])),
    ] });
    merged(recipe_run_state(), &object([("entries", list(entries))]))
}
