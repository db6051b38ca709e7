//! Runner for sessions on the local machine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use amplihack_config::env::Env;
use async_trait::async_trait;

use super::call::{LIMIT, LONG_LIMIT, run_command, without_secrets};
use super::copy_file;
use crate::error::RemoteError;
use crate::runner::{CommandOutput, RemoteCommandRunner};

/// Runs commands on this machine, whatever machine is named.
#[derive(Debug, Clone)]
pub struct LocalRunner {
    env: Env,
}

impl LocalRunner {
    /// Sessions below `root`, which must be absolute. Commands get `env` without its secrets.
    pub fn new(root: PathBuf, env: &Env) -> Self {
        Self { env: without_secrets(env).with_variable("AMPLIHACK_REMOTE_ROOT", root) }
    }

    async fn run_shell(
        &self,
        line: &str,
        input: Option<&Path>,
        output: Option<&Path>,
        limit: Duration,
    ) -> Result<CommandOutput, RemoteError> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]);
        if let Some(home) = self.env.home() {
            command.current_dir(home);
        }
        run_command(command, &self.env, input, output, limit).await
    }
}

#[async_trait]
impl RemoteCommandRunner for LocalRunner {
    async fn azlin(&self, _args: &[String]) -> Result<CommandOutput, RemoteError> {
        Err(RemoteError::Provisioning("this machine is not azlin's: use --backend azlin".into()))
    }

    async fn connect(&self, _vm_name: &str, command: &str) -> Result<CommandOutput, RemoteError> {
        self.run_shell(command, None, None, LIMIT).await
    }

    async fn transfer(&self, source: &Path, vm_name: &str, destination: &Path) -> Result<(), RemoteError> {
        copy_file(self, source, vm_name, destination).await
    }

    async fn run_piped(
        &self,
        _vm_name: &str,
        command: &str,
        input: Option<&Path>,
        output: Option<&Path>,
    ) -> Result<CommandOutput, RemoteError> {
        self.run_shell(command, input, output, LONG_LIMIT).await
    }
}
