//! One recipe by the external runner, from its discovery to its answer.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use amplihack_agent::{AgentBinary, lookup};
use amplihack_launcher::copilot::shim::{Shim, install_into};
use amplihack_session::{Deadlines, EndCause, Interrupts, Output, ProcessOutput, RunSpec, run_blocking};
use amplihack_utils::agent_binary::{System, resolve_in};
use amplihack_utils::env::Env;
use amplihack_utils::sys::{arg_limits, exec_cost};

use super::environment::{allowed, install_timeout};
use super::error::BridgeError;
use super::find::{Found, find};
use super::gate;
use super::response::{LIMIT, Response, judge};
use super::spill::{self, Spill};
use crate::find::read;
use crate::run::warnings;

/// The variable that agents take the project's directory from.
const PROJECT: &str = "CLAUDE_PROJECT_DIR";
/// What is kept of the runner's stderr.
const STDERR: usize = 64 * 1024;
/// What `--set` and its argument cost of an exec beside key and value.
const PAIR: usize = 32;
/// What is left free of the platform's limit: an interpreter's path, variables of the session.
const SPARE: u64 = 16 * 1024;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Request {
    /// The recipe: a file, or the name by which the runner finds one. A relative path is below the working directory.
    pub recipe: PathBuf,
    /// The context, in order.
    pub context: Vec<(String, String)>,
    /// Where the recipe runs.
    pub working_dir: PathBuf,
    /// Where recipes are looked for. Relative ones are below the working directory; without any the runner looks in places of its own.
    pub recipe_dirs: Vec<PathBuf>,
    /// Start no step.
    pub dry_run: bool,
    /// Let the runner stage what agents changed.
    pub auto_stage: bool,
    /// Let the runner tell its progress, on this process's stderr.
    pub progress: bool,
    /// The runner, where it is not to be looked for.
    pub runner: Option<PathBuf>,
    /// How long the whole run may take.
    pub deadline: Option<Duration>,
    /// What stands in Copilot's place if Copilot is the agent in charge.
    pub copilot: Option<CopilotShim>,
    /// This process is a binary of ours: its signals end the run, and it owns the runner's orphans.
    pub owner: bool,
}

/// Where a shim for Copilot goes for the time of a run.
#[derive(Debug, Clone)]
pub struct CopilotShim {
    /// A directory below the state of the run, which is made and removed.
    pub directory: PathBuf,
    /// Amplihack's program file.
    pub program: PathBuf,
}

impl Request {
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

/// One line for a person, while the bridge goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
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
        /// What it names.
        named: PathBuf,
        /// The runner that is taken.
        runner: PathBuf,
    },
    /// The runner warns, where its own lines are not shown.
    Warned {
        /// Its text.
        warning: String,
    },
    /// What the runner started is still there.
    Survivors {
        /// The processes.
        processes: String,
    },
    /// Copilot will be called as it is.
    NoShim {
        /// Why.
        why: String,
    },
}

impl fmt::Display for Notice {
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
            Self::NoShim { why } => write!(f, "Copilot is called without its flags being normalised: {why}"),
        }
    }
}

/// Runs `request` by the external runner, blocks until its end, and tells `tell` what a person should know meanwhile.
///
/// Nothing that was started is left when it returns, and no file.
pub fn run(request: &Request, env: &Env, tell: &mut dyn FnMut(Notice)) -> Result<Response, BridgeError> {
    install_timeout(env)?;
    let directory = entered(&request.working_dir)?;
    let target = target(&request.recipe, &directory)?;
    let recipe = name(&request.recipe, &target);
    tell(Notice::Starting { recipe: recipe.clone() });
    let Found { path: runner, passed_over } = find(request.runner.as_deref(), env)?;
    if let Some(named) = passed_over {
        tell(Notice::PassedOver { named, runner: runner.clone() });
    }
    let mut child_env = allowed(env);
    if child_env.get(PROJECT).is_none() {
        child_env.set(PROJECT, &directory);
    }
    gate::check(&runner, &child_env)?;
    let shim = shim(request, &directory, &mut child_env, tell);
    let mut args = arguments(request, target, &directory);
    let cost = exec_cost(runner.as_os_str(), args.iter().map(OsString::as_os_str), child_env.iter());
    let room = arg_limits().total.saturating_sub(cost + SPARE);
    let room = usize::try_from(room).unwrap_or(usize::MAX).saturating_sub(PAIR * request.context.len());
    let spilled = spill::write(&request.context, &env.temporary_dir(), room)?;
    for (key, value) in spilled.pairs() {
        args.extend(["--set".into(), format!("{key}={value}").into()]);
    }
    let mut command = Command::new(&runner);
    command.args(args).current_dir(&directory).env_clear().envs(child_env.iter());
    tell(Notice::Executing { recipe: recipe.clone() });
    let outcome = run_blocking(spec(request, command, spilled, shim))?;
    if !outcome.survivors.is_empty() {
        let processes: Vec<String> = outcome.survivors.iter().map(ToString::to_string).collect();
        tell(Notice::Survivors { processes: processes.join(", ") });
    }
    if !request.progress {
        let said = String::from_utf8_lossy(&outcome.stderr.bytes);
        for warning in warnings(&said) {
            tell(Notice::Warned { warning });
        }
    }
    answer(&outcome, &recipe)
}

fn spec(request: &Request, command: Command, spilled: Spill, shim: Option<Shim>) -> RunSpec {
    RunSpec {
        stdout: Output::Head(LIMIT),
        stderr: if request.progress { Output::Forward(STDERR) } else { Output::Tail(STDERR) },
        deadlines: Deadlines { total: request.deadline, ..Deadlines::default() },
        keep: Box::new((spilled, shim)),
        subreaper: request.owner,
        interrupts: if request.owner { Interrupts::listen() } else { Interrupts::none() },
        ..RunSpec::new(command)
    }
}

fn answer(outcome: &ProcessOutput, recipe: &str) -> Result<Response, BridgeError> {
    match outcome.cause {
        EndCause::Interrupted(signal) => Err(BridgeError::Interrupted { signal: signal.as_raw() }),
        EndCause::Deadline(_) => Err(BridgeError::TimedOut),
        EndCause::Ended | EndCause::Lingered => {
            judge(outcome.exit, &outcome.stdout, &outcome.stderr.bytes, recipe)
        }
    }
}

fn entered(directory: &Path) -> Result<PathBuf, BridgeError> {
    let failed = |source| BridgeError::Directory { path: directory.to_owned(), source };
    let real = std::fs::canonicalize(directory).map_err(failed)?;
    if real.is_dir() { Ok(real) } else { Err(failed(std::io::ErrorKind::NotADirectory.into())) }
}

/// The recipe as the runner takes it: a path if it is written as one, else a name.
fn target(recipe: &Path, directory: &Path) -> Result<OsString, BridgeError> {
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

/// What the recipe is called: by itself if it is a file that can be read, else as it was asked for.
fn name(recipe: &Path, target: &OsStr) -> String {
    let read = read(Path::new(target)).ok().map(|recipe| recipe.name).filter(|name| !name.is_empty());
    read.unwrap_or_else(|| recipe.display().to_string())
}

fn arguments(request: &Request, target: OsString, directory: &Path) -> Vec<OsString> {
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
fn shim(request: &Request, directory: &Path, env: &mut Env, tell: &mut dyn FnMut(Notice)) -> Option<Shim> {
    let wanted = request.copilot.as_ref()?;
    let in_charge = resolve_in(directory, env, &System::new(env), jiff::Timestamp::now()).agent;
    if in_charge != AgentBinary::Copilot {
        return None;
    }
    wanted.put_first(env).unwrap_or_else(|error| {
        tell(Notice::NoShim { why: format!("{}: {error}", wanted.directory.display()) });
        None
    })
}

impl CopilotShim {
    /// Puts the shim first on PATH in `env`, if there is a Copilot to be called. It goes when it is dropped.
    pub fn put_first(&self, env: &mut Env) -> std::io::Result<Option<Shim>> {
        if amplihack_utils::sabotage::active("copilot-nested") {
            return Ok(None);
        }
        if lookup::find(AgentBinary::Copilot, None, env).is_err() {
            return Ok(None);
        }
        let shim = install_into(&self.directory, &self.program)?;
        let path = shim.first_on(env.get("PATH")).map_err(std::io::Error::other)?;
        env.set("PATH", path);
        Ok(Some(shim))
    }
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
            assert_eq!(target(Path::new(recipe), wd).unwrap(), expected);
        }
        for bad in ["", "--update"] {
            assert!(matches!(target(Path::new(bad), wd), Err(BridgeError::BadRecipe { .. })), "{bad}");
        }
    }

    #[test]
    fn the_banners_are_the_predecessors() {
        let recipe = || "smart-orchestrator".to_owned();
        let banners = [Notice::Starting { recipe: recipe() }, Notice::Executing { recipe: recipe() }];
        assert_eq!(
            banners.map(|banner| banner.to_string()),
            [
                "[amplihack] recipe-runner --- starting: smart-orchestrator",
                "[amplihack] recipe-runner --- executing: smart-orchestrator"
            ]
        );
    }
}
