//! Every change that an installation makes to a disk, one step at a time, so that a test can end it at each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use amplihack_launcher::installed::io_error;
use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};

use super::InstallError;

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
        Ok(self.begin_step().and_then(|()| change()).map_err(io_error(path, doing))?)
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

/// The directories that have to be made before `path` is one, outermost first.
pub(crate) fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> =
        path.ancestors().take_while(|path| !path.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}
