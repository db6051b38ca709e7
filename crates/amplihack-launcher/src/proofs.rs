//! Results of probes on this machine, by agent and version, below `proofs/`. A proof belongs to the content of the program
//! that was probed: another one with the same version has none.

use std::fmt;
use std::path::{Path, PathBuf};

use amplihack_agent::installed::LocalProofs;
use amplihack_agent::{AgentBinary, Installed};
use amplihack_config::env::Env;
use amplihack_config::prompt_delivery::PromptDelivery;
use amplihack_sys::form;
use amplihack_sys::fs::{WriteDurability, create_private_dir, read_limited, write_atomic};
use serde::{Deserialize, Serialize};

use crate::content;

const MAX_BYTES: u64 = 64 * 1024;
/// The form of a proof that this version writes and knows.
const FORM: u64 = 1;

/// The result of one probe run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProof {
    /// The agent.
    pub agent: String,
    /// Version of the agent.
    pub version: String,
    /// The digest of the program's content; proofs of earlier versions have none, and prove nothing.
    #[serde(default)]
    pub program: String,
    /// Time of the probe, RFC 3339 in UTC.
    pub at: String,
    /// Prompt channels that were tried.
    pub delivery: Vec<ChannelProof>,
    /// Findings about the guard, a leg each; none if it was not tried, as by versions that had no guard.
    #[serde(default)]
    pub guard: Vec<GuardProof>,
}

impl AgentProof {
    /// Returns what may be relied on after this.
    pub fn local_proofs(&self) -> LocalProofs {
        let mut proofs = LocalProofs::default();
        for channel in &self.delivery {
            let Some(mode) = PromptDelivery::parse(&channel.channel).and_then(PromptDelivery::mode) else {
                continue;
            };
            match channel.arrived {
                Some(true) => proofs.proved.push(mode),
                Some(false) => proofs.refuted.push(mode),
                None => {}
            }
        }
        // A guard that fails beside the user's own hooks fails where it is needed; one that was not seen in time is not proved.
        let held = |verdict| move |leg: &GuardProof| leg.held == verdict;
        proofs.guard = if self.guard.iter().any(held(Some(false))) {
            Some(false)
        } else {
            (!self.guard.is_empty() && self.guard.iter().all(held(Some(true)))).then_some(true)
        };
        proofs
    }
}

/// Result of a probe of a prompt channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelProof {
    /// `argv`, `tempfile` or `stdin`.
    pub channel: String,
    /// Bytes of the prompt.
    pub bytes: usize,
    /// True if it arrived unchanged, but for what the matrix's note names; `None` where the machine was too slow to tell.
    pub arrived: Option<bool>,
    /// Findings, in one sentence.
    pub detail: String,
}

/// Result of a probe of the guard, in one launch with a forbidden and a harmless call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardProof {
    /// [`GuardProof::ALONE`] or [`GuardProof::AS_CONFIGURED`].
    pub leg: String,
    /// True if forbidden calls were stopped, with a reason and a line in the audit, and harmless ones ran; `None` where the machine was
    /// too slow to tell.
    pub held: Option<bool>,
    /// Findings, in one sentence.
    pub detail: String,
}

impl GuardProof {
    /// The leg in an empty home.
    pub const ALONE: &str = "alone";
    /// The leg beside the hooks of the user's own settings, each of which does nothing.
    pub const AS_CONFIGURED: &str = "as_configured";
    /// The leg in which each tool that the agent offers is called.
    pub const TOOLS: &str = "tools";

    /// The leg in words.
    pub fn name(&self) -> &str {
        match self.leg.as_str() {
            Self::ALONE => "the guard",
            Self::AS_CONFIGURED => "the guard beside your own hooks",
            Self::TOOLS => "the guard on each tool",
            other => other,
        }
    }
}

impl fmt::Display for GuardProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.held {
            Some(true) => "held",
            Some(false) => "did not hold",
            None => "is unknown",
        };
        write!(f, "{} {verdict}: {}", self.name(), self.detail)
    }
}

/// Path of the proof of `agent` at `version`.
fn proof_path(home: &Path, agent: AgentBinary, version: &semver::Version) -> PathBuf {
    // A parsed version holds no path separator.
    home.join("proofs").join(format!("{agent}-{version}.json"))
}

/// Reads what was proved of `installed` at its version; nothing if the version is not known or no probe ran.
pub fn read_proofs(env: &Env, installed: &Installed) -> LocalProofs {
    load_proof(env, installed).map(|proof| proof.local_proofs()).unwrap_or_default()
}

/// The stored proof of `installed` at its version, if its program is the one that was probed.
pub fn load_proof(env: &Env, installed: &Installed) -> Option<AgentProof> {
    let path = proof_path(&env.amplihack_home()?, installed.agent, installed.version.as_ref()?);
    let bytes = read_limited(&path, MAX_BYTES).ok()?;
    form::check_form(&path, &bytes, FORM).ok()?;
    let proof: AgentProof = serde_json::from_slice(&bytes).ok()?;
    (content::program_digest(env, &installed.path)? == proof.program).then_some(proof)
}

/// Keeps `proof` for the program of `installed`, in the place of an older one; returns the file. One in a newer version's form is left
/// alone.
pub fn store_proof(env: &Env, installed: &Installed, proof: &AgentProof) -> std::io::Result<PathBuf> {
    let missing = |what| std::io::Error::new(std::io::ErrorKind::NotFound, what);
    let home =
        env.amplihack_home().ok_or_else(|| missing("neither AMPLIHACK_HOME nor HOME is an absolute path"))?;
    let version = installed.version.as_ref().ok_or_else(|| missing("the agent's version is not known"))?;
    let path = proof_path(&home, installed.agent, version);
    if let Ok(bytes) = read_limited(&path, MAX_BYTES) {
        form::check_form(&path, &bytes, FORM).map_err(std::io::Error::other)?;
    }
    create_private_dir(path.parent().unwrap_or(&home))?;
    let program = content::program_digest(env, &installed.path)
        .ok_or_else(|| missing("the agent's program cannot be read"))?;
    let text = serde_json::to_vec_pretty(&AgentProof { program, ..proof.clone() })?;
    write_atomic(&path, &text, 0o600, WriteDurability::Machine)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use amplihack_agent::{AgentCapability, RowTrust, RunMode};
    use amplihack_config::prompt_delivery::DeliveryMode;
    use semver::Version;

    use super::*;

    fn claude(version: &str) -> Installed {
        Installed {
            version: Some(Version::parse(version).unwrap()),
            path: "/bin/sh".into(),
            ..Installed::from_agent(AgentBinary::Claude)
        }
    }

    fn proof(arrived: bool) -> AgentProof {
        let channel = |channel: &str, arrived| ChannelProof {
            channel: channel.to_owned(),
            bytes: 65_536,
            arrived: Some(arrived),
            detail: "arrived byte for byte".to_owned(),
        };
        AgentProof {
            agent: "claude".to_owned(),
            version: "9.0.0".to_owned(),
            program: content::program_digest(&Env::empty(), Path::new("/bin/sh")).unwrap(),
            at: "2026-01-01T00:00:00Z".to_owned(),
            delivery: vec![channel("argv", true), channel("stdin", arrived), channel("later", true)],
            guard: Vec::new(),
        }
    }

    #[test]
    fn a_proof_is_read_back_for_that_version_only() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("AMPLIHACK_HOME", home.path());
        assert_eq!(load_proof(&env, &claude("9.0.0")), None);
        let file = store_proof(&env, &claude("9.0.0"), &proof(true)).unwrap();
        assert_eq!(file, home.path().join("proofs/claude-9.0.0.json"));
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(load_proof(&env, &claude("9.0.0")), Some(proof(true)));
        assert_eq!(load_proof(&env, &claude("9.0.1")), None);
        let found = read_proofs(&env, &claude("9.0.0"));
        // A channel that this version does not know is not a channel.
        assert_eq!(found.proved, [DeliveryMode::Argv, DeliveryMode::Stdin]);
        assert_eq!(found.refuted, []);
    }

    #[test]
    fn another_program_with_that_version_has_no_proof() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("AMPLIHACK_HOME", home.path());
        let program = home.path().join("claude");
        std::fs::write(&program, "one").unwrap();
        let installed = Installed { path: program.clone(), ..claude("9.0.0") };
        store_proof(&env, &installed, &proof(true)).unwrap();
        assert!(load_proof(&env, &installed).is_some());
        std::fs::write(&program, "another").unwrap();
        assert_eq!(load_proof(&env, &installed), None);
        // One of an earlier version says nothing of the program.
        let file = proof_path(home.path(), AgentBinary::Claude, &Version::new(9, 0, 0));
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("\"program\"", "\"other\"")).unwrap();
        assert_eq!(load_proof(&env, &installed), None);
    }

    #[test]
    fn a_refuted_channel_is_not_used_and_a_proved_one_is_trusted() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("AMPLIHACK_HOME", home.path());
        let mut installed = claude("9.0.0");
        store_proof(&env, &installed, &proof(false)).unwrap();
        installed.proofs = read_proofs(&env, &installed);
        let caps = installed.delivery_caps(RunMode::Headless);
        assert!(caps.supports_argv && !caps.supports_stdin);
        let row = installed.can(AgentCapability::Prompt(DeliveryMode::Argv), RunMode::Headless).unwrap();
        assert_eq!(installed.row_trust(row), RowTrust::Proved);
        store_proof(&env, &installed, &proof(true)).unwrap();
        installed.proofs = read_proofs(&env, &installed);
        assert!(installed.delivery_caps(RunMode::Headless).supports_stdin, "a later probe counts");
    }

    #[test]
    fn a_proof_in_a_newer_form_proves_nothing_and_stays() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("AMPLIHACK_HOME", home.path());
        let file = store_proof(&env, &claude("9.0.0"), &proof(true)).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let newer = text.replacen('{', "{\"schema_version\": 2,", 1);
        std::fs::write(&file, &newer).unwrap();
        assert_eq!(load_proof(&env, &claude("9.0.0")), None);
        let error = store_proof(&env, &claude("9.0.0"), &proof(true)).unwrap_err();
        assert!(error.to_string().contains("was written by a newer amplihack (form 2;"), "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), newer);
        // A field alone is no other form.
        std::fs::write(&file, text.replacen('{', "{\"later\": 2,", 1)).unwrap();
        assert_eq!(load_proof(&env, &claude("9.0.0")), Some(proof(true)));
    }

    fn leg(leg: &str, held: impl Into<Option<bool>>) -> GuardProof {
        GuardProof { leg: leg.to_owned(), held: held.into(), detail: "the forbidden call ran".to_owned() }
    }

    #[test]
    fn the_guard_is_proved_when_every_leg_held_and_not_tried_when_there_is_none() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("AMPLIHACK_HOME", home.path());
        let (alone, configured) = (GuardProof::ALONE, GuardProof::AS_CONFIGURED);
        for (guard, expected) in [
            (vec![], None),
            (vec![leg(alone, true), leg(configured, true)], Some(true)),
            (vec![leg(alone, true), leg(configured, false)], Some(false)),
            (vec![leg(alone, false), leg(configured, true)], Some(false)),
            (vec![leg(alone, true), leg("of a later version", false)], Some(false)),
            (vec![leg(alone, true), leg(configured, None)], None),
            (vec![leg(alone, None), leg(configured, false)], Some(false)),
        ] {
            let mut installed = claude("9.0.0");
            store_proof(&env, &installed, &AgentProof { guard, ..proof(true) }).unwrap();
            installed.proofs = read_proofs(&env, &installed);
            assert_eq!(installed.proofs.guard, expected);
            let row = installed.can(AgentCapability::Hooks, RunMode::Headless).unwrap();
            assert_eq!(installed.row_trust(row) == RowTrust::Proved, expected == Some(true));
        }
    }

    #[test]
    fn a_proof_of_a_version_without_a_guard_is_read() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("AMPLIHACK_HOME", home.path());
        let file = store_proof(&env, &claude("9.0.0"), &proof(true)).unwrap();
        let old = format!(
            r#"{{"agent": "claude", "version": "9.0.0", "program": "{}", "at": "2026-01-01T00:00:00Z",
            "delivery": [{{"channel": "argv", "bytes": 65536, "arrived": true, "detail": "arrived"}}]}}"#,
            proof(true).program
        );
        std::fs::write(file, old).unwrap();
        let found = read_proofs(&env, &claude("9.0.0"));
        assert_eq!((found.proved, found.guard), (vec![DeliveryMode::Argv], None));
    }

    #[test]
    fn a_leg_is_one_line() {
        assert_eq!(
            leg(GuardProof::ALONE, false).to_string(),
            "the guard did not hold: the forbidden call ran"
        );
        assert_eq!(
            leg(GuardProof::TOOLS, None).to_string(),
            "the guard on each tool is unknown: the forbidden call ran"
        );
        let held = GuardProof { detail: "stopped".to_owned(), ..leg(GuardProof::AS_CONFIGURED, true) };
        assert_eq!(held.to_string(), "the guard beside your own hooks held: stopped");
    }

    #[test]
    fn a_damaged_proof_proves_nothing_and_nothing_is_kept_without_version_or_home() {
        let home = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("AMPLIHACK_HOME", home.path());
        let file = store_proof(&env, &claude("9.0.0"), &proof(true)).unwrap();
        std::fs::write(file, "{\"agent\": \"torn").unwrap();
        assert_eq!(read_proofs(&env, &claude("9.0.0")), LocalProofs::default());
        let error = store_proof(&env, &Installed::from_agent(AgentBinary::Claude), &proof(true)).unwrap_err();
        assert!(error.to_string().contains("version"), "{error}");
        let error = store_proof(&Env::empty(), &claude("9.0.0"), &proof(true)).unwrap_err();
        assert!(error.to_string().contains("AMPLIHACK_HOME"), "{error}");
    }
}
