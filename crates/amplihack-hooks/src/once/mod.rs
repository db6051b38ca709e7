//! A person's one-time yes to a stopped call: what a hook asks its launch, and what a person asks the launches of this user.
//!
//! Grants are in the memory of a launch alone. A session without a launch has none.

mod error;
mod id;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_agent::agent_profile;
use amplihack_config::agent_binary::{AgentBinary, MARK_VAR};
use amplihack_config::env::Env;
use amplihack_config::launcher_context::{SESSION_VAR, SessionId, sessions_directory};
use amplihack_secrets::redact_credentials;
use amplihack_sys::hex::to_hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::channel::{self, HookMessage, LaunchReply, SOCKET};
use crate::injection::launch_directories;

pub use error::OnceError;
pub use id::StoppedCallId;

/// The time that a grant waits for its call.
pub const GRANTED_FOR: Duration = Duration::from_mins(10);
/// The time for which a stopped call can be granted.
pub const OFFERED_FOR: Duration = Duration::from_hours(24);

/// Characters of a command that are kept, to show a person what the id is about.
const SHOWN_CHARS: usize = 200;

/// The names of directories of launches that are not with their session, as far as their sessions' ids.
pub const ASIDE_PREFIX: &str = "amplihack-hooks-";

/// A call that the policy stopped, as its launch remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedCall {
    /// Of the command and the directory.
    pub hash: String,
    /// The beginning of the command, without credentials.
    pub command: String,
    /// The directory; what is not UTF-8 in it is replaced.
    pub cwd: String,
    /// The tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asker: Option<ToolCallKey>,
}

/// A stopped call as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCall {
    /// The id by which a person grants the call.
    pub id: StoppedCallId,
    /// The beginning of the command, without credentials.
    pub command: String,
    /// The directory.
    pub cwd: String,
}

/// A tool call of a session, as its host names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolCallKey(String);

impl ToolCallKey {
    /// The tool call `call_id` of a session; `None` where the host does not name both.
    pub fn new(session: Option<&str>, call_id: Option<&str>) -> Option<Self> {
        let named = |name: Option<&str>| name.filter(|name| !name.is_empty()).map(str::to_owned);
        Some(Self(hash(named(call_id)?.as_bytes(), Path::new(&named(session)?))))
    }
}

/// The stopped command `script` in `cwd`.
pub fn stopped_call(script: &[u8], cwd: &Path, asker: Option<ToolCallKey>) -> StoppedCall {
    StoppedCall {
        hash: hash(script, cwd),
        command: redact_credentials(&String::from_utf8_lossy(script)).chars().take(SHOWN_CHARS).collect(),
        cwd: cwd.to_string_lossy().into_owned(),
        asker,
    }
}

/// Reports whether a person granted `call` to the launch whose directory is `launch`, which keeps it for them else. `None` if the launch
/// cannot be asked, or another process than `launcher` answers.
pub(crate) fn is_granted(launch: &Path, launcher: Option<u32>, call: StoppedCall) -> Option<bool> {
    let message = HookMessage::Stopped(call);
    let reply = match launcher {
        Some(launcher) => channel::request_reply_from(launch, launcher, &message),
        None => channel::request_reply(launch, &message),
    };
    match reply.ok()? {
        LaunchReply::Granted => Some(true),
        LaunchReply::NotGranted => Some(false),
        _ => None,
    }
}

/// The stopped calls of all running sessions of this user, each with the directory of its launch.
///
/// # Errors
/// No session takes this process for a person's, or none runs.
pub fn pending_calls(env: &Env) -> Result<Vec<(PathBuf, PendingCall)>, OnceError> {
    let (mut found, mut asked, mut refused) = (Vec::new(), false, None);
    for launch in listening_launches(env) {
        match channel::request_reply(&launch, &HookMessage::ListStopped) {
            Ok(LaunchReply::StoppedCalls { calls }) => {
                asked = true;
                found.extend(calls.into_iter().map(|call| (launch.clone(), call)));
            }
            Ok(LaunchReply::NotAPerson { why }) => refused = Some(why),
            _ => {}
        }
    }
    match refused {
        Some(why) if !asked => Err(OnceError::NotAPerson { why }),
        _ if !asked => Err(OnceError::NoSession),
        _ => Ok(found),
    }
}

/// Grants the stopped call `id` of a running session: for [`GRANTED_FOR`] the same command in the same directory goes through, once.
///
/// # Errors
/// There is no such call, or its session does not take this process for a person's.
pub fn grant_call(env: &Env, id: &str) -> Result<PendingCall, OnceError> {
    let id = StoppedCallId::parse(id).ok_or_else(|| OnceError::NoId { text: id.to_owned() })?;
    let (mut asked, mut refused) = (false, None);
    for launch in listening_launches(env) {
        match channel::request_reply(&launch, &HookMessage::Grant { id: id.clone() }) {
            Ok(LaunchReply::GrantMade(call)) => return Ok(call),
            Ok(LaunchReply::NotAPerson { why }) => refused = Some(why),
            Ok(LaunchReply::NoSuchCall) => asked = true,
            _ => {}
        }
    }
    Err(match refused {
        Some(why) => OnceError::NotAPerson { why },
        None if asked => OnceError::Unknown { id },
        None => OnceError::NoSession,
    })
}

/// The directories in which launches of this user listen.
fn listening_launches(env: &Env) -> Vec<PathBuf> {
    let below = |parent: &Path| -> Vec<OsString> {
        fs::read_dir(parent).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
    };
    let known = env.amplihack_home().map(|home| below(&sessions_directory(&home))).unwrap_or_default();
    // A launch that could write nowhere else.
    let aside = below(&env.temporary_dir()).into_iter().filter_map(|name| {
        Some(OsStr::from_bytes(name.as_bytes().strip_prefix(ASIDE_PREFIX.as_bytes())?).to_owned())
    });
    let ids: BTreeSet<SessionId> =
        known.into_iter().chain(aside).filter_map(|name| SessionId::parse(name.to_str()?).ok()).collect();
    let directories = ids.iter().flat_map(|session| launch_directories(env, session));
    directories.filter(|launch| launch.join(SOCKET).exists()).collect()
}

/// The hash of a command in a directory. The directory's length stands in front, so that nothing can move from one to the other.
fn hash(script: &[u8], cwd: &Path) -> String {
    let cwd = cwd.as_os_str().as_bytes();
    let mut hash = Sha256::new();
    hash.update((cwd.len() as u64).to_be_bytes());
    hash.update(cwd);
    hash.update(script);
    to_hex(hash.finalize())
}

/// The variable that shows that this process belongs to an agent's session, where no person can be asked.
pub fn session_mark(env: &Env) -> Option<OsString> {
    let is_mark = |name: &str| {
        OWN_MARKS.contains(&name)
            || AGENT_MARKS.iter().any(|prefix| name.starts_with(prefix))
            || AgentBinary::ALL.into_iter().any(|agent| agent_profile(agent).scrubs_variable(name))
    };
    env.iter().find(|(name, _)| name.to_str().is_some_and(is_mark)).map(|(name, _)| name.to_owned())
}

/// Variables that a launch sets for its descendants. The agent's name alone is no mark: a user may set it for good.
const OWN_MARKS: [&str; 3] = [SESSION_VAR, "AMPLIHACK_SESSION_DEPTH", MARK_VAR];
/// Variables that agents set for their tools beside the marks that a launch removes.
const AGENT_MARKS: [&str; 6] =
    ["CODEX_SANDBOX", "CODEX_THREAD_", "CODEX_CI", "COPILOT_AGENT_", "AGENT_THREAD_ID", "AMP_CURRENT_THREAD"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_session_is_known_by_its_marks() {
        for name in [
            "AMPLIHACK_SESSION_ID",
            "CLAUDECODE",
            "CLAUDE_CODE_SESSION_ID",
            "CODEX_MANAGED_BY_NPM",
            "CODEX_SANDBOX",
            "COPILOT_CLI",
            "COPILOT_AGENT_SESSION_ID",
        ] {
            assert_eq!(
                session_mark(&Env::empty().with_variable("HOME", "/h").with_variable(name, "1")).as_deref(),
                Some(name.as_ref()),
                "{name}"
            );
        }
        let free = Env::empty()
            .with_variable("HOME", "/h")
            .with_variable("CODEX_HOME", "/c")
            .with_variable("COPILOT_MODEL", "m")
            .with_variable("AMPLIHACK_AGENT_BINARY", "codex");
        assert_eq!(session_mark(&free), None);
    }

    #[test]
    fn what_is_no_id_leads_nowhere() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("HOME", home.path()).with_variable("TMPDIR", home.path());
        for text in ["", "../../x", "7f", "0123456789ab", "01234567-89AB", "01234567-89ab.x", "granted"] {
            assert!(matches!(grant_call(&env, text), Err(OnceError::NoId { .. })), "{text}");
        }
        assert!(matches!(grant_call(&env, "01234567-89ab"), Err(OnceError::NoSession)));
        assert!(matches!(pending_calls(&env), Err(OnceError::NoSession)));
    }

    proptest! {
        #[test]
        fn a_grant_is_for_one_command_in_one_directory(a in "[a-z /]{0,12}", b in "[a-z /]{0,12}", dir in "/[a-z/]{0,8}", other in "/[a-z/]{0,8}") {
            let same = (&a, &dir) == (&b, &other);
            prop_assert_eq!(hash(a.as_bytes(), Path::new(&dir)) == hash(b.as_bytes(), Path::new(&other)), same);
        }
    }
}
