//! The state's file: one writer at a time, whole at every instant, read without a lock.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_sys::fs::{WriteDurability, create_private_dir, read_regular, write_atomic};
use amplihack_sys::lock::FileLock;

use crate::error::{ErrorContext, RemoteError};
use crate::state::{RemoteState, StateFileError, decode_state, encode_state};

/// Time to wait for another writer. A writer needs milliseconds.
const PATIENCE: Duration = Duration::from_mins(1);
/// More than this is not read: some ten thousand sessions.
const LIMIT: u64 = 256 << 20;

/// The state in the file `path`, without a lock and without a write; nothing there is the empty state.
///
/// # Errors
/// `Validation`, when the file is empty, damaged, of a later version, or cannot be read.
pub fn read(path: &Path) -> Result<RemoteState, RemoteError> {
    Ok(load_state(path)?.state)
}

/// Changes the state in the file `path`: waits for the lock beside it, reads, calls `change`, and replaces the file if
/// anything is different. An error of `change` leaves the file as it was. `change` must not wait for anything.
///
/// The file gets mode 0600, a missing directory 0700. The predecessor's file is kept beside it at the first change.
///
/// # Errors
/// Those of `change` and of [`read`]; `Validation`, when the lock is not had or the file cannot be written.
pub fn with_lock<T>(
    path: &Path,
    change: impl FnOnce(&mut RemoteState) -> Result<T, RemoteError>,
) -> Result<T, RemoteError> {
    let path = &resolve_link(path);
    if let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_private_dir(directory).map_err(|error| unwritable_error(path, &error))?;
    }
    let lock = lock_path(path);
    let lock = if amplihack_sys::sabotage::is_active("remote-state-lock") {
        lock.with_extension(format!("{:?}", std::thread::current().id()))
    } else {
        lock
    };
    let _lock = FileLock::acquire(&lock, PATIENCE).map_err(|error| {
        RemoteError::Validation(ErrorContext::new(error.to_string()).with_fact("path", path.display()))
    })?;
    let before = load_state(path)?;
    let mut state = before.state;
    let answer = change(&mut state)?;
    let after = encode_state(&state).map_err(|why| unreadable_error(path, &why))?;
    if before.bytes.as_deref() == Some(&after[..]) {
        return Ok(answer);
    }
    if before.foreign
        && let Some(bytes) = &before.bytes
    {
        keep_predecessor(path, bytes).map_err(|error| unwritable_error(path, &error))?;
    }
    if after.len() as u64 > LIMIT {
        let error = io::Error::new(io::ErrorKind::FileTooLarge, "it would be longer than 256 MB");
        return Err(unwritable_error(path, &error));
    }
    write_atomic(path, &after, 0o600, WriteDurability::Machine)
        .map_err(|error| unwritable_error(path, &error))?;
    Ok(answer)
}

struct LoadedState {
    state: RemoteState,
    /// Content of the file; `None` if there is none.
    bytes: Option<Vec<u8>>,
    foreign: bool,
}

fn load_state(path: &Path) -> Result<LoadedState, RemoteError> {
    let bytes = match read_regular(path, LIMIT) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(LoadedState { state: RemoteState::default(), bytes: None, foreign: false });
        }
        Err(error) => {
            let message = format!("remote state {} cannot be read: {error}", path.display());
            return Err(RemoteError::Validation(
                ErrorContext::new(message).with_fact("path", path.display()),
            ));
        }
    };
    let (state, foreign) = decode_state(&bytes).map_err(|why| unreadable_error(path, &why))?;
    Ok(LoadedState { state, bytes: Some(bytes), foreign })
}

/// The file itself, where `path` is a link to it: the link stays.
fn resolve_link(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn lock_path(path: &Path) -> PathBuf {
    let beside = path.with_extension("lock");
    if beside == path { path.with_extension("lock.lock") } else { beside }
}

/// Keeps the predecessor's file, once: what is kept is not replaced.
fn keep_predecessor(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".predecessor");
    let mut copy = path.with_file_name(&name);
    let mut number = 1;
    while let Ok(kept) = std::fs::read(&copy) {
        if kept == bytes {
            return Ok(());
        }
        number += 1;
        let mut other = name.clone();
        other.push(format!(".{number}"));
        copy = path.with_file_name(other);
    }
    write_atomic(&copy, bytes, 0o600, WriteDurability::Machine)
}

fn unreadable_error(path: &Path, why: &StateFileError) -> RemoteError {
    let (message, hint) = match why {
        StateFileError::Newer(_) => (
            format!("remote state {} is of a newer amplihack: {why}", path.display()),
            "use that version of amplihack; nothing was changed",
        ),
        StateFileError::Empty | StateFileError::Damaged(_) => (
            format!("remote state {} is damaged: {why}", path.display()),
            "nothing was changed; restore the file from a backup, or move it away to begin without the sessions in \
             it, which keep running on their machines",
        ),
    };
    RemoteError::Validation(
        ErrorContext::new(message).with_fact("path", path.display()).with_fact("hint", hint),
    )
}

fn unwritable_error(path: &Path, error: &io::Error) -> RemoteError {
    let message = format!("remote state {} cannot be written: {error}", path.display());
    RemoteError::Validation(ErrorContext::new(message).with_fact("path", path.display()))
}
