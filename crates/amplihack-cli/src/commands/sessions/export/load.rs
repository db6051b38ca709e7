//! Loading of the document to export: a session, or an unattended run with the sessions of its turns.

use std::path::Path;

use amplihack_audit::DIRECTORY;
use amplihack_config::env::Env;
use amplihack_config::launcher_context::SessionId;
use amplihack_export::{ExportDocument, ExportedRun, UnattendedRun, UnattendedTurn, VerificationCheck};
use amplihack_orchestration::drive::diff_path;
use amplihack_orchestration::journal::{AutoRunState, TurnRecord, find_run, read_run};
use amplihack_orchestration::progress::{phase_name, verification_result_name};
use amplihack_session::journal::JournaledRun;

use crate::commands::sessions::{auto, find as session};
use crate::ui::{CommandFailure, print_note};

/// The run that is meant by `wanted`.
pub(crate) fn load_document(home: &Path, wanted: &str, env: &Env) -> Result<ExportDocument, CommandFailure> {
    let audit = env.home().map(|home| home.join(DIRECTORY));
    let audit = audit.as_deref();
    let Ok(id) = find_run(home, wanted) else {
        let run = session::find_session(home, wanted)?;
        return Ok(ExportDocument {
            id: run.id.to_string(),
            unattended: None,
            runs: vec![ExportedRun::read(run, audit)?],
        });
    };
    let story = read_run(home, &id)?;
    let mut runs = Vec::new();
    for launch in story.launches() {
        match SessionId::parse(launch)
            .ok()
            .map(|launch| JournaledRun::read(home, &launch))
            .transpose()?
            .flatten()
        {
            Some(run) => runs.push(ExportedRun::read(run, audit)?),
            None => {
                print_note(
                    "warning",
                    format!("nothing is kept of the session {launch} of a turn; it is left out"),
                );
            }
        }
    }
    let diff = std::fs::read(diff_path(&id.directory(home))).unwrap_or_default();
    let unattended = export_unattended(&story, String::from_utf8_lossy(&diff).into_owned());
    Ok(ExportDocument { id: id.to_string(), unattended: Some(unattended), runs })
}

fn export_unattended(story: &AutoRunState, diff: String) -> UnattendedRun {
    UnattendedRun {
        agent: story.agent,
        state: story.state_name().to_owned(),
        reason: story.ended.as_ref().map(|ended| ended.run.reason().to_owned()),
        task: story.spec.task.clone(),
        directory: story.working_directory().display().to_string(),
        branch: story.worktree.as_ref().map(|tree| tree.branch.clone()),
        began: story.began,
        ended: story.ended.as_ref().map(|ended| ended.at),
        usage: story.meter.totals(),
        turns: story.turns.iter().map(export_turn).collect(),
        diff,
    }
}

fn export_turn(turn: &TurnRecord) -> UnattendedTurn {
    let checks = turn.verdict.iter().flat_map(|verdict| &verdict.checks);
    UnattendedTurn {
        number: turn.turn,
        agent: turn.agent,
        phase: phase_name(turn.phase).to_owned(),
        started: turn.started,
        how: auto::turn_result(turn),
        denied: turn.denied.clone(),
        outcome: turn.verdict.as_ref().map(|verdict| verification_result_name(verdict.outcome).to_owned()),
        checks: checks
            .map(|check| VerificationCheck {
                what: check.what.clone(),
                passed: check.passed,
                found: check.found.clone(),
            })
            .collect(),
        launches: turn.launches.clone(),
    }
}
