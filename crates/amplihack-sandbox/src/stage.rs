//! The process that enters a sandbox: this program again, with the confinement in a file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::Command;

use amplihack_sys::confine::{Confinement, end_by_signal, run_confined};
use rustix::fs::{MemfdFlags, SealFlags};

use crate::error::SandboxError;

/// The word before a confinement's file on the command line of the process that enters it.
const CONFINE: &str = "confine";

/// Exit code where the program was not started.
pub const NOT_STARTED: u8 = 125;

/// A confinement in a file without a name, which nobody else can change.
#[derive(Debug)]
pub struct StageFile(OwnedFd);

impl StageFile {
    /// Writes `confinement`.
    ///
    /// # Errors
    /// The file cannot be made or written.
    pub fn write(confinement: &Confinement) -> Result<Self, SandboxError> {
        let write = || -> io::Result<Self> {
            // The process that enters it inherits it.
            let file = rustix::fs::memfd_create("amplihack-confinement", MemfdFlags::ALLOW_SEALING)?;
            let mut file = File::from(file);
            file.write_all(&serde_json::to_vec(confinement)?)?;
            rustix::fs::fcntl_add_seals(
                &file,
                SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
            )?;
            Ok(Self(file.into()))
        };
        write().map_err(SandboxError::Stage)
    }

    /// The command by which `own`, the program of this process, runs `program` with `arguments` in the confinement.
    pub fn command(&self, own: &Path, program: &OsStr, arguments: &[OsString]) -> Command {
        let mut command = Command::new(own);
        let file = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        command.arg(CONFINE).arg(file).arg(program).args(arguments);
        command
    }
}

/// Runs a program in a confinement, where `arguments`, those behind the program's own name, ask for that, and returns the exit code. This
/// process must have one thread, and must be there for nothing else.
///
/// `tell` is told why nothing ran.
pub fn serve_stage(arguments: &[OsString], tell: impl FnOnce(&dyn std::fmt::Display)) -> Option<u8> {
    let [word, file, program, rest @ ..] = arguments else { return None };
    if word != CONFINE {
        return None;
    }
    let read = || -> io::Result<Confinement> { Ok(serde_json::from_slice(&std::fs::read(file)?)?) };
    let ended = match read() {
        Ok(confinement) => run_confined(&confinement, program, rest),
        Err(error) => {
            tell(&format!("the confinement cannot be read: {error}"));
            return Some(NOT_STARTED);
        }
    };
    Some(match ended {
        Ok(exit) => end_by_signal(exit),
        Err(error) => {
            tell(&error);
            NOT_STARTED
        }
    })
}
