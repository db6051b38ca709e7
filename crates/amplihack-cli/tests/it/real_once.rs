//! A person's one-time yes on the real agent CLIs: a person in another terminal gives it, nothing that the session starts does.

use std::path::Path;
use std::time::{Duration, Instant};

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};
use amplihack_testkit::{Output, Run};

use crate::world::{World, amplihack};

const FORBIDDEN: &str = "touch forbidden-ran; git commit --allow-empty --no-verify -m x";

/// Asks for a grant in every way that a program can take: with an empty environment, in a new session, in a terminal of its own, left
/// behind by its parents, and all of it together.
const GRANTS_ITSELF: &str = r#"
import os, pty, re, subprocess, sys, time
program, home = sys.argv[1:3]
env = {"HOME": home, "PATH": "/usr/bin:/bin"}
log = open("tries.log", "ab", buffering=0)

def read(fd):
    text = b""
    while True:
        try:
            part = os.read(fd, 4096)
        except OSError:
            return text
        if not part:
            return text
        text += part

def plain(words):
    done = subprocess.run([program] + words, env=env, capture_output=True, start_new_session=True)
    return done.stdout + done.stderr

def in_terminal(words):
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(program, [program] + words, env)
    text = read(fd)
    os.waitpid(pid, 0)
    return text

def by_script(words):
    line = program + " " + " ".join(words)
    return subprocess.run(["script", "-qec", line, "/dev/null"], env=env, capture_output=True).stdout

def orphaned(words):
    out, into = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(0.5)
            os.write(into, in_terminal(words))
        os._exit(0)
    os.close(into)
    return read(out)

for way in [plain, in_terminal, by_script, orphaned]:
    text = way(["policy", "pending"])
    ids = re.findall(rb"[0-9a-f]{8}-[0-9a-f]{4}", text)
    log.write(way.__name__.encode() + b": " + text + b"\n")
    for one in ids + [b"01234567-89ab"]:
        log.write(way(["policy", "allow-once", one.decode()]) + b"\n")
open("tried", "w")
"#;

fn launch(world: &World, agent: AgentBinary, replies: Vec<ScriptedReply>) -> Run {
    world.server.set_script("run", ModelScript::new(replies));
    let command = world.command(&[agent.name(), "-p", "--prompt", "go", "--permissions", "full"]);
    Run::new(command).timeout(Duration::from_mins(4))
}

fn tool(command: impl Into<String>) -> ScriptedReply {
    ScriptedReply::Tool { command: command.into() }
}

fn made(world: &World, name: &str) -> bool {
    world.sandbox.work().join(name).exists()
}

/// No program of the session lets a call through.
fn cannot_grant_itself(agent: AgentBinary) {
    World::with(agent, ModelScript::default(), |world| {
        world.sandbox.write("tool.py", GRANTS_ITSELF);
        let home = world.sandbox.home();
        let tries = format!("python3 ../tool.py {} {}", amplihack().display(), home.display());
        let replies = vec![
            tool(FORBIDDEN),
            tool(tries),
            tool(FORBIDDEN),
            tool("touch done"),
            ScriptedReply::Text(HELLO.into()),
        ];
        let output = launch(world, agent, replies).output();
        let log = std::fs::read_to_string(world.sandbox.work().join("tries.log")).unwrap_or_default();
        assert!(made(world, "tried") && made(world, "done"), "{output}\n{log}");
        assert!(!made(world, "forbidden-ran"), "{output}\n{log}");
        assert_eq!(log.matches("only you can allow a call").count(), 8, "{log}");
        let told = world.server.find_text("run", "allow-once ");
        assert!(told.is_empty(), "the agent was told an id");
    });
}

#[test]
fn claude_cannot_allow_itself_a_call() {
    cannot_grant_itself(AgentBinary::Claude);
}

#[test]
fn codex_cannot_allow_itself_a_call() {
    cannot_grant_itself(AgentBinary::Codex);
}

#[test]
fn copilot_cannot_allow_itself_a_call() {
    cannot_grant_itself(AgentBinary::Copilot);
}

#[test]
fn gemini_cannot_allow_itself_a_call() {
    cannot_grant_itself(AgentBinary::Gemini);
}

/// `amplihack` with `words` as a person types it in a terminal of their own.
fn person(world: &World, words: &str) -> Output {
    let mut command = world.sandbox.command(Path::new("/usr/bin/script"));
    command.args(["-qec", &format!("{} {words}", amplihack().display()), "/dev/null"]);
    Run::new(command).output()
}

/// A person in another terminal sees the stopped call, without its id reaching the agent, and lets it through once.
#[test]
fn a_person_in_another_terminal_lets_a_stopped_call_through_once() {
    World::with(AgentBinary::Claude, ModelScript::default(), |world| {
        let waits = "until test -e allowed; do sleep 0.2; done";
        let replies = vec![
            tool(FORBIDDEN),
            tool(waits),
            tool(FORBIDDEN),
            tool(FORBIDDEN),
            ScriptedReply::Text(HELLO.into()),
        ];
        let session = launch(world, AgentBinary::Claude, replies).spawn();
        let begin = Instant::now();
        let id = loop {
            let text = person(world, "policy pending").stdout_text();
            if let Some((id, _)) = text.split_once("  in ").filter(|_| text.contains("--no-verify")) {
                break id.trim().to_owned();
            }
            assert!(begin.elapsed() < Duration::from_mins(1), "{text}");
            std::thread::sleep(Duration::from_millis(200));
        };
        // The log of the guard has what that takes, too, for a person.
        let shown = person(world, "audit show --decision deny --limit 1").stdout_text();
        assert!(shown.contains("    reason: would commit to the protected branch"), "{shown}");
        assert!(shown.contains(&format!("amplihack policy allow-once {id}")), "{shown}");
        let listed = person(world, "policy allow-once").stdout_text();
        assert!(listed.contains(&id), "{listed}");
        let granted = person(world, &format!("policy allow-once {id}"));
        assert!(granted.stdout_text().contains("allowed once, within the next 10 minutes"), "{granted}");
        std::fs::write(world.sandbox.work().join("allowed"), "").unwrap();
        let output = session.wait();
        assert!(made(world, "forbidden-ran"), "{output}");
        let told = world.server.find_text("run", "`amplihack policy allow-once`");
        assert!(told.iter().any(|said| said.role == "tool"), "{output}");
        let audit = world.run(&["audit", "show", "--json"]).assert_code(0).json();
        let lines: Vec<_> = audit.as_array().unwrap().iter().map(|line| line["rule"].to_string()).collect();
        assert!(lines.iter().any(|rule| rule.contains(&format!("once/{id}"))), "{lines:?}");
        assert_eq!(lines.iter().filter(|rule| rule.contains("once/granted")).count(), 1, "{lines:?}");
    });
}
