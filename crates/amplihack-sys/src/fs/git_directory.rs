//! Git's idea of a repository: a directory with a head, objects and references, or a file that leads to one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::read_regular;

/// Variable of git's: directories, separated by colons, into which and above which no repository is looked for from below.
pub const CEILING_VAR: &str = "GIT_CEILING_DIRECTORIES";

/// Bytes of the longest of git's files of one line.
const LONGEST: u64 = 8 << 10;

/// Meaning of something called `.git`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DotGit {
    /// The directory that holds it is the root of a work tree.
    Repository,
    /// Not a repository of git's, which looks on in the directory above.
    Nothing,
    /// A file that leads nowhere. Git looks no further, and refuses to work there.
    Broken,
}

impl DotGit {
    /// Looks at `path`, whose last part is `.git`.
    pub(super) fn inspect(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                if is_git_directory(path) {
                    Self::Repository
                } else {
                    Self::Nothing
                }
            }
            Ok(_) => {
                let named = line_of(path, b"gitdir:");
                let directory = named.map(|named| path.parent().unwrap_or(path).join(named));
                if directory.is_some_and(|path| is_git_directory(&path)) {
                    Self::Repository
                } else {
                    Self::Broken
                }
            }
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound) => Self::Nothing,
            Err(_) => Self::Broken,
        }
    }
}

/// Directories of git's that belong to a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitDirectories {
    /// The work tree's own.
    pub own: PathBuf,
    /// The repository's, with its objects and references: the same, but for additional work trees.
    pub common: PathBuf,
}

/// The directories of the work tree with the root `root`, without links; `None` if it has none, or if they do not belong to it: a file or a
/// link at `.git` may name any directory, and only those below the root, or that name this work tree themselves, are its own.
pub fn git_directories(root: &Path) -> Option<GitDirectories> {
    let dot_git = root.join(".git");
    let named = if dot_git.is_dir() { None } else { Some(line_of(&dot_git, b"gitdir:")?) };
    let own = named.map_or_else(|| dot_git.clone(), |named| root.join(named)).canonicalize().ok()?;
    let leads_back = || {
        let back = line_of(&own.join("gitdir"), b"").map(|back| own.join(back));
        back.and_then(|back| back.canonicalize().ok()) == dot_git.canonicalize().ok()
    };
    if !is_git_directory(&own) || !(own.starts_with(root) || leads_back()) {
        return None;
    }
    let common = match line_of(&own.join("commondir"), b"") {
        None => own.clone(),
        Some(common) => {
            let common = own.join(common).canonicalize().ok()?;
            // As `git worktree add` makes them.
            (own.parent() == Some(&common.join("worktrees"))).then_some(common)?
        }
    };
    Some(GitDirectories { own, common })
}

/// Reports whether git would work with `directory`.
fn is_git_directory(directory: &Path) -> bool {
    let common = line_of(&directory.join("commondir"), b"").map(|common| directory.join(common));
    let common = common.as_deref().unwrap_or(directory);
    is_head(&directory.join("HEAD")) && common.join("objects").is_dir() && common.join("refs").is_dir()
}

/// Reports whether `file` names a reference, or a commit.
fn is_head(file: &Path) -> bool {
    if let Ok(target) = std::fs::read_link(file) {
        return target.starts_with("refs");
    }
    let Ok(text) = read_regular(file, LONGEST) else { return false };
    match text.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count() >= 40,
    }
}

/// The path that a one-line file of git's holds after `prefix`.
fn line_of(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let bytes = read_regular(file, LONGEST).ok()?;
    let path = bytes.strip_prefix(prefix)?.trim_ascii();
    (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// The nearest directory of `ceilings`, as [`CEILING_VAR`] has them, above `start`, which has no links in its path. A walk from `start` does not look at it.
pub(super) fn find_ceiling(ceilings: Option<&OsStr>, start: &Path) -> Option<PathBuf> {
    let mut resolve = true;
    let mut nearest: Option<PathBuf> = None;
    for path in std::env::split_paths(ceilings?) {
        // As with git: behind an empty entry, paths are taken as they are, since looking at them may be slow.
        if path.as_os_str().is_empty() {
            resolve = false;
            continue;
        }
        if !path.is_absolute() {
            continue;
        }
        let path = if resolve { path.canonicalize().unwrap_or(path) } else { path };
        let is_above = start.starts_with(&path) && start != path;
        if is_above && nearest.as_ref().is_none_or(|nearest| path.starts_with(nearest)) {
            nearest = Some(path);
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;
    use crate::fs::find_repository_root;

    /// What git says of `directory`.
    fn git_root(directory: &Path, ceilings: Option<&OsStr>) -> Option<PathBuf> {
        let mut git = Command::new("git");
        git.args(["rev-parse", "--show-toplevel"])
            .current_dir(directory)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin");
        if let Some(ceilings) = ceilings {
            git.env(CEILING_VAR, ceilings);
        }
        let output = git.output().unwrap();
        let path = output.stdout.trim_ascii_end();
        output.status.success().then(|| PathBuf::from(OsStr::from_bytes(path)))
    }

    fn whole(git: &Path) {
        for part in ["objects", "refs"] {
            fs::create_dir_all(git.join(part)).unwrap();
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    /// Something called `.git`: its name, and what makes it.
    type Case<'a> = (&'a str, &'a dyn Fn(&Path));

    #[test]
    fn git_and_the_walk_find_the_same_root() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let outer = base.join("outer");
        whole(&outer.join(".git"));
        let cases: [Case<'_>; 14] = [
            ("nothing", &|_| ()),
            ("an empty directory", &|git| fs::create_dir(git).unwrap()),
            ("an empty file", &|git| fs::write(git, "").unwrap()),
            ("a text", &|git| fs::write(git, "hello\n").unwrap()),
            ("a file that leads nowhere", &|git| fs::write(git, "gitdir: nowhere\n").unwrap()),
            ("a dangling link", &|git| symlink("nowhere", git).unwrap()),
            ("a whole one", &whole),
            ("a link to one", &|git| symlink(outer.join(".git"), git).unwrap()),
            ("a file that leads to one", &|git| {
                fs::write(git, format!("gitdir: {}\n", outer.join(".git").display())).unwrap();
            }),
            ("a file with a relative path", &|git| fs::write(git, "gitdir: ../.git\n").unwrap()),
            ("no objects", &|git| {
                whole(git);
                fs::remove_dir(git.join("objects")).unwrap();
            }),
            ("no references", &|git| {
                whole(git);
                fs::remove_dir(git.join("refs")).unwrap();
            }),
            ("no head", &|git| {
                whole(git);
                fs::write(git.join("HEAD"), "main\n").unwrap();
            }),
            ("a commit as head", &|git| {
                whole(git);
                fs::write(git.join("HEAD"), "0123456789012345678901234567890123456789\n").unwrap();
            }),
        ];
        for (index, (name, make)) in cases.into_iter().enumerate() {
            let inner = outer.join(format!("case-{index}"));
            fs::create_dir_all(inner.join("a")).unwrap();
            make(&inner.join(".git"));
            let expected = git_root(&inner.join("a"), None);
            assert_eq!(find_repository_root(&inner.join("a"), None), expected, "{name}");
        }
    }

    #[test]
    fn a_ceiling_ends_the_walk_as_it_ends_that_of_git() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        whole(&base.join(".git"));
        let deep = base.join("a/b");
        fs::create_dir_all(&deep).unwrap();
        symlink(base.join("a"), base.join("link")).unwrap();
        let path = |name: &str| base.join(name).into_os_string();
        let joined = |names: &[&str]| {
            std::env::join_paths(
                names.iter().map(|name| if name.is_empty() { "".into() } else { path(name) }),
            )
            .unwrap()
        };
        for ceilings in [
            path(""),
            path("a"),
            path("a/b"),
            path("a/b/c"),
            path("link"),
            "a".into(),
            "".into(),
            joined(&["x", "a"]),
            joined(&["", "link"]),
            joined(&["", "a"]),
        ] {
            for start in [&deep, &base.join("a"), &base] {
                let expected = git_root(start, Some(&ceilings));
                assert_eq!(
                    find_repository_root(start, Some(&ceilings)),
                    expected,
                    "{start:?} below {ceilings:?}"
                );
            }
        }
    }
}
