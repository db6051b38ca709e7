//! Which channel a prompt travels by, how much each holds, and agents that treat their pipes badly.

use std::time::Duration;

use amplihack_testkit::script::{StdinPlan, Step};
use amplihack_testkit::{Bytes, Script, StdinKind};

use crate::fakes::{bare, fakes, launch, launch_with, refused, shape, warnings};
use crate::world::prepare;

#[test]
fn a_request_for_a_channel_is_met_or_degraded_with_one_warning() {
    let mut sandbox = fakes();
    let (short, long) = ("SECRETPROMPT".to_owned(), "SECRETPROMPT ".repeat(400));
    let bogus = "AMPLIHACK_PROMPT_DELIVERY is not one of auto, argv, tempfile, stdin; using auto";
    let degraded = "requested tempfile is unsupported; degrading to stdin";
    for agent in ["claude", "codex", "copilot", "amp"] {
        for (value, short_kind, long_kind, warning) in [
            ("auto", StdinKind::Null, StdinKind::Pipe, None),
            ("argv", StdinKind::Null, StdinKind::Null, None),
            (" STDIN ", StdinKind::Pipe, StdinKind::Pipe, None),
            ("tempfile", StdinKind::Pipe, StdinKind::Pipe, Some(degraded)),
            ("bogus-value", StdinKind::Null, StdinKind::Pipe, Some(bogus)),
        ] {
            sandbox.set("AMPLIHACK_PROMPT_DELIVERY", value);
            for (prompt, kind) in [(&short, short_kind), (&long, long_kind)] {
                let (output, record) = launch(&sandbox, &[agent, "--prompt", prompt]);
                assert_eq!(record.stdin_kind, kind, "{agent}, {value}");
                assert_eq!(warnings(&output), Vec::from_iter(warning), "{agent}, {value}");
                output.assert_nowhere("SECRETPROMPT").assert_nowhere("bogus-value");
            }
        }
    }
    assert_eq!(std::fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0);
}

#[test]
fn a_step_of_a_recipe_takes_the_requested_channel() {
    let mut sandbox = fakes();
    sandbox.write("work/a.yaml", "name: a\nsteps:\n  - {id: p, type: agent, prompt: SHORTPROMPT}\n");
    for (value, kind) in [("stdin", StdinKind::Pipe), ("argv", StdinKind::Null), ("auto", StdinKind::Pipe)] {
        sandbox.set("AMPLIHACK_PROMPT_DELIVERY", value);
        prepare(&sandbox, &["recipe", "run", "a.yaml", "--agent", "claude"]).output();
        let record = sandbox.runs().pop().unwrap();
        assert_eq!(record.stdin_kind, kind, "{value}");
        let on_argv = record.args().iter().any(|word| word.lossy().contains("SHORTPROMPT"));
        assert_eq!(on_argv, kind == StdinKind::Null, "{value}");
    }
}

#[test]
fn amplifier_takes_argv_only_and_says_so_before_anything_is_started() {
    let mut sandbox = bare();
    sandbox.amplifier_stand_in();
    for value in ["stdin", "tempfile", "Tempfile"] {
        sandbox.set("AMPLIHACK_PROMPT_DELIVERY", value);
        for args in
            [&["amplifier", "SECRETPROMPT"][..], &["amplifier", "--", "run", "-p", "x", "SECRETPROMPT"]]
        {
            let output = refused(&sandbox, prepare(&sandbox, args), 1);
            output.assert_nowhere("SECRETPROMPT").assert_stderr_has(&format!(
                "error: amplifier prompt delivery mode '{}' is unsupported: ",
                value.to_lowercase()
            ));
            output.assert_stderr_has("hint: unset AMPLIHACK_PROMPT_DELIVERY");
            assert_eq!(sandbox.starts(), [], "not even for its version");
        }
    }
    assert_eq!(std::fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0, "no file was made");
    assert!(!sandbox.work().join(".claude").exists());
    for value in ["auto", "argv", ""] {
        sandbox.set("AMPLIHACK_PROMPT_DELIVERY", value);
        let (output, _) = launch(&sandbox, &["amplifier", "--model", "m", "--prompt", "--help"]);
        output.assert_stderr(
            "warning: amplifier runs without a guard: it has no command hooks; nothing stands in for them\n",
        );
        assert_eq!(sandbox.accepted().pop().unwrap().prompt, Some(Bytes::from("--help")));
    }
}

#[test]
fn one_argument_holds_131071_bytes() {
    let mut sandbox = bare();
    sandbox.amplifier_stand_in();
    sandbox.fake("copilot");
    let file = |bytes: usize| {
        let path = sandbox.write(format!("prompt-{bytes}"), "x".repeat(bytes));
        path.to_str().unwrap().to_owned()
    };
    launch(&sandbox, &["amplifier", "--prompt-file", &file(131_071)]);
    assert_eq!(sandbox.accepted().pop().unwrap().prompt.unwrap().0.len(), 131_071);
    for bytes in [131_072, 200_000] {
        let output = refused(&sandbox, prepare(&sandbox, &["amplifier", "--prompt-file", &file(bytes)]), 1);
        output.assert_stderr(format!(
            "error: the prompt has {bytes} bytes and no channel of amplifier in headless mode holds more than 131071; \
             these could take it: claude (stdin), copilot (stdin), codex (stdin), amp (stdin), gemini (stdin)\n\
             hint: run it with `amplihack claude -p --prompt-file FILE`\n"
        ));
        assert_eq!(sandbox.starts(), [], "not even for its version");
    }
    let how = |bytes: usize| {
        let (output, record) = launch(&sandbox, &["copilot", "--prompt-file", &file(bytes)]);
        (record.stdin_kind, warnings(&output))
    };
    assert_eq!(how(4096), (StdinKind::Null, vec![]));
    assert_eq!(how(4097), (StdinKind::Pipe, vec![]));
}

#[test]
fn a_flag_before_the_prompt_counts() {
    let mut sandbox = fakes();
    sandbox.set("AMPLIHACK_PROMPT_DELIVERY", "argv");
    let most = 131_071 - "--prompt=".len();
    for (bytes, kind, count) in [(most, StdinKind::Null, 0), (most + 1, StdinKind::Pipe, 1)] {
        let file = sandbox.write("prompt", "x".repeat(bytes));
        let (output, record) = launch(&sandbox, &["copilot", "--prompt-file", file.to_str().unwrap()]);
        assert_eq!((record.stdin_kind, warnings(&output).len()), (kind, count), "{bytes}: {output}");
    }
}

#[test]
fn nul_bytes_are_removed_and_counted() {
    let sandbox = fakes();
    for (prompt, expected, warning) in [
        ("a\0b", "exec|--|ab", "1 NUL byte was removed from the prompt"),
        ("a\0b\0c\0", "exec|--|abc", "3 NUL bytes were removed from the prompt"),
    ] {
        let (output, record) = launch_with(&sandbox, &["codex"], prompt);
        assert_eq!((shape(&record), warnings(&output)), (expected.to_owned(), vec![warning.to_owned()]));
    }
    refused(&sandbox, prepare(&sandbox, &["codex"]).stdin("\0\0"), 2)
        .assert_stderr_has("the prompt is empty");
    let long = "\0x".repeat(5000);
    let (output, record) = launch_with(&sandbox, &["codex"], &long);
    assert_eq!(shape(&record), format!("exec|- < {}", "x".repeat(5000)));
    assert_eq!(warnings(&output), ["5000 NUL bytes were removed from the prompt"]);
}

const MIB: usize = 1024 * 1024;

#[test]
fn two_megabytes_reach_an_agent_whatever_it_does_with_its_pipes() {
    let mut sandbox = fakes();
    let prompt = "0123456789abcdef".repeat(2 * MIB / 16);
    let file = sandbox.write("prompt", &prompt);
    let args = ["claude", "--prompt-file", file.to_str().unwrap()];
    // Reads first, answers as much.
    sandbox.script(&Script::new().then(Step::EchoStdin));
    assert_eq!(launch(&sandbox, &args).0.stdout, prompt.as_bytes());
    // Closes stdin early, and answers all the same: what it answers is passed on, and the run is no success.
    sandbox.script(&Script::new().stdin(StdinPlan::First(1000)).then(Step::PrintBytes(MIB)));
    let output = prepare(&sandbox, &args).output();
    assert_eq!(output.assert_code(1).stdout.len(), MIB);
    assert_eq!(sandbox.runs().pop().unwrap().stdin.unwrap().0.len(), 1000);
    output.assert_stderr_has("bytes of the prompt unread; the run is not a success");
    // Fills stdout before it reads.
    let late = "/usr/bin/head -c 1048576 /dev/zero; /bin/sleep 0.1; /usr/bin/sha256sum >&2";
    sandbox.script(&Script::new().stdin(StdinPlan::Never).shell(late));
    let (output, _) = launch(&sandbox, &args);
    assert_eq!(output.stdout.len(), MIB);
    let sum = sandbox.run("/usr/bin/sha256sum", ["../prompt"]).stdout_text();
    assert_eq!(output.stderr_text().split(' ').next(), sum.split(' ').next());
    // Never reads.
    sandbox.script(&Script::new().stdin(StdinPlan::Never).print("done\n").exit(7));
    let output = prepare(&sandbox, &args).timeout(Duration::from_secs(10)).output();
    output.assert_code(7).assert_stdout("done\n").assert_stderr_has("bytes of the prompt unread");
    // Reads late.
    sandbox.script(&Script::new().stdin(StdinPlan::LateMs(100)).then(Step::EchoStdin));
    assert_eq!(launch(&sandbox, &args).0.stdout, prompt.as_bytes());
}
