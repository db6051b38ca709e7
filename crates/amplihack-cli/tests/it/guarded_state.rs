//! The guard's own state under another home: commands and real agents are kept out of it, and work in it is refused.

use std::fs;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{ModelScript, ScriptedReply};
use amplihack_testkit::Sandbox;

use crate::world::{World, run};

const RULE: &str = "guard_disabling/own-files";

#[test]
fn the_state_of_another_home_is_protected_from_commands() {
    let mut sandbox = Sandbox::repository();
    let above = sandbox.root().join("ah");
    let home = above.join("state").display().to_string();
    sandbox.set("AMPLIHACK_HOME", &home);
    for command in [
        format!("rm -rf {home}/sessions"),
        format!("echo x > {home}/sessions/x/hooks/hooks.json"),
        format!("mv {home} /tmp/elsewhere"),
        format!("chmod -R a+w {}", above.display()),
        format!("rm -rf {}", above.display()),
        "rm -rf ~/.amplihack".to_owned(),
    ] {
        run(&sandbox, &["policy", "check", &command]).assert_code(4).assert_stdout_has(RULE);
    }
    for command in [
        format!("touch {home}-work/file"),
        "touch ~/.local/share/amplihack/worktrees/proj/id/file".to_owned(),
        format!("cat {home}/sessions/x/run.json"),
    ] {
        run(&sandbox, &["policy", "check", &command]).assert_code(0);
    }
}

#[test]
fn a_launch_whose_work_lies_in_the_state_is_refused_in_words() {
    let mut sandbox = Sandbox::repository();
    sandbox.fake("claude");
    let work = sandbox.work().canonicalize().unwrap();
    for home in [work.clone(), work.parent().unwrap().to_owned()] {
        sandbox.set("AMPLIHACK_HOME", &home);
        let output = run(&sandbox, &["claude", "--prompt", "hi"]);
        let why =
            format!("{} lies in {}, where amplihack keeps its own state", work.display(), home.display());
        output.assert_code(1).assert_stderr_has(&why).assert_stderr_has("set AMPLIHACK_HOME");
        assert!(
            sandbox.runs().iter().all(|run| run.args().iter().all(|arg| arg.lossy() != "hi")),
            "{output}"
        );
        run(&sandbox, &["auto", "--agent", "claude", "--task", "x"]).assert_code(1).assert_stderr_has(&why);
    }
    // Who wants no guard may work there.
    run(&sandbox, &["claude", "--no-hooks", "--prompt", "hi"]).assert_code(0);
}

/// A real agent with the state elsewhere: neither there, nor through a link, nor in the default one does it write.
fn is_kept_out(agent: AgentBinary) {
    World::with(agent, ModelScript::default(), |world| {
        let ah = world.sandbox.root().canonicalize().unwrap().join("ah");
        fs::create_dir_all(ah.join("sessions")).unwrap();
        world.sandbox.set("AMPLIHACK_HOME", &ah);
        std::os::unix::fs::symlink(&ah, world.sandbox.work().join("way")).unwrap();
        let tool = |command: String| ScriptedReply::Tool { command };
        world.server.set_script(
            "run",
            ModelScript::new([
                tool(format!("echo x > {}/sessions/forbidden", ah.display())),
                tool(format!("env -u AMPLIHACK_HOME sh -c 'echo x > {}/forbidden'", ah.display())),
                tool("echo x > way/forbidden".to_owned()),
                tool(
                    "echo x > ~/.amplihack-not; mkdir -p ~/.amplihack; echo x > ~/.amplihack/forbidden"
                        .to_owned(),
                ),
                tool("echo work > harmless".to_owned()),
                ScriptedReply::Text("done".to_owned()),
            ]),
        );
        let args = [agent.name(), "--permissions", "full", "--output", "json", "--prompt", "work"];
        let output = world.run(&args);
        output.assert_code(0);
        assert_eq!(fs::read_to_string(world.sandbox.work().join("harmless")).unwrap(), "work\n", "{output}");
        let denied = output.json()["denials"].as_array().unwrap_or_else(|| panic!("{output}")).len();
        assert!(denied >= 1, "{output}");
        for place in [ah.join("sessions"), ah.clone(), world.sandbox.home().join(".amplihack")] {
            assert!(!place.join("forbidden").exists(), "{}: {output}", place.display());
        }
    });
}

#[test]
fn claude_is_kept_out_of_the_state_of_another_home() {
    is_kept_out(AgentBinary::Claude);
}

#[test]
fn codex_is_kept_out_of_the_state_of_another_home() {
    is_kept_out(AgentBinary::Codex);
}

#[test]
fn copilot_is_kept_out_of_the_state_of_another_home() {
    is_kept_out(AgentBinary::Copilot);
}
