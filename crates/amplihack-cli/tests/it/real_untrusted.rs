//! A repository that nobody trusts, on Codex, Copilot and Gemini CLI, whose own users trust its folder: nothing of it runs before the guard.

use std::path::Path;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};
use amplihack_testkit::{Output, Run};
use serde_json::json;

use crate::world::World;

const INSTRUCTIONS: &str = "INSTRUCTIONS-OF-THE-REPOSITORY";

/// Fills the repository with what its agent would start; each thing shows by a file `ran-…` that it ran.
fn fill(world: &World, agent: AgentBinary) {
    let work = world.sandbox.work().canonicalize().unwrap();
    let touch = |name: &str| format!("touch {}/ran-{name}", work.display());
    let server = world.sandbox.write("work/server.sh", format!("#!/bin/sh\n{}\n", touch("server")));
    let put = |path: &str, text: String| {
        world.sandbox.write(format!("work/{path}"), text);
    };
    let claudes =
        |name: &str| json!({"SessionStart": [{"hooks": [{"type": "command", "command": touch(name)}]}]});
    let copilots = json!({"sessionStart": [{"type": "command", "bash": touch("hook"), "timeoutSec": 5}]});
    let servers =
        json!({"theirs": {"command": "/bin/sh", "args": [server], "type": "local", "tools": ["*"]}});
    for name in ["AGENTS.md", "GEMINI.md", ".github/copilot-instructions.md"] {
        put(name, format!("{INSTRUCTIONS}\n"));
    }
    match agent {
        AgentBinary::Codex => {
            put(".codex/hooks.json", json!({"hooks": claudes("hook")}).to_string());
            let variable = "[shell_environment_policy]\nset={OF_THE_REPOSITORY=\"1\"}\n";
            put(
                ".codex/config.toml",
                format!(
                    "{variable}[mcp_servers.theirs]\ncommand=\"/bin/sh\"\nargs=['{}']\n",
                    server.display()
                ),
            );
        }
        AgentBinary::Copilot => {
            put(".github/hooks/h.json", json!({"version": 1, "hooks": copilots}).to_string());
            put(".claude/settings.json", json!({"hooks": claudes("claude-hook")}).to_string());
            let more =
                json!({"sessionStart": [{"type": "command", "bash": touch("settings"), "timeoutSec": 5}]});
            put(".github/copilot/settings.json", json!({"hooks": more}).to_string());
            put(".mcp.json", json!({"mcpServers": servers}).to_string());
        }
        _ => {
            let settings = json!({"hooks": claudes("hook"), "mcpServers": servers});
            put(".gemini/settings.json", settings.to_string());
            put(".env", "OF_THE_REPOSITORY=1\n".to_owned());
        }
    }
}

/// What of the repository ran, and its variable that reached a tool.
fn ran(work: &Path) -> Vec<String> {
    let files = std::fs::read_dir(work).unwrap().flatten();
    let mut ran: Vec<String> =
        files.filter_map(|file| Some(file.file_name().to_str()?.strip_prefix("ran-")?.to_owned())).collect();
    ran.sort();
    ran
}

fn forget(work: &Path) {
    for name in ran(work) {
        std::fs::remove_file(work.join(format!("ran-{name}"))).unwrap();
    }
}

/// A session whose model asks for a forbidden call, then for a harmless one that shows the repository's variable.
fn launch(world: &World, agent: AgentBinary, prompt: &str, args: &[&str]) -> Output {
    let tool = |command: &str| ScriptedReply::Tool { command: command.to_owned() };
    let replies = vec![
        tool("touch ran-forbidden; git commit --allow-empty --no-verify -m x"),
        tool("test -z \"$OF_THE_REPOSITORY\" || touch ran-variable; touch tool-ran"),
        ScriptedReply::Text(HELLO.to_owned()),
    ];
    world.server.set_script("run", ModelScript::new(replies));
    let _ = std::fs::remove_file(world.sandbox.work().join("tool-ran"));
    let mut command = world.command(&[agent.name(), "-p", "--prompt", prompt, "--permissions", "full"]);
    command.args(args);
    Run::new(command).timeout(Duration::from_mins(2)).output()
}

/// Asserts that a session ran, without anything of the repository, and that a person was told of `files`.
#[track_caller]
fn assert_held(world: &World, output: &Output, files: &[&str]) {
    let work = world.sandbox.work();
    assert_eq!(ran(&work), [""; 0], "{output}");
    assert!(work.join("tool-ran").exists(), "{output}");
    for part in files.iter().chain(&["--trust-repo"]) {
        assert!(output.stderr_text().contains(part), "{part}: {output}");
    }
    assert!(
        !world.server.find_text("run", INSTRUCTIONS).is_empty(),
        "its instructions are not read: {output}"
    );
}

/// Asserts that a person's trust lets what the repository has run, beside the guard, until what one of the files starts changes.
fn trust(world: &World, agent: AgentBinary, changed: &str, expected: &[&str]) {
    let work = world.sandbox.work();
    let trusted = launch(world, agent, "go", &["--trust-repo"]);
    assert_eq!(ran(&work), expected, "{trusted}");
    assert!(work.join("tool-ran").exists(), "{trusted}");
    let again = launch(world, agent, "go", &[]);
    assert!(!again.stderr_text().contains("not trusted"), "{again}");
    forget(&work);
    let text = std::fs::read_to_string(work.join(changed)).unwrap();
    world.sandbox.write(format!("work/{changed}"), text.replace("server.sh", "./server.sh"));
    let changed = launch(world, agent, "go", &[]);
    assert_eq!(ran(&work), [""; 0], "{changed}");
    assert!(changed.stderr_text().contains("is not trusted"), "{changed}");
}

#[test]
fn codex_starts_nothing_of_an_untrusted_repository() {
    World::with(AgentBinary::Codex, ModelScript::default(), |world| {
        fill(world, AgentBinary::Codex);
        let output = launch(world, AgentBinary::Codex, "go", &[]);
        assert_held(world, &output, &[".codex/config.toml", ".codex/hooks.json"]);
        // Below the root too, where Codex reads the same files.
        world.sandbox.write("work/sub/x", "");
        let mut command = world.command(&["codex", "-p", "--prompt", "go", "--permissions", "full"]);
        command.current_dir(world.sandbox.work().join("sub"));
        world.server.set_script("run", ModelScript::new(vec![ScriptedReply::Text(HELLO.to_owned())]));
        let below = Run::new(command).timeout(Duration::from_mins(2)).output();
        assert_eq!(ran(&world.sandbox.work()), [""; 0], "{below}");
        // Its hooks wait for Codex's own review all the same.
        trust(world, AgentBinary::Codex, ".codex/config.toml", &["server", "variable"]);
    });
}

#[test]
fn gemini_starts_nothing_of_an_untrusted_repository() {
    World::with(AgentBinary::Gemini, ModelScript::default(), |world| {
        fill(world, AgentBinary::Gemini);
        let output = launch(world, AgentBinary::Gemini, "go", &[]);
        assert_held(world, &output, &[".gemini/settings.json", "hooks", "mcpServers"]);
        // A user's settings that trust every folder, and a variable that does so, change nothing.
        let settings = world.sandbox.home().join(".gemini/settings.json");
        let own = std::fs::read_to_string(&settings).unwrap();
        let mut open: serde_json::Value = serde_json::from_str(&own).unwrap();
        open["security"]["folderTrust"] = json!({"enabled": false});
        std::fs::write(&settings, open.to_string()).unwrap();
        let output = launch(world, AgentBinary::Gemini, "go", &[]);
        assert_held(world, &output, &[".gemini/settings.json"]);
        std::fs::write(&settings, own).unwrap();
        world.sandbox.set("GEMINI_CLI_TRUST_WORKSPACE", "true");
        let output = launch(world, AgentBinary::Gemini, "go", &[]);
        assert_held(world, &output, &[".gemini/settings.json"]);
        trust(world, AgentBinary::Gemini, ".gemini/settings.json", &["hook", "server", "variable"]);
    });
}

/// A new home, as in a pipeline, trusts no folder: the launch does, or the user's own flag.
#[test]
fn gemini_is_guarded_in_a_folder_that_its_user_does_not_trust() {
    World::with(AgentBinary::Gemini, ModelScript::default(), |world| {
        let work = world.sandbox.work();
        world.sandbox.write("home/.gemini/trustedFolders.json", "{}");
        let refused = launch(world, AgentBinary::Gemini, "go", &[]);
        refused.assert_code(1);
        assert!(refused.stderr_text().contains("a folder that it does not trust"), "{refused}");
        for flag in ["--skip-trust=false", "--no-skip-trust"] {
            launch(world, AgentBinary::Gemini, "go", &["--", flag]).assert_code(1);
        }
        let by_flag = launch(world, AgentBinary::Gemini, "go", &["--", "--skip-trust"]);
        assert_eq!(ran(&work), [""; 0], "the guard holds: {by_flag}");
        assert!(work.join("tool-ran").exists(), "{by_flag}");
        fill(world, AgentBinary::Gemini);
        let output = launch(world, AgentBinary::Gemini, "go", &[]);
        assert_held(world, &output, &[".gemini/settings.json", "hooks", "mcpServers"]);
        // What the repository says of hooks counts as little.
        let settings = std::fs::read_to_string(work.join(".gemini/settings.json")).unwrap();
        let mut settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
        settings["hooksConfig"] = json!({"enabled": false});
        world.sandbox.write("work/.gemini/settings.json", settings.to_string());
        let output = launch(world, AgentBinary::Gemini, "go", &[]);
        assert_held(world, &output, &[".gemini/settings.json"]);
    });
}

/// What Gemini runs for a prompt that names a command of the repository asks no hook, and nothing keeps Gemini from it.
#[test]
fn gemini_is_not_started_where_an_untrusted_command_runs_something() {
    World::with(AgentBinary::Gemini, ModelScript::default(), |world| {
        let work = world.sandbox.work().canonicalize().unwrap();
        let text = format!("prompt = \"x !{{touch {}/ran-command}}\"\n", work.display());
        world.sandbox.write("work/.gemini/commands/fmt.toml", text);
        for prompt in ["/fmt", "go"] {
            let refused = launch(world, AgentBinary::Gemini, prompt, &[]);
            refused.assert_code(1).assert_stdout("");
            assert!(refused.stderr_text().contains(".gemini/commands/fmt.toml (commands)"), "{refused}");
            assert_eq!(ran(&work), [""; 0], "{refused}");
        }
        assert!(world.server.requests("run").is_empty());
        // It does what the error says, where a person looked at it.
        launch(world, AgentBinary::Gemini, "/fmt", &["--trust-repo"]);
        assert_eq!(ran(&work), ["command"]);
    });
}

/// A file of the directory gives Gemini a library that ends the hook's shell before the guard, in a trusted repository too.
#[test]
fn gemini_is_held_where_a_file_of_variables_preloads_a_library() {
    World::with(AgentBinary::Gemini, ModelScript::default(), |world| {
        let source = world.sandbox.write("evil.c", super::real_repository::ENDS_SHELLS);
        let library = world.sandbox.work().join("evil.so");
        if !super::real_repository::compiled(&source, &library) {
            return;
        }
        for place in ["work/.env", "work/.gemini/.env"] {
            world.sandbox.write(place, format!("LD_PRELOAD={}\n", library.display()));
            let output = launch(world, AgentBinary::Gemini, "go", &["--trust-repo"]);
            assert_eq!(ran(&world.sandbox.work()), [""; 0], "{place}: {output}");
            assert!(world.sandbox.work().join("tool-ran").exists(), "{place}: {output}");
        }
    });
}

#[test]
fn copilot_is_not_started_where_it_would_start_something_of_an_untrusted_repository() {
    const FILES: &[&str] =
        &[".github/hooks/h.json", ".claude/settings.json", ".github/copilot/settings.json", ".mcp.json"];
    World::with(AgentBinary::Copilot, ModelScript::default(), |world| {
        fill(world, AgentBinary::Copilot);
        let work = world.sandbox.work();
        let refused = launch(world, AgentBinary::Copilot, "go", &[]);
        refused.assert_code(1).assert_stdout("");
        for part in FILES.iter().chain(&["--trust-repo"]) {
            assert!(refused.stderr_text().contains(part), "{part}: {refused}");
        }
        assert_eq!(ran(&work), [""; 0], "{refused}");
        assert!(world.server.requests("run").is_empty());
        // What its own user did not trust, Copilot starts nothing of, and is started.
        let state = world.sandbox.home().join(".copilot/config.json");
        let own = std::fs::read_to_string(&state).unwrap();
        std::fs::write(&state, "{}").unwrap();
        let output = launch(world, AgentBinary::Copilot, "go", &[]);
        assert_held(world, &output, FILES);
        for name in ["COPILOT_ALLOW_ALL", "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS"] {
            let mut command = world.command(&["copilot", "-p", "--prompt", "go"]);
            command.env(name, "true");
            Run::new(command).timeout(Duration::from_mins(2)).output().assert_code(1);
        }
        std::fs::write(&state, own).unwrap();
        trust(world, AgentBinary::Copilot, ".mcp.json", &["claude-hook", "hook", "server", "settings"]);
    });
}

/// Trust that is given with a launch is also for the repository that the agent's own flag leads to.
#[test]
fn copilot_is_started_in_another_repository_that_a_person_trusts() {
    World::with(AgentBinary::Copilot, ModelScript::default(), |world| {
        let work = world.sandbox.work().canonicalize().unwrap();
        let hooks = json!({"sessionStart": [{
            "type": "command", "bash": format!("touch {}/ran-hook", work.display()), "timeoutSec": 5,
        }]});
        let text = json!({"version": 1, "hooks": hooks}).to_string();
        let file = world.sandbox.write("other/.github/hooks/h.json", text).canonicalize().unwrap();
        amplihack_testkit::create_repository(&world.sandbox.root().join("other"));
        let other = work.with_file_name("other");
        let trusted = json!({"trustedFolders": [work, other]}).to_string();
        world.sandbox.write("home/.copilot/config.json", trusted);
        let refused = launch(world, AgentBinary::Copilot, "go", &["--", "-C", "../other"]);
        refused.assert_code(1);
        assert!(refused.stderr_text().contains(".github/hooks/h.json"), "{refused}");
        let output = launch(world, AgentBinary::Copilot, "go", &["--trust-repo", "--", "-C", "../other"]);
        assert!(output.stderr_text().contains(&file.display().to_string()), "{output}");
        assert!(!world.server.requests("run").is_empty(), "{output}");
    });
}
