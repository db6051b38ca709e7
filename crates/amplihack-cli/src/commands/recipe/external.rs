//! `recipe run --runner`: the recipe is run by another program, the predecessor's `recipe-runner-rs`.

use std::path::Path;

use amplihack_recipe::bridge::{self, CopilotShim, Notice, Request, Response, StepStatus};
use amplihack_recipe::given::Given;
use amplihack_recipe::result::{Status, StepResult, report};
use amplihack_utils::agent_binary::{AgentBinary, ENV_VAR, System, resolve_in};
use amplihack_utils::env::Env;
use amplihack_utils::error::ExitKind;
use amplihack_utils::launcher_context::new_session_id;
use amplihack_utils::sys;
use serde_json::json;

use super::{Progress, ResultFormat, RunArgs, yaml};
use crate::commands::current_dir;
use crate::ui::{self, Failure};

/// The word for "look for the runner".
const LOOK: &str = "external";

/// Runs the recipe by `runner` and returns the exit code.
pub(super) fn run(args: &RunArgs, runner: &Path, env: &Env) -> Result<u8, Failure> {
    let here = current_dir()?;
    let file = args.context_file.as_ref().map(|file| here.join(file));
    let given = Given::read(&args.set, file.as_deref(), env)
        .map_err(|error| Failure::usage(error.to_string(), "see `amplihack recipe run --help`"))?;
    let cwd = here.join(&args.working_dir);
    let mut env = env.clone();
    let agent = args
        .agent
        .unwrap_or_else(|| resolve_in(&cwd, &env, &System::new(&env), jiff::Timestamp::now()).agent);
    let agent =
        if amplihack_utils::sabotage::active("copilot-agent-variable") { AgentBinary::Claude } else { agent };
    env.set(ENV_VAR, agent.name());
    let recipe = args.recipe.as_deref().unwrap_or_default();
    let id = new_session_id().map_err(|error| Failure::system("no id for the run could be made", &error))?;
    let request = Request {
        context: given.texts(),
        recipe_dirs: args.recipe_dir.iter().map(|dir| here.join(dir)).collect(),
        dry_run: args.dry_run,
        auto_stage: args.auto_stage,
        progress: args.progress == Progress::Lines,
        runner: (runner != Path::new(LOOK)).then(|| here.join(runner)),
        copilot: shim(&env, &id.to_string())?,
        owner: true,
        // A file beside us is meant where it is, not below the working directory.
        ..Request::new(if here.join(recipe).is_file() { here.join(recipe) } else { recipe.into() }, cwd)
    };
    let response = bridge::run(&request, &env, &mut |notice| match notice {
        Notice::Starting { .. } if amplihack_utils::sabotage::active("copilot-banner-starting") => {}
        Notice::Executing { .. } if amplihack_utils::sabotage::active("copilot-banner-executing") => {}
        Notice::Starting { .. } | Notice::Executing { .. } => ui::plain(&notice.to_string()),
        _ => ui::note("warning", notice),
    });
    if response.is_err() && amplihack_utils::sabotage::active("copilot-no-fallback") {
        return Ok(0);
    }
    let response = response?;
    print(&response, args.format)
}

/// Where Copilot's stand-in goes for the run `id`, if there is a home for it.
pub(super) fn shim(env: &Env, id: &str) -> Result<Option<CopilotShim>, Failure> {
    let Some(home) = env.amplihack_home() else { return Ok(None) };
    let program =
        sys::own_file().map_err(|error| Failure::system("this program's own file is not known", &error))?;
    Ok(Some(CopilotShim { directory: home.join("shims").join(id), program }))
}

fn print(response: &Response, format: ResultFormat) -> Result<u8, Failure> {
    let steps: Vec<StepResult> = response
        .steps
        .iter()
        .map(|step| StepResult {
            output: step.output.as_str().into(),
            error: step.error.clone().unwrap_or_default(),
            duration: step.duration,
            warnings: step.warnings.clone(),
            ..StepResult::new(&step.id, "", status(step.status))
        })
        .collect();
    let mut results = json!(steps);
    for (result, step) in results.as_array_mut().into_iter().flatten().zip(&response.steps) {
        // Our own steps end, so their words have none for these.
        match step.status {
            StepStatus::Pending => result["status"] = "pending".into(),
            StepStatus::Running => result["status"] = "running".into(),
            _ => {}
        }
    }
    let whole = json!({
        "recipe_name": response.recipe_name,
        "success": response.success,
        "step_results": results,
        "context": response.context,
    });
    match format {
        ResultFormat::Table => {
            let duration = steps.iter().filter_map(|step| step.duration).sum();
            ui::shown(&report(&response.recipe_name, response.success, &steps, duration))?;
        }
        ResultFormat::Json => ui::data(&ui::line(&whole)?)?,
        ResultFormat::Yaml => ui::data(&yaml::render(&whole))?,
    }
    Ok(if response.success { 0 } else { ExitKind::Failed.code() })
}

fn status(status: StepStatus) -> Status {
    match status {
        StepStatus::Completed => Status::Completed,
        StepStatus::Skipped => Status::Skipped,
        StepStatus::Degraded => Status::Degraded,
        _ => Status::Failed,
    }
}
