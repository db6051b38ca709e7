//! Debian packages, installed for whoever asked for it.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::{Failure, shell, ui};

/// Another installation may be under way.
const PATIENT: &str = "-oDPkg::Lock::Timeout=400";
/// What Debian asks before a package starts its service.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Reports whether this process may install packages.
pub(crate) fn may_install() -> bool {
    is_root() && shell::find("apt-get").is_some()
}

/// Installs `packages`, without starting their services.
pub(crate) fn install(packages: &[&str]) -> Result<(), Failure> {
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    if !may_install() {
        return Err(format!(
            "{list} cannot be installed: that needs root and apt-get\n\
             hint: have it installed by `apt-get install {list}`, or by what your distribution has in its place"
        ));
    }
    ui::say(&format!("installing {list}"));
    let mut update = shell::program("apt-get");
    update.args(["update", "--quiet=2", PATIENT]);
    let mut install = shell::program("apt-get");
    install.args(["install", "--quiet=2", "--yes", "--no-install-recommends", PATIENT]).args(packages);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    let _policy = StartPolicy::of_no_starts(Path::new(POLICY));
    // The tests' own output starts on stdout; what apt prints goes to stderr with the other chores' words.
    shell::run(update.stdout(std::io::stderr()))?;
    shell::run(install.stdout(std::io::stderr()))
}

/// While it lives no package that is installed starts a service: tests start what they need, each its own.
struct StartPolicy {
    /// The file, unless the machine had one, which stays as it is.
    ours: Option<PathBuf>,
}

impl StartPolicy {
    fn of_no_starts(path: &Path) -> Self {
        let made = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path);
        let ours = made.and_then(|mut file| file.write_all(b"#!/bin/sh\nexit 101\n")).is_ok();
        Self { ours: ours.then(|| path.to_path_buf()) }
    }
}

impl Drop for StartPolicy {
    fn drop(&mut self) {
        if let Some(path) = &self.ours
            && let Err(error) = std::fs::remove_file(path)
        {
            ui::warn(&format!("{} keeps services from starting ({error}). Remove it.", path.display()));
        }
    }
}

/// Reports whether this is root.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_of_ours_goes_away_and_one_of_the_machine_stays() {
        let path = std::env::temp_dir().join(format!("policy-{}", std::process::id()));
        let first = StartPolicy::of_no_starts(&path);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "#!/bin/sh\nexit 101\n");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o755);
        drop(StartPolicy::of_no_starts(&path));
        assert!(path.exists());
        drop(first);
        assert!(!path.exists());
    }
}
