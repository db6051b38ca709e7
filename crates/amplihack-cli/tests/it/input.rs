//! Where prompts come from, in amplihack's own words and in each agent's, and how they travel.

use std::time::Duration;

use amplihack_testkit::script::{StdinPlan, Step};
use amplihack_testkit::{Bytes, Sandbox, Script, StdinKind};

use crate::fakes::{bare, fakes, forget, launch, launch_with, refused, shape, warnings};
use crate::world::prepare;

/// Each command line of amplihack, what is on its stdin, and how the agent must be called.
#[track_caller]
fn called(sandbox: &Sandbox, table: &[(&[&str], &str, &str)]) {
    for (args, stdin, expected) in table {
        let (output, record) = launch_with(sandbox, args, stdin);
        assert_eq!(shape(&record), *expected, "{args:?}\n{output}");
        output.assert_stderr("");
    }
}

#[test]
fn a_prompt_is_a_word_an_option_a_file_or_stdin() {
    let sandbox = fakes();
    sandbox.write("work/prompt.txt", "from a file\n\n");
    called(
        &sandbox,
        &[
            (&["claude", "two words"], "", "-p|--|two words"),
            (&["claude", "help"], "", "-p|--|help"),
            (&["codex", "login"], "", "exec|--|login"),
            (&["codex", "--prompt", "login"], "", "exec|--|login"),
            (&["codex", "--prompt", "exec"], "", "exec|--|exec"),
            (&["copilot", "--prompt", "--version"], "", "--prompt=--version"),
            (&["amp", "--prompt", "-x"], "", "--execute=-x"),
            (&["amplifier", "--prompt=--"], "", "run|--|--"),
            (&["claude", "--prompt-file", "prompt.txt"], "", "-p|--|from a file\n\n"),
            (&["claude", "--prompt-file", "/dev/stdin"], "piped\n", "-p|--|piped\n"),
            (&["claude", "--prompt-file", "-"], "piped\n", "-p|--|piped\n"),
            (&["claude"], "piped\n", "-p|--|piped\n"),
            (&["claude", "-p"], "piped\n", "-p|--|piped\n"),
            (&["claude", "--model", "m"], "piped\n", "-p|--model=m|--|piped\n"),
            (&["claude", "--", "--verbose"], "piped\n", "-p|--verbose|--|piped\n"),
            // With a prompt, stdin is nobody's.
            (&["claude", "word"], "not read", "-p|--|word"),
            (&["amp", "-p", "word", "--"], "not read", "--execute=word"),
            // `codex exec -- -` would read stdin, so this prompt travels there.
            (&["codex", "--prompt", "-"], "", "exec|- < -"),
        ],
    );
}

#[test]
fn piped_stdin_follows_the_prompt_as_one_payload() {
    let sandbox = fakes();
    sandbox.write("work/prompt.txt", "file");
    let one = "word\n\na\nb\n";
    called(
        &sandbox,
        &[
            (&["claude", "--stdin", "word"], "a\nb\n", &format!("-p|--|{one}")),
            (&["codex", "--stdin", "word"], "a\nb\n", &format!("exec|--|{one}")),
            (&["copilot", "--stdin", "word"], "a\nb\n", &format!("--prompt={one}")),
            (&["amplifier", "--stdin", "word"], "a\nb\n", &format!("run|--|{one}")),
            (&["amp", "--stdin", "word"], "a\nb\n", &format!("--execute={one}")),
            (&["amp", "--stdin", "--", "-x", "word"], "a\nb\n", &format!("--execute={one}")),
            (&["claude", "--stdin", "--prompt-file", "prompt.txt"], "a", "-p|--|file\n\na"),
            // Nothing to append, nothing appended.
            (&["claude", "--stdin", "word"], "", "-p|--|word"),
            (&["claude", "--stdin"], "a", "-p|--|a"),
        ],
    );
    let long = "x".repeat(5000);
    let (_, record) = launch_with(&sandbox, &["codex", "--stdin", "word"], &long);
    assert_eq!(shape(&record), format!("exec|- < word\n\n{long}"));
}

#[test]
fn each_agents_own_spelling_of_a_prompt_is_understood() {
    let sandbox = fakes();
    called(
        &sandbox,
        &[
            (&["claude", "--", "Summarize this repository"], "", "-p|--|Summarize this repository"),
            (&["claude", "--", "-p", "X"], "", "-p|--|X"),
            (&["claude", "--", "X", "--model", "m", "-p"], "", "-p|--model|m|--|X"),
            (&["claude", "--", "-p", "--", "-X"], "", "-p|--|-X"),
            (&["claude", "--", "-p"], "piped", "-p|--|piped"),
            (&["claude", "--", "--add-dir", "a", "b", "-p", "X"], "", "-p|--add-dir|a|b|--|X"),
            (&["copilot", "--", "-p", "X", "--allow-all-tools"], "", "--allow-all-tools|--prompt=X"),
            (&["copilot", "--", "--prompt=-X"], "", "--prompt=-X"),
            (&["copilot", "--", "--prompt", "X"], "", "--prompt=X"),
            (&["codex", "--", "exec", "X"], "", "exec|--|X"),
            (&["codex", "--", "exec", "-p", "work", "X"], "", "exec|-p|work|--|X"),
            (&["codex", "--", "--search", "exec", "--json", "X"], "", "--search|exec|--json|--|X"),
            (&["codex", "--", "exec", "-"], "piped", "exec|--|piped"),
            (&["codex", "--", "exec"], "piped", "exec|--|piped"),
            (&["amplifier", "--", "run", "X"], "", "run|--|X"),
            (&["amplifier", "--", "run", "-p", "anthropic", "X"], "", "run|-p|anthropic|--|X"),
            (&["amp", "--", "-x", "X"], "", "--execute=X"),
            (&["amp", "--", "--execute=X"], "", "--execute=X"),
            (&["amp", "--", "-x", "--stream-json"], "piped", "--stream-json|--execute=piped"),
        ],
    );
}

#[test]
fn an_agents_own_commands_pass_through_with_stdin_and_without_a_probe() {
    let sandbox = fakes();
    for (args, expected) in [
        (&["claude", "--", "mcp", "list"][..], "mcp|list < piped"),
        (&["claude", "--", "-p", "X", "--help"], "-p|X|--help < piped"),
        (&["codex", "--", "login", "--with-api-key"], "login|--with-api-key < piped"),
        (&["codex", "--", "exec", "resume", "--last", "-"], "exec|resume|--last|- < piped"),
        (&["copilot", "--", "help", "config"], "help|config < piped"),
        (&["amplifier", "--", "provider", "list"], "provider|list < piped"),
        (&["amp", "--", "threads", "list"], "threads|list < piped"),
        (&["amp", "--raw", "--", "-x", "X", ""], "-x|X| < piped"),
        (&["claude", "--raw", "--", "just words"], "just words < piped"),
        (&["claude", "--raw"], " < piped"),
    ] {
        let (output, record) = launch_with(&sandbox, args, "piped");
        assert_eq!(shape(&record), expected, "{args:?}");
        output.assert_stderr("");
        assert_eq!(sandbox.starts().len(), 1, "{args:?}: no version was asked for");
    }
    forget(&sandbox);
    let output = prepare(&sandbox, &["codex", "--", "--version"]).stdin("piped").output();
    output.assert_code(0).assert_stdout("codex-cli 0.171.0\n");
    assert_eq!(sandbox.starts().iter().map(shape).collect::<Vec<_>>(), ["--version < "]);
}

#[test]
fn two_prompts_are_a_usage_error() {
    let sandbox = fakes();
    sandbox.write("work/prompt.txt", "x");
    for args in [
        &["claude", "one", "--", "two"][..],
        &["claude", "one", "--prompt", "two"],
        &["claude", "one", "--prompt-file", "prompt.txt"],
        &["claude", "--prompt", "one", "--prompt-file", "prompt.txt"],
        &["claude", "--prompt", "one", "--", "-p", "two"],
        &["codex", "one", "--", "exec", "two"],
        &["copilot", "one", "--", "-p", "two"],
        &["amp", "--prompt-file", "prompt.txt", "--", "-x", "two"],
        &["claude", "one", "two"],
        &["claude", "--raw", "one"],
    ] {
        let output = refused(&sandbox, prepare(&sandbox, args), 2);
        output.assert_stderr_has("error: ");
        assert_eq!(sandbox.starts(), [], "{args:?}");
    }
}

#[test]
fn a_request_for_a_channel_is_met_or_degraded_with_one_warning() {
    let mut sandbox = fakes();
    let (short, long) = ("SECRETPROMPT".to_owned(), "SECRETPROMPT ".repeat(400));
    let bogus = "AMPLIHACK_PROMPT_DELIVERY is none of auto, argv, tempfile, stdin; using auto";
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
        launch(&sandbox, &["amplifier", "--model", "m", "--prompt", "--help"]).0.assert_stderr("");
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
             these could take it: claude (stdin), copilot (stdin), codex (stdin), amp (stdin)\n\
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
    // Closes stdin early, which is no error, and answers.
    sandbox.script(&Script::new().stdin(StdinPlan::First(1000)).then(Step::PrintBytes(MIB)));
    let (output, record) = launch(&sandbox, &args);
    assert_eq!((output.stdout.len(), record.stdin.unwrap().0.len()), (MIB, 1000));
    output.assert_stderr("");
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
    output.assert_code(7).assert_stdout("done\n").assert_stderr("");
    // Reads late.
    sandbox.script(&Script::new().stdin(StdinPlan::LateMs(100)).then(Step::EchoStdin));
    assert_eq!(launch(&sandbox, &args).0.stdout, prompt.as_bytes());
}
