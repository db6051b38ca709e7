//! The real agent CLIs that `cargo xtask test` installs below `agents/`; tests that need one are skipped where it is missing.

use std::path::PathBuf;

/// The real agent CLI `name`. `None` where it cannot run: the test that asked is skipped.
pub fn real_agent(name: &str) -> Option<PathBuf> {
    // The links are tracked, so that users find the same programs there.
    let found = crate::workspace().join("agents/bin").join(name).canonicalize();
    let Ok(program) = found else {
        crate::skip_test(&format!("the real {name} is not installed; `cargo xtask agents` installs it"));
        return None;
    };
    if program.extension().is_some_and(|extension| extension == "js") && !on_node() {
        crate::skip_test(&format!(
            "the real {name} runs on node, which is in neither /usr/local/bin nor /usr/bin"
        ));
        return None;
    }
    Some(program)
}

/// Whether programs in JavaScript run where sandboxes look for programs.
fn on_node() -> bool {
    ["/usr/local/bin/node", "/usr/bin/node"].iter().any(|node| std::path::Path::new(node).exists())
}
