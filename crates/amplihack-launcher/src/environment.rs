//! The environment of a launched agent: what is set, what is removed, what a host withheld.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use amplihack_agent::profile;
use amplihack_utils::agent_binary::{self, AgentBinary, Liveness};
use amplihack_utils::env::Env;
use amplihack_utils::launcher_context::{SessionContext, SessionId};

use crate::error::LaunchError;

/// Launches deeper than this variable says are refused.
pub const MAX_DEPTH_VAR: &str = "AMPLIHACK_MAX_DEPTH";
const DEPTH: &str = "AMPLIHACK_SESSION_DEPTH";
const SESSION: &str = "AMPLIHACK_SESSION_ID";

/// One difference between this process's environment and the agent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The variable.
    pub name: OsString,
    /// Its new value; `None` removes it.
    pub value: Option<OsString>,
}

impl Change {
    fn set(name: &str, value: impl Into<OsString>) -> Self {
        Self { name: name.into(), value: Some(value.into()) }
    }
}

/// How deep a launch from `env` is, if `limit` allows it.
pub(crate) fn depth(env: &Env, limit: u64) -> Result<u64, LaunchError> {
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

/// What a launch of `agent` changes in `env`; everything else passes as it is, UTF-8 or not.
pub(crate) fn changes(agent: AgentBinary, session: &SessionId, depth: u64, env: &Env) -> Vec<Change> {
    let mut changes = vec![
        Change::set(agent_binary::ENV_VAR, agent.name()),
        Change::set(agent_binary::MARK_VAR, agent_binary::mark(session, agent)),
        Change::set(SESSION, session.as_str()),
        Change::set(DEPTH, depth.to_string()),
        Change::set("AMPLIHACK_VERSION", env!("CARGO_PKG_VERSION")),
    ];
    // Whichever agent is above this launch, what it set for its own tools misleads those below: Codex within Claude
    // would hand CLAUDECODE to its tools.
    let scrubs = |name: &str| AgentBinary::ALL.into_iter().any(|above| profile(above).scrubs(name));
    let scrubbed = env.iter().filter(|(name, _)| name.to_str().is_some_and(scrubs));
    changes.extend(scrubbed.map(|(name, _)| Change { name: name.to_owned(), value: None }));
    changes.extend(withheld(agent, env));
    changes
}

/// Variables that a host above hid from its tools though a nested `agent` needs them, from the environment of the
/// launcher that started that host: it is the user's own process, alive, and nothing is stored on the way.
fn withheld(agent: AgentBinary, env: &Env) -> Vec<Change> {
    // Where one of a group was set anew, the rest of the old group would not fit it.
    let untouched = |group: &&&[&'static str]| group.iter().all(|name| env.get(name).is_none());
    let wanted: Vec<&str> =
        profile(agent).withheld.iter().filter(untouched).copied().flatten().copied().collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let Some(home) = env.amplihack_home() else { return Vec::new() };
    let live = agent_binary::System::new(env);
    let mut session = env.text(SESSION).map(str::to_owned);
    // A launcher's environment names the launcher above it; the chain is no longer than the depth allows.
    for _ in 0..64 {
        let Some(id) = session.take().and_then(|id| SessionId::parse(&id).ok()) else { break };
        let Ok(Some(context)) = SessionContext::read(&home, &id) else { break };
        if !live.process_lives(context.pid, Some(context.start_time)) {
            break;
        }
        let Some(above) = environment_of(context.pid) else { break };
        let found: Vec<Change> =
            wanted.iter().filter_map(|name| above.get(name).map(|value| Change::set(name, value))).collect();
        if context.agent == agent && !found.is_empty() {
            return found;
        }
        session = above.text(SESSION).map(str::to_owned);
    }
    Vec::new()
}

/// The environment that process `pid` was started with.
fn environment_of(pid: u32) -> Option<Env> {
    let bytes = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    Some(
        bytes
            .split(|byte| *byte == 0)
            .filter_map(|entry| {
                let equals = entry.iter().position(|byte| *byte == b'=')?;
                let (name, value) = (&entry[..equals], &entry[equals + 1..]);
                Some((OsStr::from_bytes(name).to_owned(), OsString::from_vec(value.to_vec())))
            })
            .collect(),
    )
}
