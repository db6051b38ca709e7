//! Launches below launches: the nearest living one above a process is in charge of it, and the outer one keeps its place.

use amplihack_testkit::Script;

use crate::routing::{ASKS, started, until};
use crate::scene::{CONTEXT, json, repository, when_written, which};
use crate::world::run;

/// What asks without any variable; the agent's script has `amplihack` on its PATH.
const CLEARED: &str = "env -i \"$(command -v amplihack)\" which --json";

#[test]
fn a_nested_launch_does_not_take_the_living_outer_ones_place() {
    let mut sandbox = repository(&["copilot", "claude", "codex"]);
    sandbox.write("work/asks.yaml", ASKS);
    // Within the nested one, at its end, and for what left the tree of processes.
    sandbox.script_for(
        "claude",
        &Script::new()
            .shell(&format!("{CLEARED} > ../nested.json"))
            .shell(&format!("setsid --wait {CLEARED} > ../nested-setsid.json")),
    );
    sandbox.script_for(
        "copilot",
        &Script::new()
            .shell("amplihack recipe run --agent claude asks.yaml > /dev/null")
            .shell(&format!("{CLEARED} > ../outer.json"))
            .shell("amplihack claude -p hi > /dev/null")
            .shell(&format!("env -i PATH=\"$PATH\" HOME=\"$HOME\" setsid --wait sh -c '{CLEARED}' > ../outer-setsid.json"))
            .shell("amplihack which > ../outer.txt")
            .shell("AMPLIHACK_AGENT_BINARY=codex amplihack which > ../hand.txt")
            .shell("env -i PATH=\"$PATH\" HOME=\"$HOME\" AMPLIHACK_AGENT_BINARY=vim amplihack which --json > ../invalid.json"),
    );
    run(&sandbox, &["copilot", "-p", "hi"]).assert_code(0);
    assert_eq!(started(&sandbox), ["copilot", "claude", "claude"]);
    for (file, agent) in [
        ("nested.json", "claude"),
        ("nested-setsid.json", "claude"),
        ("outer.json", "copilot"),
        ("outer-setsid.json", "copilot"),
        ("invalid.json", "copilot"),
    ] {
        let answer = json(&sandbox, file);
        assert_eq!((&answer["agent"], &answer["source"]), (&agent.into(), &"ancestor".into()), "{file}");
    }
    assert_eq!(when_written(&sandbox, "outer.txt"), "copilot");
    assert_eq!(when_written(&sandbox, "hand.txt"), "codex");
    assert_eq!(json(&sandbox, CONTEXT)["launcher"], "copilot");
    assert_eq!(which(&sandbox)["agent"], "copilot", "also after both have ended");
    let index = sandbox.home().join(".amplihack/.launches");
    assert_eq!(std::fs::read_dir(index).unwrap().count(), 0, "nothing stays in the index");
    run(&sandbox, &["codex", "-p", "hi"]).assert_code(0);
    assert_eq!(
        which(&sandbox)["agent"],
        "codex",
        "a launch that is not nested takes the place of one that ended"
    );
}

#[test]
fn nested_agents_that_run_at_once_keep_their_own_descendants() {
    let mut sandbox = repository(&["copilot", "claude", "codex", "amp"]);
    let recipe = "name: many\nsteps:\n  - {id: a, type: agent, prompt: hi, continue_on_error: true}\n  - {id: b, type: agent, prompt: hi}\n";
    sandbox.write("work/many.yaml", recipe);
    for agent in ["claude", "codex", "amp"] {
        sandbox.script_for(
            agent,
            &Script::new()
                .shell(&format!("touch ../{agent}.up"))
                .shell(&format!(
                    "{}; {}; {}",
                    until("../claude.up"),
                    until("../codex.up"),
                    until("../amp.up")
                ))
                .shell(&format!("{CLEARED} >> ../{agent}.jsonl")),
        );
    }
    let nested = "for agent in claude codex amp; do amplihack recipe run --agent $agent many.yaml > /dev/null & done; wait";
    sandbox.script_for("copilot", &Script::new().shell(nested).shell(&format!("{CLEARED} > ../outer.json")));
    run(&sandbox, &["copilot", "-p", "hi"]).assert_code(0);
    for agent in ["claude", "codex", "amp"] {
        let text = std::fs::read_to_string(sandbox.root().join(format!("{agent}.jsonl"))).unwrap();
        let answers: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers.len(), 2, "{text}");
        assert!(answers.iter().all(|answer| answer["agent"] == agent), "{agent}: {text}");
    }
    assert_eq!(json(&sandbox, "outer.json")["agent"], "copilot");
    assert_eq!(json(&sandbox, CONTEXT)["launcher"], "copilot");
}

/// One launcher, several agents at once: its process alone does not tell whose descendant asks.
#[test]
fn agents_of_one_launcher_keep_their_own_descendants() {
    let mut sandbox = repository(&["claude", "codex"]);
    sandbox.run("git", ["commit", "--quiet", "--allow-empty", "-m", "first"]).assert_code(0);
    sandbox.write("work/task.txt", "one\ntwo\n");
    for agent in ["claude", "codex"] {
        let root = sandbox.root().display().to_string();
        let (other, own) = (if agent == "claude" { "codex" } else { "claude" }, format!("{root}/{agent}"));
        sandbox.script_for(
            agent,
            &Script::new().shell(&format!("touch {own}.up; {}", until(&format!("{root}/{other}.up")))).shell(
                &format!(
                    "{CLEARED} > {own}.json; touch {own}.asked; {}",
                    until(&format!("{root}/{other}.asked"))
                ),
            ),
        );
    }
    run(&sandbox, &["parallel", "--agents", "claude,codex", "--max-turns", "1", "--task-file", "task.txt"]);
    for agent in ["claude", "codex"] {
        let answer = json(&sandbox, format!("{agent}.json"));
        assert_eq!((&answer["agent"], &answer["source"]), (&agent.into(), &"ancestor".into()));
    }
}
