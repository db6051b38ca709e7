//! Finding an agent on this machine: its program, its version, what was proved of it.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use amplihack_agent::lookup::{LookupError, find_program};
use amplihack_agent::{AgentBinary, Installed, agent_profile, version};
use amplihack_config::LayeredConfig;
use amplihack_config::agent_binary::AgentSource;
use amplihack_config::agent_binary::ENV_VAR;
use amplihack_config::agent_binary::SystemLiveness;
use amplihack_config::agent_binary::resolve_in;
use amplihack_config::env::Env;
use amplihack_hooks::HookEvent;
use amplihack_hooks::registration::registered_name;
use amplihack_session::probe_program;
use semver::Version;

use crate::proofs;
use crate::versions::VersionCache;

/// Source of an agent's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionSource {
    /// Not at all: nothing is started, nothing is read.
    Unknown,
    /// From the cache, else by running the agent with `--version` and remembering the answer. For launches: what that
    /// unpacks into the user's home the launch needs anyway.
    Cached,
    /// As [`Self::Cached`], with throw-away directories where the agent would keep things of its own. For commands that only look.
    Apart,
}

/// A first start may unpack hundreds of megabytes.
const PROBE_DEADLINE: Duration = Duration::from_secs(20);

/// Finds `agent` by configuration, PATH and its install places, and its version as `versions` says.
pub fn discover_agent(
    agent: AgentBinary,
    env: &Env,
    config: &LayeredConfig,
    versions: VersionSource,
) -> Result<Installed, LookupError> {
    let (installed, problem) = discover_with_problem(agent, env, config, versions)?;
    if let Some(problem) = problem {
        tracing::warn!(%agent, %problem, "the agent does not tell its version");
    }
    Ok(installed)
}

/// The agent of a launch that names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenAgent {
    /// The agent to start.
    pub agent: AgentBinary,
    /// The built-in default, if `agent` stands in for it because it is not installed.
    pub instead_of: Option<AgentBinary>,
}

impl ChosenAgent {
    /// The agent in charge in `cwd`. Where nothing says which that is, and the built-in default is not installed, one that is: an agent
    /// whose tool calls can be guarded comes first.
    pub fn find_here(cwd: &Path, env: &Env, config: &LayeredConfig) -> Self {
        let resolved = resolve_in(cwd, env, &SystemLiveness::new(env), jiff::Timestamp::now());
        let is_installed =
            |agent: &AgentBinary| discover_agent(*agent, env, config, VersionSource::Unknown).is_ok();
        if resolved.source != AgentSource::Default || is_installed(&resolved.agent) {
            return Self { agent: resolved.agent, instead_of: None };
        }
        let mut others: Vec<AgentBinary> = AgentBinary::ALL.into_iter().filter(is_installed).collect();
        others.sort_by_key(|agent| registered_name(*agent, HookEvent::PreToolUse).is_none());
        match others.first() {
            Some(agent) => Self { agent: *agent, instead_of: Some(resolved.agent) },
            None => Self { agent: resolved.agent, instead_of: None },
        }
    }
}

/// The line for a person about a default that was not followed.
impl fmt::Display for ChosenAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agent = self.agent;
        match self.instead_of {
            Some(default) => write!(
                f,
                "using {agent}: no agent is named, and {default}, the default, is not installed; choose one with --agent or {ENV_VAR}"
            ),
            None => write!(f, "using {agent}"),
        }
    }
}

/// Asks all agents but `except` for their versions, at once, so that the cache knows them.
pub fn discover_all(except: &[AgentBinary], env: &Env, config: &LayeredConfig) {
    let others = AgentBinary::ALL.into_iter().filter(|agent| !except.contains(agent));
    std::thread::scope(|scope| {
        for agent in others {
            // Whoever needs it says what is wrong with it.
            scope.spawn(move || drop(discover_with_problem(agent, env, config, VersionSource::Apart)));
        }
    });
}

/// Finds an agent as [`discover_agent`] does; tells what is wrong with one that was found and cannot be asked for its version.
pub fn discover_with_problem(
    agent: AgentBinary,
    env: &Env,
    config: &LayeredConfig,
    versions: VersionSource,
) -> Result<(Installed, Option<String>), LookupError> {
    let origin = config.get(&format!("agents.{agent}.path")).map(|setting| setting.origin.to_string());
    let configured = config.agent_path(agent).zip(origin.as_deref());
    let path = find_program(agent, configured, env)?;
    let mut installed = Installed { path, ..Installed::from_agent(agent) };
    if versions == VersionSource::Unknown {
        return Ok((installed, None));
    }
    let problem = match cached_version(&installed, env, versions) {
        Ok(version) => {
            installed.version = version;
            None
        }
        Err(problem) => Some(problem),
    };
    installed.proofs = proofs::read_proofs(env, &installed);
    Ok((installed, problem))
}

/// `None` for an agent that runs and prints no version.
fn cached_version(
    installed: &Installed,
    env: &Env,
    versions: VersionSource,
) -> Result<Option<Version>, String> {
    let mut cache = VersionCache::open(env);
    if let Some(known) = cache.get(&installed.path) {
        return Ok(known);
    }
    let mut command =
        amplihack_agent::command::passthrough_command(installed, &["--version".into()], Path::new("/"));
    command.env_clear().envs(env.iter());
    // Removed when the probe has ended.
    let apart = match versions {
        VersionSource::Apart => Some(throw_away().map_err(|error| {
            format!(
                "a temporary directory for its --version could not be made: {error}; check the space left"
            )
        })?),
        VersionSource::Unknown | VersionSource::Cached => None,
    };
    if let Some(apart) = &apart {
        let directories = agent_profile(installed.agent).directories.iter().copied().chain(["TMPDIR"]);
        command.envs(directories.map(|name| (name, apart.path())));
    }
    let output = probe_program(command, PROBE_DEADLINE).map_err(|error| error.to_string())?;
    let version = version::parse_version(&String::from_utf8_lossy(&output.stdout))
        .or_else(|| version::parse_version(&String::from_utf8_lossy(&output.stderr)));
    // A program that ends well and tells no version will not tell one next time; one that fails may be in passing trouble.
    if version.is_none() && !output.exit.is_success() {
        let (path, code) = (installed.path.display(), output.exit.code());
        return Err(format!("{path} --version ended with {code} and no version; run it to see why"));
    }
    cache.put_version(&installed.path, version.as_ref());
    Ok(version)
}

fn throw_away() -> std::io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("amplihack-version-").tempdir()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// A program that counts its starts, then does what `rest` says, and an environment in which it is Claude.
    fn program(dir: &Path, rest: &str) -> (PathBuf, Env) {
        let program = dir.join("claude");
        let count = dir.join("starts");
        std::fs::write(&program, format!("#!/bin/sh\necho x >> '{}'\n{rest}\n", count.display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let env = Env::empty()
            .with_variable("AMPLIHACK_HOME", dir.join("home"))
            .with_variable("PATH", format!("{}:/usr/bin:/bin", dir.display()));
        (count, env)
    }

    fn asked(rest: &str) -> (Vec<Option<Version>>, usize) {
        let dir = tempfile::tempdir().unwrap();
        let (count, env) = program(dir.path(), rest);
        let config = LayeredConfig::load(&env, dir.path(), &[]).unwrap();
        let answers = (0..3)
            .map(|_| {
                discover_agent(AgentBinary::Claude, &env, &config, VersionSource::Cached).unwrap().version
            })
            .collect();
        (answers, std::fs::read_to_string(count).unwrap().lines().count())
    }

    #[test]
    fn a_program_is_asked_once_also_when_it_tells_no_version() {
        let version = Version::new(2, 1, 332);
        assert_eq!(asked("echo '2.1.332 (Claude Code)'"), (vec![Some(version); 3], 1));
        assert_eq!(asked("echo 'no number here'"), (vec![None; 3], 1));
    }

    #[test]
    fn a_program_that_fails_is_asked_again() {
        assert_eq!(asked("exit 1"), (vec![None; 3], 3));
    }
}
