//! Context values that are too large for an argument, as private files: written by the bridge, read back by the engine.
//!
//! A value below [`INLINE_LIMIT`] stands in its argument. One at or above it goes into a file of mode 0600 in a directory
//! `recipe-context-*` of mode 0700 in TMPDIR, and its argument is the file's `file://` URI, path as it is. [`read_back`] takes nothing else for such a file.

mod error;
mod read;
mod write;

pub use error::SpillError;
pub use read::read_back;
pub use write::{SpilledContext, spill_context};

/// As many bytes of UTF-8 do not go into an argument any more.
pub const INLINE_LIMIT: usize = 32_768;
/// The first part of the name of a directory with spilled values.
const PREFIX: &str = "recipe-context-";
const SCHEME: &str = "file://";
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

#[cfg(test)]
mod tests;
