//! `recipe runs`: what runs did.

use amplihack_config::env::Env;
use amplihack_config::launcher_context::pick_by_prefix;
use amplihack_recipe::journal::{self, RecipeRunEntry, RecordedRecipeRun};
use amplihack_sys::error::ExitKind;
use amplihack_sys::push_line;
use serde_json::{Value, json};

use super::super::prune::EndedRun;
use super::RunsCommand;
use crate::ui::{self, CommandFailure, json_line};

pub(super) fn run_runs_command(command: RunsCommand, env: &Env) -> Result<u8, CommandFailure> {
    match command {
        RunsCommand::List { json } => {
            let runs = recorded_runs(env)?;
            let text = if json {
                let objects: Vec<Value> = runs.iter().map(run_json).collect();
                json_line(&json!({ "runs": objects }))?
            } else {
                if runs.is_empty() {
                    ui::print_note("note", "no recipe run has been recorded yet");
                }
                runs.iter().map(run_row).collect()
            };
            ui::print_visible(&text)?;
        }
        RunsCommand::Show { id, json } => {
            let run = find_run(env, &id)?;
            if json {
                let mut object = run_json(&run);
                object["entries"] = serde_json::to_value(&run.entries).unwrap_or_default();
                ui::print_data(&json_line(&object)?)?;
            } else {
                ui::print_visible(&run_text(&run))?;
            }
        }
        RunsCommand::Prune(args) => {
            let over = recorded_runs(env)?.into_iter().filter(|run| !run.header.is_alive());
            let over =
                over.map(|run| EndedRun { id: run.header.run_id, directory: run.directory, ended: run.last });
            return args.prune_runs(over, &|_| Ok(()));
        }
    }
    Ok(0)
}

fn recorded_runs(env: &Env) -> Result<Vec<RecordedRecipeRun>, CommandFailure> {
    let home = env.amplihack_home().ok_or_else(|| {
        CommandFailure::bad_input(
            "no run can be recorded: neither AMPLIHACK_HOME nor HOME is an absolute path; set one of them",
        )
    })?;
    let (runs, errors) = journal::recorded_runs(&home);
    for error in errors {
        ui::print_note("warning", error);
    }
    Ok(runs)
}

/// The run that `id` names: whole, by its beginning, or as the latest.
pub(super) fn find_run(env: &Env, id: &str) -> Result<RecordedRecipeRun, CommandFailure> {
    let mut runs = recorded_runs(env)?;
    let found =
        if id == "latest" { runs.pop().ok_or(0) } else { pick_by_prefix(runs, id, |run| &run.header.run_id) };
    found.map_err(|many| match many {
        0 => {
            let (text, hint) = if id == "latest" {
                ("no recipe run has been recorded yet".to_owned(), "`amplihack recipe run NAME` makes one")
            } else {
                (format!("there is no run {id}"), "`amplihack recipe runs list` lists the recorded runs")
            };
            CommandFailure::new("run_not_found", text, hint, ExitKind::NotFound)
        }
        _ => CommandFailure::bad_usage(format!("{many} runs begin with {id}"), "give more of the id"),
    })
}

fn run_json(run: &RecordedRecipeRun) -> Value {
    let (steps, failed) = run.step_counts();
    json!({
        "id": run.header.run_id,
        "recipe": run.header.name,
        "path": run.header.recipe.to_string_lossy(),
        "cwd": run.header.cwd.to_string_lossy(),
        "state": run.state(),
        "began": run.began,
        "last": run.last,
        "steps": steps,
        "failed": failed,
        "directory": run.directory.to_string_lossy(),
    })
}

fn run_row(run: &RecordedRecipeRun) -> String {
    let (steps, failed) = run.step_counts();
    let (id, state) = (&run.header.run_id, run.state());
    let began = run.began.strftime("%Y-%m-%d %H:%M:%S");
    format!("{id}  {state:<11}  {began}  {steps:>4} steps {failed:>3} failed  {}\n", run.header.name)
}

fn run_text(run: &RecordedRecipeRun) -> String {
    let mut text = run_row(run);
    for entry in &run.entries {
        let RecipeRunEntry::End { path, result, .. } = entry else { continue };
        let took = result.duration.unwrap_or_default();
        push_line!(text, "  {path:<8} {:<9} {} ({took:.1}s)", result.status.name(), result.step_id);
        for line in result.error.lines() {
            push_line!(text, "           {line}");
        }
    }
    push_line!(text, "in {}", run.directory.display());
    text
}
