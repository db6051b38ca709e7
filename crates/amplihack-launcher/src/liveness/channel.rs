//! The launch's end of the line from its hooks: a socket in its directory, read by a thread of its own.
//!
//! The thread waits for nobody who reads the run: a hook is heard, and answered, also while no event is taken. Whoever needs to know all
//! that was said so far calls [`LaunchChannel::drain_messages`], since a hook sends its message before its host hears the answer.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use amplihack_hooks::channel::{HookMessage, LaunchReply, MAX_MESSAGE, SOCKET, with_socket_path};
use amplihack_sys as sys;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, chmod};

use crate::once::SocketPeer;

/// The most hooks that are heard at a time; of more, the one that has been silent longest is let go.
const MAX_CONNECTIONS: usize = 256;

/// The most connections that are taken at one look; the rest waits for the next one.
const MAX_ACCEPTED: usize = 4096;

/// The most bytes that are read of one connection at one look, a whole message: whoever never stops talking keeps nobody from being heard.
const MAX_READ: u64 = MAX_MESSAGE;

/// Takes a message and who sent it, and says what is answered.
pub(super) type MessageReceiver<'a> = &'a mut dyn FnMut(HookMessage, SocketPeer) -> Option<LaunchReply>;

/// The socket, and the hooks that have not said everything.
#[derive(Debug)]
pub(super) struct LaunchChannel {
    listener: UnixListener,
    /// The device and the inode of the socket's file.
    bound: (u64, u64),
    connections: Vec<HookConnection>,
}

#[derive(Debug)]
struct HookConnection {
    stream: UnixStream,
    peer: SocketPeer,
    line: Vec<u8>,
}

impl LaunchChannel {
    /// Listens in the directory of a launch, for this user only.
    pub(super) fn listen_in(launch: &Path) -> io::Result<Self> {
        let listener = with_socket_path(launch, |socket| {
            let listener = UnixListener::bind(socket)?;
            chmod(socket, Mode::RUSR | Mode::WUSR)?;
            Ok(listener)
        })?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, bound: file_at(launch)?, connections: Vec::new() })
    }

    /// Reports whether the socket's file in the directory of the launch is still the one that was bound.
    pub(super) fn is_at(&self, launch: &Path) -> bool {
        file_at(launch).is_ok_and(|found| found == self.bound)
    }

    /// Takes everything that was said by now.
    pub(super) fn drain_messages(&mut self, take: MessageReceiver<'_>) {
        for _ in 0..MAX_ACCEPTED {
            let Ok((stream, _)) = self.listener.accept() else { break };
            let Some(peer) = own_peer(&stream).filter(|_| stream.set_nonblocking(true).is_ok()) else {
                continue;
            };
            if self.connections.len() >= MAX_CONNECTIONS {
                // What it has said by now counts.
                self.connections.remove(0).read(take);
            }
            self.connections.push(HookConnection { stream, peer, line: Vec::new() });
        }
        self.connections.retain_mut(|connection| connection.read(take));
    }

    /// The descriptors to wait for.
    pub(super) fn watched_descriptors(&self) -> io::Result<Vec<OwnedFd>> {
        let connections = self.connections.iter().map(|connection| connection.stream.as_fd());
        std::iter::once(self.listener.as_fd()).chain(connections).map(|fd| fd.try_clone_to_owned()).collect()
    }
}

/// The device and the inode of what has the socket's name in the directory of a launch.
fn file_at(launch: &Path) -> io::Result<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(launch.join(SOCKET))?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Waits until one of `watched` has something to say, or `millis` have passed.
pub(super) fn wait_readable(watched: &[OwnedFd], millis: i64) {
    let mut polled: Vec<PollFd<'_>> = watched.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let time = rustix::time::Timespec { tv_sec: millis / 1000, tv_nsec: (millis % 1000) * 1_000_000 };
    // An interrupted wait is a short one.
    let _ = poll(&mut polled, Some(&time));
}

/// The process at the other end, if it is one of this user.
fn own_peer(stream: &UnixStream) -> Option<SocketPeer> {
    let peer =
        sys::peer_credentials(stream).ok().filter(|peer| peer.user == rustix::process::getuid().as_raw())?;
    // One that has ended by now is nobody; hooks wait for nothing.
    Some(SocketPeer { pid: peer.pid, start_time: sys::start_time(peer.pid).unwrap_or_default() })
}

impl HookConnection {
    /// Reads on, up to [`MAX_READ`] bytes. False when nothing more is to come.
    fn read(&mut self, take: MessageReceiver<'_>) -> bool {
        let mut bytes = [0; 4096];
        let mut left = MAX_READ;
        while left > 0 {
            match self.stream.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => {
                    left = left.saturating_sub(count as u64);
                    self.line.extend_from_slice(bytes.get(..count).unwrap_or_default());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return false,
            }
            while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.line.drain(..=end).collect();
                self.answer_line(&line, take);
            }
            if self.line.len() as u64 > MAX_MESSAGE {
                return false;
            }
        }
        true
    }

    fn answer_line(&mut self, line: &[u8], take: MessageReceiver<'_>) {
        let reply = match serde_json::from_slice(line) {
            Ok(message) => take(message, self.peer),
            Err(_) => Some(LaunchReply::Unknown),
        };
        if let Some(reply) = reply
            && let Ok(mut line) = serde_json::to_vec(&reply)
        {
            line.push(b'\n');
            // A hook that does not take it denies.
            let _ = self.stream.write_all(&line);
        }
    }
}
