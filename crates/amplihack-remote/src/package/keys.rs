//! Untracked files that stay here because of their names: key material, and what agents keep of this machine in `.claude/`.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Files that are keys or passwords wherever they are.
const NAMES: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".credentials.json",
    "credentials.json",
];
/// Endings of such files.
const ENDINGS: &[&str] =
    &[".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".tfstate", ".tfvars"];
/// Directories in which everything is.
const DIRECTORIES: &[&str] = &[".aws", ".ssh", ".gnupg", ".azure", ".kube", ".docker", ".gcloud"];
/// Endings of `.env.…` that are patterns to fill in.
const PATTERNS: &[&str] = &[".example", ".sample", ".template", ".dist", ".defaults"];

/// Files that an agent keeps in `.claude/` for itself: records of this machine, and its user's own permissions.
const AGENTS_OWN: &[&str] = &[
    "runtime",
    "logs",
    "worktrees",
    "projects",
    "todos",
    "shell-snapshots",
    "session-env",
    "file-history",
    "statsig",
    "debug",
    "history.jsonl",
    "settings.local.json",
];

/// Reports whether a file of this name is key material.
pub(super) fn is_key(path: &Path) -> bool {
    let parts = || path.iter().map(|part| part.as_bytes().to_ascii_lowercase());
    let Some(name) = parts().next_back() else { return false };
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending.as_bytes()));
    let environment = (name == b".env" || name.starts_with(b".env.") || name == b".envrc") && !ends(PATTERNS);
    environment
        || ends(ENDINGS)
        || NAMES.iter().any(|known| name == known.as_bytes())
        || parts().any(|part| DIRECTORIES.iter().any(|known| part == known.as_bytes()))
}

/// Reports whether `path`, below the repository's root, is an agent's own record in `.claude/`.
pub(super) fn is_agents_own(path: &Path) -> bool {
    let mut parts = path.iter();
    parts.next().is_some_and(|part| part == ".claude")
        && parts.next().is_some_and(|part| AGENTS_OWN.iter().any(|known| part == *known))
        || path.starts_with(".claude") && path.extension().is_some_and(|ending| ending == "log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_their_names() {
        for key in [
            ".env",
            "a/.env.local",
            ".ENV",
            "x/server.PEM",
            "id_rsa",
            ".aws/credentials",
            "h/.ssh/config",
            "a.tfstate",
            ".envrc",
        ] {
            assert!(is_key(Path::new(key)), "{key}");
        }
        for other in [
            "",
            ".env.example",
            "environment.rs",
            "src/keys.rs",
            "id_rsa.pub",
            "pem",
            "monkey",
            "aws/x",
            ".environment",
        ] {
            assert!(!is_key(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn agents_own_records_are_those_in_dot_claude() {
        for own in [".claude/settings.local.json", ".claude/runtime/a", ".claude/logs/x/y", ".claude/a/b.log"]
        {
            assert!(is_agents_own(Path::new(own)), "{own}");
        }
        for other in
            [".claude/settings.json", ".claude/agents/logs/x.md", "runtime/a", "a.log", "x/.claude/logs"]
        {
            assert!(!is_agents_own(Path::new(other)), "{other}");
        }
    }
}
