//! Signals to a launch of the real CLIs: whatever they do with them, the exit code is right and nothing is left.

use std::time::{Duration, Instant};

use amplihack_agent::AgentBinary;
use amplihack_probe::model::{ModelScript, ScriptedReply};
use amplihack_testkit::procs::{self, Process};
use amplihack_testkit::{Output, Run, Running};
use rustix::process::{Pid, Signal, kill_process};

use crate::world::World;

/// How long the tests let a run take to end; the launcher's own grace is 5 s, twice.
const PATIENCE: Duration = Duration::from_secs(13);

/// Starts a headless run whose model plays `reply`.
fn launch(world: &World, agent: AgentBinary, reply: ScriptedReply) -> Running {
    world.server.set_script("run", ModelScript::new([reply]));
    let args = [agent.name(), "-p", "--permissions", "full", "--prompt", "go"];
    Run::new(world.command(&args)).spawn()
}

/// Starts a run and waits until its tool call runs.
fn launch_slow_tool(world: &World, agent: AgentBinary) -> Running {
    let marker = world.sandbox.write(world.sandbox.marker("slow"), "");
    let marker = marker.display().to_string();
    let command = format!("timeout 31 tail -f /dev/null '{marker}'");
    let mut run = launch(world, agent, ScriptedReply::Tool { command });
    run.until("the tool call", |_| {
        let runs =
            |process: &Process| process.argv[0] == "tail" && process.argv.iter().any(|arg| *arg == *marker);
        procs::all().iter().any(runs)
    });
    run
}

/// Waits for the end, which must come within the grace and leave nothing.
#[track_caller]
fn ends(world: &World, run: Running, code: i32) -> Output {
    let begin = Instant::now();
    let output = run.wait();
    output.assert_code(code);
    assert!(begin.elapsed() < PATIENCE, "{output}");
    assert!(!output.held_open, "{output}");
    procs::assert_none(&world.everything());
    output
}

fn ends_on_signals(agent: AgentBinary) {
    World::with(agent, ModelScript::default(), |world| {
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            let run = launch_slow_tool(world, agent);
            run.signal(signal);
            ends(world, run, code);
        }
        // The agent itself is killed: its tool call must not outlive it. That of Codex dies with it, that of Copilot loses
        // its terminal then; that of Claude has a session of its own, and runs on until it is ended.
        let run = launch_slow_tool(world, agent);
        kill_process(agent_of(&run), Signal::KILL).unwrap();
        let output = ends(world, run, 137);
        let named = output.stderr_text().contains("ended what the agent left in the background: ");
        assert!(named || agent != AgentBinary::Claude, "{output}");
        // A model that says nothing keeps no agent alive.
        let asked = world.server.requests("run").len() as u64;
        let run = launch(world, agent, ScriptedReply::Hang(Duration::from_mins(10)));
        world.reached("run", asked + 1);
        run.signal(Signal::TERM);
        ends(world, run, 143);
    });
}

/// The agent of a run: the child of its launcher.
fn agent_of(run: &Running) -> Pid {
    let launcher = run.pid().as_raw_nonzero().get();
    let child = procs::all().into_iter().find(|process| process.ppid == launcher).unwrap();
    Pid::from_raw(child.pid).unwrap()
}

#[test]
fn claude_ends_on_signals() {
    ends_on_signals(AgentBinary::Claude);
}

#[test]
fn codex_ends_on_signals() {
    ends_on_signals(AgentBinary::Codex);
}

#[test]
fn copilot_ends_on_signals() {
    ends_on_signals(AgentBinary::Copilot);
}

#[test]
fn gemini_ends_on_signals() {
    ends_on_signals(AgentBinary::Gemini);
}
