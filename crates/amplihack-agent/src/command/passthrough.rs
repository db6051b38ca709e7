//! A user's own arguments for an agent, handed on as they are, behind what the guard needs.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use super::slots::CommandLineSlots;
use super::{CommandVariables, HeldRepository};
use crate::error::DeliveryError;
use crate::installed::Installed;
use crate::matrix::{AgentCapability, CapabilityRow, RunMode};

/// A user's own arguments, unchanged, with what the guard of a launch puts in front of them.
#[derive(Debug, Clone, Copy)]
pub struct OwnArguments<'a> {
    /// The arguments.
    pub args: &'a [OsString],
    /// Values of the guard's hooks; none without a guard.
    pub hooks: &'a [OsString],
    /// The policy file by which the agent asks about every call, where it calls no hooks.
    pub asking: Option<&'a Path>,
    /// The directory whose own hooks, variables, MCP servers, skills and commands the agent leaves out.
    pub held: Option<&'a HeldRepository>,
}

/// The command of a user's own arguments, untouched: no prompt is looked for, stdin passes through.
pub fn passthrough_command(installed: &Installed, args: &[OsString], cwd: &Path) -> Command {
    let mut command = Command::new(&installed.path);
    command.args(args).current_dir(cwd).stdin(Stdio::inherit());
    command
}

/// The command of a user's own arguments with the guard's in front of them, and the variables that it needs beside its environment.
///
/// # Errors
/// [`DeliveryError::Unsupported`] if the agent cannot do what the guard needs: hold the repository, call hooks or ask about every call.
pub fn guarded_passthrough(
    installed: &Installed,
    own: OwnArguments<'_>,
    cwd: &Path,
) -> Result<(Command, CommandVariables), DeliveryError> {
    let mut slots = CommandLineSlots::default();
    let mode = RunMode::Interactive;
    let row = |what| installed.can(what, mode);
    if let Some(held) = own.held {
        let shape = row(AgentCapability::HoldRepository)?.shape;
        slots.push_each(shape, &held.row_values(shape));
        if let Ok(CapabilityRow { shape, .. }) = row(AgentCapability::HeldInstructions)
            && let Some(value) = held.instructions_value(*shape)
        {
            slots.push(*shape, Some(value));
        }
    }
    if !own.hooks.is_empty() {
        slots.push_each(row(AgentCapability::Hooks)?.shape, own.hooks);
    }
    if let Some(file) = own.asking {
        slots.push(row(AgentCapability::AskAlways)?.shape, Some(file.into()));
    }
    let mut line = slots.options;
    line.extend_from_slice(own.args);
    Ok((passthrough_command(installed, &line, cwd), slots.variables))
}
