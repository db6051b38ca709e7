//! The real CLIs in a terminal, launched through `amplihack`: first prompt, answer, leaving, and what the terminal is after it.

use std::thread::sleep;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{HELLO, ModelScript, ScriptedReply};
use amplihack_testkit::{Tmux, procs};

use crate::real_agents::greeting;
use crate::world::{World, amplihack};

/// A prompt that a shell on the way would change.
const PROMPT: &str = "-it is 'said' $HOME";

fn takes_a_prompt(agent: AgentBinary, leave: &str) {
    if !Tmux::is_installed() {
        return;
    }
    World::with(agent, greeting(), |world| {
        let tmux = Tmux::new(&world.sandbox);
        // Codex would leave a server of its own running for later sessions.
        let own = if agent == AgentBinary::Codex { "-- --no-daemon" } else { "" };
        // The shell shows the exit code and whether the terminal echoes again and reads lines.
        let script = format!(
            "'{}' {agent} \"--prompt=$1\" {own}; echo \"exit=$?\"; \
             stty -a | grep -q ' icanon .* echo ' && echo 'terminal sane'; exec cat",
            amplihack().display()
        );
        tmux.new_session("c", "sh", ["-c", &script, "sh", PROMPT]);
        tmux.wait_for("c", HELLO, Duration::from_mins(1));
        let prompts = world.server.prompts("run");
        let arrived = prompts.iter().any(|said| match agent {
            // It puts the date before the prompt.
            AgentBinary::Copilot => {
                said.starts_with("<current_datetime>") && said.trim_end().ends_with(PROMPT)
            }
            _ => said == PROMPT,
        });
        assert!(arrived, "{agent}: {prompts:#?}");
        leave_by(&tmux, leave);
        tmux.wait_for("c", "exit=0", Duration::from_secs(10));
        tmux.wait_for("c", "terminal sane", Duration::from_secs(5));
        let path = format!("AMPLIHACK_{}_PATH", agent.name().to_uppercase());
        let program = world.sandbox.env().get(path).unwrap().to_str().unwrap();
        let mut left = procs::with_marker(&world.everything());
        left.retain(|process| process.argv[0] == *program);
        assert!(left.is_empty(), "{left:#?}");
    });
}

/// Leaves the agent by its own command, as a person does: when the turn is over, and again if nothing came of it.
///
/// The answer is on the screen before the turn is over. Copilot queues a command that is given in between, and was
/// once seen never to take it up.
pub(crate) fn leave_by(tmux: &Tmux<'_>, command: &str) {
    for _ in 0..3 {
        tmux.wait_until_still("c", Duration::from_secs(1), Duration::from_secs(20));
        tmux.type_text("c", command);
        // Its menu of commands must have opened before one is chosen.
        sleep(Duration::from_millis(500));
        tmux.send_keys("c", &["Enter"]);
        if tmux.shows_within("c", "exit=", Duration::from_secs(10)) {
            return;
        }
        // Takes back what is queued or typed.
        tmux.send_keys("c", &["Escape"]);
    }
}

#[test]
fn claude_takes_a_prompt_in_a_terminal() {
    takes_a_prompt(AgentBinary::Claude, "/exit");
}

#[test]
fn codex_takes_a_prompt_in_a_terminal() {
    takes_a_prompt(AgentBinary::Codex, "/quit");
}

#[test]
fn copilot_takes_a_prompt_in_a_terminal() {
    takes_a_prompt(AgentBinary::Copilot, "/exit");
}

#[test]
fn gemini_takes_a_prompt_in_a_terminal() {
    takes_a_prompt(AgentBinary::Gemini, "/quit");
}

/// With full permissions a person is asked about nothing, although Claude is made to ask before each call: the guard answers.
#[test]
fn claude_asks_nobody_in_a_terminal_with_full_permissions() {
    if !Tmux::is_installed() {
        return;
    }
    World::with(AgentBinary::Claude, ModelScript::default(), |world| {
        let (ran, denied) = (world.sandbox.root().join("ran"), world.sandbox.root().join("denied"));
        let harmless = format!("git status; touch {}", ran.display());
        let forbidden = format!("touch {}; git commit --allow-empty --no-verify -m x", denied.display());
        let calls = [harmless, forbidden].map(|command| ScriptedReply::Tool { command });
        world.server.set_script(
            "run",
            ModelScript::new(calls.into_iter().chain([ScriptedReply::Text(HELLO.to_owned())])),
        );
        // The person has read the warning before.
        world.sandbox.write("home/.claude/settings.json", r#"{"skipDangerousModePermissionPrompt": true}"#);
        let tmux = Tmux::new(&world.sandbox);
        let script = format!(
            "'{}' claude --permissions full --prompt=go; echo \"exit=$?\"; exec cat",
            amplihack().display()
        );
        tmux.new_session("c", "sh", ["-c", &script]);
        tmux.wait_for("c", HELLO, Duration::from_mins(1));
        assert!(ran.exists() && !denied.exists());
        leave_by(&tmux, "/exit");
        tmux.wait_for("c", "exit=0", Duration::from_secs(10));
    });
}
