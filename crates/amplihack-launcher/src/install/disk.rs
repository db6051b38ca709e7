//! Every change that an installation makes to a disk, one step at a time, so that a test can end it at each.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};

use super::InstallError;

/// The largest settings file that is read.
const LIMIT: u64 = 16 * 1024 * 1024;

/// Changes to a disk.
#[derive(Default)]
pub(crate) struct InstallDisk {
    /// Asked before each step. A test lets the power go there.
    before: Option<Box<dyn Fn() -> io::Result<()>>>,
}

impl InstallDisk {
    /// A disk that asks `before` each step whether there is one.
    #[cfg(test)]
    pub(crate) fn watched(before: impl Fn() -> io::Result<()> + 'static) -> Self {
        Self { before: Some(Box::new(before)) }
    }

    fn begin_step(&self) -> io::Result<()> {
        self.before.as_ref().map_or(Ok(()), |before| before())
    }

    fn make_change(
        &self,
        path: &Path,
        doing: &'static str,
        change: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), InstallError> {
        self.begin_step().and_then(|()| change()).map_err(io_error(path, doing))
    }

    /// Makes a directory and what is missing above it, with the usual permissions.
    pub(crate) fn make_dir(&self, path: &Path) -> Result<(), InstallError> {
        for missing in missing_directories(path) {
            self.make_change(&missing, "could not be made", || match fs::create_dir(&missing) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                made => made,
            })?;
        }
        Ok(())
    }

    /// Makes a directory and what is missing above it, for this user only.
    pub(crate) fn make_private_dir(&self, path: &Path) -> Result<(), InstallError> {
        self.make_change(path, "could not be made", || create_private_dir(path))
    }

    /// Writes a file whole. Its directory has to be there.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<(), InstallError> {
        self.make_change(path, "could not be written", || {
            write_atomic(path, bytes, mode, WriteDurability::Machine)
        })
    }

    /// Gives a file another name in its directory, whatever it is; a file of that name is replaced.
    pub(crate) fn rename_file(&self, from: &Path, to: &Path) -> Result<(), InstallError> {
        self.make_change(from, "could not be renamed", || fs::rename(from, to))
    }

    /// Removes a file that may be gone already.
    pub(crate) fn remove(&self, path: &Path) -> Result<(), InstallError> {
        self.make_change(path, "could not be removed", || ignore_missing(fs::remove_file(path)))
    }

    /// Removes a directory if nothing is in it.
    pub(crate) fn remove_empty(&self, path: &Path) -> Result<(), InstallError> {
        self.make_change(path, "could not be removed", || match ignore_missing(fs::remove_dir(path)) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed,
        })
    }
}

fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn io_error(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::Io { path, doing, source }
}

/// The directories that have to be made before `path` is one, outermost first.
pub(crate) fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> =
        path.ancestors().take_while(|path| !path.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// The file behind links: users keep their settings elsewhere and link to them.
pub(crate) fn behind_links(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A file's bytes and permissions; `None` if there is no file.
pub(crate) fn read_file(path: &Path) -> Result<Option<(Vec<u8>, u32)>, InstallError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(path, "could not be read")(error)),
    };
    let bytes = amplihack_sys::fs::read_regular(path, LIMIT).map_err(io_error(path, "could not be read"))?;
    Ok(Some((bytes, metadata.permissions().mode() & 0o7777)))
}

/// Reads a file as text; `None` if there is no file.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, InstallError> {
    let Some((bytes, _)) = read_file(path)? else { return Ok(None) };
    decode_text(path, bytes).map(Some)
}

pub(crate) fn decode_text(path: &Path, bytes: Vec<u8>) -> Result<String, InstallError> {
    String::from_utf8(bytes)
        .map_err(|_| io_error(path, "could not be read")(io::Error::other("it is not UTF-8")))
}
