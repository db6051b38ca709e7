//! A temporary directory as strangers have it: below a stray `.git`, beside a repository and files of others, far from home.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::selection::{TestKind, TestSelection};
use crate::{Failure, debian};

/// Tests that are run a second time there: those of the crates that look for repositories, and of the odd places themselves.
pub(crate) const SELECTIONS: &[TestSelection] = &[
    TestSelection {
        packages: &[
            "amplihack-sys",
            "amplihack-config",
            "amplihack-hooks",
            "amplihack-recipe",
            "amplihack-launcher",
            "amplihack-setup",
        ],
        kind: TestKind::Unit,
        modules: &[],
    },
    TestSelection {
        packages: &["amplihack-cli"],
        kind: TestKind::Integration,
        modules: &["odd_places", "config", "launch"],
    },
];

/// The directory, which goes away with this value.
pub(crate) struct OddPlace(PathBuf);

impl OddPlace {
    /// Makes one in the temporary directory.
    pub(crate) fn create() -> Result<Self, Failure> {
        let root = std::env::temp_dir().join(format!("odd-{}", std::process::id()));
        let failed = |error: std::io::Error| format!("failed to make {}: {error}", root.display());
        fill(&root).map_err(failed)?;
        Ok(Self(root))
    }

    /// Has `command` run there, in another language and time zone.
    pub(crate) fn surround(&self, command: &mut Command) {
        command.env("TMPDIR", self.0.join("tmp"));
        command.env("LANG", "tr_TR.UTF-8").env("LC_ALL", "tr_TR.UTF-8").env("TZ", "Pacific/Apia");
    }
}

impl Drop for OddPlace {
    fn drop(&mut self) {
        // What stays behind is below the temporary directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A repository with a file that was not committed, in it an empty `.git`, and below that the directory for temporary files.
fn fill(root: &Path) -> std::io::Result<()> {
    for part in ["objects", "refs"] {
        fs::create_dir_all(root.join(".git").join(part))?;
    }
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n")?;
    fs::create_dir_all(root.join("tmp/.git"))?;
    let private = root.join("tmp/private");
    fs::create_dir(&private)?;
    fs::set_permissions(&private, PermissionsExt::from_mode(0o700))?;
    if debian::is_root() {
        chown(&private, Some(12345), Some(12345))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_goes_away_whole() {
        let place = OddPlace::create().unwrap();
        let root = place.0.clone();
        let mut command = Command::new("env");
        place.surround(&mut command);
        let temporary = command.get_envs().find(|(name, _)| *name == "TMPDIR").and_then(|(_, value)| value);
        assert!(Path::new(temporary.unwrap()).join(".git").is_dir() && root.join(".git/HEAD").is_file());
        drop(place);
        assert!(!root.exists());
    }
}
