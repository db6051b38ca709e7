//! Context of every command: the state file, this process, and the routes to machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::azlin::AzlinCli;
use crate::client::routes::{MachineRoutes, tmux_view_line};
use crate::client::{Client, invalid_input};
use crate::error::{ErrorContext, RemoteError};
use crate::far::FarSide;
use crate::runner::RemoteCommandRunner;
use crate::state::{self, PoolMachine, RemoteState, state_path};
use crate::state_lock;

/// Context of a command: the state file, this process, and the routes to machines.
#[derive(Clone)]
pub(crate) struct RemoteContext {
    /// Path of the state file.
    state: PathBuf,
    /// The identity of this process as a client in the state file.
    pub(crate) me: state::ClientProcess,
    /// The user's own way to everything, if there is one.
    given: Option<Arc<dyn RemoteCommandRunner>>,
    ways: Arc<MachineRoutes>,
    roots: Arc<BTreeMap<String, String>>,
}

impl Client {
    /// The ground of a command that was given `state_file`.
    pub(crate) fn open_context(&self, state_file: Option<&Path>) -> Result<RemoteContext, RemoteError> {
        let home = self.amplihack_home()?.join("remote");
        let root = self.process.path("AMPLIHACK_REMOTE_ROOT").unwrap_or_else(|| home.clone());
        let roots =
            self.hosts.hosts.iter().filter_map(|(name, host)| Some((name.clone(), host.root.clone()?)));
        Ok(RemoteContext {
            state: state_path(&self.process, state_file.map(Path::to_owned))?,
            me: state::ClientProcess::from_current_process(),
            given: self.runner.clone().filter(|_| !amplihack_sys::sabotage::is_active("remote-runner")),
            ways: Arc::new(MachineRoutes::new(
                &self.process,
                root,
                home.join("known_hosts.d"),
                self.program.as_deref(),
            )),
            roots: Arc::new(roots.collect()),
        })
    }

    /// The directory of amplihack's own files.
    pub(crate) fn amplihack_home(&self) -> Result<PathBuf, RemoteError> {
        self.process.amplihack_home().ok_or_else(|| {
            invalid_input(
                "nothing can be recorded: neither AMPLIHACK_HOME nor HOME is an absolute path; set one of them",
            )
        })
    }

    /// azlin, tried again as long as the user wants.
    pub(crate) fn azlin_cli<'a>(&self, runner: &'a dyn RemoteCommandRunner) -> AzlinCli<'a> {
        AzlinCli::new(runner, self.retry_budget(Duration::from_mins(2)))
    }
}

impl RemoteContext {
    /// Reads the state file.
    pub(crate) fn read_state(&self) -> Result<RemoteState, RemoteError> {
        state_lock::read(&self.state)
    }

    /// Changes what is known.
    pub(crate) fn change_state<T>(
        &self,
        change: impl FnOnce(&mut RemoteState) -> Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        state_lock::with_lock(&self.state, change)
    }

    /// The way to azlin.
    pub(crate) fn azlin_runner(&self) -> &dyn RemoteCommandRunner {
        match &self.given {
            Some(given) => given.as_ref(),
            None => self.ways.as_ref(),
        }
    }

    /// The far side of a machine.
    pub(crate) fn far_side(&self, machine: &PoolMachine) -> FarSide {
        self.ways.learn_machine(machine);
        let runner =
            self.given.clone().unwrap_or_else(|| Arc::clone(&self.ways) as Arc<dyn RemoteCommandRunner>);
        let root = self.roots.get(&machine.vm.name).cloned();
        FarSide::new(runner, &machine.vm.name).with_root(root)
    }

    /// The far side of the machine `name`.
    pub(crate) fn far_side_named(&self, state: &RemoteState, name: &str) -> Result<FarSide, RemoteError> {
        let machine = state.vm_pool.get(name).ok_or_else(|| {
            let context = ErrorContext::new(format!("machine '{name}' is not known any more"));
            RemoteError::Execution(context.with_fact("host", name))
        })?;
        Ok(self.far_side(machine))
    }

    /// A command that shows a session of a machine in this terminal.
    pub(crate) fn terminal_command(&self, machine: &PoolMachine, id: &str) -> Command {
        let root = self.roots.get(&machine.vm.name).map(String::as_str);
        self.ways.terminal_command(machine, &tmux_view_line(id, root))
    }
}

/// The time.
pub(crate) fn current_time() -> Timestamp {
    Timestamp::now()
}
