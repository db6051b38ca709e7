//! `amplihack completions`: the script of a shell, and the answers to it. Shells ask the program itself, which knows sessions, recipes
//! and topics too.

mod values;

use std::ffi::OsString;

use amplihack_config::env::Env;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_complete::env::{EnvCompleter, Shells};

use crate::cli::{AmplihackCli, CompletionsArgs};
use crate::ui::{self, CommandFailure};

/// The variable in which a shell's script names its shell when it asks for completions.
const COMPLETE_VAR: &str = "AMPLIHACK_COMPLETE";
const PROGRAM: &str = "amplihack";
const ZSH_FIRST_CALL: &str =
    "\nif [ \"$funcstack[1]\" = _amplihack ]; then\n    _clap_dynamic_completer_amplihack \"$@\"\nfi\n";

/// Prints the completion script of a shell.
pub(crate) fn print_completions(args: &CompletionsArgs) -> Result<u8, CommandFailure> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    find_completer(&shells, &args.shell.to_string())?
        .write_registration(COMPLETE_VAR, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|error| CommandFailure::from_io_error("the script could not be made", &error))?;
    if args.shell == Shell::Zsh {
        // A script that zsh loads when it is first needed has to answer that first time, too.
        script.extend_from_slice(ZSH_FIRST_CALL.as_bytes());
    }
    ui::print_data(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// The shell that asks for completions with this call, by its environment.
pub(crate) fn asking_shell(env: &Env) -> Option<&str> {
    env.text(COMPLETE_VAR).filter(|shell| !shell.is_empty())
}

/// Answers a completion script: prints what can stand at the end of the command line behind `--` in `args`.
pub(crate) fn answer_completions(shell: &str, args: &[OsString], env: &Env) -> Result<u8, CommandFailure> {
    let words: Vec<OsString> = args.iter().skip_while(|word| *word != "--").skip(1).cloned().collect();
    let mut command = values::with_values(AmplihackCli::command(), env);
    let mut out = Vec::new();
    let shells = Shells::builtins();
    find_completer(&shells, shell)?
        .write_complete(&mut command, words, super::current_dir().ok().as_deref(), &mut out)
        .map_err(|error| CommandFailure::from_io_error("the line cannot be completed", &error))?;
    ui::print_data(&String::from_utf8_lossy(&out))?;
    Ok(0)
}

fn find_completer<'s>(
    shells: &'s Shells<'static>,
    name: &str,
) -> Result<&'s dyn EnvCompleter, CommandFailure> {
    shells.completer(name).ok_or_else(|| {
        CommandFailure::bad_input(format!("{COMPLETE_VAR} names no shell that has completions: {name:?}"))
    })
}
