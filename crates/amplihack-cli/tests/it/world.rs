//! What these tests share: the binary under test, and a world with a model server and nothing outside.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_probe::loopback::{LoopbackOptions, prepare_loopback};
use amplihack_probe::model::{ModelScenario, ModelScript, ModelServer};
use amplihack_testkit::{NetNs, Output, Run, Sandbox, programs, real};
use tokio::runtime::{Builder, Runtime};

use crate::known_versions;

/// The binary under test.
pub(crate) fn amplihack() -> &'static Path {
    static ONCE: OnceLock<PathBuf> = OnceLock::new();
    ONCE.get_or_init(|| programs::under_test(env!("CARGO_BIN_EXE_amplihack")))
}

/// `amplihack` with `args` in `sandbox`, stdin `/dev/null`.
pub(crate) fn run(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox.run(amplihack(), args)
}

/// `amplihack` with `args` in `sandbox`, with nothing but loopback around it.
pub(crate) fn run_in_loopback(sandbox: &Sandbox, args: &[&str]) -> Output {
    let mut command = sandbox.command(amplihack());
    command.args(args);
    let network = NetNs::new();
    Run::new(network.wrap(&command)).timeout(Duration::from_mins(3)).output()
}

/// `amplihack` with `args` in `sandbox`, to be given a stdin or a signal.
pub(crate) fn prepare(sandbox: &Sandbox, args: &[&str]) -> Run {
    Run::new(sandbox.command(amplihack())).args(args)
}

/// The pinned real CLI of `agent`; `None` after a loud line if it is not installed.
pub(crate) fn real(agent: AgentBinary) -> Option<PathBuf> {
    real::real_agent(agent.name())
}

/// A sandboxed repository, a network without an outside, and a scripted model in it.
pub(crate) struct World {
    pub sandbox: Sandbox,
    pub server: ModelServer,
    // Keeps the server running.
    runtime: Runtime,
}

impl World {
    /// Runs `test` in a new world for `agent`; does nothing if the agent is not installed.
    ///
    /// The model plays `script` as the run `run`. The sandbox's environment points the agent at it, and amplihack at the
    /// agent.
    pub(crate) fn with(agent: AgentBinary, script: ModelScript, test: impl FnOnce(&mut World) + Send) {
        Self::with_all(&[(agent, "run")], script, test);
    }

    /// Runs `test` in a new world for several agents, each with a run of its own at the model; does nothing if one of
    /// them is not installed. The model plays `script` in the first run.
    pub(crate) fn with_all(
        agents: &[(AgentBinary, &str)],
        script: ModelScript,
        test: impl FnOnce(&mut World) + Send,
    ) {
        let programs: Vec<PathBuf> = agents.iter().filter_map(|(agent, _)| real(*agent)).collect();
        if programs.len() < agents.len() {
            return;
        }
        let inside = || {
            let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let server = runtime.block_on(ModelServer::start()).unwrap();
            server.set_script(agents[0].1, script);
            let mut world = World { sandbox: Sandbox::repository(), server, runtime };
            for ((agent, run), program) in agents.iter().zip(&programs) {
                world.prepare(*agent, run, program);
            }
            test(&mut world);
            for ((agent, _), program) in agents.iter().zip(&programs) {
                known_versions::keep(&world.sandbox, *agent, program);
            }
        };
        // Programs that this thread starts are inside as well.
        NetNs::new().on_thread(inside).expect("a thread may enter the namespace that this test made");
    }

    fn prepare(&mut self, agent: AgentBinary, run: &str, program: &Path) {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent-cache");
        let work = self.sandbox.work().canonicalize().unwrap();
        let options = LoopbackOptions { cache: Some(&cache), workspace: Some(&work) };
        let url = self.server.base_url(ModelScenario::Script, run);
        for (name, value) in prepare_loopback(agent, &url, &self.sandbox.home(), options).unwrap().env {
            self.sandbox.set(name, value);
        }
        self.sandbox.set(format!("AMPLIHACK_{}_PATH", agent.name().to_uppercase()), program);
        known_versions::tell(&self.sandbox, agent, program);
    }

    /// Waits until the model has had `count` calls of `run`.
    pub(crate) fn reached(&self, run: &str, count: u64) {
        let wait = async {
            tokio::time::timeout(Duration::from_mins(1), self.server.wait_for_calls(run, count)).await
        };
        assert_eq!(self.runtime.block_on(wait), Ok(true), "the model was not asked {count} times");
    }

    /// A word that stands in the environment of every process of this world.
    pub(crate) fn everything(&self) -> String {
        self.sandbox.everything()
    }

    /// Runs `amplihack` with `args` and no stdin.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        run(&self.sandbox, args)
    }

    /// `amplihack` with `args`, inside this world.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(amplihack());
        command.args(args);
        command
    }
}

/// The file by which the call `number` of a world shows that it ran, in a directory that no forbidden call removes.
pub(crate) fn sentinel(world: &World, number: usize) -> PathBuf {
    world.sandbox.root().join(format!("ran-{number}"))
}
