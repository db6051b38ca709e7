//! The predecessor's command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Run recipes: workflows of shell, agent and nested steps.
#[derive(Debug, Parser)]
#[command(
    name = "recipe-runner",
    version = "0.4.0",
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct RecipeRunnerCli {
    #[command(subcommand)]
    pub(crate) command: Option<RecipeRunnerCommand>,
    #[command(flatten)]
    pub(crate) run: RunnerRunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecipeRunnerCommand {
    /// List the recipes that can be run by name
    List(RunnerListArgs),
    /// Superseded: nothing is downloaded
    Update,
}

#[derive(Debug, Args)]
pub(crate) struct RunnerListArgs {
    /// A directory with recipes, instead of the default ones; may be repeated
    #[arg(short = 'R', long = "recipe-dir", value_name = "DIR")]
    pub(crate) recipe_dir: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunnerRunArgs {
    /// The recipe: a file, or a name
    #[arg(value_name = "RECIPE")]
    pub(crate) recipe: Option<String>,
    /// The directory in which steps run
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub(crate) working_dir: PathBuf,
    /// Set a value; may be repeated
    #[arg(short = 'c', long = "set", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub(crate) set: Vec<String>,
    /// Read values from a file with a JSON object
    #[arg(long, value_name = "FILE")]
    pub(crate) context_file: Option<PathBuf>,
    /// A directory with recipes, instead of the default ones; may be repeated
    #[arg(short = 'R', long, value_name = "DIR")]
    pub(crate) recipe_dir: Vec<PathBuf>,
    /// Start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not stage what agents changed
    #[arg(long)]
    pub(crate) no_auto_stage: bool,
    /// text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"], hide_possible_values = true)]
    pub(crate) output_format: String,
    /// Read the recipe and say what is wrong with it
    #[arg(long)]
    pub(crate) validate_only: bool,
    /// Say what the recipe would do
    #[arg(long)]
    pub(crate) explain: bool,
    /// Show steps as they go on
    #[arg(long)]
    pub(crate) progress: bool,
    /// Of the steps with tags, run only those with one of these
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub(crate) include_tags: Vec<String>,
    /// Skip steps with one of these tags
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub(crate) exclude_tags: Vec<String>,
    /// Write an audit of each recipe into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) audit_dir: Option<PathBuf>,
    /// The agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent_binary: Option<OsString>,
}
