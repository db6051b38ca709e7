//! Real agents in worktrees and remote sessions, in the default home, with the default policy and the guard on: the harmless change is on
//! disk where the user is told to look, and the forbidden one is not.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{ModelScript, ScriptedReply};
use amplihack_testkit::{Output, Run, Sandbox, procs};
use serde_json::Value;

use crate::auto::{assert_ended, events};
use crate::world::{World, real};

const RULE: &str = "guard_disabling/own-files";

fn tool(command: &str) -> ScriptedReply {
    ScriptedReply::Tool { command: command.to_owned() }
}

/// An agent that tries to write into the state, does its work, and says that it is done.
fn script() -> ModelScript {
    let status = "AMPLIHACK-STATUS: {\"status\": \"done\", \"summary\": \"it's so\", \"changes\": true}";
    ModelScript::new([
        tool("echo x > ~/.amplihack/forbidden"),
        tool("mkdir -p src && echo work > src/harmless"),
        ScriptedReply::Text(status.to_owned()),
    ])
}

/// The variables of the loopback model that an environment for other machines leaves out.
const KEYS: [&str; 3] = ["FAKE_KEY", "COPILOT_PROVIDER_API_KEY", "GEMINI_API_KEY"];

fn amplihack(world: &World, args: &[&str]) -> Output {
    let output = Run::new(world.command(args)).timeout(Duration::from_mins(4)).output();
    procs::assert_none_soon(&world.everything(), Duration::from_secs(5));
    output
}

#[track_caller]
fn assert_written(tree: &Path, sandbox: &Sandbox, output: &Output) {
    let found = fs::read_to_string(tree.join("src/harmless")).unwrap_or_default();
    assert_eq!(found, "work\n", "{}: {output}", tree.display());
    assert!(!sandbox.home().join(".amplihack/forbidden").exists(), "{output}");
    assert!(!sandbox.work().join("src").exists(), "the user's own directory is untouched: {output}");
}

fn works_in_a_worktree(agent: AgentBinary) {
    World::with(agent, script(), |world| {
        let args = ["auto", "--worktree", "--agent", agent.name(), "--permissions", "full", "--json"];
        let output =
            amplihack(world, &[&args[..], &["--task", "write", "--verify", "test -s src/harmless"]].concat());
        let last = assert_ended(&output, "verified", 0);
        assert_eq!(last["denied"], serde_json::json!([RULE]), "{output}");
        let began = &events(&output)[0];
        let tree = PathBuf::from(began["directory"].as_str().unwrap());
        let data = world.sandbox.home().canonicalize().unwrap().join(".local/share/amplihack/worktrees/work");
        assert!(tree.starts_with(data), "{}", tree.display());
        assert_written(&tree, &world.sandbox, &output);
    });
}

#[test]
fn claude_works_in_a_worktree_of_the_default_home() {
    works_in_a_worktree(AgentBinary::Claude);
}

#[test]
fn codex_works_in_a_worktree_of_the_default_home() {
    works_in_a_worktree(AgentBinary::Codex);
}

#[test]
fn copilot_works_in_a_worktree_of_the_default_home() {
    works_in_a_worktree(AgentBinary::Copilot);
}

#[test]
fn gemini_works_in_a_worktree_of_the_default_home() {
    works_in_a_worktree(AgentBinary::Gemini);
}

/// Trust in a repository is trust in the worktrees of its runs; without it they start nothing of it either.
#[test]
fn a_worktree_is_trusted_as_its_repository_is() {
    for agent in [AgentBinary::Codex, AgentBinary::Gemini] {
        World::with(agent, script(), |world| {
            let ran = world.sandbox.root().join("of-the-repository");
            let server = world.sandbox.write("server.sh", format!("touch {}\n", ran.display()));
            let (path, text) = match agent {
                AgentBinary::Codex => (
                    ".codex/config.toml",
                    format!("mcp_servers.x={{command=\"/bin/sh\",args=[{server:?}]}}\n"),
                ),
                _ => (
                    ".gemini/settings.json",
                    serde_json::json!({"mcpServers": {"x": {"command": "/bin/sh", "args": [server]}}})
                        .to_string(),
                ),
            };
            world.sandbox.write(format!("work/{path}"), text);
            for words in [&["add", "-A"][..], &["commit", "-qm", "settings"]] {
                let mut git = world.sandbox.command("git");
                git.args(["-c", "user.name=t", "-c", "user.email=t@e.example"]).args(words);
                assert!(git.status().unwrap().success(), "{words:?}");
            }
            for is_trusted in [false, true] {
                if is_trusted {
                    world.run(&["config", "trust"]).assert_code(0).assert_stderr_has(path);
                }
                world.server.set_script("run", script());
                let args = ["auto", "--worktree", "--agent", agent.name(), "--permissions", "full", "--json"];
                let more = ["--task", "write", "--verify", "test -s src/harmless"];
                let output = amplihack(world, &[&args[..], &more].concat());
                assert_ended(&output, "verified", 0);
                assert_eq!(ran.exists(), is_trusted, "{agent}: {output}");
                assert_eq!(output.stdout_text().contains("is not trusted"), !is_trusted, "{agent}: {output}");
            }
        });
    }
}

/// Several agents side by side, and against each other.
#[test]
fn agents_work_side_by_side_in_worktrees_of_the_default_home() {
    use AgentBinary::{Claude, Codex, Copilot};
    World::with_all(&[(Claude, "run"), (Codex, "codex"), (Copilot, "copilot")], script(), |world| {
        for run in ["codex", "copilot"] {
            world.server.set_script(run, script());
        }
        world.sandbox.write("tasks", "write the first\nwrite the second\nwrite the third\n");
        let tasks = world.sandbox.root().join("tasks").display().to_string();
        let args =
            ["parallel", "--agents", "claude,codex,copilot", "--task-file", &tasks, "--permissions", "full"];
        let args = [&args[..], &["--verify", "test -s src/harmless", "--json"]].concat();
        let output = amplihack(world, &args);
        let table = events(&output).pop().unwrap();
        let rows = table["runs"].as_array().unwrap();
        assert_eq!(rows.len(), 3, "{output}");
        for row in rows {
            assert_eq!(row["end"], "verified", "{output}");
            assert_written(Path::new(row["worktree"].as_str().unwrap()), &world.sandbox, &output);
        }
        output.assert_code(0);
        for run in ["run", "codex", "copilot"] {
            world.server.set_script(run, script());
        }
        let output = amplihack(world, &[&args[..], &["--race"]].concat());
        let table = events(&output).pop().unwrap();
        let won = table["runs"].as_array().unwrap().iter().find(|row| row["won"] == true);
        let won = won.unwrap_or_else(|| panic!("{output}"));
        assert_written(Path::new(won["worktree"].as_str().unwrap()), &world.sandbox, &output);
        comes_home(world, won["run"].as_str().unwrap());
    });
}

/// The work of `id` is merged into the user's checkout.
#[track_caller]
fn comes_home(world: &World, id: &str) {
    world.run(&["sessions", "diff", id]).assert_code(0).assert_stdout_has("+work");
    world.run(&["sessions", "merge", id]).assert_code(0).assert_stdout_has("merged into main");
    assert_eq!(fs::read_to_string(world.sandbox.work().join("src/harmless")).unwrap(), "work\n");
    world.run(&["sessions", "discard", id]).assert_code(0);
}

#[test]
fn a_task_of_claude_comes_home_from_a_parallel_run() {
    World::with(AgentBinary::Claude, script(), |world| {
        world.sandbox.write("tasks", "write the first\n");
        let tasks = world.sandbox.root().join("tasks").display().to_string();
        let args = ["parallel", "--agents", "claude", "--task-file", &tasks, "--permissions", "full"];
        let output = amplihack(world, &[&args[..], &["--verify", "test -s src/harmless"]].concat());
        output.assert_code(0);
        let text = output.stdout_text();
        let command = text.lines().find_map(|line| line.trim().strip_prefix("amplihack sessions merge "));
        comes_home(world, command.unwrap_or_else(|| panic!("{output}")));
        let list = world.sandbox.run("git", ["worktree", "list"]).stdout_text();
        assert_eq!(list.lines().count(), 1, "{list}");
    });
}

/// A remote session on this machine, whose work comes home as a branch.
fn works_remotely(agent: AgentBinary) {
    World::with(agent, script(), |world| {
        world.sandbox.link("amplihack", crate::world::amplihack());
        world.sandbox.link(agent.name(), &real(agent).unwrap());
        for key in ["CODEX_API_KEY", "COPILOT_GITHUB_TOKEN"] {
            world.sandbox.set(key, "dummy");
        }
        let mut args =
            vec!["remote", "start", "--backend", "local", "--agent", agent.name(), "--permissions", "full"];
        for key in KEYS.into_iter().filter(|key| world.sandbox.env().get(key).is_some()) {
            args.extend(["--env", key]);
        }
        args.extend(["--max-turns", "3", "--json", "--", "write"]);
        let started = Run::new(world.command(&args)).timeout(Duration::from_mins(2)).output();
        started.assert_code(0);
        let id = crate::remote::world::ids(&started.json()).remove(0);
        let waited = Run::new(world.command(&["remote", "wait", "--json", "--timeout", "200s", &id]))
            .timeout(Duration::from_mins(4))
            .output();
        let said = world.run(&["remote", "output", &id]);
        let session: &Value = &waited.json()["sessions"][0];
        assert_eq!(session["status"], "completed", "{waited}\n{said}");
        let tree = world.sandbox.home().join(".local/share/amplihack/remote").join(&id).join("repo");
        assert_written(&tree, &world.sandbox, &said);
        world.run(&["remote", "pull", &id, "--json"]).assert_code(0);
        let file = format!("refs/remotes/remote-exec/{id}/wip/{id}:src/harmless");
        assert_eq!(world.sandbox.run("git", ["show", &file]).assert_code(0).stdout_text(), "work\n");
        comes_home(world, &id);
        // With the session its work tree goes.
        world.run(&["remote", "pull", &id, "--remove"]).assert_code(0);
        assert!(
            !tree.exists() && !world.sandbox.home().join(".amplihack/remote/sessions").join(&id).exists()
        );
    });
}

#[test]
fn claude_works_in_a_remote_session_of_the_default_home() {
    works_remotely(AgentBinary::Claude);
}

#[test]
fn codex_works_in_a_remote_session_of_the_default_home() {
    works_remotely(AgentBinary::Codex);
}

#[test]
fn copilot_works_in_a_remote_session_of_the_default_home() {
    works_remotely(AgentBinary::Copilot);
}
