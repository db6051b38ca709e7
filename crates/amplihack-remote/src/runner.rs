//! The seam to everything outside: the program azlin, and machines.

use std::path::Path;

use amplihack_sys::hex::random_word;
use async_trait::async_trait;

use crate::error::RemoteError;

/// The output of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// Exit code of the command; 128 and the signal's number if a signal ended it.
    pub status: i32,
    /// Standard output of the command.
    pub stdout: String,
    /// Standard error of the command.
    pub stderr: String,
}

// Each runner says again how its methods are called: a trait's methods are written out where they are implemented.
/// Runs commands. An error says that a command could not be given or its answer not be had; a command that failed is an answer.
#[async_trait]
pub trait RemoteCommandRunner: Send + Sync {
    /// Runs azlin with `args`.
    ///
    /// # Errors
    /// `Provisioning` where the runner has no azlin; `Execution` where azlin cannot be run, or its answer is too long; `Transfer` where it
    /// does not end in time.
    async fn azlin(&self, args: &[String]) -> Result<CommandOutput, RemoteError>;

    /// Runs a shell command on a machine, with nothing on its stdin.
    ///
    /// # Errors
    /// `Validation` where the runner does not know the machine; `Transfer` where the machine cannot be asked or does not answer in time;
    /// `Execution` where the command cannot be given, or its answer is too long.
    async fn connect(&self, vm_name: &str, command: &str) -> Result<CommandOutput, RemoteError>;

    /// Copies a file to a machine. A relative destination is below the home there.
    ///
    /// # Errors
    /// `Transfer` where `source` cannot be read or the machine does not store it; else those of [`connect`](Self::connect).
    async fn transfer(&self, source: &Path, vm_name: &str, destination: &Path) -> Result<(), RemoteError>;

    /// Runs a shell command on a machine with the file `input` on its stdin, and its stdout in the file `output`, to the byte.
    ///
    /// By way of the other three: the input is copied to a private file there, which is removed as it is read. A secret in the input
    /// is for a short time in that file; runners that have a stdin do better.
    ///
    /// # Errors
    /// `Transfer` where `input` cannot be read or sent, or `output` cannot be written; else those of [`connect`](Self::connect).
    async fn run_piped(
        &self,
        vm_name: &str,
        command: &str,
        input: Option<&Path>,
        output: Option<&Path>,
    ) -> Result<CommandOutput, RemoteError> {
        let answer = match input {
            None => self.connect(vm_name, command).await?,
            Some(input) => {
                let name = random_word().map_err(|error| {
                    RemoteError::Execution(format!("no name for a file on {vm_name}: {error}").into())
                })?;
                let there = format!(".amplihack-{name}");
                self.transfer(input, vm_name, Path::new(&there)).await?;
                self.connect(vm_name, &format!("{{ rm -f {there}; {command}\n}} < {there}")).await?
            }
        };
        if let Some(output) = output {
            std::fs::write(output, &answer.stdout).map_err(|error| {
                RemoteError::Transfer(format!("{} could not be written: {error}", output.display()).into())
            })?;
        }
        Ok(answer)
    }
}
