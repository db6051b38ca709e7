//! `sessions export`: what is written of recorded streams of real agents, and of unattended runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use amplihack_testkit::{Sandbox, Script, workspace};
use serde_json::Value;

use crate::auto;
use crate::fakes::fakes;
use crate::world::prepare;

/// Texts that would be markup or a disguise if one let them.
pub(crate) const HOSTILE: &str = "</pre></main><script>document.title='pwned'</script><img src=http://127.0.0.1:9/x.png onerror=alert(1)>\
    <style>*{display:none}</style><a href=javascript:alert(1)>x</a>\u{1b}[2J\u{202e}\0";

/// A token by its shape.
pub(crate) const SECRET: &str = "ghp_R4nd0mQ9xZ7bL2vK8mN3pT6wY1cF5hJ0sDqE";

/// A sandbox in which `agent` played the recorded stream `name`.
pub(crate) fn recorded(agent: &str, name: &str) -> Sandbox {
    let path = workspace().join("crates/amplihack-agent/tests/transcripts").join(name);
    played(agent, &fs::read_to_string(path).unwrap())
}

/// A sandbox in which `agent` said `stream`.
pub(crate) fn played(agent: &str, stream: &str) -> Sandbox {
    let mut sandbox = fakes();
    sandbox.script_for(agent, &Script::new().print(stream));
    let run = prepare(&sandbox, &[agent, "--prompt", "hi", "--output", "json"]).output();
    assert!(run.json()["end"].is_string(), "{run}");
    sandbox
}

/// A stream of Claude Code in which everything is hostile, a secret too.
pub(crate) fn hostile() -> Sandbox {
    let text = serde_json::to_string(&format!("{HOSTILE} {SECRET}")).unwrap();
    let lines = [
        format!(r#"{{"type":"system","subtype":"init","session_id":"s1","model":{text}}}"#),
        format!(
            r#"{{"type":"assistant","message":{{"id":"m1","content":[{{"type":"text","text":{text}}}]}}}}"#
        ),
        format!(
            r#"{{"type":"assistant","message":{{"id":"m2","content":[{{"type":"tool_use","id":"c1","name":{text},"input":{{"command":{text},"old_string":{text},"new_string":"x"}}}}]}}}}"#
        ),
        format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":{text}}}]}}}}"#
        ),
        format!(r#"{{"type":"{{}}"}} not json {HOSTILE}"#).replace('\0', "\u{fffd}"),
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":{text}}}"#
        ),
    ];
    played("claude", &(lines.join("\n") + "\n"))
}

/// Exports the latest session of `sandbox` with `args` to a file there.
pub(crate) fn exported(sandbox: &Sandbox, id: &str, args: &[&str]) -> PathBuf {
    let file = sandbox.root().join("exported");
    let mut all = vec!["sessions", "export", id, "--output", file.to_str().unwrap()];
    all.extend(args);
    prepare(sandbox, &all).output().assert_code(0).assert_stdout("").assert_stderr("");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    file
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_link_that_is_written_to_stays_a_link() {
    let sandbox = recorded("claude", "claude-2.1.332.jsonl");
    let (target, link) = (sandbox.root().join("target"), sandbox.root().join("link"));
    std::os::unix::fs::symlink("target", &link).unwrap();
    let args = ["sessions", "export", "latest", "--markdown", "--output", link.to_str().unwrap()];
    for there in [false, true] {
        prepare(&sandbox, &args).output().assert_code(0);
        assert!(link.is_symlink() && text(&target).starts_with('#'), "{there}: {}", text(&target));
        fs::write(&target, "old").unwrap();
    }
}

#[test]
fn each_form_is_written_of_streams_of_each_agent() {
    for (agent, name, calls) in [
        ("claude", "claude-2.1.332.jsonl", 1),
        ("codex", "codex-0.171.0.jsonl", 1),
        ("copilot", "copilot-1.0.102.jsonl", 1),
    ] {
        let sandbox = recorded(agent, name);
        let page = text(&exported(&sandbox, "latest", &["--html"]));
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        assert!(page.contains(&format!("<dt>Agent</dt><dd>{agent}</dd>")), "{page}");
        assert_eq!(page.matches("<li class=\"tool\"").count(), calls, "{page}");
        let markdown = text(&exported(&sandbox, "latest", &["--markdown"]));
        assert!(markdown.contains(&format!("| Agent | `{agent}` |")), "{markdown}");
        let traces: Value = serde_json::from_str(&text(&exported(&sandbox, "latest", &["--otel"]))).unwrap();
        let spans = traces["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
        let named = |prefix: &str| {
            spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with(prefix)).count()
        };
        assert_eq!((named(&format!("invoke_agent {agent}")), named("execute_tool ")), (1, calls), "{traces}");
        assert!(named("chat") >= 1, "{traces}");
        // The file and stdout are the same.
        let stdout = prepare(&sandbox, &["sessions", "export", "latest", "--html"]).output();
        stdout.assert_code(0).assert_stdout(page);
    }
}

#[test]
fn secrets_are_left_out_of_every_form_unless_asked_for() {
    let sandbox = hostile();
    for form in [&["--html"][..], &["--markdown"], &["--otel"], &["--otel", "--otel-content"]] {
        let shown = text(&exported(&sandbox, "latest", form));
        assert!(!shown.contains("R4nd0m"), "{form:?}: {shown}");
        let open = text(&exported(&sandbox, "latest", &[form, &["--no-redact"]].concat()));
        assert!(open.contains(SECRET), "{form:?}: {open}");
    }
}

#[test]
fn an_unattended_run_is_exported_with_its_turns_and_changes() {
    let sandbox = auto::claude("say working; echo '<b>new</b>' > new.txt; call x 'ls -l' false; result done");
    auto::auto(&sandbox, &["--verify", "test -f new.txt", "--permissions", "edit"]).output().assert_code(0);
    let directory = auto::directory(&sandbox);
    let id = directory.file_name().unwrap().to_str().unwrap();
    let page = text(&exported(&sandbox, id, &["--html"]));
    for part in [
        "do it: verified",
        "<h2 id=\"turns\">",
        "test -f new.txt",
        "<ins>+&lt;b&gt;new&lt;/b&gt;\n</ins>",
        "do it",
        "ls -l",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let markdown = text(&exported(&sandbox, id, &["--markdown"]));
    assert!(
        markdown.contains("passed: `` `test -f new.txt` ``") && markdown.contains("\n+<b>new</b>\n"),
        "{markdown}"
    );
    let traces = text(&exported(&sandbox, id, &["--otel"]));
    assert!(
        traces.contains("invoke_workflow amplihack auto") && traces.contains("invoke_agent claude"),
        "{traces}"
    );
}

/// `--output /dev/null` by root is not the end of `/dev/null`.
#[test]
fn a_pipe_or_a_device_is_written_to_and_not_replaced() {
    let sandbox = recorded("claude", "claude-2.1.332.jsonl");
    let whole = prepare(&sandbox, &["sessions", "export", "--markdown", "latest"]).output().stdout_text();
    sandbox.run("/usr/bin/mkfifo", [sandbox.work().join("pipe")]).assert_code(0);
    std::os::unix::fs::symlink("pipe", sandbox.work().join("link")).unwrap();
    for name in ["pipe", "link"] {
        let program = crate::world::amplihack().display();
        let line = format!(
            "/bin/cat pipe > got & '{program}' sessions export --markdown latest --output {name} && wait"
        );
        sandbox.run("/bin/bash", ["-c", &line]).assert_code(0);
        assert_eq!(fs::read_to_string(sandbox.work().join("got")).unwrap(), whole, "{name}");
        assert!(!fs::symlink_metadata(sandbox.work().join(name)).unwrap().is_file(), "{name}");
    }
}

#[test]
fn what_cannot_be_exported_is_told() {
    let sandbox = recorded("claude", "claude-2.1.332.jsonl");
    let refused = |args: &[&str]| prepare(&sandbox, &[&["sessions", "export"], args].concat()).output();
    refused(&["latest"]).assert_code(2);
    refused(&["latest", "--html", "--otel"]).assert_code(2);
    refused(&["latest", "--html", "--otel-content"]).assert_code(2);
    refused(&["nobody", "--html"]).assert_code(3).assert_stderr_has("sessions list");
    refused(&["latest", "--html", "--output", "/nonexistent/x"])
        .assert_code(1)
        .assert_stderr_has("/nonexistent/x");
    let sent = refused(&["latest", "--otel", "--otel-endpoint", "http://127.0.0.1:9"]);
    // A build with the feature has tests of its own.
    if !cfg!(feature = "otel") {
        sent.assert_code(2)
            .assert_stdout("")
            .assert_stderr_has("without the feature otel")
            .assert_stderr_has("curl");
    }
}
