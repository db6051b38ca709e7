//! `recipe-runner-rs`: the predecessor's command line, its texts and its exit codes.

mod args;
mod run;

use std::ffi::OsString;
use std::io::{self, Write};

use amplihack_config::env::Env;
use amplihack_recipe::find::RecipeDiscovery;
use clap::Parser;

use args::{RecipeRunnerCli, RecipeRunnerCommand, RunnerListArgs};

/// The recipe cannot be read, or the command line.
pub const PARSE: u8 = 2;
/// The recipe is not there.
const NOT_FOUND: u8 = 3;
/// No recipe is named, or a value is malformed.
const ARGUMENTS: u8 = 4;

/// Runs what the command line asks for and returns the exit code.
///
/// # Errors
/// The command line cannot be read, or asks for the help.
pub fn run_command_line(args: impl Iterator<Item = OsString>, env: &Env) -> Result<u8, clap::Error> {
    let cli = RecipeRunnerCli::try_parse_from(args)?;
    Ok(match cli.command {
        Some(RecipeRunnerCommand::List(args)) => list_recipes(env, &args),
        Some(RecipeRunnerCommand::Update) => {
            print_message(
                "error: nothing is downloaded any more; `recipe-runner-rs` comes with amplihack, update that",
            );
            1
        }
        None => run::run_recipe(&cli.run, env),
    })
}

/// Prints a line for a person to stderr.
fn print_message(text: &str) {
    // A closed stderr must not end the run.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes to stdout; false if stdout takes it not.
fn write_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> bool {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Ok(()) => true,
        Err(error) => {
            print_message(&format!("error: stdout could not be written: {error}"));
            false
        }
    }
}

fn list_recipes(env: &Env, args: &RunnerListArgs) -> u8 {
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => {
            print_message(&format!("error: the working directory is not known: {error}"));
            return 1;
        }
    };
    let listed = RecipeDiscovery::new(env, &cwd, &args.recipe_dir).list_recipes();
    let written = write_stdout(|out| {
        for found in &listed {
            match &found.recipe {
                Ok(recipe) => {
                    let description = recipe.description.lines().next().unwrap_or_default();
                    let name = if recipe.name == found.name {
                        found.name.clone()
                    } else {
                        format!("{} ({})", found.name, recipe.name)
                    };
                    writeln!(out, "{name:<32} {description}  ({})", found.path.display())?;
                }
                Err(_) => writeln!(out, "{:<32} cannot be read  ({})", found.name, found.path.display())?,
            }
        }
        Ok(())
    });
    for found in &listed {
        if let Err(error) = &found.recipe {
            print_message(&format!("warning: {error}"));
        }
    }
    u8::from(!written)
}
