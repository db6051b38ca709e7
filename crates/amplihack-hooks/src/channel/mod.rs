//! The line from a hook process to the launch that it belongs to: what was decided, said before the host is answered.
//!
//! A launch listens on a socket in its directory. Each hook process connects and sends one [`HookMessage`] as a line of JSON; a message
//! that asks for an answer gets one [`LaunchReply`] on the same connection. A hook that cannot reach its launch lets nothing through:
//! nobody would know of the call.

mod record;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_sys::peer_credentials;

pub use crate::answer_code::UNANSWERED;
pub use record::{HookMessage, HookReport, LaunchReply};

/// The name of the socket in a launch's directory.
pub const SOCKET: &str = "guard.sock";

/// The most bytes of one message or reply, its newline included.
pub const MAX_MESSAGE: u64 = 64 * 1024;

/// The longest path of a socket, without its terminating byte.
const MAX_PATH: usize = 107;

/// The longest time that a send or an answer may take. The hook's own deadline is later.
const PATIENCE: Duration = Duration::from_secs(3);

/// Tells the launch whose directory is `launch` what a hook decided. Returns when the launch is sure to receive it.
///
/// # Errors
/// Nobody listens there, or the launch takes nothing.
pub fn send_report(launch: &Path, report: HookReport) -> io::Result<()> {
    send_report_to(launch, None, report)
}

/// Sends `report` as [`send_report`] does, but only if the process `launcher` is the one that listens, where that is known.
pub(crate) fn send_report_to(launch: &Path, launcher: Option<u32>, report: HookReport) -> io::Result<()> {
    send_message(launch, launcher, &HookMessage::Report(report)).map(drop)
}

/// Sends `message` to the launch whose directory is `launch`, and waits for the answer.
///
/// # Errors
/// Nobody listens there, the launch does not answer in time, or its answer cannot be read.
pub fn request_reply(launch: &Path, message: &HookMessage) -> io::Result<LaunchReply> {
    answer_on(send_message(launch, None, message)?)
}

/// Sends `message` as [`request_reply`] does, but accepts only an answer of the process `launcher`.
///
/// # Errors
/// As with [`request_reply`], and where another process listens.
pub fn request_reply_from(launch: &Path, launcher: u32, message: &HookMessage) -> io::Result<LaunchReply> {
    answer_on(send_message(launch, Some(launcher), message)?)
}

fn answer_on(connection: UnixStream) -> io::Result<LaunchReply> {
    let mut line = Vec::new();
    BufReader::new(connection).take(MAX_MESSAGE).read_until(b'\n', &mut line)?;
    serde_json::from_slice(&line).map_err(io::Error::from)
}

fn send_message(launch: &Path, launcher: Option<u32>, message: &HookMessage) -> io::Result<UnixStream> {
    let mut line = serde_json::to_vec(message).map_err(io::Error::from)?;
    line.push(b'\n');
    let mut connection = with_socket_path(launch, |socket| UnixStream::connect(socket))?;
    // The kernel says who listens, whoever has bound a socket of that name meanwhile.
    if let Some(launcher) = launcher
        && peer_credentials(&connection)?.pid != launcher
    {
        return Err(io::Error::other("another program listens there"));
    }
    connection.set_write_timeout(Some(PATIENCE))?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.write_all(&line)?;
    Ok(connection)
}

/// Gives `act` a path of the socket in `launch` that the kernel takes, however long the directory's own is.
///
/// # Errors
/// The directory cannot be opened, or what `act` says.
pub fn with_socket_path<T>(launch: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let socket = launch.join(SOCKET);
    if socket.as_os_str().len() <= MAX_PATH {
        return act(&socket);
    }
    let directory = File::open(launch)?;
    act(&PathBuf::from(format!("/proc/self/fd/{}/{SOCKET}", directory.as_raw_fd())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use amplihack_verdict::Decision;

    use super::*;
    use crate::event::HookEvent;

    fn one() -> HookReport {
        HookReport {
            call: Some("c1".to_owned()),
            rule: Some("pack/rule".to_owned()),
            ..HookReport::new(HookEvent::PreToolUse, Decision::Deny)
        }
    }

    #[test]
    fn a_message_arrives_whole_however_long_the_directory_is() {
        for name in ["short".to_owned(), "l".repeat(200)] {
            let base = tempfile::tempdir().unwrap();
            let launch = base.path().join(name);
            std::fs::create_dir(&launch).unwrap();
            let listener = with_socket_path(&launch, |socket| UnixListener::bind(socket)).unwrap();
            send_report(&launch, one()).unwrap();
            let mut text = String::new();
            listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
            let read: HookMessage = serde_json::from_str(&text).unwrap();
            assert_eq!(read, HookMessage::Report(one()), "{text}");
            assert!(text.ends_with("}\n"), "{text}");
        }
    }

    #[test]
    fn only_the_launcher_is_told_and_believed() {
        let base = tempfile::tempdir().unwrap();
        let _listener = with_socket_path(base.path(), |socket| UnixListener::bind(socket)).unwrap();
        let own = std::process::id();
        send_report_to(base.path(), Some(own), one()).unwrap();
        for error in [
            send_report_to(base.path(), Some(own + 1), one()).unwrap_err(),
            request_reply_from(base.path(), own + 1, &HookMessage::PinnedPolicy).unwrap_err(),
        ] {
            assert!(error.to_string().contains("another program"), "{error}");
        }
    }

    #[test]
    fn without_a_launch_nothing_is_reported() {
        let base = tempfile::tempdir().unwrap();
        send_report(base.path(), one()).unwrap_err();
        send_report(&base.path().join("gone"), one()).unwrap_err();
        drop(with_socket_path(base.path(), |socket| UnixListener::bind(socket)).unwrap());
        send_report(base.path(), one()).unwrap_err();
    }
}
