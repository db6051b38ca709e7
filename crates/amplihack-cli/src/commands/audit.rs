//! `amplihack audit`: the record of what was asked and answered.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use amplihack_policy::Decision;
use amplihack_policy::audit::{DIRECTORY, Entry, Filter, Report, show, verify, verify_files};
use amplihack_utils::env::Env;
use amplihack_utils::error::ExitKind;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::ui::{self, Failure};

/// Commands about the audit.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show the entries, oldest first
    Show(ShowArgs),
    /// Verify the hash chain; exits with 1 if it is broken
    Verify(VerifyArgs),
}

// Options of `audit show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Only since this day (YYYY-MM-DD)
    #[arg(long, value_name = "DATE", value_parser = day)]
    since: Option<jiff::civil::Date>,
    /// Only the newest N
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Only decisions at least this strict
    #[arg(long, value_name = "DECISION")]
    decision: Option<Least>,
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
enum Least {
    /// Every entry
    None,
    /// Allowed by the user's own policy, or stricter
    Allow,
    /// Asked about, or denied
    Ask,
    /// Denied
    Deny,
}

fn day(text: &str) -> Result<jiff::civil::Date, String> {
    text.parse().map_err(|_| "no day; write it as 2026-01-31".to_owned())
}

impl AuditCommand {
    /// Whether errors are told as JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Show(args) => args.json,
            Self::Verify(args) => args.json,
        }
    }
}

impl AuditCommand {
    /// Whether it does nothing but print what there is.
    pub(crate) fn only_prints(&self) -> bool {
        matches!(self, Self::Show(_))
    }
}

/// Runs the command and returns the exit code.
pub(crate) fn run(command: AuditCommand, env: &Env) -> Result<u8, Failure> {
    match command {
        AuditCommand::Show(args) => entries(&args, &logs(env)?),
        AuditCommand::Verify(args) => chain(&args, env),
    }
}

/// Where the audit of this user is.
fn logs(env: &Env) -> Result<PathBuf, Failure> {
    let home = env
        .home()
        .ok_or_else(|| Failure::input("HOME is not an absolute path, so there is no audit; set it"))?;
    Ok(home.join(DIRECTORY))
}

fn entries(args: &ShowArgs, dir: &Path) -> Result<u8, Failure> {
    let decision = args.decision.map(|least| match least {
        Least::None => Decision::None,
        Least::Allow => Decision::Allow,
        Least::Ask => Decision::Ask,
        Least::Deny => Decision::Deny,
    });
    let mut newest = VecDeque::new();
    let mut shown = show(dir, Filter { since: args.since, decision, ..Filter::default() })?;
    for entry in shown.by_ref() {
        newest.push_back(entry?);
        if args.limit.is_some_and(|limit| newest.len() > limit) {
            newest.pop_front();
        }
    }
    if shown.passed_over() > 0 {
        let lines = shown.passed_over();
        ui::note(
            "note",
            format!("{lines} lines are unfinished or of a newer amplihack, and were passed over"),
        );
    }
    if args.json {
        ui::data(&format!("{:#}\n", json!(newest)))?;
    } else {
        if newest.is_empty() {
            ui::note("note", "the audit has no such entry");
        }
        let mut out = String::new();
        for entry in &newest {
            line(&mut out, entry);
        }
        ui::data(&out)?;
    }
    Ok(0)
}

fn line(out: &mut String, entry: &Entry) {
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

fn chain(args: &VerifyArgs, env: &Env) -> Result<u8, Failure> {
    let report = if args.files.is_empty() { verify(&logs(env)?)? } else { verify_files(&args.files)? };
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
        ui::data(&format!("{object:#}\n"))?;
    } else if let Some(broken) = &report.broken {
        return Err(Failure::input(format!("{}:{}: {}", broken.file.display(), broken.line, broken.why)));
    } else {
        ui::data(&whole(&report))?;
    }
    Ok(if report.broken.is_some() { ExitKind::Failed.code() } else { 0 })
}

fn whole(report: &Report) -> String {
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
