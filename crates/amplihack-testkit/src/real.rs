//! The real agent CLIs that `cargo xtask test` installs below `agents/`, and a loud line where they are missing.

use std::path::PathBuf;

/// The installed real agent CLIs; `None` for one that is not installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RealAgents {
    /// Claude Code.
    pub claude: Option<PathBuf>,
    /// OpenAI Codex.
    pub codex: Option<PathBuf>,
    /// GitHub Copilot CLI.
    pub copilot: Option<PathBuf>,
    /// Amp.
    pub amp: Option<PathBuf>,
}

/// All real agent CLIs. A missing one is told on stderr.
pub fn real_agents() -> RealAgents {
    RealAgents {
        claude: real_agent("claude"),
        codex: real_agent("codex"),
        copilot: real_agent("copilot"),
        amp: real_agent("amp"),
    }
}

/// The real agent CLI `name`. A missing one is told on stderr: the test that asked is skipped.
pub fn real_agent(name: &str) -> Option<PathBuf> {
    // The links are tracked, so that users find the same programs there.
    let found = crate::workspace().join("agents/bin").join(name).canonicalize();
    if found.is_err() {
        crate::loud(&format!("SKIPPED: the real {name} is not installed; `cargo xtask agents` installs it"));
    }
    found.ok()
}
