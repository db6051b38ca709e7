//! What every command stands on: the state's file, this process, and the ways to machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::azlin::Azlin;
use crate::client::ways::{Ways, view};
use crate::client::{Client, invalid};
use crate::error::{ErrorContext, RemoteError};
use crate::far::Far;
use crate::runner::RemoteCommandRunner;
use crate::state::{self, Machine, State, state_path};
use crate::state_lock;

/// The variable that says what serves on machines.
const RUNNER: &str = "AMPLIHACK_REMOTE_RUNNER";

/// One command's ground.
#[derive(Clone)]
pub(crate) struct Ground {
    /// Where the state is.
    state: PathBuf,
    /// This process.
    pub(crate) me: state::Client,
    /// The user's own way to everything, if there is one.
    given: Option<Arc<dyn RemoteCommandRunner>>,
    ways: Arc<Ways>,
    roots: Arc<BTreeMap<String, String>>,
    /// Whether the binary serves where it is installed.
    native: bool,
}

impl Client {
    /// The ground of a command that was given `state_file`.
    pub(crate) fn ground(&self, state_file: Option<&Path>) -> Result<Ground, RemoteError> {
        let home = self.home()?.join("remote");
        let root = self.process.path("AMPLIHACK_REMOTE_ROOT").unwrap_or_else(|| home.clone());
        let roots =
            self.hosts.hosts.iter().filter_map(|(name, host)| Some((name.clone(), host.root.clone()?)));
        Ok(Ground {
            state: state_path(&self.process, state_file.map(Path::to_owned))?,
            me: state::Client::this(),
            given: self.runner.clone().filter(|_| !amplihack_utils::sabotage::active("remote-runner")),
            ways: Arc::new(Ways::new(
                &self.process,
                root,
                home.join("known_hosts.d"),
                self.program.as_deref(),
            )),
            roots: Arc::new(roots.collect()),
            native: match self.process.text(RUNNER) {
                None | Some("script") => false,
                Some("native") => true,
                Some(other) => return Err(invalid(format!("{RUNNER}={other}: use script or native"))),
            },
        })
    }

    /// Where amplihack keeps its own.
    pub(crate) fn home(&self) -> Result<PathBuf, RemoteError> {
        self.process.amplihack_home().ok_or_else(|| {
            invalid("neither AMPLIHACK_HOME nor HOME is an absolute path, so nothing can be kept; set one")
        })
    }

    /// azlin, tried again as long as the user wants.
    pub(crate) fn azlin<'a>(&self, runner: &'a dyn RemoteCommandRunner) -> Azlin<'a> {
        Azlin::new(runner, self.retry_budget(Duration::from_mins(2)))
    }
}

impl Ground {
    /// What is known.
    pub(crate) fn read(&self) -> Result<State, RemoteError> {
        state_lock::read(&self.state)
    }

    /// Changes what is known.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut State) -> Result<T, RemoteError>,
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
    pub(crate) fn far(&self, machine: &Machine) -> Far {
        self.ways.know(machine);
        let runner =
            self.given.clone().unwrap_or_else(|| Arc::clone(&self.ways) as Arc<dyn RemoteCommandRunner>);
        let root = self.roots.get(&machine.vm.name).cloned();
        Far::new(runner, &machine.vm.name).at(root).native(self.native)
    }

    /// The far side of the machine `name`.
    pub(crate) fn far_of(&self, state: &State, name: &str) -> Result<Far, RemoteError> {
        let machine = state.vm_pool.get(name).ok_or_else(|| {
            let context = ErrorContext::new(format!("machine '{name}' is not known any more"));
            RemoteError::Execution(context.with("host", name))
        })?;
        Ok(self.far(machine))
    }

    /// A command that shows a session of a machine in this terminal.
    pub(crate) fn terminal(&self, machine: &Machine, id: &str) -> Command {
        let root = self.roots.get(&machine.vm.name).map(String::as_str);
        self.ways.terminal(machine, &view(id, root))
    }
}

/// The time.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
