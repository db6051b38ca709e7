//! What is exported, read: a session, or an unattended run with the sessions of its turns.

use std::path::Path;

use amplihack_export::{Check, Document, Run, Turn, Unattended};
use amplihack_orchestration::drive::diff_path;
use amplihack_orchestration::journal::{Story, TurnRecord, find, read};
use amplihack_orchestration::progress::{checked_name, phase_name};
use amplihack_policy::audit::DIRECTORY;
use amplihack_session::journal::Recorded;
use amplihack_utils::env::Env;
use amplihack_utils::launcher_context::SessionId;

use crate::commands::sessions::{auto, find as session};
use crate::ui::{Failure, note};

/// The run that is meant by `wanted`.
pub(crate) fn document(home: &Path, wanted: &str, env: &Env) -> Result<Document, Failure> {
    let audit = env.home().map(|home| home.join(DIRECTORY));
    let audit = audit.as_deref();
    let Ok(id) = find(home, wanted) else {
        let run = session::one(home, wanted)?;
        return Ok(Document { id: run.id.to_string(), unattended: None, runs: vec![Run::read(run, audit)?] });
    };
    let story = read(home, &id)?;
    let mut runs = Vec::new();
    for launch in story.launches() {
        match SessionId::parse(launch).ok().map(|launch| Recorded::read(home, &launch)).transpose()?.flatten()
        {
            Some(run) => runs.push(Run::read(run, audit)?),
            None => {
                note("warning", format!("nothing is kept of the session {launch} of a turn; it is left out"));
            }
        }
    }
    let diff = std::fs::read(diff_path(&id.directory(home))).unwrap_or_default();
    let unattended = unattended(&story, String::from_utf8_lossy(&diff).into_owned());
    Ok(Document { id: id.to_string(), unattended: Some(unattended), runs })
}

fn unattended(story: &Story, diff: String) -> Unattended {
    Unattended {
        agent: story.agent,
        state: story.state().to_owned(),
        reason: story.ended.as_ref().map(|ended| ended.run.reason().to_owned()),
        task: story.spec.task.clone(),
        directory: story.directory().display().to_string(),
        branch: story.worktree.as_ref().map(|tree| tree.branch.clone()),
        began: story.began,
        ended: story.ended.as_ref().map(|ended| ended.at),
        usage: story.meter.totals(),
        turns: story.turns.iter().map(turn).collect(),
        diff,
    }
}

fn turn(turn: &TurnRecord) -> Turn {
    let checks = turn.verdict.iter().flat_map(|verdict| &verdict.checks);
    Turn {
        number: turn.turn,
        agent: turn.agent,
        phase: phase_name(turn.phase).to_owned(),
        started: turn.started,
        how: auto::how(turn),
        denied: turn.denied.clone(),
        outcome: turn.verdict.as_ref().map(|verdict| checked_name(verdict.outcome).to_owned()),
        checks: checks
            .map(|check| Check { what: check.what.clone(), passed: check.passed, found: check.found.clone() })
            .collect(),
        launches: turn.launches.clone(),
    }
}
