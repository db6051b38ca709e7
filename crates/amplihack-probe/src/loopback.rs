//! How each real agent CLI is pointed at the scripted model server: variables and files of a throw-away home.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::error::Explain;
use amplihack_utils::fs::{Durability, create_private_dir, write_atomic};
use serde_json::{Value, json};

use crate::model::MODEL;

/// The key that every agent is given. It opens nothing.
pub const DUMMY_KEY: &str = "dummy-key";

/// What an agent process needs to talk to the scripted server and to nobody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loopback {
    /// Variables to add to an environment built from nothing. `PATH`, `TERM` and `LANG` are the caller's.
    pub env: Vec<(OsString, OsString)>,
}

/// Whether `agent` speaks a protocol that the server scripts.
pub(crate) fn can_loopback(agent: AgentBinary) -> bool {
    matches!(agent, AgentBinary::Claude | AgentBinary::Copilot | AgentBinary::Codex)
}

/// What may be the same for several throw-away homes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// A directory in which agents keep what they unpack (Copilot: 235 MB and seconds for each new one).
    pub cache: Option<&'a Path>,
    /// The directory that the agent works in, trusted beforehand: interactive agents ask else, and Codex refuses
    /// to work outside a repository.
    pub workspace: Option<&'a Path>,
}

/// Why an agent cannot be pointed at the scripted server.
#[derive(Debug, thiserror::Error)]
pub enum LoopbackError {
    /// It speaks no protocol that the server scripts.
    #[error("{agent} cannot be pointed at a loopback model server; it takes no address of a model")]
    NoProtocol {
        /// The agent.
        agent: AgentBinary,
    },
    /// Its settings cannot be written.
    #[error("cannot write {}: {source}; check that the directory is writable", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its settings cannot be put into words.
    #[error("cannot write {} as TOML: {source}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Why.
        source: toml::ser::Error,
    },
}

impl Explain for LoopbackError {
    fn kind(&self) -> &'static str {
        match self {
            Self::NoProtocol { .. } => "no_loopback",
            Self::Write { .. } | Self::Toml { .. } => "loopback_settings",
        }
    }
}

/// Prepares `home` for `agent` and says how to run it against `base_url`, a URL of `ModelServer::base_url`.
///
/// Variables and files are those that were shown to work on Claude Code 2.1.332, Codex 0.171.0 and Copilot
/// 1.0.102: no account, no updates, no telemetry, one retry.
pub fn loopback(
    agent: AgentBinary,
    base_url: &str,
    home: &Path,
    options: Options<'_>,
) -> Result<Loopback, LoopbackError> {
    let mut env = vec![("HOME".into(), home.into())];
    match agent {
        AgentBinary::Claude => {
            write_private(
                &home.join(".claude.json"),
                claude_settings(options.workspace).to_string().as_bytes(),
            )?;
            env.extend(claude(base_url));
        }
        AgentBinary::Codex => {
            let path = home.join(".codex/config.toml");
            let settings = toml::to_string(&codex_settings(base_url, options.workspace))
                .map_err(|source| LoopbackError::Toml { path: path.clone(), source })?;
            write_private(&path, settings.as_bytes())?;
            env.push(("FAKE_KEY".into(), DUMMY_KEY.into()));
        }
        AgentBinary::Copilot => {
            env.extend(copilot(base_url));
            if let Some(cache) = options.cache {
                env.push(("COPILOT_CACHE_HOME".into(), cache.into()));
            }
            if let Some(workspace) = options.workspace {
                // `--trust-folder` says the same, but an interactive Copilot refuses to start with it.
                let settings = json!({"trustedFolders": [text(workspace)]});
                write_private(&home.join(".copilot/config.json"), settings.to_string().as_bytes())?;
            }
        }
        _ => return Err(LoopbackError::NoProtocol { agent }),
    }
    Ok(Loopback { env })
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> [(OsString, OsString); N] {
    pairs.map(|(name, value)| (name.into(), value.into()))
}

fn claude(base_url: &str) -> Vec<(OsString, OsString)> {
    let mut env = pairs([
        ("ANTHROPIC_BASE_URL", base_url),
        ("ANTHROPIC_API_KEY", DUMMY_KEY),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_TELEMETRY", "1"),
    ])
    .to_vec();
    if rustix::process::geteuid().is_root() {
        // As root Claude Code skips permissions only where it is told that it is in a sandbox. This home and this
        // model are throw-away ones; a user's own launch never gets this variable from us.
        env.push(("IS_SANDBOX".into(), "1".into()));
    }
    env
}

/// What stands between a fresh home and the first interactive prompt: onboarding, the key, the trust question.
fn claude_settings(workspace: Option<&Path>) -> Value {
    let mut settings = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [DUMMY_KEY], "rejected": []},
        "projects": {},
    });
    if let Some(workspace) = workspace {
        let trusted = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
        settings["projects"][text(workspace)] = trusted;
    }
    settings
}

fn codex_settings(base_url: &str, workspace: Option<&Path>) -> Value {
    let mut settings = json!({
        "model": MODEL,
        "model_provider": "fake",
        "check_for_update_on_startup": false,
        "analytics": {"enabled": false},
        // Without this Codex waits for an unreachable server for ever.
        "features": {"unbounded_connection_retries": false},
        "model_providers": {"fake": {
            "name": "fake",
            "base_url": format!("{base_url}/v1"),
            "env_key": "FAKE_KEY",
            "wire_api": "responses",
            "request_max_retries": 1,
            "stream_max_retries": 1,
        }},
        "projects": {},
    });
    if let Some(workspace) = workspace {
        settings["projects"][text(workspace)] = json!({"trust_level": "trusted"});
    }
    settings
}

fn copilot(base_url: &str) -> [(OsString, OsString); 6] {
    pairs([
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("COPILOT_PROVIDER_BASE_URL", &format!("{base_url}/v1")),
        ("COPILOT_PROVIDER_TYPE", "openai"),
        ("COPILOT_PROVIDER_API_KEY", DUMMY_KEY),
        ("COPILOT_MODEL", MODEL),
    ])
}

/// Settings files key directories by text; a directory whose name is none stays untrusted, and the agent asks.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn write_private(path: &Path, contents: &[u8]) -> Result<(), LoopbackError> {
    let failed = |source| LoopbackError::Write { path: path.to_owned(), source };
    if let Some(directory) = path.parent() {
        create_private_dir(directory).map_err(failed)?;
    }
    write_atomic(path, contents, 0o600, Durability::Process).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:1/text~r";

    #[test]
    fn codex_reads_its_settings_from_the_home() {
        let home = tempfile::tempdir().unwrap();
        let options = Options { workspace: Some(Path::new("/w \"x\"")), ..Options::default() };
        loopback(AgentBinary::Codex, URL, home.path(), options).unwrap();
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
        for agent in [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot] {
            let home = tempfile::tempdir().unwrap();
            let loopback = loopback(agent, URL, home.path(), Options::default()).unwrap();
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
            let error = loopback(agent, URL, home.path(), Options::default()).unwrap_err();
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
        let error = loopback(AgentBinary::Codex, URL, &file, Options::default()).unwrap_err();
        assert!(error.to_string().contains("file/.codex/config.toml"), "{error}");
    }
}
