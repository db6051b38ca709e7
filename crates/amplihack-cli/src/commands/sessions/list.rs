//! `sessions list`: launches, unattended runs and sessions on other machines, at 80 columns.

use std::path::Path;

use amplihack_config::env::Env;
use amplihack_config::launcher_context::SessionId;
use amplihack_orchestration::journal::AutoRunState;
use amplihack_remote::state::SessionRecord;
use amplihack_remote::{RemoteError, SessionManager};
use amplihack_session::journal::JournaledRun;
use amplihack_sys::push_line;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::auto::first_words;
use super::table::format_cost;
use crate::ui::print_note;

/// The width of a terminal that everybody has.
const WIDTH: usize = 80;

/// The sessions on other machines that the state file knows; that it cannot be read is said, and hides nothing else.
pub(super) fn remote_sessions() -> Vec<SessionRecord> {
    remote_records().unwrap_or_else(|error| {
        print_note("warning", format_args!("sessions on other machines are not shown: {error}"));
        Vec::new()
    })
}

/// The sessions on other machines that the state file knows.
pub(in crate::commands) fn remote_records() -> Result<Vec<SessionRecord>, RemoteError> {
    let manager = SessionManager::new(None)?;
    let sessions = manager.list_sessions(None)?;
    sessions.iter().map(|session| manager.session_record(&session.session_id)).collect()
}

/// All of them for a program.
pub(super) fn list_json(
    runs: &[JournaledRun],
    stories: &[(SessionId, AutoRunState)],
    remote: &[SessionRecord],
) -> Value {
    let mut object = json!({ "sessions": runs.iter().map(super::session_json).collect::<Vec<_>>() });
    if !stories.is_empty() {
        let runs = stories.iter().map(|(id, story)| super::auto::unattended_json(id, story, None));
        object["unattended"] = runs.collect();
    }
    if !remote.is_empty() {
        object["remote"] = remote.iter().map(remote_json).collect();
    }
    object
}

fn remote_json(record: &SessionRecord) -> Value {
    let session = &record.session;
    json!({
        "id": session.session_id,
        "state": session.status.name(),
        "agent": record.agent,
        "machine": session.vm_name,
        "task": session.prompt,
        "began": session.created_at,
        "ended": session.completed_at,
    })
}

/// All of them for a person: a line with id, agent, state, time and cost, then the task, then where the work is.
pub(super) fn list_text(
    runs: &[JournaledRun],
    stories: &[(SessionId, AutoRunState)],
    remote: &[SessionRecord],
    env: &Env,
) -> String {
    if runs.is_empty() && stories.is_empty() && remote.is_empty() {
        return "no run has been recorded yet; run an agent with --output json or --output stream-json\n"
            .to_owned();
    }
    let home = env.home();
    let home = home.as_deref();
    let mut out = String::new();
    let title = |out: &mut String, name: &str| {
        if !out.is_empty() {
            out.push('\n');
        }
        write_line(out, [name, "agent", "state", "began", "cost"]);
    };
    if !runs.is_empty() {
        title(&mut out, "session");
    }
    for run in runs {
        let record = &run.record;
        let (state, began, cost) =
            (record.state_name(), format_time(record.started_at), format_cost(&record.usage));
        write_line(&mut out, [run.id.as_str(), record.agent.name(), state, &began, &cost]);
        let denied = record.end.as_ref().map_or(0, |end| end.denials.denied_rules().len());
        let denied = if denied == 0 { String::new() } else { format!("  {denied} denied") };
        write_detail(&mut out, &format!("{}{denied}", shorten_home(Path::new(&record.cwd), home)));
    }
    if !stories.is_empty() {
        title(&mut out, "unattended run");
    }
    for (id, story) in stories {
        let (began, cost) = (format_time(story.began), format_cost(&story.meter.totals()));
        write_line(&mut out, [id.as_str(), story.agent.name(), story.state_name(), &began, &cost]);
        write_detail(&mut out, &first_words(&story.spec.task, WIDTH - 2));
        // A worktree that was removed has no work to take in, so that its branch is not named.
        let kept = story.worktree.as_ref().filter(|tree| tree.path.is_dir());
        let branch = kept.map(|tree| format!("  {}", tree.branch)).unwrap_or_default();
        write_detail(&mut out, &format!("{}{branch}", shorten_home(&story.spec.cwd, home)));
    }
    if !remote.is_empty() {
        title(&mut out, "remote session");
    }
    for record in remote {
        let session = &record.session;
        let (agent, began) = (record.agent.as_deref().unwrap_or("-"), format_time(session.created_at));
        write_line(&mut out, [&session.session_id, agent, session.status.name(), &began, "-"]);
        write_detail(&mut out, &first_words(&session.prompt, WIDTH - 2));
        write_detail(&mut out, &format!("on {}", session.vm_name));
    }
    out
}

fn write_line(out: &mut String, [id, agent, state, began, cost]: [&str; 5]) {
    let text = format!("{id:<30} {agent:<10} {state:<13} {began:<12} {cost}");
    push_line!(out, "{}", text.trim_end());
}

/// A line that belongs to the one before. The beginning of a long one goes: its end says more.
fn write_detail(out: &mut String, text: &str) {
    let long = text.chars().count().saturating_sub(WIDTH - 2);
    let shown: String = if long > 0 {
        std::iter::once('…').chain(text.chars().skip(long + 1)).collect()
    } else {
        text.to_owned()
    };
    push_line!(out, "  {shown}");
}

/// A time in UTC, as the ids have it, without what everybody knows.
fn format_time(at: Timestamp) -> String {
    at.strftime("%m-%d %H:%MZ").to_string()
}

fn shorten_home(directory: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| directory.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => directory.display().to_string(),
    }
}
