//! `recipe-runner-rs`: the predecessor's command over this project's recipes.

mod args;
#[path = "../printable_error.rs"]
mod printable_error;
#[path = "../diagnostics/redacting.rs"]
mod redacting;
mod run;

use std::io::{self, Write};
use std::process::ExitCode;

use amplihack_config::env::Env;
use amplihack_recipe::find::RecipeDiscovery;
use clap::Parser;

use args::{RecipeRunnerCli, RecipeRunnerCommand};

/// The recipe cannot be read, or the command line.
pub(crate) const PARSE: u8 = 2;
/// The recipe is not there.
pub(crate) const NOT_FOUND: u8 = 3;
/// No recipe is named, or a value is malformed.
pub(crate) const ARGUMENTS: u8 = 4;

fn main() -> ExitCode {
    let env = Env::from_process();
    // Without it, only a limit of file sizes ends the process without a word.
    let _ = amplihack_sys::last_words::survive_size_limit();
    let cli = match RecipeRunnerCli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(PARSE);
            return ExitCode::from(printable_error::make_printable(error).print().map_or(1, |()| code));
        }
    };
    warn_on_stderr();
    ExitCode::from(match cli.command {
        Some(RecipeRunnerCommand::List(args)) => list_recipes(&env, &args),
        Some(RecipeRunnerCommand::Update) => {
            print_message(
                "error: nothing is downloaded any more; `recipe-runner-rs` comes with amplihack, update that",
            );
            1
        }
        None => run::run_recipe(&cli.run, &env),
    })
}

/// Shows what the libraries below warn about, such as a value that names no agent.
fn warn_on_stderr() {
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .with_writer(|| redacting::RedactingWriter(io::stderr()))
        .with_ansi(false)
        .without_time()
        .init();
}

/// Prints a line for a person to stderr.
pub(crate) fn print_message(text: &str) {
    // A closed stderr must not end the run.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes to stdout; false if stdout takes it not.
pub(crate) fn write_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> bool {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Ok(()) => true,
        Err(error) => {
            print_message(&format!("error: stdout could not be written: {error}"));
            false
        }
    }
}

fn list_recipes(env: &Env, args: &args::RunnerListArgs) -> u8 {
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
