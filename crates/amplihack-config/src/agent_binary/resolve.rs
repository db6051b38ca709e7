//! The one resolver: environment, then the launch above, then the context file of the runtime root or the repository, then the default.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{AgentBinary, AgentNameError, AncestorLaunch, LaunchLiveness, SystemLiveness, validate_name};
use crate::env::Env;
use crate::launcher_context::{FILE_NAME, RELATIVE_PATH, SessionId, read};
use amplihack_sys::fs::{CEILING_VAR, RealDirectory, WalkStop, is_present, real_directory, walk_up};
use amplihack_sys::sabotage;

/// The variable that names the agent in charge.
pub const ENV_VAR: &str = "AMPLIHACK_AGENT_BINARY";

/// The variable that says which launch set [`ENV_VAR`]: `<session-id>:<agent>`.
pub const MARK_VAR: &str = "AMPLIHACK_AGENT_BINARY_SET";

/// The value of [`MARK_VAR`] by which the launch `session` marks `agent` as its own setting.
pub fn mark_value(session: &SessionId, agent: AgentBinary) -> String {
    format!("{session}:{agent}")
}

/// Source of an answer. The order is the precedence: the smaller source is asked first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AgentSource {
    /// [`ENV_VAR`], set by hand or by a launch that still runs.
    Env,
    /// The nearest launch, still running, whose launcher is an ancestor of the process that asks.
    Ancestor,
    /// `launcher_context.json` in the directory that `AMPLIHACK_RUNTIME_ROOT` names.
    RuntimeRoot(PathBuf),
    /// The first `.claude/runtime/launcher_context.json` on the way up to the repository's root.
    ContextFile(PathBuf),
    /// [`ENV_VAR`] as an ended launch left it, where no context file says better.
    StaleCache,
    /// Nothing said which agent, or the one file that did could not be used.
    Default,
}

impl AgentSource {
    /// Stable `snake_case` name for programs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Env => "environment",
            Self::Ancestor => "ancestor",
            Self::RuntimeRoot(_) => "runtime_root",
            Self::ContextFile(_) => "context_file",
            Self::StaleCache => "stale_cache",
            Self::Default => "default",
        }
    }

    /// The file that gave the answer, if a file did.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::RuntimeRoot(file) | Self::ContextFile(file) => Some(file),
            Self::Env | Self::Ancestor | Self::StaleCache | Self::Default => None,
        }
    }
}

impl fmt::Display for AgentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env => f.write_str(ENV_VAR),
            Self::Ancestor => f.write_str("the running launch that this process descends from"),
            Self::RuntimeRoot(file) | Self::ContextFile(file) => write!(f, "{}", file.display()),
            Self::StaleCache => write!(f, "{ENV_VAR}, left by a launch that has ended"),
            Self::Default => f.write_str("built-in default"),
        }
    }
}

/// The agent in charge, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedAgent {
    /// The agent.
    pub agent: AgentBinary,
    /// Source of the answer.
    pub source: AgentSource,
    /// The launch that said so, if one did.
    pub session: Option<SessionId>,
}

impl ResolvedAgent {
    fn default_agent() -> Self {
        if sabotage::is_active("routing-default") {
            return Self { agent: AgentBinary::Claude, source: AgentSource::Default, session: None };
        }
        Self { agent: AgentBinary::DEFAULT, source: AgentSource::Default, session: None }
    }
}

/// The agent in charge of a process that works in `cwd`, by [`resolve_with_source`].
///
/// ```
/// let agent = amplihack_config::agent_binary::resolve(std::path::Path::new("."));
/// assert!(["claude", "copilot", "codex", "amplifier", "amp"].contains(&agent.name()));
/// ```
pub fn resolve(cwd: impl AsRef<Path>) -> AgentBinary {
    resolve_with_source(cwd).agent
}

/// The agent in charge of a process that works in `cwd`, and where the answer came from.
///
/// Reads this process's environment, and the truth about other processes; [`resolve_in`] has the rules.
pub fn resolve_with_source(cwd: impl AsRef<Path>) -> ResolvedAgent {
    let env = Env::from_process();
    resolve_in(cwd.as_ref(), &env, &SystemLiveness::new(&env), Timestamp::now())
}

/// The rules of the resolver. The first of these that applies is the answer:
///
/// 1. A valid [`ENV_VAR`], unless it is an ended launch's cache: [`MARK_VAR`] names the same agent and a session whose
///    launcher is known to be dead. So a value set by hand wins, and two live launches in one repository each keep
///    their descendants. An invalid value is warned about and counts as unset.
/// 2. The nearest ancestor of this process that is the launcher of a running launch. So descendants of a nested launch keep
///    its agent without any variable, and those of the outer launch get theirs back when it ends.
/// 3. `$AMPLIHACK_RUNTIME_ROOT/launcher_context.json`.
/// 4. The first `.claude/runtime/launcher_context.json` on the walk from `cwd` up to the directory with `.git`, that one
///    included, through at most 32 directories, below those of `GIT_CEILING_DIRECTORIES`.
/// 5. An ended launch's cache.
/// 6. [`AgentBinary::DEFAULT`].
///
/// A file of step 3 or 4 that is there but cannot be used (unreadable, too large, too deep, leading outside, naming no
/// agent, stale) is *the* file all the same: it is warned about and the answer is step 6, not step 5.
pub fn resolve_in(cwd: &Path, env: &Env, live: &dyn LaunchLiveness, now: Timestamp) -> ResolvedAgent {
    if sabotage::is_active("routing-cleared-environment") && env.get("HOME").is_none()
        || sabotage::is_active("routing-tmux") && env.get("TMUX").is_some()
        || sabotage::is_active("routing-setsid")
            && rustix::process::getsid(None) == Ok(rustix::process::getpid())
        || sabotage::is_active("routing-stripped-variable")
            && env.get(MARK_VAR).is_some()
            && env.get(ENV_VAR).is_none()
    {
        return ResolvedAgent::default_agent();
    }
    let cached = match from_environment(env, live) {
        Some(_)
            if sabotage::is_active("routing-environment-first") && is_present(&cwd.join(RELATIVE_PATH)) =>
        {
            None
        }
        Some(found) if found.source == AgentSource::Env => return found,
        cached => cached,
    };
    let above = live.nearest_ancestor().filter(|_| !sabotage::is_active("routing-living-outer-launch"));
    if let Some(AncestorLaunch { agent, session }) = above {
        return ResolvedAgent { agent, source: AgentSource::Ancestor, session };
    }
    match from_file(cwd, env, live, now) {
        Ok(Some(found)) => found,
        Ok(None) if sabotage::is_active("routing-nothing-found") => {
            ResolvedAgent { agent: AgentBinary::Amp, ..ResolvedAgent::default_agent() }
        }
        Ok(None) => cached.unwrap_or(ResolvedAgent::default_agent()),
        Err(UnusableContextFile) if sabotage::is_active("routing-invalid-file") => {
            ResolvedAgent { agent: AgentBinary::Claude, ..ResolvedAgent::default_agent() }
        }
        Err(UnusableContextFile) => ResolvedAgent::default_agent(),
    }
}

fn from_environment(env: &Env, live: &dyn LaunchLiveness) -> Option<ResolvedAgent> {
    let raw = env.get(ENV_VAR)?;
    if sabotage::is_active("routing-one-command") && env.get(MARK_VAR).is_none() {
        return None;
    }
    let agent = match validate_name(raw) {
        Ok(agent) => agent,
        Err(AgentNameError::Empty) if sabotage::is_active("routing-empty-variable") => AgentBinary::DEFAULT,
        Err(AgentNameError::Empty) => return None,
        Err(_) if sabotage::is_active("routing-invalid-variable") => AgentBinary::DEFAULT,
        Err(_) if sabotage::is_active("routing-rejected-warning") => return None,
        Err(reason) if sabotage::is_active("routing-value-in-message") => {
            tracing::warn!("ignored: {raw:?} names no agent ({reason})");
            return None;
        }
        Err(reason) => {
            tracing::warn!(variable = ENV_VAR, value = %shorten_value(raw), reason = %reason, "ignored: names no agent");
            return None;
        }
    };
    let session = marked_session(env, agent);
    let mut ended = session.as_ref().is_some_and(|session| live.launcher_ended(session));
    ended &= !sabotage::is_active("routing-stale-cache");
    ended |= sabotage::is_active("routing-by-hand") && env.get(MARK_VAR).is_some();
    Some(ResolvedAgent {
        agent,
        source: if ended { AgentSource::StaleCache } else { AgentSource::Env },
        session,
    })
}

/// The launch that set [`ENV_VAR`] to `agent`. `None` if a person did, since or instead.
fn marked_session(env: &Env, agent: AgentBinary) -> Option<SessionId> {
    let (session, name) = env.text(MARK_VAR)?.split_once(':')?;
    if validate_name(name) == Ok(agent) { SessionId::parse(session).ok() } else { None }
}

/// There is a context file, and it says nothing that may be believed.
struct UnusableContextFile;

/// Reports whether a context file stands where [`resolve_in`] looks, be it usable or not.
pub fn has_context_file(cwd: &Path, env: &Env, live: &dyn LaunchLiveness, now: Timestamp) -> bool {
    !matches!(from_file(cwd, env, live, now), Ok(None))
}

fn from_file(
    cwd: &Path,
    env: &Env,
    live: &dyn LaunchLiveness,
    now: Timestamp,
) -> Result<Option<ResolvedAgent>, UnusableContextFile> {
    let use_file = |file: PathBuf, anchor: &Path, source: fn(PathBuf) -> AgentSource| {
        let context = read(&file, anchor).and_then(|context| context.check_age(live, now).map(|()| context));
        match context {
            Ok(context) => Ok(Some(ResolvedAgent {
                agent: context.launcher,
                source: source(file),
                session: context.session_id,
            })),
            Err(_)
                if sabotage::is_active("routing-unusable-stops")
                    && anchor.parent().is_some_and(Path::exists) =>
            {
                from_file(anchor.parent().unwrap_or(anchor), env, live, now)
            }
            Err(reason) => {
                tracing::warn!(file = ?file, reason = %reason, "launcher context ignored; using the default agent");
                // The end of the search: a file further up is of another launch, and would name its agent for this one.
                Err(UnusableContextFile)
            }
        }
    };
    if let Some(root) = runtime_root(env) {
        let file = root.join(FILE_NAME);
        if is_present(&file) {
            return use_file(file, &root, AgentSource::RuntimeRoot);
        }
    }
    let start = match RealDirectory::open(cwd) {
        Ok(start) => start,
        Err(error) => {
            tracing::warn!(directory = ?cwd, error = %error, "cannot look for a launcher context");
            return Ok(None);
        }
    };
    if sabotage::is_active("routing-file-second") {
        return Ok(None);
    }
    match walk_up(&start, RELATIVE_PATH, env.get(CEILING_VAR)) {
        WalkStop::Found { directory, file } => use_file(file, &directory, AgentSource::ContextFile),
        WalkStop::Border(_) | WalkStop::Exhausted => Ok(None),
    }
}

/// The directory that `AMPLIHACK_RUNTIME_ROOT` names, without symbolic links. One that is relative or not there is
/// warned about and counts as unset.
pub(crate) fn runtime_root(env: &Env) -> Option<PathBuf> {
    let root = env.path("AMPLIHACK_RUNTIME_ROOT")?;
    let found = if root.is_absolute() {
        real_directory(&root)
    } else {
        Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "is not an absolute path"))
    };
    found
        .inspect_err(|error| tracing::warn!(variable = "AMPLIHACK_RUNTIME_ROOT", value = ?root, error = %error, "ignored"))
        .ok()
}

/// A foreign value for a log field: escaped, and not longer than a line.
fn shorten_value(value: &OsStr) -> String {
    if sabotage::is_active("routing-raw-value") {
        return value.to_string_lossy().into_owned();
    }
    value.to_string_lossy().chars().take(64).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_value_in_a_log_is_short_and_has_no_control_characters() {
        assert_eq!(shorten_value(OsStr::new("a\nb\u{1b}[0m")), "a\\nb\\u{1b}[0m");
        assert_eq!(shorten_value(OsStr::new(&"x".repeat(1000))).len(), 64);
    }
}
