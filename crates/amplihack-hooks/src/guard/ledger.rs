//! The audit, in which decisions are written down.

use std::path::Path;

use amplihack_audit::{AuditData, AuditEntry, AuditError, AuditLogWriter, EventType};
use amplihack_config::env::Env;
use amplihack_policy::XpiaSettings;
use amplihack_verdict::Decision;

use crate::hook_context::{HookAudit, HookAuditEntry};
use crate::once::{self, PendingCall};

/// The audit of this user.
#[derive(Debug, Clone)]
pub struct AuditLedger {
    env: Env,
}

/// A line that the audit lacks.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// There is no home to keep the audit in.
    #[error("HOME is not an absolute path; set it")]
    NoHome,
    /// The audit's file cannot be written.
    #[error(transparent)]
    Audit(#[from] AuditError),
}

impl AuditLedger {
    /// The audit of a process with the environment `env`: below `~/.claude/logs/xpia`, and a copy in `XPIA_LOG_FILE`.
    pub fn new(env: &Env) -> Self {
        Self { env: env.clone() }
    }

    /// Writes down that a person let a stopped call through once.
    ///
    /// # Errors
    /// The audit cannot be written.
    pub fn record_grant(&self, call: &PendingCall) -> Result<(), LedgerError> {
        let now = jiff::ZonedDateTime::now().datetime();
        let data = AuditData { command: Some(call.command.clone()), ..AuditData::default() };
        let entry = AuditEntry {
            data,
            rule: Some(format!("once/{}", call.id)),
            cwd: Some(call.cwd.clone()),
            ..AuditEntry::new(now, EventType::PolicyChange, Decision::Allow)
        };
        self.append_entry(&entry, now)
    }

    /// Writes down that a file changed which the guard of a running launch stands on, or its policy came from.
    ///
    /// # Errors
    /// The audit cannot be written.
    pub fn record_changed_file(&self, file: &Path) -> Result<(), LedgerError> {
        let now = jiff::ZonedDateTime::now().datetime();
        let error = Some(format!("{} changed while a session ran", file.display()));
        let entry = AuditEntry {
            data: AuditData { error, ..AuditData::default() },
            rule: Some("launch/changed-file".to_owned()),
            ..AuditEntry::new(now, EventType::PolicyChange, Decision::None)
        };
        self.append_entry(&entry, now)
    }

    /// To both places, the second also when the first fails.
    fn append_entry(&self, entry: &AuditEntry, now: jiff::civil::DateTime) -> Result<(), LedgerError> {
        let append = |audit: Result<AuditLogWriter, AuditError>| {
            Ok(audit.and_then(|mut audit| audit.append_entry(entry))?)
        };
        let usual = match self.env.home() {
            Some(_) if amplihack_sys::sabotage::is_active("copilot-audit-file") => Ok(()),
            Some(_)
                if entry.decision == Decision::None
                    && amplihack_sys::sabotage::is_active("copilot-audit-allowed") =>
            {
                Ok(())
            }
            Some(home) => append(AuditLogWriter::open(&home.join(amplihack_audit::DIRECTORY), now.date())),
            None => Err(LedgerError::NoHome),
        };
        let copied = XpiaSettings::from_env(&self.env)
            .log_file
            .map_or(Ok(()), |file| append(AuditLogWriter::open_path(&file)));
        usual.and(copied)
    }
}

impl HookAudit for AuditLedger {
    fn record_entry(&self, entry: &HookAuditEntry<'_>) -> Result<(), String> {
        let now = jiff::ZonedDateTime::now().datetime();
        self.append_entry(&audit_entry(entry, now), now).map_err(|error| error.to_string())
    }
}

fn audit_entry(entry: &HookAuditEntry<'_>, now: jiff::civil::DateTime) -> AuditEntry {
    let verdict = entry.verdict;
    let decision = verdict.decision;
    // A policy that only observes lets a call run: its risk is that of what would have been decided.
    let risk = match (verdict.would_be.unwrap_or(decision), entry.event_type) {
        (Decision::None | Decision::Allow, _) => "none",
        (Decision::Ask, _) => "medium",
        (Decision::Deny, EventType::HookError | EventType::RustUnavailable) => "critical",
        (Decision::Deny, _) => "high",
    };
    let failed = matches!(entry.event_type, EventType::HookError | EventType::AgentError);
    let reason = (!verdict.reason.is_empty()).then(|| verdict.reason.clone());
    let call = entry.call;
    let stopped = decision >= Decision::Ask && !failed;
    let stopped_call = call.filter(|_| stopped).and_then(|call| {
        once::stopped_call(call.command.as_ref()?.as_bytes(), &call.cwd, None)
            .hash
            .get(..8)
            .map(str::to_owned)
    });
    let bare = amplihack_sys::sabotage::is_active("copilot-audit-fields");
    let data = if bare {
        AuditData::default()
    } else {
        AuditData {
            command: call.and_then(|call| call.command.clone()),
            is_valid: Some(decision < Decision::Ask),
            risk_level: Some(risk.to_owned()),
            threats: Some(usize::from(decision >= Decision::Ask)),
            session_id: Some(
                call.and_then(|call| call.session.clone()).unwrap_or_else(|| "unknown".to_owned()),
            ),
            tool: call.and_then(|call| call.tool.clone()),
            call_id: call.and_then(|call| call.call_id.clone()),
            reason: reason
                .as_deref()
                .filter(|_| stopped)
                // The hint is for whoever reads the answer at once; an entry that is read later has the id beside it.
                .map(|reason| reason.strip_suffix(super::ALLOW_ONCE).unwrap_or(reason).to_owned()),
            stopped_call,
            error: if failed { reason } else { None },
        }
    };
    AuditEntry {
        data,
        rule: verdict.rule.as_ref().map(ToString::to_string),
        host: call.map(|call| call.host_agent().to_string()),
        cwd: call.map(|call| call.cwd.to_string_lossy().into_owned()),
        duration_us: entry.duration_us,
        ..AuditEntry::new(now, entry.event_type, decision)
    }
}

#[cfg(test)]
mod tests {
    use amplihack_verdict::{RuleId, Verdict};

    use super::*;
    use crate::dialect::{HookCall, HookDialect};
    use crate::event::HookEvent;

    fn record(ledger: &AuditLedger, verdict: &Verdict) -> Result<(), String> {
        let mut call = HookCall::new(HookDialect::Codex, HookEvent::PreToolUse, Path::new("/w"));
        call.command =
            Some("curl -H 'Authorization: Bearer ghp_Zk3vQ9xT1bN7mWc5RfY2LhPdSe8UaJ4oGi6K'".to_owned());
        call.session = Some("s1".to_owned());
        ledger.record_entry(&HookAuditEntry {
            event_type: EventType::PreToolValidation,
            event: Some(HookEvent::PreToolUse),
            call: Some(&call),
            verdict,
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
        record(&AuditLedger::new(&Env::empty().with_variable("HOME", home.path())), &deny()).unwrap();
        let text = std::fs::read_to_string(today(home.path())).unwrap();
        let line: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
        assert_eq!((&line["event_type"], &line["backend"]), (&"pre_tool_validation".into(), &"rust".into()));
        assert_eq!((&line["decision"], &line["rule"]), (&"deny".into(), &"pack/rule".into()));
        assert_eq!(line["data"]["reason"], "why");
        assert_eq!(line["data"]["stopped_call"].as_str().map(str::len), Some(8), "{line}");
        assert_eq!((&line["data"]["is_valid"], &line["data"]["risk_level"]), (&false.into(), &"high".into()));
        assert_eq!(
            (&line["host"], &line["cwd"], &line["duration_us"]),
            (&"codex".into(), &"/w".into(), &7.into())
        );
        assert!(!text.contains("ghp_Zk3v"), "{text}");
    }

    #[test]
    fn a_named_log_file_is_a_second_copy() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("log");
        let env = Env::empty().with_variable("HOME", dir.path()).with_variable("XPIA_LOG_FILE", &file);
        record(&AuditLedger::new(&env), &deny()).unwrap();
        for copy in [file, today(dir.path())] {
            assert!(std::fs::read_to_string(copy).unwrap().contains("pack/rule"));
        }
    }
}
