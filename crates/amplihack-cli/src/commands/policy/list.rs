//! `amplihack policy list`: the rules in force.

use std::collections::BTreeSet;

use amplihack_config::env::Env;
use amplihack_hooks::guard;
use amplihack_policy::Policy;
use amplihack_policy::policy::PolicyMode;
use amplihack_policy::rules;
use amplihack_sys::push_line;
use amplihack_verdict::RuleId;
use serde_json::{Value, json};

use crate::commands::current_dir;
use crate::ui::{self, CommandFailure, TonedPart};

/// Prints every rule, and what files switch off or ask for in vain.
pub(crate) fn list_rules(as_json: bool, env: &Env) -> Result<u8, CommandFailure> {
    let policy = guard::load_policy(env, &current_dir()?, None)?;
    if as_json {
        ui::print_data(&format!("{:#}\n", rules_json(&policy)))?;
    } else {
        ui::print_report(&rules_text(&policy), rule_tone)?;
    }
    Ok(0)
}

/// The decision of a rule, at the beginning of its line.
fn rule_tone(line: &str) -> TonedPart {
    let word = line.strip_prefix("  ")?.split(' ').next()?;
    Some((2..2 + word.len(), ui::decision_tone(word)?))
}

fn mode_name(policy: &Policy) -> &'static str {
    match policy.mode() {
        PolicyMode::Standard => "standard",
        PolicyMode::Strict => "strict",
        PolicyMode::Observe => "observe",
    }
}

fn rules_text(policy: &Policy) -> String {
    let disabled: BTreeSet<&RuleId> = policy.disabled_rules().collect();
    let mut out = format!("mode: {}\n", mode_name(policy));
    let mut pack = None;
    for rule in rules::builtin_rules() {
        if pack.replace(rule.pack) != Some(rule.pack) {
            push_line!(out, "\n{}", rule.pack);
        }
        let off = if disabled.contains(&rule.id) { "  (switched off by the user)" } else { "" };
        push_line!(out, "  {:<4} {}: {}{off}", rule.decision.to_string(), rule.id, rule.harm);
    }
    let mut users = policy.user_rules().peekable();
    if users.peek().is_some() {
        out.push_str("\nuser\n");
    }
    for rule in users {
        let reason = if rule.reason.is_empty() { "the user's own rule" } else { rule.reason };
        push_line!(out, "  {:<5} {}: {reason}", rule.decision.to_string(), rule.id);
    }
    for ignored in policy.ignored_requests() {
        push_line!(out, "\nignored: {} in {}: {}", ignored.what, ignored.file.display(), ignored.why);
    }
    out
}

fn rules_json(policy: &Policy) -> Value {
    let disabled: BTreeSet<&RuleId> = policy.disabled_rules().collect();
    let built_in = rules::builtin_rules().map(|rule| {
        json!({
            "id": rule.id.to_string(),
            "pack": rule.pack.name(),
            "decision": rule.decision.to_string(),
            "harm": rule.harm,
            "enabled": !disabled.contains(&rule.id),
        })
    });
    let users = policy.user_rules().map(|rule| {
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
    let ignored = policy.ignored_requests().iter();
    json!({
        "mode": mode_name(policy),
        "rules": built_in.collect::<Vec<_>>(),
        "user_rules": users.collect::<Vec<_>>(),
        "disabled": disabled.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "ignored": ignored
            .map(|ignored| json!({ "file": ignored.file, "what": ignored.what, "why": ignored.why }))
            .collect::<Vec<_>>(),
    })
}
