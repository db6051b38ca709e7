//! An agent as it is installed on this machine, and what may be relied on at its version.

use std::path::PathBuf;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::prompt_delivery::{DeliveryCaps, DeliveryMode, MAX_ARG_BYTES};
use amplihack_sys::sabotage;
use semver::Version;

use crate::error::Unsupported;
use crate::matrix::{AgentCapability, CapabilityRow, RowEvidence, RunMode};
use crate::profile::agent_profile;

/// Degree to which a row is proved at an installed version; the less may be relied on, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowTrust {
    /// A probe of this project, or one on this machine, showed it at this version.
    Proved,
    /// The agent's own help or manual says so.
    Documented,
    /// Shown at other versions only, or the version is not known.
    UnknownVersion,
}

/// Results of probes on this machine for one version of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalProofs {
    /// Channels through which a prompt arrived unchanged.
    pub proved: Vec<DeliveryMode>,
    /// Channels through which it did not. They are not used.
    pub refuted: Vec<DeliveryMode>,
    /// Set to true if the guard stopped a forbidden call and let a harmless one through; `None` if that was not tried.
    pub guard: Option<bool>,
}

/// An agent's program on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The agent.
    pub agent: AgentBinary,
    /// Path of the agent's program.
    pub path: PathBuf,
    /// Version of the program, if it could be read.
    pub version: Option<Version>,
    /// Proofs made on this machine.
    pub proofs: LocalProofs,
}

impl Installed {
    /// `agent` by its bare program name, nothing known of its version: for callers that probe nothing.
    pub fn from_agent(agent: AgentBinary) -> Self {
        Self {
            agent,
            path: agent_profile(agent).program.into(),
            version: None,
            proofs: LocalProofs::default(),
        }
    }

    /// The row by which the agent does `cap` in `mode`.
    ///
    /// # Errors
    /// [`Unsupported`] if the agent cannot do that in `mode`, or a probe on this machine refuted the channel.
    pub fn can(&self, cap: AgentCapability, mode: RunMode) -> Result<&'static CapabilityRow, Unsupported> {
        agent_profile(self.agent)
            .find_row(cap, mode)
            .filter(|_| !matches!(cap, AgentCapability::Prompt(channel) if self.proofs.refuted.contains(&channel)))
            .ok_or_else(|| Unsupported {
                agent: self.agent,
                version: self.version.clone(),
                capability: cap,
                mode,
            })
    }

    /// Returns how far `row` may be trusted at this version.
    pub fn row_trust(&self, row: &CapabilityRow) -> RowTrust {
        let shown_here = match row.cap {
            AgentCapability::Prompt(channel) => self.proofs.proved.contains(&channel),
            AgentCapability::Hooks => self.proofs.guard == Some(true),
            _ => false,
        };
        match (row.evidence, &self.version) {
            _ if shown_here => RowTrust::Proved,
            (RowEvidence::Documented(_), _) => RowTrust::Documented,
            (RowEvidence::Probe(range, _), Some(version)) if range.contains(version) => RowTrust::Proved,
            (RowEvidence::Probe(..), _) => RowTrust::UnknownVersion,
        }
    }

    /// The prompt channels in `mode`, as the delivery engine takes them.
    pub fn delivery_caps(&self, mode: RunMode) -> DeliveryCaps {
        let has = |channel| self.can(AgentCapability::Prompt(channel), mode).is_ok();
        let amplifier = self.agent == AgentBinary::Amplifier;
        if sabotage::is_active("delivery-matrix-amplifier") && amplifier
            || sabotage::is_active("delivery-matrix-tempfile") && !amplifier
        {
            return DeliveryCaps { supports_stdin: true, ..DeliveryCaps::argv_and_tempfile("--prompt-file") };
        }
        DeliveryCaps {
            supports_argv: has(DeliveryMode::Argv),
            supports_tempfile: has(DeliveryMode::Tempfile),
            supports_stdin: has(DeliveryMode::Stdin),
            tempfile_flag: None,
        }
    }
}

/// Agents and channels that hold `prompt` in a headless run, by the matrix.
pub(crate) fn could_take(prompt: &str) -> Vec<(AgentBinary, DeliveryMode)> {
    let mut could = Vec::new();
    for agent in AgentBinary::ALL {
        for channel in [DeliveryMode::Argv, DeliveryMode::Tempfile, DeliveryMode::Stdin] {
            let holds = agent_profile(agent)
                .find_row(AgentCapability::Prompt(channel), RunMode::Headless)
                .is_some_and(|row| {
                    row.limit.can_hold(prompt)
                        && (channel != DeliveryMode::Argv || prompt.len() <= MAX_ARG_BYTES)
                });
            if holds {
                could.push((agent, channel));
            }
        }
    }
    could
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claude(version: Option<&str>) -> Installed {
        let mut installed = Installed::from_agent(AgentBinary::Claude);
        installed.version = version.map(|version| Version::parse(version).unwrap());
        installed
    }

    #[test]
    fn trust_follows_version_and_local_proofs() {
        let stdin = AgentCapability::Prompt(DeliveryMode::Stdin);
        for (version, trust) in [
            (Some("2.1.332"), RowTrust::Proved),
            (Some("2.1.400"), RowTrust::Proved),
            (Some("2.1.197"), RowTrust::UnknownVersion),
            (Some("3.0.0"), RowTrust::UnknownVersion),
            (None, RowTrust::UnknownVersion),
        ] {
            let installed = claude(version);
            let row = installed.can(stdin, RunMode::Headless).unwrap();
            assert_eq!(installed.row_trust(row), trust, "{version:?}");
        }
        let mut installed = claude(Some("3.0.0"));
        installed.proofs.proved.push(DeliveryMode::Stdin);
        let row = installed.can(stdin, RunMode::Headless).unwrap();
        assert_eq!(installed.row_trust(row), RowTrust::Proved);
    }

    #[test]
    fn channels_are_by_run_mode() {
        let installed = claude(None);
        assert!(installed.delivery_caps(RunMode::Headless).supports_stdin);
        assert!(!installed.delivery_caps(RunMode::Interactive).supports_stdin);
        let amp = Installed::from_agent(AgentBinary::Amp).delivery_caps(RunMode::Interactive);
        assert!(!amp.supports_argv, "amp takes no first prompt in a terminal");
    }
}
