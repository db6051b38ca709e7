//! `amplihack amp …`: what can be said about Amp without starting it.

mod permissions;

use amplihack_config::env::Env;
use clap::Subcommand;

use crate::ui::CommandFailure;

// Commands about Amp: without a doc comment, which would take the place of the command's own.
#[derive(Debug, Subcommand)]
pub(crate) enum AmpCommand {
    /// Query Amp's permission rules
    #[command(subcommand)]
    Permissions(PermissionsCommand),
}

// Commands about Amp's permission rules.
#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// Decide a tool call as `amp permissions test` would, without Amp; exits with 0 (allow), 1 (ask) or 2 (reject)
    Test(permissions::PermissionsTestArgs),
}

impl AmpCommand {
    /// Reports whether errors are shown as JSON.
    pub(crate) fn wants_json(&self) -> bool {
        let Self::Permissions(PermissionsCommand::Test(args)) = self;
        args.wants_json()
    }
}

/// Runs the command and returns the exit code.
pub(crate) fn run_amp_command(command: AmpCommand, env: &Env) -> Result<u8, CommandFailure> {
    let AmpCommand::Permissions(PermissionsCommand::Test(args)) = command;
    permissions::test_permissions(args, env)
}
