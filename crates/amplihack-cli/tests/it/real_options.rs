//! What each option of amplihack makes the real CLIs do, seen in the model's requests and on the disk.

use std::path::Path;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::HELLO;

use crate::real_agents::{assert_nothing_noticed, greeting};
use crate::world::World;

/// Text of an option that quoting would break.
const SYSTEM: &str = "be kind to \"quotes\" and 漢字";

/// The id of the only session that `agent` has kept in `home`.
fn session_id(agent: AgentBinary, home: &Path) -> String {
    let root = home.join(match agent {
        AgentBinary::Claude => ".claude/projects",
        AgentBinary::Codex => ".codex/sessions",
        AgentBinary::Gemini => ".gemini/tmp",
        _ => ".copilot/session-state",
    });
    let mut ids: Vec<String> = match agent {
        AgentBinary::Gemini => gemini_sessions(&root),
        _ => names_below(&root).iter().filter_map(|name| uuid(name)).collect(),
    };
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{agent}: {:?}", names_below(&root));
    ids.remove(0)
}

/// Gemini names its files by the beginning of an id; the first line has all of it.
fn gemini_sessions(root: &Path) -> Vec<String> {
    let projects = std::fs::read_dir(root).into_iter().flatten().flatten();
    let files = projects
        .flat_map(|project| std::fs::read_dir(project.path().join("chats")).into_iter().flatten().flatten());
    let id = |text: String| {
        let first: serde_json::Value = serde_json::from_str(text.lines().next()?).ok()?;
        first["sessionId"].as_str().map(str::to_owned)
    };
    files.filter_map(|file| id(std::fs::read_to_string(file.path()).ok()?)).collect()
}

fn names_below(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        names.push(entry.file_name().to_string_lossy().into_owned());
        names.extend(names_below(&entry.path()));
    }
    names
}

/// The UUID in a file's name, which some agents put a date before.
fn uuid(name: &str) -> Option<String> {
    let shape = |text: &str| {
        text.chars().enumerate().all(|(at, character)| match at {
            8 | 13 | 18 | 23 => character == '-',
            _ => character.is_ascii_hexdigit(),
        })
    };
    let name = name.split('.').next()?;
    let id = name.get(name.len().checked_sub(36)?..)?;
    shape(id).then(|| id.to_owned())
}

/// Runs one prompt and returns the model's last request: all that was said in it, and all of it, its path included.
fn ask(world: &World, agent: AgentBinary, prompt: &str, options: &[&str]) -> (Vec<String>, String) {
    let mut args = vec![agent.name(), "-p", "--prompt", prompt];
    args.extend_from_slice(options);
    let output = world.run(&args);
    output.assert_code(0).assert_stdout_has(HELLO);
    assert_nothing_noticed(&output);
    let requests = world.server.requests("run");
    let last = requests.last().unwrap();
    (
        last.request_texts().into_iter().map(|said| said.text).collect(),
        format!("{} {:?}", last.path, last.body),
    )
}

fn times(said: &[String], words: &str) -> usize {
    said.iter().filter(|text| text.contains(words)).count()
}

/// Two sessions: a bare one, and a later one with all `options`; then the later is continued and the earlier resumed.
///
/// What is true for every agent is claimed here; `check` looks at the request that had the options.
fn options_work(agent: AgentBinary, options: &[&str], check: impl FnOnce(&World, &str) + Send) {
    World::with(agent, greeting(), |world| {
        let started = world.sandbox.root().join("mcp-started");
        let server = serde_json::json!({"mcpServers": {"probe": {
            "type": if agent == AgentBinary::Copilot { "local" } else { "stdio" },
            "command": "/usr/bin/touch", "args": [started], "tools": ["*"],
        }}});
        world.sandbox.write("mcp.json", server.to_string());
        world.sandbox.write("more dir/file", "");
        ask(world, agent, "first words", &[]);
        let first = session_id(agent, &world.sandbox.home());
        let all = [options, &["--model", "fake-model-two", "--add-dir", "../more dir"]].concat();
        let (_, body) = ask(world, agent, "other words", &all);
        assert!(body.contains("fake-model-two"), "{agent}: --model");
        check(world, &body);
        let (said, _) = ask(world, agent, "further words", &["--continue"]);
        assert_eq!(
            ["first words", "other words", "further words"].map(|words| times(&said, words)),
            [0, 1, 1],
            "{agent}: --continue goes on with the latest session: {said:#?}"
        );
        // Only where the matrix has it: an option that it does not have is an error before the start.
        let system = options.iter().position(|option| *option == "--append-system-prompt");
        let again = system.map_or(&[][..], |at| &options[at..]);
        let (said, body) = ask(world, agent, "last words", &[&["--resume", &first], again].concat());
        assert_eq!(
            ["first words", "other words", "last words"].map(|words| times(&said, words)),
            [1, 0, 1],
            "{agent}: --resume goes on with that session: {said:#?}"
        );
        assert!(
            !holds(&body, SYSTEM),
            "{agent}: the matrix's note on --append-system-prompt no longer holds"
        );
    });
}

/// Whether `body`, shown as a Rust value, holds `text`.
fn holds(body: &str, text: &str) -> bool {
    let shown = format!("{text:?}");
    body.contains(shown.trim_matches('"'))
}

fn mcp_started(world: &World) -> bool {
    world.sandbox.root().join("mcp-started").exists()
}

#[test]
fn claude_understands_every_option() {
    let options = ["--mcp-config", "../mcp.json", "--append-system-prompt", SYSTEM];
    options_work(AgentBinary::Claude, &options, |world, body| {
        assert!(holds(body, SYSTEM), "--append-system-prompt");
        assert!(body.contains("/more dir"), "--add-dir");
        assert!(mcp_started(world), "--mcp-config");
    });
}

#[test]
fn codex_understands_every_option() {
    options_work(AgentBinary::Codex, &["--append-system-prompt", SYSTEM], |_, body| {
        assert!(holds(body, SYSTEM), "--append-system-prompt");
        assert!(body.contains("/more dir"), "--add-dir");
    });
}

#[test]
fn copilot_understands_every_option() {
    options_work(AgentBinary::Copilot, &["--mcp-config", "../mcp.json"], |world, body| {
        assert!(body.contains("/more dir"), "--add-dir");
        assert!(mcp_started(world), "--mcp-config");
    });
}

#[test]
fn gemini_understands_every_option() {
    options_work(AgentBinary::Gemini, &[], |_, body| {
        assert!(body.contains("/more dir"), "--add-dir");
    });
}
