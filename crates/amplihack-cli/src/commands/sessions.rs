//! `amplihack sessions`: runs whose events were kept.

mod auto;
pub(super) use auto::first_words;
mod export;
#[cfg(feature = "otel")]
pub(super) use export::load_document;
mod find;
mod list;
mod results;
mod search;
mod table;
mod tail;

pub(super) use auto::unattended_runs;
pub(super) use list::remote_records;

use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_config::launcher_context::sweep_index;
use amplihack_launcher::broken_off;
use amplihack_session::journal::{JournaledRun, recorded_runs};
use amplihack_sys::error::ExitKind;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::prune::{EndedRun, PruneArgs};
use crate::cli::LaunchArgs;
use crate::ui::{self, CommandFailure, json_line};

/// Commands about runs.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SessionsCommand {
    /// List the runs, oldest first
    List(JsonArgs),
    /// Show a run
    Show(OneArgs),
    /// Search what agents said, called and got back
    Search(SearchArgs),
    /// Print a run's events, one JSON object per line
    Tail(TailArgs),
    /// Export a run as an HTML page, Markdown or OpenTelemetry traces
    Export(export::SessionExportArgs),
    /// Print what a run changed, as a patch
    Diff(results::DiffArgs),
    /// Put a run's changes into your checkout, uncommitted
    Apply(results::ApplyArgs),
    /// Commit what is not committed in a run's worktree, on its branch
    Commit(results::CommitArgs),
    /// Merge a run's work into the branch that is checked out
    Merge(results::MergeArgs),
    /// Throw a run's work away, with its worktree and branch
    Discard(results::DiscardArgs),
    /// Resume a run's session in its agent
    Resume(Box<ResumeArgs>),
    /// Show the tokens and costs of runs
    Cost(JsonArgs),
    /// Delete the records of old runs, with their worktrees and branches
    Prune(SessionsPruneArgs),
}

// Options of `sessions list` and `sessions cost`.
#[derive(Debug, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

// Options of `sessions show`.
#[derive(Debug, Args)]
pub(crate) struct OneArgs {
    /// The id of the session, the beginning of it, or `latest`
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

// Options of `sessions prune`.
#[derive(Debug, Args)]
pub(crate) struct SessionsPruneArgs {
    #[command(flatten)]
    pruned: PruneArgs,
    /// Remove worktrees and branches with work that is not merged, too
    #[arg(long)]
    force: bool,
}

// Options of `sessions search`.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// The text; case is ignored
    text: String,
    /// Print one JSON object per match
    #[arg(long)]
    json: bool,
}

// Options of `sessions tail`.
#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// The id of the session, the beginning of it, or `latest`
    id: String,
    /// Wait for more until the run ends
    #[arg(long)]
    follow: bool,
    /// Start at this offset in bytes: the number of bytes printed so far
    #[arg(long, value_name = "OFFSET", default_value_t = 0)]
    from: u64,
}

// Options of `sessions resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The id of the session, the beginning of it, or `latest`
    id: String,
    /// Work in the current directory instead of the one that is recorded for the run
    #[arg(long)]
    here: bool,
    #[command(flatten)]
    launch: LaunchArgs,
}

impl SessionsCommand {
    /// Reports whether errors are shown as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::List(args) | Self::Cost(args) => args.json,
            Self::Show(args) => args.json,
            Self::Search(args) => args.json,
            Self::Apply(args) => args.json,
            Self::Commit(args) => args.json,
            Self::Merge(args) => args.json,
            Self::Discard(args) => args.json,
            _ => false,
        }
    }
}

impl SessionsCommand {
    /// Reports whether the command only prints what there is.
    pub(crate) fn only_prints(&self) -> bool {
        matches!(self, Self::List(_) | Self::Show(_) | Self::Search(_) | Self::Tail(_) | Self::Cost(_))
    }
}

/// Runs the command and returns the exit code.
pub(crate) fn run_sessions_command(command: SessionsCommand, env: &Env) -> Result<u8, CommandFailure> {
    let home = amplihack_home_dir(env)?;
    match command {
        SessionsCommand::List(args) => {
            let (runs, stories, remote) =
                (recorded_sessions(&home), unattended_runs(&home), list::remote_sessions());
            let json = || list::list_json(&runs, &stories, &remote);
            print_either(args.json, json, || list::list_text(&runs, &stories, &remote, env))
        }
        SessionsCommand::Cost(args) => {
            let runs = recorded_sessions(&home);
            print_either(args.json, || table::cost_object(&runs), || table::cost_table(&runs))
        }
        SessionsCommand::Show(args) => {
            if let Some(code) = auto::show_unattended(&home, &args.id, args.json)? {
                return Ok(code);
            }
            let run = find::find_session(&home, &args.id)?;
            print_either(args.json, || session_json(&run), || table::session_facts(&run))
        }
        SessionsCommand::Search(args) => {
            search::search_sessions(&recorded_sessions(&home), &args.text, args.json)
        }
        SessionsCommand::Tail(args) => {
            tail::tail_events(&home, &find::find_session(&home, &args.id)?, args.from, args.follow)
        }
        SessionsCommand::Export(args) => export::export_session(&home, &args, env),
        SessionsCommand::Diff(args) => results::show_diff(&home, &args, env),
        SessionsCommand::Apply(args) => results::apply_results(&home, &args, env),
        SessionsCommand::Commit(args) => results::commit_results(&home, &args, env),
        SessionsCommand::Merge(args) => results::merge_results(&home, &args, env),
        SessionsCommand::Discard(args) => results::discard_results(&home, &args, env),
        SessionsCommand::Resume(args) => {
            let ResumeArgs { id, here, launch } = *args;
            resume_session(&find::find_session(&home, &id)?, here, launch, env)
        }
        SessionsCommand::Prune(args) => prune_sessions(&home, &args, env),
    }
}

fn amplihack_home_dir(env: &Env) -> Result<PathBuf, CommandFailure> {
    env.amplihack_home().ok_or_else(|| {
        CommandFailure::bad_input(
            "no session can be recorded: neither AMPLIHACK_HOME nor HOME is an absolute path; set one of them",
        )
    })
}

/// All runs; what cannot be read is said and passed over.
fn recorded_sessions(home: &Path) -> Vec<JournaledRun> {
    let (runs, errors) = recorded_runs(home);
    for error in errors {
        ui::print_note("warning", error);
    }
    runs
}

/// Removes what is kept of launches and of unattended runs that ended, or were killed, long ago.
fn prune_sessions(home: &Path, args: &SessionsPruneArgs, env: &Env) -> Result<u8, CommandFailure> {
    let launches =
        recorded_sessions(home).into_iter().filter(|run| !run.record.is_running()).map(|run| EndedRun {
            id: run.id.to_string(),
            ended: run.record.ended_at.unwrap_or(run.record.started_at),
            directory: run.directory,
        });
    let killed = broken_off(home)
        .map_err(|error| {
            CommandFailure::from_io_error(&format!("{} cannot be read", home.display()), &error)
        })?
        .into_iter()
        .map(|(id, context)| EndedRun {
            directory: id.directory(home),
            id: id.to_string(),
            ended: context.started_at,
        });
    let SessionsPruneArgs { pruned: args, force } = args;
    let release_worktree =
        |run: &EndedRun| results::release_worktree(home, &run.id, args.dry_run, *force, env);
    let pruned = args.prune_runs(launches.chain(auto::ended_runs(home)).chain(killed), &release_worktree);
    if !args.dry_run {
        sweep_index(home);
    }
    pruned
}

/// Continues the session of the agent, in the directory that is recorded for the run; with `here` in the current one.
fn resume_session(
    run: &JournaledRun,
    here: bool,
    mut launch: LaunchArgs,
    env: &Env,
) -> Result<u8, CommandFailure> {
    let Some(session) = &run.record.agent_session else {
        return Err(CommandFailure::bad_input(format!(
            "{} did not report the id of its session, so it cannot be resumed; start a new one",
            run.id
        )));
    };
    if launch.resume.is_some() || launch.continue_latest {
        return Err(CommandFailure::bad_usage(
            "the session to resume is named twice",
            "leave --resume and --continue out",
        ));
    }
    launch.resume = Some(session.into());
    if here {
        return super::launch::run_launch(Some(run.record.agent), launch, env);
    }
    let cwd = PathBuf::from(&run.record.cwd);
    if !cwd.is_dir() {
        return Err(CommandFailure::new(
            "directory_gone",
            format!("{} worked in {}, which no longer exists", run.id, cwd.display()),
            "put it back, or give --here to continue in the current directory",
            ExitKind::NotFound,
        ));
    }
    // What the user names is named from where the user stands.
    if let Ok(stands) = super::current_dir() {
        for path in launch.add_dir.iter_mut().chain(&mut launch.mcp_config) {
            *path = stands.join(&path);
        }
    }
    let env = env.clone().with_variable("PWD", &cwd);
    super::launch::run_in(cwd, Some(run.record.agent), launch, &env)
}

fn session_json(run: &JournaledRun) -> Value {
    let mut object = json!({ "id": run.id.as_str(), "state": run.record.state_name() });
    if let (Some(object), Ok(Value::Object(record))) =
        (object.as_object_mut(), serde_json::to_value(&run.record))
    {
        object.extend(record);
    }
    object
}

fn print_either(
    as_json: bool,
    json: impl FnOnce() -> Value,
    text: impl FnOnce() -> String,
) -> Result<u8, CommandFailure> {
    // Agents say which model and session they have, and what they did.
    if as_json {
        ui::print_data(&json_line(&json())?)?;
    } else {
        ui::print_visible(&text())?;
    }
    Ok(0)
}
