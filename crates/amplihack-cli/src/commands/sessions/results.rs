//! `sessions diff|apply|commit|merge|discard`: what a run changed, taken into the user's checkout or thrown away.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::Path;

use amplihack_config::env::Env;
use amplihack_export::make_visible;
use amplihack_orchestration::results::{DiffForm, commit_message};
use clap::Args;
use serde_json::json;

mod open;

use super::super::auto::display::diff_size;
use crate::ui::{self, CommandFailure, json_line};
use open::{OpenedResults, ResultsIntent, open_results};

// Options of `sessions diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The id of a run or a remote session, the beginning of it or of its second part, or `latest`
    id: String,
    /// Print a line per file with the number of changed lines
    #[arg(long, conflicts_with = "name_only")]
    stat: bool,
    /// Print the names of the files
    #[arg(long)]
    name_only: bool,
}

// Options of `sessions apply`.
#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// The id of a run or a remote session, the beginning of it or of its second part, or `latest`
    id: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

// Options of `sessions commit`.
#[derive(Debug, Args)]
pub(crate) struct CommitArgs {
    /// The id of a run, the beginning of it or of its second part, or `latest`
    id: String,
    /// The message; default: the task
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

// Options of `sessions merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The id of a run or a remote session, the beginning of it or of its second part, or `latest`
    id: String,
    /// The message of the commits; default: the task
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

// Options of `sessions discard`.
#[derive(Debug, Args)]
pub(crate) struct DiscardArgs {
    /// The id of a run or a remote session, the beginning of it or of its second part, or `latest`
    id: String,
    /// Discard also what is not merged
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn show_diff(home: &Path, args: &DiffArgs, env: &Env) -> Result<u8, CommandFailure> {
    let opened = open_results(home, &args.id, env, ResultsIntent::Read)?;
    let form = match (args.stat, args.name_only) {
        (true, _) => DiffForm::Stat,
        (_, true) => DiffForm::Names,
        _ => DiffForm::Patch,
    };
    let file = opened.scratch.path().join("shown");
    opened.with_results(async |results| results.write_diff(form, &file).await)?;
    let unread = |error: io::Error| CommandFailure::from_io_error("the diff cannot be read", &error);
    let mut diff = BufReader::new(File::open(&file).map_err(unread)?);
    let terminal = io::stdout().is_terminal();
    ui::stream_stdout(|out| {
        if !terminal {
            return io::copy(&mut diff, out).map(drop);
        }
        let mut line = Vec::new();
        while diff.read_until(b'\n', &mut line)? > 0 {
            let shown = make_visible(&String::from_utf8_lossy(&line));
            out.write_all(ui::color_line(&shown, ui::diff_tone).as_bytes())?;
            line.clear();
        }
        Ok(())
    })?;
    Ok(0)
}

pub(super) fn apply_results(home: &Path, args: &ApplyArgs, env: &Env) -> Result<u8, CommandFailure> {
    let opened = open_results(home, &args.id, env, ResultsIntent::Take)?;
    let files = opened.with_results(async |results| results.apply_changes().await)?;
    let (id, checkout) = (&opened.id, &opened.target);
    if args.json {
        ui::print_data(&json_line(&json!({ "id": id, "checkout": checkout, "files": files }))?)?;
    } else if files.is_empty() {
        ui::print_visible(&format!(
            "nothing to apply: {id} changed nothing that is not in {} already\n",
            checkout.display()
        ))?;
    } else {
        let names: Vec<String> = files.iter().map(|file| format!("  {}\n", file.display())).collect();
        ui::print_visible(&format!("applied to {}, not committed:\n{}", checkout.display(), names.concat()))?;
    }
    Ok(0)
}

pub(super) fn commit_results(home: &Path, args: &CommitArgs, env: &Env) -> Result<u8, CommandFailure> {
    let opened = open_results(home, &args.id, env, ResultsIntent::Change)?;
    let words = opened.commit_message(args.message.as_deref());
    let made = opened.with_results(async |results| results.commit_worktree(&words).await)?;
    let id = &opened.id;
    if args.json {
        let object = json!({
            "id": id,
            "commit": made.as_ref().map(|made| &made.commit),
            "branch": made.as_ref().and_then(|made| made.branch.as_ref()),
            "stat": made.as_ref().map(|made| made.stat),
        });
        ui::print_data(&json_line(&object)?)?;
    } else if let Some(made) = made {
        let branch = made.branch.as_deref().unwrap_or("a detached HEAD");
        let commit = made.commit.get(..9).unwrap_or(&made.commit);
        ui::print_visible(&format!(
            "committed {commit} on {branch}: {}\ntake it in: amplihack sessions merge {id}\n",
            diff_size(made.stat)
        ))?;
        ui::print_note(
            "note",
            "the repository's hooks were not run and the commit is not signed: an agent may have written them",
        );
    } else {
        ui::print_visible("nothing to commit: everything in the worktree is committed\n")?;
    }
    Ok(0)
}

pub(super) fn merge_results(home: &Path, args: &MergeArgs, env: &Env) -> Result<u8, CommandFailure> {
    let opened = open_results(home, &args.id, env, ResultsIntent::Change)?;
    let words = opened.commit_message(args.message.as_deref());
    let merged = opened.with_results(async |results| results.merge_work(&words).await)?;
    let id = &opened.id;
    if args.json {
        let object = json!({
            "id": id,
            "commit": merged.commit,
            "committed": merged.committed,
            "into": merged.into,
            "checkout": merged.checkout,
            "stat": merged.stat,
            "left": merged.left,
        });
        ui::print_data(&json_line(&object)?)?;
        return Ok(0);
    }
    let place = merged.checkout.display();
    match merged.stat {
        Some(stat) => {
            ui::print_visible(&format!("merged into {} in {place}: {}\n", merged.into, diff_size(stat)))?;
        }
        None => ui::print_visible(&format!("nothing to merge: {} in {place} has it already\n", merged.into))?,
    }
    if let Some(left) = &merged.left {
        ui::print_note("warning", format_args!("not merged: {left}"));
    }
    ui::print_visible(&format!("remove its worktree and branch: amplihack sessions discard {id}\n"))?;
    Ok(0)
}

pub(super) fn discard_results(home: &Path, args: &DiscardArgs, env: &Env) -> Result<u8, CommandFailure> {
    let opened = open_results(home, &args.id, env, ResultsIntent::Change)?.with_its_tree();
    let baseline = opened.baseline.as_ref();
    let gone = opened.with_results(async |results| results.discard_work(baseline, args.force).await)?;
    opened.forget_remote(env)?;
    let id = &opened.id;
    if args.json {
        ui::print_data(&json_line(&json!({ "id": id, "held": gone.held, "undo": gone.undo }))?)?;
        return Ok(0);
    }
    let held = gone.held.map(|held| format!(" ({held})")).unwrap_or_default();
    ui::print_visible(&format!("discarded the work of {id}{held}\n"))?;
    if let Some(undo) = gone.undo {
        ui::print_visible(&format!("bring it back: {undo}\n"))?;
    }
    Ok(0)
}

/// Removes the worktree and branch of the run `id`, whose record is about to go; refuses if something would be lost with them.
pub(super) fn release_worktree(
    home: &Path,
    id: &str,
    dry_run: bool,
    force: bool,
    env: &Env,
) -> Result<(), CommandFailure> {
    // What only says what would be removed ends nobody's agent.
    let intent = if dry_run { ResultsIntent::Read } else { ResultsIntent::Change };
    let Some(opened) = OpenedResults::with_worktree(home, id, env, intent)? else { return Ok(()) };
    let baseline = opened.baseline.as_ref();
    if dry_run {
        let losses = opened.with_results(async |results| results.find_losses(baseline).await)?;
        if !losses.is_empty() && !force {
            ui::print_note(
                "warning",
                format_args!(
                    "{id} stays: {}",
                    amplihack_orchestration::changes::describe_differences(&losses)
                ),
            );
        }
        return Ok(());
    }
    let gone = opened.with_results(async |results| results.discard_work(baseline, force).await)?;
    if let Some(undo) = gone.undo {
        ui::print_note("discarded", format_args!("the work of {id}; bring it back: {undo}"));
    }
    Ok(())
}

impl OpenedResults {
    /// The message of a commit.
    fn commit_message(&self, given: Option<&str>) -> String {
        commit_message(given.unwrap_or(&self.task), &self.id)
    }
}
