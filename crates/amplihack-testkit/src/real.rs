//! The real agent CLIs that `cargo xtask test` installs below `agents/`, and a loud line where they are missing.

use std::path::PathBuf;

/// Name and program file, below `agents/node_modules`, of each real agent CLI.
const PROGRAMS: &[(&str, &str)] = &[
    ("claude", "@anthropic-ai/claude-code-linux-x64/claude"),
    ("codex", "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"),
    ("copilot", "@github/copilot-linux-x64/copilot"),
    ("amp", "@ampcode/cli-linux-x64/amp"),
];

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
    let (_, program) = PROGRAMS.iter().find(|(known, _)| *known == name)?;
    let path = crate::workspace().join("agents/node_modules").join(program);
    if path.is_file() {
        return Some(path);
    }
    crate::loud(&format!("SKIPPED: the real {name} is not installed; `cargo xtask test` installs it"));
    None
}
