//! Finding an agent on this machine: its program, its version, what was proved of it.

use std::time::Duration;

use amplihack_agent::lookup::{LookupError, find};
use amplihack_agent::{AgentBinary, Installed, version};
use amplihack_session::probe;
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;

use crate::proofs;
use crate::versions::Cache;

/// How the version of an agent is learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// Not at all: nothing is started, nothing is read.
    Unknown,
    /// From the cache, else by running the agent with `--version` and remembering the answer.
    Cached,
}

/// A first start may unpack hundreds of megabytes.
const PROBE_DEADLINE: Duration = Duration::from_secs(20);

/// Finds `agent` by configuration, PATH and its install places, and its version as `versions` says.
pub fn discover(
    agent: AgentBinary,
    env: &Env,
    config: &Config,
    versions: Versions,
) -> Result<Installed, LookupError> {
    let origin = config.get(&format!("agents.{agent}.path")).map(|setting| setting.origin.to_string());
    let configured = config.agent_path(agent).zip(origin.as_deref());
    let path = find(agent, configured, env)?;
    let mut installed = Installed { path, ..Installed::assumed(agent) };
    if versions == Versions::Cached {
        installed.version = cached_version(&installed, env);
        installed.proofs = proofs::read(env, &installed);
    }
    Ok(installed)
}

fn cached_version(installed: &Installed, env: &Env) -> Option<semver::Version> {
    let mut cache = Cache::open(env);
    if let Some(known) = cache.get(&installed.path) {
        return Some(known);
    }
    let mut command =
        amplihack_agent::command::passthrough(installed, &["--version".into()], std::path::Path::new("/"));
    command.env_clear().envs(env.iter());
    let output = match probe(command, PROBE_DEADLINE) {
        Ok(output) => output,
        Err(error) => {
            tracing::warn!(agent = %installed.agent, %error, "the agent does not tell its version");
            return None;
        }
    };
    let version = version::parse(&String::from_utf8_lossy(&output.stdout))
        .or_else(|| version::parse(&String::from_utf8_lossy(&output.stderr)))?;
    cache.put(&installed.path, &version);
    Some(version)
}
