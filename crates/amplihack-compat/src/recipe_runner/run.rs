//! A run under the predecessor's flags, exit codes and texts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_config::agent_binary::{
    AgentSource, SystemLiveness, has_context_file, resolve_in, validate_name,
};
use amplihack_config::env::Env;
use amplihack_config::launcher_context::new_session_id;
use amplihack_recipe::audit::RecipeAudit;
use amplihack_recipe::context::RecipeContext;
use amplihack_recipe::find::RecipeDiscovery;
use amplihack_recipe::inputs::RecipeInputs;
use amplihack_recipe::journal::RecipeRunEntry;
use amplihack_recipe::plan::{CompileError, Plan, PlanCompileMode, compile_plan, describe_plan};
use amplihack_recipe::progress::{ProgressLines, TransitionLog};
use amplihack_recipe::result::{RunResult, StepResult, render_report};
use amplihack_recipe::run::{
    AgentDoor, CompletedRecipeWork, RateLimitRetry, RecipeExecution, RecipeRunSettings, StepLauncherProgram,
    check_depth, dry_run, execute_run,
};
use amplihack_session::InterruptSignals;
use amplihack_setup::shim::{CopilotShim, CopilotShimLink, missing_shim_warning};
use amplihack_sys as sys;

use super::args::RunnerRunArgs;
use super::{ARGUMENTS, NOT_FOUND, PARSE, print_message, write_stdout};

/// The predecessor's limits, but for steps: its 200 stopped plain recipes.
const MAX_DEPTH: u32 = 6;
const MAX_STEPS: u32 = 1000;
/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// The message for a person, and the exit code.
type RunnerRefusal = (String, u8);

pub(crate) fn run_recipe(args: &RunnerRunArgs, env: &Env) -> u8 {
    match try_run(args, env) {
        Ok(code) => code,
        Err((text, code)) => {
            print_message(&format!("error: {text}"));
            code
        }
    }
}

fn try_run(args: &RunnerRunArgs, env: &Env) -> Result<u8, RunnerRefusal> {
    let Some(recipe) = &args.recipe else {
        return Err((
            "no recipe is named; give a file or a name, or see `recipe-runner-rs list`".to_owned(),
            ARGUMENTS,
        ));
    };
    let here = std::env::current_dir()
        .map_err(|error| (format!("the working directory is not known: {error}"), 1))?;
    let given = RecipeInputs::read(
        &args.set,
        args.context_file.as_deref().map(|file| here.join(file)).as_deref(),
        env,
    )
    .map_err(|error| (error.to_string(), ARGUMENTS))?;
    let cwd = here.join(&args.working_dir);
    let cwd = cwd.canonicalize().map_err(|error| {
        (format!("the working directory {} cannot be used: {error}; check -C", cwd.display()), 1)
    })?;
    let dirs: Vec<PathBuf> = args.recipe_dir.iter().map(|dir| here.join(dir)).collect();
    let discovery = RecipeDiscovery::new(env, &cwd, &dirs);
    let entry = discovery.find_entry(recipe, &here).map_err(|error| (error.to_string(), NOT_FOUND))?;
    // As the predecessor: a bad condition or a missing sub-recipe fails its step, not the file.
    let plan = match compile_plan(&entry, &discovery, PlanCompileMode::AsPredecessor, &given.input_names()) {
        Ok(plan) => plan,
        Err(error) => return report_compile_error(args, &entry, &error),
    };
    if args.validate_only {
        return Ok(print_valid(&plan));
    }
    for warning in &plan.warnings {
        print_message(&warning.to_string());
    }
    if args.explain {
        return Ok(u8::from(!write_stdout(|out| out.write_all(describe_plan(&plan).as_bytes()))));
    }
    let context = given.apply_over(&plan.root().recipe.context, env);
    let settings = run_settings(args, env, cwd)?;
    if args.dry_run {
        return Ok(dry_run(plan, settings, context).map_or(1, |result| print_result(args, &result)));
    }
    start_run(args, env, plan, settings, context)
}

/// Reports a recipe that cannot be compiled.
fn report_compile_error(
    args: &RunnerRunArgs,
    entry: &Path,
    error: &CompileError,
) -> Result<u8, RunnerRefusal> {
    match error {
        CompileError::NotFound(_) | CompileError::File { .. } => Err((error.to_string(), NOT_FOUND)),
        CompileError::Invalid(_) => Err((format!("failed to parse the recipe:\n{error}"), PARSE)),
        CompileError::Extends(_) => {
            print_message(&format!("error: {error}"));
            let name = entry.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Ok(print_result(args, &failed_result(name, Vec::new())))
        }
    }
}

fn failed_result(recipe_name: String, step_results: Vec<StepResult>) -> RunResult {
    RunResult {
        run_id: String::new(),
        recipe_name,
        success: false,
        interrupted: None,
        step_results,
        context: RecipeContext::new(),
        duration: 0.0,
        usage: None,
        bound: None,
    }
}

fn print_valid(plan: &Plan) -> u8 {
    let recipe = &plan.root().recipe;
    let written = write_stdout(|out| {
        writeln!(out, "{}: valid ({} steps)", recipe.name, recipe.steps.len())?;
        for warning in &plan.warnings {
            writeln!(out, "{warning}")?;
        }
        Ok(())
    });
    u8::from(!written)
}

fn run_settings(args: &RunnerRunArgs, env: &Env, cwd: PathBuf) -> Result<RecipeRunSettings, RunnerRefusal> {
    let id = new_session_id()
        .map_err(|error| (format!("an id for the run could not be generated: {error}"), 1))?;
    Ok(RecipeRunSettings {
        run_id: id.to_string(),
        cwd,
        dry_run: args.dry_run,
        auto_stage: !args.no_auto_stage,
        include_tags: args.include_tags.clone(),
        exclude_tags: args.exclude_tags.clone(),
        step_timeout: None,
        max_depth: MAX_DEPTH,
        max_total_steps: MAX_STEPS,
        retry: retry_settings(env),
        done: CompletedRecipeWork::default(),
    })
}

fn retry_settings(env: &Env) -> RateLimitRetry {
    let number = |name: &str| env.text(name).and_then(|text| text.trim().parse::<u64>().ok());
    let usual = RateLimitRetry::default();
    let seconds = |name: &str, usual| number(name).map_or(usual, Duration::from_secs);
    RateLimitRetry {
        times: number("AMPLIHACK_RATELIMIT_MAX_RETRIES")
            .map_or(usual.times, |times| u32::try_from(times.min(100)).unwrap_or(100)),
        base: seconds("AMPLIHACK_RATELIMIT_BASE_DELAY_SECS", usual.base),
        longest: seconds("AMPLIHACK_RATELIMIT_MAX_DELAY_SECS", usual.longest),
        fallback_auto: env
            .text("AMPLIHACK_RATELIMIT_FALLBACK_AUTO_MODEL")
            .is_some_and(|text| !text.is_empty()),
    }
}

/// The agent that is named, else the one in charge. The predecessor's default is Claude Code, where nothing says which.
fn resolve_agent(args: &RunnerRunArgs, env: &Env, cwd: &Path) -> Result<AgentBinary, RunnerRefusal> {
    if let Some(name) = &args.agent_binary {
        return validate_name(name)
            .map_err(|reason| (format!("the value of --agent-binary {reason}"), PARSE));
    }
    let (live, now) = (SystemLiveness::new(env), jiff::Timestamp::now());
    let resolved = resolve_in(cwd, env, &live, now);
    if amplihack_sys::sabotage::is_active("routing-recipe-runner") {
        return Ok(AgentBinary::Claude);
    }
    let is_silent = resolved.source == AgentSource::Default && !has_context_file(cwd, env, &live, now);
    Ok(if is_silent { AgentBinary::Claude } else { resolved.agent })
}

fn agent_door(args: &RunnerRunArgs, env: &Env, cwd: &Path) -> Result<AgentDoor, RunnerRefusal> {
    let agent = resolve_agent(args, env, cwd)?;
    let program = env.get("AMPLIHACK_LAUNCHER_BINARY").filter(|name| !name.is_empty());
    let program = program.unwrap_or_else(|| "amplihack".as_ref());
    // The child is looked for in the PATH of this process, which is the child's.
    let allow_tools = env.get("AMPLIHACK_NO_ALLOW_ALL_TOOLS").is_none_or(std::ffi::OsStr::is_empty);
    Ok(AgentDoor::Launcher(StepLauncherProgram { program: program.to_owned(), agent, allow_tools }))
}

fn start_run(
    args: &RunnerRunArgs,
    env: &Env,
    plan: Plan,
    settings: RecipeRunSettings,
    context: RecipeContext,
) -> Result<u8, RunnerRefusal> {
    let limit = env.text("AMPLIHACK_MAX_DEPTH").filter(|text| !text.is_empty());
    let limit = match limit {
        None => u64::from(MAX_DEPTH),
        Some(text) => text.trim().parse().map_err(|_| {
            (format!("AMPLIHACK_MAX_DEPTH is {text:?} and not a number; unset it or give one"), 1)
        })?,
    };
    let deep = check_depth(env, limit).map_err(|error| (error.to_string(), 1))?;
    let door = agent_door(args, env, &settings.cwd)?;
    let mut env = env.clone();
    // Dropped after the run: scripts that call Copilot as if it were Claude are understood while it goes on.
    let _shim = install_shim(door.agent(), &settings.run_id, &mut env);
    let env = &env;
    let name = plan.root().recipe.name.clone();
    let mut lines = ProgressLines::new(door.agent().name(), args.progress);
    let mut log = args.progress.then(|| transition_log(env, &name)).flatten();
    if let Some(log) = &log {
        print_message(&format!("[amplihack] recipe log: {}", log.path().display()));
    }
    let audit = args.audit_dir.as_ref().map(|dir| RecipeAudit::new(dir, &settings.run_id)).transpose();
    let mut audit =
        audit.map_err(|error| (format!("the audit cannot be written: {error}; check --audit-dir"), 1))?;
    let execution = RecipeExecution {
        plan,
        settings,
        context,
        asked: serde_json::Value::Null,
        given: RecipeInputs::default(),
        lock: None,
        env: env.clone(),
        home: env.amplihack_home(),
        door,
        depth: (deep, limit),
        grace: GRACE,
        interrupts: InterruptSignals::listen_from_now(),
        bounds: None,
    };
    let mut seen = |entry: &RecipeRunEntry| {
        let text = lines.render_entry(entry);
        if !text.is_empty() {
            print_message(text.trim_end());
        }
        let logged = log.as_mut().map_or(Ok(()), |log| log.record_entry(entry));
        let audited = audit.as_mut().map_or(Ok(()), |audit| audit.record_entry(entry));
        if let Err(error) = logged.and(audited) {
            print_message(&format!("warning: the log or the audit of the run could not be written: {error}"));
        }
    };
    let result = execute_run(execution, &mut seen).map_err(|error| (error.to_string(), 1))?;
    Ok(print_result(args, &result))
}

/// Puts Copilot's stand-in first on PATH, if Copilot is the agent and `amplihack` lies beside this program.
fn install_shim(agent: AgentBinary, run_id: &str, env: &mut Env) -> Option<CopilotShimLink> {
    let home = env.amplihack_home().filter(|_| agent == AgentBinary::Copilot)?;
    let program = sys::own_file().ok()?.with_file_name("amplihack");
    let stand_in = CopilotShim::of_run(&home, run_id, program);
    if !stand_in.program.is_file() {
        return None;
    }
    stand_in.put_first(env).unwrap_or_else(|error| {
        print_message(&format!("warning: {}", missing_shim_warning(&error)));
        None
    })
}

fn transition_log(env: &Env, name: &str) -> Option<TransitionLog> {
    let directory = env.temporary_dir();
    match TransitionLog::create_in(&directory, name) {
        Ok(log) => Some(log),
        Err(error) => {
            print_message(&format!("warning: no log of the run in {}: {error}", directory.display()));
            None
        }
    }
}

/// Prints the result and returns the exit code.
fn print_result(args: &RunnerRunArgs, result: &RunResult) -> u8 {
    let written = write_stdout(|out| {
        if args.output_format == "json" {
            serde_json::to_writer_pretty(&mut *out, result)?;
            writeln!(out)
        } else {
            out.write_all(
                render_report(&result.recipe_name, result.success, &result.step_results, result.duration)
                    .as_bytes(),
            )
        }
    });
    match result.interrupted {
        Some(signal) => u8::try_from(128 + signal).unwrap_or(1),
        None => u8::from(!(written && result.success)),
    }
}
