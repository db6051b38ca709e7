//! Interactive runs on a terminal of their own: keys, settings, job control.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::launcher::launcher_command;
use crate::support::marked;

/// A command that runs as the leader of a session on a terminal, and both ends of that terminal.
struct OnTerminal {
    child: Child,
    keys: File,
    screen: File,
    peer: File,
    entry: String,
}

/// Starts `script` by an interactive run; with `shell`, below a shell that is given the launcher as `"$@"`.
fn start(script: &str, shell: Option<&str>) -> OnTerminal {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let owner: OwnedFd = openpt(flags).unwrap();
    grantpt(&owner).unwrap();
    unlockpt(&owner).unwrap();
    let peer: File = ioctl_tiocgptpeer(&owner, flags).unwrap().into();
    let (launcher, entry) = launcher_command(script, true);
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait"]);
    if let Some(shell) = shell {
        command.args(["bash", "-c", shell, "bash"]);
    }
    command.arg(launcher.get_program()).args(launcher.get_args());
    command.envs(launcher.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let end = || peer.try_clone().unwrap();
    let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    let keys = File::from(owner);
    OnTerminal { child, screen: keys.try_clone().unwrap(), keys, peer, entry }
}

impl OnTerminal {
    /// Reads the screen until it shows `text`.
    fn until(&mut self, text: &str) -> String {
        let start = Instant::now();
        let mut shown = Vec::new();
        loop {
            let mut byte = [0; 1];
            assert!(start.elapsed() < Duration::from_secs(10), "{}", String::from_utf8_lossy(&shown));
            let ready = rustix::event::PollFd::new(&self.screen, rustix::event::PollFlags::IN);
            let wait = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
            assert_eq!(
                rustix::event::poll(&mut [ready], Some(&wait)).unwrap(),
                1,
                "{}",
                String::from_utf8_lossy(&shown)
            );
            self.screen.read_exact(&mut byte).unwrap();
            shown.extend(byte);
            let so_far = String::from_utf8_lossy(&shown);
            if so_far.ends_with(text) {
                return so_far.into_owned();
            }
        }
    }

    /// The launcher's code, once it has ended.
    fn code(&mut self) -> Option<i32> {
        let code = self.child.wait().unwrap().code();
        assert_eq!(marked(&self.entry), [""; 0]);
        code
    }
}

#[test]
fn ctrl_c_is_the_agents_and_its_code_is_passed_on() {
    let mut run = start("trap 'exit 9' INT; echo ready; for i in $(seq 600); do sleep 0.05; done", None);
    run.until("ready");
    run.keys.write_all(b"\x03").unwrap();
    assert_eq!(run.code(), Some(9));
}

#[test]
fn an_agent_reads_the_terminal() {
    let mut run = start("read word; echo got $word", None);
    run.keys.write_all(b"hello\r").unwrap();
    run.until("got hello");
    assert_eq!(run.code(), Some(0));
}

#[test]
fn a_killed_agents_raw_mode_and_screen_are_undone() {
    let script = "stty raw -echo; printf '\\033[?1049h\\033[?25l'; echo ready; kill -KILL $$";
    let mut run = start(script, None);
    run.until("ready");
    let shown = run.until("\x1b[?25h\x1b[0m");
    assert!(shown.contains("\x1b[?1047l"), "{shown:?}");
    assert_eq!(run.code(), Some(137));
    let modes = tcgetattr(&run.peer).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG), "{modes:?}");
}

#[test]
fn an_agent_that_leaves_raw_mode_on_is_cleaned_up_behind_without_a_word() {
    let mut run = start("stty raw -echo; printf bye; exit 3", None);
    run.until("bye");
    assert_eq!(run.code(), Some(3));
    assert!(tcgetattr(&run.peer).unwrap().local_modes.contains(LocalModes::ECHO | LocalModes::ICANON));
}

/// As in a container that was entered from outside: the process's group and session have the id 0 there.
#[test]
fn settings_are_put_back_in_a_pid_namespace_too() {
    let inside = "exec unshare --user --map-root-user --pid --fork --mount-proc --";
    if !Command::new("sh").args(["-c", &format!("{inside} true")]).status().unwrap().success() {
        return;
    }
    let mut run = start("stty raw -echo; printf bye; exit 3", Some(&format!("{inside} \"$@\"")));
    run.until("bye");
    assert_eq!(run.code(), Some(3));
    assert!(tcgetattr(&run.peer).unwrap().local_modes.contains(LocalModes::ECHO | LocalModes::ICANON));
}

#[test]
fn an_agent_that_stops_itself_gives_the_shell_back_and_goes_on_with_fg() {
    let shell = "set -m; \"$@\"; echo \"stopped $?\"; fg >/dev/null; echo \"ended $?\"";
    let mut run = start("kill -STOP $$; echo on; exit 5", Some(shell));
    run.until("stopped 148");
    run.until("ended 5");
    run.code();
}

#[test]
fn ctrl_z_stops_both_and_fg_continues_both() {
    let shell = "set -m; \"$@\"; echo \"stopped $?\"; fg >/dev/null; echo \"ended $?\"";
    let mut run = start("trap 'exit 6' USR1; echo ready; sleep 0.5; exit 5", Some(shell));
    run.until("ready");
    run.keys.write_all(b"\x1a").unwrap();
    run.until("stopped 148");
    run.until("ended 5");
    run.code();
}

#[test]
fn without_a_terminal_an_interactive_run_still_runs() {
    let (launcher, entry) = launcher_command("exit 4", true);
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(launcher.get_program()).args(launcher.get_args());
    command.envs(launcher.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert_eq!(command.output().unwrap().status.code(), Some(4));
    assert_eq!(marked(&entry), [""; 0]);
}
