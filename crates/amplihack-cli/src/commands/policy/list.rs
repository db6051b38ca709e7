//! `amplihack policy list`: the rules in force.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use amplihack_hooks::guard;
use amplihack_policy::policy::Mode;
use amplihack_policy::rules;
use amplihack_policy::{Policy, RuleId};
use amplihack_utils::env::Env;
use serde_json::{Value, json};

use crate::commands::current_dir;
use crate::ui::{self, Failure};

/// Prints every rule, and what files switch off or ask for in vain.
pub(crate) fn run(as_json: bool, env: &Env) -> Result<u8, Failure> {
    let policy = guard::policy(env, &current_dir()?, None)?;
    ui::data(&if as_json { format!("{:#}\n", object(&policy)) } else { text(&policy) })?;
    Ok(0)
}

fn mode(policy: &Policy) -> &'static str {
    match policy.mode() {
        Mode::Standard => "standard",
        Mode::Strict => "strict",
        Mode::Observe => "observe",
    }
}

fn text(policy: &Policy) -> String {
    let disabled: BTreeSet<&RuleId> = policy.disabled().collect();
    let mut out = format!("mode: {}\n", mode(policy));
    let mut pack = None;
    for rule in rules::all() {
        if pack.replace(rule.pack) != Some(rule.pack) {
            let _ = writeln!(out, "\n{}", rule.pack);
        }
        let off = if disabled.contains(&rule.id) { "  (switched off by the user)" } else { "" };
        let _ = writeln!(out, "  {:<4} {}: {}{off}", rule.decision.to_string(), rule.id, rule.harm);
    }
    let mut users = policy.users().peekable();
    if users.peek().is_some() {
        out.push_str("\nuser\n");
    }
    for rule in users {
        let reason = if rule.reason.is_empty() { "the user's own rule" } else { rule.reason };
        let _ = writeln!(out, "  {:<5} {}: {reason}", rule.decision.to_string(), rule.id);
    }
    for ignored in policy.ignored() {
        let _ = writeln!(out, "\nignored: {} in {}: {}", ignored.what, ignored.file.display(), ignored.why);
    }
    out
}

fn object(policy: &Policy) -> Value {
    let disabled: BTreeSet<&RuleId> = policy.disabled().collect();
    let built_in = rules::all().map(|rule| {
        json!({
            "id": rule.id.to_string(),
            "pack": rule.pack.name(),
            "decision": rule.decision.to_string(),
            "harm": rule.harm,
            "enabled": !disabled.contains(&rule.id),
        })
    });
    let users = policy.users().map(|rule| {
        json!({
            "id": rule.id.to_string(),
            "decision": rule.decision.to_string(),
            "program": rule.programs,
            "args": rule.args,
            "paths": rule.paths,
            "hosts": rule.hosts,
            "reason": rule.reason,
        })
    });
    let ignored = policy.ignored().iter();
    json!({
        "mode": mode(policy),
        "rules": built_in.collect::<Vec<_>>(),
        "user_rules": users.collect::<Vec<_>>(),
        "disabled": disabled.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "ignored": ignored
            .map(|ignored| json!({ "file": ignored.file, "what": ignored.what, "why": ignored.why }))
            .collect::<Vec<_>>(),
    })
}
