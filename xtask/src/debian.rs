//! The Debian packages that the tests need, installed when they are missing and this is root.

use std::os::unix::fs::MetadataExt;

use crate::{shell, ui};

/// A program and the package that brings it.
const NEEDED: &[(&str, &str)] = &[
    ("git", "git"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("ssh", "openssh-client"),
    ("sshd", "openssh-server"),
    ("strace", "strace"),
    ("tmux", "tmux"),
    ("unshare", "util-linux"),
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
    update.args(["update", "--quiet=2"]);
    let mut install = shell::program("apt-get");
    install.args(["install", "--quiet=2", "--yes", "--no-install-recommends"]).args(packages);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    // The tests' own output starts on stdout; what apt says goes to stderr with the other chores' words.
    let done = shell::run(update.stdout(std::io::stderr()))
        .and_then(|()| shell::run(install.stdout(std::io::stderr())));
    if let Err(error) = &done {
        ui::warn(&format!("MISSING: {list} ({error}). Tests that need it are skipped, loudly."));
    }
    done.is_ok()
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
