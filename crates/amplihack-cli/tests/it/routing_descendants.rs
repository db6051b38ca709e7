//! Descendants of a launch that lost a part of their environment, and what a launch leaves for those that come after it.

use std::os::unix::fs::PermissionsExt;

use amplihack_testkit::Script;

use crate::scene::{CONTEXT, json, repository, variable, when_written, which};
use crate::world::run;

/// What a process answers that Claude started: `asks`, with `which` behind it.
fn below_claude(asks: &str) -> String {
    let mut sandbox = repository(&["claude"]);
    sandbox.script(&Script::new().shell(&format!("{asks} which > ../answer.txt")));
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0);
    when_written(&sandbox, "answer.txt")
}

#[test]
fn an_emptied_environment_finds_the_agent() {
    assert_eq!(below_claude("env -i \"$(command -v amplihack)\""), "claude");
}

#[test]
fn a_process_with_a_session_of_its_own_finds_the_agent() {
    assert_eq!(below_claude("setsid --wait amplihack"), "claude");
}

#[test]
fn a_stripped_variable_is_recovered_from_the_file() {
    assert_eq!(below_claude("env -u AMPLIHACK_AGENT_BINARY amplihack"), "claude");
}

#[test]
fn one_launch_makes_its_agent_that_of_the_repository() {
    let sandbox = repository(&["claude", "copilot"]);
    assert_eq!(which(&sandbox)["agent"], "copilot", "before any launch");
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0);
    let answer = which(&sandbox);
    assert_eq!((&answer["agent"], &answer["source"]), (&"claude".into(), &"context_file".into()));
    run(&sandbox, &["launch", "-p", "hi"]).assert_code(0);
    assert_eq!(sandbox.runs().pop().unwrap().name, "claude");
}

#[test]
fn every_launch_writes_the_file_and_sets_the_variable() {
    for agent in ["claude", "copilot", "codex", "amplifier", "amp"] {
        let sandbox = repository(&[agent]);
        run(&sandbox, &[agent, "-p", "hi"]).assert_code(0);
        assert_eq!(json(&sandbox, CONTEXT)["launcher"], agent);
        assert_eq!(variable(&sandbox.only_run(), "AMPLIHACK_AGENT_BINARY").as_deref(), Some(agent));
    }
}

#[test]
fn a_recipe_without_an_agent_of_its_own_uses_the_one_in_charge() {
    let sandbox = repository(&["claude", "copilot", "codex"]);
    sandbox.write("work/a.yaml", "name: a\nsteps:\n  - {id: p, type: agent, prompt: hi}\n");
    for agent in ["claude", "codex"] {
        run(&sandbox, &[agent, "-p", "hi"]).assert_code(0);
        run(&sandbox, &["recipe", "run", "a.yaml"]);
        assert_eq!(sandbox.runs().pop().unwrap().name, agent);
        assert_eq!(which(&sandbox)["agent"], agent, "the recipe changes nothing about it");
    }
}

#[test]
fn a_recipe_where_nothing_was_launched_uses_the_default() {
    let sandbox = repository(&["claude", "copilot"]);
    sandbox.write("work/a.yaml", "name: a\nsteps:\n  - {id: p, type: agent, prompt: hi}\n");
    run(&sandbox, &["recipe", "run", "a.yaml"]);
    assert_eq!(sandbox.only_run().name, "copilot");
}

#[test]
fn one_variable_decides_for_one_command() {
    let mut sandbox = repository(&["claude", "codex"]);
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0);
    sandbox.set("AMPLIHACK_AGENT_BINARY", "codex");
    assert_eq!(which(&sandbox)["source"], "environment");
    run(&sandbox, &["launch", "-p", "hi"]).assert_code(0);
    assert_eq!(sandbox.runs().pop().unwrap().name, "codex");
}

#[test]
fn no_value_and_no_path_reaches_a_shell() {
    let mut sandbox = repository(&["copilot"]);
    for value in ["copilot;touch ran", "$(touch ran)", "copilot\ntouch ran", "`touch ran`"] {
        sandbox.set("AMPLIHACK_AGENT_BINARY", value);
        run(&sandbox, &["launch", "-p", "hi"]).assert_code(0);
        assert_eq!(sandbox.runs().pop().unwrap().name, "copilot");
    }
    sandbox.unset("AMPLIHACK_AGENT_BINARY");
    let text = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 2.1.332; exit; }\necho started\n";
    let program = sandbox.write("$(touch ran)/claude", text);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.set("AMPLIHACK_CLAUDE_PATH", &program);
    run(&sandbox, &["claude", "-p", "hi"]).assert_stdout_has("started");
    assert!(!sandbox.work().join("ran").exists(), "a shell read it");
}

#[test]
fn installed_hooks_are_commands_of_the_native_program() {
    let sandbox = repository(&["claude"]);
    run(&sandbox, &["install", "--agent", "claude"]).assert_code(0);
    let settings = json(&sandbox, "home/.claude/settings.json");
    let events = settings["hooks"].as_object().unwrap();
    assert!(events.len() > 4, "{settings:#}");
    for (event, groups) in events {
        for hook in groups.as_array().unwrap().iter().flat_map(|group| group["hooks"].as_array().unwrap()) {
            let command = hook["command"].as_str().unwrap();
            let ours = command.contains("amplihack-hooks ") || command.contains("amplihack hook ");
            assert!(ours && !command.contains(".py"), "{event}: {command}");
        }
    }
}

#[test]
fn the_hooks_of_one_agent_do_not_stand_in_for_another_ones() {
    let sandbox = repository(&["claude", "codex"]);
    run(&sandbox, &["install", "--agent", "claude", "--agent", "codex"]).assert_code(0);
    let path = sandbox.home().join(".codex/hooks.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("pre-tool-use", "post-tool-use")).unwrap();
    let report = run(&sandbox, &["doctor", "--json"]).assert_code(1).json();
    let broken: Vec<&str> =
        report["broken"].as_array().unwrap().iter().filter_map(|line| line.as_str()).collect();
    let of_codex: Vec<&&str> = broken.iter().filter(|line| line.starts_with("codex: ")).collect();
    assert!(of_codex.len() == 1 && of_codex[0].contains("PreToolUse"), "{broken:#?}");
    assert!(of_codex[0].contains("amplihack install --agent codex"), "{broken:#?}");
}
