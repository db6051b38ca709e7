//! Where decisions are written down: the audit, and for a launch that wants to know, a file of its denials.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use amplihack_policy::audit::{self, Data, EventType};
use amplihack_policy::{Decision, XpiaSettings};
use amplihack_utils::env::Env;

use crate::event::HookEvent;
use crate::once::Pending;
use crate::plane::{Audit, Entry};

/// The file of a launch's directory that has a line for every denied call: the rule behind it.
const DENIALS: &str = "denials";

/// Bytes of a denials file that are looked at.
const LIMIT: u64 = 64 * 1024;

/// The audit of this user.
#[derive(Debug, Clone)]
pub struct Ledger {
    env: Env,
}

impl Ledger {
    /// The audit of a process with the environment `env`: below `~/.claude/logs/xpia`, and a copy in `XPIA_LOG_FILE`.
    pub fn new(env: &Env) -> Self {
        Self { env: env.clone() }
    }

    /// Writes down that a person let a stopped call through once.
    ///
    /// # Errors
    /// The audit cannot be written.
    pub fn granted(&self, pending: &Pending) -> Result<(), String> {
        let now = jiff::ZonedDateTime::now().datetime();
        let data = Data { command: Some(pending.command.clone()), ..Data::default() };
        let entry = audit::Entry {
            data,
            rule: Some(format!("once/{}", pending.id)),
            cwd: Some(pending.cwd.to_string_lossy().into_owned()),
            ..audit::Entry::new(now, EventType::PolicyChange, Decision::Allow)
        };
        self.append(&entry, now)
    }

    /// To both places, the second also when the first fails.
    fn append(&self, entry: &audit::Entry, now: jiff::civil::DateTime) -> Result<(), String> {
        let append = |audit: Result<audit::Audit, audit::AuditError>| {
            audit.and_then(|mut audit| audit.append(entry)).map_err(|error| error.to_string())
        };
        let usual = match self.env.home() {
            Some(_) if amplihack_utils::sabotage::active("copilot-audit-file") => Ok(()),
            Some(_)
                if entry.decision == Decision::None
                    && amplihack_utils::sabotage::active("copilot-audit-allowed") =>
            {
                Ok(())
            }
            Some(home) => append(audit::Audit::open(&home.join(audit::DIRECTORY), now.date())),
            None => Err("HOME is not an absolute path; set it".to_owned()),
        };
        let copied =
            XpiaSettings::from_env(&self.env).log_file.map_or(Ok(()), |file| append(audit::Audit::at(&file)));
        usual.and(copied)
    }
}

impl Audit for Ledger {
    fn record(&self, entry: &Entry<'_>) -> Result<(), String> {
        // First what a launch waits for: it must not depend on the audit.
        let marked = match entry.launch {
            Some(launch) if is_denial(entry) => mark(launch, entry)
                .map_err(|error| format!("the denial could not be noted in {}: {error}", launch.display())),
            _ => Ok(()),
        };
        let now = jiff::ZonedDateTime::now().datetime();
        let appended = self.append(&line(entry, now), now);
        marked.and(appended)
    }
}

fn is_denial(entry: &Entry<'_>) -> bool {
    entry.event == Some(HookEvent::PreToolUse) && entry.verdict.decision >= Decision::Ask
}

fn mark(launch: &Path, entry: &Entry<'_>) -> io::Result<()> {
    let rule = entry.verdict.rule.as_ref().map_or("?", |rule| &rule.0);
    // The launch made the file: one that is gone is not made again, so that the launch sees that something is missing.
    let mut file = OpenOptions::new().append(true).open(launch.join(DENIALS))?;
    file.write_all(format!("{rule}\n").as_bytes())
}

/// Begins the file of denials in the directory of a launch.
pub(crate) fn expect_denials(launch: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(launch.join(DENIALS)).map(drop)
}

/// The rules behind the calls that were denied in the launch whose directory is `launch`. `None`: the file is gone, and nobody knows.
pub fn denials(launch: &Path) -> Option<Vec<String>> {
    let bytes = amplihack_utils::fs::read_limited(&launch.join(DENIALS), LIMIT).ok()?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

fn line(entry: &Entry<'_>, now: jiff::civil::DateTime) -> audit::Entry {
    let verdict = entry.verdict;
    let decision = verdict.decision;
    let risk = match (verdict.would_be.unwrap_or(decision), entry.event_type) {
        (Decision::None | Decision::Allow, _) => "none",
        (Decision::Ask, _) => "medium",
        (Decision::Deny, EventType::HookError | EventType::RustUnavailable) => "critical",
        (Decision::Deny, _) => "high",
    };
    let failed = matches!(entry.event_type, EventType::HookError | EventType::AgentError);
    let reason = (!verdict.reason.is_empty()).then(|| verdict.reason.clone());
    let call = entry.call;
    let bare = amplihack_utils::sabotage::active("copilot-audit-fields");
    let data = if bare {
        Data::default()
    } else {
        Data {
            command: call.and_then(|call| call.command.clone()),
            is_valid: Some(decision < Decision::Ask),
            risk_level: Some(risk.to_owned()),
            threats: Some(usize::from(decision >= Decision::Ask)),
            session_id: Some(
                call.and_then(|call| call.session.clone()).unwrap_or_else(|| "unknown".to_owned()),
            ),
            tool: call.and_then(|call| call.tool.clone()),
            call_id: call.and_then(|call| call.call_id.clone()),
            error: if failed { reason } else { None },
        }
    };
    audit::Entry {
        data,
        rule: verdict.rule.as_ref().map(ToString::to_string),
        host: call.map(|call| call.host().to_string()),
        cwd: call.map(|call| call.cwd.to_string_lossy().into_owned()),
        duration_us: entry.duration_us,
        ..audit::Entry::new(now, entry.event_type, decision)
    }
}

#[cfg(test)]
mod tests {
    use amplihack_policy::{RuleId, Verdict};

    use super::*;
    use crate::dialect::{Call, Dialect};

    fn record(ledger: &Ledger, verdict: &Verdict, launch: Option<&Path>) -> Result<(), String> {
        let mut call = Call::empty(Dialect::Codex, HookEvent::PreToolUse, Path::new("/w"));
        call.command =
            Some("curl -H 'Authorization: Bearer ghp_Zk3vQ9xT1bN7mWc5RfY2LhPdSe8UaJ4oGi6K'".to_owned());
        call.session = Some("s1".to_owned());
        ledger.record(&Entry {
            event_type: EventType::PreToolValidation,
            event: Some(HookEvent::PreToolUse),
            call: Some(&call),
            verdict,
            launch,
            duration_us: 7,
        })
    }

    fn today(home: &Path) -> std::path::PathBuf {
        let date = jiff::ZonedDateTime::now().date();
        home.join(format!(".claude/logs/xpia/rust_security_{}.log", date.strftime("%Y%m%d")))
    }

    fn deny() -> Verdict {
        Verdict::new(Decision::Deny, RuleId::new("pack/rule"), "why", Vec::new())
    }

    #[test]
    fn a_line_has_the_seeds_fields_and_ours_and_no_secret() {
        let home = tempfile::tempdir().unwrap();
        record(&Ledger::new(&Env::empty().with("HOME", home.path())), &deny(), None).unwrap();
        let text = std::fs::read_to_string(today(home.path())).unwrap();
        let line: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
        assert_eq!((&line["event_type"], &line["backend"]), (&"pre_tool_validation".into(), &"rust".into()));
        assert_eq!((&line["decision"], &line["rule"]), (&"deny".into(), &"pack/rule".into()));
        assert_eq!((&line["data"]["is_valid"], &line["data"]["risk_level"]), (&false.into(), &"high".into()));
        assert_eq!(
            (&line["host"], &line["cwd"], &line["duration_us"]),
            (&"codex".into(), &"/w".into(), &7.into())
        );
        assert!(!text.contains("ghp_Zk3v"), "{text}");
    }

    #[test]
    fn a_launch_learns_of_its_denials_even_when_the_audit_cannot_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(&Env::empty());
        expect_denials(dir.path()).unwrap();
        record(&ledger, &Verdict::none(), Some(dir.path())).unwrap_err();
        assert_eq!(denials(dir.path()), Some(Vec::new()));
        assert!(record(&ledger, &deny(), Some(dir.path())).unwrap_err().contains("HOME"));
        assert_eq!(denials(dir.path()), Some(vec!["pack/rule".to_owned()]));
    }

    #[test]
    fn a_file_of_denials_that_was_removed_is_not_made_again_and_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        expect_denials(dir.path()).unwrap();
        std::fs::remove_file(dir.path().join(DENIALS)).unwrap();
        assert!(record(&Ledger::new(&Env::empty()), &deny(), Some(dir.path())).is_err());
        assert_eq!(denials(dir.path()), None);
    }

    #[test]
    fn a_named_log_file_is_a_second_copy() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("log");
        let env = Env::empty().with("HOME", dir.path()).with("XPIA_LOG_FILE", &file);
        record(&Ledger::new(&env), &deny(), None).unwrap();
        for copy in [file, today(dir.path())] {
            assert!(std::fs::read_to_string(copy).unwrap().contains("pack/rule"));
        }
    }
}
