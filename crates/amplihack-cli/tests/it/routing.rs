//! Which agent is in charge, as processes of all kinds ask for it: of live and of ended launches, with and without an
//! environment, in tmux, by hand.

use std::process::Command;

use amplihack_testkit::{Run, Sandbox, Script, Tmux};

use crate::scene::{CONTEXT, masked, repository, variable, when_written, which, which_below};
use crate::world::{amplihack, prepare, run};

/// Waits for `path`, in a shell script.
fn until(path: &str) -> String {
    format!("until [ -e {path} ]; do sleep 0.01; done")
}

#[test]
fn two_live_agents_keep_their_descendants_and_the_cache_of_an_ended_one_loses() {
    let mut sandbox = repository(&["copilot", "claude"]);
    for agent in ["copilot", "claude"] {
        let (both, end) = (until("../both"), until(&format!("../end-{agent}")));
        sandbox.script_for(
            agent,
            &Script::new().shell(&format!(
                "amplihack which > ../{agent}.alone; {both}; amplihack which > ../{agent}.both; {end}; amplihack which > ../{agent}.last"
            )),
        );
    }
    let copilot = prepare(&sandbox, &["copilot", "-p", "hi"]).spawn();
    assert_eq!(when_written(&sandbox, "copilot.alone"), "copilot");
    let claude = prepare(&sandbox, &["claude", "-p", "hi"]).spawn();
    assert_eq!(when_written(&sandbox, "claude.alone"), "claude");
    sandbox.write("both", "");
    assert_eq!(
        when_written(&sandbox, "copilot.both"),
        "copilot",
        "the file names the later launch, the cache this one"
    );
    assert_eq!(when_written(&sandbox, "claude.both"), "claude");

    let records = sandbox.runs();
    let below_copilot = records.iter().find(|record| record.name == "copilot").unwrap();
    assert_eq!(which_below(&sandbox, below_copilot)["source"], "environment");
    sandbox.write("end-copilot", "");
    copilot.wait().assert_code(0);
    assert_eq!(when_written(&sandbox, "copilot.last"), "copilot");
    let answer = which_below(&sandbox, below_copilot);
    assert_eq!((&answer["agent"], &answer["source"]), (&"claude".into(), &"context_file".into()));
    sandbox.write("end-claude", "");
    claude.wait().assert_code(0);
    assert_eq!(when_written(&sandbox, "claude.last"), "claude", "the other's end changes nothing");
}

/// A tmux server that an interactive agent left behind, ended with the test.
struct LeftServer<'a>(&'a Sandbox);

impl LeftServer<'_> {
    const COMMAND: &'static str = "env -u TMUX tmux -S ../left-server -f /dev/null";

    fn tell(&self, args: &str) -> String {
        let output = self.0.run("sh", ["-c", &format!("{} {args}", Self::COMMAND)]);
        output.assert_code(0).stdout_text().trim().to_owned()
    }
}

impl Drop for LeftServer<'_> {
    fn drop(&mut self) {
        // A test that failed early has no server.
        let _ = self.0.run("sh", ["-c", &format!("{} kill-server", Self::COMMAND)]);
    }
}

#[test]
fn after_copilot_then_claude_every_kind_of_descendant_answers_claude() {
    if !Tmux::is_installed() {
        return;
    }
    let mut sandbox = repository(&["copilot", "claude"]);
    let tmux = LeftServer::COMMAND;
    let asks = format!("{}; amplihack which > ../left.txt", until("../ask"));
    sandbox.script_for(
        "copilot",
        &Script::new()
            .shell(&format!("{tmux} new-session -d -s left sleep 60"))
            .shell(&format!("setsid sh -c '{asks}' < /dev/null > /dev/null 2>&1 &")),
    );
    let in_tmux = "amplihack which > ../tmux.txt; amplihack which --json > ../tmux.json";
    sandbox.script_for(
        "claude",
        &Script::new()
            .shell("env -i \"$(command -v amplihack)\" which > ../cleared.txt")
            .shell("setsid --wait amplihack which > ../setsid.txt")
            .shell("env -i setsid --wait \"$(command -v amplihack)\" which > ../cleared-setsid.txt")
            .shell(&format!("{tmux} new-session -d -s asks '{in_tmux}'; touch ../ask"))
            .shell(&format!("{}; {}", until("../tmux.json"), until("../left.txt"))),
    );
    let server = LeftServer(&sandbox);
    let terminal = Tmux::new(&sandbox);
    terminal.new_session("t", "sh", ["-c", "amplihack copilot; echo exit=$?; sleep 60"]);
    terminal.wait_for("t", "exit=0", std::time::Duration::from_secs(20));
    assert_eq!(server.tell("show-environment -g AMPLIHACK_AGENT_BINARY"), "AMPLIHACK_AGENT_BINARY=copilot");

    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0);
    for who in ["cleared", "setsid", "cleared-setsid", "tmux", "left"] {
        assert_eq!(when_written(&sandbox, &format!("{who}.txt")), "claude", "{who}");
    }
    assert!(when_written(&sandbox, "tmux.json").contains(r#""source":"context_file""#));
}

#[test]
fn a_value_set_by_hand_always_wins() {
    let mut sandbox = repository(&["claude", "codex"]);
    sandbox.script(&Script::new().shell(
        "AMPLIHACK_AGENT_BINARY=amp amplihack which > ../inside.txt; AMPLIHACK_AGENT_BINARY=' Amp' amplihack which > ../odd.txt",
    ));
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0);
    assert_eq!(when_written(&sandbox, "inside.txt"), "amp", "below a live launch, over its own mark");
    assert_eq!(when_written(&sandbox, "odd.txt"), "amp");
    let mark = variable(&sandbox.only_run(), "AMPLIHACK_AGENT_BINARY_SET").unwrap();
    sandbox.set("AMPLIHACK_AGENT_BINARY_SET", mark).set("AMPLIHACK_AGENT_BINARY", "amp");
    let answer = which(&sandbox);
    assert_eq!(
        (&answer["agent"], &answer["source"]),
        (&"amp".into(), &"environment".into()),
        "over an ended launch"
    );
    sandbox.set("AMPLIHACK_AGENT_BINARY", "no-agent");
    let output = run(&sandbox, &["which"]);
    output.assert_stdout("claude\n").assert_stderr_has("AMPLIHACK_AGENT_BINARY");
}

#[test]
fn which_names_every_source() {
    let mut sandbox = repository(&["claude"]);
    let mut report = String::new();
    let mut add = |what: &str, sandbox: &Sandbox| {
        let text = run(sandbox, &["which", "--json"]).assert_code(0).assert_stderr("").stdout_text();
        report.extend([what, ": ", &masked(sandbox, &text)]);
    };
    add("nothing", &sandbox);
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0);
    add("a launch that ended", &sandbox);
    let record = sandbox.only_run();
    for name in ["AMPLIHACK_AGENT_BINARY", "AMPLIHACK_AGENT_BINARY_SET"] {
        sandbox.set(name, variable(&record, name).unwrap());
    }
    std::fs::remove_file(sandbox.root().join(CONTEXT)).unwrap();
    add("its cache, without the file", &sandbox);
    sandbox.unset("AMPLIHACK_AGENT_BINARY_SET");
    add("by hand", &sandbox);
    sandbox.unset("AMPLIHACK_AGENT_BINARY");
    sandbox.write("runtime/launcher_context.json", r#"{"launcher":"codex"}"#);
    sandbox.set("AMPLIHACK_RUNTIME_ROOT", sandbox.root().join("runtime"));
    add("a runtime root", &sandbox);
    insta::assert_snapshot!(report);
}

#[test]
fn launch_starts_the_agent_in_charge() {
    let mut sandbox = repository(&["claude", "codex", "copilot"]);
    run(&sandbox, &["launch", "-p", "by default"]).assert_code(0);
    run(&sandbox, &["codex", "-p", "by name"]).assert_code(0);
    run(&sandbox, &["launch", "-p", "by the file"]).assert_code(0);
    sandbox.set("AMPLIHACK_AGENT_BINARY", "claude");
    run(&sandbox, &["launch", "-p", "by hand"]).assert_code(0);
    let started: Vec<String> = sandbox.runs().into_iter().map(|record| record.name).collect();
    assert_eq!(started, ["copilot", "codex", "codex", "claude"]);
}

#[test]
fn nested_repositories_and_directories_below_them_have_their_own_agent() {
    let sandbox = repository(&["claude", "codex"]);
    let inner = sandbox.work().join("vendor/inner");
    std::fs::create_dir_all(inner.join("src/deep")).unwrap();
    std::fs::create_dir_all(sandbox.work().join("src/deep")).unwrap();
    let at = |directory: &std::path::Path, args: &[&str]| {
        let mut command: Command = sandbox.command(amplihack());
        command.args(args).current_dir(directory);
        let output = Run::new(command).output();
        output.assert_code(0).stdout_text().trim().to_owned()
    };
    let init = sandbox.run("git", ["init", "--quiet", inner.to_str().unwrap()]);
    init.assert_code(0);
    at(&sandbox.work().join("src/deep"), &["claude", "-p", "hi"]);
    assert!(sandbox.root().join(CONTEXT).is_file(), "one file, at the root of the repository");
    assert!(
        !sandbox.work().join("src/.claude").exists() && !sandbox.work().join("src/deep/.claude").exists()
    );
    assert_eq!(
        at(&inner.join("src/deep"), &["which"]),
        "copilot",
        "the outer repository ends at the inner one"
    );
    at(&inner, &["codex", "-p", "hi"]);
    assert_eq!(at(&inner.join("src/deep"), &["which"]), "codex");
    assert_eq!(at(&sandbox.work().join("src/deep"), &["which"]), "claude");
    assert_eq!(at(&sandbox.work().join("vendor"), &["which"]), "claude");
}
