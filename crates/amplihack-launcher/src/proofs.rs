//! What probes on this machine showed of an agent, by agent and version, below `proofs/`.

use std::fmt;
use std::path::{Path, PathBuf};

use amplihack_agent::installed::LocalProofs;
use amplihack_agent::{AgentBinary, Installed};
use amplihack_utils::env::Env;
use amplihack_utils::form;
use amplihack_utils::fs::{Durability, create_private_dir, read_limited, write_atomic};
use amplihack_utils::prompt_delivery::{DeliveryMode, PromptDelivery};
use serde::{Deserialize, Serialize};

const MAX_BYTES: u64 = 64 * 1024;
/// The form of a proof that this version writes and knows.
const FORM: u64 = 1;

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
    /// What was seen of the guard, a leg each; none if it was not tried, as by versions that had no guard.
    #[serde(default)]
    pub guard: Vec<GuardProof>,
}

impl Proof {
    /// What may be relied on after this.
    pub fn facts(&self) -> LocalProofs {
        let mut proofs = LocalProofs::default();
        for channel in &self.delivery {
            let Some(mode) = PromptDelivery::parse(&channel.channel).and_then(PromptDelivery::mode) else {
                continue;
            };
            let list: &mut Vec<DeliveryMode> =
                if channel.arrived { &mut proofs.proved } else { &mut proofs.refuted };
            list.push(mode);
        }
        // A guard that fails beside the user's own hooks fails where it is needed.
        proofs.guard = (!self.guard.is_empty()).then(|| self.guard.iter().all(|leg| leg.held));
        proofs
    }
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

/// What a probe showed of the guard in one launch with a forbidden and a harmless call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardProof {
    /// [`GuardProof::ALONE`] or [`GuardProof::AS_CONFIGURED`].
    pub leg: String,
    /// Whether the forbidden call was stopped, with a reason and a line in the audit, and the harmless one ran.
    pub held: bool,
    /// What was seen, one sentence.
    pub detail: String,
}

impl GuardProof {
    /// The leg in an empty home.
    pub const ALONE: &str = "alone";
    /// The leg beside the hooks of the user's own settings, each of which does nothing.
    pub const AS_CONFIGURED: &str = "as_configured";

    /// The leg in words.
    pub fn name(&self) -> &str {
        match self.leg.as_str() {
            Self::ALONE => "the guard",
            Self::AS_CONFIGURED => "the guard beside your own hooks",
            other => other,
        }
    }
}

impl fmt::Display for GuardProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.held { "held" } else { "did not hold" };
        write!(f, "{} {verdict}: {}", self.name(), self.detail)
    }
}

/// Where the proof of `agent` at `version` is kept.
fn path(home: &Path, agent: AgentBinary, version: &semver::Version) -> PathBuf {
    // A parsed version holds no path separator.
    home.join("proofs").join(format!("{agent}-{version}.json"))
}

/// What was proved of `installed` at its version; nothing if the version is not known or no probe ran.
pub fn read(env: &Env, installed: &Installed) -> LocalProofs {
    load(env, installed).map(|proof| proof.facts()).unwrap_or_default()
}

/// The stored proof of `installed` at its version.
pub fn load(env: &Env, installed: &Installed) -> Option<Proof> {
    let path = path(&env.amplihack_home()?, installed.agent, installed.version.as_ref()?);
    let bytes = read_limited(&path, MAX_BYTES).ok()?;
    form::check(&path, &bytes, FORM).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Keeps `proof` for `installed`, in the place of an older one; returns the file. One in a newer version's form is left alone.
pub fn store(env: &Env, installed: &Installed, proof: &Proof) -> std::io::Result<PathBuf> {
    let missing = |what| std::io::Error::new(std::io::ErrorKind::NotFound, what);
    let home =
        env.amplihack_home().ok_or_else(|| missing("neither AMPLIHACK_HOME nor HOME is an absolute path"))?;
    let version = installed.version.as_ref().ok_or_else(|| missing("the agent's version is not known"))?;
    let path = path(&home, installed.agent, version);
    if let Ok(bytes) = read_limited(&path, MAX_BYTES) {
        form::check(&path, &bytes, FORM).map_err(std::io::Error::other)?;
    }
    create_private_dir(path.parent().unwrap_or(&home))?;
    let text = serde_json::to_vec_pretty(proof)?;
    write_atomic(&path, &text, 0o600, Durability::Machine)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use amplihack_agent::{Capability, RunMode, Trust};
    use semver::Version;

    use super::*;

    fn claude(version: &str) -> Installed {
        Installed {
            version: Some(Version::parse(version).unwrap()),
            ..Installed::assumed(AgentBinary::Claude)
        }
    }

    fn proof(arrived: bool) -> Proof {
        let channel = |channel: &str, arrived| ChannelProof {
            channel: channel.to_owned(),
            bytes: 65_536,
            arrived,
            detail: "arrived byte for byte".to_owned(),
        };
        Proof {
            agent: "claude".to_owned(),
            version: "9.0.0".to_owned(),
            at: "2026-01-01T00:00:00Z".to_owned(),
            delivery: vec![channel("argv", true), channel("stdin", arrived), channel("later", true)],
            guard: Vec::new(),
        }
    }

    #[test]
    fn a_proof_is_read_back_for_that_version_only() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with("AMPLIHACK_HOME", home.path());
        assert_eq!(load(&env, &claude("9.0.0")), None);
        let file = store(&env, &claude("9.0.0"), &proof(true)).unwrap();
        assert_eq!(file, home.path().join("proofs/claude-9.0.0.json"));
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(load(&env, &claude("9.0.0")), Some(proof(true)));
        assert_eq!(load(&env, &claude("9.0.1")), None);
        let found = read(&env, &claude("9.0.0"));
        // A channel that this version does not know is not a channel.
        assert_eq!(found.proved, [DeliveryMode::Argv, DeliveryMode::Stdin]);
        assert_eq!(found.refuted, []);
    }

    #[test]
    fn a_refuted_channel_is_not_used_and_a_proved_one_is_trusted() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with("AMPLIHACK_HOME", home.path());
        let mut installed = claude("9.0.0");
        store(&env, &installed, &proof(false)).unwrap();
        installed.proofs = read(&env, &installed);
        let caps = installed.delivery_caps(RunMode::Headless);
        assert!(caps.supports_argv && !caps.supports_stdin);
        let row = installed.can(Capability::Prompt(DeliveryMode::Argv), RunMode::Headless).unwrap();
        assert_eq!(installed.trust(row), Trust::Proved);
        store(&env, &installed, &proof(true)).unwrap();
        installed.proofs = read(&env, &installed);
        assert!(installed.delivery_caps(RunMode::Headless).supports_stdin, "a later probe counts");
    }

    #[test]
    fn a_proof_in_a_newer_form_proves_nothing_and_stays() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with("AMPLIHACK_HOME", home.path());
        let file = store(&env, &claude("9.0.0"), &proof(true)).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let newer = text.replacen('{', "{\"schema_version\": 2,", 1);
        std::fs::write(&file, &newer).unwrap();
        assert_eq!(load(&env, &claude("9.0.0")), None);
        let error = store(&env, &claude("9.0.0"), &proof(true)).unwrap_err();
        assert!(error.to_string().contains("is of a newer amplihack: it has form 2"), "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), newer);
        // A field alone is no other form.
        std::fs::write(&file, text.replacen('{', "{\"later\": 2,", 1)).unwrap();
        assert_eq!(load(&env, &claude("9.0.0")), Some(proof(true)));
    }

    fn leg(leg: &str, held: bool) -> GuardProof {
        GuardProof { leg: leg.to_owned(), held, detail: "the forbidden call ran".to_owned() }
    }

    #[test]
    fn the_guard_is_proved_when_every_leg_held_and_not_tried_when_there_is_none() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with("AMPLIHACK_HOME", home.path());
        let (alone, configured) = (GuardProof::ALONE, GuardProof::AS_CONFIGURED);
        for (guard, expected) in [
            (vec![], None),
            (vec![leg(alone, true), leg(configured, true)], Some(true)),
            (vec![leg(alone, true), leg(configured, false)], Some(false)),
            (vec![leg(alone, false), leg(configured, true)], Some(false)),
            (vec![leg(alone, true), leg("of a later version", false)], Some(false)),
        ] {
            let mut installed = claude("9.0.0");
            store(&env, &installed, &Proof { guard, ..proof(true) }).unwrap();
            installed.proofs = read(&env, &installed);
            assert_eq!(installed.proofs.guard, expected);
            let row = installed.can(Capability::Hooks, RunMode::Headless).unwrap();
            assert_eq!(installed.trust(row) == Trust::Proved, expected == Some(true));
        }
    }

    #[test]
    fn a_proof_of_a_version_without_a_guard_is_read() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with("AMPLIHACK_HOME", home.path());
        let file = store(&env, &claude("9.0.0"), &proof(true)).unwrap();
        let old = r#"{"agent": "claude", "version": "9.0.0", "at": "2026-01-01T00:00:00Z",
            "delivery": [{"channel": "argv", "bytes": 65536, "arrived": true, "detail": "arrived"}]}"#;
        std::fs::write(file, old).unwrap();
        let found = read(&env, &claude("9.0.0"));
        assert_eq!((found.proved, found.guard), (vec![DeliveryMode::Argv], None));
    }

    #[test]
    fn a_leg_is_one_line() {
        assert_eq!(
            leg(GuardProof::ALONE, false).to_string(),
            "the guard did not hold: the forbidden call ran"
        );
        let held = GuardProof { detail: "stopped".to_owned(), ..leg(GuardProof::AS_CONFIGURED, true) };
        assert_eq!(held.to_string(), "the guard beside your own hooks held: stopped");
    }

    #[test]
    fn a_damaged_proof_proves_nothing_and_nothing_is_kept_without_version_or_home() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with("AMPLIHACK_HOME", home.path());
        let file = store(&env, &claude("9.0.0"), &proof(true)).unwrap();
        std::fs::write(file, "{\"agent\": \"torn").unwrap();
        assert_eq!(read(&env, &claude("9.0.0")), LocalProofs::default());
        let error = store(&env, &Installed::assumed(AgentBinary::Claude), &proof(true)).unwrap_err();
        assert!(error.to_string().contains("version"), "{error}");
        let error = store(&Env::empty(), &claude("9.0.0"), &proof(true)).unwrap_err();
        assert!(error.to_string().contains("AMPLIHACK_HOME"), "{error}");
    }
}
