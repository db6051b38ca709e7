//! Files that are sent, named by what is in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use amplihack_sys::hex::to_hex;
use sha2::{Digest, Sha256};

/// A file to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageArtifact {
    /// Path of the file.
    pub path: PathBuf,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// Length of the file in bytes.
    pub bytes: u64,
}

impl PackageArtifact {
    /// The file at `path` as it is now.
    ///
    /// # Errors
    /// The file cannot be opened or read.
    pub fn from_file(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 128 * 1024];
        let mut bytes = 0;
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(Self { path: path.to_owned(), sha256: to_hex(hash.finalize()), bytes });
            }
            hash.update(&buffer[..read]);
            bytes += read as u64;
        }
    }
}
