//! Files that git ignores and that the repository wants in each worktree: `.worktreeinclude` and its like.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use crate::error::AutoError;
use crate::process::RunProcesses;

/// The file in a repository's top that lists them, a pattern a line, as in `.gitignore`.
pub const INCLUDE_FILE: &str = ".worktreeinclude";
/// The longest such file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Files that were copied, and files that were not, with the reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct IncludeReport {
    pub(super) files: Vec<PathBuf>,
    pub(super) skipped: Vec<(PathBuf, String)>,
}

/// The patterns of the repository at `root`, and `more`.
pub(super) fn include_patterns(root: &Path, more: &[String]) -> Result<String, AutoError> {
    let file = root.join(INCLUDE_FILE);
    let mut text = match amplihack_sys::fs::read_regular(&file, LONGEST) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(AutoError::File { path: file, source }),
    };
    for pattern in more {
        text.push('\n');
        text.push_str(pattern);
    }
    Ok(text)
}

/// The files below `root` that are not tracked and match one of `patterns`. git is the reader of its own patterns.
pub(super) async fn matching_files(
    processes: &RunProcesses,
    root: &Path,
    patterns: &str,
    scratch: &Path,
) -> Result<Vec<PathBuf>, AutoError> {
    if patterns.trim().is_empty() {
        return Ok(Vec::new());
    }
    let file = scratch.join("include");
    fs::write(&file, patterns).map_err(AutoError::for_path(&file))?;
    let mut from = OsString::from("--exclude-from=");
    from.push(&file);
    let args: [&OsStr; 5] =
        ["ls-files".as_ref(), "-z".as_ref(), "--others".as_ref(), "--ignored".as_ref(), &from];
    let listed = processes.run_git("list files to copy", root, &[], args).await;
    // Nobody needs it any more.
    let _ = fs::remove_file(&file);
    Ok(split_paths(&listed?))
}

/// The paths of an answer in which each ends with a zero byte.
pub(super) fn split_paths(answer: &[u8]) -> Vec<PathBuf> {
    let path = |name: &[u8]| PathBuf::from(OsString::from_vec(name.to_vec()));
    answer.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(path).collect()
}

/// Copies those of `wanted` that git ignores from the repository at `from` into the worktree at `to`. `ignored` are the files and
/// directories that git ignores as a whole. Between two files it ends as soon as it `is_over`.
pub(super) fn copy_files(
    from: &Path,
    to: &Path,
    wanted: Vec<PathBuf>,
    ignored: &[PathBuf],
    is_over: &dyn Fn() -> bool,
) -> IncludeReport {
    let ignored: HashSet<&Path> = ignored.iter().map(PathBuf::as_path).collect();
    let mut copied = IncludeReport::default();
    for path in wanted {
        if is_over() {
            break;
        }
        if !path.ancestors().any(|part| ignored.contains(part)) {
            continue;
        }
        match copy_one(from, to, &path) {
            Ok(()) => copied.files.push(path),
            // A tracked file of that name is newer by definition.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => copied.skipped.push((path, error.to_string())),
        }
    }
    copied
}

fn copy_one(from: &Path, to: &Path, path: &Path) -> io::Result<()> {
    let other = |why: &str| io::Error::other(why.to_owned());
    let plain = path.components().all(|part| matches!(part, Component::Normal(name) if name != ".git"));
    if !plain || path.as_os_str().is_empty() {
        return Err(other("it is no file of the repository"));
    }
    let (source, target) = (from.join(path), to.join(path));
    let kind = fs::symlink_metadata(&source)?.file_type();
    if kind.is_dir() {
        return Err(other("it is a repository of its own"));
    }
    make_parents(to, path)?;
    if kind.is_symlink() {
        let link = fs::read_link(&source)?;
        if !stays_inside(path, &link) {
            return Err(other("it leads out of the repository"));
        }
        return symlink(link, target);
    }
    if !kind.is_file() {
        return Err(other("it is no regular file"));
    }
    // What became a link in the meantime is not followed, and a pipe is not waited for.
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let mut source = OpenOptions::new().read(true).custom_flags(flags).open(source)?;
    let opened = source.metadata()?;
    if !opened.is_file() {
        return Err(other("it is no regular file"));
    }
    let mode = opened.permissions().mode() & 0o777;
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(mode).open(&target)?;
    io::copy(&mut source, &mut file).map(drop).inspect_err(|_| {
        // A part is worse than nothing.
        let _ = fs::remove_file(&target);
    })
}

/// Makes the directories above `path` below `root`. One that is a link is not followed: it may lead anywhere.
fn make_parents(root: &Path, path: &Path) -> io::Result<()> {
    let mut place = root.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        place.push(part);
        match fs::symlink_metadata(&place) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                return Err(io::Error::other(format!("{} is no directory in the worktree", place.display())));
            }
            Err(_) => DirBuilder::new().mode(0o777).create(&place)?,
        }
    }
    Ok(())
}

/// Reports whether a link at `path` that says `link` leads to something below the same root, by its text.
fn stays_inside(path: &Path, link: &Path) -> bool {
    let mut depth = path.components().count().saturating_sub(1);
    link.components().all(|part| match part {
        Component::Normal(name) => {
            depth += 1;
            name != ".git"
        }
        Component::CurDir => true,
        Component::ParentDir if depth > 0 => {
            depth -= 1;
            true
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(from: &Path, to: &Path, wanted: &[&str], ignored: &[&str]) -> IncludeReport {
        let owned = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        copy_files(from, to, owned(wanted), &owned(ignored), &|| false)
    }

    #[test]
    fn ignored_files_are_copied_with_their_mode_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("r"), dir.path().join("w"));
        for place in [from.join("a/b"), from.join("inner/.git"), to.clone()] {
            fs::create_dir_all(place).unwrap();
        }
        for (name, mode) in [(".env", 0o600), ("a/b/run", 0o755), ("open", 0o644), ("there", 0o644)] {
            fs::write(from.join(name), name).unwrap();
            fs::set_permissions(from.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::write(to.join("there"), "tracked").unwrap();
        let wanted = [".env", "a/b/run", "open", "there", "inner", "missing", "../out", ".git/config"];
        let found = copied(&from, &to, &wanted, &[".env", "a", "there", "inner", "missing", "..", ".git"]);
        assert_eq!(found.files, [Path::new(".env"), Path::new("a/b/run")]);
        let skipped: Vec<&Path> = found.skipped.iter().map(|(path, _)| path.as_path()).collect();
        assert_eq!(skipped, ["inner", "missing", "../out", ".git/config"].map(Path::new));
        for (name, mode) in [(".env", 0o600), ("a/b/run", 0o755)] {
            assert_eq!(fs::read_to_string(to.join(name)).unwrap(), name);
            assert_eq!(fs::metadata(to.join(name)).unwrap().permissions().mode() & 0o777, mode, "{name}");
        }
        assert_eq!(fs::read_to_string(to.join("there")).unwrap(), "tracked");
        assert!(!to.join("open").exists(), "git does not ignore it");
    }

    #[test]
    fn no_file_is_copied_once_it_is_over() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("r"), dir.path().join("w"));
        fs::create_dir_all(&from).unwrap();
        fs::create_dir_all(&to).unwrap();
        let names = ["a", "b", "c"].map(PathBuf::from);
        for name in &names {
            fs::write(from.join(name), "x").unwrap();
        }
        let found = copy_files(&from, &to, names.to_vec(), &names, &|| to.join("b").exists());
        assert_eq!(found.files, names[..2]);
        assert!(!to.join("c").exists());
    }

    #[test]
    fn links_lead_nowhere_out() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to, out) = (dir.path().join("r"), dir.path().join("w"), dir.path().join("out"));
        for place in [&from.join("a"), &to, &out] {
            fs::create_dir_all(place).unwrap();
        }
        for (name, link) in [
            ("in", "a/x"),
            ("a/up", "../in"),
            ("far", "/etc/passwd"),
            ("a/out", "../../out"),
            ("git", ".git/config"),
        ] {
            symlink(link, from.join(name)).unwrap();
        }
        fs::create_dir(from.join("conf")).unwrap();
        fs::write(from.join("conf/secret"), "s").unwrap();
        // In the commit that the worktree began with, it is a link out.
        symlink(&out, to.join("conf")).unwrap();
        let wanted = ["in", "a/up", "far", "a/out", "git", "conf/secret"];
        let found = copied(&from, &to, &wanted, &wanted);
        assert_eq!(found.files, [Path::new("in"), Path::new("a/up")]);
        assert_eq!(fs::read_link(to.join("a/up")).unwrap(), Path::new("../in"));
        assert_eq!(found.skipped.len(), 4);
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    }
}
