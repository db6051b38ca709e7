//! Namespaces: who one is, which processes there are, where the network leads.
#![expect(
    unsafe_code,
    reason = "`unshare` may take descriptors from other threads, and interfaces have no safe counterpart"
)]

use std::fs;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::{ConfineError, ConfinedNetwork};

/// The user that a confined program of the system's administrator is: as user 0, it could make no user namespace of its own where it may,
/// and agents refuse to work.
const PLAIN_USER: u32 = 1000;

/// Enters new namespaces. Processes that this one makes are in a new PID namespace; itself stays in the old one.
pub(super) fn enter_namespaces(network: ConfinedNetwork) -> Result<(), ConfineError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWPID;
    if network == ConfinedNetwork::None {
        flags |= UnshareFlags::NEWNET;
    }
    // SAFETY: no descriptors are unshared.
    unsafe { unshare_unsafe(flags) }.map_err(ConfineError::at_step("enter new namespaces"))?;
    let inside = |id: u32| if id == 0 { PLAIN_USER } else { id };
    let map = |file: &str, text: String| {
        fs::write(file, text).map_err(ConfineError::at_step("say who is who in the user namespace"))
    };
    map("/proc/self/setgroups", "deny".to_owned())?;
    map("/proc/self/gid_map", format!("{} {group} 1", inside(group)))?;
    map("/proc/self/uid_map", format!("{} {user} 1", inside(user)))
}

/// Has the loopback device of a new network namespace work.
pub(super) fn raise_loopback() -> Result<(), ConfineError> {
    let failed = || ConfineError::at_step("raise the loopback device")(io::Error::last_os_error());
    // SAFETY: makes a descriptor, and touches no memory.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(failed());
    }
    // SAFETY: made above, and owned by nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: all zeroes is a valid request.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = libc::c_char::from_ne_bytes([*byte]);
    }
    request.ifr_ifru.ifru_flags =
        libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or_default();
    // SAFETY: the request is valid for reads, and the descriptor is this function's.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if answer < 0 { Err(failed()) } else { Ok(()) }
}
