//! Things that must live as long as the child: the prompt file, private and gone with its handle.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::DeliveryMode;
use amplihack_sys::sabotage;

const PREFIX: &str = "amplihack-prompt-";

/// The mode in which a prompt was delivered, and its file if it has one. Keep it until the child is reaped.
///
/// Dropping it removes the file and its directory. `Debug` shows mode and path, never the prompt.
#[derive(Debug)]
#[must_use = "dropping the handle removes the prompt file before the child can read it"]
pub struct DeliveryHandle {
    mode: DeliveryMode,
    file: Option<PromptFile>,
}

/// A file in a directory of its own; the directory's drop removes both.
#[derive(Debug)]
struct PromptFile {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

/// A prompt file that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("no prompt file in {}: {source}; point TMPDIR at a directory that can be written", directory.display())]
struct PromptFileError {
    directory: PathBuf,
    source: io::Error,
}

impl DeliveryHandle {
    /// For a prompt that is an argument.
    pub const fn with_argv() -> Self {
        Self { mode: DeliveryMode::Argv, file: None }
    }

    /// For a prompt that goes to the child's stdin.
    pub const fn with_stdin() -> Self {
        Self { mode: DeliveryMode::Stdin, file: None }
    }

    /// Writes `prompt` unchanged to a new file under `TMPDIR` (`/tmp` without it); see [`Self::tempfile_in`].
    pub fn with_tempfile(prompt: impl AsRef<[u8]>) -> io::Result<Self> {
        Self::tempfile_in(&temp_dir(), prompt)
    }

    /// Writes `prompt` unchanged to a new file of mode 0600 in a new directory of mode 0700 in `directory`.
    ///
    /// Both have random names. The path is absolute, since the child may run elsewhere. An error names `directory` and leaves
    /// nothing behind.
    pub fn tempfile_in(directory: &Path, prompt: impl AsRef<[u8]>) -> io::Result<Self> {
        let file = PromptFile::write(directory, prompt.as_ref()).map_err(|source| {
            io::Error::new(source.kind(), PromptFileError { directory: directory.to_owned(), source })
        })?;
        Ok(Self { mode: DeliveryMode::Tempfile, file: Some(file) })
    }

    /// Returns the mode in which the prompt was delivered.
    pub const fn mode(&self) -> DeliveryMode {
        self.mode
    }

    /// The prompt file; `None` in the other modes.
    pub fn tempfile_path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path.as_path())
    }
}

impl PromptFile {
    fn write(directory: &Path, prompt: &[u8]) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        let mut private =
            builder.permissions(Permissions::from_mode(0o700)).tempdir_in(std::path::absolute(directory)?)?;
        if sabotage::is_active("delivery-tempfile-directory") {
            std::fs::set_permissions(private.path(), Permissions::from_mode(0o755))?;
        }
        let mode = if sabotage::is_active("delivery-tempfile-mode") { 0o644 } else { 0o600 };
        let mut file = builder.permissions(Permissions::from_mode(mode)).tempfile_in(private.path())?;
        file.write_all(prompt)?;
        // Removed with the directory, also what the child may have put beside it.
        let path = file.into_temp_path().keep()?;
        if sabotage::is_active("delivery-tempfile-early") {
            std::fs::remove_file(&path)?;
        }
        private.disable_cleanup(sabotage::is_active("delivery-tempfile-unlinked"));
        Ok(Self { path, _directory: private })
    }
}

/// Directory of prompt files. An empty `TMPDIR` is none: it would mean the current directory, often a repository.
pub(super) fn temp_dir() -> PathBuf {
    let directory = std::env::temp_dir();
    if directory.as_os_str().is_empty() { PathBuf::from("/tmp") } else { directory }
}
