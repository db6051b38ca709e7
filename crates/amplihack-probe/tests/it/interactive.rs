//! The real agents in a terminal: the prepared home lets each of them start to work without a question.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_probe::loopback::{LoopbackOptions, prepare_loopback};
use amplihack_probe::model::{HELLO, ModelScenario, ModelServer, ObservedDelivery};

use super::real::program;

/// A tmux server of our own, ended with its agents on drop.
struct Terminal {
    dir: tempfile::TempDir,
}

impl Terminal {
    fn tmux(&self, args: &[OsString]) -> std::process::Output {
        Command::new("tmux")
            .arg("-S")
            .arg(self.dir.path().join("socket"))
            .args(["-f", "/dev/null"])
            .args(args)
            .env_clear()
            .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("TERM", "xterm")])
            .output()
            .unwrap()
    }

    /// Runs a command line in a new session; nothing of it passes through a shell.
    fn run(&self, place: &Path, line: Vec<OsString>) {
        let place = place.into();
        let mut args: Vec<OsString> =
            ["new-session", "-d", "-s", "a", "-x", "120", "-y", "40", "-c"].map(Into::into).into();
        args.push(place);
        args.push("--".into());
        args.extend(line);
        let output = self.tmux(&args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p", "-t", "a"].map(Into::into)).stdout)
            .into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server".into()]);
    }
}

async fn starts(agent: AgentBinary, before: &[&str], prompt: &str) {
    let Some(program) = program(agent) else { return };
    if !amplihack_testkit::Tmux::is_installed() {
        return;
    }
    let server = ModelServer::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let work = tempfile::tempdir().unwrap();
    let place = work.path().canonicalize().unwrap();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent-cache");
    let options = LoopbackOptions { cache: Some(&cache), workspace: Some(&place) };
    let ready =
        prepare_loopback(agent, &server.base_url(ModelScenario::Text, "r"), home.path(), options).unwrap();
    let mut line: Vec<OsString> =
        ["env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TERM=tmux-256color"]
            .map(Into::into)
            .into();
    for (name, value) in &ready.env {
        let mut pair = name.clone();
        pair.push("=");
        pair.push(value);
        line.push(pair);
    }
    line.push(program.into());
    line.extend(before.iter().map(Into::into));
    line.push(prompt.into());
    let terminal = Terminal { dir: tempfile::tempdir().unwrap() };
    terminal.run(&place, line);
    let wait = tokio::time::timeout(Duration::from_mins(1), async {
        while !terminal.screen().contains(HELLO) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    assert!(wait.await.is_ok(), "no answer on the screen:\n{}", terminal.screen());
    match server.observed_delivery("r", prompt) {
        ObservedDelivery::Exact => {}
        ObservedDelivery::Contained { role, .. } if agent == AgentBinary::Copilot && role == "user" => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn claude_starts_to_work() {
    starts(AgentBinary::Claude, &["--"], "-it's 'said'").await;
}

#[tokio::test]
async fn codex_starts_to_work() {
    starts(AgentBinary::Codex, &["--no-daemon", "--"], "-it's 'said'").await;
}

#[tokio::test]
async fn copilot_starts_to_work() {
    starts(AgentBinary::Copilot, &["-i"], "it's 'said'").await;
}
