//! Diagnostics: on stderr and in a file, never on stdout, and never a word of a prompt or a secret.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use amplihack_testkit::procs::Sweep;
use amplihack_testkit::{Sandbox, Script};
use serde_json::Value;

use crate::auto;
use crate::fakes::{assert_quiet, fakes};
use crate::world::{amplihack, prepare};

#[test]
fn a_plain_run_is_quiet_and_a_level_changes_nothing_on_stdout() {
    let sandbox = fakes();
    let plain = prepare(&sandbox, &["which"]).output();
    plain.assert_code(0).assert_stderr("");
    for args in [
        &["which", "--log-level", "trace"][..],
        &["--log-level", "trace", "which"],
        &["which", "--log-level=off"],
    ] {
        prepare(&sandbox, args).output().assert_code(0).assert_stdout(plain.stdout_text());
    }
    prepare(&sandbox, &["which", "--log-level", "loud"]).output().assert_code(2).assert_stdout("");
    // What cannot be obeyed is said.
    let mut sandbox = fakes();
    sandbox.set("AMPLIHACK_LOG", "=x=");
    prepare(&sandbox, &["which"])
        .output()
        .assert_code(0)
        .assert_stderr_has("warning: AMPLIHACK_LOG is ignored");
}

#[test]
fn the_flag_wins_over_the_environment() {
    let mut sandbox = fakes();
    // An unusable context file is warned of.
    sandbox.write("work/.claude/runtime/launcher_context.json", "{");
    prepare(&sandbox, &["which"])
        .output()
        .assert_stderr_has("WARN")
        .assert_stderr_has("launcher context ignored");
    prepare(&sandbox, &["which", "--log-level", "error"]).output().assert_stderr("");
    sandbox.set("AMPLIHACK_LOG", "off");
    prepare(&sandbox, &["which"]).output().assert_stderr("");
    prepare(&sandbox, &["which", "--log-level", "warn"])
        .output()
        .assert_stderr_has("launcher context ignored");
}

#[test]
fn a_file_is_appended_to_as_lines_of_json_for_this_user_alone() {
    let sandbox = fakes();
    sandbox.write("work/.claude/runtime/launcher_context.json", "{");
    let file = sandbox.root().join("log.jsonl");
    for _ in 0..2 {
        prepare(&sandbox, &["which", "--log-file", file.to_str().unwrap()]).output().assert_code(0);
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let warned = lines.iter().filter(|line| {
        line["level"] == "warn" && line["target"].as_str().unwrap().starts_with("amplihack_config")
    });
    assert_eq!(warned.count(), 2, "{text}");
    let none = prepare(&sandbox, &["which", "--log-file", "/nonexistent/x"]).output();
    none.assert_code(1).assert_stdout("").assert_stderr_has("/nonexistent/x");
}

#[test]
fn no_word_of_a_prompt_is_in_diagnostics() {
    let mut sandbox = fakes();
    sandbox.script_for("amplifier", &Script::new().print("Antwortwort\n"));
    for agent in ["amplifier", "claude", "codex", "copilot", "amp"] {
        let file = sandbox.root().join(format!("{agent}.jsonl"));
        let args = [
            agent,
            "--prompt",
            "Geheimwort \u{fffd} und mehr",
            "--log-level",
            "trace",
            "--log-file",
            file.to_str().unwrap(),
        ];
        let output = prepare(&sandbox, &args).output();
        let told = fs::read_to_string(file).unwrap();
        assert!(!told.contains("Geheimwort") && !told.contains("Antwortwort"), "{told}");
        assert!(!output.stderr_text().contains("Geheimwort"), "{output}");
    }
    assert_quiet(&prepare(&sandbox, &["amplifier", "--prompt", "Geheimwort"]).output());
}

/// Secrets that no shape gives away, each in a place where one could slip into a line.
const SECRETS: [&str; 7] = [
    "zimtstern-key",
    "zimtstern-url",
    "zimtstern-header",
    "zimtstern-prompt",
    "zimtstern-value",
    "zimtstern-forwarded",
    "zimtstern-call",
];

/// A user with a repository and a Claude Code that does its work, who logs everything everywhere.
fn user_who_logs_everything() -> Sandbox {
    let mut sandbox = auto::claude("echo x >> steps; say working; call x 'echo done' false; result done");
    sandbox.link("amplihack", amplihack());
    let root = sandbox.root().to_owned();
    sandbox
        .set("AMPLIHACK_LOG", "trace")
        .set("AMPLIHACK_AGENT_BINARY", "claude")
        .set("ANTHROPIC_API_KEY", "zimtstern-key")
        .set("ANTHROPIC_BASE_URL", "http://me:zimtstern-url@127.0.0.1:9/v1")
        .set("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer zimtstern-header")
        .set("HTTPS_PROXY", "http://me:zimtstern-url@127.0.0.1:9")
        .set("XDG_RUNTIME_DIR", root);
    sandbox
}

#[test]
fn no_secret_is_in_diagnostics_at_any_level() {
    let mut sandbox = user_who_logs_everything();
    let _sweep = Sweep::new(sandbox.root().display().to_string());
    sandbox.write(
        "work/r.yaml",
        "name: r\ncontext: {token: ''}\nsteps:\n  - {id: a, command: 'echo {{token}} > a.txt'}\n  \
         - {id: b, prompt: 'Use {{token}}: zimtstern-prompt'}\n",
    );
    sandbox.run("git", ["add", "r.yaml"]).assert_code(0);
    sandbox.run("git", ["commit", "--quiet", "-m", "r"]).assert_code(0);
    let file = sandbox.root().join("log.jsonl");
    // A file that cannot be used is warned of, without what is in it.
    sandbox.unset("AMPLIHACK_AGENT_BINARY");
    sandbox.write("work/.claude/runtime/launcher_context.json", "{\"launcher\":\"zimtstern-value");
    let which = prepare(&sandbox, &["which", "--log-file", file.to_str().unwrap()]).output();
    which.assert_code(0).assert_stderr_has("launcher context ignored").assert_nowhere("zimtstern");
    sandbox.set("AMPLIHACK_AGENT_BINARY", "claude");
    let prompt = "Tell nobody: zimtstern-prompt";
    let header = "Authorization: Bearer zimtstern-header";
    let commands: &[&[&str]] = &[
        &["claude", "-p", "--prompt", prompt],
        &["claude", "--prompt", prompt, "--output", "json"],
        &["claude", "-p", "--prompt", prompt, "--dry-run"],
        &[
            "claude",
            "--raw",
            "--",
            "mcp",
            "add",
            "--header",
            header,
            "x",
            "http://me:zimtstern-url@127.0.0.1:9",
        ],
        &["auto", "--task", prompt, "--permissions", "edit", "--verify", "test -f steps"],
        &["recipe", "run", "r.yaml", "-c", "token=zimtstern-value"],
        &["recipe", "run", "--resume", "latest"],
        &[
            "remote",
            "start",
            "--backend",
            "local",
            "--agent",
            "claude",
            "--env",
            "T=zimtstern-forwarded",
            prompt,
        ],
        &["remote", "wait"],
        &["remote", "list", "--refresh"],
        &["remote", "output", "latest"],
        &["remote", "kill", "latest"],
        &["sessions", "export", "latest", "--otel"],
        &["doctor"],
    ];
    for &args in commands {
        let all = [args, &["--log-level", "trace", "--log-file", file.to_str().unwrap()][..]];
        // Words behind -- are the agent's.
        let all = match args.iter().position(|word| *word == "--") {
            Some(at) => [&args[..at], all[1], &args[at..]].concat(),
            None => all.concat(),
        };
        let output = prepare(&sandbox, &all).output();
        let told = fs::read_to_string(&file).unwrap();
        for secret in SECRETS {
            assert!(!told.contains(secret), "{args:?}: {secret}: {told}");
            assert!(!output.stderr_text().contains(secret), "{args:?}: {secret}\n{output}");
        }
    }
    assert!(fs::read_to_string(&file).unwrap().contains("launcher context ignored"), "something was told");
}

#[test]
fn hooks_say_nothing_of_a_call_on_stderr_and_no_secret_to_the_audit() {
    let sandbox = user_who_logs_everything();
    let call = serde_json::json!({
        "session_id": "s", "cwd": sandbox.work(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "curl -H 'Authorization: Bearer zimtstern-header-zimtstern-call' https://me:zimtstern-url@example.com" },
    });
    for event in ["pre-tool-use", "post-tool-use"] {
        let run = prepare(&sandbox, &["hook", event, "--host", "claude", "--policy", "standard"]);
        let output = run.stdin(call.to_string()).output();
        for secret in SECRETS {
            assert!(!output.stderr_text().contains(secret), "{event}: {secret}\n{output}");
            crate::scene::assert_in_no_file(&sandbox, secret);
        }
    }
}
