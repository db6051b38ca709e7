//! A run under the predecessor's flags, exit codes and texts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_launcher::copilot::shim::Shim;
use amplihack_recipe::audit::Audit;
use amplihack_recipe::bridge::CopilotShim;
use amplihack_recipe::context::Context;
use amplihack_recipe::find::Discovery;
use amplihack_recipe::given::Given;
use amplihack_recipe::journal::Entry;
use amplihack_recipe::plan::{CompileError, Mode, Plan, compile, describe};
use amplihack_recipe::progress::{Lines, TransitionLog};
use amplihack_recipe::result::{RunResult, StepResult, report};
use amplihack_recipe::run::{AgentDoor, Done, Execution, Launcher, Retry, Settings, depth, dry_run, execute};
use amplihack_session::Interrupts;
use amplihack_utils::agent_binary::{Source, System, has_context_file, resolve_in, validate};
use amplihack_utils::env::Env;
use amplihack_utils::launcher_context::new_session_id;
use amplihack_utils::sys;

use crate::args::RunArgs;
use crate::{ARGUMENTS, NOT_FOUND, PARSE, data, tell};

/// The predecessor's limits, but for steps: its 200 stopped plain recipes.
const MAX_DEPTH: u32 = 6;
const MAX_STEPS: u32 = 1000;
/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// What is said, and the exit code.
type Refusal = (String, u8);

pub(crate) fn run(args: &RunArgs, env: &Env) -> u8 {
    match try_run(args, env) {
        Ok(code) => code,
        Err((text, code)) => {
            tell(&format!("error: {text}"));
            code
        }
    }
}

fn try_run(args: &RunArgs, env: &Env) -> Result<u8, Refusal> {
    let Some(recipe) = &args.recipe else {
        return Err((
            "no recipe is named; give a file or a name, or see `recipe-runner-rs list`".to_owned(),
            ARGUMENTS,
        ));
    };
    let here = std::env::current_dir()
        .map_err(|error| (format!("the working directory is not known: {error}"), 1))?;
    let given =
        Given::read(&args.set, args.context_file.as_deref().map(|file| here.join(file)).as_deref(), env)
            .map_err(|error| (error.to_string(), ARGUMENTS))?;
    let cwd = here.join(&args.working_dir);
    let cwd = cwd.canonicalize().map_err(|error| {
        (format!("the working directory {} cannot be used: {error}; check -C", cwd.display()), 1)
    })?;
    let dirs: Vec<PathBuf> = args.recipe_dir.iter().map(|dir| here.join(dir)).collect();
    let discovery = Discovery::new(env, &cwd, &dirs);
    let entry = discovery.entry(recipe, &here).map_err(|error| (error.to_string(), NOT_FOUND))?;
    let plan = match compile(&entry, &discovery, Mode::AsPredecessor, &given.names()) {
        Ok(plan) => plan,
        Err(error) => return refused(args, &entry, &error),
    };
    if args.validate_only {
        return Ok(validated(&plan));
    }
    for warning in &plan.warnings {
        tell(&warning.to_string());
    }
    if args.explain {
        return Ok(u8::from(!data(|out| out.write_all(describe(&plan).as_bytes()))));
    }
    let context = given.over(&plan.root().recipe.context, env);
    let settings = settings(args, env, cwd)?;
    if args.dry_run {
        return Ok(dry_run(plan, settings, context).map_or(1, |result| shown(args, &result)));
    }
    start(args, env, plan, settings, context)
}

/// What a recipe that cannot be compiled ends with.
fn refused(args: &RunArgs, entry: &Path, error: &CompileError) -> Result<u8, Refusal> {
    match error {
        CompileError::NotFound(_) | CompileError::File { .. } => Err((error.to_string(), NOT_FOUND)),
        CompileError::Invalid(_) => Err((format!("failed to parse the recipe:\n{error}"), PARSE)),
        CompileError::Extends(_) => {
            tell(&format!("error: {error}"));
            let name = entry.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Ok(shown(args, &ended(name, Vec::new())))
        }
    }
}

fn ended(recipe_name: String, step_results: Vec<StepResult>) -> RunResult {
    RunResult {
        run_id: String::new(),
        recipe_name,
        success: false,
        interrupted: None,
        step_results,
        context: Context::new(),
        duration: 0.0,
        usage: None,
        bound: None,
    }
}

fn validated(plan: &Plan) -> u8 {
    let recipe = &plan.root().recipe;
    let written = data(|out| {
        writeln!(out, "{}: valid ({} steps)", recipe.name, recipe.steps.len())?;
        for warning in &plan.warnings {
            writeln!(out, "{warning}")?;
        }
        Ok(())
    });
    u8::from(!written)
}

fn settings(args: &RunArgs, env: &Env, cwd: PathBuf) -> Result<Settings, Refusal> {
    let id = new_session_id().map_err(|error| (format!("no id for the run could be made: {error}"), 1))?;
    Ok(Settings {
        run_id: id.to_string(),
        cwd,
        dry_run: args.dry_run,
        auto_stage: !args.no_auto_stage,
        include_tags: args.include_tags.clone(),
        exclude_tags: args.exclude_tags.clone(),
        step_timeout: None,
        max_depth: MAX_DEPTH,
        max_total_steps: MAX_STEPS,
        retry: retry(env),
        done: Done::default(),
    })
}

fn retry(env: &Env) -> Retry {
    let number = |name: &str| env.text(name).and_then(|text| text.trim().parse::<u64>().ok());
    let usual = Retry::default();
    let seconds = |name: &str, usual| number(name).map_or(usual, Duration::from_secs);
    Retry {
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
fn agent(args: &RunArgs, env: &Env, cwd: &Path) -> Result<AgentBinary, Refusal> {
    if let Some(name) = &args.agent_binary {
        return validate(name).map_err(|reason| (format!("the value of --agent-binary {reason}"), PARSE));
    }
    let (live, now) = (System::new(env), jiff::Timestamp::now());
    let resolved = resolve_in(cwd, env, &live, now);
    if amplihack_utils::sabotage::active("routing-recipe-runner") {
        return Ok(AgentBinary::Claude);
    }
    let is_silent = resolved.source == Source::Default && !has_context_file(cwd, env, &live, now);
    Ok(if is_silent { AgentBinary::Claude } else { resolved.agent })
}

fn door(args: &RunArgs, env: &Env, cwd: &Path) -> Result<AgentDoor, Refusal> {
    let agent = agent(args, env, cwd)?;
    let program = env.get("AMPLIHACK_LAUNCHER_BINARY").filter(|name| !name.is_empty());
    let program = program.unwrap_or_else(|| "amplihack".as_ref());
    // The child is looked for in the PATH of this process, which is the child's.
    let allow_tools = env.get("AMPLIHACK_NO_ALLOW_ALL_TOOLS").is_none_or(std::ffi::OsStr::is_empty);
    Ok(AgentDoor::Launcher(Launcher { program: program.to_owned(), agent, allow_tools }))
}

fn start(args: &RunArgs, env: &Env, plan: Plan, settings: Settings, context: Context) -> Result<u8, Refusal> {
    let limit = env.text("AMPLIHACK_MAX_DEPTH").filter(|text| !text.is_empty());
    let limit = match limit {
        None => u64::from(MAX_DEPTH),
        Some(text) => text.trim().parse().map_err(|_| {
            (format!("AMPLIHACK_MAX_DEPTH is {text:?} and not a number; unset it or give one"), 1)
        })?,
    };
    let deep = depth(env, limit).map_err(|error| (error, 1))?;
    let door = door(args, env, &settings.cwd)?;
    let mut env = env.clone();
    // Dropped after the run: scripts that call Copilot as if it were Claude are understood while it goes on.
    let _shim = shim(door.agent(), &settings.run_id, &mut env);
    let env = &env;
    let name = plan.root().recipe.name.clone();
    let mut lines = Lines::new(door.agent().name(), args.progress);
    let mut log = args.progress.then(|| transition_log(env, &name)).flatten();
    if let Some(log) = &log {
        tell(&format!("[amplihack] recipe log: {}", log.path().display()));
    }
    let audit = args.audit_dir.as_ref().map(|dir| Audit::new(dir, &settings.run_id)).transpose();
    let mut audit =
        audit.map_err(|error| (format!("the audit cannot be written: {error}; check --audit-dir"), 1))?;
    let execution = Execution {
        plan,
        settings,
        context,
        asked: serde_json::Value::Null,
        given: Given::default(),
        lock: None,
        env: env.clone(),
        home: env.amplihack_home(),
        door,
        depth: (deep, limit),
        grace: GRACE,
        interrupts: Interrupts::listen(),
        bounds: None,
    };
    let mut seen = |entry: &Entry| {
        let text = lines.of(entry);
        if !text.is_empty() {
            tell(text.trim_end());
        }
        let logged = log.as_mut().map_or(Ok(()), |log| log.see(entry));
        let audited = audit.as_mut().map_or(Ok(()), |audit| audit.see(entry));
        if let Err(error) = logged.and(audited) {
            tell(&format!("warning: the log or the audit of the run could not be written: {error}"));
        }
    };
    let result = execute(execution, &mut seen).map_err(|error| (error.to_string(), 1))?;
    Ok(shown(args, &result))
}

/// Puts Copilot's stand-in first on PATH, if Copilot is the agent and `amplihack` lies beside this program.
fn shim(agent: AgentBinary, run_id: &str, env: &mut Env) -> Option<Shim> {
    let home = env.amplihack_home().filter(|_| agent == AgentBinary::Copilot)?;
    let program = sys::own_file().ok()?.with_file_name("amplihack");
    let stand_in = CopilotShim { directory: home.join("shims").join(run_id), program };
    if !stand_in.program.is_file() {
        return None;
    }
    stand_in.put_first(env).unwrap_or_else(|error| {
        tell(&format!("warning: Copilot is called without its flags being normalised: {error}"));
        None
    })
}

fn transition_log(env: &Env, name: &str) -> Option<TransitionLog> {
    let directory = env.temporary_dir();
    match TransitionLog::create(&directory, name) {
        Ok(log) => Some(log),
        Err(error) => {
            tell(&format!("warning: no log of the run in {}: {error}", directory.display()));
            None
        }
    }
}

/// Prints the result and returns the exit code.
fn shown(args: &RunArgs, result: &RunResult) -> u8 {
    let written = data(|out| {
        if args.output_format == "json" {
            serde_json::to_writer_pretty(&mut *out, result)?;
            writeln!(out)
        } else {
            out.write_all(
                report(&result.recipe_name, result.success, &result.step_results, result.duration).as_bytes(),
            )
        }
    });
    match result.interrupted {
        Some(signal) => u8::try_from(128 + signal).unwrap_or(1),
        None => u8::from(!(written && result.success)),
    }
}
