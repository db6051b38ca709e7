//! Output of `amplihack remote` for people.

use std::borrow::Cow;
use std::io::{self, Write as _};

use amplihack_agent::RunOutcome;
use amplihack_export::make_visible;
use amplihack_remote::{
    HostReport, IntegrationSummary, KillResult, ListRow, PoolVm, RemoteStatus, Session, SessionStatus,
    StartReport, SweepReport, WorkflowResult,
};
use amplihack_secrets::redact_credentials;
use amplihack_sys::{push_line, push_text};
use jiff::Timestamp;

use crate::ui;

/// Columns of the table of sessions, where the terminal has them.
const WIDTH: usize = 120;
/// Maximum number of characters of a prompt that are shown.
const PROMPT: usize = 50;

/// The sessions as a table.
pub(super) fn session_table(rows: &[ListRow], now: Timestamp) -> String {
    if rows.is_empty() {
        return "No remote sessions found.\n".to_owned();
    }
    // On a narrow terminal the machines' column is as wide as it has to be, and prompts get what is left.
    let width = ui::stdout_width().filter(|width| *width < WIDTH);
    let machines = rows.iter().map(|row| row.session.vm_name.chars().count()).max().unwrap_or_default();
    let machines = if width.is_some() { machines.clamp(2, 30) + 2 } else { 32 };
    let room = width.map_or(PROMPT, |width| width.saturating_sub(48 + machines).clamp(10, PROMPT));
    let mut text = format!(
        "{:<30}{:<machines$}{:<10}{:<8}PROMPT\n{}\n",
        "SESSION",
        "VM",
        "STATUS",
        "AGE",
        "-".repeat(width.unwrap_or(WIDTH))
    );
    for row in rows {
        let session = &row.session;
        let condition = row.condition.map(|condition| format!("({condition}) ")).unwrap_or_default();
        push_line!(
            text,
            "{:<30}{:<machines$}{:<10}{:<8}{condition}{}",
            session.session_id,
            session.vm_name,
            session.status,
            format_age(session.created_at, now),
            shorten_text(&session.prompt, room),
        );
    }
    push_line!(text, "\nTotal: {} session(s)", rows.len());
    text
}

/// Returns the time since `then`, in minutes or hours.
fn format_age(then: Timestamp, now: Timestamp) -> String {
    let minutes = now.duration_since(then).as_secs().max(0) / 60;
    if minutes < 60 { format!("{minutes}m") } else { format!("{}h", minutes / 60) }
}

/// The beginning of a prompt, on one line, without what a terminal would obey.
pub(super) fn shorten_prompt(prompt: &str) -> String {
    shorten_text(prompt, PROMPT)
}

fn shorten_text(prompt: &str, most: usize) -> String {
    let clean: String = prompt.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let clean = clean.trim();
    match clean.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &clean[..end]),
        None => clean.to_owned(),
    }
}

/// Prints the facts that a command that changes something, or `--refresh`, would bring up to date.
pub(super) fn note_unsettled(texts: &[String]) {
    for text in texts {
        ui::print_note("note", text);
    }
    if !texts.is_empty() {
        ui::print_note("hint", "ask the machines: amplihack remote list --refresh");
    }
}

/// Renders the sessions that were started.
pub(super) fn started_sessions(started: &StartReport) -> String {
    let good: Vec<&Session> = started.rows.iter().filter_map(|row| row.outcome.as_ref().ok()).collect();
    if good.is_empty() {
        return String::new();
    }
    let mut text = format!("Successfully started {} session(s):\n", good.len());
    for session in good {
        push_line!(text, "  - {}", session.session_id);
    }
    text + "\nUse 'amplihack remote output <session-id>' to view progress\n"
}

/// Renders the result of `exec`.
pub(super) fn exec_result(result: &WorkflowResult) -> String {
    let mut text = String::new();
    if let Some(vm) = &result.vm_name {
        push_line!(text, "VM: {vm}");
    }
    if let Some(summary) = &result.summary {
        text += &change_counts(summary);
    }
    text
}

/// Renders the changes that `pull` brought home.
pub(super) fn pull_summary(session: &str, summary: Option<&IntegrationSummary>) -> String {
    let Some(summary) = summary else { return "Nothing was changed in this session.\n".to_owned() };
    let mut text = change_counts(summary);
    for branch in &summary.branches {
        push_line!(text, "  {}", amplihack_remote::results::merge_command(session, branch));
    }
    text
}

fn change_counts(summary: &IntegrationSummary) -> String {
    let mut text = format!(
        "Branches: {}\nCommits: {}\nFiles changed: {}\n",
        summary.branches.len(),
        summary.commits,
        summary.files_changed
    );
    if !summary.conflicts.is_empty() {
        push_line!(text, "Conflicts: {}", summary.conflicts.len());
        for file in &summary.conflicts {
            push_line!(text, "  {file}");
        }
    }
    text
}

/// A session's log.
pub(super) fn session_log(session: &Session, text: &str) -> String {
    format!(
        "=== Session: {} ===\nStatus: {}\nVM: {}\nPrompt: {}\n{}\n{text}",
        session.session_id,
        session.status,
        session.vm_name,
        shorten_prompt(&session.prompt),
        "=".repeat(80),
    )
}

/// Renders the result of a kill: only a session whose end its machine reports is called terminated.
pub(super) fn kill_result(killed: &KillResult) -> String {
    let Session { session_id: id, status, vm_name, .. } = &killed.session;
    match (killed.remote_kill_succeeded, killed.remote_kill_attempted) {
        // It ended by itself, before the kill or meanwhile.
        _ if matches!(status, SessionStatus::Completed | SessionStatus::Failed)
            && (killed.remote_kill_succeeded || !killed.remote_kill_attempted) =>
        {
            format!("Session '{id}' had already ended: {status}.\n")
        }
        (true, _) => format!("Session '{id}' has been terminated.\n"),
        (false, true) => format!("Session '{id}' is recorded as {status}.\n"),
        (false, false) if vm_name.is_empty() => {
            format!("Session '{id}' is recorded as {status}; it was on no machine.\n")
        }
        (false, false) => format!("Session '{id}' is recorded as {status}; {vm_name} was not asked.\n"),
    }
}

/// The end of a session in one line: its status, its exit code and, where that says more, the outcome of its run.
pub(super) fn session_end(session: &Session) -> String {
    let code = session.exit_code.map(|code| format!(" {code}")).unwrap_or_default();
    let outcome = session.run_end().map(|end| end.outcome());
    let outcome = match outcome {
        Some(outcome @ (RunOutcome::Denied | RunOutcome::Budget)) => format!(" ({outcome})"),
        _ => String::new(),
    };
    format!("{} {}{code}{outcome}\n", session.session_id, session.status)
}

/// The exit code of a command that stands for a session.
pub(super) fn session_exit_code(session: &Session) -> u8 {
    session.run_end().map_or(1, |end| match (end.is_success(), session.exit_code) {
        (true, _) => 0,
        (false, Some(code)) if code != 0 => clamp_exit_code(code),
        _ => 1,
    })
}

/// An exit code as this process's own: what is no success does not become one.
pub(super) fn clamp_exit_code(code: i32) -> u8 {
    match u8::try_from(code & 0xff) {
        Ok(0) | Err(_) if code != 0 => 1,
        Ok(low) => low,
        Err(_) => 1,
    }
}

/// The sums.
pub(super) fn pool_status(status: &RemoteStatus) -> String {
    let RemoteStatus { pool, sessions, total_sessions } = status;
    let mut text = format!("=== Remote Session Pool Status ===\n\nVMs: {} total\n", pool.total_vms);
    text += &machines_in_short(&pool.vms);
    push_text!(
        text,
        "\nSessions: {total_sessions} total\n  Running: {}\n  Completed: {}\n  Failed: {}\n  Killed: {}\n  Pending: {}\n",
        sessions.running,
        sessions.completed,
        sessions.failed,
        sessions.killed,
        sessions.pending
    );
    text
}

fn machines_in_short(vms: &[PoolVm]) -> String {
    let mut text = String::new();
    for vm in vms {
        let place: Vec<&str> =
            [vm.size.as_str(), vm.region.as_str()].into_iter().filter(|word| !word.is_empty()).collect();
        let place = if place.is_empty() { String::new() } else { format!(" ({})", place.join(", ")) };
        let percent = (vm.active_sessions * 100).checked_div(vm.capacity).unwrap_or(0);
        push_line!(text, "  {}{place}", vm.name);
        push_line!(text, "    Sessions: {}/{} ({percent}% capacity)", vm.active_sessions, vm.capacity);
    }
    text
}

/// The machines.
pub(super) fn machine_list(vms: &[PoolVm]) -> String {
    if vms.is_empty() { "No machines.\n".to_owned() } else { machines_in_short(vms) }
}

/// Renders the result of `pool gc`.
pub(super) fn swept_machines(swept: &SweepReport, dry_run: bool) -> String {
    let mut text = String::new();
    let done = if dry_run { "would be given back" } else { "was given back" };
    for vm in &swept.released {
        push_line!(text, "{vm} {done}.");
    }
    for (vm, why) in &swept.kept {
        push_line!(text, "{vm} is kept: {why}.");
    }
    for (vm, why) in &swept.failed {
        push_line!(text, "{vm} is still there: {why}.");
    }
    if text.is_empty() { "No machine is idle.\n".to_owned() } else { text }
}

/// Renders the equipment of the machines.
pub(super) fn doctor_reports(reports: &[HostReport]) -> String {
    if reports.is_empty() {
        return "No machines: name some in hosts.toml, or choose another --backend.\n".to_owned();
    }
    let mut text = String::new();
    for report in reports {
        push_line!(text, "{}: {}", report.host, if report.is_ready() { "ready" } else { "not ready" });
        for fact in &report.facts {
            push_line!(text, "  {fact}");
        }
        for problem in &report.problems {
            push_line!(text, "  problem: {problem}");
        }
    }
    text
}

/// `text` with keys masked, unless it shall be as it is.
pub(super) fn mask_keys(text: &str, raw: bool) -> String {
    if raw { text.to_owned() } else { redact_credentials(text).into_owned() }
}

/// `text` with its colours, and without anything else that a terminal would obey, unless it shall be as it is.
pub(super) fn strip_controls(text: &str, raw: bool) -> Cow<'_, str> {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if raw || !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(obeyed) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let kept = color_sequence_length(from);
        let end = if kept > 0 { kept } else { from.chars().next().map_or(0, char::len_utf8) };
        let (sign, after) = from.split_at(end);
        out.push_str(&if kept > 0 { sign.to_owned() } else { make_visible(sign) });
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The length of the sequence that `text` begins with, if it sets colours.
fn color_sequence_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\x1b[") else { return 0 };
    let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, ';' | ':')).unwrap_or(rest.len());
    if rest.as_bytes().get(end) == Some(&b'm') { end + 3 } else { 0 }
}

/// Writes bytes of an agent to stdout.
fn write_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Shows a log as it comes, whole lines at a time so that a key in two pieces is seen; `raw` shows it at once and to the byte.
pub(super) struct LogMask {
    raw: bool,
    rest: Vec<u8>,
}

/// A line that is longer is shown in pieces.
const LINE: usize = 64 * 1024;

impl LogMask {
    /// Masks keys, or shows all as it is.
    pub(super) fn new(raw: bool) -> Self {
        Self { raw, rest: Vec::new() }
    }

    /// Shows the lines that are whole now.
    pub(super) fn show_bytes(&mut self, new: &[u8]) -> io::Result<()> {
        if self.raw {
            return write_bytes(new);
        }
        self.rest.extend_from_slice(new);
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let end = if end == 0 && self.rest.len() > LINE { self.rest.len() } else { end };
        let lines: Vec<u8> = self.rest.drain(..end).collect();
        write_masked(&lines)
    }

    /// Shows what is left without a line's end.
    pub(super) fn show_rest(&mut self) -> io::Result<()> {
        write_masked(&std::mem::take(&mut self.rest))
    }
}

fn write_masked(lines: &[u8]) -> io::Result<()> {
    match str::from_utf8(lines) {
        Ok(text) => write_bytes(strip_controls(&redact_credentials(text), false).as_bytes()),
        // What is no text is shown as it is where nothing is in it that a terminal would obey, nor a key.
        Err(_) if has_no_controls(lines) && amplihack_secrets::find_credentials(lines).is_empty() => {
            write_bytes(lines)
        }
        Err(_) => write_bytes(
            strip_controls(&redact_credentials(&String::from_utf8_lossy(lines)), false).as_bytes(),
        ),
    }
}

/// Reports whether bytes have no controls; those beyond ASCII count, which some terminals obey.
fn has_no_controls(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| !matches!(byte, 0..=8 | 11 | 12 | 14..=31 | 127..=159))
}

#[cfg(test)]
mod tests;
