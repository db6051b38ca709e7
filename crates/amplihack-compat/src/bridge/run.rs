//! A recipe's run by the external runner, from the runner's discovery to its answer.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_config::agent_binary::{SystemLiveness, resolve_in};
use amplihack_config::env::Env;
use amplihack_recipe::find::read_recipe;
use amplihack_recipe::run::parse_warnings;
use amplihack_recipe::spill::{self, SpilledContext};
use amplihack_session::{
    ChildOutput, Deadlines, EndCause, InterruptSignals, ProcessOutput, RunSpec, run_blocking,
};
use amplihack_setup::shim::{CopilotShim, CopilotShimLink, missing_shim_warning};
use amplihack_sys::{arg_limits, exec_cost};

use super::environment::{install_timeout, runner_environment};
use super::error::BridgeError;
use super::find::{FoundRunner, find_runner};
use super::response::{LIMIT, RunnerResponse, interpret_response};
use super::version_gate;

/// The variable that agents take the project's directory from.
const PROJECT: &str = "CLAUDE_PROJECT_DIR";
/// Number of bytes that are kept of the runner's stderr.
const STDERR: usize = 64 * 1024;
/// Number of bytes that `--set` and its argument cost of an exec beside key and value.
const PAIR: usize = 32;
/// Number of bytes left free of the platform's limit: an interpreter's path, variables of the session.
const SPARE: u64 = 16 * 1024;

/// A recipe to be run by the external runner, with its options.
#[derive(Debug, Clone)]
pub struct RunnerBridgeRequest {
    /// The recipe: a file, or the name by which the runner finds one. A relative path is below the working directory.
    pub recipe: PathBuf,
    /// The context, in order.
    pub context: Vec<(String, String)>,
    /// The directory in which the recipe runs.
    pub working_dir: PathBuf,
    /// The directories to search for recipes. Relative ones are below the working directory; without any the runner's own.
    pub recipe_dirs: Vec<PathBuf>,
    /// Start no step.
    pub dry_run: bool,
    /// Let the runner stage what agents changed.
    pub auto_stage: bool,
    /// Let the runner tell its progress, on this process's stderr.
    pub progress: bool,
    /// The runner, where it is not to be looked for.
    pub runner: Option<PathBuf>,
    /// The longest time that the whole run may take; `None` is no limit.
    pub deadline: Option<Duration>,
    /// The shim that stands in Copilot's place if Copilot is the agent in charge.
    pub copilot: Option<CopilotShim>,
    /// True in a binary of ours: signals to this process end the run, and it owns the runner's orphans.
    pub owner: bool,
}

impl RunnerBridgeRequest {
    /// `recipe` in `working_dir`, with everything else as the runner has it.
    pub fn new(recipe: impl Into<PathBuf>, working_dir: impl Into<PathBuf>) -> Self {
        Self {
            recipe: recipe.into(),
            context: Vec::new(),
            working_dir: working_dir.into(),
            recipe_dirs: Vec::new(),
            dry_run: false,
            auto_stage: true,
            progress: false,
            runner: None,
            deadline: None,
            copilot: None,
            owner: false,
        }
    }
}

/// A line for a person, while the bridge is at work.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunnerNotice {
    /// The first banner.
    Starting {
        /// The recipe's name.
        recipe: String,
    },
    /// The second banner: the runner is about to be called.
    Executing {
        /// The recipe's name.
        recipe: String,
    },
    /// `RECIPE_RUNNER_RS_PATH` names no program.
    PassedOver {
        /// The path in the variable.
        named: PathBuf,
        /// The runner that is taken.
        runner: PathBuf,
    },
    /// The runner warns, where its own lines are not shown.
    Warned {
        /// The text of the warning.
        warning: String,
    },
    /// Processes that the runner started are still alive.
    Survivors {
        /// The processes.
        processes: String,
    },
    /// Copilot will be called as it is.
    NoShim {
        /// The reason.
        why: String,
    },
}

impl fmt::Display for RunnerNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting { recipe } => write!(f, "[amplihack] recipe-runner --- starting: {recipe}"),
            Self::Executing { recipe } => write!(f, "[amplihack] recipe-runner --- executing: {recipe}"),
            Self::PassedOver { named, runner } => write!(
                f,
                "RECIPE_RUNNER_RS_PATH names {}, which is not an executable file; {} runs",
                named.display(),
                runner.display()
            ),
            Self::Warned { warning } => f.write_str(warning),
            Self::Survivors { processes } => write!(f, "still running after the recipe: {processes}"),
            Self::NoShim { why } => f.write_str(&missing_shim_warning(why)),
        }
    }
}

/// Runs `request` by the external runner, blocks until its end, and tells `tell` what a person should know meanwhile.
///
/// Nothing that was started is left when it returns, and no file.
pub fn run_external_runner(
    request: &RunnerBridgeRequest,
    env: &Env,
    tell: &mut dyn FnMut(RunnerNotice),
) -> Result<RunnerResponse, BridgeError> {
    install_timeout(env)?;
    let directory = resolve_working_dir(&request.working_dir)?;
    let target = resolve_recipe_target(&request.recipe, &directory)?;
    let recipe = recipe_name(&request.recipe, &target);
    tell(RunnerNotice::Starting { recipe: recipe.clone() });
    let FoundRunner { path: runner, passed_over } = find_runner(request.runner.as_deref(), env)?;
    if let Some(named) = passed_over {
        tell(RunnerNotice::PassedOver { named, runner: runner.clone() });
    }
    let mut child_env = runner_environment(env);
    if child_env.get(PROJECT).is_none() {
        child_env.set_variable(PROJECT, &directory);
    }
    version_gate::check_runner_version(&runner, &child_env)?;
    let shim = install_copilot_shim(request, &directory, &mut child_env, tell);
    let mut args = runner_arguments(request, target, &directory);
    let cost = exec_cost(runner.as_os_str(), args.iter().map(OsString::as_os_str), child_env.iter());
    // Counted when the environment is complete: what is left of a command line decides which values go into files.
    let room = arg_limits().total.saturating_sub(cost + SPARE);
    let room = usize::try_from(room).unwrap_or(usize::MAX).saturating_sub(PAIR * request.context.len());
    let spilled = spill::spill_context(&request.context, &env.temporary_dir(), room)?;
    for (key, value) in spilled.pairs() {
        args.extend(["--set".into(), format!("{key}={value}").into()]);
    }
    let mut command = Command::new(&runner);
    command.args(args).current_dir(&directory).env_clear().envs(child_env.iter());
    tell(RunnerNotice::Executing { recipe: recipe.clone() });
    let outcome = run_blocking(build_run_spec(request, command, spilled, shim))?;
    if !outcome.survivors.is_empty() {
        let processes: Vec<String> = outcome.survivors.iter().map(ToString::to_string).collect();
        tell(RunnerNotice::Survivors { processes: processes.join(", ") });
    }
    if !request.progress {
        let said = String::from_utf8_lossy(&outcome.stderr.bytes);
        for warning in parse_warnings(&said) {
            tell(RunnerNotice::Warned { warning });
        }
    }
    interpret_process_output(&outcome, &recipe)
}

fn build_run_spec(
    request: &RunnerBridgeRequest,
    command: Command,
    spilled: SpilledContext,
    shim: Option<CopilotShimLink>,
) -> RunSpec {
    RunSpec {
        stdout: ChildOutput::Head(LIMIT),
        stderr: if request.progress { ChildOutput::Forward(STDERR) } else { ChildOutput::Tail(STDERR) },
        deadlines: Deadlines { total: request.deadline, ..Deadlines::default() },
        keep: Box::new((spilled, shim)),
        subreaper: request.owner,
        interrupts: if request.owner {
            InterruptSignals::listen_from_now()
        } else {
            InterruptSignals::without_signals()
        },
        ..RunSpec::new(command)
    }
}

fn interpret_process_output(outcome: &ProcessOutput, recipe: &str) -> Result<RunnerResponse, BridgeError> {
    match outcome.cause {
        EndCause::Interrupted(signal) => Err(BridgeError::Interrupted { signal: signal.as_raw() }),
        EndCause::Deadline(_) => Err(BridgeError::TimedOut),
        EndCause::Ended | EndCause::Lingered | EndCause::Unguarded => {
            interpret_response(outcome.exit, &outcome.stdout, &outcome.stderr.bytes, recipe)
        }
    }
}

fn resolve_working_dir(directory: &Path) -> Result<PathBuf, BridgeError> {
    let failed = |source| BridgeError::Directory { path: directory.to_owned(), source };
    let real = std::fs::canonicalize(directory).map_err(failed)?;
    if real.is_dir() { Ok(real) } else { Err(failed(std::io::ErrorKind::NotADirectory.into())) }
}

/// The recipe as the runner takes it: a path if it is written as one, else a name.
fn resolve_recipe_target(recipe: &Path, directory: &Path) -> Result<OsString, BridgeError> {
    let bad = |why| BridgeError::BadRecipe { name: recipe.display().to_string(), why };
    let bytes = recipe.as_os_str().as_encoded_bytes();
    let is_file = bytes.contains(&b'/') || [&b".yaml"[..], b".yml"].iter().any(|end| bytes.ends_with(end));
    if bytes.is_empty() {
        Err(bad("has no name"))
    } else if is_file {
        Ok(directory.join(recipe).into_os_string())
    } else if bytes.first() == Some(&b'-') {
        Err(bad("begins with a dash, as options do; write it as a path"))
    } else {
        Ok(recipe.as_os_str().to_owned())
    }
}

/// The name of the recipe: its own if it is a file that can be read, else the name in the request.
fn recipe_name(recipe: &Path, target: &OsStr) -> String {
    let read = read_recipe(Path::new(target)).ok().map(|recipe| recipe.name).filter(|name| !name.is_empty());
    read.unwrap_or_else(|| recipe.display().to_string())
}

fn runner_arguments(request: &RunnerBridgeRequest, target: OsString, directory: &Path) -> Vec<OsString> {
    let mut args: Vec<OsString> =
        vec![target, "--output-format".into(), "json".into(), "-C".into(), directory.into()];
    let switches = [
        (request.dry_run, "--dry-run"),
        (!request.auto_stage, "--no-auto-stage"),
        (request.progress, "--progress"),
    ];
    args.extend(switches.iter().filter(|(wanted, _)| *wanted).map(|(_, switch)| OsString::from(switch)));
    for place in &request.recipe_dirs {
        args.extend(["-R".into(), directory.join(place).into_os_string()]);
    }
    args
}

/// Puts the shim first on the runner's PATH, if Copilot is in charge and there is one to be called.
fn install_copilot_shim(
    request: &RunnerBridgeRequest,
    directory: &Path,
    env: &mut Env,
    tell: &mut dyn FnMut(RunnerNotice),
) -> Option<CopilotShimLink> {
    let wanted = request.copilot.as_ref()?;
    let in_charge = resolve_in(directory, env, &SystemLiveness::new(env), jiff::Timestamp::now()).agent;
    if in_charge != AgentBinary::Copilot {
        return None;
    }
    wanted.put_first(env).unwrap_or_else(|error| {
        tell(RunnerNotice::NoShim { why: format!("{}: {error}", wanted.directory.display()) });
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_is_a_path_or_a_name() {
        let wd = Path::new("/wd");
        for (recipe, expected) in [
            ("default-workflow", "default-workflow"),
            ("x.yaml", "/wd/x.yaml"),
            ("-x.yml", "/wd/-x.yml"),
            ("sub/x", "/wd/sub/x"),
            ("/abs/x", "/abs/x"),
        ] {
            assert_eq!(resolve_recipe_target(Path::new(recipe), wd).unwrap(), expected);
        }
        for bad in ["", "--update"] {
            assert!(
                matches!(resolve_recipe_target(Path::new(bad), wd), Err(BridgeError::BadRecipe { .. })),
                "{bad}"
            );
        }
    }

    #[test]
    fn the_banners_are_the_predecessors() {
        let recipe = || "smart-orchestrator".to_owned();
        let banners =
            [RunnerNotice::Starting { recipe: recipe() }, RunnerNotice::Executing { recipe: recipe() }];
        assert_eq!(
            banners.map(|banner| banner.to_string()),
            [
                "[amplihack] recipe-runner --- starting: smart-orchestrator",
                "[amplihack] recipe-runner --- executing: smart-orchestrator"
            ]
        );
    }
}
