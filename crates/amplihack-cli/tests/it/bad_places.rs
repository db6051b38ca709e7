//! Bad places: directories without rights, full and read-only disks, a broken home, a stdout that takes nothing.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use amplihack_testkit::{Bytes, Run, Sandbox, skip_test};

use crate::fakes::{
    fakes, forget, is_root, launch, launched, prepare_program, unprivileged, warnings, without_privilege,
};
use crate::world::{amplihack, prepare};

#[test]
fn a_directory_that_is_gone_is_named() {
    let mut sandbox = fakes();
    sandbox.set("GONE_BINARY", amplihack());
    for args in ["claude hi", "which", "which --json", "doctor", "config show"] {
        let script = format!("mkdir gone && cd gone && rmdir ../gone && exec \"$GONE_BINARY\" {args}");
        let output =
            prepare_program(&sandbox, "/bin/sh").args(["-c", &script]).env("PATH", "/usr/bin:/bin").output();
        output.assert_code(1);
        let text = "cannot use the current directory: No such file or directory";
        if args.ends_with("--json") {
            assert_eq!(output.json()["error"]["kind"], "system");
            output.assert_stdout_has(text).assert_stderr("");
        } else {
            output.assert_stdout("").assert_stderr_has(&format!("error: {text}"));
        }
    }
    assert_eq!(sandbox.starts(), []);
}

#[test]
fn a_directory_without_rights_is_named_and_one_that_can_be_entered_is_enough() {
    let sandbox = fakes();
    // Entered first, by everyone; what it becomes then is held against the launch.
    let run = |mode: &str| {
        forget(&sandbox);
        let script = format!("/bin/chmod {mode} . && exec \"$@\"");
        unprivileged(&sandbox, "/bin/sh")
            .args(["-c", &script, "sh"])
            .arg(amplihack())
            .args(["claude", "hi"])
            .output()
    };
    let refused = run("000");
    assert_eq!(sandbox.runs(), []);
    // For the next shell.
    fs::set_permissions(sandbox.work(), Permissions::from_mode(0o755)).unwrap();
    let entered = run("111");
    assert_eq!(sandbox.runs().len(), 1);
    fs::set_permissions(sandbox.work(), Permissions::from_mode(0o755)).unwrap();
    refused.assert_code(1).assert_stdout("").assert_stderr(format!(
        "error: the directory {} cannot be used: Permission denied (os error 13)\n\
         hint: check that it exists and may be entered\n",
        sandbox.work().display()
    ));
    entered.assert_code(0);
    assert_eq!(warnings(&entered).len(), 1, "{entered}");
}

#[test]
fn a_broken_home_does_not_stop_a_launch() {
    for home in [None, Some("relative/home"), Some("")] {
        let mut sandbox = fakes();
        match home {
            Some(home) => sandbox.set("HOME", home),
            None => sandbox.unset("HOME"),
        };
        let (output, record) = launch(&sandbox, &["claude", "hi"]);
        output.assert_stderr("");
        assert_eq!(record.variable("HOME").map(Bytes::lossy), home.map(str::to_owned));
        assert!(!sandbox.work().join("relative").exists() && !sandbox.work().join(".amplihack").exists());
        prepare(&sandbox, &["which"]).output().assert_code(0).assert_stdout("claude\n");
        let doctor = prepare(&sandbox, &["doctor"]).output();
        doctor.assert_code(1).assert_stdout_has("neither AMPLIHACK_HOME nor HOME is an absolute path");
    }
}

#[test]
fn a_home_that_cannot_be_written_is_one_warning() {
    let sandbox = fakes();
    fs::set_permissions(sandbox.home(), Permissions::from_mode(0o555)).unwrap();
    let (output, _) = launched(&sandbox, without_privilege(&sandbox, &["claude", "hi"]));
    assert_eq!(warnings(&output).len(), 1, "{output}");
    output.assert_stderr_has(&format!("{}/.amplihack/sessions/", sandbox.home().display()));
    output.assert_stderr_has("Permission denied (os error 13)");
}

#[test]
fn a_full_stdout_is_an_error_that_names_it_and_one_that_nobody_reads_is_none() {
    let sandbox = fakes();
    for args in [
        &["which"][..],
        &["which", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["config", "show"],
        &["sessions", "list"],
        &["sessions", "list", "--json"],
        &["recipe", "list"],
        &["completions", "bash"],
        &["claude", "--dry-run", "hi"],
        &["--version"],
        &["--help"],
    ] {
        for closed in [false, true] {
            let stdout: Stdio = if closed { closed_pipe() } else { full_device() };
            let mut command = sandbox.command(amplihack());
            command.args(args).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
            let output = command.spawn().unwrap().wait_with_output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            // Who stops reading what is only printed has read enough.
            if closed && args[0] != "doctor" && args[0] != "claude" {
                assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{args:?}");
                continue;
            }
            assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
            let cause = if closed { "Broken pipe" } else { "No space left on device" };
            let expected = format!("error: stdout could not be written: {cause}");
            assert!(stderr.contains(&expected), "{args:?}: {stderr}");
        }
    }
}

fn full_device() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Runs `amplihack` with `args` in a mount namespace of its own, after `mounts` (shell text).
fn mounted(sandbox: &Sandbox, mounts: &str, args: &[&str]) -> Option<Run> {
    let possible = is_root()
        && Command::new("/usr/bin/unshare")
            .args(["--mount", "/bin/sh", "-c", "mount -t tmpfs none /mnt"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
    if !possible {
        skip_test("file systems cannot be mounted here; run as root");
        return None;
    }
    // The directory is entered again, since the old one lies below the mount.
    let script = format!("set -e; {mounts}\ncd \"$PWD\"; PATH=\"$OWN_PATH\" exec \"$@\"");
    let path = sandbox.env().get("PATH").unwrap_or_default();
    let run = prepare_program(sandbox, "/usr/bin/unshare")
        .env("OWN_PATH", path)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    Some(run.args(["--mount", "/bin/sh", "-c", &script, "sh"]).arg(amplihack()).args(args))
}

#[test]
fn a_read_only_repository_is_one_warning() {
    let sandbox = fakes();
    let read_only = "mount --bind . . && mount -o remount,bind,ro .";
    let Some(run) = mounted(&sandbox, read_only, &["claude", "hi"]) else { return };
    let (output, _) = launched(&sandbox, run);
    output.assert_stderr(format!(
        "warning: descendants can learn the agent only from their environment: {}/.claude: Read-only file system (os error 30); check its permissions and the space left\n",
        sandbox.work().display()
    ));
}

#[test]
fn a_full_disk_is_a_warning_and_leaves_nothing_half_written() {
    let sandbox = fakes();
    let home = sandbox.home();
    // Small file systems without a free block: directories can be made, files have no room.
    let full = |directory: &str, extra: &str| {
        format!(
            "mount -t tmpfs -o size=16k none {directory}; {extra} cat /dev/zero >{directory}/filler 2>/dev/null || :;"
        )
    };
    let mounts = full("\"$PWD\"", "mkdir \"$PWD/.git\";") + &full("\"$HOME\"", "");
    let listing = "/usr/bin/find \"$HOME\" \"$PWD\" ! -name filler -type f";
    let script = format!(
        "cd \"$PWD\"; \"$0\" claude --no-hooks hi; echo code=$?; \"$0\" claude hi; echo code=$?; cd \"$PWD\"; {listing}"
    );
    let Some(run) = mounted(&sandbox, &format!("{mounts} set -- /bin/sh -c '{script}' \"$1\""), &[]) else {
        return;
    };
    forget(&sandbox);
    let output = run
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("AMPLIHACK_CLAUDE_PATH", sandbox.bin().join("claude"))
        .output();
    output.assert_code(0);
    assert_eq!(sandbox.runs().len(), 1, "{output}");
    // The second launch has no room for its guard, without which the agent is not started.
    assert_eq!(output.stdout_text(), "code=0\ncode=1\n", "no file is left: {output}");
    output.assert_stderr_has("error: the hooks of this launch cannot be written to ");
    let warnings: Vec<_> = warnings(&output).into_iter().take(2).collect();
    assert!(warnings.iter().all(|line| line.contains("No space left on device")), "{output}");
    assert!(warnings.iter().any(|line| line.contains(&*home.to_string_lossy())), "{output}");
}

#[test]
fn a_full_temporary_directory_does_not_matter_where_no_file_is_made() {
    let mut sandbox = fakes();
    sandbox.set("TMPDIR", "/no-such-directory");
    let long = "x".repeat(5000);
    launch(&sandbox, &["claude", "--prompt", &long]).0.assert_stderr("");
}
