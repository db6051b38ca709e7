//! `amplihack sessions`: runs whose events were kept.

mod auto;
pub(super) use auto::first_words;
mod export;
#[cfg(feature = "otel")]
pub(super) use export::document;
mod find;
mod list;
mod results;
mod search;
mod table;
mod tail;

use std::path::{Path, PathBuf};

use amplihack_launcher::broken_off;
use amplihack_session::journal::{Recorded, recorded};
use amplihack_utils::env::Env;
use amplihack_utils::error::ExitKind;
use amplihack_utils::launcher_context::sweep;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::prune::{Over, PruneArgs};
use crate::cli::LaunchArgs;
use crate::ui::{self, Failure, line};

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
    Export(export::ExportArgs),
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
    /// Whether errors are told as JSON.
    pub(crate) fn json(&self) -> bool {
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
    /// Whether it does nothing but print what there is.
    pub(crate) fn only_prints(&self) -> bool {
        matches!(self, Self::List(_) | Self::Show(_) | Self::Search(_) | Self::Tail(_) | Self::Cost(_))
    }
}

/// Runs the command and returns the exit code.
pub(crate) fn run(command: SessionsCommand, env: &Env) -> Result<u8, Failure> {
    let home = home(env)?;
    match command {
        SessionsCommand::List(args) => {
            let (runs, stories, remote) = (all(&home), auto::stories(&home), list::remote());
            let json = || list::object(&runs, &stories, &remote);
            print(args.json, json, || list::text(&runs, &stories, &remote, env))
        }
        SessionsCommand::Cost(args) => {
            let runs = all(&home);
            print(args.json, || table::cost_object(&runs), || table::cost(&runs))
        }
        SessionsCommand::Show(args) => {
            if let Some(code) = auto::show(&home, &args.id, args.json)? {
                return Ok(code);
            }
            let run = find::one(&home, &args.id)?;
            print(args.json, || object(&run), || table::show(&run))
        }
        SessionsCommand::Search(args) => search::run(&all(&home), &args.text, args.json),
        SessionsCommand::Tail(args) => tail::run(&home, &find::one(&home, &args.id)?, args.from, args.follow),
        SessionsCommand::Export(args) => export::run(&home, &args, env),
        SessionsCommand::Diff(args) => results::diff(&home, &args, env),
        SessionsCommand::Apply(args) => results::apply(&home, &args, env),
        SessionsCommand::Commit(args) => results::commit(&home, &args, env),
        SessionsCommand::Merge(args) => results::merge(&home, &args, env),
        SessionsCommand::Discard(args) => results::discard(&home, &args, env),
        SessionsCommand::Resume(args) => {
            let ResumeArgs { id, here, launch } = *args;
            resume(&find::one(&home, &id)?, here, launch, env)
        }
        SessionsCommand::Prune(args) => prune(&home, &args, env),
    }
}

fn home(env: &Env) -> Result<PathBuf, Failure> {
    env.amplihack_home().ok_or_else(|| {
        Failure::input("neither AMPLIHACK_HOME nor HOME is an absolute path, so no session is kept; set one")
    })
}

/// All runs; what cannot be read is said and passed over.
fn all(home: &Path) -> Vec<Recorded> {
    let (runs, errors) = recorded(home);
    for error in errors {
        ui::note("warning", error);
    }
    runs
}

/// Removes what is kept of launches and of unattended runs that ended, or were killed, long ago.
fn prune(home: &Path, args: &SessionsPruneArgs, env: &Env) -> Result<u8, Failure> {
    let launches = all(home).into_iter().filter(|run| !run.record.is_running()).map(|run| Over {
        id: run.id.to_string(),
        ended: run.record.ended_at.unwrap_or(run.record.started_at),
        directory: run.directory,
    });
    let killed = broken_off(home)
        .map_err(|error| Failure::system(&format!("{} cannot be read", home.display()), &error))?
        .into_iter()
        .map(|(id, context)| Over {
            directory: id.directory(home),
            id: id.to_string(),
            ended: context.started_at,
        });
    let SessionsPruneArgs { pruned: args, force } = args;
    let let_go = |run: &Over| results::let_go(home, &run.id, args.dry_run, *force, env);
    let pruned = args.prune(launches.chain(auto::over(home)).chain(killed), &let_go);
    if !args.dry_run {
        sweep(home);
    }
    pruned
}

/// Continues the session of the agent, in the directory that is recorded for the run; with `here` in the current one.
fn resume(run: &Recorded, here: bool, mut launch: LaunchArgs, env: &Env) -> Result<u8, Failure> {
    let Some(session) = &run.record.agent_session else {
        return Err(Failure::input(format!(
            "{} never told its session, so it cannot go on; start anew",
            run.id
        )));
    };
    if launch.resume.is_some() || launch.continue_latest {
        return Err(Failure::usage(
            "the session to go on with is named twice",
            "leave --resume and --continue out",
        ));
    }
    launch.resume = Some(session.into());
    if here {
        return super::launch::run(Some(run.record.agent), launch, env);
    }
    let cwd = PathBuf::from(&run.record.cwd);
    if !cwd.is_dir() {
        return Err(Failure::of(
            "directory_gone",
            format!("{} worked in {}, which is not there any more", run.id, cwd.display()),
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
    let env = env.clone().with("PWD", &cwd);
    super::launch::run_in(cwd, Some(run.record.agent), launch, &env)
}

fn object(run: &Recorded) -> Value {
    let mut object = json!({ "id": run.id.as_str(), "state": run.record.state() });
    if let (Some(object), Ok(Value::Object(record))) =
        (object.as_object_mut(), serde_json::to_value(&run.record))
    {
        object.extend(record);
    }
    object
}

fn print(as_json: bool, json: impl FnOnce() -> Value, text: impl FnOnce() -> String) -> Result<u8, Failure> {
    // Agents say which model and session they have, and what they did.
    if as_json {
        ui::data(&line(&json())?)?;
    } else {
        ui::shown(&text())?;
    }
    Ok(0)
}
