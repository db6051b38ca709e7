//! `recipe run`: a new run, or one that goes on.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use amplihack_agent::event::UsageTotals;
use amplihack_agent::{AgentBinary, PermissionLevel, agent_profile};
use amplihack_config::LayeredConfig;

use amplihack_config::env::Env;
use amplihack_config::launcher_context::new_session_id;
use amplihack_launcher::budget::{RunBudget, TokenPrices, count_tokens};
use amplihack_launcher::discover::ChosenAgent;
use amplihack_launcher::own_program;
use amplihack_launcher::prompt_delivery::requested_delivery;
use amplihack_orchestration::AutoError;
use amplihack_recipe::audit::RecipeAudit;
use amplihack_recipe::context::RecipeContext;
use amplihack_recipe::inputs::RecipeInputs;
use amplihack_recipe::journal::{RecipeRunEntry, RecordedRecipeRun, runs_directory as journal_runs};
use amplihack_recipe::model::StepKind;
use amplihack_recipe::plan::{Plan, PlanCompileMode, compile_plan};
use amplihack_recipe::progress::{ProgressLines, ProgressObjects};
use amplihack_recipe::result::{RunResult, render_report};
use amplihack_recipe::resume;
use amplihack_recipe::run::{
    AgentDoor, CompletedRecipeWork, RateLimitRetry, RecipeBounds, RecipeExecution, RecipeRunSettings,
    StepLaunchConfig, check_depth, dry_run, execute_run, plan_sources, replay_run, total_usage,
};
use amplihack_session::InterruptSignals;
use amplihack_session::step::StepSpool;
use amplihack_setup::shim::missing_shim_warning;
use amplihack_sys::error::ExitKind;
use amplihack_sys::lock::{FileLock, LockError};
use amplihack_sys::push_line;
use serde::{Deserialize, Serialize};

use super::{
    RecipeProgressFormat, RecipeRunArgs, ResultFormat, compile_failure, copilot_shim, not_found,
    recipe_discovery, runs, yaml,
};
use crate::cli::PermissionLevelArg;
use crate::commands::current_dir;
use crate::ui::{self, CommandFailure};

/// Recipes inside recipes, and steps in all, where a recipe does not say.
const MAX_DEPTH: u32 = 16;
const MAX_STEPS: u32 = 5000;

/// The options of a run. They are kept with the run, so that a resume asks for nothing else.
#[derive(Debug, Serialize, Deserialize)]
struct RecipeRunRequest {
    agent: AgentBinary,
    permissions: Option<String>,
    no_hooks: bool,
    auto_stage: bool,
    step_timeout: Option<Duration>,
    recipe_dirs: Vec<PathBuf>,
    include_tags: Vec<String>,
    exclude_tags: Vec<String>,
    #[serde(default)]
    budget: RunBudget,
    #[serde(default)]
    deadline: Option<Duration>,
}

/// A run that is ready to start, new or resumed.
struct PreparedRecipeRun {
    asked: RecipeRunRequest,
    given: RecipeInputs,
    /// A run that goes on is this process's.
    lock: Option<FileLock>,
    entry: PathBuf,
    cwd: PathBuf,
    run_id: String,
    done: CompletedRecipeWork,
    plan: Plan,
}

pub(super) fn run_recipe(args: &RecipeRunArgs, env: &Env) -> Result<u8, CommandFailure> {
    // Before anything is written: no signal is missed from here to the end.
    let interrupts = InterruptSignals::listen_from_now();
    if !args.dry_run {
        crate::commands::check_open_files(1)?;
    }
    let here = current_dir()?;
    let config = LayeredConfig::load(env, &here, &[])?;
    crate::commands::config::show_warnings(&config);
    let wanted = match &args.resume {
        Some(id) => {
            let found = runs::find_run(env, id)?;
            if found.state() == "completed" {
                return print_recorded_result(&found, args, env);
            }
            prepare_resume(found, env, &config)?
        }
        None => prepare_run(args, env, &here)?,
    };
    for warning in wanted.plan.warnings.iter().filter(|_| args.resume.is_none()) {
        ui::print_line(&warning.to_string());
    }
    let context = wanted.given.apply_over(&wanted.plan.root().recipe.context, env);
    if args.dry_run {
        let settings = run_settings(&wanted.asked, wanted.run_id, wanted.cwd, wanted.done);
        return dry_run(wanted.plan, settings, context)
            .map_or(Ok(1), |result| print_result(&result, args.format));
    }
    start_run(args, wanted, context, env, config, interrupts)
}

fn prepare_run(args: &RecipeRunArgs, env: &Env, here: &Path) -> Result<PreparedRecipeRun, CommandFailure> {
    let file = args.context_file.as_ref().map(|file| here.join(file));
    let given = RecipeInputs::read(&args.set, file.as_deref(), env)
        .map_err(|error| CommandFailure::bad_usage(error.to_string(), "see `amplihack recipe run --help`"))?;
    let cwd = here.join(&args.working_dir);
    let no_directory = || std::io::ErrorKind::NotADirectory.into();
    let directory =
        cwd.canonicalize().and_then(|cwd| if cwd.is_dir() { Ok(cwd) } else { Err(no_directory()) });
    let cwd = directory.map_err(|error| {
        CommandFailure::from_io_error(
            &format!("the working directory {} cannot be used", cwd.display()),
            &error,
        )
    })?;
    let config = LayeredConfig::load(env, &cwd, &[])?;
    let chosen = match args.agent {
        Some(agent) => ChosenAgent { agent, instead_of: None },
        None => ChosenAgent::find_here(&cwd, env, &config),
    };
    let agent = chosen.agent;
    let agent =
        if amplihack_sys::sabotage::is_active("routing-recipe-agent") { AgentBinary::DEFAULT } else { agent };
    let recipe_dirs = args.recipe_dir.iter().map(|dir| here.join(dir)).collect();
    let asked = RecipeRunRequest {
        agent,
        permissions: args.permissions.map(|level| PermissionLevel::from(level).to_string()),
        no_hooks: args.no_hooks,
        auto_stage: args.auto_stage,
        step_timeout: args.step_timeout,
        recipe_dirs,
        include_tags: args.include_tags.clone(),
        exclude_tags: args.exclude_tags.clone(),
        budget: RunBudget { tokens: args.budget_tokens, usd: args.budget_usd },
        deadline: args.deadline,
    };
    let discovery = recipe_discovery(env, here, &cwd, &asked.recipe_dirs);
    let name = args.recipe.as_deref().unwrap_or_default();
    let entry = discovery.find_entry(name, here).map_err(|error| not_found(&error.to_string()))?;
    let plan = compile_plan(&entry, &discovery, PlanCompileMode::Strict, &given.input_names())
        .map_err(|error| compile_failure(&error))?;
    let mut steps = plan.recipes.iter().flat_map(|planned| &planned.recipe.steps);
    // Only where an agent is started at all: a recipe of scripts needs none.
    if chosen.instead_of.is_some() && steps.any(|step| matches!(step.kind, StepKind::Agent { .. })) {
        ui::print_note("note", chosen);
    }
    let run_id = new_session_id()
        .map_err(|error| CommandFailure::from_io_error("an id for the run could not be generated", &error))?;
    Ok(PreparedRecipeRun {
        asked,
        given,
        lock: None,
        entry,
        cwd,
        run_id: run_id.to_string(),
        done: CompletedRecipeWork::default(),
        plan,
    })
}

/// A run that goes on: what its dead runner left is ended first.
fn prepare_resume(
    found: RecordedRecipeRun,
    env: &Env,
    config: &LayeredConfig,
) -> Result<PreparedRecipeRun, CommandFailure> {
    let failed =
        |message: String, hint: &str| CommandFailure::new("cannot_resume", message, hint, ExitKind::Failed);
    check_resumable(&found)?;
    let lock = resume::lock_run(&found.directory).map_err(|error| match error {
        LockError::Busy { .. } => failed(
            format!("the run {} is being resumed by another process: {error}", found.header.run_id),
            "wait until it has ended",
        ),
        other => failed(other.to_string(), "start it again with `amplihack recipe run`"),
    })?;
    // Another resume may have had it in between.
    let run = RecordedRecipeRun::read(&found.directory)
        .map_err(|error| failed(error.to_string(), "start it again with `amplihack recipe run`"))?
        .unwrap_or(found);
    check_resumable(&run)?;
    let (asked, given, plan) = recorded_plan(&run, env)?;
    let survivors = resume::end_leftovers(&run, config.stop_grace()).map_err(|error| {
        CommandFailure::from_io_error("processes left by the earlier, dead runner could not be ended", &error)
    })?;
    if !survivors.is_empty() {
        let names: Vec<String> = survivors.iter().map(ToString::to_string).collect();
        let message = format!("what the dead runner left cannot be ended: {}", names.join(", "));
        return Err(failed(message, "end these processes by hand, then try again"));
    }
    let done = completed_steps(&run, env)?;
    let header = &run.header;
    Ok(PreparedRecipeRun {
        asked,
        given,
        lock: Some(lock),
        entry: header.recipe.clone(),
        cwd: header.cwd.clone(),
        run_id: header.run_id.clone(),
        done,
        plan,
    })
}

/// Prints the result of a run that is complete. Nothing is started and nothing written.
fn print_recorded_result(
    run: &RecordedRecipeRun,
    args: &RecipeRunArgs,
    env: &Env,
) -> Result<u8, CommandFailure> {
    let (asked, given, plan) = recorded_plan(run, env)?;
    let context = given.apply_over(&plan.root().recipe.context, env);
    let (id, cwd) = (run.header.run_id.clone(), run.header.cwd.clone());
    let result = replay_run(plan, run_settings(&asked, id, cwd, completed_steps(run, env)?), context)
        .ok_or_else(|| {
            let message = format!("the journal of the run {} is incomplete", run.header.run_id);
            CommandFailure::new(
                "journal_damaged",
                message,
                "`amplihack recipe runs show` shows what it has",
                ExitKind::Failed,
            )
        })?;
    let duration = run.last.duration_since(run.began).as_secs_f64();
    print_result(&RunResult { duration, ..result }, args.format)
}

/// Returns the options and the plan that are recorded for `run`, if its recipes are what they were.
fn recorded_plan(
    run: &RecordedRecipeRun,
    env: &Env,
) -> Result<(RecipeRunRequest, RecipeInputs, Plan), CommandFailure> {
    let failed =
        |message: String, hint: &str| CommandFailure::new("cannot_resume", message, hint, ExitKind::Failed);
    let header = &run.header;
    let id = &header.run_id;
    let asked: RecipeRunRequest = serde_json::from_value(header.asked.clone()).map_err(|_| {
        let message = format!("the run {id} was started by another command, or by another version");
        failed(message, "start it again with `amplihack recipe run`")
    })?;
    let given = run
        .load_inputs()
        .map_err(|error| failed(error.to_string(), "start it again with `amplihack recipe run`"))?;
    let discovery = recipe_discovery(env, &header.cwd, &header.cwd, &asked.recipe_dirs);
    let plan = compile_plan(&header.recipe, &discovery, PlanCompileMode::Strict, &given.input_names())
        .map_err(|error| compile_failure(&error))?;
    let now = plan_sources(&plan);
    if let Some((path, _)) = now.iter().find(|found| !header.sources.contains(found)) {
        let message = format!("{} is not as it was when the run {id} began", path.display());
        return Err(failed(
            message,
            "put it back, or start a new run; `amplihack recipe runs show` has what was done",
        ));
    }
    Ok((asked, given, plan))
}

/// Returns the steps that `run` has completed.
fn completed_steps(run: &RecordedRecipeRun, env: &Env) -> Result<CompletedRecipeWork, CommandFailure> {
    let spool = StepSpool::open(&run.directory.join("steps"))
        .map_err(|error| CommandFailure::from_io_error("the run's directory cannot be used", &error))?;
    Ok(resume::completed_work(run, &spool, env.amplihack_home().as_deref()))
}

/// Refuses a run that is going on, or is done.
fn check_resumable(run: &RecordedRecipeRun) -> Result<(), CommandFailure> {
    let id = &run.header.run_id;
    let (message, hint) = match run.state() {
        "running" => (
            format!("the run {id} is running, as process {}", run.header.pid),
            "wait for its end, or end that process",
        ),
        "completed" => (format!("the run {id} is complete"), "start a new one with `amplihack recipe run`"),
        _ => return Ok(()),
    };
    Err(CommandFailure::new("cannot_resume", message, hint, ExitKind::Failed))
}

fn run_settings(
    asked: &RecipeRunRequest,
    run_id: String,
    cwd: PathBuf,
    done: CompletedRecipeWork,
) -> RecipeRunSettings {
    RecipeRunSettings {
        run_id,
        cwd,
        dry_run: false,
        auto_stage: asked.auto_stage,
        include_tags: asked.include_tags.clone(),
        exclude_tags: asked.exclude_tags.clone(),
        step_timeout: asked.step_timeout,
        max_depth: MAX_DEPTH,
        max_total_steps: MAX_STEPS,
        retry: RateLimitRetry::default(),
        done,
    }
}

fn start_run(
    args: &RecipeRunArgs,
    wanted: PreparedRecipeRun,
    context: RecipeContext,
    env: &Env,
    config: LayeredConfig,
    interrupts: InterruptSignals,
) -> Result<u8, CommandFailure> {
    let PreparedRecipeRun { asked, given, lock, entry, cwd, run_id, done, plan } = wanted;
    let limit = u64::from(config.max_depth());
    let deep = check_depth(env, limit).map_err(|error| {
        CommandFailure::new("too_deep", error.to_string(), "a recipe cannot start itself", ExitKind::Failed)
    })?;
    let name = plan.root().recipe.name.clone();
    let show = args.progress == RecipeProgressFormat::Lines;
    if show {
        ui::print_line(&format!("[amplihack] recipe-runner --- starting: {name}"));
        ui::print_line(&format!("[amplihack] recipe-runner --- executing: {name}"));
        ui::print_line(&format!("run {run_id} of {}", entry.display()));
    }
    let grace = config.stop_grace();
    let bounds = Rc::new(run_bounds(&asked, args, &config, &done.used)?);
    let mut own = StepLaunchConfig::new(asked.agent, config);
    own.requested = requested_delivery(&own.config);
    if amplihack_sys::sabotage::is_active("delivery-recipe-mode") {
        own.requested = amplihack_config::prompt_delivery::PromptDelivery::Auto;
    }
    own.permissions = asked.permissions.as_deref().and_then(parse_level);
    if !asked.no_hooks {
        let program = own_program();
        own.guard = Some(program.map_err(|error| {
            CommandFailure::from_io_error("the guard's program could not be found", &error)
        })?);
    }
    let audit = args.audit_dir.as_ref().map(|dir| RecipeAudit::new(dir, &run_id)).transpose();
    let mut audit = audit.map_err(|error| {
        let directory = args.audit_dir.as_deref().unwrap_or(Path::new(".")).display();
        CommandFailure::from_io_error(&format!("no audit can be written into {directory}"), &error)
    })?;
    let (mut lines, mut objects) = (ProgressLines::new(asked.agent.name(), show), ProgressObjects::default());
    let jsonl = args.progress == RecipeProgressFormat::Jsonl;
    let mut seen = |entry: &RecipeRunEntry| {
        if jsonl {
            if let Some(object) = objects.entry_object(entry) {
                ui::print_line(&object.to_string());
            }
        } else {
            let text = lines.render_entry(entry);
            if !text.is_empty() {
                ui::print_line(text.trim_end());
            }
        }
        if let Some(Err(error)) = audit.as_mut().map(|audit| audit.record_entry(entry)) {
            ui::print_note("warning", format!("the audit could not be written: {error}"));
        }
    };
    let kept = serde_json::to_value(&asked)
        .map_err(|error| CommandFailure::bad_input(format!("what is asked for has no JSON form: {error}")))?;
    let (mut env, home) = (env.clone(), env.amplihack_home());
    // Dropped after the run: scripts that call Copilot as if it were Claude are understood while it goes on.
    let stand_in = if asked.agent == AgentBinary::Copilot { copilot_shim(&env, &run_id)? } else { None };
    let _shim = stand_in.and_then(|shim| {
        shim.put_first(&mut env).unwrap_or_else(|error| {
            ui::print_note("warning", missing_shim_warning(&error));
            None
        })
    });
    let settings = run_settings(&asked, run_id.clone(), cwd, done);
    let execution = RecipeExecution {
        settings,
        plan,
        context,
        asked: kept,
        given,
        lock,
        home: home.clone(),
        env,
        door: AgentDoor::Own(Box::new(own)),
        depth: (deep, limit),
        grace,
        interrupts,
        bounds: Some(Rc::clone(&bounds)),
    };
    let result = execute_run(execution, &mut seen).map_err(|error| {
        let hint = "fix the cause; `amplihack recipe runs list` shows runs that can be resumed";
        CommandFailure::new("run_failed", error.to_string(), hint, ExitKind::Failed)
    })?;
    let bound = bounds.ended_by().filter(|_| !result.success);
    let code = print_result(&RunResult { bound, ..result.clone() }, args.format)?;
    // Values that were refused before the first step begin no run.
    let kept = home.is_some_and(|home| journal_runs(&home).join(&run_id).is_dir());
    if !result.success && kept {
        ui::print_note(
            "hint",
            format!("`amplihack recipe run --resume {run_id}` continues with the unfinished steps"),
        );
    }
    Ok(code)
}

/// Returns the budget and deadline of the run's agents: as it was begun, unless a resume gives others.
fn run_bounds(
    asked: &RecipeRunRequest,
    args: &RecipeRunArgs,
    config: &LayeredConfig,
    earlier: &UsageTotals,
) -> Result<RecipeBounds, CommandFailure> {
    let agent = asked.agent;
    let budget = RunBudget {
        tokens: args.budget_tokens.or(asked.budget.tokens),
        usd: args.budget_usd.or(asked.budget.usd),
    };
    let prices =
        TokenPrices::from_config(config, agent).map_err(|source| AutoError::Prices { agent, source })?;
    if budget.usd.is_some() && prices.is_none() && !agent_profile(agent).counts.dollars {
        return Err(AutoError::NoPrice { agent }.into());
    }
    let prices = prices.map(|prices| (agent, prices)).into_iter().collect();
    Ok(RecipeBounds::new(budget, prices, args.deadline.or(asked.deadline), earlier))
}

fn parse_level(name: &str) -> Option<PermissionLevel> {
    [PermissionLevelArg::Ask, PermissionLevelArg::Edit, PermissionLevelArg::Full]
        .map(PermissionLevel::from)
        .into_iter()
        .find(|level| level.to_string() == name)
}

/// Prints the result and returns the exit code.
fn print_result(result: &RunResult, format: ResultFormat) -> Result<u8, CommandFailure> {
    let used = total_usage(&result.step_results);
    let result = &RunResult { usage: used.has_tokens().then_some(used), ..result.clone() };
    let failed =
        |error: serde_json::Error| CommandFailure::bad_input(format!("the result has no JSON form: {error}"));
    match format {
        ResultFormat::Table => {
            let mut text =
                render_report(&result.recipe_name, result.success, &result.step_results, result.duration);
            if let Some(used) = &result.usage {
                let cost = used.cost_usd.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
                push_line!(text, "  agents used {} tokens{cost}", count_tokens(used));
            }
            if let Some(bound) = &result.bound {
                push_line!(text, "  ended: {bound}");
            }
            ui::print_visible(&text)?;
        }
        ResultFormat::Json => ui::stream_stdout(|out| {
            serde_json::to_writer_pretty(&mut *out, result)?;
            writeln!(out)
        })?,
        ResultFormat::Yaml => {
            ui::print_data(&yaml::render_yaml(&serde_json::to_value(result).map_err(failed)?))?;
        }
    }
    Ok(match result.interrupted {
        Some(signal) => u8::try_from(128 + signal).unwrap_or(1),
        None if result.success => 0,
        None if result.bound.is_some() => ExitKind::Budget.code(),
        None => ExitKind::Failed.code(),
    })
}
