//! `amplihack policy`: what the policy says, and why.

mod allow_once;
mod args;
mod batch;
mod check;
mod explain;
mod export;
mod list;
mod policies;
mod test;

use amplihack_utils::env::Env;

pub(crate) use args::PolicyCommand;

use crate::ui::Failure;

/// Runs the command and returns the exit code.
pub(crate) fn run(command: PolicyCommand, env: &Env) -> Result<u8, Failure> {
    match command {
        PolicyCommand::Check(args) => check::run(&args, env),
        PolicyCommand::Explain(args) => explain::run(&args, env),
        PolicyCommand::Test(args) => test::run(&args, env),
        PolicyCommand::List(args) => list::run(args.json, env),
        PolicyCommand::Export(args) => export::run(&args, env),
        PolicyCommand::AllowOnce { id } => allow_once::run(&id, env),
    }
}
