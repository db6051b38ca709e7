//! `amplihack audit`: the record of what was asked and answered.

use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_audit::{
    AuditEntry, AuditFilter, ChainReport, DIRECTORY, NewestEntries, read_newest, verify_files, verify_logs,
};
use amplihack_config::env::Env;
use amplihack_hooks::once;
use amplihack_hooks::once::PendingCall;
use amplihack_sys::error::ExitKind;
use amplihack_sys::{push_line, push_text};
use amplihack_verdict::Decision;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::ui::{self, CommandFailure, TonedPart};

/// Entries that `--follow` shows first.
const FOLLOWED: usize = 10;
/// The time between two looks at the log.
const FOLLOW_PAUSE: Duration = Duration::from_millis(200);

/// Commands about the audit.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show the entries, oldest first
    Show(AuditShowArgs),
    /// Verify the hash chain; exits with 1 if it is broken
    Verify(VerifyArgs),
}

// Options of `audit show`.
#[derive(Debug, Args)]
pub(crate) struct AuditShowArgs {
    /// Only since this day (YYYY-MM-DD)
    #[arg(long, value_name = "DATE", value_parser = parse_date)]
    since: Option<jiff::civil::Date>,
    /// Only the newest N; with --follow 10 by default
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Keep running, and show each new entry as it is written; with --json, an object per line
    #[arg(long)]
    follow: bool,
    /// Only decisions at least this strict
    #[arg(long, value_name = "DECISION")]
    decision: Option<LeastDecision>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

// Options of `audit verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Logs, oldest first; default: all of them
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A decision, in the order of strictness.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum LeastDecision {
    /// Every entry
    None,
    /// Allowed by the user's own policy, or stricter
    Allow,
    /// Asked about, or denied
    Ask,
    /// Denied
    Deny,
}

fn parse_date(text: &str) -> Result<jiff::civil::Date, String> {
    text.parse().map_err(|_| "not a date; example: 2026-01-31".to_owned())
}

impl AuditCommand {
    /// Reports whether errors are shown as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Show(args) => args.json,
            Self::Verify(args) => args.json,
        }
    }
}

impl AuditCommand {
    /// Reports whether the command only prints what there is.
    pub(crate) fn only_prints(&self) -> bool {
        matches!(self, Self::Show(_))
    }
}

/// Runs the command and returns the exit code.
pub(crate) fn run_audit_command(command: AuditCommand, env: &Env) -> Result<u8, CommandFailure> {
    match command {
        AuditCommand::Show(args) => show_entries(&args, &audit_directory(env)?, env),
        AuditCommand::Verify(args) => verify_chain(&args, env),
    }
}

/// Returns the directory of this user's audit.
fn audit_directory(env: &Env) -> Result<PathBuf, CommandFailure> {
    let home = env
        .home()
        .ok_or_else(|| CommandFailure::bad_input("there is no audit log: HOME is not an absolute path"))?;
    Ok(home.join(DIRECTORY))
}

fn show_entries(args: &AuditShowArgs, dir: &Path, env: &Env) -> Result<u8, CommandFailure> {
    let decision = args.decision.map(|least| match least {
        LeastDecision::None => Decision::None,
        LeastDecision::Allow => Decision::Allow,
        LeastDecision::Ask => Decision::Ask,
        LeastDecision::Deny => Decision::Deny,
    });
    let filter = AuditFilter { since: args.since, decision, ..AuditFilter::default() };
    let limit = args.limit.unwrap_or(if args.follow { FOLLOWED } else { usize::MAX });
    let NewestEntries { entries, passed_over, mut tail } = read_newest(dir, filter, limit)?;
    if passed_over > 0 {
        ui::print_note(
            "note",
            format!(
                "{passed_over} lines are incomplete or were written by a newer amplihack, and were skipped"
            ),
        );
    }
    let ids = AllowableCalls::list(env);
    if args.follow {
        print_entries(&entries, &ids, args.json)?;
        loop {
            ui::wait_while_read(FOLLOW_PAUSE)?;
            let entries = tail.read_appended()?;
            if !entries.is_empty() {
                print_entries(&entries, &AllowableCalls::list(env), args.json)?;
            }
        }
    }
    if args.json {
        let list: Vec<Value> = entries.iter().map(|entry| ids.entry_json(entry)).collect();
        ui::print_data(&format!("{:#}\n", json!(list)))?;
    } else {
        if entries.is_empty() {
            ui::print_note("note", "no audit entry matches");
        }
        print_entries(&entries, &ids, false)?;
    }
    Ok(0)
}

/// Prints entries as they come: lines for people, or a JSON object a line.
fn print_entries(entries: &[AuditEntry], ids: &AllowableCalls, json: bool) -> Result<(), CommandFailure> {
    let mut out = String::new();
    for entry in entries {
        if json {
            push_line!(out, "{}", ids.entry_json(entry));
        } else {
            write_entry_lines(&mut out, entry, ids);
        }
    }
    if json { ui::print_data(&out) } else { ui::print_report(&out, entry_tone) }
}

/// The decision, behind the time.
fn entry_tone(line: &str) -> TonedPart {
    let time = "0000-00-00 00:00:00 ".len();
    let word = line.get(time..)?.split(' ').next()?;
    Some((time..time + word.len(), ui::decision_tone(word)?))
}

/// The stopped calls that the user can allow now.
struct AllowableCalls(Vec<PendingCall>);

impl AllowableCalls {
    /// Asks the running launches. Inside an agent's session, and where none runs, there are none.
    fn list(env: &Env) -> Self {
        let calls = if once::session_mark(env).is_some() { None } else { once::pending_calls(env).ok() };
        Self(calls.unwrap_or_default().into_iter().map(|(_, call)| call).collect())
    }

    /// The id of the call that `entry` records.
    fn find_id(&self, entry: &AuditEntry) -> Option<&str> {
        let beginning = entry.data.stopped_call.as_deref()?;
        let calls = self.0.iter().map(|call| call.id.as_str());
        calls.into_iter().find(|id| id.split_once('-').is_some_and(|(hash, _)| hash == beginning))
    }

    fn entry_json(&self, entry: &AuditEntry) -> Value {
        let mut object = json!(entry);
        if let Some(id) = self.find_id(entry) {
            object["allow_once"] = id.into();
        }
        object
    }
}

fn write_entry_lines(out: &mut String, entry: &AuditEntry, ids: &AllowableCalls) {
    let data = &entry.data;
    push_text!(out, "{} {:<5}", entry.timestamp.strftime("%Y-%m-%d %H:%M:%S"), entry.decision.to_string());
    for part in [&entry.rule, &entry.host, &data.tool].into_iter().flatten() {
        push_text!(out, " {}", part.escape_debug());
    }
    if let Some(command) = data.command.as_ref().or(data.error.as_ref()) {
        push_text!(out, ": {}", command.escape_debug());
    }
    if let Some(cwd) = &entry.cwd {
        push_text!(out, " (in {})", cwd.escape_debug());
    }
    out.push('\n');
    if let Some(reason) = &data.reason {
        push_line!(out, "    reason: {}", reason.escape_debug());
    }
    if let Some(id) = ids.find_id(entry) {
        push_line!(out, "    to allow it once: amplihack policy allow-once {id}");
    }
}

fn verify_chain(args: &VerifyArgs, env: &Env) -> Result<u8, CommandFailure> {
    let report =
        if args.files.is_empty() { verify_logs(&audit_directory(env)?)? } else { verify_files(&args.files)? };
    if args.json {
        let broken = report.broken.as_ref();
        let broken =
            broken.map(|broken| json!({ "file": broken.file, "line": broken.line, "why": broken.why }));
        let object = json!({
            "whole": report.broken.is_none(),
            "files": report.files,
            "lines": report.lines,
            "torn": report.torn,
            "unlinked": report.unlinked,
            "unchained": report.unchained,
            "pruned": report.pruned,
            "broken": broken,
        });
        ui::print_data(&format!("{object:#}\n"))?;
    } else if let Some(broken) = &report.broken {
        return Err(CommandFailure::bad_input(format!(
            "{}:{}: {}",
            broken.file.display(),
            broken.line,
            broken.why
        )));
    } else {
        ui::print_data(&intact_chain_text(&report))?;
    }
    Ok(if report.broken.is_some() { ExitKind::Failed.code() } else { 0 })
}

fn intact_chain_text(report: &ChainReport) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let mut out =
        format!("{}, {}: the chain is intact\n", count(report.files, "file"), count(report.lines, "line"));
    if report.torn > 0 {
        push_line!(out, "{} left unfinished by a writer that was ended", count(report.torn, "line"));
    }
    if report.unlinked > 0 {
        push_line!(
            out,
            "{} written without waiting for the lock: nothing shows what stood before",
            count(report.unlinked, "line")
        );
    }
    if report.unchained > 0 {
        push_line!(
            out,
            "{} of the predecessor before the chain: nothing shows that they are as they were",
            count(report.unchained, "line")
        );
    }
    if report.pruned {
        out.push_str("the oldest file continues one that is missing here\n");
    }
    out
}
