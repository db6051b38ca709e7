//! Files that git does not carry: work that is not committed, and the repository's `.claude/` where it is not tracked.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2, readlinkat};

use super::keys;
use super::repository::PackageRepository;
use crate::error::ErrorContext;
use crate::git;

/// More files than this in `.claude/` are not what an agent is set up with.
const MOST_FILES: usize = 20_000;
/// The most that is kept of git's list of changes.
const LIST: usize = 512 * 1024 * 1024;

/// Something that was not taken along.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// The file, below the repository's root.
    pub path: PathBuf,
    /// The reason, as a fragment.
    pub why: &'static str,
}

/// Kind of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PackageFileKind {
    /// A regular file, with its permissions.
    File(u32),
    /// A symbolic link, with where it leads to.
    Link(OsString),
    Directory,
    /// A pipe, a socket, a device.
    Special,
}

/// The files for the archive.
#[derive(Default)]
pub(super) struct ExtraFiles {
    pub files: BTreeMap<PathBuf, PackageFileKind>,
    /// Paths that are removed before the files are unpacked.
    pub deleted: BTreeSet<PathBuf>,
    pub left_out: BTreeSet<LeftOut>,
}

/// Files below one directory, reached by no symbolic link.
pub(super) struct PackageRoot(OwnedFd);

impl PackageRoot {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// `None`: there is nothing at that path.
    fn inspect_path(&self, path: &Path) -> io::Result<Option<PackageFileKind>> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat2(&self.0, path, flags, Mode::empty(), BELOW) {
            Ok(file) => file,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let mode = fstat(&file)?.st_mode;
        Ok(Some(match FileType::from_raw_mode(mode) {
            FileType::RegularFile => PackageFileKind::File(mode & 0o755),
            FileType::Symlink => {
                PackageFileKind::Link(OsString::from_vec(readlinkat(&file, "", Vec::new())?.into_bytes()))
            }
            FileType::Directory => PackageFileKind::Directory,
            _ => PackageFileKind::Special,
        }))
    }

    /// A regular file for reading.
    pub(super) fn read(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat2(&self.0, path, flags, Mode::empty(), BELOW)?;
        if FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::RegularFile {
            Ok(file.into())
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file any more"))
        }
    }

    /// Adds what is at `path`, if it is there and may be sent.
    fn add_file(&self, path: PathBuf, extra: &mut ExtraFiles) -> io::Result<bool> {
        match self.inspect_path(&path)? {
            Some(kind @ (PackageFileKind::File(_) | PackageFileKind::Link(_))) => {
                extra.files.insert(path, kind);
                Ok(true)
            }
            Some(PackageFileKind::Special) => {
                extra.left_out.insert(LeftOut { path, why: "neither a file nor a link" });
                Ok(true)
            }
            Some(PackageFileKind::Directory) | None => Ok(false),
        }
    }

    /// The path to remove for a tracked file that is gone: itself, or what stands where its directory was.
    fn removal_path(&self, path: &Path) -> io::Result<PathBuf> {
        let mut above: Vec<&Path> =
            path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        above.reverse();
        for directory in above {
            match self.inspect_path(directory)? {
                Some(PackageFileKind::Directory) => {}
                Some(_) => return Ok(directory.to_owned()),
                None => break,
            }
        }
        Ok(path.to_owned())
    }
}

const BELOW: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// Gathers the files that git does not carry. `keys` are files that are sent although their names say that they are key material.
pub(super) async fn gather_extra(
    repository: &PackageRepository,
    dirty: bool,
    keys: &[PathBuf],
) -> Result<ExtraFiles, ErrorContext> {
    let mut extra = ExtraFiles::default();
    let Some(top) = &repository.root else { return Ok(extra) };
    let failed =
        |error: io::Error| ErrorContext::new(format!("{} could not be looked at: {error}", top.display()));
    let root = PackageRoot::open(top).map_err(failed)?;
    let mut untracked = BTreeSet::new();
    if dirty {
        add_changed(repository, &root, &mut extra, &mut untracked).await?;
    }
    let tracked = list_tracked(repository, &mut extra).await?;
    if let Ok(Some(kind)) = root.inspect_path(Path::new(".claude")) {
        if kind == PackageFileKind::Directory {
            let mut found = BTreeSet::new();
            walk_directory(top, Path::new(".claude"), &mut found, &mut extra.left_out).map_err(failed)?;
            untracked.extend(found.into_iter().filter(|path| !tracked.contains(path)));
        } else if !tracked.contains(Path::new(".claude")) {
            untracked.insert(PathBuf::from(".claude"));
        }
    }
    for path in untracked {
        if keys::is_agents_own(&path) {
            extra.left_out.insert(LeftOut { path, why: "an agent's own record of this machine" });
        } else if keys::is_key(&path) && !keys.contains(&path) {
            extra.left_out.insert(LeftOut { path, why: "key material by its name" });
        } else {
            root.add_file(path, &mut extra).map_err(failed)?;
        }
    }
    Ok(extra)
}

/// Takes tracked files that differ from HEAD, and collects untracked ones.
async fn add_changed(
    repository: &PackageRepository,
    root: &PackageRoot,
    extra: &mut ExtraFiles,
    untracked: &mut BTreeSet<PathBuf>,
) -> Result<(), ErrorContext> {
    let arguments = [
        "status",
        "--porcelain=v2",
        "-z",
        "--untracked-files=all",
        "--no-renames",
        "--ignore-submodules=all",
    ];
    let said =
        repository.git.run_with_stdin("list what is not committed", arguments, Vec::new(), LIST).await?;
    for entry in said.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
        let path =
            |fields: usize| entry.splitn(fields + 1, |&byte| byte == b' ').nth(fields).map(git::path_of);
        let (path, head) = match entry[0] {
            b'1' => (path(8), entry.split(|&byte| byte == b' ').nth(3)),
            b'u' => (path(10), entry.split(|&byte| byte == b' ').nth(4)),
            b'?' => {
                if let Some(path) = path(1) {
                    if entry.ends_with(b"/") {
                        extra.left_out.insert(LeftOut { path, why: "a repository of its own" });
                    } else {
                        untracked.insert(path);
                    }
                }
                continue;
            }
            _ => continue,
        };
        let (Some(path), Some(head)) = (path, head) else { continue };
        let failed = |error: io::Error| {
            ErrorContext::new(format!("{} could not be looked at: {error}", path.display()))
        };
        let there = root.add_file(path.clone(), extra).map_err(failed)?;
        let was_file = head.starts_with(b"100");
        let is_file = matches!(extra.files.get(&path), Some(PackageFileKind::File(_)));
        // Nothing is written through a link that was there, and no file over a directory.
        if head != b"000000" && (!there || was_file != is_file) {
            extra.deleted.insert(root.removal_path(&path).map_err(failed)?);
        }
    }
    Ok(())
}

/// The tracked files in `.claude/`. Submodules, whose content is not sent, are named on the way.
async fn list_tracked(
    repository: &PackageRepository,
    extra: &mut ExtraFiles,
) -> Result<BTreeSet<PathBuf>, ErrorContext> {
    let said = repository
        .git
        .run_with_stdin("list tracked files", ["ls-files", "-z", "--stage"], Vec::new(), LIST)
        .await?;
    let mut tracked = BTreeSet::new();
    for entry in said.split(|&byte| byte == 0) {
        let Some(tab) = entry.iter().position(|&byte| byte == b'\t') else { continue };
        let name = &entry[tab + 1..];
        if entry.starts_with(b"160000") {
            extra.left_out.insert(LeftOut { path: git::path_of(name), why: "a submodule" });
        } else if name == b".claude" || name.starts_with(b".claude/") {
            tracked.insert(git::path_of(name));
        }
    }
    Ok(tracked)
}

/// The files below a directory; repositories in it are left out whole, and so is what is an agent's own.
fn walk_directory(
    top: &Path,
    directory: &Path,
    found: &mut BTreeSet<PathBuf>,
    left_out: &mut BTreeSet<LeftOut>,
) -> io::Result<()> {
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        if std::fs::symlink_metadata(top.join(&directory).join(".git")).is_ok() {
            left_out.insert(LeftOut { path: directory, why: "a repository of its own" });
            continue;
        }
        for entry in std::fs::read_dir(top.join(&directory))? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            if keys::is_agents_own(&path) {
                left_out.insert(LeftOut { path, why: "an agent's own record of this machine" });
            } else if entry.file_type()?.is_dir() {
                open.push(path);
            } else {
                found.insert(path);
            }
        }
        if found.len() + open.len() > MOST_FILES {
            let message = format!("more than {MOST_FILES} files in {}", directory.display());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
    }
    Ok(())
}
