//! Settings by which a host leaves out all hooks, a launch's too, and that no flag of the host overrules.
//!
//! Claude Code and Codex have such settings as well, but their rows in the flag matrix overrule them for a launch.

use std::path::{Path, PathBuf};

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::fs::{read_limited, repository_root};
use jsonc_parser::{JsonValue, ParseOptions};

/// The setting, the same word for every host.
pub const KEY: &str = "disableAllHooks";

/// Bytes of a settings file.
const LIMIT: u64 = 1 << 20;

/// Files of a directory that Copilot takes the setting from, trusted or not. The same word in its own home was shown to switch
/// nothing off.
const IN_DIRECTORY: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".github/copilot/settings.json",
    ".github/copilot/settings.local.json",
];

/// The file by which `host`, started in `cwd`, would leave out the hooks of a launch.
pub fn switched_off(host: AgentBinary, cwd: &Path) -> Option<PathBuf> {
    if host != AgentBinary::Copilot {
        return None;
    }
    let root = repository_root(cwd);
    let directories = cwd.ancestors().take_while(|directory| {
        // Beyond the repository's root nothing is its own; without a repository only the directory itself counts.
        *directory == cwd || root.as_ref().is_some_and(|root| directory.starts_with(root))
    });
    directories
        .flat_map(|directory| IN_DIRECTORY.iter().map(|file| directory.join(file)))
        .find(|file| says_so(file))
}

fn says_so(file: &Path) -> bool {
    let Ok(bytes) = read_limited(file, LIMIT) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    match jsonc_parser::parse_to_value(&text, &ParseOptions::default()) {
        Ok(Some(JsonValue::Object(settings))) => settings.get_boolean(KEY) == Some(true),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_anywhere_between_the_directory_and_the_root_counts() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let (root, cwd) = (base.join("r"), base.join("r/a/b"));
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(&cwd).unwrap();
        for (file, counts) in [
            ("r/a/b/.claude/settings.json", true),
            ("r/a/.github/copilot/settings.json", true),
            ("r/.claude/settings.local.json", true),
            (".claude/settings.json", false),
            ("home/.copilot/settings.json", false),
            ("home/.copilot/config.json", false),
        ] {
            let file = base.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "{ // why\n \"disableAllHooks\": true,\n}").unwrap();
            let found = switched_off(AgentBinary::Copilot, &cwd);
            assert_eq!(found, counts.then(|| file.clone()), "{}", file.display());
            assert_eq!(switched_off(AgentBinary::Claude, &cwd), None);
            fs::remove_file(&file).unwrap();
        }
    }

    #[test]
    fn anything_but_true_switches_nothing_off() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("settings.json");
        for text in
            ["", "{}", "[]", "{\"disableAllHooks\": false}", "{\"disableAllHooks\": \"true\"}", "no json"]
        {
            fs::write(&file, text).unwrap();
            assert!(!says_so(&file), "{text}");
        }
        assert!(!says_so(dir.path()));
    }
}
