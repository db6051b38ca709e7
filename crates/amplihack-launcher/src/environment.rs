//! The environment of a launched agent: what is set, what is removed, what a host withheld.

use std::ffi::OsString;
use std::fmt;

use amplihack_agent::agent_profile;
use amplihack_config::agent_binary::{self, AgentBinary, LaunchLiveness};
use amplihack_config::env::Env;
use amplihack_config::launcher_context::{SessionContext, SessionId};
use amplihack_config::secret::is_secret_name;

use crate::error::LaunchError;
use crate::notice::LaunchNotice;

const DEPTH: &str = "AMPLIHACK_SESSION_DEPTH";
const SESSION: &str = amplihack_config::launcher_context::SESSION_VAR;

/// A difference between this process's environment and the agent's.
#[derive(Clone, PartialEq, Eq)]
pub struct EnvironmentChange {
    /// The variable.
    pub name: OsString,
    /// New value of the variable; `None` removes it.
    pub value: Option<OsString>,
}

impl fmt::Debug for EnvironmentChange {
    /// The name, and the value unless it is named like a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.display();
        match &self.value {
            None => write!(f, "-{name}"),
            Some(_) if is_secret_name(&self.name) => write!(f, "+{name}=[redacted]"),
            Some(value) => write!(f, "+{name}={}", value.display()),
        }
    }
}

impl EnvironmentChange {
    pub(crate) fn with_value(name: &str, value: impl Into<OsString>) -> Self {
        Self { name: name.into(), value: Some(value.into()) }
    }
}

/// Returns the depth of a launch from `env`, if `limit` allows it.
pub(crate) fn launch_depth(env: &Env, limit: u64) -> Result<u64, LaunchError> {
    let above = match env.get(DEPTH) {
        None => 0,
        Some(value) if value.is_empty() => 0,
        // A guard that cannot count does not wave through.
        Some(value) => {
            value.to_str().and_then(|text| text.trim().parse().ok()).ok_or(LaunchError::DepthUnknown)?
        }
    };
    let depth = u64::saturating_add(above, 1);
    if depth > limit { Err(LaunchError::TooDeep { depth, limit }) } else { Ok(depth) }
}

/// Returns the changes that a launch of `agent` makes to `env`; everything else passes as it is, UTF-8 or not.
pub(crate) fn environment_changes(
    agent: AgentBinary,
    session: &SessionId,
    depth: u64,
    env: &Env,
) -> Vec<EnvironmentChange> {
    let mut changes = vec![
        EnvironmentChange::with_value(agent_binary::ENV_VAR, agent.name()),
        EnvironmentChange::with_value(agent_binary::MARK_VAR, agent_binary::mark_value(session, agent)),
        EnvironmentChange::with_value(SESSION, session.as_str()),
        EnvironmentChange::with_value(DEPTH, depth.to_string()),
        EnvironmentChange::with_value("AMPLIHACK_VERSION", env!("CARGO_PKG_VERSION")),
    ];
    changes.extend(nested_changes(agent, env));
    if amplihack_sys::sabotage::is_active("routing-launch-sets-variable") {
        changes.drain(..2);
    }
    changes
}

/// Variables by which `agent` would leave out the hooks of a launch: they are removed, and one line says so.
pub(crate) fn without_switches(agent: AgentBinary, env: &Env) -> (Vec<EnvironmentChange>, Vec<LaunchNotice>) {
    let set = agent_profile(agent).guard_variables.iter().filter(|name| env.get(name).is_some());
    set.map(|name| {
        (EnvironmentChange { name: (*name).into(), value: None }, LaunchNotice::SwitchRemoved { agent, name })
    })
    .unzip()
}

/// Returns the changes for an `agent` below other agents: what it must not see, and what it needs though one above hid it.
pub fn nested_changes(agent: AgentBinary, env: &Env) -> Vec<EnvironmentChange> {
    // Whichever agent is above this launch, what it set for its own tools misleads those below: Codex within Claude
    // would hand CLAUDECODE to its tools.
    let scrubs =
        |name: &str| AgentBinary::ALL.into_iter().any(|above| agent_profile(above).scrubs_variable(name));
    let scrubbed = env.iter().filter(|(name, _)| name.to_str().is_some_and(scrubs));
    let mut changes: Vec<EnvironmentChange> =
        scrubbed.map(|(name, _)| EnvironmentChange { name: name.to_owned(), value: None }).collect();
    changes.extend(withheld_variables(agent, env));
    changes
}

/// Variables that a host above hid from its tools though a nested `agent` needs them, from the environment of the
/// launcher that started that host: it is the user's own process, alive, and nothing is stored on the way.
fn withheld_variables(agent: AgentBinary, env: &Env) -> Vec<EnvironmentChange> {
    // Where one of a group was set anew, the rest of the old group would not fit it.
    let untouched = |group: &&&[&'static str]| group.iter().all(|name| env.get(name).is_none());
    let wanted: Vec<&str> =
        agent_profile(agent).withheld.iter().filter(untouched).copied().flatten().copied().collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let Some(home) = env.amplihack_home() else { return Vec::new() };
    let live = agent_binary::SystemLiveness::new(env);
    let mut session = env.text(SESSION).map(str::to_owned);
    // A launcher's environment names the launcher above it; the chain is no longer than the depth allows.
    for _ in 0..64 {
        let Some(id) = session.take().and_then(|id| SessionId::parse(&id).ok()) else { break };
        let Ok(Some(context)) = SessionContext::read(&home, &id) else { break };
        if !live.process_lives(context.pid, Some(context.start_time)) {
            break;
        }
        let Some(above) = Env::of_process(context.pid) else { break };
        let found: Vec<EnvironmentChange> = wanted
            .iter()
            .filter_map(|name| above.get(name).map(|value| EnvironmentChange::with_value(name, value)))
            .collect();
        if context.agent == agent && !found.is_empty() {
            return found;
        }
        session = above.text(SESSION).map(str::to_owned);
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use amplihack_config::launcher_context::new_session_id;
    use amplihack_sys as sys;

    use super::*;

    #[test]
    fn a_launch_counts_one_deeper_up_to_the_limit() {
        for (above, expected) in [(None, 1), (Some(""), 1), (Some("0"), 1), (Some(" 4 "), 5), (Some("5"), 6)]
        {
            let mut env = Env::empty();
            if let Some(above) = above {
                env.set_variable(DEPTH, above);
            }
            assert_eq!(launch_depth(&env, 6).unwrap(), expected, "{above:?}");
        }
        for above in ["6", "18446744073709551615"] {
            let error = launch_depth(&Env::empty().with_variable(DEPTH, above), 6).unwrap_err();
            assert!(matches!(error, LaunchError::TooDeep { limit: 6, .. }), "{above}: {error}");
        }
        for above in ["-1", "two", "1e9", "18446744073709551616"] {
            let error = launch_depth(&Env::empty().with_variable(DEPTH, above), 6).unwrap_err();
            assert!(matches!(error, LaunchError::DepthUnknown), "{above}: {error}");
        }
    }

    #[test]
    fn marks_of_every_agent_go_and_all_else_stays() {
        let session = new_session_id().unwrap();
        let env = Env::from_iter([
            ("CLAUDECODE", "1"),
            ("CLAUDE_CODE_SESSION_ID", "s"),
            ("CODEX_MANAGED_BY_NPM", "1"),
            ("COPILOT_CLI", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            ("CLAUDECODE_NOT", "1"),
            ("HTTPS_PROXY", "http://proxy"),
        ]);
        for agent in AgentBinary::ALL {
            let changes = environment_changes(agent, &session, 3, &env);
            let removed: Vec<_> =
                changes.iter().filter(|change| change.value.is_none()).map(|change| &change.name).collect();
            assert_eq!(
                removed,
                ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_MANAGED_BY_NPM", "COPILOT_CLI"]
            );
            let set: Vec<_> = changes
                .iter()
                .filter_map(|change| Some((change.name.to_str()?, change.value.as_ref()?.to_str()?)))
                .collect();
            assert_eq!(
                set,
                [
                    ("AMPLIHACK_AGENT_BINARY", agent.name()),
                    ("AMPLIHACK_AGENT_BINARY_SET", &format!("{session}:{agent}")),
                    ("AMPLIHACK_SESSION_ID", session.as_str()),
                    ("AMPLIHACK_SESSION_DEPTH", "3"),
                    ("AMPLIHACK_VERSION", env!("CARGO_PKG_VERSION")),
                ]
            );
        }
    }

    /// A launcher that lives, with its session's file: a process whose environment is `env`.
    struct Above {
        process: Child,
        session: SessionId,
    }

    impl Above {
        fn new(agent: AgentBinary, home: &std::path::Path, env: &[(&str, &str)]) -> Self {
            let mut command = Command::new("sleep");
            command.arg("60").env_clear().envs(env.iter().copied()).stdin(Stdio::null());
            let process = command.spawn().unwrap();
            let session = new_session_id().unwrap();
            let mut context = SessionContext::of_this_process(agent, home);
            context.pid = process.id();
            context.start_time = sys::start_time(process.id()).unwrap();
            context.write(home, &session).unwrap();
            Self { process, session }
        }
    }

    impl Drop for Above {
        fn drop(&mut self) {
            drop((self.process.kill(), self.process.wait()));
        }
    }

    /// What a nested Copilot is given when `above` launched the process that asks.
    fn given(above: &Above, home: &std::path::Path, agent: AgentBinary) -> Vec<EnvironmentChange> {
        let env =
            Env::empty().with_variable("AMPLIHACK_HOME", home).with_variable(SESSION, above.session.as_str());
        withheld_variables(agent, &env)
    }

    #[test]
    fn what_a_host_withheld_comes_from_its_living_launcher_or_one_above_it() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let provider = [("COPILOT_OFFLINE", "true"), ("COPILOT_PROVIDER_API_KEY", "k"), ("OTHER", "x")];
        let mut outer = Above::new(AgentBinary::Copilot, home, &provider);
        let expected = [
            EnvironmentChange::with_value("COPILOT_OFFLINE", "true"),
            EnvironmentChange::with_value("COPILOT_PROVIDER_API_KEY", "k"),
        ];
        assert_eq!(given(&outer, home, AgentBinary::Copilot), expected);
        assert!(!format!("{expected:?}").contains("KEY=k"), "{expected:?}");
        assert_eq!(given(&outer, home, AgentBinary::Claude), []);
        // Through an agent of another kind in between.
        let between = Above::new(AgentBinary::Claude, home, &[(SESSION, outer.session.as_str())]);
        assert_eq!(given(&between, home, AgentBinary::Copilot), expected);
        // What is set by hand is not replaced.
        let env = Env::from_iter(provider)
            .with_variable("COPILOT_PROVIDER_BASE_URL", "u")
            .with_variable("COPILOT_PROVIDER_TYPE", "t")
            .with_variable("AMPLIHACK_HOME", home)
            .with_variable(SESSION, outer.session.as_str());
        assert_eq!(withheld_variables(AgentBinary::Copilot, &env), []);
        // A launcher that is gone tells nothing, even if its number lives on.
        outer.process.kill().unwrap();
        outer.process.wait().unwrap();
        assert_eq!(given(&outer, home, AgentBinary::Copilot), []);
    }

    #[test]
    fn a_session_that_leads_nowhere_gives_nothing() {
        let home = tempfile::tempdir().unwrap();
        let unknown = new_session_id().unwrap();
        for session in [unknown.as_str(), "../../etc", ""] {
            let env =
                Env::empty().with_variable("AMPLIHACK_HOME", home.path()).with_variable(SESSION, session);
            assert_eq!(withheld_variables(AgentBinary::Copilot, &env), [], "{session}");
        }
        // A launcher of another agent with none above it.
        let own = Above::new(AgentBinary::Claude, home.path(), &[]);
        assert_eq!(given(&own, home.path(), AgentBinary::Copilot), []);
    }
}
