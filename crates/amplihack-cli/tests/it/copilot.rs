//! `amplihack copilot normalize`, and Copilot called through a link to amplihack.

use std::path::PathBuf;

use amplihack_setup::shim::{CopilotShimLink, install_into};
use amplihack_testkit::{Record, Run, Sandbox, Script, StdinKind};

use crate::fakes::{fakes, shape};
use crate::world::{amplihack, run};

/// Claude's flags, as recipes write them.
const CLAUDES: [&str; 5] =
    ["--dangerously-skip-permissions", "--system-prompt", "be brief", "-p", "it's a task"];
const COPILOTS: &str = "--allow-all-tools|--allow-all-paths|-p|be brief\n\nit's a task";

#[test]
fn arguments_are_printed_for_programs_and_for_shells() {
    let sandbox = fakes();
    let normalize = |option: &[&str], args: &[&str]| {
        let words = [&["copilot", "normalize"], option, &["--"], args].concat();
        run(&sandbox, &words)
    };
    let json = "[\"--allow-all-tools\",\"--allow-all-paths\",\"-p\",\"be brief\\n\\nit's a task\"]\n";
    let output = normalize(&["--json"], &CLAUDES);
    output.assert_code(0).assert_stdout(json);
    output.assert_stderr("warning: --dangerously-skip-permissions is not Copilot's and was left out\n");

    let output = normalize(&[], &CLAUDES);
    let text = "--allow-all-tools --allow-all-paths -p 'be brief\n\nit'\\''s a task'\n";
    output.assert_code(0).assert_stdout(text);
    let script = "eval \"set -- $1\"; printf '%s|' \"$@\"";
    let read = sandbox.run("/bin/sh", ["-c", script, "sh", &output.stdout_text()]);
    read.assert_stdout(format!("{COPILOTS}|"));

    let output = normalize(&[], &["-p", "--deny-tool=shell"]);
    output.assert_code(2).assert_stdout("");
    output.assert_stderr(
        "error: -p has no value before --deny-tool=shell\nhint: give it one, or leave it out\n",
    );
    let output = normalize(&["--json"], &["--prompt="]);
    output.assert_code(2).assert_stderr("");
    assert_eq!(output.json()["error"]["kind"], "empty_prompt");
    assert_eq!(sandbox.starts(), [], "nothing was started");
}

#[test]
fn a_prompt_that_is_the_verbs_name_is_still_a_prompt() {
    let sandbox = fakes();
    run(&sandbox, &["copilot", "--prompt", "normalize"]).assert_code(0);
    assert_eq!(shape(&sandbox.only_run()), "--prompt=normalize");
}

/// A sandbox with a fake Copilot, and before it on PATH a link of this name to amplihack.
fn shimmed() -> (Sandbox, CopilotShimLink) {
    let mut sandbox = fakes();
    let shim = install_into(&sandbox.root().join("run/bin"), amplihack()).unwrap();
    let path = shim.prepend_to_path(sandbox.env().get("PATH")).unwrap();
    sandbox.set("PATH", path);
    (sandbox, shim)
}

fn copilot(sandbox: &Sandbox, args: &[&str]) -> Run {
    Run::new(sandbox.command("copilot")).args(args)
}

#[test]
fn a_call_of_copilot_becomes_copilot_with_its_own_flags() {
    let (mut sandbox, shim) = shimmed();
    sandbox.script(&Script::new().print("answer\n").exit(7));
    let output = copilot(&sandbox, &CLAUDES).stdin("piped").output();
    output.assert_code(7).assert_stdout("answer\n");
    let record = sandbox.only_run();
    assert_eq!(shape(&record), format!("{COPILOTS} < piped"));
    assert_eq!(record.pid, record.pgid, "it is the process that was started, and no child of it");
    assert_eq!(std::fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0);
    drop(shim);
    assert!(!sandbox.root().join("run/bin").exists());
}

#[test]
fn signals_are_copilots_own() {
    let (mut sandbox, _shim) = shimmed();
    sandbox.script(&Script::new().print("there\n").sleep_ms(60_000));
    let mut running = copilot(&sandbox, &["-p", "x"]).spawn();
    running.until_stdout_has("there");
    running.signal(rustix::process::Signal::TERM);
    running.wait().assert_signal(15);
    sandbox.script(&Script::new().die("KILL"));
    copilot(&sandbox, &["-p", "x"]).output().assert_signal(9);
}

#[test]
fn shims_are_never_called_by_shims() {
    let (mut sandbox, shim) = shimmed();
    let second = install_into(&sandbox.root().join("run2/bin"), amplihack()).unwrap();
    let path = second.prepend_to_path(sandbox.env().get("PATH")).unwrap();
    sandbox.set("PATH", path);
    copilot(&sandbox, &["--disallowed-tools", "Bash", "-p", "x"]).output().assert_code(0);
    let once = "--allow-all-paths|--deny-tool=shell|-p|Do not use these tools in this invocation: Bash.\n\nx";
    assert_eq!(shape(&sandbox.only_run()), once);

    std::fs::remove_file(sandbox.bin().join("copilot")).unwrap();
    let output = copilot(&sandbox, &["-p", "x"]).output();
    output.assert_code(3).assert_stderr_has("copilot was not found");
    let own: PathBuf = shim.directory().join("copilot");
    let output = copilot(&sandbox, &["-p", "x"]).env("AMPLIHACK_COPILOT_PATH", &own).output();
    output.assert_code(3).assert_stderr_has("which is amplihack itself");
}

#[test]
fn the_verb_does_the_same_and_a_launch_does_not_go_through_it() {
    let (sandbox, _shim) = shimmed();
    run(&sandbox, &["copilot", "shim", "--", "--append-system-prompt=s", "-p", "x"]).assert_code(0);
    // No permission was asked for, and the launch adds none.
    run(&sandbox, &["copilot", "--permissions", "ask", "-p", "task"]).assert_code(0);
    let calls: Vec<String> = sandbox.runs().iter().map(shape).collect();
    assert_eq!(calls, ["--allow-all-tools|--allow-all-paths|-p|s\n\nx", "--prompt=task"]);
}

#[test]
fn parts_that_fit_and_a_whole_that_does_not_reach_copilot_on_stdin() {
    let (sandbox, _shim) = shimmed();
    let (system, prompt) = ("s".repeat(100_000), "p".repeat(100_000));
    let args = ["--system-prompt", &system, "-p", &prompt, "--model", "m"];
    copilot(&sandbox, &args).stdin("of no use").output().assert_code(0);
    let Record { stdin, stdin_kind, .. } = sandbox.only_run();
    assert_eq!(stdin_kind, StdinKind::File);
    assert_eq!(stdin.unwrap().lossy(), format!("{system}\n\n{prompt}"));
    assert_eq!(std::fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0);
}

#[test]
fn copilots_own_commands_pass_through() {
    let (sandbox, _shim) = shimmed();
    copilot(&sandbox, &["mcp", "list"]).output().assert_code(0);
    assert_eq!(shape(&sandbox.only_run()), "mcp|list");
}
