//! The client of remote sessions: the configuration's answers, and settings of a call beside the options of the six commands.

pub(crate) mod answers;
mod ask;
mod context;
mod exec;
mod incremental;
mod machines;
mod refresh;
mod retrieve;
mod routes;
mod send;
mod start;
mod validate;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use amplihack_agent::{AgentBinary, PermissionLevel, agent_profile};
use amplihack_config::agent_binary::{SystemLiveness, resolve_in};
use amplihack_config::env::Env;
use amplihack_config::secret::Secret;
use amplihack_config::{ConfigValue, LayeredConfig};
use amplihack_sys::error::ErrorExplanation;

use crate::backend::Backend;
use crate::error::{ErrorContext, RemoteError};
use crate::hosts::RemoteHosts;
use crate::runner::RemoteCommandRunner;

/// The most that is sent for a session, unless said otherwise.
const CAP: u64 = 500 * 1024 * 1024;

/// Does what the six commands do, with a backend, an agent, and all that their options do not say.
///
/// Public fields: set what differs from the configuration.
#[derive(Clone)]
pub struct Client {
    /// The backend for new sessions. `None`: none was chosen, and nothing is started.
    pub backend: Option<Backend>,
    /// The agent that works.
    pub agent: AgentBinary,
    /// Permissions of the agent without asking; `None`: the agent's own default.
    pub permissions: Option<PermissionLevel>,
    /// The machines of the user's own.
    pub hosts: RemoteHosts,
    /// Use only hosts that have all of these labels.
    pub labels: Vec<String>,
    /// Use only this machine.
    pub host: Option<String>,
    /// More of the environment of the agent there.
    pub env: Vec<(String, Secret)>,
    /// The variable that the key is given in; `None`: the agent's usual one.
    pub key_name: Option<String>,
    /// Send work that is not committed, too.
    pub include_dirty: bool,
    /// A start with the key of an earlier one answers with its sessions and starts nothing.
    pub idempotency_key: Option<String>,
    /// Findings of the secret scan that are none, by their fingerprints.
    pub allow_secrets: Vec<String>,
    /// The most that is sent.
    pub cap: u64,
    /// Rent at most so many machines at once.
    pub max_vms: Option<usize>,
    /// Send this `amplihack` where none is installed.
    pub upload: Option<PathBuf>,
    /// Path to this `amplihack`, for sessions on this machine if PATH has none. A file of another name is not used.
    pub program: Option<PathBuf>,
    /// Remove a session although not all of its work could be brought home.
    pub discard_results: bool,
    /// Stop starting sessions after the first that could not be started.
    pub fail_fast: bool,
    /// Runner of all outside commands; `None`: the system's programs.
    pub runner: Option<Arc<dyn RemoteCommandRunner>>,
    /// Told what goes on.
    pub progress: Option<RemoteProgress>,
    pub(crate) process: Env,
    pub(crate) config: LayeredConfig,
}

pub use watch::RemoteOutputSink;

/// Receiver of progress messages for the user.
pub type RemoteProgress = Arc<dyn Fn(&str) + Send + Sync>;

impl Client {
    /// A client by the configuration of this process's environment and directory.
    ///
    /// # Errors
    /// `Validation` where the current directory is not there; else those of [`new`](Self::new).
    pub fn from_config() -> Result<Self, RemoteError> {
        let here = std::env::current_dir()
            .map_err(|error| invalid_input(format!("the current directory is not there: {error}")))?;
        Self::new(&Env::from_process(), &here)
    }

    /// A client in `here` with `env`.
    ///
    /// # Errors
    /// `Validation` where the configuration or `hosts.toml` cannot be read or is wrong.
    pub fn new(env: &Env, here: &Path) -> Result<Self, RemoteError> {
        let config = LayeredConfig::load(env, here, &[]).map_err(|error| {
            let context = ErrorContext::new(error.to_string());
            RemoteError::Validation(match error.hint() {
                Some(hint) => context.with_fact("hint", hint),
                None => context,
            })
        })?;
        let backend = config.get("remote.backend").and_then(|setting| match &setting.value {
            ConfigValue::Word(word) => word.parse().ok(),
            _ => None,
        });
        let agent = resolve_in(here, env, &SystemLiveness::new(env), jiff::Timestamp::now()).agent;
        Ok(Self {
            backend,
            agent,
            permissions: None,
            hosts: RemoteHosts::load(env)?,
            labels: Vec::new(),
            host: None,
            env: Vec::new(),
            key_name: None,
            include_dirty: false,
            idempotency_key: None,
            allow_secrets: Vec::new(),
            cap: CAP,
            max_vms: None,
            upload: None,
            program: None,
            discard_results: false,
            fail_fast: false,
            runner: None,
            progress: None,
            process: env.clone(),
            config,
        })
    }

    /// The key of the agent's provider in this client's environment, and the variable that it is in.
    pub fn agent_key(&self) -> Option<(&'static str, Secret)> {
        let names = agent_profile(self.agent).keys;
        let names = if amplihack_sys::sabotage::is_active("remote-cli-key") { &names[..0] } else { names };
        names.iter().find_map(|name| {
            let text = self.process.text(name).filter(|text| !text.trim().is_empty())?;
            Some((*name, Secret::new(text)))
        })
    }

    /// A variable of this client's environment.
    pub fn env_variable(&self, name: &str) -> Option<&str> {
        self.process.text(name)
    }

    /// The backend, or how to choose one.
    pub(crate) fn required_backend(&self) -> Result<Backend, RemoteError> {
        self.backend.ok_or_else(|| {
            RemoteError::Validation(
                ErrorContext::new("no backend is chosen: local (this machine), ssh (machines of hosts.toml), azlin (rents machines) or slurm")
                    .with_fact("hint", "give --backend NAME, or set remote.backend in the configuration"),
            )
        })
    }

    /// The time for which a passing failure is tried again, instead of `usual`.
    pub(crate) fn retry_budget(&self, usual: Duration) -> Duration {
        let seconds =
            self.process.text("AMPLIHACK_REMOTE_RETRY_BUDGET_SECS").and_then(|text| text.trim().parse().ok());
        seconds.map_or(usual, Duration::from_secs)
    }

    /// Tells what goes on.
    pub(crate) fn report_progress(&self, text: &str) {
        if let Some(progress) = &self.progress {
            progress(text);
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("backend", &self.backend)
            .field("agent", &self.agent)
            .field("permissions", &self.permissions)
            .finish_non_exhaustive()
    }
}

/// Something that the user said and that cannot be used.
pub(crate) fn invalid_input(message: impl Into<String>) -> RemoteError {
    RemoteError::Validation(ErrorContext::new(message))
}

/// Reports whether the fate of a command is unknown, or its machine may answer another time.
pub(crate) fn may_answer_later(error: &RemoteError) -> bool {
    let reason = error.get_fact("reason");
    matches!(error, RemoteError::Transfer(_))
        && matches!(reason, Some("unreachable" | "saturated" | "refused"))
}
