//! `amplihack install`: the guard for sessions that are started without amplihack.

use std::fmt::Write;
use std::path::Path;

use amplihack_agent::AgentBinary;
use amplihack_hooks::export::export;
use amplihack_hooks::guard::policy;
use amplihack_launcher::install::{
    Answer, Done, InstallError, Request, Scope, Trial, found, install, shown, try_out,
};
use amplihack_launcher::own_program;
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use serde_json::{Value, json};

use crate::cli::{InstallArgs, ScopeArg};
use crate::commands::current_dir;
use crate::ui::{self, Failure};

/// Installs, tells what became of each file, and with `--verify` what each registered command answers.
pub(crate) fn run(args: &InstallArgs, env: &Env) -> Result<u8, Failure> {
    let cwd = current_dir()?;
    let config = Config::load(env, &cwd, &[])?;
    super::config::show_warnings(&config);
    let scope = scope(args.scope, &cwd)?;
    let agents = if args.agent.is_empty() { found(env, &config)? } else { args.agent.clone() };
    let program =
        own_program().map_err(|error| Failure::system("the guard's program could not be found", &error))?;
    let rules = if agents.contains(&AgentBinary::Amp) { amp_rules(env, &cwd, &config)? } else { Vec::new() };
    let request = Request { scope: scope.clone(), program, policy: Some(config.policy().to_owned()), rules };
    let done = install(&agents, &request, env)?;
    let mut trials = Vec::new();
    if args.verify {
        for agent in &agents {
            trials.push((*agent, try_out(*agent, &scope, env, &cwd)?));
        }
    }
    if args.json {
        let mut object = as_json(&done);
        if args.verify {
            object["verified"] = trials.iter().map(|(agent, trials)| trials_json(*agent, trials)).collect();
        }
        ui::data(&format!("{object:#}\n"))?;
    } else {
        ui::data(&(as_text(&done, env) + &trials_text(&trials)))?;
    }
    let fault = |(agent, trials): &(AgentBinary, Vec<Trial>)| {
        trials.iter().find_map(Trial::fault).map(|why| InstallError::Unheld { agent: *agent, why })
    };
    match trials.iter().find_map(fault) {
        Some(error) => Err(error.into()),
        None => Ok(0),
    }
}

/// The policy as Amp's permission rules.
fn amp_rules(env: &Env, cwd: &Path, config: &Config) -> Result<Vec<Value>, Failure> {
    let policy = policy(env, cwd, Some(config.policy()))?;
    let rules = export(&policy, AgentBinary::Amp)?.rules;
    Ok(rules.iter().filter_map(|rule| serde_json::from_str(&rule.pattern).ok()).collect())
}

/// The scope that a word of the command line means here.
pub(super) fn scope(word: ScopeArg, cwd: &Path) -> Result<Scope, InstallError> {
    match word {
        ScopeArg::User => Ok(Scope::User),
        ScopeArg::Repo => Scope::repository(cwd),
    }
}

/// Every agent with its files.
pub(super) fn as_text(done: &[Done], env: &Env) -> String {
    let mut out = String::new();
    for done in done {
        let _ = writeln!(out, "{}", done.agent);
        for (path, outcome) in &done.files {
            let _ = writeln!(out, "  {}: {}", outcome.name(), shown(path, env));
        }
        for note in &done.notes {
            let _ = writeln!(out, "  note: {note}");
        }
        if done.files.is_empty() && done.notes.is_empty() {
            let _ = writeln!(out, "  nothing was installed");
        }
    }
    out
}

/// The same for programs.
pub(super) fn as_json(done: &[Done]) -> Value {
    let files = |done: &Done| -> Vec<Value> {
        let one = |(path, outcome): &(std::path::PathBuf, amplihack_launcher::install::Outcome)| json!({"path": path, "outcome": outcome.name()});
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

fn trials_text(trials: &[(AgentBinary, Vec<Trial>)]) -> String {
    let mut out = String::new();
    for (agent, trials) in trials.iter().filter(|(_, trials)| !trials.is_empty()) {
        let _ = writeln!(out, "\n{agent} answers");
        for trial in trials {
            let _ = match &trial.forbidden {
                Some(forbidden) => writeln!(
                    out,
                    "  {}: harmless call {}, forbidden call {}",
                    trial.event,
                    runs(&trial.harmless),
                    runs(forbidden)
                ),
                None if trial.harmless.object.is_null() => writeln!(out, "  {}: nothing to say", trial.event),
                None => writeln!(out, "  {}: {}", trial.event, short(&trial.harmless.object)),
            };
        }
    }
    out
}

/// An answer on one line; words for the model can be many.
fn short(object: &Value) -> String {
    const WIDTH: usize = 100;
    let text = object.to_string();
    if text.chars().count() <= WIDTH { text } else { text.chars().take(WIDTH).chain(['…']).collect() }
}

fn runs(answer: &Answer) -> &'static str {
    if answer.stopped { "stopped" } else { "runs" }
}

fn trials_json(agent: AgentBinary, trials: &[Trial]) -> Value {
    let answer =
        |answer: &Answer| json!({"stopped": answer.stopped, "code": answer.code, "object": answer.object});
    json!({
        "agent": agent.name(),
        "events": trials.iter().map(|trial| json!({
            "event": trial.event.name(),
            "command": trial.command,
            "harmless": answer(&trial.harmless),
            "forbidden": trial.forbidden.as_ref().map(answer),
            "fault": trial.fault(),
        })).collect::<Vec<_>>(),
    })
}
