//! Where each agent keeps what it reads: for a user, and in a repository.

use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::env::Env;
use amplihack_utils::fs::repository_root;
use serde::{Deserialize, Serialize};

use super::InstallError;

/// For whom something is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scope {
    /// For every session of this user.
    User,
    /// For sessions in this repository.
    Repository(PathBuf),
}

impl Scope {
    /// The repository around `cwd`.
    pub fn repository(cwd: &Path) -> Result<Self, InstallError> {
        let root = repository_root(cwd).ok_or_else(|| InstallError::NoRepository { path: cwd.to_owned() })?;
        Ok(Self::Repository(root.canonicalize().unwrap_or(root)))
    }

    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Repository(_) => "repo",
        }
    }
}

/// The directories of one user.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    home: PathBuf,
    /// Where everything of ours lives.
    pub(crate) ours: PathBuf,
    claude: PathBuf,
    codex: PathBuf,
    pub(crate) copilot: PathBuf,
    amp: PathBuf,
    gemini: PathBuf,
}

impl Places {
    pub(crate) fn of(env: &Env) -> Result<Self, InstallError> {
        let home = env.home().ok_or(InstallError::NoHome("HOME"))?;
        let named = |variable: &str, usual: &str| {
            env.path(variable).filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(usual))
        };
        let codex = match env.path("CODEX_HOME").filter(|path| path.is_absolute()) {
            // Codex resolves it, and trusts hooks by the resolved name.
            Some(path) => path.canonicalize().unwrap_or(path),
            None => home.join(".codex"),
        };
        Ok(Self {
            ours: env.amplihack_home().ok_or(InstallError::NoHome("AMPLIHACK_HOME"))?,
            claude: named("CLAUDE_CONFIG_DIR", ".claude"),
            codex,
            copilot: named("COPILOT_HOME", ".copilot"),
            amp: named("XDG_CONFIG_HOME", ".config").join("amp"),
            gemini: named("GEMINI_CLI_HOME", "").join(".gemini"),
            home,
        })
    }

    /// The file that holds the registration of `agent`; `None` for one that has none.
    pub(crate) fn registration(&self, agent: AgentBinary, scope: &Scope) -> Option<PathBuf> {
        use AgentBinary::{Amp, Claude, Codex, Copilot, Gemini};
        Some(match (agent, scope) {
            (Claude, Scope::User) => self.claude.join("settings.json"),
            (Claude, Scope::Repository(root)) => root.join(".claude/settings.json"),
            (Codex, Scope::User) => self.codex.join("hooks.json"),
            (Codex, Scope::Repository(root)) => root.join(".codex/hooks.json"),
            (Copilot, Scope::User) => {
                self.copilot.join("hooks").join(amplihack_hooks::staging::USER_MANIFEST)
            }
            (Copilot, Scope::Repository(root)) => {
                root.join(".github/hooks").join(amplihack_hooks::staging::REPOSITORY_MANIFEST)
            }
            (Amp, Scope::User) => with_comments(&self.amp),
            (Amp, Scope::Repository(root)) => with_comments(&root.join(".amp")),
            (Gemini, Scope::User) => self.gemini.join("settings.json"),
            (Gemini, Scope::Repository(root)) => root.join(".gemini/settings.json"),
            _ => return None,
        })
    }

    /// Codex's configuration, where it keeps its trust.
    pub(crate) fn codex_config(&self) -> PathBuf {
        self.codex.join("config.toml")
    }

    /// Where the seed's XPIA entry points are.
    pub(crate) fn xpia(&self, scope: &Scope) -> PathBuf {
        match scope {
            Scope::User => self.ours.clone(),
            Scope::Repository(root) => root.clone(),
        }
    }

    /// `path` as a person writes it.
    pub(crate) fn shown(&self, path: &Path) -> String {
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
