//! This machine as a place for sessions.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use amplihack_utils::env::Env;
use async_trait::async_trait;

use super::call::{LIMIT, LONG_LIMIT, call, harmless};
use super::copy;
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
        Self { env: harmless(env).with("AMPLIHACK_REMOTE_ROOT", root) }
    }

    async fn sh(
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
        call(command, &self.env, input, output, limit).await
    }
}

#[async_trait]
impl RemoteCommandRunner for LocalRunner {
    async fn azlin(&self, _args: &[String]) -> Result<CommandOutput, RemoteError> {
        Err(RemoteError::Provisioning("this machine is not azlin's: use --backend azlin".into()))
    }

    async fn connect(&self, _vm_name: &str, command: &str) -> Result<CommandOutput, RemoteError> {
        self.sh(command, None, None, LIMIT).await
    }

    async fn transfer(&self, source: &Path, vm_name: &str, destination: &Path) -> Result<(), RemoteError> {
        copy(self, source, vm_name, destination).await
    }

    async fn pipe(
        &self,
        _vm_name: &str,
        command: &str,
        input: Option<&Path>,
        output: Option<&Path>,
    ) -> Result<CommandOutput, RemoteError> {
        self.sh(command, input, output, LONG_LIMIT).await
    }
}
