//! The real agent CLIs that `cargo xtask test` installs below `agents/`, and a loud line where they are missing.

use std::path::PathBuf;

/// The real agent CLI `name`. A missing one is told on stderr: the test that asked is skipped.
pub fn real_agent(name: &str) -> Option<PathBuf> {
    // The links are tracked, so that users find the same programs there.
    let found = crate::workspace().join("agents/bin").join(name).canonicalize();
    if found.is_err() {
        crate::loud(&format!("SKIPPED: the real {name} is not installed; `cargo xtask agents` installs it"));
    }
    found.ok().filter(|path| path.extension().is_none_or(|extension| extension != "js") || on_node())
}

/// Whether programs in JavaScript run where sandboxes look for programs.
fn on_node() -> bool {
    ["/usr/local/bin/node", "/usr/bin/node"].iter().any(|node| std::path::Path::new(node).exists())
}
