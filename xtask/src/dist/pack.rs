//! Sums and archives of a release, the same bytes for the same contents.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::{Failure, shell};

const SUMS: &str = "SHA256SUMS";

/// Gives every file of the folder its mode, and lists the sums of all of them in it.
pub(crate) fn seal(folder: &Path) -> Result<(), Failure> {
    let mut files = Vec::new();
    walk(folder, folder, &mut files)?;
    files.sort();
    for file in &files {
        let program = file.starts_with("bin/") || file == "install.sh";
        mode(&folder.join(file), if program { 0o755 } else { 0o644 })?;
    }
    sums(folder, &files)
}

/// Lists the sums of what is to be downloaded from `out`: the installer, and every archive of this version.
pub(crate) fn list(out: &Path, version: &str, installer: &str) -> Result<(), Failure> {
    let mut files = vec![installer.to_owned()];
    for name in names(out)? {
        if name.starts_with(&format!("amplihack-{version}-")) && name.ends_with(".tar.gz") {
            files.push(name);
        }
    }
    files.sort();
    sums(out, &files)
}

/// Packs the folder `name` of `out`. Order, owners and times are settled, so that the same folder gives the same archive.
pub(crate) fn archive(out: &Path, name: &str) -> Result<PathBuf, Failure> {
    let path = out.join(format!("{name}.tar.gz"));
    let mut tar = shell::program("tar");
    tar.arg("--create").arg("--directory").arg(out).arg("--file").arg(&path);
    tar.args(["--use-compress-program=gzip -n -9", "--format=gnu", "--sort=name", "--numeric-owner"]);
    tar.args(["--owner=0", "--group=0", &format!("--mtime=@{}", time()), name]);
    shell::run(&mut tar)?;
    Ok(path)
}

/// When the sources were what they are: what `SOURCE_DATE_EPOCH` says, else the last commit, in seconds.
fn time() -> u64 {
    let given = shell::variable("SOURCE_DATE_EPOCH").and_then(|text| text.into_string().ok());
    let mut git = shell::program("git");
    git.args(["-c", "safe.directory=*", "log", "-1", "--format=%ct"]);
    given.or_else(|| shell::read(&mut git).ok()).and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

fn sums(folder: &Path, files: &[String]) -> Result<(), Failure> {
    let mut command = shell::program("sha256sum");
    let text = shell::read(command.current_dir(folder).arg("--").args(files))?;
    let path = folder.join(SUMS);
    fs::write(&path, text).map_err(|error| format!("failed to write {}: {error}", path.display()))?;
    mode(&path, 0o644)
}

fn mode(path: &Path, mode: u32) -> Result<(), Failure> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(|error| format!("failed to change the mode of {}: {error}", path.display()))
}

/// Every file below `directory`, as a path from `root`; directories get their mode.
fn walk(root: &Path, directory: &Path, files: &mut Vec<String>) -> Result<(), Failure> {
    mode(directory, 0o755)?;
    for name in names(directory)? {
        let path = directory.join(name);
        if path.is_dir() {
            walk(root, &path, files)?;
        } else {
            let below = path.strip_prefix(root).unwrap_or(&path);
            files.push(below.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

fn names(directory: &Path) -> Result<Vec<String>, Failure> {
    let failed = |error| format!("failed to list {}: {error}", directory.display());
    let entries = fs::read_dir(directory).map_err(failed)?;
    entries.map(|entry| Ok(entry.map_err(failed)?.file_name().to_string_lossy().into_owned())).collect()
}
