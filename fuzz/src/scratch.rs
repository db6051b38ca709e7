//! A directory in memory, for readers that take files.

use std::fs;
use std::path::{Path, PathBuf};

/// Gone with the program; readers that are given files get them from here.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    /// An empty one.
    pub fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Self(tempfile::Builder::new().prefix("fuzz-").tempdir_in(place).expect("a directory can be made"))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The file `name` with these bytes, in directories that are made for it.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        if fs::write(&path, bytes).is_err() {
            fs::create_dir_all(path.parent().expect("a file has a directory")).expect("it can be made");
            fs::write(&path, bytes).expect("a file can be written");
        }
        path
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}
