//! Bad input: a clear error that names the thing and the right exit code, before anything is started.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use amplihack_testkit::Run;

use crate::fakes::{bare, fakes, launch, launched, refused, without_privilege};
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
                "error: {agent} was not found on PATH or in its usual install locations\n\
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
    for path in [file.as_path(), &sandbox.work(), Path::new("/no-such-directory/claude")] {
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
        ("#!/no-such-directory/interpreter\n", 3, "No such file or directory"),
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
fn a_prompt_file_that_cannot_be_read_is_named() {
    let sandbox = fakes();
    sandbox.write("work/latin1", b"caf\xe9");
    sandbox.write("work/empty", "");
    sandbox.write("work/secret", "x");
    fs::set_permissions(sandbox.root().join("work/secret"), Permissions::from_mode(0o0)).unwrap();
    for (path, code, text) in [
        ("missing", 1, "error: cannot read missing: No such file or directory"),
        (".", 1, "error: cannot read .: Is a directory"),
        ("secret", 1, "error: cannot read secret: Permission denied"),
        ("latin1", 2, "error: latin1 is not UTF-8 at byte 3\nhint: a prompt is text; convert it"),
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
    let mut args: Vec<_> = record.args().iter().map(|word| word.0.clone()).collect();
    // The guard's own words, which have tests of their own.
    args.drain(1..3);
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
