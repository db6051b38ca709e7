//! A policy of one rule, an audit that remembers, and a plane of both.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use amplihack_config::env::Env;
use amplihack_hooks::dialect::{HookReply, PayloadError};
use amplihack_hooks::{
    HookAction, HookAudit, HookAuditEntry, HookContext, HookEvent, HookInvocation, HookJudge, events,
};
use amplihack_policy::Event;
use amplihack_verdict::{Decision, RuleId, Verdict};
use serde_json::Value;

/// Denies what would remove everything, asks for `sudo`, and finds instructions in content.
pub(crate) struct OneRule;

impl HookJudge for OneRule {
    fn adds_reminder(&self, _cwd: &Path) -> bool {
        true
    }

    fn judge(&self, event: &Event<'_>) -> Verdict {
        let said = |decision| Verdict::new(decision, RuleId::new("test/one"), "it would do harm", Vec::new());
        match event {
            Event::Shell { script, .. } => {
                let script = String::from_utf8_lossy(script);
                if script.contains("rm -rf /") {
                    said(Decision::Deny)
                } else if script.contains("sudo") {
                    said(Decision::Ask)
                } else {
                    Verdict::no_objection()
                }
            }
            Event::Write { path, .. } if path.starts_with("/etc") => said(Decision::Deny),
            Event::Fetch { url, .. } if url.contains("169.254.169.254") => said(Decision::Deny),
            Event::Content { text, .. } if text.contains("ignore all previous") => said(Decision::Deny),
            _ => Verdict::no_objection(),
        }
    }
}

/// Remembers the types of its entries, or fails.
#[derive(Default)]
pub(crate) struct Remembers {
    pub(crate) types: RefCell<Vec<String>>,
    pub(crate) fails: bool,
}

impl HookAudit for Remembers {
    fn record_entry(&self, entry: &HookAuditEntry<'_>) -> Result<(), String> {
        if self.fails {
            return Err("no space".to_owned());
        }
        self.types
            .borrow_mut()
            .push(serde_json::to_value(entry.event_type).unwrap().as_str().unwrap().to_owned());
        Ok(())
    }
}

pub(crate) fn plane<'a>(audit: &'a Remembers, env: &'a Env, cwd: &'a Path) -> HookContext<'a> {
    HookContext {
        judge: &OneRule,
        audit,
        env,
        cwd,
        launch: None,
        now: SystemTime::now(),
        started: Instant::now(),
    }
}

/// Answers an event as the binary would, for a registration that names nothing.
pub(crate) fn answer(event: HookEvent, payload: impl Into<Vec<u8>>, env: &Env, cwd: &Path) -> HookReply {
    let invocation = HookInvocation::new(HookAction::Event(event));
    let payload: Result<Vec<u8>, PayloadError> = Ok(payload.into());
    events::answer_event(event, &invocation, payload, &plane(&Remembers::default(), env, cwd))
}

pub(crate) fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

/// The rows of a file of cases.
pub(crate) fn rows(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(cases().join(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn object(reply: &HookReply) -> Value {
    if reply.stdout.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(&reply.stdout).unwrap()
}
