//! The Debian packages that the tests need, installed when they are missing and this is root.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::{shell, ui};

/// Another installation may be under way.
const PATIENT: &str = "-oDPkg::Lock::Timeout=400";
/// What Debian asks before a package starts its service.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// A program and the package that brings it.
const NEEDED: &[(&str, &str)] = &[
    ("fish", "fish"),
    ("git", "git"),
    ("ip", "iproute2"),
    ("munged", "munge"),
    ("nsenter", "util-linux"),
    ("sbatch", "slurm-client"),
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("ssh", "openssh-client"),
    ("sshd", "openssh-server"),
    ("strace", "strace"),
    ("tmux", "tmux"),
    ("unshare", "util-linux"),
    ("zsh", "zsh"),
];

/// A browser that looks at pages, and the package that brings it; not every distribution has it, so it is asked for alone.
const BROWSER: (&str, &str) = ("chromium-headless-shell", "chromium-headless-shell");

/// Installs what is missing. What cannot be installed is said; the tests that need it say so too.
pub(crate) fn ensure() {
    let mut missing: Vec<&str> = NEEDED
        .iter()
        .filter(|(program, _)| shell::find(program).is_none())
        .map(|(_, package)| *package)
        .collect();
    missing.sort_unstable();
    missing.dedup();
    install(&missing);
    if shell::find(BROWSER.0).is_none() {
        install(&[BROWSER.1]);
    }
}

/// Installs `packages`. Returns whether that worked.
pub(crate) fn install(packages: &[&str]) -> bool {
    if packages.is_empty() {
        return true;
    }
    let list = packages.join(" ");
    if shell::find("apt-get").is_none() || !is_root() {
        ui::warn(&format!(
            "MISSING: {list}. Tests that need it are skipped, loudly. Install it: apt-get install {list}"
        ));
        return false;
    }
    ui::say(&format!("installing {list}"));
    let mut update = shell::program("apt-get");
    update.args(["update", "--quiet=2", PATIENT]);
    let mut install = shell::program("apt-get");
    install.args(["install", "--quiet=2", "--yes", "--no-install-recommends", PATIENT]).args(packages);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    let policy = Policy::of_no_starts(Path::new(POLICY));
    // The tests' own output starts on stdout; what apt says goes to stderr with the other chores' words.
    let done = shell::run(update.stdout(std::io::stderr()))
        .and_then(|()| shell::run(install.stdout(std::io::stderr())));
    drop(policy);
    if let Err(error) = &done {
        ui::warn(&format!("MISSING: {list} ({error}). Tests that need it are skipped, loudly."));
    }
    done.is_ok()
}

/// While it lives no package that is installed starts a service: tests start what they need, each its own.
struct Policy {
    /// The file, unless the machine had one, which stays as it is.
    ours: Option<PathBuf>,
}

impl Policy {
    fn of_no_starts(path: &Path) -> Self {
        let made = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path);
        let ours = made.and_then(|mut file| file.write_all(b"#!/bin/sh\nexit 101\n")).is_ok();
        Self { ours: ours.then(|| path.to_path_buf()) }
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        if let Some(path) = &self.ours
            && let Err(error) = std::fs::remove_file(path)
        {
            ui::warn(&format!("{} keeps services from starting ({error}). Remove it.", path.display()));
        }
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_of_ours_goes_away_and_one_of_the_machine_stays() {
        let path = std::env::temp_dir().join(format!("policy-{}", std::process::id()));
        let first = Policy::of_no_starts(&path);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "#!/bin/sh\nexit 101\n");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o755);
        drop(Policy::of_no_starts(&path));
        assert!(path.exists());
        drop(first);
        assert!(!path.exists());
    }
}
