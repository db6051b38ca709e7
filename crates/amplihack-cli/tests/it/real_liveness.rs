//! Liveness on the real agent CLIs: a guard that is broken, absent, slow, killed or stopped lets no forbidden call run, and the launch
//! names it and ends with 4.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};
use amplihack_testkit::{Output, Run};

use crate::attack::{attack, wait_for};
use crate::world::{World, amplihack};

/// What the guard becomes after the launch has begun.
#[derive(Debug, Clone, Copy)]
enum Situation {
    /// An empty file.
    Empty,
    /// A program that prints garbage and exits with 0.
    Garbage,
    /// A program that allows everything in every host's words, and exits with 0.
    Allowing,
    /// A guard that answers after 14 seconds.
    Slow,
    /// A background program kills every process of a hook, wrappers included.
    Killed,
    /// A background program stops them.
    Stopped,
    /// The directory of the launch is removed.
    NoLaunch,
}

/// A forbidden call, behind the sentinel that would show that it ran.
const FORBIDDEN: &str = "touch $S; git commit --allow-empty --no-verify -m x";

fn sentinel(world: &World, name: &str) -> PathBuf {
    world.sandbox.root().join(format!("ran-{name}"))
}

fn call(world: &World, name: &str) -> ScriptedReply {
    ScriptedReply::Tool { command: FORBIDDEN.replace("$S", &sentinel(world, name).display().to_string()) }
}

/// `amplihack` beside a guard that can be broken.
fn own_amplihack(world: &World) -> PathBuf {
    let directory = world.sandbox.root().join("own");
    std::fs::create_dir(&directory).unwrap();
    for name in ["amplihack", "amplihack-hooks"] {
        let (from, to) = (amplihack().with_file_name(name), directory.join(name));
        std::fs::copy(from, to).map(drop).unwrap();
    }
    directory.join("amplihack")
}

/// Brings the situation about, from outside of the agent: no policy stands in the way.
fn bring_about(root: &Path, situation: Situation, own: &Path) {
    let hook = own.with_file_name("amplihack-hooks");
    let becomes = |text: &str| {
        let body = own.with_file_name("body");
        std::fs::write(&body, text).unwrap();
        std::fs::set_permissions(&body, PermissionsExt::from_mode(0o755)).unwrap();
        // In one step, so that no hook runs half of it.
        std::fs::rename(body, &hook).unwrap();
    };
    let sends = |number| drop(attack(root, number, Duration::from_secs(30)));
    match situation {
        Situation::Empty => becomes(""),
        Situation::Garbage => becomes("#!/bin/sh\necho garbage\n"),
        Situation::Allowing => becomes(
            "#!/bin/sh\necho '{\"decision\":\"allow\",\"permissionDecision\":\"allow\",\"hookSpecificOutput\":\
             {\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}'\n",
        ),
        Situation::Slow => {
            let real = own.with_file_name("real");
            std::fs::copy(&hook, &real).unwrap();
            becomes(&format!("#!/bin/sh\nsleep 14\nexec {} \"$@\"\n", real.display()));
        }
        // They end by themselves.
        Situation::Killed => sends(9),
        Situation::Stopped => sends(19),
        Situation::NoLaunch => {
            let sessions = root.join("home/.amplihack/sessions");
            for session in std::fs::read_dir(sessions).unwrap().flatten() {
                let aside = format!("/run/amplihack-hooks-{}", session.file_name().display());
                for launch in [session.path().join("hooks"), aside.into()] {
                    // Gemini's is aside.
                    let _ = std::fs::remove_dir_all(launch);
                }
            }
        }
    }
}

fn launch(world: &World, agent: AgentBinary, own: &Path, args: &[&str]) -> Output {
    let mut command = world.sandbox.command(own);
    command.args([agent.name(), "-p", "--prompt", "go", "--permissions", "full"]).args(args);
    Run::new(command).timeout(Duration::from_mins(2)).output()
}

/// No forbidden call runs in the situation, and the launch says so.
fn held(agent: AgentBinary, situation: Situation, args: &[&str]) {
    World::with(agent, ModelScript::default(), |world| {
        let own = own_amplihack(world);
        let (began, broken) = (sentinel(world, "attack"), sentinel(world, "broken"));
        let waits = format!(
            "touch {}; until ls {} >/dev/null 2>&1; do sleep 0.1; done",
            began.display(),
            broken.display()
        );
        let mut replies = vec![ScriptedReply::Tool { command: waits }];
        replies.extend(["a", "b", "c"].map(|name| call(world, name)));
        replies.push(ScriptedReply::Text(HELLO.to_owned()));
        world.server.set_script("run", ModelScript::new(replies));
        let root = world.sandbox.root().to_owned();
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                wait_for(&began);
                bring_about(&root, situation, &own);
                std::fs::write(&broken, "").unwrap();
            });
            launch(world, agent, &own, args)
        });
        assert!(began.exists(), "{situation:?}: nothing was broken: {output}");
        let ran: Vec<_> = ["a", "b", "c"].into_iter().filter(|name| sentinel(world, name).exists()).collect();
        let is_told = output.stderr_text().contains("the guard of this session is not in force");
        match (situation, agent) {
            // Copilot stops a call whose hook is killed, and Claude Code is made to ask about each call; a verdict may have come before.
            (Situation::Killed, AgentBinary::Claude | AgentBinary::Copilot) => {
                assert!(ran.is_empty(), "{ran:?} ran: {output}");
            }
            // Codex lets it run, Gemini only if the shell is killed before its first command. The launch sees that at its result, and there is no second one.
            (Situation::Killed, _) => {
                assert!(ran.is_empty() || ran.len() == 1 && is_told, "{ran:?} ran: {output}");
            }
            _ => {
                assert!(ran.is_empty(), "{situation:?}: {ran:?} ran: {output}");
                assert!(is_told, "{situation:?}: {output}");
            }
        }
        output.assert_code(if is_told { 4 } else { 0 });
    });
}

macro_rules! held {
    ($($name:ident: $situation:ident, $args:expr;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn claude() {
                held(AgentBinary::Claude, Situation::$situation, $args);
            }

            #[test]
            fn codex() {
                held(AgentBinary::Codex, Situation::$situation, $args);
            }

            #[test]
            fn copilot() {
                held(AgentBinary::Copilot, Situation::$situation, $args);
            }

            #[test]
            fn gemini() {
                held(AgentBinary::Gemini, Situation::$situation, $args);
            }
        })*
    };
}

held! {
    an_empty_guard: Empty, &[];
    an_empty_guard_in_a_stream: Empty, &["--output", "stream-json"];
    a_guard_that_prints_garbage: Garbage, &[];
    a_guard_that_allows_everything: Allowing, &[];
    a_slow_guard: Slow, &[];
    killed_hooks: Killed, &["--output", "stream-json"];
    stopped_hooks: Stopped, &[];
    a_removed_launch: NoLaunch, &[];
}

/// A guard that cannot write its audit judges all the same, and the launch says that nothing was recorded.
fn without_audit(agent: AgentBinary, is_directory: bool) {
    World::with(agent, ModelScript::default(), |world| {
        if is_directory {
            // A day that is a directory is not appended to, whichever it is.
            for time in
                [jiff::Timestamp::now(), jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24)]
            {
                let date = time.strftime("%Y%m%d");
                let log = format!("home/.claude/logs/xpia/rust_security_{date}.log/in-the-way");
                world.sandbox.write(log, "");
            }
        } else {
            world.sandbox.write("home/.claude/logs/xpia", "in the way");
        }
        let replies = vec![call(world, "a"), ScriptedReply::Text(HELLO.to_owned())];
        world.server.set_script("run", ModelScript::new(replies));
        let output = launch(world, agent, amplihack(), &["--fail-on-denial"]);
        assert!(!sentinel(world, "a").exists(), "{output}");
        output.assert_code(4);
        assert!(output.stderr_text().contains("are not in the audit"), "{output}");
    });
}

#[test]
fn an_audit_that_cannot_be_written_is_told() {
    for agent in [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot, AgentBinary::Gemini] {
        for is_directory in [false, true] {
            without_audit(agent, is_directory);
        }
    }
}

/// A guard that is there is not suspected: in each form of output, whatever the agent does.
fn alive(agent: AgentBinary) {
    for form in ["text", "json", "stream-json"] {
        World::with(agent, ModelScript::default(), |world| {
            let harmless = |command: &str| ScriptedReply::Tool { command: command.to_owned() };
            let replies = vec![
                harmless("echo one"),
                call(world, "a"),
                harmless("false"),
                harmless("echo two"),
                ScriptedReply::Text(HELLO.to_owned()),
            ];
            world.server.set_script("run", ModelScript::new(replies));
            let output = launch(world, agent, amplihack(), &["--output", form]);
            output.assert_code(0);
            assert!(!sentinel(world, "a").exists(), "{output}");
            assert!(!output.stderr_text().contains("in force"), "{output}");
            assert!(output.stderr_text().contains("the policy denied one call"), "{output}");
            let is_told = output.stderr_text().contains("is judged is not shown here");
            let is_blind = form == "text" && matches!(agent, AgentBinary::Copilot | AgentBinary::Gemini);
            assert_eq!(is_told, is_blind, "{output}");
        });
    }
}

#[test]
fn claude_is_not_suspected_with_its_guard() {
    alive(AgentBinary::Claude);
}

#[test]
fn codex_is_not_suspected_with_its_guard() {
    alive(AgentBinary::Codex);
}

#[test]
fn copilot_is_not_suspected_with_its_guard() {
    alive(AgentBinary::Copilot);
}

#[test]
fn gemini_is_not_suspected_with_its_guard() {
    alive(AgentBinary::Gemini);
}
