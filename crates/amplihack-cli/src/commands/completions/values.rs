//! Values of arguments that only this machine knows: ids of sessions and runs, names of agents, recipes, hosts and topics.

use std::path::Path;

use amplihack_agent::AgentBinary;
use amplihack_config::env::Env;
use amplihack_hooks::export::has_permission_rules;
use amplihack_recipe::find::RecipeDiscovery;
use amplihack_recipe::journal as recipe_journal;
use amplihack_remote::RemoteHosts;
use amplihack_session::journal::recorded_runs;
use clap::Command;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::commands::{current_dir, help, sessions};

/// Most characters of a description.
const DESCRIPTION: usize = 60;

/// A kind of values.
#[derive(Debug, Clone, Copy)]
enum ValueSource {
    Sessions,
    UnattendedRuns,
    Recipes,
    RecipeRuns,
    RemoteSessions,
    Hosts,
    Topics,
    Agents,
    /// Agents with permission rules as which the policy can be written.
    PolicyAgents,
}

/// `command`, built whole, with values for the arguments that name something of this machine.
pub(super) fn with_values(mut command: Command, env: &Env) -> Command {
    command.build();
    command.mut_subcommands(|below| {
        let topic = below.get_name().to_owned();
        add_values(below, &topic, env)
    })
}

fn add_values(command: Command, topic: &str, env: &Env) -> Command {
    let command = command.mut_subcommands(|below| add_values(below, topic, env));
    command.mut_args(|arg| match value_source(topic, arg.get_id().as_str()) {
        Some(source) => {
            let env = env.clone();
            arg.add(ArgValueCandidates::new(move || list_values(source, &env)))
        }
        None => arg,
    })
}

/// Returns the kind of values that an argument of a command below `topic` takes.
fn value_source(topic: &str, argument: &str) -> Option<ValueSource> {
    Some(match (topic, argument) {
        ("sessions", "id") => ValueSource::Sessions,
        ("auto", "id" | "resume") => ValueSource::UnattendedRuns,
        ("recipe", "recipe") => ValueSource::Recipes,
        ("recipe", "id" | "resume") => ValueSource::RecipeRuns,
        ("remote", "session" | "sessions") => ValueSource::RemoteSessions,
        ("remote", "host") => ValueSource::Hosts,
        ("help", "words") => ValueSource::Topics,
        ("policy", "agent") => ValueSource::PolicyAgents,
        (_, "agent" | "agents") | ("doctor", "prove") => ValueSource::Agents,
        _ => return None,
    })
}

/// The values, newest first where they have an age. What cannot be read has none: a completion reports nothing.
fn list_values(source: ValueSource, env: &Env) -> Vec<CompletionCandidate> {
    let home = env.amplihack_home();
    let home = home.as_deref();
    match source {
        ValueSource::Sessions => {
            let own = home.map(|home| recorded_runs(home).0).unwrap_or_default().into_iter().rev();
            let own = own.map(|run| {
                candidate(run.id.as_str(), &format!("{}, {}", run.record.agent, run.record.state_name()))
            });
            // `sessions` takes ids of both: an unattended run is shown and exported like a launch.
            own.chain(unattended_runs(home)).collect()
        }
        ValueSource::UnattendedRuns => unattended_runs(home),
        ValueSource::Recipes => {
            let Ok(cwd) = current_dir() else { return Vec::new() };
            let listed = RecipeDiscovery::new(env, &cwd, &[]).list_recipes().into_iter();
            listed
                .map(|found| {
                    let about = found.recipe.map(|recipe| recipe.description).unwrap_or_default();
                    candidate(&found.name, &about)
                })
                .collect()
        }
        ValueSource::RecipeRuns => {
            let runs = home.map(|home| recipe_journal::recorded_runs(home).0).unwrap_or_default();
            let runs = runs.into_iter().rev();
            runs.map(|run| candidate(&run.header.run_id, &run.header.recipe.display().to_string())).collect()
        }
        ValueSource::RemoteSessions => {
            let records = sessions::remote_records().unwrap_or_default().into_iter().rev();
            records.map(|record| candidate(&record.session.session_id, &record.session.prompt)).collect()
        }
        ValueSource::Hosts => {
            let hosts = RemoteHosts::load(env).map(|hosts| hosts.hosts).unwrap_or_default();
            hosts.keys().map(CompletionCandidate::new).collect()
        }
        ValueSource::Agents => agent_names(|_| true),
        ValueSource::PolicyAgents => agent_names(has_permission_rules),
        ValueSource::Topics => help::completable_words().map(CompletionCandidate::new).collect(),
    }
}

fn agent_names(is_possible: fn(AgentBinary) -> bool) -> Vec<CompletionCandidate> {
    let possible = AgentBinary::ALL.into_iter().filter(|agent| is_possible(*agent));
    possible.map(|agent| CompletionCandidate::new(agent.name())).collect()
}

fn unattended_runs(home: Option<&Path>) -> Vec<CompletionCandidate> {
    let runs = home.map(sessions::unattended_runs).unwrap_or_default().into_iter().rev();
    runs.map(|(id, state)| candidate(id.as_str(), &state.spec.task)).collect()
}

/// A value with the beginning of what it is about, on one line.
fn candidate(value: &str, about: &str) -> CompletionCandidate {
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    let about: String = about.chars().filter(|c| !c.is_control()).take(DESCRIPTION).collect();
    CompletionCandidate::new(value).help((!about.is_empty()).then(|| about.into()))
}
