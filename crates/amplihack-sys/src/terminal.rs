//! The controlling terminal's settings, kept while an agent owns it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};

use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

/// Codes that undo what killed full-screen programs leave behind: alternate screen, mouse, focus and paste reports,
/// keyboard protocol, colours; and the cursor that they hide.
const MODES_OFF: &[u8] =
    b"\x1b[?1047l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l\x1b[<u\x1b[?25h\x1b[0m";

/// Reports whether `file` is a terminal.
pub fn is_terminal(file: impl AsFd) -> bool {
    isatty(file)
}

/// The controlling terminal with the settings that it had when this was made.
#[derive(Debug)]
pub struct SavedTerminal {
    terminal: File,
    settings: Termios,
}

impl SavedTerminal {
    /// The settings of the controlling terminal as they are now, or `None` if this process has no terminal.
    pub fn save_current() -> Option<Self> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        Self::from_terminal(terminal)
    }

    fn from_terminal(terminal: File) -> Option<Self> {
        let settings = tcgetattr(&terminal).ok()?;
        Some(Self { terminal, settings })
    }

    /// Puts the settings back if they differ; after a crash also leaves the modes that full-screen programs use.
    ///
    /// Does nothing in the background, where the terminal is another job's and a change would stop this process.
    pub fn restore(&self, crashed: bool) -> io::Result<()> {
        if !in_foreground(&self.terminal) {
            return Ok(());
        }
        self.put_back(crashed)
    }

    fn put_back(&self, crashed: bool) -> io::Result<()> {
        if crashed {
            (&self.terminal).write_all(MODES_OFF)?;
        }
        if !is_same(&tcgetattr(&self.terminal)?, &self.settings) {
            tcsetattr(&self.terminal, OptionalActions::Now, &self.settings)?;
        }
        Ok(())
    }
}

/// Reports whether this process's group is the one that `terminal` belongs to.
///
/// A group that began outside of this PID namespace has the id 0 for both calls: then the two are the same only if the
/// terminal is really this group's or another one's outside, which cannot be told apart and is taken as ours.
#[expect(unsafe_code, reason = "rustix's `getpgrp` takes for granted that the id is not 0")]
fn in_foreground(terminal: &File) -> bool {
    // SAFETY: both calls take a number at most, and write no memory of this process.
    unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) == libc::getpgrp() }
}

fn is_same(left: &Termios, right: &Termios) -> bool {
    left.input_modes == right.input_modes
        && left.output_modes == right.output_modes
        && left.control_modes == right.control_modes
        && left.local_modes == right.local_modes
        && format!("{:?}", left.special_codes) == format!("{:?}", right.special_codes)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;

    use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    use super::{MODES_OFF, SavedTerminal, is_terminal};

    fn pty() -> (File, File) {
        let owner: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&owner).unwrap();
        unlockpt(&owner).unwrap();
        let peer = ioctl_tiocgptpeer(&owner, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        (owner.into(), peer.into())
    }

    #[test]
    fn raw_mode_is_undone_and_modes_are_left_after_a_crash() {
        let (mut owner, peer) = pty();
        assert!(is_terminal(&peer));
        let saved = SavedTerminal::from_terminal(peer).unwrap();
        let mut raw = tcgetattr(&saved.terminal).unwrap();
        let before = raw.local_modes;
        assert!(before.contains(LocalModes::ECHO | LocalModes::ICANON));
        raw.make_raw();
        tcsetattr(&saved.terminal, OptionalActions::Now, &raw).unwrap();
        assert!(!tcgetattr(&saved.terminal).unwrap().local_modes.contains(LocalModes::ECHO));

        // Read while it is written, as a terminal does.
        let reader = std::thread::spawn(move || {
            let mut seen = vec![0; MODES_OFF.len()];
            owner.read_exact(&mut seen).unwrap();
            (owner, seen)
        });
        saved.put_back(true).unwrap();
        // The terminal lives as long as its owner's end is open.
        let (_owner, seen) = reader.join().unwrap();
        assert_eq!(seen, MODES_OFF);
        assert_eq!(tcgetattr(&saved.terminal).unwrap().local_modes, before);
    }

    #[test]
    fn a_file_is_no_terminal() {
        let file = File::open("/dev/null").unwrap();
        assert!(!is_terminal(&file));
        assert!(SavedTerminal::from_terminal(file).is_none());
    }
}
