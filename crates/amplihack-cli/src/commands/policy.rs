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

use amplihack_config::env::Env;

pub(crate) use args::PolicyCommand;

use crate::ui::CommandFailure;

/// Runs the command and returns the exit code.
pub(crate) fn run_policy_command(command: PolicyCommand, env: &Env) -> Result<u8, CommandFailure> {
    match command {
        PolicyCommand::Check(args) => check::check_command(&args, env),
        PolicyCommand::Explain(args) => explain::explain_command(&args, env),
        PolicyCommand::Test(args) => test::test_corpus(&args, env),
        PolicyCommand::List(args) => list::list_rules(args.json, env),
        PolicyCommand::Export(args) => export::export_policy(&args, env),
        PolicyCommand::AllowOnce { id: Some(id) } => allow_once::allow_call_once(&id, env),
        PolicyCommand::Pending | PolicyCommand::AllowOnce { id: None } => allow_once::list_pending(env),
    }
}
