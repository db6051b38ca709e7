//! `amplihack recipe`: workflows of shell, agent and nested steps.

#[cfg(feature = "compat")]
mod external;
mod inspect;
mod new;
mod run;
mod runs;
mod yaml;

use std::path::PathBuf;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_config::env::Env;
use amplihack_recipe::diagnostic::RecipeDiagnostic;
use amplihack_recipe::diagnostic::RecipeSeverity;
use amplihack_recipe::find::RecipeDiscovery;
use amplihack_recipe::plan::CompileError;
use amplihack_setup::shim::CopilotShim;
use amplihack_sys::error::ExitKind;
use clap::{Args, Subcommand, ValueEnum};

use super::prune::PruneArgs;
use crate::cli::{PermissionLevelArg, parse_duration};
use crate::ui::CommandFailure;

/// Commands about recipes.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RecipeCommand {
    /// Run a recipe, or resume a run
    Run(Box<RecipeRunArgs>),
    /// List the recipes that can be run by name
    List(RecipeListArgs),
    /// Report every mistake in a recipe and in the recipes that it calls; start nothing
    Validate(LookArgs),
    /// Print a recipe
    Show(RecipeShowArgs),
    /// Write a new recipe to start from; never overwrites a file
    New(NewArgs),
    /// List, show or delete runs
    #[command(subcommand)]
    Runs(RunsCommand),
}

// Options of `recipe run`.
#[derive(Debug, Args)]
pub(crate) struct RecipeRunArgs {
    /// The recipe: a file, or a name
    #[arg(value_name = "NAME|PATH", required_unless_present = "resume", conflicts_with = "resume")]
    pub recipe: Option<String>,
    /// Set a value; may be repeated
    #[arg(
        short = 'c',
        long = "set",
        value_name = "NAME=VALUE",
        allow_hyphen_values = true,
        conflicts_with = "resume"
    )]
    pub set: Vec<String>,
    /// Read values from a file with a JSON object
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub context_file: Option<PathBuf>,
    /// Read and compile everything, print what would be done, start nothing
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,
    /// Resume this run without repeating completed steps: an id, the beginning of one, or `latest`
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,
    /// The agent for agent steps; default: the one in charge here (see `which`)
    #[arg(long, value_name = "AGENT", value_parser = crate::cli::parse_agent_name, conflicts_with = "resume")]
    pub agent: Option<AgentBinary>,
    /// Actions that agents may take without asking; default: the agent's own default
    #[arg(long, value_name = "LEVEL", conflicts_with = "resume")]
    pub permissions: Option<PermissionLevelArg>,
    /// Launch agents without the guard: the policy checks no tool calls
    #[arg(long, conflicts_with = "resume")]
    pub no_hooks: bool,
    /// Stage what agents change (git add -A), unless a step says otherwise
    #[arg(long, conflicts_with = "resume")]
    pub auto_stage: bool,
    /// The directory in which steps run
    #[arg(short = 'w', long, value_name = "DIR", default_value = ".", conflicts_with = "resume")]
    pub working_dir: PathBuf,
    /// Form of the result that is printed at the end
    #[arg(short = 'f', long, value_name = "FORMAT", value_enum, default_value_t = ResultFormat::Table)]
    pub format: ResultFormat,
    /// Time limit for steps that do not set one, in seconds or such as 90s, 5min
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, conflicts_with = "resume")]
    pub step_timeout: Option<Duration>,
    /// End the run when its agents have cost this many dollars, all steps together
    #[arg(long, value_name = "X", value_parser = crate::cli::parse_dollars)]
    pub budget_usd: Option<f64>,
    /// End the run when its agents have used this many tokens, all steps together
    #[arg(long, value_name = "N")]
    pub budget_tokens: Option<u64>,
    /// End the run after this time, such as 90s or 2h
    #[arg(long, value_name = "TIME", value_parser = crate::cli::parse_timeout)]
    pub deadline: Option<Duration>,
    /// A directory with recipes, instead of the default ones; may be repeated
    #[arg(short = 'R', long, value_name = "DIR", conflicts_with = "resume")]
    pub recipe_dir: Vec<PathBuf>,
    /// Of the steps with tags, run only those with one of these
    #[arg(long, value_name = "TAGS", value_delimiter = ',', conflicts_with = "resume")]
    pub include_tags: Vec<String>,
    /// Skip steps with one of these tags
    #[arg(long, value_name = "TAGS", value_delimiter = ',', conflicts_with = "resume")]
    pub exclude_tags: Vec<String>,
    /// Form of the progress that is shown on stderr during the run
    #[arg(long, value_name = "FORM", value_enum, default_value_t = RecipeProgressFormat::Lines)]
    pub progress: RecipeProgressFormat,
    /// Let another program run the recipe: its path, or `external` to look for recipe-runner-rs
    #[arg(long, value_name = "PATH|external", conflicts_with_all = ["resume", "step_timeout", "include_tags", "exclude_tags", "audit_dir", "permissions", "no_hooks", "budget_usd", "budget_tokens", "deadline"])]
    pub runner: Option<PathBuf>,
    /// Write an audit of each recipe into this directory
    #[arg(long, value_name = "DIR")]
    pub audit_dir: Option<PathBuf>,
}

/// The form in which a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    /// A line per step
    Table,
    /// A JSON object, with the output of each step
    Json,
    /// An object like that of json, as YAML
    Yaml,
}

/// The form in which the progress of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecipeProgressFormat {
    /// Lines to read
    Lines,
    /// A JSON object per line
    Jsonl,
    /// Only what needs attention
    None,
}

// Options of `recipe list`.
#[derive(Debug, Args)]
pub(crate) struct RecipeListArgs {
    /// A directory with recipes, instead of the default ones; may be repeated
    #[arg(short = 'R', long, value_name = "DIR")]
    pub recipe_dir: Vec<PathBuf>,
    /// Only recipes with this tag
    #[arg(short = 't', long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

// Options of `recipe validate`.
#[derive(Debug, Args)]
pub(crate) struct LookArgs {
    /// The recipe: a file, or a name
    #[arg(value_name = "NAME|PATH")]
    pub recipe: String,
    /// A directory with recipes, instead of the default ones; may be repeated
    #[arg(short = 'R', long, value_name = "DIR")]
    pub recipe_dir: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

// Options of `recipe show`.
#[derive(Debug, Args)]
pub(crate) struct RecipeShowArgs {
    /// The recipe: a file, or a name
    #[arg(value_name = "NAME|PATH")]
    pub recipe: String,
    /// A directory with recipes, instead of the default ones; may be repeated
    #[arg(short = 'R', long, value_name = "DIR")]
    pub recipe_dir: Vec<PathBuf>,
    /// Describe in words what it and the recipes that it calls would do
    #[arg(long)]
    pub explain: bool,
}

// Options of `recipe new`.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// A file (with a `/`, or ending in `.yaml` or `.yml`), or a name for .claude/recipes/NAME.yaml
    #[arg(value_name = "NAME|PATH")]
    pub recipe: String,
}

/// Commands about runs.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RunsCommand {
    /// List the runs, oldest first
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a run did, step by step
    Show {
        /// The id of the run, the beginning of it, or `latest`
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete the records of old runs
    Prune(PruneArgs),
}

impl RecipeCommand {
    /// Reports whether the command only prints what there is.
    pub(crate) fn only_prints(&self) -> bool {
        match self {
            Self::List(_) | Self::Show(_) => true,
            Self::Runs(runs) => !matches!(runs, RunsCommand::Prune(_)),
            _ => false,
        }
    }

    /// Reports whether errors are shown as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Run(args) => args.format == ResultFormat::Json,
            Self::List(args) => args.json,
            Self::Validate(args) => args.json,
            Self::Show(_) | Self::New(_) | Self::Runs(RunsCommand::Prune(_)) => false,
            Self::Runs(RunsCommand::List { json } | RunsCommand::Show { json, .. }) => *json,
        }
    }
}

/// Runs the command and returns the exit code.
pub(crate) fn run_recipe_command(command: RecipeCommand, env: &Env) -> Result<u8, CommandFailure> {
    match command {
        RecipeCommand::Run(args) => match &args.runner {
            #[cfg(feature = "compat")]
            Some(runner) => external::run_external(&args, runner, env),
            #[cfg(not(feature = "compat"))]
            Some(runner) => Err(CommandFailure::new(
                "runner_not_supported",
                format!(
                    "--runner {} needs the bridge to another recipe runner, which this build of amplihack does not have",
                    runner.display()
                ),
                "leave --runner out: amplihack runs recipes itself; or build amplihack with its feature `compat`",
                ExitKind::Usage,
            )),
            None => run::run_recipe(&args, env),
        },
        RecipeCommand::List(args) => inspect::list_recipes(&args, env),
        RecipeCommand::Validate(args) => inspect::validate_recipe(&args, env),
        RecipeCommand::Show(args) => inspect::show_recipe(&args, env),
        RecipeCommand::New(args) => new::create_recipe(&args),
        RecipeCommand::Runs(command) => runs::run_runs_command(command, env),
    }
}

/// Returns the place of Copilot's stand-in for the run `id`, if there is a home for it.
fn copilot_shim(env: &Env, id: &str) -> Result<Option<CopilotShim>, CommandFailure> {
    let Some(home) = env.amplihack_home() else { return Ok(None) };
    let program = amplihack_sys::own_file()
        .map_err(|error| CommandFailure::from_io_error("this program's own file is not known", &error))?;
    Ok(Some(CopilotShim::of_run(&home, id, program)))
}

/// Returns the places where recipes are looked for.
fn recipe_discovery(
    env: &Env,
    here: &std::path::Path,
    cwd: &std::path::Path,
    dirs: &[PathBuf],
) -> RecipeDiscovery {
    let dirs: Vec<PathBuf> = dirs.iter().map(|dir| here.join(dir)).collect();
    RecipeDiscovery::new(env, cwd, &dirs)
}

fn compile_failure(error: &CompileError) -> CommandFailure {
    match error {
        CompileError::NotFound(_) | CompileError::File { .. } => not_found(&error.to_string()),
        _ => CommandFailure::new(
            "recipe_invalid",
            format!("{}; nothing was started\n\n{error}", count_mistakes(error)),
            "fix the underlined parts, then check them with `amplihack recipe validate`",
            ExitKind::Failed,
        ),
    }
}

/// The head of the list of a recipe's mistakes.
fn count_mistakes(error: &CompileError) -> String {
    let is_error = |found: &&RecipeDiagnostic| found.severity == RecipeSeverity::Error;
    match error.diagnostics().iter().filter(is_error).count() {
        1 => "the recipe has a mistake".to_owned(),
        count => format!("the recipe has {count} mistakes"),
    }
}

fn not_found(text: &str) -> CommandFailure {
    let hint = "`amplihack recipe list` lists the recipes that can be run by name";
    CommandFailure::new("recipe_not_found", text, hint, ExitKind::NotFound)
}

/// Seconds, or a span of time.
fn parse_seconds(text: &str) -> Result<Duration, String> {
    text.parse::<u64>().map(Duration::from_secs).or_else(|_| parse_duration(text))
}
