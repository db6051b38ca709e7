//! What machines miss is said with what to do about it, before anything runs.

use crate::remote::world::{Kind, World};
use crate::world::amplihack;

everywhere! {
    fn what_is_missing_is_named_and_nothing_is_started(world) {
        let rents = world.kind == Kind::Azlin;
        if rents {
            world.run(&["doctor"]).assert_code(1).assert_stdout_has("No machines");
        } else {
            let ready = world.run(&["doctor"]);
            ready.assert_code(0).assert_stdout_has(": ready\n").assert_stdout_has("claude: 2.1.332 (Claude Code)");
            ready.assert_stdout_has("amplihack: amplihack ").assert_stdout_has("git: git version");
            let other = world.run(&["doctor", "--agent", "codex"]);
            other.assert_code(1).assert_stdout_has(": not ready\n");
            other.assert_stdout_has("problem: codex is missing; install it there: npm install -g @openai/codex");
        }

        world.take("claude");
        refused(world, "claude is missing; install it there: ");
        world.give_text("claude", include_str!("agent.sh"));
        world.take("amplihack");
        if world.kind == Kind::Local {
            // The program that runs is one.
            world.run(&["doctor"]).assert_code(0).assert_stdout_has(": ready\n").assert_stdout_has("amplihack: amplihack ");
            let started = world.run(&["start", "--json", "do it"]);
            let ids = crate::remote::world::ids(&started.assert_code(0).json());
            assert_eq!(world.wait(&ids)[0]["status"], "completed", "{}", world.said(&[&ids[0]]));
            return;
        }
        if !rents {
            let missing = world.run(&["doctor"]);
            missing.assert_code(1).assert_stdout_has("problem: amplihack is missing; install it there: cargo install ");
            let objects = world.run(&["doctor", "--json"]).assert_code(1).json();
            assert!(objects[0]["problems"][0].as_str().unwrap().starts_with("amplihack is missing"), "{objects}");
        }
        refused(world, "amplihack is missing; install it there: ");

        // It can be brought along.
        let upload = format!("--upload={}", amplihack().display());
        let started = world.run(&["start", &upload, "--json", "do it"]);
        started.assert_code(0);
        let ids = crate::remote::world::ids(&started.json());
        assert_eq!(world.wait(&ids)[0]["status"], "completed", "{}", world.said(&[&ids[0]]));
        assert!(world.home(&ids[0]).join(".local/bin/amplihack").is_file());
    }
}

/// Claims that a start fails for this reason, and leaves neither a slot that is taken nor a machine that costs.
fn refused(world: &World, why: &str) {
    let refused = world.run(&["start", "do it"]);
    refused.assert_code(1).assert_stdout("").assert_stderr_has(why);
    let status = world.json(&["status"]);
    assert_eq!(status["pool"]["active_sessions"], 0, "{status}");
    assert_eq!(status["sessions"]["pending"], 0, "{status}");
    if let Some(azlin) = &world.azlin {
        assert_eq!(azlin.vms(), []);
    }
}
