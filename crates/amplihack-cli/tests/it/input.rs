//! Where prompts come from, in amplihack's own words and in each agent's.

use amplihack_testkit::Sandbox;

use crate::fakes::{assert_quiet, fakes, forget, launch_with, launched, refused, shape};
use crate::world::prepare;

/// Each command line of amplihack, what is on its stdin, and how the agent must be called.
#[track_caller]
fn called(sandbox: &Sandbox, table: &[(&[&str], &str, &str)]) {
    for (args, stdin, expected) in table {
        let (output, record) = launch_with(sandbox, args, stdin);
        assert_eq!(shape(&record), *expected, "{args:?}\n{output}");
        assert_quiet(&output);
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
fn an_agents_own_commands_pass_through_with_stdin_and_a_probe_only_where_a_guard_is_needed() {
    let sandbox = fakes();
    // A version is asked for once, and remembered.
    for (args, expected, probed) in [
        (&["claude", "--", "mcp", "list"][..], "mcp|list < piped", false),
        (&["claude", "--", "-p", "X", "--help"], "-p|X|--help < piped", false),
        (&["codex", "--", "login", "--with-api-key"], "login|--with-api-key < piped", false),
        (&["codex", "--", "exec", "resume", "--last", "-"], "exec|resume|--last|- < piped", true),
        (&["codex", "exec", "resume", "--last", "-"], "exec|resume|--last|- < piped", false),
        (&["copilot", "--", "help", "config"], "help|config < piped", false),
        (&["copilot", "--", "--acp"], "--acp < piped", true),
        (&["gemini", "--", "--acp"], "--acp < piped", true),
        (&["amplifier", "--", "provider", "list"], "provider|list < piped", false),
        (&["amp", "--", "threads", "list"], "threads|list < piped", false),
        (&["amp", "--raw", "--", "-x", "X", ""], "-x|X| < piped", true),
        (&["claude", "--raw", "--", "just words"], "just words < piped", true),
        (&["claude", "--raw"], " < piped", false),
    ] {
        // Gemini starts in a folder that it trusts only.
        let trusted = prepare(&sandbox, args).env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        let (output, record) = launched(&sandbox, trusted.stdin("piped"));
        let shown = shape(&record);
        // Under ACP Gemini calls no hooks: a policy of the launch makes it ask its client.
        let shown = shown.split_once("/ask.toml|").map_or(&*shown, |(_, own)| own);
        assert_eq!(shown, expected, "{args:?}");
        // That is told.
        if args[0] != "gemini" {
            assert_quiet(&output);
        }
        assert_eq!(sandbox.starts().len(), 1 + usize::from(probed), "{args:?}");
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
