//! An agent's own command lines, launched through `amplihack`: those that reach a model carry the guard, or say that there is none.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};
use amplihack_testkit::Tmux;
use serde_json::{Value, json};

use crate::real_ground::{asks, ran};
use crate::real_terminal::leave_by;
use crate::world::{World, amplihack};

/// Codex's flag for every permission.
pub(crate) const FULL: &str = "--dangerously-bypass-approvals-and-sandbox";

/// A session that can be resumed.
pub(crate) fn first_session(world: &World, agent: AgentBinary) {
    world.server.set_script("run", ModelScript::new(vec![ScriptedReply::Text(HELLO.to_owned())]));
    world.run(&[agent.name(), "-p", "--prompt", "first", "--permissions", "full"]).assert_code(0);
}

/// Runs `line` after a first session of its own, and says which of the two calls ran, and what was told.
fn after_a_session(agent: AgentBinary, line: &[&str]) -> ([bool; 2], String) {
    let mut seen = None;
    World::with(agent, ModelScript::default(), |world| {
        first_session(world, agent);
        asks(world, None);
        let mut args = vec![agent.name()];
        args.extend(line);
        let output = world.run(&args);
        seen = Some((ran(world), format!("{}{}", output.stdout_text(), output.stderr_text())));
    });
    seen.unwrap_or(([false, true], String::new()))
}

#[test]
fn codex_carries_the_guard_into_its_own_commands() {
    for line in [
        &["--", "exec", "resume", "--last", "again", FULL][..],
        &["--", "-c", "sandbox_mode=\"danger-full-access\"", "review", "go"],
        &["--", "exec", "review", FULL, "go"],
        &["--raw", "--", "exec", FULL, "go"],
        // What its help shows, without the dashes.
        &["exec", "resume", "--last", "again", FULL],
    ] {
        let (ran, told) = after_a_session(AgentBinary::Codex, line);
        assert_eq!(ran, [false, true], "{line:?}: {told}");
        assert!(!told.contains("without a guard"), "{line:?}: {told}");
    }
}

#[test]
fn claude_and_copilot_carry_the_guard_into_what_passes_through() {
    for (agent, line) in [
        (AgentBinary::Claude, &["--raw", "--", "-p", "--dangerously-skip-permissions", "go"][..]),
        (
            AgentBinary::Claude,
            &["--raw", "--", "-p", "--dangerously-skip-permissions", "--settings", "{}", "go"],
        ),
        (AgentBinary::Claude, &["--", "-p", "--dangerously-skip-permissions", "--continue", "go"]),
        (AgentBinary::Copilot, &["--raw", "--", "-p", "go", "--allow-all"]),
    ] {
        let (ran, told) = after_a_session(agent, line);
        assert_eq!(ran, [false, true], "{agent} {line:?}: {told}");
    }
}

#[test]
fn what_passes_through_obeys_no_hooks_and_the_switches() {
    let raw = ["--raw", "--no-hooks", "--", "exec", FULL, "go"];
    let (free, told) = after_a_session(AgentBinary::Codex, &raw);
    assert_eq!(free, [true, true], "{told}");
    assert!(told.contains("codex runs without a guard: --no-hooks"), "{told}");
    for (agent, line) in [
        (AgentBinary::Codex, &["--raw", "--", "exec", FULL, "--disable", "hooks", "go"][..]),
        (AgentBinary::Codex, &["--", "exec", "resume", "--last", "-cfeatures.hooks=false", "again"]),
        (AgentBinary::Claude, &["--raw", "--", "-p", "--bare", "--dangerously-skip-permissions", "go"]),
    ] {
        let (ran, told) = after_a_session(agent, line);
        assert_eq!(ran, [false, false], "{line:?}: {told}");
        assert!(told.contains("would leave the guard out"), "{line:?}: {told}");
    }
}

/// Runs what no guard reaches: it is told, and refused where proof is required. For the agent that has no such line, `amp`, which has no
/// hooks at all.
pub(crate) fn no_guard_reaches(agent: AgentBinary) -> String {
    let line = match agent {
        AgentBinary::Claude => &["claude", "--", "attach", "nobody"][..],
        AgentBinary::Codex => &["codex", "--", "queue", "--thread", "x", "--message", "y"],
        AgentBinary::Copilot => &["copilot", "--", "workflow", "run", "x"],
        _ => &["amp", "-p", "--prompt", "go"],
    };
    World::with(agent, ModelScript::default(), |world| {
        let amp = world.sandbox.write("bin/amp", "#!/bin/sh\necho 1.0.0\n");
        std::fs::set_permissions(amp, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let why = if line[0] == "amp" { "it has no command hooks" } else { line[2] };
        world.run(line).assert_stderr_has(&format!("{} runs without a guard: {why}", line[0]));
        world.sandbox.write("home/.config/amplihack/config.toml", "require_proof = true\n");
        let refused = world.run(line);
        refused.assert_code(1).assert_stderr_has("require_proof is set");
    });
    format!("`{}` is told, and refused with `require_proof`", line.join(" "))
}

#[test]
fn what_asks_no_model_carries_nothing_and_says_nothing() {
    for (agent, line) in [
        (AgentBinary::Claude, &["--", "mcp", "list"][..]),
        (AgentBinary::Codex, &["--", "features", "list"]),
        (AgentBinary::Codex, &["--", "exec", "resume", "--help"]),
        (AgentBinary::Copilot, &["--", "mcp", "list"]),
        (AgentBinary::Gemini, &["--", "--version"]),
    ] {
        World::with(agent, ModelScript::default(), |world| {
            world.sandbox.write("home/.config/amplihack/config.toml", "require_proof = true\n");
            let mut args = vec![agent.name()];
            args.extend(line);
            let output = world.run(&args);
            output.assert_code(0);
            assert!(!output.stderr_text().contains("guard"), "{agent} {line:?}: {output}");
        });
    }
}

/// The line that Codex itself tells its user to type, in a terminal.
#[test]
fn codex_carries_the_guard_into_a_resumed_session_in_a_terminal() {
    if !Tmux::is_installed() {
        return;
    }
    World::with(AgentBinary::Codex, ModelScript::default(), |world| {
        first_session(world, AgentBinary::Codex);
        asks(world, None);
        let tmux = Tmux::new(&world.sandbox);
        let script = format!(
            "'{}' codex resume --last --no-daemon {FULL}; echo \"exit=$?\"; exec cat",
            amplihack().display()
        );
        tmux.new_session("c", "sh", ["-c", &script]);
        tmux.wait_until_still("c", Duration::from_secs(2), Duration::from_secs(30));
        tmux.type_text("c", "go");
        std::thread::sleep(Duration::from_millis(500));
        tmux.send_keys("c", &["Enter"]);
        let asked = tmux.wait_for("c", "amplihack guards/", Duration::from_mins(1));
        tmux.wait_until_still("c", Duration::from_secs(2), Duration::from_secs(30));
        assert_eq!(ran(world), [false, true], "{asked}");
        leave_by(&tmux, "/quit");
    });
}

/// A program that speaks JSON lines.
struct Peer {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Requests of the agent.
    asked: Vec<Value>,
}

impl Peer {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, to, from: BufReader::new(from), asked: Vec::new() }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.to, "{message}").unwrap();
    }

    /// Sends a request and returns its answer; refuses what the agent asks meanwhile. `until` names what else ends the wait.
    fn call(&mut self, id: u64, method: &str, params: &Value, until: Option<&str>) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut answer = Value::Null;
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).unwrap(), 0, "{method}: the agent ended");
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if message["method"].is_string() && message["id"] != Value::Null {
                self.refuse(&message);
                self.asked.push(message);
            } else if message["id"] == id {
                answer = message;
            }
            let done =
                until.is_none_or(|until| serde_json::from_str::<Value>(&line).unwrap()["method"] == until);
            if done && answer != Value::Null {
                return answer;
            }
        }
    }

    fn refuse(&mut self, message: &Value) {
        let options = message["params"]["options"].as_array().into_iter().flatten();
        let reject = options.clone().find(|option| option["kind"] == "reject_once");
        let outcome =
            json!({"outcome": {"outcome": "selected", "optionId": reject.map(|option| &option["optionId"])}});
        self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": outcome}));
    }

    /// Ends the conversation; returns what was said on stderr.
    fn end(self) -> String {
        drop(self.to);
        let output = self.child.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

/// One prompt under ACP.
fn acp(world: &World, args: &[&str]) -> (String, usize) {
    let mut peer = Peer::start(world, args);
    let capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}});
    peer.call(1, "initialize", &json!({"protocolVersion": 1, "clientCapabilities": capabilities}), None);
    let session = peer.call(2, "session/new", &json!({"cwd": world.sandbox.work(), "mcpServers": []}), None);
    let prompt =
        json!({"sessionId": session["result"]["sessionId"], "prompt": [{"type": "text", "text": "go"}]});
    peer.call(3, "session/prompt", &prompt, None);
    let asked = peer.asked.len();
    (peer.end(), asked)
}

/// Makes `agent` serve its protocol, by lines whose flags are no prompts, and asks it for both calls; tells by how many lines.
pub(crate) fn serves_a_protocol(agent: AgentBinary) -> String {
    match agent {
        AgentBinary::Copilot => copilot_is_held_under_acp(),
        AgentBinary::Gemini => gemini_asks_its_client_under_acp(),
        _ => codex_is_held_as_an_app_server(),
    }
    let lines = if agent == AgentBinary::Copilot { 2 } else { 1 };
    format!("{lines} forbidden, {lines} harmless")
}

fn copilot_is_held_under_acp() {
    for args in
        [&["copilot", "--", "--acp", "--allow-all"][..], &["copilot", "--raw", "--", "--acp", "--allow-all"]]
    {
        World::with(AgentBinary::Copilot, ModelScript::default(), |world| {
            asks(world, None);
            let (told, _) = acp(world, args);
            assert_eq!(ran(world), [false, true], "{told}");
        });
    }
}

#[test]
fn gemini_asks_its_client_under_acp() {
    World::with(AgentBinary::Gemini, ModelScript::default(), |world| {
        asks(world, None);
        let (told, asked) = acp(world, &["gemini", "--", "--acp", "--yolo"]);
        assert_eq!(ran(world), [false, false], "{told}");
        assert!(asked >= 1, "{told}");
        assert!(
            told.contains("gemini runs without a guard: --acp: under ACP Gemini calls no hooks"),
            "{told}"
        );
        world.sandbox.write("home/.config/amplihack/config.toml", "require_proof = true\n");
        world.run(&["gemini", "--", "--acp"]).assert_code(1).assert_stderr_has("require_proof is set");
    });
}

fn codex_is_held_as_an_app_server() {
    World::with(AgentBinary::Codex, ModelScript::default(), |world| {
        asks(world, None);
        let mut peer = Peer::start(world, &["codex", "--", "app-server"]);
        let client = json!({"name": "t", "version": "0", "title": "t"});
        peer.call(1, "initialize", &json!({"clientInfo": client}), None);
        peer.send(&json!({"method": "initialized"}));
        let start =
            json!({"cwd": world.sandbox.work(), "approvalPolicy": "never", "sandbox": "danger-full-access"});
        let thread = peer.call(2, "thread/start", &start, None);
        let turn =
            json!({"threadId": thread["result"]["thread"]["id"], "input": [{"type": "text", "text": "go"}]});
        peer.call(3, "turn/start", &turn, Some("turn/completed"));
        let told = peer.end();
        assert_eq!(ran(world), [false, true], "{told}");
    });
}
