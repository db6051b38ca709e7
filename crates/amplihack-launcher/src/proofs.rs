//! What probes on this machine showed of an agent, by agent and version, below `proofs/`.

use std::path::{Path, PathBuf};

use amplihack_agent::installed::LocalProofs;
use amplihack_agent::{AgentBinary, Installed};
use amplihack_utils::env::Env;
use amplihack_utils::fs::{Durability, create_private_dir, read_limited, write_atomic};
use amplihack_utils::prompt_delivery::{DeliveryMode, PromptDelivery};
use serde::{Deserialize, Serialize};

const MAX_BYTES: u64 = 64 * 1024;

/// The result of one probe run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The agent.
    pub agent: String,
    /// Its version.
    pub version: String,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// Prompt channels that were tried.
    pub delivery: Vec<ChannelProof>,
}

/// What a probe showed of one prompt channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelProof {
    /// `argv`, `tempfile` or `stdin`.
    pub channel: String,
    /// Bytes of the prompt.
    pub bytes: usize,
    /// Whether it arrived unchanged, but for what the matrix's note names.
    pub arrived: bool,
    /// What was seen, one sentence.
    pub detail: String,
}

/// Where the proof of `agent` at `version` is kept.
fn path(home: &Path, agent: AgentBinary, version: &semver::Version) -> PathBuf {
    // A parsed version holds no path separator.
    home.join("proofs").join(format!("{agent}-{version}.json"))
}

/// What was proved of `installed` at its version; nothing if the version is not known or no probe ran.
pub fn read(env: &Env, installed: &Installed) -> LocalProofs {
    let mut proofs = LocalProofs::default();
    for channel in load(env, installed).map(|proof| proof.delivery).unwrap_or_default() {
        let Some(mode) = PromptDelivery::parse(&channel.channel).and_then(PromptDelivery::mode) else {
            continue;
        };
        let list: &mut Vec<DeliveryMode> =
            if channel.arrived { &mut proofs.proved } else { &mut proofs.refuted };
        list.push(mode);
    }
    proofs
}

/// The stored proof of `installed` at its version.
pub fn load(env: &Env, installed: &Installed) -> Option<Proof> {
    let path = path(&env.amplihack_home()?, installed.agent, installed.version.as_ref()?);
    let bytes = read_limited(&path, MAX_BYTES).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Keeps `proof` for `installed`; returns the file.
pub fn store(env: &Env, installed: &Installed, proof: &Proof) -> std::io::Result<PathBuf> {
    let missing = |what| std::io::Error::new(std::io::ErrorKind::NotFound, what);
    let home =
        env.amplihack_home().ok_or_else(|| missing("neither AMPLIHACK_HOME nor HOME is an absolute path"))?;
    let version = installed.version.as_ref().ok_or_else(|| missing("the agent's version is not known"))?;
    let path = path(&home, installed.agent, version);
    create_private_dir(path.parent().unwrap_or(&home))?;
    let text = serde_json::to_vec_pretty(proof)?;
    write_atomic(&path, &text, 0o600, Durability::Machine)?;
    Ok(path)
}
