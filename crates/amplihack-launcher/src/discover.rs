//! Finding an agent on this machine: its program, its version, what was proved of it.

use std::time::Duration;

use amplihack_agent::lookup::{LookupError, find};
use amplihack_agent::{AgentBinary, Installed, version};
use amplihack_session::{Exit, probe};
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;

use crate::proofs;
use crate::versions::{Answer, Cache};

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
    if let Some(Answer(known)) = cache.get(&installed.path) {
        return known;
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
        .or_else(|| version::parse(&String::from_utf8_lossy(&output.stderr)));
    // A program that ends well and tells no version will not tell one next time; one that fails may be in passing trouble.
    if version.is_some() || output.exit == Exit::Code(0) {
        cache.put(&installed.path, version.as_ref());
    }
    version
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// A program that counts its starts, then does what `rest` says, and an environment in which it is Claude.
    fn program(dir: &std::path::Path, rest: &str) -> (PathBuf, Env) {
        let program = dir.join("claude");
        let count = dir.join("starts");
        std::fs::write(&program, format!("#!/bin/sh\necho x >> '{}'\n{rest}\n", count.display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let env = Env::empty()
            .with("AMPLIHACK_HOME", dir.join("home"))
            .with("PATH", format!("{}:/usr/bin:/bin", dir.display()));
        (count, env)
    }

    fn asked(rest: &str) -> (Vec<Option<semver::Version>>, usize) {
        let dir = tempfile::tempdir().unwrap();
        let (count, env) = program(dir.path(), rest);
        let config = Config::load(&env, dir.path(), &[]).unwrap();
        let answers = (0..3)
            .map(|_| discover(AgentBinary::Claude, &env, &config, Versions::Cached).unwrap().version)
            .collect();
        (answers, std::fs::read_to_string(count).unwrap().lines().count())
    }

    #[test]
    fn a_program_is_asked_once_also_when_it_tells_no_version() {
        let version = semver::Version::new(2, 1, 332);
        assert_eq!(asked("echo '2.1.332 (Claude Code)'"), (vec![Some(version); 3], 1));
        assert_eq!(asked("echo 'no number here'"), (vec![None; 3], 1));
    }

    #[test]
    fn a_program_that_fails_is_asked_again() {
        assert_eq!(asked("exit 1"), (vec![None; 3], 3));
    }
}
