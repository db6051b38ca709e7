//! The ways to machines: this one directly, others by ssh, and those of azlin that nobody else can reach through azlin.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use amplihack_agent::lookup::on_path;
use amplihack_agent::{AgentBinary, agent_profile};
use amplihack_config::env::Env;
use async_trait::async_trait;

use crate::backend::Backend;
use crate::error::RemoteError;
use crate::runner::{CommandOutput, RemoteCommandRunner};
use crate::state::PoolMachine;
use crate::transport::call::{LONG_LIMIT, run_command};
use crate::transport::{LocalRunner, SshDestination, SshRunner, copy_file, quote_shell_word};

/// Time for azlin to make a machine: it waits for ssh, and then for the machine's own preparations.
const MAKING: Duration = Duration::from_mins(30);

/// Runs commands wherever they are to run.
pub(crate) struct MachineRoutes {
    env: Env,
    here: LocalRunner,
    ssh: SshRunner,
    /// Directory of the pinned keys of rented machines, a file a machine.
    pins: PathBuf,
    known: Mutex<BTreeMap<String, MachineRoute>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MachineRoute {
    Here,
    Ssh,
    Azlin,
}

impl MachineRoutes {
    pub(crate) fn new(env: &Env, root: PathBuf, pins: PathBuf, program: Option<&Path>) -> Self {
        Self {
            env: without_agent_keys(env),
            here: LocalRunner::new(root, &with_program(env, program)),
            ssh: SshRunner::new(env),
            pins,
            known: Mutex::default(),
        }
    }

    /// Says what the state knows of a machine.
    pub(crate) fn learn_machine(&self, machine: &PoolMachine) {
        let name = machine.vm.name.clone();
        let way = match (machine.backend, &machine.address) {
            (Some(Backend::Local), _) | (Some(Backend::Slurm), None) => MachineRoute::Here,
            (Some(Backend::Azlin), None) => MachineRoute::Azlin,
            _ => MachineRoute::Ssh,
        };
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), way) == Some(way) {
            return;
        }
        if way == MachineRoute::Ssh {
            self.ssh.add_machine(name, self.ssh_destination(machine));
        }
    }

    fn ssh_destination(&self, machine: &PoolMachine) -> SshDestination {
        let name = &machine.vm.name;
        let address = machine.address.as_ref();
        let full = address.map_or(name.as_str(), |address| address.destination.as_str());
        let (user, host) = match full.split_once('@') {
            Some((user, host)) => (Some(user.to_owned()), host.to_owned()),
            None => (None, full.to_owned()),
        };
        // Nobody can know the key of a machine that was just made; those of the user's machines are in the user's own list.
        let rented = machine.backend == Some(Backend::Azlin);
        SshDestination {
            host,
            user,
            port: address.and_then(|address| address.port),
            known_hosts: rented.then(|| self.pins.join(name)),
            ..SshDestination::default()
        }
    }

    /// A command that runs the shell command `line` of a machine in this terminal.
    pub(crate) fn terminal_command(&self, machine: &PoolMachine, line: &str) -> Command {
        self.learn_machine(machine);
        match self.route_to(&machine.vm.name) {
            MachineRoute::Here => {
                let mut command = Command::new("/bin/sh");
                command.args(["-c", line]).env_clear().envs(self.env.iter());
                command
            }
            MachineRoute::Ssh => {
                self.ssh.terminal_command(&machine.vm.name, &self.ssh_destination(machine), line)
            }
            MachineRoute::Azlin => {
                let mut command = Command::new("azlin");
                command.args(azlin_connect_args(&machine.vm.name, line)).env_clear().envs(self.env.iter());
                command
            }
        }
    }

    fn route_to(&self, name: &str) -> MachineRoute {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(name).copied().unwrap_or(MachineRoute::Ssh)
    }

    async fn run_azlin(
        &self,
        args: &[String],
        input: Option<&Path>,
        output: Option<&Path>,
        limit: Duration,
    ) -> Result<CommandOutput, RemoteError> {
        let mut command = Command::new(if amplihack_sys::sabotage::is_active("remote-azlin-program") {
            "false"
        } else {
            "azlin"
        });
        command.args(args);
        run_command(command, &self.env, input, output, limit).await
    }
}

/// The environment without keys of agents: azlin is nobody who needs them.
fn without_agent_keys(env: &Env) -> Env {
    let mut env = env.clone();
    for name in AgentBinary::ALL.into_iter().flat_map(|agent| agent_profile(agent).keys) {
        env.remove(name);
    }
    env
}

/// The environment in which PATH leads to an amplihack: to `program` last, where nothing else of its name is found.
fn with_program(env: &Env, program: Option<&Path>) -> Env {
    let amplihack = program.filter(|program| program.ends_with("amplihack"));
    let (Some(directory), Some(path)) = (amplihack.and_then(Path::parent), env.get("PATH")) else {
        return env.clone();
    };
    if on_path("amplihack", path).is_some() {
        return env.clone();
    }
    let directories = std::env::split_paths(path).chain([directory.to_owned()]);
    // A directory with a colon in its name cannot stand in PATH.
    std::env::join_paths(directories)
        .map_or_else(|_| env.clone(), |path| env.clone().with_variable("PATH", path))
}

/// The arguments of azlin that run one command on a machine: exactly once, with nothing else on stdout.
fn azlin_connect_args(machine: &str, line: &str) -> Vec<String> {
    ["connect", machine, "--no-tmux", "--no-status", "--no-reconnect", "--yes", "--", line]
        .map(str::to_owned)
        .to_vec()
}

#[async_trait]
impl RemoteCommandRunner for MachineRoutes {
    async fn azlin(&self, args: &[String]) -> Result<CommandOutput, RemoteError> {
        self.run_azlin(args, None, None, MAKING).await
    }

    async fn connect(&self, vm_name: &str, command: &str) -> Result<CommandOutput, RemoteError> {
        match self.route_to(vm_name) {
            MachineRoute::Here => self.here.connect(vm_name, command).await,
            MachineRoute::Ssh => self.ssh.connect(vm_name, command).await,
            MachineRoute::Azlin => {
                self.run_azlin(&azlin_connect_args(vm_name, command), None, None, LONG_LIMIT).await
            }
        }
    }

    async fn transfer(&self, source: &Path, vm_name: &str, destination: &Path) -> Result<(), RemoteError> {
        copy_file(self, source, vm_name, destination).await
    }

    async fn run_piped(
        &self,
        vm_name: &str,
        command: &str,
        input: Option<&Path>,
        output: Option<&Path>,
    ) -> Result<CommandOutput, RemoteError> {
        match self.route_to(vm_name) {
            MachineRoute::Here => self.here.run_piped(vm_name, command, input, output).await,
            MachineRoute::Ssh => self.ssh.run_piped(vm_name, command, input, output).await,
            MachineRoute::Azlin => {
                self.run_azlin(&azlin_connect_args(vm_name, command), input, output, LONG_LIMIT).await
            }
        }
    }
}

/// The command line that shows a session in tmux: the view is made of its log, and is never more than a view.
pub(crate) fn tmux_view_line(id: &str, root: Option<&str>) -> String {
    let root = root
        .map_or_else(|| "\"${AMPLIHACK_REMOTE_ROOT:-$HOME/.amplihack/remote}\"".to_owned(), quote_shell_word);
    let show = quote_shell_word("tail -n +1 -F -- \"$AMPLIHACK_VIEW\"");
    format!(
        "AMPLIHACK_VIEW={root}/sessions/{id}/log; export AMPLIHACK_VIEW; \
         exec tmux new-session -A -s {id} -e AMPLIHACK_VIEW=\"$AMPLIHACK_VIEW\" {show}"
    )
}
