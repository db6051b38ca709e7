//! A terminal for tests: a private tmux server that no other tmux knows of and that goes away with the test.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{Output, Run, Sandbox};

/// A private tmux server on its own socket, without configuration.
#[derive(Debug)]
pub struct Tmux<'a> {
    sandbox: &'a Sandbox,
    socket: PathBuf,
}

impl<'a> Tmux<'a> {
    /// A server in `sandbox`. It starts with the first session.
    pub fn new(sandbox: &'a Sandbox) -> Self {
        Self { sandbox, socket: sandbox.root().join("tmux") }
    }

    /// Reports whether tmux is installed; if not, the test that asked is skipped.
    pub fn is_installed() -> bool {
        crate::require_programs(&["tmux"])
    }

    /// The `tmux` command for this server, with the sandbox's environment.
    pub fn command(&self) -> Command {
        let mut command = self.sandbox.command("tmux");
        command.env("TERM", "xterm-256color").arg("-S").arg(&self.socket).args(["-f", "/dev/null"]);
        command
    }

    /// Runs a tmux command and claims that it worked.
    #[track_caller]
    pub fn tell<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        let output = Run::new(self.command()).args(args).output();
        output.assert_code(0);
        output
    }

    /// Starts `program` with `args` in a new session `name`, 120 columns and 40 lines. Each word stays one word.
    #[track_caller]
    pub fn new_session<A: AsRef<OsStr>>(&self, name: &str, program: &str, args: impl IntoIterator<Item = A>) {
        let mut command = self.command();
        command.args([
            "new-session",
            "-d",
            "-s",
            name,
            "-x",
            "120",
            "-y",
            "40",
            "--",
            "/usr/bin/env",
            program,
        ]);
        command.args(args);
        Run::new(command).output().assert_code(0);
    }

    /// Types `text`, letter by letter; tmux's names of keys are not looked for in it.
    #[track_caller]
    pub fn type_text(&self, session: &str, text: &str) {
        self.tell(["send-keys", "-t", session, "-l", "--", text]);
    }

    /// Presses keys by tmux's names, such as `Enter` or `C-c`.
    #[track_caller]
    pub fn send_keys(&self, session: &str, keys: &[&str]) {
        self.tell(["send-keys", "-t", session].iter().chain(keys));
    }

    /// What the session's screen shows.
    #[track_caller]
    pub fn capture(&self, session: &str) -> String {
        self.tell(["capture-pane", "-p", "-t", session]).stdout_text()
    }

    /// Waits until the session's screen shows `text`; fails the test, showing the screen, after `timeout`.
    #[track_caller]
    pub fn wait_for(&self, session: &str, text: &str, timeout: Duration) -> String {
        let end = Instant::now() + timeout;
        loop {
            let screen = self.capture(session);
            if screen.contains(text) {
                return screen;
            }
            assert!(Instant::now() < end, "{text:?} did not show within {timeout:?}; the screen:\n{screen}");
            sleep(Duration::from_millis(50));
        }
    }

    /// Whether the session's screen shows `text` before `timeout` is over.
    #[track_caller]
    pub fn shows_within(&self, session: &str, text: &str, timeout: Duration) -> bool {
        let end = Instant::now() + timeout;
        while Instant::now() < end {
            if self.capture(session).contains(text) {
                return true;
            }
            sleep(Duration::from_millis(50));
        }
        false
    }

    /// Waits until the session's screen has not changed for `still`, or `timeout` is over: a program that works shows it.
    #[track_caller]
    pub fn wait_until_still(&self, session: &str, still: Duration, timeout: Duration) {
        let end = Instant::now() + timeout;
        let (mut screen, mut since) = (self.capture(session), Instant::now());
        while since.elapsed() < still && Instant::now() < end {
            sleep(Duration::from_millis(50));
            let now = self.capture(session);
            if now != screen {
                (screen, since) = (now, Instant::now());
            }
        }
    }

    /// Whether the session still is there.
    pub fn has_session(&self, name: &str) -> bool {
        Run::new(self.command()).args(["has-session", "-t", name]).output().code == Some(0)
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        if self.socket.exists() {
            // A server that ended by itself is as good.
            let _ = self.command().arg("kill-server").output();
        }
    }
}
