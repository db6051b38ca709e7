//! `recipe runs`: what runs did.

use std::fmt::Write as _;

use amplihack_recipe::journal::{Entry, Recorded, recorded};
use amplihack_utils::env::Env;
use amplihack_utils::error::ExitKind;
use amplihack_utils::launcher_context::meant;
use serde_json::{Value, json};

use super::super::prune::Over;
use super::RunsCommand;
use crate::ui::{self, Failure, line};

pub(super) fn run(command: RunsCommand, env: &Env) -> Result<u8, Failure> {
    match command {
        RunsCommand::List { json } => {
            let runs = all(env)?;
            let text = if json {
                let objects: Vec<Value> = runs.iter().map(object).collect();
                line(&json!({ "runs": objects }))?
            } else {
                if runs.is_empty() {
                    ui::note("note", "no recipe run has been recorded yet");
                }
                runs.iter().map(row).collect()
            };
            ui::shown(&text)?;
        }
        RunsCommand::Show { id, json } => {
            let run = one(env, &id)?;
            if json {
                let mut object = object(&run);
                object["entries"] = serde_json::to_value(&run.entries).unwrap_or_default();
                ui::data(&line(&object)?)?;
            } else {
                ui::shown(&shown(&run))?;
            }
        }
        RunsCommand::Prune(args) => {
            let over = all(env)?.into_iter().filter(|run| !run.header.lives());
            let over =
                over.map(|run| Over { id: run.header.run_id, directory: run.directory, ended: run.last });
            return args.prune(over, &|_| Ok(()));
        }
    }
    Ok(0)
}

fn all(env: &Env) -> Result<Vec<Recorded>, Failure> {
    let home = env.amplihack_home().ok_or_else(|| {
        Failure::input("neither AMPLIHACK_HOME nor HOME is an absolute path, so no run is kept; set one")
    })?;
    let (runs, errors) = recorded(&home);
    for error in errors {
        ui::note("warning", error);
    }
    Ok(runs)
}

/// The run that `id` names: whole, by its beginning, or as the latest.
pub(super) fn one(env: &Env, id: &str) -> Result<Recorded, Failure> {
    let mut runs = all(env)?;
    let found = if id == "latest" { runs.pop().ok_or(0) } else { meant(runs, id, |run| &run.header.run_id) };
    found.map_err(|many| match many {
        0 => {
            let (text, hint) = if id == "latest" {
                ("no recipe run has been recorded yet".to_owned(), "`amplihack recipe run NAME` makes one")
            } else {
                (format!("there is no run {id}"), "`amplihack recipe runs list` lists the recorded runs")
            };
            Failure::of("run_not_found", text, hint, ExitKind::NotFound)
        }
        _ => Failure::usage(format!("{many} runs begin with {id}"), "give more of the id"),
    })
}

fn object(run: &Recorded) -> Value {
    let (steps, failed) = run.counts();
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

fn row(run: &Recorded) -> String {
    let (steps, failed) = run.counts();
    let (id, state) = (&run.header.run_id, run.state());
    let began = run.began.strftime("%Y-%m-%d %H:%M:%S");
    format!("{id}  {state:<11}  {began}  {steps:>4} steps {failed:>3} failed  {}\n", run.header.name)
}

fn shown(run: &Recorded) -> String {
    let mut text = row(run);
    for entry in &run.entries {
        let Entry::End { path, result, .. } = entry else { continue };
        let took = result.duration.unwrap_or_default();
        let _ = writeln!(text, "  {path:<8} {:<9} {} ({took:.1}s)", result.status.name(), result.step_id);
        for line in result.error.lines() {
            let _ = writeln!(text, "           {line}");
        }
    }
    let _ = writeln!(text, "in {}", run.directory.display());
    text
}
