//! `amplihack audit`: the record of what was asked and answered.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use amplihack_audit::{
    AuditEntry, AuditFilter, ChainReport, DIRECTORY, read_entries, verify_files, verify_logs,
};
use amplihack_config::env::Env;
use amplihack_sys::error::ExitKind;
use amplihack_verdict::Decision;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::ui::{self, CommandFailure};

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
    /// Only the newest N
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
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
    text.parse().map_err(|_| "no day; write it as 2026-01-31".to_owned())
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
        AuditCommand::Show(args) => show_entries(&args, &audit_directory(env)?),
        AuditCommand::Verify(args) => verify_chain(&args, env),
    }
}

/// Returns the directory of this user's audit.
fn audit_directory(env: &Env) -> Result<PathBuf, CommandFailure> {
    let home = env.home().ok_or_else(|| {
        CommandFailure::bad_input("HOME is not an absolute path, so there is no audit; set it")
    })?;
    Ok(home.join(DIRECTORY))
}

fn show_entries(args: &AuditShowArgs, dir: &Path) -> Result<u8, CommandFailure> {
    let decision = args.decision.map(|least| match least {
        LeastDecision::None => Decision::None,
        LeastDecision::Allow => Decision::Allow,
        LeastDecision::Ask => Decision::Ask,
        LeastDecision::Deny => Decision::Deny,
    });
    let mut newest = VecDeque::new();
    let mut shown = read_entries(dir, AuditFilter { since: args.since, decision, ..AuditFilter::default() })?;
    for entry in shown.by_ref() {
        newest.push_back(entry?);
        if args.limit.is_some_and(|limit| newest.len() > limit) {
            newest.pop_front();
        }
    }
    if shown.passed_over() > 0 {
        let lines = shown.passed_over();
        ui::print_note(
            "note",
            format!("{lines} lines are unfinished or of a newer amplihack, and were passed over"),
        );
    }
    if args.json {
        ui::print_data(&format!("{:#}\n", json!(newest)))?;
    } else {
        if newest.is_empty() {
            ui::print_note("note", "the audit has no such entry");
        }
        let mut out = String::new();
        for entry in &newest {
            write_entry_line(&mut out, entry);
        }
        ui::print_data(&out)?;
    }
    Ok(0)
}

fn write_entry_line(out: &mut String, entry: &AuditEntry) {
    let data = &entry.data;
    let _ =
        write!(out, "{} {:<5}", entry.timestamp.strftime("%Y-%m-%d %H:%M:%S"), entry.decision.to_string());
    for part in [&entry.rule, &entry.host, &data.tool].into_iter().flatten() {
        let _ = write!(out, " {}", part.escape_debug());
    }
    if let Some(command) = data.command.as_ref().or(data.error.as_ref()) {
        let _ = write!(out, ": {}", command.escape_debug());
    }
    if let Some(cwd) = &entry.cwd {
        let _ = write!(out, " (in {})", cwd.escape_debug());
    }
    out.push('\n');
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
        let _ = writeln!(out, "{} left unfinished by a writer that was ended", count(report.torn, "line"));
    }
    if report.unlinked > 0 {
        let _ = writeln!(
            out,
            "{} written without waiting for the lock: nothing shows what stood before",
            count(report.unlinked, "line")
        );
    }
    if report.unchained > 0 {
        let _ = writeln!(
            out,
            "{} of the predecessor before the chain: nothing shows that they are as they were",
            count(report.unchained, "line")
        );
    }
    if report.pruned {
        out.push_str("the oldest file continues one that is not here\n");
    }
    out
}
