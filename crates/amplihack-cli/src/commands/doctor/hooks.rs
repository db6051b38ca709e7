//! Report of `doctor` about hooks.

use amplihack_agent::AgentBinary;
use amplihack_config::env::Env;
use amplihack_hooks::coverage::unasked_tools;
use amplihack_setup::doctor::{AgentHooks, TIME_OUT};
use amplihack_setup::install::{AgentRegistration, RegistrationState, TrustState, display_path};
use amplihack_sys::push_line;
use serde_json::{Value, json};

/// A block for each agent.
pub(super) fn as_text(hooks: &[AgentHooks], env: &Env) -> String {
    let mut out = String::new();
    for hooks in hooks {
        hooks_text(&mut out, hooks, env);
    }
    push_line!(out, "  {TIME_OUT}");
    out
}

/// Returns the report about hooks as JSON.
pub(super) fn as_json(hooks: &[AgentHooks]) -> Value {
    let agents = hooks.iter().map(|hooks| {
        let registrations = hooks.registrations.iter();
        json!({
            "agent": hooks.agent.name(),
            "guarded_launches": hooks.no_guard.is_none() && hooks.refused.is_none(),
            "unasked_tools": unasked_json(hooks),
            "why_not": hooks.refused.as_ref().or(hooks.no_guard.as_ref()),
            "registrations": registrations.map(|one| state_json(hooks.agent, one)).collect::<Vec<_>>(),
        })
    });
    json!({"agents": agents.collect::<Vec<_>>(), "note": TIME_OUT})
}

/// The tools whose calls never ask the guard, with why they can do no harm.
fn unasked_json(hooks: &AgentHooks) -> Vec<Value> {
    let tools = unasked_tools(hooks.agent).filter(|_| hooks.no_guard.is_none());
    tools.map(|(tool, why)| json!({"name": tool, "harmless": why})).collect()
}

fn hooks_text(out: &mut String, hooks: &AgentHooks, env: &Env) {
    push_line!(out, "  {}", hooks.agent);
    match &hooks.no_guard {
        _ if let Some(why) = &hooks.refused => push_line!(out, "    launch: every launch is refused; {why}"),
        None => push_line!(out, "    launch: every launch carries the guard"),
        Some(why) => push_line!(out, "    launch: no guard; {why}"),
    }
    if hooks.no_guard.is_none() {
        for (tool, why) in unasked_tools(hooks.agent) {
            push_line!(out, "    never asks the guard: {tool}; {why}");
        }
    }
    for registration in &hooks.registrations {
        let (scope, path) = (registration.scope.name(), display_path(&registration.path, env));
        push_line!(out, "    {scope}: {}, {path}", state_text(&registration.state));
    }
}

fn state_text(state: &RegistrationState) -> String {
    match state {
        RegistrationState::Absent => "not registered".to_owned(),
        RegistrationState::Rules(count) => format!("{count} permission rules"),
        RegistrationState::Registered { program, trust, fault } => {
            let mut text = "registered".to_owned();
            match program {
                Some(program) => text.extend([" with ", &program.display().to_string()]),
                None => text.push_str(" with wrappers that look for it"),
            }
            text.push_str(match trust {
                Some(TrustState::Trusted) => ", trusted",
                Some(TrustState::Untrusted) => ", not trusted",
                Some(TrustState::Changed) => ", changed since it was trusted",
                Some(TrustState::Disabled) => ", switched off",
                None => "",
            });
            text.push_str(if fault.is_some() { ", does not hold" } else { ", holds" });
            text
        }
        _ => "broken".to_owned(),
    }
}

fn state_json(agent: AgentBinary, registration: &AgentRegistration) -> Value {
    let name = match &registration.state {
        RegistrationState::Absent => "absent",
        RegistrationState::Rules(_) => "rules",
        RegistrationState::Unreadable(_) => "unreadable",
        RegistrationState::Incomplete(_) => "incomplete",
        RegistrationState::Off(_) => "off",
        RegistrationState::Stale(_) => "stale",
        RegistrationState::Registered { fault: None, .. } => "holds",
        _ => "does_not_hold",
    };
    let (program, trust) = match &registration.state {
        RegistrationState::Registered { program, trust, .. } => (program.as_ref(), *trust),
        RegistrationState::Stale(program) => (Some(program), None),
        _ => (None, None),
    };
    json!({
        "scope": registration.scope.name(),
        "path": registration.path,
        "state": name,
        "program": program,
        "trusted": trust.map(|trust| trust == TrustState::Trusted),
        "fault": registration.state.describe_fault(agent),
    })
}
