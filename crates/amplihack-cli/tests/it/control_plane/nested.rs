//! Nested launches of Copilot: what `amplihack copilot normalize` makes of their arguments.

use amplihack_testkit::{Sandbox, Script};

use crate::fakes::{fakes, shape};
use crate::world::run;

/// The arguments that Copilot gets of these.
fn normalized(args: &[&str]) -> Vec<String> {
    let sandbox = Sandbox::new();
    let output = run(&sandbox, &[&["copilot", "normalize", "--json", "--"], args].concat());
    serde_json::from_value(output.assert_code(0).json()).unwrap()
}

/// What stands in front where nothing was said.
const OPEN: [&str; 2] = ["--allow-all-tools", "--allow-all-paths"];

fn merged(args: &[&str], prompt: &str) {
    assert_eq!(normalized(args), [&OPEN[..], &["-p", prompt]].concat());
}

#[test]
fn a_system_prompt_becomes_a_part_of_the_prompt() {
    merged(&["--system-prompt", "S", "-p", "P"], "S\n\nP");
}

#[test]
fn an_appended_system_prompt_becomes_a_part_of_the_prompt() {
    merged(&["--append-system-prompt", "S", "-p", "P"], "S\n\nP");
}

#[test]
fn the_short_prompt_is_a_part() {
    merged(&["-p", "P", "--system-prompt", "S"], "S\n\nP");
}

#[test]
fn the_attached_prompt_is_a_part() {
    merged(&["--prompt=P", "--system-prompt", "S"], "S\n\nP");
}

#[test]
fn parts_are_joined_by_a_blank_line() {
    merged(
        &["--system-prompt", "A", "--append-system-prompt", "B", "-p", "C", "--prompt=D"],
        "A\n\nB\n\nC\n\nD",
    );
}

#[test]
fn one_prompt_is_left_and_it_is_the_last_word() {
    let argv = normalized(&["--system-prompt", "A", "-p", "B", "--model", "m", "--prompt=C"]);
    let prompts = argv
        .iter()
        .filter(|word| ["-p", "--prompt", "--system-prompt"].iter().any(|flag| word.starts_with(flag)));
    assert_eq!(prompts.count(), 1, "{argv:?}");
    assert_eq!(argv[argv.len() - 2..], ["-p", "A\n\nB\n\nC"]);
}

/// With this flag its own question is decided, the other is not, and the flag stays.
fn decided(flag: &[&str], other: &str) {
    let argv = normalized(&[flag, &["-p", "x"]].concat());
    assert_eq!(argv, [&[other], flag, &["-p", "x"]].concat());
}

#[test]
fn allow_all_tools_is_explicit() {
    decided(&["--allow-all-tools"], "--allow-all-paths");
}

#[test]
fn allow_tool_is_explicit() {
    decided(&["--allow-tool=shell(git)"], "--allow-all-paths");
}

#[test]
fn deny_tool_is_explicit() {
    decided(&["--deny-tool=shell"], "--allow-all-paths");
}

#[test]
fn allow_all_paths_is_explicit() {
    decided(&["--allow-all-paths"], "--allow-all-tools");
}

#[test]
fn allow_path_is_explicit() {
    decided(&["--allow-path=/repo"], "--allow-all-tools");
}

#[test]
fn deny_path_is_explicit() {
    decided(&["--deny-path=/secret"], "--allow-all-tools");
}

#[test]
fn without_a_word_about_tools_all_are_allowed() {
    assert_eq!(normalized(&["-p", "x"])[0], "--allow-all-tools");
}

#[test]
fn without_a_word_about_paths_all_are_allowed() {
    assert_eq!(normalized(&["-p", "x"])[1], "--allow-all-paths");
}

#[test]
fn explicit_flags_are_kept_and_nothing_is_widened() {
    let given = [
        "--allow-tool=shell(git)",
        "--deny-tool=write",
        "--allow-path=/repo",
        "--deny-path=/secret",
        "-p",
        "x",
    ];
    assert_eq!(normalized(&given), given);
}

#[test]
fn a_launch_by_the_runner_goes_through_the_normaliser() {
    let mut sandbox = fakes();
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    sandbox.script(&Script::new().print("done\n"));
    sandbox.write(
        "work/t.yaml",
        "name: t\nsteps:\n  - {id: a, command: 'copilot --dangerously-skip-permissions --system-prompt S -p P'}\n",
    );
    run(&sandbox, &["recipe", "run", "t.yaml", "--agent", "copilot"]).assert_code(0);
    let calls: Vec<String> = sandbox.runs().iter().map(shape).collect();
    assert_eq!(calls, ["--allow-all-tools|--allow-all-paths|-p|S\n\nP"]);
}
