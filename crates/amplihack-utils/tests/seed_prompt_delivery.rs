//! The seed's tables "Regression contract" and "Security and lifecycle guarantees": one test a row that concerns the
//! engine, named after the row, through real children. Rows about agents are tested where agents are known.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail loudly, too")]

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use amplihack_config::env::Env;
use amplihack_testkit::logged;
use amplihack_utils::prompt_delivery::{
    DeliveryCaps, DeliveryHandle, DeliveryMode, DeliveryWarning, ENV_VAR_NAME, PromptDelivery, deliver,
    from_env_in, sanitize_nul, select_delivery, select_mode,
};

const ALL_REQUESTS: [PromptDelivery; 4] =
    [PromptDelivery::Auto, PromptDelivery::Argv, PromptDelivery::Tempfile, PromptDelivery::Stdin];

/// A word of the long prompt that must not turn up where the prompt does not belong.
const SECRET: &str = "marsupial";

/// 64 KiB with apostrophes and whatever else a shell would take for its own.
fn long_prompt() -> String {
    let mut prompt =
        format!("don't '{SECRET}' \"$HOME\" $(id) `id`; rm -f x && \\ > y \u{6f22}\n").repeat(2000);
    let end = prompt.floor_char_boundary(64 * 1024 - 1);
    prompt.truncate(end);
    while prompt.len() < 64 * 1024 {
        prompt.push('\'');
    }
    prompt
}

/// Programs that print their prompt, by the way in which they take it.
fn printer(mode: DeliveryMode) -> Command {
    let mut cmd = match mode {
        DeliveryMode::Argv => Command::new("printf"),
        DeliveryMode::Tempfile | DeliveryMode::Stdin => Command::new("cat"),
    };
    if mode == DeliveryMode::Argv {
        cmd.arg("%s");
    }
    cmd.stdin(Stdio::null()).stdout(Stdio::piped());
    cmd
}

/// What such programs support, each channel alone or all of them; the path stands without a flag.
fn caps(argv: bool, tempfile: bool, stdin: bool) -> DeliveryCaps {
    DeliveryCaps {
        supports_argv: argv,
        supports_tempfile: tempfile,
        supports_stdin: stdin,
        tempfile_flag: None,
    }
}

/// Writes the whole prompt, flushes and closes, as the seed demands of a caller.
fn feed(stdin: Option<ChildStdin>, prompt: &str) {
    if let Some(mut stdin) = stdin {
        stdin.write_all(sanitize_nul(prompt).0.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }
}

/// Delivers `prompt` to a printer of `mode` and returns what it printed.
fn round_trip(prompt: &str, requested: PromptDelivery, mode: DeliveryMode) -> Vec<u8> {
    let mut cmd = printer(mode);
    let only = caps(mode == DeliveryMode::Argv, mode == DeliveryMode::Tempfile, mode == DeliveryMode::Stdin);
    let handle = deliver(&mut cmd, prompt, requested, &only).unwrap();
    assert_eq!(handle.mode(), mode);
    let mut child = cmd.spawn().unwrap();
    let stdin = child.stdin.take();
    std::thread::scope(|scope| {
        scope.spawn(|| feed(stdin, prompt));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{mode}");
        output.stdout
    })
}

/// Waits for the child, but not for ever.
fn wait(child: &mut Child) {
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What the system says the child was started with; empty for an instant after the start.
fn cmdline(child: &Child) -> Vec<u8> {
    let started = Instant::now();
    loop {
        let cmdline = std::fs::read(format!("/proc/{}/cmdline", child.id())).unwrap();
        if !cmdline.is_empty() || started.elapsed() > Duration::from_secs(20) {
            return cmdline;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn degrading(requested: PromptDelivery, effective: DeliveryMode) -> Vec<DeliveryWarning> {
    vec![DeliveryWarning::UnsupportedMode { requested, effective }]
}

mod regression_contract {
    use super::*;

    #[test]
    fn long_prompt_privacy() {
        let prompt = long_prompt();
        for requested in [PromptDelivery::Auto, PromptDelivery::Tempfile, PromptDelivery::Stdin] {
            for long_form in [caps(true, true, false), caps(true, false, true), caps(true, true, true)] {
                if requested == PromptDelivery::Stdin && !long_form.supports_stdin {
                    continue; // degrades to argv, by the row "unsupported stdin request"
                }
                // A child that stays until its stdin ends, so that the system can be asked what it was started with.
                let mut cmd = Command::new("sh");
                cmd.args(["-c", "read -r line", "sh"]).stdin(Stdio::piped());
                let handle = deliver(&mut cmd, &prompt, requested, &long_form).unwrap();
                assert_ne!(handle.mode(), DeliveryMode::Argv);
                let mut child = cmd.spawn().unwrap();
                let cmdline = cmdline(&child);
                drop(child.stdin.take());
                wait(&mut child);
                let text = String::from_utf8_lossy(&cmdline);
                assert!(text.contains("read -r line"), "{text}");
                assert!(!text.contains(SECRET) && text.len() < 1024, "{requested}: {text}");
            }
        }
        // Exempt: only argv. One structured element.
        for requested in ALL_REQUESTS {
            let mut cmd = Command::new("agent");
            let handle = deliver(&mut cmd, &prompt, requested, &DeliveryCaps::argv_only()).unwrap();
            assert_eq!(handle.mode(), DeliveryMode::Argv);
            assert!(cmd.get_args().eq([OsStr::new(&prompt)]));
        }
    }

    #[test]
    fn prompt_fidelity() {
        let prompt = long_prompt();
        assert_eq!(prompt.len(), 64 * 1024);
        for mode in [DeliveryMode::Argv, DeliveryMode::Tempfile, DeliveryMode::Stdin] {
            assert!(round_trip(&prompt, PromptDelivery::Auto, mode) == prompt.as_bytes(), "{mode}");
        }
    }

    #[test]
    fn structured_argv_safety() {
        for prompt in
            ["it's", "\"", ";id", "$HOME", "$(id)", "`id`", "a b  c", "*", "~", "\\", "|&<>\n", "-n", "#"]
        {
            let mut cmd = Command::new("printf");
            cmd.arg("[%s]").stdout(Stdio::piped());
            let _handle =
                deliver(&mut cmd, prompt, PromptDelivery::Argv, &DeliveryCaps::argv_only()).unwrap();
            // printf repeats its format for each further argument: two elements would show as two brackets.
            let printed = cmd.output().unwrap().stdout;
            assert_eq!(String::from_utf8(printed).unwrap(), format!("[{prompt}]"));
        }
    }

    #[test]
    fn unsupported_tempfile_request() {
        let requested = PromptDelivery::Tempfile;
        for (supported, effective) in [
            (caps(true, false, true), DeliveryMode::Stdin),
            (caps(false, false, true), DeliveryMode::Stdin),
            (caps(true, false, false), DeliveryMode::Argv),
        ] {
            let selection = select_delivery(requested, 10, &supported).unwrap();
            assert_eq!((selection.mode, selection.warnings), (effective, degrading(requested, effective)));
            let log = logged(|| {
                let handle = deliver(&mut Command::new("agent"), "short", requested, &supported).unwrap();
                assert_eq!(handle.mode(), effective);
            });
            let warning = format!("requested tempfile is unsupported; degrading to {effective}");
            assert!(log.contains("WARN") && log.contains(&warning), "{log}");
        }
    }

    #[test]
    fn unsupported_stdin_request() {
        let requested = PromptDelivery::Stdin;
        for supported in [caps(true, false, false), caps(true, true, false)] {
            let selection = select_delivery(requested, 64 * 1024, &supported).unwrap();
            assert_eq!(selection.mode, DeliveryMode::Argv, "never a file");
            assert_eq!(selection.warnings, degrading(requested, DeliveryMode::Argv));
            let log = logged(|| {
                let handle =
                    deliver(&mut Command::new("agent"), &long_prompt(), requested, &supported).unwrap();
                assert_eq!((handle.mode(), handle.tempfile_path()), (DeliveryMode::Argv, None));
            });
            assert!(log.contains("WARN"), "{log}");
            assert!(log.contains("requested stdin is unsupported; degrading to argv"), "{log}");
        }
        // Not even when a file is all there is.
        assert!(select_delivery(requested, 10, &caps(false, true, false)).is_err());
    }

    #[test]
    fn tempfile_lifetime() {
        let prompt = long_prompt();
        let mut cmd = Command::new("timeout");
        // Reads the file first at once, then again when it is told to, just before it ends.
        cmd.args(["20", "sh", "-c", r#"cat "$1"; echo; read -r go; cat "$1""#, "sh"]);
        cmd.stdin(Stdio::piped()).stdout(Stdio::piped());
        let handle = deliver(&mut cmd, &prompt, PromptDelivery::Tempfile, &caps(false, true, false)).unwrap();
        let path = handle.tempfile_path().unwrap().to_owned();
        let mut child = cmd.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = vec![0; prompt.len() + 1];
        stdout.read_exact(&mut first).unwrap();
        assert!(first == (prompt.clone() + "\n").as_bytes());
        assert!(path.exists());
        stdin.write_all(b"go\n").unwrap();
        let mut second = Vec::new();
        stdout.read_to_end(&mut second).unwrap();
        wait(&mut child);
        assert!(second == prompt.as_bytes());
        assert!(path.exists(), "unlinked before the handle was dropped");
        drop(handle);
        assert!(!path.exists() && !path.parent().unwrap().exists());
    }

    #[test]
    fn stdin_lifecycle() {
        // The child says how much it got only when its stdin has ended: a pipe that somebody keeps open is a hang.
        let prompt = long_prompt();
        let mut cmd = Command::new("wc");
        cmd.arg("-c").stdout(Stdio::piped());
        let handle =
            deliver(&mut cmd, &prompt, PromptDelivery::Stdin, &DeliveryCaps::argv_and_stdin()).unwrap();
        assert_eq!(handle.mode(), DeliveryMode::Stdin);
        let mut child = cmd.spawn().unwrap();
        feed(Some(child.stdin.take().expect("deliver pipes stdin")), &prompt);
        wait(&mut child);
        let mut counted = String::new();
        child.stdout.take().unwrap().read_to_string(&mut counted).unwrap();
        assert_eq!(counted.trim(), prompt.len().to_string());
        drop(handle);
    }

    #[test]
    fn diagnostics_safety() {
        let prompt = long_prompt() + "\0";
        let too_large = prompt.repeat(3);
        let mut shown = Vec::new();
        let log = logged(|| {
            for requested in ALL_REQUESTS {
                for supported in [caps(true, false, false), caps(true, true, true), caps(false, true, false)]
                {
                    for prompt in [&prompt, &too_large] {
                        match deliver(&mut Command::new("agent"), prompt, requested, &supported) {
                            Ok(handle) => shown.push(format!("{handle:?} {}", handle.mode())),
                            Err(error) => shown.push(format!("{error:?} {error}")),
                        }
                        shown.push(format!("{:?}", select_delivery(requested, prompt.len(), &supported)));
                    }
                }
            }
            let missing = Path::new("/nonexistent");
            let error = DeliveryHandle::tempfile_in(missing, &prompt).unwrap_err();
            shown.push(format!("{error:?} {error}"));
            let (_, warning) = from_env_in(&Env::empty().with_variable(ENV_VAR_NAME, "pigeon"));
            shown.push(format!("{warning:?} {}", warning.clone().unwrap()));
        });
        let shown = shown.join(" ");
        assert!(log.contains("requested stdin is unsupported; degrading to argv"), "{log}");
        assert!(log.contains("1 NUL byte was removed from the prompt"), "{log}");
        assert!(shown.contains("does not fit") && shown.contains("/nonexistent"), "{shown}");
        for text in [&log, &shown] {
            assert!(!text.contains(SECRET) && !text.contains("$HOME"), "{text}");
        }
        // The value of the variable stays out of what people are shown.
        assert!(!shown.contains("pigeon"), "{shown}");
    }
}

mod security_and_lifecycle {
    use super::*;

    #[test]
    fn no_shell_command_construction() {
        let dir = tempfile::tempdir().unwrap();
        let sentinel = dir.path().join("sentinel");
        let touch = format!("touch {}", sentinel.display());
        for prompt in
            [format!("$({touch})"), format!("`{touch}`"), format!("'; {touch}; '"), format!("\n{touch}\n")]
        {
            for mode in [DeliveryMode::Argv, DeliveryMode::Tempfile, DeliveryMode::Stdin] {
                assert_eq!(round_trip(&prompt, PromptDelivery::Auto, mode), prompt.as_bytes());
                assert!(!sentinel.exists(), "{mode}: {prompt}");
            }
        }
        // The program is the caller's; nothing is put in front of it.
        let mut cmd = Command::new("agent");
        let _handle = deliver(&mut cmd, "$(id)", PromptDelivery::Argv, &DeliveryCaps::argv_only()).unwrap();
        assert_eq!(cmd.get_program(), "agent");
    }

    #[test]
    fn no_prompt_logging() {
        let prompt = format!("{SECRET} with a \0");
        for mode in [DeliveryMode::Argv, DeliveryMode::Tempfile, DeliveryMode::Stdin] {
            for requested in ALL_REQUESTS {
                let only = caps(
                    mode == DeliveryMode::Argv,
                    mode == DeliveryMode::Tempfile,
                    mode == DeliveryMode::Stdin,
                );
                let log = logged(|| drop(deliver(&mut Command::new("agent"), &prompt, requested, &only)));
                assert!(!log.contains(SECRET), "{log}");
            }
        }
    }

    #[test]
    fn restricted_tempfiles() {
        let handle = deliver(
            &mut Command::new("agent"),
            "private",
            PromptDelivery::Tempfile,
            &DeliveryCaps::argv_and_tempfile("--file"),
        )
        .unwrap();
        let path = handle.tempfile_path().unwrap().to_owned();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        drop(handle);
        assert!(!path.exists() && !path.parent().unwrap().exists());
    }

    #[test]
    fn child_lifetime_ownership() {
        // The command may go, the handle may move to another thread: the child finds the file as long as the handle is.
        let mut cmd = Command::new("sh");
        cmd.args(["-c", r#"read -r go; cat "$1""#, "sh"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let handle =
            deliver(&mut cmd, "it's here", PromptDelivery::Tempfile, &caps(false, true, false)).unwrap();
        let mut child = cmd.spawn().unwrap();
        drop(cmd);
        let owner = std::thread::spawn(move || {
            child.stdin.take().unwrap().write_all(b"go\n").unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            wait(&mut child);
            (line, handle)
        });
        let (line, handle) = owner.join().unwrap();
        assert_eq!(line, "it's here");
        assert!(handle.tempfile_path().unwrap().exists());

        // And a panic of the owner removes it, too.
        let path = handle.tempfile_path().unwrap().to_owned();
        let panicked = std::thread::spawn(move || {
            let _handle = handle;
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert!(!path.exists());
    }

    #[test]
    fn closed_stdin() {
        // More than two pipes hold, to a child that writes as it reads: this ends only if the prompt is written while
        // the output is read, and closed although the handle is still there.
        let prompt = long_prompt().repeat(8);
        let mut cmd = printer(DeliveryMode::Stdin);
        let handle =
            deliver(&mut cmd, &prompt, PromptDelivery::Auto, &DeliveryCaps::argv_and_stdin()).unwrap();
        let mut child = cmd.spawn().unwrap();
        let stdin = Some(child.stdin.take().unwrap());
        let mut stdout = child.stdout.take().unwrap();
        let printed = std::thread::scope(|scope| {
            scope.spawn(|| feed(stdin, &prompt));
            let mut printed = Vec::new();
            stdout.read_to_end(&mut printed).unwrap();
            printed
        });
        wait(&mut child);
        assert!(printed == prompt.as_bytes());
        assert_eq!(handle.mode(), DeliveryMode::Stdin);
    }

    #[test]
    fn static_capabilities() {
        for value in ["tempfile", "stdin", "argv", "auto", "STDIN"] {
            let (requested, _) = from_env_in(&Env::empty().with_variable(ENV_VAR_NAME, value));
            for size in [0, 4096, 4097, 64 * 1024] {
                assert_eq!(select_mode(requested, size, &DeliveryCaps::argv_only()), DeliveryMode::Argv);
            }
            let mut cmd = Command::new("agent");
            let handle = deliver(&mut cmd, &long_prompt(), requested, &DeliveryCaps::argv_only()).unwrap();
            assert_eq!((handle.mode(), handle.tempfile_path()), (DeliveryMode::Argv, None));
            assert_eq!(cmd.get_args().count(), 1);
        }
    }

    #[test]
    fn deterministic_handling() {
        use DeliveryMode::{Argv, Stdin, Tempfile};
        // The degradation orders of the seed, by taking away one channel after the other.
        for (requested, order) in [
            (PromptDelivery::Argv, &[Argv, Tempfile, Stdin][..]),
            (PromptDelivery::Tempfile, &[Tempfile, Stdin, Argv]),
            (PromptDelivery::Stdin, &[Stdin, Argv]),
            (PromptDelivery::Auto, &[Tempfile, Stdin, Argv]),
        ] {
            let mut left = DeliveryCaps::all_modes("--file");
            for (taken, &mode) in order.iter().enumerate() {
                let selection = select_delivery(requested, 64 * 1024, &left).unwrap();
                let silent = taken == 0 || requested == PromptDelivery::Auto;
                let warnings = if silent { Vec::new() } else { degrading(requested, mode) };
                assert_eq!((selection.mode, &selection.warnings), (mode, &warnings), "{requested}");
                assert_eq!(
                    select_delivery(requested, 64 * 1024, &left).unwrap(),
                    selection,
                    "twice the same"
                );
                match mode {
                    Argv => left.supports_argv = false,
                    Tempfile => left.supports_tempfile = false,
                    Stdin => left.supports_stdin = false,
                }
            }
            let mut cmd = Command::new("agent");
            let error = deliver(&mut cmd, "x", requested, &left).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{requested}");
            assert_eq!(cmd.get_args().count(), 0);
        }
    }
}
