//! `recipe run --runner`: the recipe is run by another program, the predecessor's `recipe-runner-rs`.

use std::path::Path;

use amplihack_compat::bridge::{self, RunnerBridgeRequest, RunnerNotice, RunnerResponse, RunnerStepStatus};
use amplihack_config::LayeredConfig;
use amplihack_config::agent_binary::{AgentBinary, ENV_VAR};
use amplihack_config::env::Env;
use amplihack_config::launcher_context::new_session_id;
use amplihack_recipe::inputs::RecipeInputs;
use amplihack_recipe::result::{StepResult, StepResultStatus, render_report};
use amplihack_sys::error::ExitKind;
use serde_json::json;

use super::{RecipeProgressFormat, RecipeRunArgs, ResultFormat, copilot_shim, yaml};
use crate::commands::{choose_agent, current_dir};
use crate::ui::{self, CommandFailure};

/// The word for "look for the runner".
const LOOK: &str = "external";

/// Runs the recipe by `runner` and returns the exit code.
pub(super) fn run_external(args: &RecipeRunArgs, runner: &Path, env: &Env) -> Result<u8, CommandFailure> {
    let here = current_dir()?;
    let file = args.context_file.as_ref().map(|file| here.join(file));
    let given = RecipeInputs::read(&args.set, file.as_deref(), env)
        .map_err(|error| CommandFailure::bad_usage(error.to_string(), "see `amplihack recipe run --help`"))?;
    let cwd = here.join(&args.working_dir);
    let mut env = env.clone();
    let config = LayeredConfig::load(&env, &cwd, &[])?;
    let agent = args.agent.unwrap_or_else(|| choose_agent(&cwd, &env, &config));
    let agent = if amplihack_sys::sabotage::is_active("copilot-agent-variable") {
        AgentBinary::Claude
    } else {
        agent
    };
    env.set_variable(ENV_VAR, agent.name());
    let recipe = args.recipe.as_deref().unwrap_or_default();
    let id = new_session_id()
        .map_err(|error| CommandFailure::from_io_error("an id for the run could not be generated", &error))?;
    let request = RunnerBridgeRequest {
        context: given.to_texts(),
        recipe_dirs: args.recipe_dir.iter().map(|dir| here.join(dir)).collect(),
        dry_run: args.dry_run,
        auto_stage: args.auto_stage,
        progress: args.progress == RecipeProgressFormat::Lines,
        runner: (runner != Path::new(LOOK)).then(|| here.join(runner)),
        copilot: copilot_shim(&env, &id.to_string())?,
        owner: true,
        // A file beside us is meant where it is, not below the working directory.
        ..RunnerBridgeRequest::new(
            if here.join(recipe).is_file() { here.join(recipe) } else { recipe.into() },
            cwd,
        )
    };
    let response = bridge::run_external_runner(&request, &env, &mut |notice| match notice {
        RunnerNotice::Starting { .. } if amplihack_sys::sabotage::is_active("copilot-banner-starting") => {}
        RunnerNotice::Executing { .. } if amplihack_sys::sabotage::is_active("copilot-banner-executing") => {}
        RunnerNotice::Starting { .. } | RunnerNotice::Executing { .. } => ui::print_line(&notice.to_string()),
        _ => ui::print_note("warning", notice),
    });
    if response.is_err() && amplihack_sys::sabotage::is_active("copilot-no-fallback") {
        return Ok(0);
    }
    let response = response?;
    print_response(&response, args.format)
}

fn print_response(response: &RunnerResponse, format: ResultFormat) -> Result<u8, CommandFailure> {
    let steps: Vec<StepResult> = response
        .steps
        .iter()
        .map(|step| StepResult {
            output: step.output.as_str().into(),
            error: step.error.clone().unwrap_or_default(),
            duration: step.duration,
            warnings: step.warnings.clone(),
            ..StepResult::new(&step.id, "", map_status(step.status))
        })
        .collect();
    let mut results = json!(steps);
    for (result, step) in results.as_array_mut().into_iter().flatten().zip(&response.steps) {
        // Our own steps end, so their words have none for these.
        match step.status {
            RunnerStepStatus::Pending => result["status"] = "pending".into(),
            RunnerStepStatus::Running => result["status"] = "running".into(),
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
            ui::print_visible(&render_report(&response.recipe_name, response.success, &steps, duration))?;
        }
        ResultFormat::Json => ui::print_data(&ui::json_line(&whole)?)?,
        ResultFormat::Yaml => ui::print_data(&yaml::render_yaml(&whole))?,
    }
    Ok(if response.success { 0 } else { ExitKind::Failed.code() })
}

fn map_status(status: RunnerStepStatus) -> StepResultStatus {
    match status {
        RunnerStepStatus::Completed => StepResultStatus::Completed,
        RunnerStepStatus::Skipped => StepResultStatus::Skipped,
        RunnerStepStatus::Degraded => StepResultStatus::Degraded,
        _ => StepResultStatus::Failed,
    }
}
