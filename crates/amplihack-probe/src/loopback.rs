//! Points each real agent CLI at the scripted model server: variables and files of a throw-away home.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_sys::error::ErrorExplanation;
use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};

use crate::agents::probed_agent;

/// The key that every agent is given. It opens nothing.
pub const DUMMY_KEY: &str = "dummy-key";

/// Settings with which an agent process talks to the scripted server and to nobody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopbackSetup {
    /// Variables to add to an environment built from nothing. `PATH`, `TERM` and `LANG` are the caller's.
    pub env: Vec<(OsString, OsString)>,
}

/// Reports whether `agent` speaks a protocol that the server scripts.
pub(crate) fn can_loopback(agent: AgentBinary) -> bool {
    probed_agent(agent).is_some()
}

/// Directories that several throw-away homes may share.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoopbackOptions<'a> {
    /// A directory in which agents keep what they unpack (Copilot: 235 MB and seconds for each new one).
    pub cache: Option<&'a Path>,
    /// The directory that the agent works in, trusted beforehand: interactive agents ask else, and Codex refuses
    /// to work outside a repository.
    pub workspace: Option<&'a Path>,
}

/// The reason why an agent cannot be pointed at the scripted server.
#[derive(Debug, thiserror::Error)]
pub enum LoopbackError {
    /// The agent speaks no protocol that the server scripts.
    #[error("{agent} cannot be pointed at a loopback model server; it takes no address of a model")]
    NoProtocol {
        /// The agent.
        agent: AgentBinary,
    },
    /// The agent's settings cannot be written.
    #[error("cannot write {}: {source}; check that the directory is writable", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The agent's settings cannot be written as TOML.
    #[error("cannot write {} as TOML: {source}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: toml::ser::Error,
    },
}

impl ErrorExplanation for LoopbackError {
    fn kind(&self) -> &'static str {
        match self {
            Self::NoProtocol { .. } => "no_loopback",
            Self::Write { .. } | Self::Toml { .. } => "loopback_settings",
        }
    }
}

/// Prepares `home` for `agent` and says how to run it against `base_url`, a URL of `ModelServer::base_url`.
///
/// Variables and files are those that were shown to work on the pinned CLIs: no account, no updates, no telemetry, and one
/// retry where that can be said.
pub fn prepare_loopback(
    agent: AgentBinary,
    base_url: &str,
    home: &Path,
    options: LoopbackOptions<'_>,
) -> Result<LoopbackSetup, LoopbackError> {
    let probed = probed_agent(agent).ok_or(LoopbackError::NoProtocol { agent })?;
    let mut env = vec![("HOME".into(), home.into())];
    env.extend((probed.prepare)(base_url, home, options)?);
    Ok(LoopbackSetup { env })
}

pub(crate) fn write_private(path: &Path, contents: &[u8]) -> Result<(), LoopbackError> {
    let failed = |source| LoopbackError::Write { path: path.to_owned(), source };
    if let Some(directory) = path.parent() {
        create_private_dir(directory).map_err(failed)?;
    }
    write_atomic(path, contents, 0o600, WriteDurability::Process).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:1/text~r";

    #[test]
    fn codex_reads_its_settings_from_the_home() {
        let home = tempfile::tempdir().unwrap();
        let options =
            LoopbackOptions { workspace: Some(Path::new("/w \"x\"")), ..LoopbackOptions::default() };
        prepare_loopback(AgentBinary::Codex, URL, home.path(), options).unwrap();
        let text = std::fs::read_to_string(home.path().join(".codex/config.toml")).unwrap();
        let settings: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(
            settings["model_providers"]["fake"]["base_url"].as_str(),
            Some("http://127.0.0.1:1/text~r/v1")
        );
        assert_eq!(settings["projects"]["/w \"x\""]["trust_level"].as_str(), Some("trusted"));
    }

    #[test]
    fn every_variable_points_home_or_nowhere() {
        for agent in AgentBinary::ALL.into_iter().filter(|agent| can_loopback(*agent)) {
            let home = tempfile::tempdir().unwrap();
            let loopback = prepare_loopback(agent, URL, home.path(), LoopbackOptions::default()).unwrap();
            assert_eq!(loopback.env[0], ("HOME".into(), home.path().into()));
            for (name, value) in &loopback.env {
                let value = value.to_str().unwrap();
                assert!(!value.contains("://") || value.starts_with(URL), "{agent} {name:?}={value}");
            }
        }
    }

    #[test]
    fn agents_without_a_scripted_protocol_say_so() {
        for agent in [AgentBinary::Amp, AgentBinary::Amplifier] {
            let home = tempfile::tempdir().unwrap();
            let error = prepare_loopback(agent, URL, home.path(), LoopbackOptions::default()).unwrap_err();
            assert_eq!(error.kind(), "no_loopback");
            assert!(error.to_string().starts_with(agent.name()), "{error}");
            assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_home_that_cannot_be_written_is_named() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = prepare_loopback(AgentBinary::Codex, URL, &file, LoopbackOptions::default()).unwrap_err();
        assert!(error.to_string().contains("file/.codex/config.toml"), "{error}");
    }
}
