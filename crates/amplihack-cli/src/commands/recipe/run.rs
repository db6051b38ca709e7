//! `recipe run`: a new run, or one that goes on.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use amplihack_agent::event::Totals;
use amplihack_agent::{AgentBinary, Permissions, profile};
use amplihack_launcher::budget::{Budget, Prices, tokens};
use amplihack_launcher::doctor::requested;
use amplihack_launcher::own_program;
use amplihack_orchestration::AutoError;
use amplihack_recipe::audit::Audit;
use amplihack_recipe::bridge::Notice;
use amplihack_recipe::context::Context;
use amplihack_recipe::given::Given;
use amplihack_recipe::journal::{Entry, Recorded, runs as journal_runs};
use amplihack_recipe::plan::{Mode, Plan, compile};
use amplihack_recipe::progress::{Lines, Objects};
use amplihack_recipe::result::{RunResult, report};
use amplihack_recipe::resume;
use amplihack_recipe::run::{
    AgentDoor, Done, Execution, Own, RecipeBounds, Retry, Settings, depth, dry_run, execute, replay, sources,
    usage,
};
use amplihack_session::Interrupts;
use amplihack_session::step::Spool;
use amplihack_utils::agent_binary::{System, resolve_in};
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use amplihack_utils::error::ExitKind;
use amplihack_utils::launcher_context::new_session_id;
use amplihack_utils::lock::{FileLock, LockError};
use serde::{Deserialize, Serialize};

use super::{Progress, ResultFormat, RunArgs, discovery, external, not_found, refused, runs, yaml};
use crate::cli::Level;
use crate::commands::current_dir;
use crate::ui::{self, Failure};

/// Recipes inside recipes, and steps in all, where a recipe does not say.
const MAX_DEPTH: u32 = 16;
const MAX_STEPS: u32 = 5000;

/// What a run was asked for. It is kept with the run, so that a resume asks the same.
#[derive(Debug, Serialize, Deserialize)]
struct Asked {
    agent: AgentBinary,
    permissions: Option<String>,
    no_hooks: bool,
    auto_stage: bool,
    step_timeout: Option<Duration>,
    recipe_dirs: Vec<PathBuf>,
    include_tags: Vec<String>,
    exclude_tags: Vec<String>,
    #[serde(default)]
    budget: Budget,
    #[serde(default)]
    deadline: Option<Duration>,
}

/// What is to be run, new or again.
struct Wanted {
    asked: Asked,
    given: Given,
    /// A run that goes on is this process's.
    lock: Option<FileLock>,
    entry: PathBuf,
    cwd: PathBuf,
    run_id: String,
    done: Done,
    plan: Plan,
}

pub(super) fn run(args: &RunArgs, env: &Env) -> Result<u8, Failure> {
    // Before anything is written: no signal is missed from here to the end.
    let interrupts = Interrupts::listen();
    let here = current_dir()?;
    let config = Config::load(env, &here, &[])?;
    crate::commands::config::show_warnings(&config);
    let wanted = match &args.resume {
        Some(id) => {
            let found = runs::one(env, id)?;
            if found.state() == "completed" {
                return result_of(&found, args, env);
            }
            again(found, env, &config)?
        }
        None => new(args, env, &here)?,
    };
    for warning in wanted.plan.warnings.iter().filter(|_| args.resume.is_none()) {
        ui::plain(&warning.to_string());
    }
    let context = wanted.given.over(&wanted.plan.root().recipe.context, env);
    if args.dry_run {
        let settings = settings(&wanted.asked, wanted.run_id, wanted.cwd, wanted.done);
        return dry_run(wanted.plan, settings, context).map_or(Ok(1), |result| print(&result, args.format));
    }
    start(args, wanted, context, env, config, interrupts)
}

fn new(args: &RunArgs, env: &Env, here: &Path) -> Result<Wanted, Failure> {
    let file = args.context_file.as_ref().map(|file| here.join(file));
    let given = Given::read(&args.set, file.as_deref(), env)
        .map_err(|error| Failure::usage(error.to_string(), "see `amplihack recipe run --help`"))?;
    let cwd = here.join(&args.working_dir);
    let no_directory = || std::io::ErrorKind::NotADirectory.into();
    let directory =
        cwd.canonicalize().and_then(|cwd| if cwd.is_dir() { Ok(cwd) } else { Err(no_directory()) });
    let cwd = directory.map_err(|error| {
        Failure::system(&format!("the working directory {} cannot be used", cwd.display()), &error)
    })?;
    let agent =
        args.agent.unwrap_or_else(|| resolve_in(&cwd, env, &System::new(env), jiff::Timestamp::now()).agent);
    let agent =
        if amplihack_utils::sabotage::active("routing-recipe-agent") { AgentBinary::DEFAULT } else { agent };
    let recipe_dirs = args.recipe_dir.iter().map(|dir| here.join(dir)).collect();
    let asked = Asked {
        agent,
        permissions: args.permissions.map(|level| Permissions::from(level).to_string()),
        no_hooks: args.no_hooks,
        auto_stage: args.auto_stage,
        step_timeout: args.step_timeout,
        recipe_dirs,
        include_tags: args.include_tags.clone(),
        exclude_tags: args.exclude_tags.clone(),
        budget: Budget { tokens: args.budget_tokens, usd: args.budget_usd },
        deadline: args.deadline,
    };
    let discovery = discovery(env, here, &cwd, &asked.recipe_dirs);
    let name = args.recipe.as_deref().unwrap_or_default();
    let entry = discovery.entry(name, here).map_err(|error| not_found(&error.to_string()))?;
    let plan = compile(&entry, &discovery, Mode::Strict, &given.names()).map_err(|error| refused(&error))?;
    let run_id =
        new_session_id().map_err(|error| Failure::system("no id for the run could be made", &error))?;
    Ok(Wanted {
        asked,
        given,
        lock: None,
        entry,
        cwd,
        run_id: run_id.to_string(),
        done: Done::default(),
        plan,
    })
}

/// A run that goes on: what its dead runner left is ended first.
fn again(found: Recorded, env: &Env, config: &Config) -> Result<Wanted, Failure> {
    let failed = |message: String, hint: &str| Failure::of("cannot_resume", message, hint, ExitKind::Failed);
    may_go_on(&found)?;
    let lock = resume::hold(&found.directory).map_err(|error| match error {
        LockError::Busy { .. } => failed(
            format!("the run {} is somebody else's now: {error}", found.header.run_id),
            "wait for the end of the other resume",
        ),
        other => failed(other.to_string(), "begin it anew with `amplihack recipe run`"),
    })?;
    // Another resume may have had it in between.
    let run = Recorded::read(&found.directory)
        .map_err(|error| failed(error.to_string(), "begin it anew with `amplihack recipe run`"))?
        .unwrap_or(found);
    may_go_on(&run)?;
    let (asked, given, plan) = recorded_plan(&run, env)?;
    let survivors = resume::end_leftovers(&run, config.stop_grace())
        .map_err(|error| Failure::system("what the dead runner left could not be ended", &error))?;
    if !survivors.is_empty() {
        let names: Vec<String> = survivors.iter().map(ToString::to_string).collect();
        let message = format!("what the dead runner left cannot be ended: {}", names.join(", "));
        return Err(failed(message, "end these processes by hand, then try again"));
    }
    let done = done(&run, env)?;
    let header = &run.header;
    Ok(Wanted {
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
fn result_of(run: &Recorded, args: &RunArgs, env: &Env) -> Result<u8, Failure> {
    let (asked, given, plan) = recorded_plan(run, env)?;
    let context = given.over(&plan.root().recipe.context, env);
    let (id, cwd) = (run.header.run_id.clone(), run.header.cwd.clone());
    let result = replay(plan, settings(&asked, id, cwd, done(run, env)?), context).ok_or_else(|| {
        let message = format!("the journal of the run {} does not have every step's end", run.header.run_id);
        Failure::of(
            "journal_damaged",
            message,
            "`amplihack recipe runs show` shows what it has",
            ExitKind::Failed,
        )
    })?;
    let duration = run.last.duration_since(run.began).as_secs_f64();
    print(&RunResult { duration, ..result }, args.format)
}

/// What `run` was asked for, and its plan, if its recipes are what they were.
fn recorded_plan(run: &Recorded, env: &Env) -> Result<(Asked, Given, Plan), Failure> {
    let failed = |message: String, hint: &str| Failure::of("cannot_resume", message, hint, ExitKind::Failed);
    let header = &run.header;
    let id = &header.run_id;
    let asked: Asked = serde_json::from_value(header.asked.clone()).map_err(|_| {
        let message = format!("the run {id} was begun by another command, or another version");
        failed(message, "begin it anew with `amplihack recipe run`")
    })?;
    let given = run
        .given()
        .map_err(|error| failed(error.to_string(), "begin it anew with `amplihack recipe run`"))?;
    let discovery = discovery(env, &header.cwd, &header.cwd, &asked.recipe_dirs);
    let plan =
        compile(&header.recipe, &discovery, Mode::Strict, &given.names()).map_err(|error| refused(&error))?;
    let now = sources(&plan);
    if let Some((path, _)) = now.iter().find(|found| !header.sources.contains(found)) {
        let message = format!("{} is not as it was when the run {id} began", path.display());
        return Err(failed(
            message,
            "put it back, or begin a new run; `amplihack recipe runs show` has what was done",
        ));
    }
    Ok((asked, given, plan))
}

/// What `run` has done.
fn done(run: &Recorded, env: &Env) -> Result<Done, Failure> {
    let spool = Spool::open(&run.directory.join("steps"))
        .map_err(|error| Failure::system("the run's directory cannot be used", &error))?;
    Ok(resume::done(run, &spool, env.amplihack_home().as_deref()))
}

/// Refuses a run that is going on, or is done.
fn may_go_on(run: &Recorded) -> Result<(), Failure> {
    let id = &run.header.run_id;
    let (message, hint) = match run.state() {
        "running" => (
            format!("the run {id} is running, as process {}", run.header.pid),
            "wait for its end, or end that process",
        ),
        "completed" => (format!("the run {id} is complete"), "start a new one with `amplihack recipe run`"),
        _ => return Ok(()),
    };
    Err(Failure::of("cannot_resume", message, hint, ExitKind::Failed))
}

fn settings(asked: &Asked, run_id: String, cwd: PathBuf, done: Done) -> Settings {
    Settings {
        run_id,
        cwd,
        dry_run: false,
        auto_stage: asked.auto_stage,
        include_tags: asked.include_tags.clone(),
        exclude_tags: asked.exclude_tags.clone(),
        step_timeout: asked.step_timeout,
        max_depth: MAX_DEPTH,
        max_total_steps: MAX_STEPS,
        retry: Retry::default(),
        done,
    }
}

fn start(
    args: &RunArgs,
    wanted: Wanted,
    context: Context,
    env: &Env,
    config: Config,
    interrupts: Interrupts,
) -> Result<u8, Failure> {
    let Wanted { asked, given, lock, entry, cwd, run_id, done, plan } = wanted;
    let limit = u64::from(config.max_depth());
    let deep = depth(env, limit).map_err(|error| {
        Failure::of("too_deep", error, "a recipe that starts itself never ends", ExitKind::Failed)
    })?;
    let name = plan.root().recipe.name.clone();
    let show = args.progress == Progress::Lines;
    if show {
        ui::plain(&format!("[amplihack] recipe-runner --- starting: {name}"));
        ui::plain(&format!("[amplihack] recipe-runner --- executing: {name}"));
        ui::plain(&format!("run {run_id} of {}", entry.display()));
    }
    let grace = config.stop_grace();
    let bounds = Rc::new(bounds(&asked, args, &config, &done.used)?);
    let mut own = Own::new(asked.agent, config);
    own.requested = requested(&own.config);
    if amplihack_utils::sabotage::active("delivery-recipe-mode") {
        own.requested = amplihack_utils::prompt_delivery::PromptDelivery::Auto;
    }
    own.permissions = asked.permissions.as_deref().and_then(level);
    if !asked.no_hooks {
        let program = own_program();
        own.guard =
            Some(program.map_err(|error| Failure::system("the guard's program could not be found", &error))?);
    }
    let audit = args.audit_dir.as_ref().map(|dir| Audit::new(dir, &run_id)).transpose();
    let mut audit = audit.map_err(|error| {
        let directory = args.audit_dir.as_deref().unwrap_or(Path::new(".")).display();
        Failure::system(&format!("no audit can be written into {directory}"), &error)
    })?;
    let (mut lines, mut objects) = (Lines::new(asked.agent.name(), show), Objects::default());
    let jsonl = args.progress == Progress::Jsonl;
    let mut seen = |entry: &Entry| {
        if jsonl {
            if let Some(object) = objects.of(entry) {
                ui::plain(&object.to_string());
            }
        } else {
            let text = lines.of(entry);
            if !text.is_empty() {
                ui::plain(text.trim_end());
            }
        }
        if let Some(Err(error)) = audit.as_mut().map(|audit| audit.see(entry)) {
            ui::note("warning", format!("the audit could not be written: {error}"));
        }
    };
    let kept = serde_json::to_value(&asked)
        .map_err(|error| Failure::input(format!("what is asked for has no JSON form: {error}")))?;
    let (mut env, home) = (env.clone(), env.amplihack_home());
    // Dropped after the run: scripts that call Copilot as if it were Claude are understood while it goes on.
    let stand_in = if asked.agent == AgentBinary::Copilot { external::shim(&env, &run_id)? } else { None };
    let _shim = stand_in.and_then(|shim| {
        shim.put_first(&mut env).unwrap_or_else(|error| {
            ui::note("warning", Notice::NoShim { why: error.to_string() });
            None
        })
    });
    let settings = settings(&asked, run_id.clone(), cwd, done);
    let execution = Execution {
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
    let result = execute(execution, &mut seen).map_err(|error| {
        let hint = "mend that; `amplihack recipe runs list` shows whether there is a run to go on with";
        Failure::of("run_failed", error.to_string(), hint, ExitKind::Failed)
    })?;
    let bound = bounds.ended().filter(|_| !result.success);
    let code = print(&RunResult { bound, ..result.clone() }, args.format)?;
    // Values that were refused before the first step begin no run.
    let kept = home.is_some_and(|home| journal_runs(&home).join(&run_id).is_dir());
    if !result.success && kept {
        ui::note("hint", format!("`amplihack recipe run --resume {run_id}` goes on with what is not done"));
    }
    Ok(code)
}

/// What the agents of the run may use and how long it may take: as it was begun, unless a resume says otherwise.
fn bounds(asked: &Asked, args: &RunArgs, config: &Config, earlier: &Totals) -> Result<RecipeBounds, Failure> {
    let agent = asked.agent;
    let budget = Budget {
        tokens: args.budget_tokens.or(asked.budget.tokens),
        usd: args.budget_usd.or(asked.budget.usd),
    };
    let prices = Prices::configured(config, agent).map_err(|source| AutoError::Prices { agent, source })?;
    if budget.usd.is_some() && prices.is_none() && !profile(agent).counts.dollars {
        return Err(AutoError::NoPrice { agent }.into());
    }
    let prices = prices.map(|prices| (agent, prices)).into_iter().collect();
    Ok(RecipeBounds::new(budget, prices, args.deadline.or(asked.deadline), earlier))
}

fn level(name: &str) -> Option<Permissions> {
    [Level::Ask, Level::Edit, Level::Full]
        .map(Permissions::from)
        .into_iter()
        .find(|level| level.to_string() == name)
}

/// Prints the result and returns the exit code.
fn print(result: &RunResult, format: ResultFormat) -> Result<u8, Failure> {
    let used = usage(&result.step_results);
    let result = &RunResult { usage: used.has_tokens().then_some(used), ..result.clone() };
    let failed = |error: serde_json::Error| Failure::input(format!("the result has no JSON form: {error}"));
    match format {
        ResultFormat::Table => {
            let mut text = report(&result.recipe_name, result.success, &result.step_results, result.duration);
            if let Some(used) = &result.usage {
                let cost = used.cost_usd.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
                // Writing to a string cannot fail.
                let _ = writeln!(text, "  agents used {} tokens{cost}", tokens(used));
            }
            if let Some(bound) = &result.bound {
                let _ = writeln!(text, "  ended: {bound}");
            }
            ui::shown(&text)?;
        }
        ResultFormat::Json => ui::stream(|out| {
            serde_json::to_writer_pretty(&mut *out, result)?;
            writeln!(out)
        })?,
        ResultFormat::Yaml => ui::data(&yaml::render(&serde_json::to_value(result).map_err(failed)?))?,
    }
    Ok(match result.interrupted {
        Some(signal) => u8::try_from(128 + signal).unwrap_or(1),
        None if result.success => 0,
        None if result.bound.is_some() => ExitKind::Budget.code(),
        None => ExitKind::Failed.code(),
    })
}
