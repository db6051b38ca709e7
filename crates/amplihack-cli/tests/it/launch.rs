//! How each agent is started: command line, stdin, terminal, environment, options.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_testkit::{Bytes, Script, StdinKind, Tmux};

use crate::fakes::{assert_quiet, fakes, launch, launched, refused, shape, warnings};
use crate::world::{amplihack, prepare};

#[test]
fn a_headless_prompt_goes_where_each_agent_takes_it() {
    let sandbox = fakes();
    let long = "don't $HOME 漢 ".repeat(300);
    for (agent, short_line, long_line) in [
        ("claude", "-p|--|-hi", "-p < LONG"),
        ("codex", "exec|--|-hi", "exec|- < LONG"),
        ("copilot", "--prompt=-hi", " < LONG"),
        ("amplifier", "run|--|-hi", "run|--|LONG"),
        ("amp", "--execute=-hi", "--execute < LONG"),
    ] {
        let (output, record) = launch(&sandbox, &[agent, "-p", "--prompt", "-hi"]);
        assert_eq!(shape(&record), short_line);
        output.assert_stdout("");
        assert_quiet(&output);
        let (output, record) = launch(&sandbox, &[agent, "--prompt", &long]);
        assert_eq!(shape(&record).replace(&long, "LONG"), long_line);
        output.assert_stdout("");
        assert_quiet(&output);
        assert_eq!(record.pgid, record.pid, "{agent}: a headless agent has a group of its own");
        assert_eq!(record.cwd.lossy(), sandbox.work().canonicalize().unwrap().to_string_lossy());
    }
}

#[test]
fn without_a_name_the_agent_in_charge_is_launched() {
    let mut sandbox = fakes();
    assert_eq!(launch(&sandbox, &["launch", "hi"]).1.name, "copilot");
    assert_eq!(launch(&sandbox, &["claude", "hi"]).1.name, "claude");
    // The launch before has said so in the repository.
    assert_eq!(launch(&sandbox, &["launch", "hi"]).1.name, "claude");
    sandbox.set("AMPLIHACK_AGENT_BINARY", "amp");
    assert_eq!(launch(&sandbox, &["launch", "hi"]).1.name, "amp");
}

#[test]
fn an_interactive_agent_owns_the_terminal() {
    if !Tmux::is_installed() {
        return;
    }
    let mut sandbox = fakes();
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    let tmux = Tmux::new(&sandbox);
    let sessions = [
        ("claude", "-hi", "--|-hi (tty)"),
        ("codex", "-hi", "--|-hi (tty)"),
        ("copilot", "-hi", "--interactive=-hi (tty)"),
        ("amplifier", "-hi", "run|--mode|chat|--|-hi (tty)"),
        ("claude", "", " (tty)"),
        ("amplifier", "", "run|--mode|chat (tty)"),
        ("amp", "", " (tty)"),
    ];
    let start = |name: &str, arguments: &str| {
        let line = format!("'{}' {arguments}; echo \"code=$?\"; sleep 60", amplihack().display());
        tmux.new_session(name, "sh", ["-c", &line]);
    };
    for (index, (agent, prompt, _)) in sessions.iter().enumerate() {
        let prompt = if prompt.is_empty() { String::new() } else { format!(" --prompt {prompt}") };
        start(&format!("s{index}"), &format!("{agent}{prompt}"));
    }
    start("none", "amp hi");
    start("stdin", "claude --stdin hi");
    for (index, (agent, _, expected)) in sessions.iter().enumerate() {
        tmux.wait_for(&format!("s{index}"), "code=0", Duration::from_secs(20));
        let runs = sandbox.runs();
        let record = runs.iter().find(|record| record.name == *agent && shape(record) == *expected);
        let record = record.unwrap_or_else(|| panic!("{agent}: {expected}: {runs:#?}"));
        assert_ne!(record.pgid, record.pid, "it is in the foreground group of the terminal");
    }
    let screen = tmux.wait_for("none", "code=2", Duration::from_secs(20));
    assert!(
        screen.replace('\n', "").contains("does not take a prompt by argv in interactive mode"),
        "{screen}"
    );
}

/// The environment of a run, sorted, without the session's volatile id.
fn environment(agent: AgentBinary, own: &[(&str, &str)]) -> Vec<(Bytes, Bytes)> {
    let mut sandbox = fakes();
    let odd = sandbox.root().join(OsString::from_vec(b"odd-\xff".to_vec()));
    std::fs::create_dir(&odd).unwrap();
    let mut path = sandbox.bin().into_os_string();
    path.push(":");
    path.push(&odd);
    sandbox
        .set("PATH", path)
        .set(OsString::from_vec(b"NAME\xfe".to_vec()), OsString::from_vec(b"\xff=".to_vec()));
    for (name, value) in [
        ("HTTPS_PROXY", "http://proxy.invalid:3128"),
        ("no_proxy", "localhost"),
        ("SSL_CERT_FILE", "/ca.pem"),
        ("NODE_EXTRA_CA_CERTS", "/ca.pem"),
        ("EMPTY", ""),
        ("AMPLIHACK_SESSION_DEPTH", "2"),
    ]
    .iter()
    .chain(own)
    {
        sandbox.set(*name, *value);
    }
    // Gemini's guard comes in a variable, and only where Gemini trusts the folder.
    let hooks: &[&str] = if agent == AgentBinary::Gemini { &["--no-hooks"] } else { &[] };
    let (_, record) = launch(&sandbox, &[&[agent.name()], hooks, &["hi"]].concat());
    let session = record.variable("AMPLIHACK_SESSION_ID").unwrap().lossy();
    let set = [
        ("AMPLIHACK_AGENT_BINARY", agent.name().to_owned()),
        ("AMPLIHACK_AGENT_BINARY_SET", format!("{session}:{agent}")),
        ("AMPLIHACK_SESSION_ID", session),
        ("AMPLIHACK_SESSION_DEPTH", "3".to_owned()),
        ("AMPLIHACK_VERSION", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let mut expected = sandbox.env().clone();
    for (name, value) in set {
        expected.set_variable(name, value);
    }
    let mut unchanged = Vec::new();
    for (name, value) in &record.env {
        let found = expected.get(OsString::from_vec(name.0.clone())).map(Bytes::from);
        assert_eq!(found.as_ref(), Some(value), "{agent}: {name:?} was changed or came from nowhere");
        unchanged.push(name.clone());
    }
    expected
        .iter()
        .map(|(name, value)| (Bytes::from(name), Bytes::from(value)))
        .filter(|(name, _)| !unchanged.contains(name))
        .collect()
}

#[test]
fn everything_passes_but_what_would_mislead_a_nested_session() {
    let claude = [
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ("CLAUDE_CODE_SESSION_ID", "s"),
        ("CLAUDE_CODE_SSE_PORT", "1234"),
        ("AI_AGENT", "claude-code"),
    ];
    let copilot = [("COPILOT_CLI", "1"), ("COPILOT_PROJECT_DIR", "/p")];
    let codex = [("CODEX_MANAGED_BY_NPM", "1")];
    let gemini = [("GEMINI_CLI", "1"), ("GEMINI_SESSION_ID", "s")];
    let kept = [("ANTHROPIC_API_KEY", "k"), ("CLAUDE_CODE_USE_BEDROCK", "1"), ("CODEX_HOME", "/c")];
    let all: Vec<(&str, &str)> = [&claude[..], &copilot, &codex, &gemini, &kept].concat();
    // The marks of every host, whichever agent is launched: Claude's would travel through Codex to the next Claude.
    let mut expected: Vec<String> = [&claude[..], &copilot, &codex, &gemini]
        .concat()
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    expected.sort();
    for agent in AgentBinary::ALL {
        let mut removed: Vec<String> =
            environment(agent, &all).iter().map(|(name, _)| name.lossy()).collect();
        removed.sort();
        assert_eq!(removed, expected, "{agent}");
    }
}

#[test]
fn a_nested_copilot_gets_back_what_copilot_hid_from_its_tools() {
    let mut sandbox = fakes();
    let nested = |rest: &str| {
        format!(
            "/usr/bin/env -u COPILOT_PROVIDER_API_KEY -u COPILOT_PROVIDER_BASE_URL \
             FAKE_AGENT_SCRIPT_COPILOT='{{}}' '{}' copilot {rest} hi",
            amplihack().display()
        )
    };
    let script = Script::new().shell(&nested("--dry-run")).shell(&nested(""));
    sandbox
        .set("COPILOT_PROVIDER_API_KEY", "sekret-value")
        .set("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:1")
        .script_for("copilot", &script);
    let output = prepare(&sandbox, &["copilot", "hi"]).output();
    output.assert_code(0);
    output.assert_stdout_has("+ COPILOT_PROVIDER_API_KEY=[redacted]").assert_nowhere("sekret-value");
    output.assert_stdout_has("+ COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:1");
    let runs = sandbox.runs();
    assert_eq!(runs.len(), 2);
    let inner = runs.last().unwrap();
    assert_eq!(inner.variable("COPILOT_PROVIDER_API_KEY"), Some(&Bytes::from("sekret-value")));
    assert_eq!(inner.variable("AMPLIHACK_SESSION_DEPTH"), Some(&Bytes::from("2")));
}

#[test]
fn options_become_each_agents_own() {
    let sandbox = fakes();
    let all = |agent: &'static str, options: &[&'static str]| {
        let args = [&[agent, "hi"], options, &["--", "--verbose"]].concat();
        shape(&launch(&sandbox, &args).1)
    };
    let claude = all(
        "claude",
        &[
            "--model",
            "m",
            "--resume",
            "ID",
            "--add-dir",
            "/a",
            "--add-dir",
            "b c",
            "--mcp-config",
            "m.json",
            "--append-system-prompt",
            "-be \"kind\"",
            "--permissions",
            "edit",
        ],
    );
    assert_eq!(
        claude,
        "-p|--resume=ID|--model=m|--add-dir=/a|--add-dir=b c|--mcp-config=m.json|\
         --append-system-prompt=-be \"kind\"|--permission-mode|acceptEdits|--verbose|--|hi"
    );
    let copilot = all("copilot", &["--continue", "--mcp-config", "m.json", "--permissions", "full"]);
    assert_eq!(copilot, "--continue|--additional-mcp-config=@m.json|--allow-all|--verbose|--prompt=hi");
    let codex = all("codex", &["--resume", "ID", "--append-system-prompt", "a\"b", "--permissions", "ask"]);
    assert_eq!(
        codex,
        "exec|-c|developer_instructions=\"a\\\"b\"|--sandbox=read-only|--verbose|resume|ID|--|hi"
    );
    assert_eq!(
        all("amplifier", &["--model", "m", "--resume", "ID"]),
        "run|--resume=ID|--model=m|--verbose|--|hi"
    );
    assert_eq!(all("amp", &["--continue"]), "threads|continue|--last|--verbose|--execute=hi");
}

#[test]
fn an_option_that_an_agent_lacks_is_a_usage_error_that_names_agent_and_version() {
    let sandbox = fakes();
    for (agent, version, options) in [
        ("copilot", "1.0.102", &[&["--append-system-prompt", "x"][..]][..]),
        ("codex", "0.171.0", &[&["--mcp-config", "x"]]),
        (
            "amplifier",
            "0.1.0",
            &[&["--continue"], &["--add-dir", "x"], &["--mcp-config", "x"], &["--permissions", "full"]],
        ),
        (
            "amp",
            "0.0.1790142911-g7618fb",
            &[&["--model", "x"], &["--add-dir", "x"], &["--permissions", "ask"]],
        ),
    ] {
        for option in options {
            let args = [&[agent, "hi"], *option].concat();
            let output = refused(&sandbox, prepare(&sandbox, &args), 2);
            let shown = option.join(" ").trim_end_matches(" x").to_owned();
            output.assert_stderr(format!(
                "error: {agent} {version} does not take {shown} in headless mode\n\
                 hint: `amplihack doctor` lists what each agent takes\n"
            ));
        }
    }
}

#[test]
fn a_version_that_was_never_proved_is_one_line() {
    let mut sandbox = fakes();
    sandbox.script(&Script::new().version("2.0.1 (Claude Code)"));
    let (output, record) = launch(&sandbox, &["claude", "hi"]);
    assert_eq!(record.stdin_kind, StdinKind::Null);
    assert_eq!(
        warnings(&output),
        [
            "claude 2.0.1 is not a version at which a prompt by argv and the guard were proved; `amplihack doctor --prove claude` proves it here"
        ]
    );
    // What does not tell its version is launched as well.
    let home = sandbox.root().join("other");
    sandbox.script(&Script::new().version("no number")).set("AMPLIHACK_HOME", home);
    let (output, _) = launched(&sandbox, prepare(&sandbox, &["claude", "hi"]));
    assert_eq!(warnings(&output).len(), 1, "{output}");
    output.assert_stderr_has("the version of claude is not known");
}
