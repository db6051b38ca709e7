//! The policy of one launch, pinned: its files as they were read at the start, in one file whose hash stands in the registration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_config::launcher_context::LaunchIndex;
use amplihack_policy::policy::PolicyMode;
use amplihack_policy::user::{Layer, PolicyLayerOwner};
use amplihack_policy::{Policy, XpiaSettings};
use amplihack_sys as sys;
use amplihack_sys::fs::read_regular;
use amplihack_sys::hex::to_hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::channel::{HookMessage, LaunchReply, request_reply_from};
use crate::injection::launch_directories;

use super::policies::{GuardError, POLICY_VAR, policy_files, policy_layers, policy_mode};

/// The file of a snapshot in the directory of a launch.
pub const SNAPSHOT_FILE: &str = "policy.json";

/// Bytes of a snapshot: the most that its three files may have, as JSON.
const MAX_BYTES: u64 = 8 << 20;

const SCHEMA_VERSION: u32 = 1;

/// Ancestors that are looked at.
const MAX_ANCESTORS: usize = 64;

/// Variables that say where things are, or what the policy does: a hook of the launch sees them as they were at its start.
const PINNED: [&str; 12] = [
    "AMPLIHACK_HOME",
    "AMPLIHACK_REMOTE_SESSION",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "COPILOT_HOME",
    "GEMINI_CLI_HOME",
    "HOME",
    "PATH",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// The prefix of variables by which the judging of foreign text is set.
const XPIA_PREFIX: &str = "XPIA_";

/// The policy that holds for every call of one launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySnapshot {
    content: SnapshotContent,
    text: String,
}

/// The content of a snapshot's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SnapshotContent {
    schema_version: u32,
    /// The process of the launch.
    launcher: u32,
    /// The name of the mode in which the policy is applied.
    mode: String,
    /// The policy's files, the weakest first.
    layers: Vec<PinnedLayer>,
    /// Variables as they were; what is missing here was not set.
    env: BTreeMap<String, String>,
}

/// A policy file as it was at the launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PinnedLayer {
    owner: LayerOwner,
    file: PathBuf,
    text: String,
}

/// The owner of a pinned file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LayerOwner {
    System,
    Repository,
    User,
}

/// The reason why a launch's snapshot is not the one that its registration names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The file is gone or cannot be read.
    #[error("the policy that was pinned at the launch of this session cannot be read: {0}")]
    Unreadable(String),
    /// The hash of the file is another one.
    #[error("the policy that was pinned at the launch of this session was changed")]
    Changed,
    /// The file is whole, and this program does not understand it.
    #[error("the policy that was pinned at the launch of this session was written by another version")]
    Foreign,
}

impl PolicySnapshot {
    /// The policy that holds now for a launch of this process in `cwd`, in the configured mode `configured`.
    ///
    /// Below another launch `outer` is that one's snapshot: its policy stays in force, and files of now only tighten.
    ///
    /// # Errors
    /// A policy file that cannot be read or is invalid, or a mode that there is none of.
    pub fn capture(
        env: &Env,
        cwd: &Path,
        configured: &str,
        outer: Option<&Self>,
    ) -> Result<Self, GuardError> {
        let mut pinned: Vec<PinnedLayer> =
            outer.map(|outer| outer.content.layers.clone()).unwrap_or_default();
        for layer in policy_layers(env, cwd)? {
            let owner = if outer.is_some() { LayerOwner::Repository } else { layer.owner.into() };
            let layer = PinnedLayer { owner, file: layer.file, text: layer.text };
            if !pinned.iter().any(|known| known.file == layer.file && known.text == layer.text) {
                pinned.push(layer);
            }
        }
        let base = policy_mode(env, cwd, Some(configured))?;
        let mode = outer.map_or(Ok(base), |outer| outer.mode().map(|outer| outer.max(base)))?;
        let content = SnapshotContent {
            schema_version: SCHEMA_VERSION,
            launcher: std::process::id(),
            mode: mode.name().to_owned(),
            layers: pinned,
            env: outer.map_or_else(|| pinned_variables(env), |outer| outer.content.env.clone()),
        };
        let text = serde_json::to_string(&content).map_err(|error| GuardError::Pinned(error.to_string()))?;
        let snapshot = Self { content, text };
        // What cannot be loaded starts nothing.
        snapshot.load_policy(env)?;
        Ok(snapshot)
    }

    /// Reads the snapshot in the directory `launch` whose hash is `pin`.
    ///
    /// # Errors
    /// It is not there, or is another one.
    pub fn open(launch: &Path, pin: &str) -> Result<Self, SnapshotError> {
        let bytes = read_regular(&launch.join(SNAPSHOT_FILE), MAX_BYTES)
            .map_err(|error| SnapshotError::Unreadable(error.to_string()))?;
        if hash(&bytes) != pin {
            return Err(SnapshotError::Changed);
        }
        Self::parse(bytes).ok_or(SnapshotError::Foreign)
    }

    /// The policy of the launch that this process is inside of, if there is one that has a guard.
    ///
    /// # Errors
    /// It has one, and does not give its policy.
    pub fn from_outer_launch(env: &Env) -> Result<Option<Self>, GuardError> {
        let unreadable = |why: String| GuardError::OuterPolicy(SnapshotError::Unreadable(why));
        let Some(home) = env.amplihack_home() else { return Ok(None) };
        let index = LaunchIndex::read(&home).map_err(|error| unreadable(error.to_string()))?;
        if index.is_empty() {
            return Ok(None);
        }
        for process in sys::list_ancestors(MAX_ANCESTORS) {
            for (session, _) in index.launches_of(process.pid, process.start_time) {
                let directories = launch_directories(env, &session);
                let Some(launch) = directories.into_iter().find(|directory| directory.exists()) else {
                    continue;
                };
                let reply = request_reply_from(&launch, process.pid, &HookMessage::PinnedPolicy);
                return match reply.map_err(|error| unreadable(error.to_string()))? {
                    LaunchReply::PinnedPolicy { pin } => {
                        Self::open(&launch, &pin).map(Some).map_err(GuardError::OuterPolicy)
                    }
                    _ => Err(unreadable("its launch does not tell".to_owned())),
                };
            }
        }
        Ok(None)
    }

    /// Reads the text of a snapshot. `None` if it is none of this version.
    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let text = String::from_utf8(bytes).ok()?;
        let content: SnapshotContent = serde_json::from_str(&text).ok()?;
        (content.schema_version == SCHEMA_VERSION).then_some(Self { content, text })
    }

    /// The text of its file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The process that its launch is, and that listens to its hooks.
    pub(super) fn launcher(&self) -> u32 {
        self.content.launcher
    }

    /// The SHA-256 of its file, in hexadecimal.
    pub fn pin_hash(&self) -> String {
        hash(self.text.as_bytes())
    }

    /// The mode in which the pinned policy is applied.
    pub(super) fn mode(&self) -> Result<PolicyMode, GuardError> {
        self.content.mode.parse().map_err(|_| GuardError::Pinned(self.content.mode.clone()))
    }

    /// The pinned policy, for a hook with the environment `env`, whose mode may only be stricter.
    pub(super) fn load_policy(&self, env: &Env) -> Result<Policy, GuardError> {
        let layers: Vec<Layer> = self.content.layers.iter().map(Layer::from).collect();
        let asked: Option<PolicyMode> =
            env.text(POLICY_VAR).and_then(|text| text.to_ascii_lowercase().parse().ok());
        let base = self.mode()?;
        let mode = asked.map_or(base, |asked| base.max(asked));
        let policy = Policy::load(&layers)?.with_mode(mode);
        Ok(policy.with_xpia(XpiaSettings::from_env(&self.pinned_env(env))))
    }

    /// The environment `env` with the pinned variables as they were at the launch.
    pub(super) fn pinned_env(&self, env: &Env) -> Env {
        let mut then: Env = env
            .iter()
            .filter(|(name, _)| !name.to_str().is_some_and(is_pinned))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        for (name, value) in &self.content.env {
            then.set_variable(name, value);
        }
        then
    }

    /// The policy files whose text is another one by now, and those that appeared: files of the next session.
    pub fn changed_files(&self, env: &Env, cwd: &Path) -> Vec<PathBuf> {
        let env = self.pinned_env(env);
        let now = policy_files(&env, cwd);
        let differs = |(owner, file): &(PolicyLayerOwner, PathBuf)| {
            let pinned = self.content.layers.iter().find(|layer| layer.file == *file);
            match Layer::read(*owner, file) {
                Ok(found) => found.as_ref().map(|layer| &layer.text) != pinned.map(|layer| &layer.text),
                Err(_) => true,
            }
        };
        now.into_iter().filter(differs).map(|(_, file)| file).collect()
    }
}

fn is_pinned(name: &str) -> bool {
    PINNED.contains(&name) || name.starts_with(XPIA_PREFIX)
}

/// The pinned variables of `env`. One that is not UTF-8 counts as not set.
fn pinned_variables(env: &Env) -> BTreeMap<String, String> {
    env.iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
        .filter(|(name, _)| is_pinned(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn hash(bytes: &[u8]) -> String {
    to_hex(Sha256::digest(bytes))
}

impl From<PolicyLayerOwner> for LayerOwner {
    fn from(owner: PolicyLayerOwner) -> Self {
        match owner {
            PolicyLayerOwner::System => Self::System,
            PolicyLayerOwner::Repository => Self::Repository,
            PolicyLayerOwner::User => Self::User,
        }
    }
}

impl From<&PinnedLayer> for Layer {
    fn from(layer: &PinnedLayer) -> Self {
        let owner = match layer.owner {
            LayerOwner::System => PolicyLayerOwner::System,
            LayerOwner::Repository => PolicyLayerOwner::Repository,
            LayerOwner::User => PolicyLayerOwner::User,
        };
        Self { owner, file: layer.file.clone(), text: layer.text.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn home() -> (tempfile::TempDir, Env, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("HOME", dir.path());
        let file = dir.path().join(".config/amplihack/policy.toml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        (dir, env, file)
    }

    const NO_VERIFY: &str = "disable = [\"guards/no-verify\"]\n";

    #[test]
    fn a_snapshot_is_read_back_only_as_it_was_written() {
        let (dir, env, file) = home();
        fs::write(&file, NO_VERIFY).unwrap();
        let snapshot = PolicySnapshot::capture(&env, dir.path(), "strict", None).unwrap();
        let launch = tempfile::tempdir().unwrap();
        let pin = snapshot.pin_hash();
        assert!(matches!(PolicySnapshot::open(launch.path(), &pin), Err(SnapshotError::Unreadable(_))));
        fs::write(launch.path().join(SNAPSHOT_FILE), snapshot.text()).unwrap();
        assert_eq!(PolicySnapshot::open(launch.path(), &pin).unwrap(), snapshot);
        assert_eq!(snapshot.launcher(), std::process::id());
        let policy = snapshot.load_policy(&env).unwrap();
        assert_eq!((policy.mode(), policy.disabled_rules().count()), (PolicyMode::Strict, 1));
        fs::write(launch.path().join(SNAPSHOT_FILE), snapshot.text().replace("strict", "observe")).unwrap();
        assert_eq!(PolicySnapshot::open(launch.path(), &pin), Err(SnapshotError::Changed));
    }

    #[test]
    fn places_are_those_of_the_launch_whatever_the_hooks_environment_has() {
        let (dir, env, _) = home();
        let env = env.with_variable("PATH", "/usr/bin");
        let snapshot = PolicySnapshot::capture(&env, dir.path(), "standard", None).unwrap();
        let hook = Env::empty()
            .with_variable("HOME", "/evil")
            .with_variable("PATH", "/evil/bin")
            .with_variable("AMPLIHACK_HOME", "/evil/state")
            .with_variable("XPIA_WHITELIST_DOMAINS", "evil.example")
            .with_variable("LANG", "C");
        assert_eq!(snapshot.pinned_env(&hook), env.with_variable("LANG", "C"));
    }

    #[test]
    fn a_variable_of_the_session_only_tightens() {
        let (dir, env, _) = home();
        let observing = PolicySnapshot::capture(&env, dir.path(), "observe", None).unwrap();
        let mode = |snapshot: &PolicySnapshot, asked: &str| {
            snapshot.load_policy(&Env::empty().with_variable(POLICY_VAR, asked)).unwrap().mode()
        };
        assert_eq!(mode(&observing, "strict"), PolicyMode::Strict);
        let strict = PolicySnapshot::capture(&env, dir.path(), "strict", None).unwrap();
        assert_eq!(mode(&strict, "observe"), PolicyMode::Strict);
    }

    #[test]
    fn a_launch_inside_keeps_the_outer_policy_and_only_tightens() {
        let (dir, env, file) = home();
        let outer = PolicySnapshot::capture(&env, dir.path(), "strict", None).unwrap();
        fs::write(&file, format!("{NO_VERIFY}[[rule]]\nprogram = 'x'\ndecision = 'deny'\n")).unwrap();
        let inner = PolicySnapshot::capture(&env, dir.path(), "observe", Some(&outer)).unwrap();
        let policy = inner.load_policy(&env).unwrap();
        assert_eq!((policy.mode(), policy.disabled_rules().count()), (PolicyMode::Strict, 0));
        assert_eq!(policy.user_rules().count(), 1, "its rules that tighten hold");
    }

    #[test]
    fn files_that_changed_or_appeared_are_named() {
        let (dir, env, file) = home();
        let snapshot = PolicySnapshot::capture(&env, dir.path(), "standard", None).unwrap();
        assert!(snapshot.changed_files(&env, dir.path()).is_empty());
        fs::write(&file, NO_VERIFY).unwrap();
        assert_eq!(snapshot.changed_files(&env, dir.path()), [file]);
    }
}
