//! The files by which a launch says that it is in charge: the repository's and the session's.

use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};

use amplihack_testkit::{Run, Sandbox, Script, procs};
use serde_json::Value;

use crate::scene::{
    CONTEXT, assert_in_no_file, files, json, mode, repository, variable, when_written, which, which_below,
};
use crate::world::{amplihack, prepare, run};

const AGENTS: [&str; 5] = ["claude", "copilot", "codex", "amplifier", "amp"];

fn git_status(sandbox: &Sandbox, directory: &std::path::Path) -> String {
    let mut command = sandbox.command("git");
    command.args(["status", "--porcelain", "--untracked-files=all"]).current_dir(directory);
    Run::new(command).output().assert_code(0).stdout_text()
}

#[test]
fn every_launch_of_every_agent_writes_its_context_and_nothing_of_the_prompt() {
    let mut sandbox = repository(&AGENTS);
    sandbox.script(&Script::new().shell("cat .claude/runtime/launcher_context.json > ../seen.json"));
    let prompt = sandbox.marker("prompt");
    for agent in AGENTS {
        let running = prepare(&sandbox, &[agent, "-p", &prompt]).spawn();
        let pid = running.pid().as_raw_nonzero().get();
        running.wait().assert_code(0);
        let context = json(&sandbox, CONTEXT);
        assert_eq!(json(&sandbox, "seen.json"), context, "{agent}: written before the agent starts");
        let mut keys: Vec<&str> = context.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        let expected =
            ["amplihack_version", "cwd", "launcher", "pid", "session_id", "start_time", "started_at"];
        assert_eq!(keys, expected);
        let record = sandbox.runs().pop().unwrap();
        assert_eq!(context["launcher"], agent);
        assert_eq!(context["session_id"].as_str(), variable(&record, "AMPLIHACK_SESSION_ID").as_deref());
        assert_eq!(context["cwd"].as_str(), sandbox.work().canonicalize().unwrap().to_str());
        assert_eq!(context["amplihack_version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(context["pid"], pid);
        assert!(context["start_time"].as_u64().unwrap() > 0);
        let started = context["started_at"].as_str().unwrap();
        let age = jiff::Timestamp::now().duration_since(started.parse().unwrap());
        assert!(started.ends_with('Z') && (0..60).contains(&age.as_secs()), "{started}");
        assert_eq!((mode(&sandbox, CONTEXT), mode(&sandbox, "work/.claude/runtime")), (0o600, 0o700));
        assert_eq!(which(&sandbox)["agent"], agent);
        assert_eq!(git_status(&sandbox, &sandbox.work()), "");
    }
    assert_in_no_file(&sandbox, &prompt);
    run(&sandbox, &["doctor"]).assert_nowhere(&prompt);
}

#[test]
fn a_context_is_replaced_whole() {
    let sandbox = repository(&["claude", "codex"]);
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0);
    let path = sandbox.root().join(CONTEXT);
    let before = std::fs::metadata(&path).unwrap().ino();
    let mut old = std::fs::File::open(&path).unwrap();
    run(&sandbox, &["codex", "-p", "hi"]).assert_code(0);
    assert_ne!(std::fs::metadata(&path).unwrap().ino(), before, "another file in its place");
    let mut text = String::new();
    old.read_to_string(&mut text).unwrap();
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["launcher"], "claude", "who had it open reads the old one to its end");
    let beside = files(path.parent().unwrap());
    assert_eq!(beside, [path], "no temporary file is left");
}

#[test]
fn a_git_worktree_keeps_its_own_context_out_of_git() {
    let sandbox = repository(&["claude", "codex"]);
    sandbox.run("git", ["worktree", "add", "--quiet", "../tree"]).assert_code(0);
    let tree = sandbox.root().join("tree");
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0);
    let mut command = sandbox.command(amplihack());
    command.args(["codex", "-p", "hi"]).current_dir(&tree);
    Run::new(command).output().assert_code(0).assert_stderr("");
    assert_eq!(json(&sandbox, "tree/.claude/runtime/launcher_context.json")["launcher"], "codex");
    assert_eq!(which(&sandbox)["agent"], "claude");
    for directory in [tree, sandbox.work()] {
        assert_eq!(git_status(&sandbox, &directory), "", "{}", directory.display());
    }
}

#[test]
fn a_link_out_of_the_repository_is_a_warning_and_the_launch_goes_on() {
    let sandbox = repository(&["claude"]);
    let outside = sandbox.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, sandbox.work().join(".claude")).unwrap();
    let output = run(&sandbox, &["claude", "-p", "hi"]);
    output.assert_code(0).assert_stderr_has("warning: ").assert_stderr_has(".claude leads out of ");
    assert_eq!(sandbox.only_run().name, "claude");
    assert_eq!(files(&outside), Vec::<std::path::PathBuf>::new(), "nothing is written through the link");
}

#[test]
fn a_runtime_root_gets_the_context_too() {
    let mut sandbox = repository(&["claude"]);
    let root = sandbox.root().join("runtime");
    std::fs::create_dir(&root).unwrap();
    sandbox.set("AMPLIHACK_RUNTIME_ROOT", &root);
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0).assert_stderr("");
    assert_eq!(json(&sandbox, "runtime/launcher_context.json"), json(&sandbox, CONTEXT));
    assert_eq!(mode(&sandbox, "runtime/launcher_context.json"), 0o600);
    assert_eq!(which(&sandbox)["source"], "runtime_root");
}

/// A fake agent that says that it runs and then waits, with no process below it.
fn waiting() -> (Sandbox, amplihack_testkit::Running) {
    let mut sandbox = repository(&["claude", "codex"]);
    sandbox.script_for("claude", &Script::new().shell("echo runs > ../ready").sleep_ms(30_000));
    let running = prepare(&sandbox, &["claude", "-p", "hi"]).spawn();
    when_written(&sandbox, "ready");
    (sandbox, running)
}

fn session_file(sandbox: &Sandbox) -> String {
    let session = variable(&sandbox.only_run(), "AMPLIHACK_SESSION_ID").unwrap();
    format!("home/.amplihack/sessions/{session}/context.json")
}

fn shell(sandbox: &Sandbox, text: &str) {
    sandbox.run("sh", ["-c", text]).assert_code(0);
}

#[test]
fn a_session_has_a_file_while_it_runs_and_none_after_its_end() {
    let (sandbox, running) = waiting();
    let file = session_file(&sandbox);
    let context = json(&sandbox, &file);
    let pid = running.pid().as_raw_nonzero();
    assert_eq!((&context["pid"], &context["agent"]), (&pid.get().into(), &"claude".into()));
    assert_eq!((mode(&sandbox, &file), mode(&sandbox, "home/.amplihack/sessions")), (0o600, 0o700));
    shell(&sandbox, &format!("kill -TERM {pid}"));
    running.wait().assert_code(143);
    assert_eq!(files(&sandbox.home().join(".amplihack/sessions")), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_killed_launcher_leaves_its_file_and_counts_as_dead() {
    let (sandbox, running) = waiting();
    let record = sandbox.only_run();
    let file = session_file(&sandbox);
    assert_eq!(which_below(&sandbox, &record)["source"], "environment");
    shell(&sandbox, &format!("kill -KILL {}", running.pid().as_raw_nonzero()));
    running.wait().assert_signal(9);
    procs::assert_none_soon(&sandbox.root().display().to_string(), std::time::Duration::from_secs(10));
    assert_eq!(json(&sandbox, &file)["agent"], "claude", "nobody was left to remove it");
    run(&sandbox, &["codex", "-p", "hi"]).assert_code(0);
    let answer = which_below(&sandbox, &record);
    assert_eq!((&answer["agent"], &answer["source"]), (&"codex".into(), &"context_file".into()));
}
