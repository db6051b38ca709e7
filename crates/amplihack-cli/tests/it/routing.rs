//! Which agent is in charge, as processes of all kinds ask for it: of live and of ended launches, with and without an
//! environment, in tmux, by hand.

use std::process::Command;

use amplihack_testkit::{Run, Sandbox, Script, Tmux};

use crate::scene::{CONTEXT, masked, repository, variable, when_written, which, which_below};
use crate::world::{amplihack, prepare, run};

/// Waits for `path`, in a shell script.
pub(crate) fn until(path: &str) -> String {
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

/// A recipe with one agent step.
pub(crate) const ASKS: &str = "name: asks\nsteps:\n  - {id: b, type: agent, prompt: hi}\n";

/// The recipe by `recipe-runner-rs`.
fn runner(sandbox: &Sandbox, args: &[&str]) -> amplihack_testkit::Output {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    command.arg("asks.yaml").args(args);
    Run::new(command).output()
}

/// The names of the agents that were started, in their order.
pub(crate) fn started(sandbox: &Sandbox) -> Vec<String> {
    sandbox.runs().into_iter().map(|record| record.name).collect()
}

#[test]
fn the_recipe_runner_starts_the_agent_in_charge_and_leaves_it_in_charge() {
    let mut sandbox = repository(&["claude", "copilot", "codex"]);
    sandbox.write("work/asks.yaml", ASKS);
    runner(&sandbox, &[]).assert_code(0);
    assert_eq!(started(&sandbox), ["claude"], "the predecessor's default, where nothing says which");
    run(&sandbox, &["copilot", "-p", "hi"]).assert_code(0);
    let output = runner(&sandbox, &["--output-format", "json"]);
    output.assert_code(0);
    assert_eq!(started(&sandbox), ["claude", "copilot", "copilot"]);
    assert_eq!(which(&sandbox)["agent"], "copilot");

    // A tmux server's variables of a launch that has ended.
    run(&sandbox, &["codex", "-p", "hi"]).assert_code(0);
    sandbox.set("AMPLIHACK_AGENT_BINARY", "claude");
    sandbox.set("AMPLIHACK_AGENT_BINARY_SET", "20260101T000000Z-000000000000:claude");
    runner(&sandbox, &[]).assert_code(0);
    assert_eq!(started(&sandbox)[3..], ["codex", "codex"]);
    assert_eq!(which(&sandbox)["agent"], "codex");

    sandbox.unset("AMPLIHACK_AGENT_BINARY_SET");
    runner(&sandbox, &[]).assert_code(0);
    assert_eq!(started(&sandbox)[5..], ["claude"], "by hand");
    runner(&sandbox, &["--agent-binary", "copilot"]).assert_code(0);
    assert_eq!(started(&sandbox)[6..], ["copilot"], "by option");

    // A file that nobody can use is not silence: the runner answers as everybody does.
    sandbox.unset("AMPLIHACK_AGENT_BINARY");
    sandbox.write("work/.claude/runtime/launcher_context.json", "{");
    runner(&sandbox, &[]).assert_code(0);
    assert_eq!(started(&sandbox)[7..], ["copilot"]);
    assert_eq!(which(&sandbox)["agent"], "copilot");
}

/// Every front end that starts an agent by a variable or an option.
#[test]
fn names_are_read_alike_everywhere_and_a_rejected_one_reaches_no_terminal_raw() {
    let mut sandbox = repository(&["claude", "copilot", "codex"]);
    sandbox.write("work/asks.yaml", ASKS);
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0);
    sandbox.run("git", ["commit", "--quiet", "--allow-empty", "-m", "first"]).assert_code(0);
    sandbox.write("work/task.txt", "hi\n");
    for name in ["CODEX", " CoDeX "] {
        let before = started(&sandbox).len();
        sandbox.set("AMPLIHACK_AGENT_BINARY", name);
        run(&sandbox, &["which"]).assert_stdout("codex\n").assert_stderr("");
        runner(&sandbox, &[]).assert_code(0);
        // The fakes report no result, so that the step fails; who was started is what counts.
        run(&sandbox, &["recipe", "run", "asks.yaml"]).assert_code(1);
        run(&sandbox, &["launch", "-p", "hi"]).assert_code(0);
        sandbox.unset("AMPLIHACK_AGENT_BINARY");
        runner(&sandbox, &["--agent-binary", name]).assert_code(0);
        run(&sandbox, &["recipe", "run", "asks.yaml", "--agent", name]).assert_code(1);
        run(&sandbox, &["auto", "--agent", name, "--max-turns", "1", "--task", "hi"]);
        assert_eq!(started(&sandbox)[before..], vec!["codex"; 6][..], "{name:?}");
        run(&sandbox, &["claude", "-p", "hi"]).assert_code(0);
        run(&sandbox, &["auto", "--fallback", name, "--max-turns", "1", "--task", "hi"]);
        run(&sandbox, &["parallel", "--agents", name, "--max-turns", "1", "--task-file", "task.txt"]);
        assert_eq!(started(&sandbox)[before + 6..], ["claude", "claude", "codex"]);
        sandbox.write(
            "home/.config/amplihack/config.toml",
            format!("[agents.\"{name}\"]\npath = \"/x/codex\"\n"),
        );
        let shown = run(&sandbox, &["config", "show"]);
        assert!(shown.stdout_text().contains("agents.codex.path = /x/codex"), "{}", shown.stdout_text());
        std::fs::remove_file(sandbox.home().join(".config/amplihack/config.toml")).unwrap();
        run(&sandbox, &["policy", "export", "--for", name]).assert_code(0);
        run(&sandbox, &["claude", "-p", "hi"]).assert_code(0);
    }
    let long = "x".repeat(100_000);
    for name in ["bash", "\u{1b}[31mred", "../claude", "a\nb", &long] {
        let before = started(&sandbox).len();
        sandbox.set("AMPLIHACK_AGENT_BINARY", name);
        let outputs = [
            run(&sandbox, &["which"]),
            runner(&sandbox, &[]),
            run(&sandbox, &["recipe", "run", "asks.yaml"]),
        ];
        sandbox.unset("AMPLIHACK_AGENT_BINARY");
        for output in outputs {
            output.assert_stderr_has("AMPLIHACK_AGENT_BINARY");
            assert_harmless(&output, name);
        }
        assert_eq!(started(&sandbox)[before..], ["claude", "claude"], "{name:.40}");
        for output in [
            runner(&sandbox, &["--agent-binary", name]),
            run(&sandbox, &["recipe", "run", "asks.yaml", "--agent", name]),
            run(&sandbox, &["auto", "--fallback", name, "--task", "hi"]),
            run(&sandbox, &["parallel", "--agents", name, "--task-file", "task.txt"]),
            run(&sandbox, &["policy", "export", "--for", name]),
            run(&sandbox, &[name]),
        ] {
            output.assert_code(2);
            assert_harmless(&output, name);
        }
        assert_eq!(started(&sandbox).len(), before + 2);
    }
}

#[track_caller]
fn assert_harmless(output: &amplihack_testkit::Output, name: &str) {
    for text in [output.stdout_text(), output.stderr_text()] {
        assert!(!text.contains('\u{1b}'), "{name:.40}: {text:?}");
        assert!(text.len() < 4000, "{name:.40}: {} bytes", text.len());
        assert!(!text.contains("a\nb"), "{text:?}");
    }
}
