//! The process at the other end of a local socket.
#![expect(unsafe_code, reason = "the safe counterpart is in a feature that no other crate needs")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The process that connected a socket, as it was then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCredentials {
    /// Process id of the peer.
    pub pid: u32,
    /// User id of the peer.
    pub user: u32,
}

/// The process that connected `socket`.
pub fn peer_credentials(socket: impl AsFd) -> io::Result<PeerCredentials> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = libc::socklen_t::try_from(size_of::<libc::ucred>()).map_err(io::Error::other)?;
    // SAFETY: the descriptor is open, and the kernel writes at most `size` bytes, which `peer` has.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut size,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // A process of another namespace, which cannot be seen from here, has the id 0.
    Ok(PeerCredentials { pid: u32::try_from(peer.pid).unwrap_or_default(), user: peer.uid })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_peer_of_this_process_is_this_user() {
        let (one, _other) = UnixStream::pair().unwrap();
        let expected =
            super::PeerCredentials { pid: std::process::id(), user: rustix::process::getuid().as_raw() };
        assert_eq!(super::peer_credentials(&one).unwrap(), expected);
    }
}
