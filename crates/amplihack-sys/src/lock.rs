//! Files that one process at a time holds.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::ErrorExplanation;

/// Between two tries, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(10));

/// An exclusive lock on a file, given back on drop. The system gives it back too when the process dies.
///
/// It holds between handles, in one process as between processes, and only against those that ask for it.
#[derive(Debug)]
#[must_use = "dropping it gives the lock back"]
pub struct FileLock {
    file: File,
}

/// A lock that was not had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Someone else holds it.
    #[error(
        "{} is still locked by another process after {} ms; wait for it to end and try again",
        path.display(),
        waited.as_millis()
    )]
    Busy {
        /// The locked file.
        path: PathBuf,
        /// Time for which the lock was tried.
        waited: Duration,
    },
    /// The file cannot be opened or locked.
    #[error("lock file {}: {source}; check that its directory exists and can be written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl ErrorExplanation for LockError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "lock_busy",
            Self::Io { .. } => "lock_io",
        }
    }
}

impl FileLock {
    /// Waits at most `timeout` for the lock on `path`; zero tries once. The file is made with mode 0600 if it is
    /// missing, and stays when the lock is given back; its contents are nobody's business.
    pub fn acquire(path: &Path, timeout: Duration) -> Result<Self, LockError> {
        let io = |source| LockError::Io { path: path.to_owned(), source };
        let started = Instant::now();
        loop {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(path)
                .map_err(io)?;
            lock_within(&file, path, timeout.saturating_sub(started.elapsed()))?;
            let lock = Self { file };
            if lock.is_at(path).map_err(io)? {
                return Ok(lock);
            }
            // The file was removed or replaced before we had it: others meet at the new one.
        }
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let held = self.file.metadata()?;
        match std::fs::metadata(path) {
            Ok(there) => Ok((there.dev(), there.ino()) == (held.dev(), held.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing is not enough: a child between fork and exec may hold a copy of the descriptor.
        let _ = self.file.unlock();
    }
}

/// Takes the exclusive lock on `file`, which is at `path`, within `timeout`.
pub fn lock_within(file: &File, path: &Path, timeout: Duration) -> Result<(), LockError> {
    let started = Instant::now();
    let mut pause = PAUSE.0;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(source)) => return Err(LockError::Io { path: path.to_owned(), source }),
            Err(TryLockError::WouldBlock) => {}
        }
        let waited = started.elapsed();
        let left = timeout.saturating_sub(waited);
        if left.is_zero() {
            return Err(LockError::Busy { path: path.to_owned(), waited });
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(PAUSE.1);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_held_lock_ends_in_an_error_that_names_the_file_and_a_dropped_one_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.lock");
        let lock = FileLock::acquire(&path, Duration::ZERO).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        for timeout in [Duration::ZERO, Duration::from_millis(40)] {
            let started = Instant::now();
            let error = FileLock::acquire(&path, timeout).unwrap_err();
            assert!(
                matches!(&error, LockError::Busy { path: named, waited } if *named == path && *waited >= timeout)
            );
            assert!(started.elapsed() < LONG);
            assert_eq!(error.kind(), "lock_busy");
            assert!(error.to_string().starts_with(&format!("{} is still locked", path.display())), "{error}");
        }
        drop(lock);
        drop(FileLock::acquire(&path, Duration::ZERO).unwrap());
        assert!(path.exists());
    }

    #[test]
    fn a_waiter_gets_it_as_soon_as_it_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l");
        let lock = FileLock::acquire(&path, Duration::ZERO).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| FileLock::acquire(&path, Duration::MAX).map(drop));
            std::thread::sleep(Duration::from_millis(50));
            assert!(!waiter.is_finished());
            drop(lock);
            waiter.join().unwrap().unwrap();
        });
    }

    #[test]
    fn one_at_a_time_loses_no_increment() {
        let dir = tempfile::tempdir().unwrap();
        let (path, counter) = (dir.path().join("l"), dir.path().join("n"));
        std::fs::write(&counter, "0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let _lock = FileLock::acquire(&path, LONG).unwrap();
                        let n: u32 = std::fs::read_to_string(&counter).unwrap().parse().unwrap();
                        std::fs::write(&counter, (n + 1).to_string()).unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_to_string(&counter).unwrap(), "100");
    }

    #[test]
    fn a_copy_of_the_descriptor_in_a_child_does_not_keep_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l");
        let lock = FileLock::acquire(&path, Duration::ZERO).unwrap();
        let copy = lock.file.try_clone().unwrap();
        drop(lock);
        drop(FileLock::acquire(&path, Duration::ZERO).unwrap());
        drop(copy);
    }

    #[test]
    fn a_lock_on_a_file_that_was_removed_meanwhile_is_not_taken_for_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l");
        let first = FileLock::acquire(&path, Duration::ZERO).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| FileLock::acquire(&path, LONG).unwrap());
            std::thread::sleep(Duration::from_millis(50));
            std::fs::remove_file(&path).unwrap();
            drop(first);
            let _second = waiter.join().unwrap();
            assert!(matches!(FileLock::acquire(&path, Duration::ZERO), Err(LockError::Busy { .. })));
        });
    }

    #[test]
    fn a_missing_directory_is_an_error_that_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("missing/l");
        let error = FileLock::acquire(&path, LONG).unwrap_err();
        assert_eq!(error.kind(), "lock_io");
        assert!(error.to_string().starts_with(&format!("lock file {}: ", path.display())), "{error}");
    }
}
