//! Bad input and bad places: a clear error that names the thing, the right exit code, nothing half-written.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use amplihack_testkit::{Run, Sandbox, loud};

use crate::fakes::{bare, fakes, forget, launch, launched, refused, warnings};
use crate::world::{amplihack, prepare};

#[test]
fn a_missing_agent_is_named_with_the_command_that_installs_it() {
    let sandbox = bare();
    for (agent, install) in [
        ("claude", "npm install -g @anthropic-ai/claude-code"),
        ("copilot", "npm install -g @github/copilot"),
        ("codex", "npm install -g @openai/codex"),
        ("amplifier", "uv tool install git+https://github.com/microsoft/amplifier"),
        ("amp", "npm install -g @ampcode/cli"),
    ] {
        for args in [&[agent, "hi"][..], &[agent, "--", "--version"], &[agent, "--dry-run", "hi"]] {
            let output = refused(&sandbox, prepare(&sandbox, args), 3);
            output.assert_stderr(format!(
                "error: {agent} was not found on PATH or in its install places\n\
                 hint: install it: {install}; or name it in AMPLIHACK_{}_PATH\n",
                agent.to_uppercase()
            ));
        }
    }
    assert!(!sandbox.work().join(".claude").exists());
}

#[test]
fn a_configured_path_that_is_no_program_is_an_error_and_not_passed_over() {
    let sandbox = fakes();
    let file = sandbox.write("work/file", "text");
    for path in [file.as_path(), &sandbox.work(), Path::new("/nowhere/claude")] {
        let run = prepare(&sandbox, &["claude", "hi"]).env("AMPLIHACK_CLAUDE_PATH", path);
        let output = refused(&sandbox, run, 3);
        output.assert_stderr(format!(
            "error: AMPLIHACK_CLAUDE_PATH names {}, which is not an executable file\n\
             hint: correct AMPLIHACK_CLAUDE_PATH, or remove it to look on PATH\n",
            path.display()
        ));
    }
    let run = prepare(&sandbox, &["claude", "hi"]).env("AMPLIHACK_CLAUDE_PATH", sandbox.bin().join("codex"));
    assert_eq!(launched(&sandbox, run).1.name, "codex");
}

#[test]
fn a_program_that_cannot_run_is_named() {
    let sandbox = bare();
    for (text, code, cause) in [
        ("#!/nowhere/interpreter\n", 3, "No such file or directory"),
        ("#!/etc/passwd\n", 1, "Permission denied"),
    ] {
        let path = sandbox.write("bin/claude", text);
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        let output = refused(&sandbox, prepare(&sandbox, &["claude", "hi"]), code);
        output.assert_stderr_has(&format!("error: start {}: {cause}", path.display()));
        assert_eq!(fs::read_dir(sandbox.home().join(".amplihack/sessions")).unwrap().count(), 0);
    }
}

#[test]
fn a_directory_that_is_gone_is_named() {
    let mut sandbox = fakes();
    sandbox.set("GONE_BINARY", amplihack());
    for args in ["claude hi", "which", "which --json", "doctor", "config show"] {
        let script = format!("mkdir gone && cd gone && rmdir ../gone && exec \"$GONE_BINARY\" {args}");
        let output =
            prepare_program(&sandbox, "/bin/sh").args(["-c", &script]).env("PATH", "/usr/bin:/bin").output();
        output.assert_code(1);
        let text = "the current directory cannot be used: No such file or directory";
        if args.ends_with("--json") {
            assert_eq!(output.json()["error"]["kind"], "system");
            output.assert_stdout_has(text).assert_stderr("");
        } else {
            output.assert_stdout("").assert_stderr_has(&format!("error: {text}"));
        }
    }
    assert_eq!(sandbox.starts(), []);
}

fn prepare_program(sandbox: &Sandbox, program: &str) -> Run {
    Run::new(sandbox.command(program))
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// `amplihack` with `args`, held to the permissions of files although it may run as root.
fn without_privilege(sandbox: &Sandbox, args: &[&str]) -> Run {
    if !is_root() {
        return prepare(sandbox, args);
    }
    let drop = "-dac_override,-dac_read_search";
    let run = prepare_program(sandbox, "/usr/bin/setpriv");
    run.arg(format!("--inh-caps={drop}")).arg(format!("--bounding-set={drop}")).arg(amplihack()).args(args)
}

#[test]
fn a_directory_without_rights_is_named_and_one_that_can_be_entered_is_enough() {
    let sandbox = fakes();
    let set = |mode: u32| fs::set_permissions(sandbox.work(), Permissions::from_mode(mode)).unwrap();
    let work = sandbox.work();
    let work = work.display();
    set(0o000);
    forget(&sandbox);
    let output = without_privilege(&sandbox, &["claude", "hi"]).output();
    set(0o111);
    forget(&sandbox);
    let entered = without_privilege(&sandbox, &["claude", "hi"]).output();
    let runs = sandbox.runs().len();
    set(0o755);
    output.assert_code(1).assert_stdout("").assert_stderr(format!(
        "error: the directory {work} cannot be used: Permission denied (os error 13)\n\
         hint: check that it exists and may be entered\n"
    ));
    entered.assert_code(0);
    assert_eq!((runs, warnings(&entered).len()), (1, 1), "{entered}");
}

#[test]
fn a_prompt_file_that_cannot_be_read_is_named() {
    let sandbox = fakes();
    sandbox.write("work/latin1", b"caf\xe9");
    sandbox.write("work/empty", "");
    sandbox.write("work/secret", "x");
    fs::set_permissions(sandbox.root().join("work/secret"), Permissions::from_mode(0)).unwrap();
    for (path, code, text) in [
        ("missing", 1, "error: the prompt file missing: No such file or directory"),
        (".", 1, "error: the prompt file .: Is a directory"),
        ("secret", 1, "error: the prompt file secret: Permission denied"),
        (
            "latin1",
            2,
            "error: the prompt file latin1 is not UTF-8 at byte 3\nhint: a prompt is text; convert it",
        ),
        ("empty", 2, "error: the prompt is empty; give one with --prompt, --prompt-file"),
    ] {
        let run = without_privilege(&sandbox, &["claude", "--prompt-file", path]);
        refused(&sandbox, run, code).assert_stderr_has(text);
        assert_eq!(sandbox.starts(), [], "{path}");
    }
}

#[test]
fn a_prompt_that_is_no_text_or_nothing_is_a_usage_error() {
    let sandbox = fakes();
    let odd = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let claude = || prepare(&sandbox, &["claude"]);
    for (run, text) in [
        (claude().arg(odd(b"ab\xffcd")), "the prompt is not UTF-8 at byte 2"),
        (claude().arg("--prompt").arg(odd(b"\xff")), "the prompt is not UTF-8 at byte 0"),
        (claude().arg("--").arg("-p").arg(odd(b"a\xc3")), "the prompt is not UTF-8 at byte 1"),
        (claude().stdin(b"abc\x80".to_vec()), "stdin is not UTF-8 at byte 3"),
        (
            claude().arg("x").arg("--append-system-prompt").arg(odd(b"\xff")),
            "--append-system-prompt is not UTF-8",
        ),
        (claude().arg(""), "the prompt is empty"),
        (claude().args(["--prompt", ""]), "the prompt is empty"),
        (claude().args(["--", "-p", ""]), "the prompt is empty"),
        (claude(), "the prompt is empty"),
        (claude().arg("-p").stdin(""), "the prompt is empty"),
        (claude().arg(odd(b"--\xff")), "unexpected argument"),
        (claude().args(["x", "--permissions", "all"]), "invalid value 'all'"),
        (prepare(&sandbox, &[]).arg(odd(b"\xff")), "unrecognized subcommand"),
    ] {
        refused(&sandbox, run, 2).assert_stderr_has(&format!("error: {text}"));
        assert_eq!(sandbox.starts(), [], "{text}");
    }
    // Values that are no prompts need not be text.
    let run = claude()
        .arg("x")
        .arg("--model")
        .arg(odd(b"m\xff"))
        .arg("--")
        .arg("--verbose")
        .arg(odd(b"--odd=\xfe"));
    let (_, record) = launched(&sandbox, run);
    let args: Vec<_> = record.args().iter().map(|word| word.0.clone()).collect();
    let expected = [&b"-p"[..], b"--model=m\xff", b"--verbose", b"--odd=\xfe", b"--", b"x"];
    assert_eq!(args, expected);
}

#[test]
fn an_agent_in_a_directory_that_is_not_utf8_is_found_and_remembered() {
    let mut sandbox = bare();
    let odd = sandbox.root().join(OsString::from_vec(b"bin-\xff".to_vec()));
    let fake = sandbox.fake("claude");
    fs::create_dir(&odd).unwrap();
    fs::rename(fake, odd.join("claude")).unwrap();
    sandbox.set("PATH", &odd);
    for _ in 0..2 {
        let (output, record) = launch(&sandbox, &["claude", "hi"]);
        output.assert_stderr("");
        assert_eq!(record.argv.first().unwrap().0, odd.join("claude").as_os_str().as_bytes());
    }
    assert_eq!(sandbox.starts().len(), 1, "its version was not asked for again");
}

#[test]
fn a_broken_home_does_not_stop_a_launch() {
    for home in [None, Some("relative/home"), Some(""), Some("/nowhere/home")] {
        let mut sandbox = fakes();
        match home {
            Some(home) => sandbox.set("HOME", home),
            None => sandbox.unset("HOME"),
        };
        let (output, record) = launch(&sandbox, &["claude", "hi"]);
        let expected = usize::from(home == Some("/nowhere/home") && !is_root());
        assert_eq!(warnings(&output).len(), expected, "{home:?}: {output}");
        assert_eq!(record.variable("HOME").map(|value| value.lossy()), home.map(str::to_owned));
        assert!(!sandbox.work().join("relative").exists() && !sandbox.work().join(".amplihack").exists());
        prepare(&sandbox, &["which"]).output().assert_code(0).assert_stdout("claude\n");
        if home != Some("/nowhere/home") {
            let doctor = prepare(&sandbox, &["doctor"]).output();
            doctor.assert_code(1).assert_stdout_has("neither AMPLIHACK_HOME nor HOME is an absolute path");
        }
    }
}

#[test]
fn an_environment_that_leaves_no_room_is_an_error_that_names_the_largest_variable() {
    let mut sandbox = fakes();
    for index in 0..15 {
        sandbox.set(format!("FILLER_{index:02}"), "x".repeat(124_000 + index));
    }
    sandbox.set("BIGGEST", "x".repeat(130_000)).set("AMPLIHACK_PROMPT_DELIVERY", "argv");
    let file = sandbox.write("prompt", "x".repeat(131_000));
    // The limit is a quarter of the stack's.
    let run = Run::new(sandbox.command("/usr/bin/prlimit")).arg("--stack=8388608").arg(amplihack());
    let run = run.args(["claude", "--prompt-file"]).arg(file);
    let output = refused(&sandbox, run, 1);
    output.assert_stderr_has("error: arguments and environment need ");
    output.assert_stderr_has(" bytes, the platform takes 2097152\nhint: the largest variable is BIGGEST;");
    assert!(output.stderr_text().len() < 1000, "{output}");
}

#[test]
fn a_full_stdout_is_an_error_that_names_it() {
    let sandbox = fakes();
    for args in [
        &["which"][..],
        &["which", "--json"],
        &["doctor"],
        &["doctor", "--json"],
        &["config", "show"],
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
        loud("SKIPPED: file systems cannot be mounted here; run as root");
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
    let script = format!("cd \"$PWD\"; \"$0\" claude hi; echo code=$?; cd \"$PWD\"; {listing}");
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
    assert_eq!(output.stdout_text(), "code=0\n", "no file is left: {output}");
    let warnings = warnings(&output);
    assert_eq!(warnings.len(), 2, "{output}");
    assert!(warnings.iter().all(|line| line.contains("No space left on device")), "{output}");
    assert!(warnings.iter().any(|line| line.contains(&*home.to_string_lossy())), "{output}");
}

#[test]
fn a_full_temporary_directory_does_not_matter_where_no_file_is_made() {
    let mut sandbox = fakes();
    sandbox.set("TMPDIR", "/nowhere");
    let long = "x".repeat(5000);
    launch(&sandbox, &["claude", "--prompt", &long]).0.assert_stderr("");
}
