//! The real agent CLIs that `cargo xtask test` installs below `agents/`, and a loud line where they are missing.

use std::path::PathBuf;

/// Name and program file, below `agents/node_modules`, of each real agent CLI.
const PROGRAMS: &[(&str, &str)] = &[
    ("claude", "@anthropic-ai/claude-code-linux-x64/claude"),
    ("codex", "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"),
    ("copilot", "@github/copilot-linux-x64/copilot"),
    ("amp", "@ampcode/cli-linux-x64/amp"),
    ("gemini", "@google/gemini-cli/bundle/gemini.js"),
];

/// The real agent CLI `name`. A missing one is told on stderr: the test that asked is skipped.
pub fn real_agent(name: &str) -> Option<PathBuf> {
    let (_, program) = PROGRAMS.iter().find(|(known, _)| *known == name)?;
    let path = crate::workspace().join("agents/node_modules").join(program);
    let runs = path.extension().is_none_or(|extension| extension != "js") || on_node();
    if path.is_file() && runs {
        return Some(path);
    }
    crate::loud(&format!("SKIPPED: the real {name} is not installed; `cargo xtask test` installs it"));
    None
}

/// Whether programs in JavaScript run where sandboxes look for programs.
fn on_node() -> bool {
    ["/usr/local/bin/node", "/usr/bin/node"].iter().any(|node| std::path::Path::new(node).exists())
}
