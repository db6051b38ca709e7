//! A network namespace with nothing but loopback, so that a test proves that no program needs or uses a network.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A loopback-only network namespace, or the plain network with a loud line where the machine allows none.
///
/// It lives as long as this value. Several programs, and threads of the test, share its loopback.
#[derive(Debug)]
pub struct NetNs {
    holder: Option<Child>,
}

impl NetNs {
    /// Makes a namespace. Where that is not possible, reports so as a skip and uses the plain network.
    pub fn new() -> Self {
        match hold() {
            Ok(holder) => Self { holder: Some(holder) },
            Err(why) => {
                crate::skip_test(&format!(
                    "the isolation: no network namespace here ({why}); the plain network is used"
                ));
                Self { holder: None }
            }
        }
    }

    /// Whether programs really are cut off from the network.
    pub fn is_isolated(&self) -> bool {
        self.holder.is_some()
    }

    /// `command`, to be run inside: program, arguments, environment and directory stay as they are, exactly.
    pub fn wrap(&self, command: &Command) -> Command {
        let mut wrapped = Command::new("/usr/bin/nsenter");
        if let Some(holder) = &self.holder {
            wrapped.arg(format!("--target={}", holder.id()));
            if !is_root() {
                wrapped.args(["--user", "--preserve-credentials"]);
            }
            wrapped.arg("--net").arg("--");
            repeat(command, &mut wrapped);
        } else {
            wrapped = Command::new(command.get_program());
            wrapped.args(command.get_args());
            surroundings(command, &mut wrapped);
        }
        if let Some(directory) = command.get_current_dir() {
            wrapped.current_dir(directory);
        }
        wrapped
    }

    /// Runs `work` on a new thread whose sockets are inside, so that a server of the test is reached by programs inside.
    ///
    /// Needs root where the namespace is real; `None` if the thread may not enter it.
    pub fn on_thread<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Option<T> {
        on_thread(self.holder.as_ref().map(Child::id), work)
    }
}

/// Runs `work` on a new thread in the network of the process `of`; `None` if the thread may not enter it.
pub(crate) fn on_thread<T: Send>(of: Option<u32>, work: impl FnOnce() -> T + Send) -> Option<T> {
    let namespace = of.map(|pid| File::open(format!("/proc/{pid}/ns/net")));
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if let Some(file) = namespace {
                move_into_link_name_space(file.ok()?.as_fd(), Some(LinkNameSpaceType::Network)).ok()?;
            }
            Some(work())
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl Default for NetNs {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for NetNs {
    fn drop(&mut self) {
        if let Some(holder) = &mut self.holder {
            // It ends by itself when its stdin closes; this only makes it sooner.
            let _ = holder.kill();
            let _ = holder.wait();
        }
    }
}

/// Repeats `command` behind the words of `wrapped`: program, arguments and environment.
pub(crate) fn repeat(command: &Command, wrapped: &mut Command) {
    wrapped.arg(command.get_program()).args(command.get_args());
    surroundings(command, wrapped);
}

/// All variables were set one by one on a cleared command; what they say is repeated on a cleared one.
fn surroundings(command: &Command, wrapped: &mut Command) {
    wrapped.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A process that keeps the namespace: it ends when its stdin closes, so that it cannot outlive the test.
fn hold() -> Result<Child, String> {
    let mut command = Command::new("/usr/bin/unshare");
    if !is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--net", "/bin/sh", "-c", "ip link set lo up && echo up && exec cat"]);
    command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut holder = command.spawn().map_err(|error| format!("unshare: {error}"))?;
    let mut line = String::new();
    if let Some(stdout) = holder.stdout.take() {
        // A holder that failed has closed its stdout; then the line is empty.
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    if line.trim() == "up" {
        return Ok(holder);
    }
    drop(holder.stdin.take().map(|mut stdin| stdin.flush()));
    let output = holder.wait_with_output().map_err(|error| error.to_string())?;
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
