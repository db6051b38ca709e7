//! `amplihack install`: the guard for sessions that are started without amplihack.

use std::path::Path;

use amplihack_agent::AgentBinary;
use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_hooks::HookError;
use amplihack_hooks::export::export_policy;
use amplihack_hooks::guard::load_policy;
use amplihack_launcher::own_program;
use amplihack_setup::install::{
    InstallReport, InstallRequest, InstallScope, RegistrationError, RegistrationTrial, TrialAnswer,
    display_path, found_agents, install_hooks, try_out,
};
use amplihack_sys::push_line;
use serde_json::{Value, json};

use crate::cli::{InstallArgs, ScopeArg};
use crate::commands::current_dir;
use crate::ui::{self, CommandFailure};

/// Installs, tells what became of each file, and with `--verify` what each registered command answers.
pub(crate) fn run_install(args: &InstallArgs, env: &Env) -> Result<u8, CommandFailure> {
    let cwd = current_dir()?;
    let config = LayeredConfig::load(env, &cwd, &[])?;
    super::config::show_warnings(&config);
    let scope = resolve_scope(args.scope, &cwd, env)?;
    let agents = if args.agent.is_empty() { found_agents(env, &config)? } else { args.agent.clone() };
    let program = own_program()
        .map_err(|error| CommandFailure::from_io_error("the guard's program could not be found", &error))?;
    let rules = if agents.contains(&AgentBinary::Amp) { amp_rules(env, &cwd, &config)? } else { Vec::new() };
    let request =
        InstallRequest { scope: scope.clone(), program, policy: Some(config.policy().to_owned()), rules };
    let done = install_hooks(&agents, &request, env)?;
    // One agent that cannot be verified leaves the others their verification.
    let (mut trials, mut failed, mut untried) = (Vec::new(), None, Vec::new());
    for agent in agents.iter().filter(|_| args.verify) {
        match try_out(*agent, &scope, env, &cwd) {
            Ok(tried) => trials.push((*agent, tried)),
            Err(RegistrationError::Hooks(why @ HookError::NoHooks { .. })) => untried.push(why),
            Err(error) => {
                // The first failure is the command's.
                let _ = failed.get_or_insert(error);
            }
        }
    }
    if args.json {
        let mut object = as_json(&done);
        if args.verify {
            object["verified"] = trials.iter().map(|(agent, trials)| trials_json(*agent, trials)).collect();
        }
        ui::print_data(&format!("{object:#}\n"))?;
    } else {
        ui::print_data(&(as_text(&done, env) + &trials_text(&trials)))?;
    }
    let fault = |(agent, trials): &(AgentBinary, Vec<RegistrationTrial>)| {
        trials
            .iter()
            .find_map(RegistrationTrial::describe_fault)
            .map(|why| RegistrationError::Unheld { agent: *agent, why })
    };
    if let Some(error) = trials.iter().find_map(fault).or(failed) {
        return Err(error.into());
    }
    // Where nothing was verified, the command did not do what it was asked for.
    if trials.is_empty() && !untried.is_empty() {
        return Err(RegistrationError::Hooks(untried.remove(0)).into());
    }
    for why in untried {
        ui::print_note("note", format!("not verified: {why}"));
    }
    Ok(0)
}

/// The policy as Amp's permission rules.
fn amp_rules(env: &Env, cwd: &Path, config: &LayeredConfig) -> Result<Vec<Value>, CommandFailure> {
    let policy = load_policy(env, cwd, Some(config.policy()))?;
    let rules = export_policy(&policy, AgentBinary::Amp)?.rules;
    Ok(rules.iter().filter_map(|rule| serde_json::from_str(&rule.pattern).ok()).collect())
}

/// The scope that a word of the command line means here.
pub(super) fn resolve_scope(
    word: ScopeArg,
    cwd: &Path,
    env: &Env,
) -> Result<InstallScope, RegistrationError> {
    match word {
        ScopeArg::User => Ok(InstallScope::User),
        ScopeArg::Repo => InstallScope::from_directory(cwd, env),
    }
}

/// Every agent with its files.
pub(super) fn as_text(done: &[InstallReport], env: &Env) -> String {
    let mut out = String::new();
    for done in done {
        push_line!(out, "{}", done.agent);
        for (path, outcome) in &done.files {
            push_line!(out, "  {}: {}", outcome.name(), display_path(path, env));
        }
        for note in &done.notes {
            push_line!(out, "  note: {note}");
        }
        if done.files.is_empty() && done.notes.is_empty() {
            push_line!(out, "  nothing was installed");
        }
    }
    out
}

/// Returns the result of an installation as JSON.
pub(super) fn as_json(done: &[InstallReport]) -> Value {
    let files = |done: &InstallReport| -> Vec<Value> {
        let one = |(path, outcome): &(std::path::PathBuf, amplihack_setup::install::FileOutcome)| json!({"path": path, "outcome": outcome.name()});
        done.files.iter().map(one).collect()
    };
    json!({
        "agents": done.iter().map(|done| json!({
            "agent": done.agent.name(),
            "files": files(done),
            "notes": done.notes,
        })).collect::<Vec<_>>(),
    })
}

fn trials_text(trials: &[(AgentBinary, Vec<RegistrationTrial>)]) -> String {
    let mut out = String::new();
    for (agent, trials) in trials.iter().filter(|(_, trials)| !trials.is_empty()) {
        push_line!(out, "\n{agent} answers");
        for trial in trials {
            match &trial.forbidden {
                Some(forbidden) => push_line!(
                    out,
                    "  {}: harmless call {}, forbidden call {}",
                    trial.event,
                    answer_word(&trial.harmless),
                    answer_word(forbidden)
                ),
                None if trial.harmless.object.is_null() => {
                    push_line!(out, "  {}: nothing to say", trial.event);
                }
                None => push_line!(out, "  {}: {}", trial.event, shorten_json(&trial.harmless.object)),
            }
        }
    }
    out
}

/// An answer on one line; words for the model can be many.
fn shorten_json(object: &Value) -> String {
    const WIDTH: usize = 100;
    let text = object.to_string();
    if text.chars().count() <= WIDTH { text } else { text.chars().take(WIDTH).chain(['…']).collect() }
}

fn answer_word(answer: &TrialAnswer) -> &'static str {
    if answer.stopped { "stopped" } else { "runs" }
}

fn trials_json(agent: AgentBinary, trials: &[RegistrationTrial]) -> Value {
    let answer = |answer: &TrialAnswer| json!({"stopped": answer.stopped, "code": answer.code, "object": answer.object});
    json!({
        "agent": agent.name(),
        "events": trials.iter().map(|trial| json!({
            "event": trial.event.name(),
            "command": trial.command,
            "harmless": answer(&trial.harmless),
            "forbidden": trial.forbidden.as_ref().map(answer),
            "fault": trial.describe_fault(),
        })).collect::<Vec<_>>(),
    })
}
