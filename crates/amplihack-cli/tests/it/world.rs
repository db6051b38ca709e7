//! What these tests share: the binary under test, and a world with a model server and nothing outside.

use std::path::{Path, PathBuf};
use std::process::Command;

use amplihack_agent::AgentBinary;
use amplihack_probe::loopback::{Options, loopback};
use amplihack_probe::model::{ModelServer, Scenario, Script};
use amplihack_testkit::{NetNs, Output, Run, Sandbox, real};

/// The binary under test.
pub fn amplihack() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_amplihack"))
}

/// `amplihack` with `args` in `sandbox`, stdin `/dev/null`.
pub fn run(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox.run(amplihack(), args)
}

/// `amplihack` with `args` in `sandbox`, to be given a stdin or a signal.
pub fn prepare(sandbox: &Sandbox, args: &[&str]) -> Run {
    Run::new(sandbox.command(amplihack())).args(args)
}

/// The pinned real CLI of `agent`; `None` after a loud line if it is not installed.
pub fn real(agent: AgentBinary) -> Option<PathBuf> {
    real::real_agent(agent.name())
}

/// A sandboxed repository, a network without an outside, and a scripted model in it.
pub struct World {
    pub sandbox: Sandbox,
    pub server: ModelServer,
    // Keeps the server running.
    _runtime: tokio::runtime::Runtime,
}

impl World {
    /// Runs `test` in a new world for `agent`; does nothing if the agent is not installed.
    ///
    /// The model plays `script`. The sandbox's environment points the agent at it, and amplihack at the agent.
    pub fn with(agent: AgentBinary, script: Script, test: impl FnOnce(&mut World) + Send) {
        let Some(program) = real(agent) else { return };
        let inside = || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let server = runtime.block_on(ModelServer::start()).unwrap();
            server.script("run", script);
            let mut sandbox = Sandbox::repository();
            let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent-cache");
            let work = sandbox.work().canonicalize().unwrap();
            let options = Options { cache: Some(&cache), workspace: Some(&work) };
            let settings =
                loopback(agent, &server.base_url(Scenario::Script, "run"), &sandbox.home(), options).unwrap();
            for (name, value) in settings.env {
                sandbox.set(name, value);
            }
            sandbox.set(format!("AMPLIHACK_{}_PATH", agent.name().to_uppercase()), program);
            test(&mut World { sandbox, server, _runtime: runtime });
        };
        // Programs that this thread starts are inside as well.
        NetNs::new().on_thread(inside).expect("a thread may enter the namespace that this test made");
    }

    /// Runs `amplihack` with `args` and no stdin.
    pub fn run(&self, args: &[&str]) -> Output {
        Run::new(self.command(args)).output()
    }

    /// `amplihack` with `args`, inside this world.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.command(amplihack());
        command.args(args);
        command
    }
}
