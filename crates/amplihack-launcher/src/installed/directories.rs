//! Directories in which each agent keeps what it reads: for a user, and in a repository.

use amplihack_config::repository::repository_root;
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use serde::{Deserialize, Serialize};

use super::RegistrationError;

/// For whom something is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum InstallScope {
    /// For every session of this user.
    User,
    /// For sessions in this repository.
    Repository(PathBuf),
}

impl InstallScope {
    /// The repository around `cwd`.
    pub fn from_directory(cwd: &Path, env: &Env) -> Result<Self, RegistrationError> {
        let root = repository_root(cwd, env)
            .ok_or_else(|| RegistrationError::NoRepository { path: cwd.to_owned() })?;
        Ok(Self::Repository(root.canonicalize().unwrap_or(root)))
    }

    /// Name of the scope on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Repository(_) => "repo",
        }
    }
}

/// The directories of one user.
#[derive(Debug, Clone)]
pub struct UserDirectories {
    home: PathBuf,
    /// Directory in which everything of ours lives.
    pub ours: PathBuf,
    claude: PathBuf,
    codex: PathBuf,
    /// Copilot's own directory.
    pub copilot: PathBuf,
    amp: PathBuf,
    gemini: PathBuf,
}

impl UserDirectories {
    /// The directories that `env` names, and the usual ones.
    pub fn from_env(env: &Env) -> Result<Self, RegistrationError> {
        let home = env.home().ok_or(RegistrationError::NoHome("HOME"))?;
        let named = |variable: &str, usual: &str| {
            env.path(variable).filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(usual))
        };
        let codex = match env.path("CODEX_HOME").filter(|path| path.is_absolute()) {
            // Codex resolves it, and trusts hooks by the resolved name.
            Some(path) => path.canonicalize().unwrap_or(path),
            None => home.join(".codex"),
        };
        Ok(Self {
            ours: env.amplihack_home().ok_or(RegistrationError::NoHome("AMPLIHACK_HOME"))?,
            claude: named("CLAUDE_CONFIG_DIR", ".claude"),
            codex,
            copilot: named("COPILOT_HOME", ".copilot"),
            amp: named("XDG_CONFIG_HOME", ".config").join("amp"),
            gemini: named("GEMINI_CLI_HOME", "").join(".gemini"),
            home,
        })
    }

    /// The file that holds the registration of `agent`; `None` for one that has none.
    pub fn registration_file(&self, agent: AgentBinary, scope: &InstallScope) -> Option<PathBuf> {
        use AgentBinary::{Amp, Claude, Codex, Copilot, Gemini};
        Some(match (agent, scope) {
            (Claude, InstallScope::User) => self.claude.join("settings.json"),
            (Claude, InstallScope::Repository(root)) => root.join(".claude/settings.json"),
            (Codex, InstallScope::User) => self.codex.join("hooks.json"),
            (Codex, InstallScope::Repository(root)) => root.join(".codex/hooks.json"),
            (Copilot, InstallScope::User) => {
                self.copilot.join("hooks").join(amplihack_hooks::staging::USER_MANIFEST)
            }
            (Copilot, InstallScope::Repository(root)) => {
                root.join(".github/hooks").join(amplihack_hooks::staging::REPOSITORY_MANIFEST)
            }
            (Amp, InstallScope::User) => with_comments(&self.amp),
            (Amp, InstallScope::Repository(root)) => with_comments(&root.join(".amp")),
            (Gemini, InstallScope::User) => self.gemini.join("settings.json"),
            (Gemini, InstallScope::Repository(root)) => root.join(".gemini/settings.json"),
            _ => return None,
        })
    }

    /// Codex's configuration, where it keeps its trust.
    pub fn codex_config(&self) -> PathBuf {
        self.codex.join("config.toml")
    }

    /// Directory of the seed's XPIA entry points.
    pub fn xpia_directory(&self, scope: &InstallScope) -> PathBuf {
        match scope {
            InstallScope::User => self.ours.clone(),
            InstallScope::Repository(root) => root.clone(),
        }
    }

    /// `path` as a person writes it.
    pub fn display_path(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

/// Amp reads `settings.json` or `settings.jsonc`; the one that is there.
fn with_comments(directory: &Path) -> PathBuf {
    let commented = directory.join("settings.jsonc");
    if commented.exists() { commented } else { directory.join("settings.json") }
}
