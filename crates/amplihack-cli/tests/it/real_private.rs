//! What stands in command lines while the real CLIs work unattended: nothing of the task, of a system prompt, of a check or of a message.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{ModelScript, ScriptedReply};
use amplihack_testkit::{Run, procs};

use crate::auto::directory;
use crate::world::{World, real};

/// Every command line of the machine that is seen while `work` goes on.
fn command_lines<T>(work: impl FnOnce() -> T) -> (T, BTreeSet<String>) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            while !over.load(Ordering::Relaxed) {
                for entry in std::fs::read_dir("/proc").unwrap().flatten() {
                    // A process may end before it is read.
                    let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                    seen.insert(String::from_utf8_lossy(&line).replace('\0', " "));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            seen
        });
        let result = catch_unwind(AssertUnwindSafe(work));
        over.store(true, Ordering::Relaxed);
        let seen = reader.join().unwrap();
        (result.unwrap_or_else(|cause| resume_unwind(cause)), seen)
    })
}

/// A call that goes on for so long that every process of the run is seen in it.
fn slow() -> ScriptedReply {
    ScriptedReply::Tool { command: "timeout 3 tail -f /dev/null || true".to_owned() }
}

fn done() -> ScriptedReply {
    ScriptedReply::Text("so\nAMPLIHACK-STATUS: {\"status\": \"done\", \"summary\": \"s\"}".to_owned())
}

/// Words of this test alone, which no other test that runs beside it has.
fn word(of: &str) -> String {
    format!("{of}-{}", std::process::id())
}

#[track_caller]
fn assert_private(lines: &BTreeSet<String>, program: &Path, words: &[&String]) {
    let program = program.display().to_string();
    assert!(lines.iter().any(|line| line.contains(&program)), "{program} was not seen: {lines:#?}");
    for word in words {
        let found: Vec<&String> = lines.iter().filter(|line| line.contains(word.as_str())).collect();
        assert_eq!(found, [""; 0], "{word}");
    }
}

fn keeps_it_out_of_every_command_line(agent: AgentBinary) {
    World::with(agent, ModelScript::default(), |world| {
        let root = world.sandbox.root().to_owned();
        world
            .server
            .set_script("run", ModelScript::new([slow(), done(), slow(), done()]).over_conversation());
        let [task, found, message] = ["the-task", "the-finding", "the-message"].map(word);
        world.sandbox.write("task", format!("do it: {task}"));
        world.sandbox.write("finding", format!("echo {found}; test -e go\n"));
        let path = |name: &str| root.join(name).display().to_string();
        let verify = format!("sh {}", path("finding"));
        let file = path("task");
        let args = ["auto", "--agent", agent.name(), "--permissions", "full", "--task-file", &file];
        let command = world.command(&[&args[..], &["--verify", &verify, "--max-turns", "2"]].concat());
        let work = || {
            let running = Run::new(command).timeout(Duration::from_mins(2)).spawn();
            // The check fails after the first turn: the second is told that, and what the user adds.
            world.reached("run", 1);
            let home = world.sandbox.home().join(".amplihack");
            let id = directory(&world.sandbox).file_name().unwrap().to_string_lossy().into_owned();
            // As `auto append` does, whose own command line the user typed.
            amplihack_orchestration::append::append_message(&home, &id, &message).unwrap();
            running.wait()
        };
        let (output, lines) = command_lines(work);
        for word in [&task, &found, &message] {
            assert!(!world.server.find_text("run", word).is_empty(), "{word} did not arrive\n{output}");
        }
        assert_private(&lines, &real(agent).unwrap(), &[&task, &found, &message]);
        procs::assert_none_soon(&world.everything(), Duration::from_secs(5));
    });
}

#[test]
fn claude_keeps_it_out_of_every_command_line() {
    keeps_it_out_of_every_command_line(AgentBinary::Claude);
}

#[test]
fn codex_keeps_it_out_of_every_command_line() {
    keeps_it_out_of_every_command_line(AgentBinary::Codex);
}

#[test]
fn copilot_keeps_it_out_of_every_command_line() {
    keeps_it_out_of_every_command_line(AgentBinary::Copilot);
}

#[test]
fn gemini_keeps_it_out_of_every_command_line() {
    keeps_it_out_of_every_command_line(AgentBinary::Gemini);
}

/// An agent step of a recipe, with a definition of the agent: neither stands in a command line, and both arrive.
fn keeps_a_step_out_of_every_command_line(agent: AgentBinary, role: &str) {
    World::with(agent, ModelScript::default(), |world| {
        let root = world.sandbox.root().to_owned();
        world
            .server
            .set_script("run", ModelScript::new([slow(), ScriptedReply::Text("it is done".to_owned())]));
        let [task, definition] = ["the-step", "the-definition"].map(word);
        world.sandbox.write("work/.claude/agents/core/guide.md", format!("You are {definition}.\n"));
        let recipe = format!(
            "name: r\nsteps:\n  - id: s\n    agent: \"amplihack:core:guide\"\n    prompt: 'do it: {task}'\n"
        );
        world.sandbox.write("r.yaml", recipe);
        let file = root.join("r.yaml").display().to_string();
        let args = ["recipe", "run", &file, "--agent", agent.name(), "--permissions", "full"];
        let (output, lines) = command_lines(|| world.run(&args));
        output.assert_code(0);
        assert_private(&lines, &real(agent).unwrap(), &[&task, &definition]);
        let said = |word: &str| world.server.find_text("run", word);
        assert!(said(&task).iter().any(|said| said.role == "user"), "{output}");
        assert!(said(&definition).iter().any(|said| said.role == role), "{:?}\n{output}", said(&definition));
    });
}

#[test]
fn claude_reads_a_system_prompt_from_a_file() {
    keeps_a_step_out_of_every_command_line(AgentBinary::Claude, "system");
}

#[test]
fn codex_keeps_a_step_out_of_every_command_line() {
    keeps_a_step_out_of_every_command_line(AgentBinary::Codex, "user");
}

#[test]
fn copilot_keeps_a_step_out_of_every_command_line() {
    keeps_a_step_out_of_every_command_line(AgentBinary::Copilot, "user");
}
