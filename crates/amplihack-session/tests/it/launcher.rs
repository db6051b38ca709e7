//! Signals to a process that runs an agent, as our binary does: this test program, started again.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use amplihack_config::env::Env;
use amplihack_session::{ChildOutput, InterruptSignals, RunSpec, TerminalMode, run_to_end};
use amplihack_sys::{self as sys, Signal};

use crate::support::{LONG, block_on, mark, marked, sh, wait_until};

const SCRIPT: &str = "SESSION_TEST_SCRIPT";
const TERMINAL: &str = "SESSION_TEST_TERMINAL";
/// Names the variable with the grace in milliseconds.
const GRACE: &str = "LAUNCHER_GRACE";
const MARK: &str = "SESSION_TEST_MARK";
const LIBRARY: &str = "SESSION_TEST_LIBRARY";

/// Not a test but the process that the tests start.
#[test]
#[ignore = "started by the tests of this module"]
fn launcher() {
    let env = Env::from_process();
    let script = env.text(SCRIPT).expect("only the other tests start this one");
    let ours = env.get(LIBRARY).is_none();
    let owned = env.get(TERMINAL).is_some();
    let spec = RunSpec {
        terminal: if owned { TerminalMode::Owned } else { TerminalMode::Detached },
        stdin: if owned {
            amplihack_session::ChildInput::Inherit
        } else {
            amplihack_session::ChildInput::Null
        },
        stdout: ChildOutput::Inherit,
        stderr: ChildOutput::Inherit,
        grace: Duration::from_millis(env.text(GRACE).map_or(500, |grace| grace.parse().unwrap())),
        tag: format!("run-{}", env.text(MARK).unwrap()),
        subreaper: ours,
        interrupts: if ours {
            InterruptSignals::listen_from_now()
        } else {
            InterruptSignals::without_signals()
        },
        ..RunSpec::new(sh(script))
    };
    let outcome = block_on(run_to_end(spec)).unwrap();
    let background: Vec<_> = outcome.background.iter().map(|process| process.name.as_str()).collect();
    println!("background: {background:?}, survivors: {:?}", outcome.survivors);
    #[expect(clippy::exit, reason = "as a binary's main does")]
    std::process::exit(outcome.code());
}

/// The command that runs `script` as our binary would; `entry` marks all that comes of it.
pub(crate) fn launcher_command(script: &str, owned: bool) -> (Command, String) {
    let mark = mark();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "launcher::launcher", "--ignored", "--nocapture", "--test-threads=1"])
        .env(SCRIPT, script)
        .env(MARK, &mark)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if owned {
        command.env(TERMINAL, "owned");
    }
    (command, format!("{MARK}={mark}"))
}

/// A started launcher whose script has made `count` processes ready: it wrote `ready` to a file.
struct Launched {
    child: Child,
    entry: String,
    _directory: tempfile::TempDir,
}

fn launch(script: &str, owned: bool) -> Launched {
    launch_with("500", script, owned)
}

/// The same with a grace of so many milliseconds.
fn launch_with(grace: &str, script: &str, owned: bool) -> Launched {
    let directory = tempfile::tempdir().unwrap();
    let ready = directory.path().join("ready");
    let script = script.replace("READY", &format!("touch {}", ready.display()));
    let (mut command, entry) = launcher_command(&script, owned);
    let child = command.env(GRACE, grace).spawn().unwrap();
    wait_until("the script is ready", || ready.exists());
    Launched { child, entry, _directory: directory }
}

impl Launched {
    fn signal(&self, signal: Signal) {
        sys::send_to_process(self.child.id(), signal).unwrap();
    }

    /// Code and output, once the launcher has ended; nothing of it may be left.
    fn end(self) -> (Option<i32>, String) {
        let start = Instant::now();
        let output = self.child.wait_with_output().unwrap();
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(marked(&self.entry), [""; 0], "{shown}");
        assert!(output.status.signal().is_none() || shown.is_empty(), "{:?}", output.status);
        (output.status.code(), shown)
    }
}

const TREE: &str = "setsid sh -c 'sleep 47; :' & (setsid sleep 47 &) ; sleep 47 & READY; wait; sleep 47";

#[test]
fn each_signal_ends_the_tree_with_its_code() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, 131)] {
        let launched = launch(TREE, false);
        launched.signal(signal);
        let (ended, shown) = launched.end();
        assert_eq!(ended, Some(code), "{signal:?}: {shown}");
        assert!(shown.contains("survivors: []"), "{shown}");
    }
}

#[test]
fn a_child_that_answers_ctrl_c_with_success_was_interrupted_all_the_same() {
    let launched = launch("trap 'exit 0' INT; READY; for i in $(seq 600); do sleep 0.05; done", false);
    launched.signal(Signal::INT);
    assert_eq!(launched.end().0, Some(130));
}

#[test]
fn a_child_that_ignores_everything_is_killed() {
    let launched = launch("trap '' INT TERM HUP; READY; for i in $(seq 600); do sleep 0.05; done", false);
    let start = Instant::now();
    launched.signal(Signal::TERM);
    assert_eq!(launched.end().0, Some(143));
    assert!(start.elapsed() >= Duration::from_secs(1), "two graces of half a second");
}

#[test]
fn a_second_and_third_ctrl_c_do_not_wait() {
    // With a grace of two minutes it would come to its own end, half a minute later.
    let launched =
        launch_with("120000", "trap '' INT TERM; READY; for i in $(seq 600); do sleep 0.05; done", false);
    let start = Instant::now();
    for _ in 0..3 {
        launched.signal(Signal::INT);
        std::thread::sleep(Duration::from_millis(60));
    }
    assert_eq!(launched.end().0, Some(130));
    assert!(start.elapsed() < Duration::from_secs(25), "{:?}", start.elapsed());
}

#[test]
fn a_daemon_that_hides_its_environment_is_adopted_and_ended() {
    // It leaves the group, its parent and its session id: only the orphan's new parent knows it.
    let hidden =
        "env -i setsid sh -c '(env -i PATH=$PATH SESSION_TEST_HIDDEN=MARKED sleep 47 >/dev/null 2>&1 &)'";
    let hidden_mark = mark();
    let launched = launch(&format!("{}; READY; exit 7", hidden.replace("MARKED", &hidden_mark)), false);
    let (code, shown) = launched.end();
    assert_eq!(code, Some(7), "{shown}");
    assert!(shown.contains("background: [\"sleep\"]"), "{shown}");
    assert_eq!(marked(&format!("SESSION_TEST_HIDDEN={hidden_mark}")), [""; 0]);
}

#[test]
fn orphans_that_end_while_the_run_lasts_are_reaped() {
    let launched = launch("for i in 1 2 3 4 5; do (sleep 0.05 &); done; sleep 0.4; READY; sleep 0.4", false);
    let own = launched.child.id();
    let dead: Vec<_> =
        sys::list_processes().unwrap().into_iter().filter(|p| p.ppid == own && p.dead).collect();
    assert_eq!(dead, []);
    assert_eq!(launched.end().0, Some(0));
}

#[test]
fn the_death_of_the_launcher_ends_the_child() {
    let mut launched = launch("READY; exec sleep 47", false);
    launched.child.kill().unwrap();
    launched.child.wait().unwrap();
    wait_until("the child follows", || marked(&launched.entry).is_empty());
}

#[test]
fn signals_ignored_from_the_start_stay_ignored_and_not_so_in_the_child() {
    let directory = tempfile::tempdir().unwrap();
    let ready = directory.path().join("ready");
    let script = format!("grep ^SigIgn /proc/$$/status; touch {}; sleep 0.3; exit 7", ready.display());
    let (inner, entry) = launcher_command(&script, false);
    // A shell that ignores SIGHUP and SIGINT, as `nohup` and `&` do, and becomes the launcher.
    let mut command = sh("trap '' HUP INT; exec \"$@\"");
    command.arg("sh").arg(inner.get_program()).args(inner.get_args()).stdout(Stdio::piped());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = command.spawn().unwrap();
    wait_until("the script is ready", || ready.exists());
    let launched = Launched { child, entry, _directory: directory };
    launched.signal(Signal::HUP);
    launched.signal(Signal::INT);
    let (code, shown) = launched.end();
    assert_eq!(code, Some(7), "{shown}");
    let mask = shown.split_once("SigIgn:").and_then(|(_, rest)| rest.split_whitespace().next()).unwrap();
    assert_eq!(u64::from_str_radix(mask, 16).unwrap() & 0b11, 0, "{shown}");
}

#[test]
fn an_interactive_agents_background_is_left_alone_and_its_code_passed_on() {
    let mut launched = launch(&format!("{LONG} >/dev/null & READY; exit 7"), true);
    assert_eq!(launched.child.wait().unwrap().code(), Some(7));
    assert_eq!(marked(&launched.entry), ["sleep"]);
    for proc in sys::list_processes().unwrap() {
        if sys::environ_has(proc.pid, launched.entry.as_bytes()) {
            let pidfd = sys::open_pidfd(proc.pid, proc.start_time).unwrap();
            sys::send_signal(&pidfd, Signal::KILL).unwrap();
        }
    }
}

#[test]
fn ctrl_c_is_an_interactive_agents_own_and_sigterm_is_passed_on() {
    let script = "trap 'echo agent term; exit 9' TERM; READY; for i in $(seq 600); do sleep 0.05; done";
    let launched = launch(script, true);
    launched.signal(Signal::INT);
    launched.signal(Signal::QUIT);
    std::thread::sleep(Duration::from_millis(100));
    launched.signal(Signal::TERM);
    let (code, shown) = launched.end();
    assert_eq!(code, Some(143), "{shown}");
    assert!(shown.contains("agent term"), "{shown}");
}
