//! Users' settings files, read.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::RegistrationError;

/// The largest settings file that is read.
const LIMIT: u64 = 16 * 1024 * 1024;

/// The error for what could not be done with a file.
pub fn io_error(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> RegistrationError {
    let path = path.to_owned();
    move |source| RegistrationError::Io { path, doing, source }
}

/// The file behind links: users keep their settings elsewhere and link to them.
pub fn behind_links(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A file's bytes and permissions; `None` if there is no file.
pub fn read_file(path: &Path) -> Result<Option<(Vec<u8>, u32)>, RegistrationError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(path, "could not be read")(error)),
    };
    let bytes = amplihack_sys::fs::read_regular(path, LIMIT).map_err(io_error(path, "could not be read"))?;
    Ok(Some((bytes, metadata.permissions().mode() & 0o7777)))
}

/// Reads a file as text; `None` if there is no file.
pub fn read_text(path: &Path) -> Result<Option<String>, RegistrationError> {
    let Some((bytes, _)) = read_file(path)? else { return Ok(None) };
    decode_text(path, bytes).map(Some)
}

/// Text of a file from its bytes.
pub fn decode_text(path: &Path, bytes: Vec<u8>) -> Result<String, RegistrationError> {
    String::from_utf8(bytes)
        .map_err(|_| io_error(path, "could not be read")(io::Error::other("it is not UTF-8")))
}
