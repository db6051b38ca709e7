//! A whole run: its journal, its world, its end.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_session::InterruptSignals;
use amplihack_sys as sys;
use amplihack_sys::hex::to_hex;
use amplihack_sys::lock::{FileLock, LockError};
use amplihack_sys::log::LogError;
use sha2::{Digest, Sha256};

use super::{
    AgentDoor, RecipeBounds, RecipeMachine, RecipeRunError, RecipeRunResources, RecipeRunSettings, StepInput,
    StepOutput, drive_run, preflight_faults, scripts_environment,
};
use crate::context::RecipeContext;
use crate::inputs::RecipeInputs;
use crate::journal::{RUN_ID, RecipeRunEntry, RecipeRunHeader, RecipeRunJournal, runs_directory};
use crate::plan::Plan;
use crate::result::{RunResult, SCHEMA_VERSION, StepResult};
use crate::resume::lock_run;

/// A run that is asked for.
pub struct RecipeExecution {
    /// The plan to run.
    pub plan: Plan,
    /// The settings of the run.
    pub settings: RecipeRunSettings,
    /// Names and values at the start.
    pub context: RecipeContext,
    /// The arguments of the command, for a resume to use again.
    pub asked: serde_json::Value,
    /// The inputs that a resume has to be given again.
    pub given: RecipeInputs,
    /// The run is locked already, by a resume that has looked at it.
    pub lock: Option<FileLock>,
    /// The runner's environment.
    pub env: Env,
    /// The directory that keeps runs; `None`: no run is kept.
    pub home: Option<PathBuf>,
    /// The way by which agents are launched.
    pub door: AgentDoor,
    /// The depth of the steps inside other runs and launches, and the limit on it.
    pub depth: (u64, u64),
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// The signals that end the run.
    pub interrupts: InterruptSignals,
    /// The bounds on what the run's agents use together, and on its duration.
    pub bounds: Option<Rc<RecipeBounds>>,
}

/// The reason that a run could not be executed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The run could not be kept or carried out.
    #[error(transparent)]
    Run(#[from] RecipeRunError),
    /// Somebody else is at it.
    #[error("the run {run} is being resumed by another process: {source}")]
    Locked {
        /// The run.
        run: String,
        /// The lock.
        source: LockError,
    },
    /// A call of the system failed.
    #[error("{what}: {source}")]
    System {
        /// The call that was tried, in words.
        what: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// The files that a plan was made of, with their contents' SHA-256.
pub fn plan_sources(plan: &Plan) -> Vec<(PathBuf, String)> {
    let mut found = std::collections::BTreeMap::new();
    let mut add = |path: &Path, text: &str| {
        found.entry(path.to_owned()).or_insert_with(|| to_hex(Sha256::digest(text)));
    };
    for planned in &plan.recipes {
        add(&planned.recipe.source.path, &planned.recipe.source.text);
        for (step, resolved) in planned.recipe.steps.iter().zip(&planned.steps) {
            add(&step.source.path, &step.source.text);
            if let Some(definition) = &resolved.agent {
                add(&definition.path, &definition.text);
            }
        }
    }
    found.into_iter().collect()
}

/// Returns the result of a dry run of a plan; nothing is started and nothing written.
pub fn dry_run(plan: Plan, settings: RecipeRunSettings, context: RecipeContext) -> Option<RunResult> {
    let settings = RecipeRunSettings { dry_run: true, ..settings };
    let mut machine = RecipeMachine::new(Arc::new(plan), settings, context);
    machine.step(Duration::ZERO, StepInput::Start).into_iter().find_map(|output| match output {
        StepOutput::Done(result) => Some(*result),
        _ => None,
    })
}

/// The result of a run of which `settings` has every step's recorded end; nothing is started and nothing written. `None` if there
/// is anything left to do.
pub fn replay_run(plan: Plan, settings: RecipeRunSettings, context: RecipeContext) -> Option<RunResult> {
    let mut machine = RecipeMachine::new(Arc::new(plan), settings, context);
    let outputs = machine.step(Duration::ZERO, StepInput::Start);
    if outputs.iter().any(|output| matches!(output, StepOutput::Spawn(_))) {
        return None;
    }
    outputs.into_iter().find_map(|output| match output {
        StepOutput::Done(result) => Some(*result),
        _ => None,
    })
}

/// Runs what is asked for to its end. Blocks; on the main thread it starts programs without a thread more.
///
/// Every entry is in the journal before `seen` is shown it.
pub fn execute_run(
    execution: RecipeExecution,
    seen: &mut dyn FnMut(&RecipeRunEntry),
) -> Result<RunResult, ExecuteError> {
    let RecipeExecution {
        plan,
        settings,
        context,
        asked,
        given,
        lock,
        env,
        home,
        door,
        depth: (depth, limit),
        grace,
        interrupts,
        bounds,
    } = execution;
    let root = &plan.root().recipe;
    if let Some(fault) = preflight_faults(root, &context, &settings.cwd, &env) {
        return Ok(RunResult {
            run_id: settings.run_id,
            recipe_name: root.name.clone(),
            success: false,
            interrupted: None,
            step_results: vec![StepResult::from_failure("preflight-validation", "", fault)],
            context: RecipeContext::new(),
            duration: 0.0,
            usage: None,
            bound: None,
        });
    }
    let failed = |what| move |source| ExecuteError::System { what, source };
    // Before anything is started, so that no signal is missed.
    let runtime = amplihack_session::build_runtime().map_err(failed("the runtime could not be started"))?;
    let _inside = runtime.enter();
    let stream = interrupts.open_stream().map_err(failed("signals cannot be listened to"))?;
    // Without a home nothing is kept longer than the run.
    let temporary = match &home {
        Some(_) => None,
        None => Some(tempfile::tempdir().map_err(failed("a directory for the run cannot be made"))?),
    };
    let directory = match (&home, &temporary) {
        (Some(home), _) => runs_directory(home).join(&settings.run_id),
        (None, Some(temporary)) => temporary.path().to_owned(),
        (None, None) => {
            return Err(failed("a directory for the run cannot be made")(
                std::io::ErrorKind::NotFound.into(),
            ));
        }
    };
    let kept = |error: LogError| ExecuteError::Run(RecipeRunError::Journal(error));
    let open = if temporary.is_some() { RecipeRunJournal::open_temporary } else { RecipeRunJournal::open };
    let mut journal = open(&directory).map_err(kept)?;
    let _lock = lock
        .map_or_else(|| lock_run(&directory), Ok)
        .map_err(|source| ExecuteError::Locked { run: settings.run_id.clone(), source })?;
    let given = given.store_if_long(&directory).map_err(failed("what is given cannot be kept"))?;
    let pid = std::process::id();
    let header = RecipeRunHeader {
        schema_version: SCHEMA_VERSION,
        run_id: settings.run_id.clone(),
        recipe: root.source.path.clone(),
        name: root.name.clone(),
        asked,
        given,
        sources: plan_sources(&plan),
        cwd: settings.cwd.clone(),
        pid,
        start_time: sys::start_time(pid).unwrap_or_default(),
    };
    let header = RecipeRunEntry::Runner(Box::new(header));
    journal.append_entries(std::slice::from_ref(&header)).map_err(kept)?;
    seen(&header);
    let scripts = scripts_environment(&env, &settings.run_id, depth, limit, door.agent().name());
    // A launch counts for itself.
    let agents = env.clone().with_variable(RUN_ID, settings.run_id.as_str());
    let mut world = RecipeRunResources::new(env, scripts, agents, &journal, door, grace, interrupts);
    world.bounds = bounds;
    let machine = RecipeMachine::new(Arc::new(plan), settings, context);
    Ok(runtime.block_on(drive_run(machine, world, &mut journal, stream, seen))?)
}
