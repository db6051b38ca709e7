//! The real agent CLIs, pinned in `agents/package-lock.json`: native packages where there are any, install scripts off; Gemini alone runs
//! on Node. `agents/bin`, tracked, links to their programs.

use std::fs;
use std::path::Path;

use crate::{Failure, shell, ui};

/// Copy of the lock file that an install was made from; it lies in `node_modules`, so it goes away with it.
const STAMP: &str = ".installed-from-lock";

/// `cargo xtask agents`: installs the agents, and says where they are found.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if let Some(word) = args.first() {
        return Err(format!("cannot read {word:?}; try: cargo xtask agents"));
    }
    install()?;
    ui::say("agents/bin has claude, codex, copilot, gemini and amp; to use them: PATH=$PWD/agents/bin:$PATH");
    Ok(())
}

/// Installs the agents into `agents/node_modules`, if they are missing or do not match the lock file.
///
/// # Errors
/// They cannot be installed here.
pub(crate) fn install() -> Result<(), Failure> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("the lock file holds packages for Linux on x86_64 only".to_owned());
    }
    let directory = shell::root().join("agents");
    let modules = directory.join("node_modules");
    if modules.is_symlink() {
        ui::say("agents/node_modules is a link; it is used as it is");
        return Ok(());
    }
    let lock = read(&directory.join("package-lock.json"))?;
    let stamp = modules.join(STAMP);
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    if shell::find("npm").is_none() {
        return Err("npm is missing; install it with `apt-get install npm`".to_owned());
    }
    ui::say("installing the real agent CLIs (about 600 MB, once for each lock file)");
    let mut npm = shell::program("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--cache"]);
    // The home is the user's; what npm keeps goes away with what cargo keeps.
    npm.arg(shell::target().join("npm-cache"));
    shell::run(npm.current_dir(&directory).stdout(std::io::stderr()))?;
    fs::write(&stamp, lock).map_err(|error| format!("failed to write {}: {error}", stamp.display()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("failed to read {}: {error}", path.display()))
}
