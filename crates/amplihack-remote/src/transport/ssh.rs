//! Other machines, by the system's OpenSSH: the user's configuration, keys, agents and jump hosts work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use amplihack_config::env::Env;
use amplihack_sys::fs::create_private_dir;
use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::call::{LIMIT, LONG_LIMIT, run_command, without_secrets};
use super::{control, copy_file, fault};
use crate::error::{ErrorContext, RemoteError};
use crate::runner::{CommandOutput, RemoteCommandRunner};

/// The most commands at once on a machine: its server allows ten a connection, and others use it too.
const IN_FLIGHT: usize = 8;
/// Pauses before a command is given again to a server that had no room.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(200), Duration::from_millis(600), Duration::from_secs(2), Duration::from_secs(4)];

/// Destination of ssh for a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SshDestination {
    /// A host, an address, or a name in the user's ssh configuration.
    pub host: String,
    /// Default: the configuration's.
    pub port: Option<u16>,
    /// Default: the configuration's.
    pub user: Option<String>,
    /// A private key's file. Default: the configuration's.
    pub identity: Option<PathBuf>,
    /// The file with the machine's host key under the machine's own name: the first key is taken, and no other after it. For machines
    /// that this tool made. Default: the user's own known hosts, and a machine that is not among them is refused.
    pub known_hosts: Option<PathBuf>,
    /// More options of ssh, by name.
    pub options: Vec<(String, String)>,
}

/// Runs commands on other machines. Each machine's commands share one connection, which ends a minute after the last.
///
/// A connection that was lost is noticed within ten seconds, also by those who share it; ssh tries a fresh one then, for ten seconds more.
pub struct SshRunner {
    program: PathBuf,
    env: Env,
    /// Made with the first command: whoever only looks at what is known makes nothing.
    control: OnceLock<Option<PathBuf>>,
    machines: Mutex<BTreeMap<String, SshMachine>>,
}

#[derive(Clone)]
struct SshMachine {
    destination: SshDestination,
    room: Arc<Semaphore>,
}

impl SshRunner {
    /// No machine yet. ssh gets `env` without its secrets.
    pub fn new(env: &Env) -> Self {
        Self {
            program: PathBuf::from("ssh"),
            env: without_secrets(env),
            control: OnceLock::new(),
            machines: Mutex::default(),
        }
    }

    /// The directory of the sockets of shared connections; `None` if connections are not shared.
    fn control_directory(&self) -> Option<&PathBuf> {
        let made = self.control.get_or_init(|| {
            let made = control::socket_directory(&self.env);
            if made.is_none() {
                tracing::warn!(
                    "no private directory for ssh's sockets: each command makes a connection of its own"
                );
            }
            made
        });
        made.as_ref()
    }

    /// Says how `machine` is reached; what was said before is forgotten.
    pub fn add_machine(&self, machine: impl Into<String>, destination: SshDestination) {
        let machine_entry = SshMachine { destination, room: Arc::new(Semaphore::new(IN_FLIGHT)) };
        self.machines.lock().unwrap_or_else(PoisonError::into_inner).insert(machine.into(), machine_entry);
    }

    fn find_machine(&self, name: &str) -> Result<SshMachine, RemoteError> {
        let machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        machines.get(name).cloned().ok_or_else(|| {
            RemoteError::Validation(
                ErrorContext::new(format!("no machine '{name}' is known: add it to hosts.toml"))
                    .with_fact("host", name),
            )
        })
    }

    /// The command up to the remote command line. `shared`: over the machine's connection, which is made if there is none.
    fn ssh_command(&self, name: &str, machine: &SshDestination, shared: bool) -> Command {
        // In front of the user's configuration, which would else ask questions, run commands or forward an agent's keys unseen.
        // Three unanswered signs of life end a connection: without them, a machine that was cut off would look like a slow one.
        let mut options: Vec<(&str, String)> = vec![
            ("BatchMode", "yes".into()),
            ("ConnectTimeout", "10".into()),
            ("ServerAliveInterval", "3".into()),
            ("ServerAliveCountMax", "3".into()),
            ("ClearAllForwardings", "yes".into()),
            ("ForwardX11", "no".into()),
            ("ForwardAgent", "no".into()),
            ("PermitLocalCommand", "no".into()),
            ("RequestTTY", "no".into()),
            ("RemoteCommand", "none".into()),
            ("LogLevel", "ERROR".into()),
        ];
        if let Some(file) = &machine.known_hosts {
            options.extend([
                ("UserKnownHostsFile", path_option(file)),
                ("GlobalKnownHostsFile", "/dev/null".into()),
                ("HostKeyAlias", name.to_owned()),
                ("CheckHostIP", "no".into()),
                ("HashKnownHosts", "no".into()),
                ("StrictHostKeyChecking", "accept-new".into()),
            ]);
        }
        if let Some(file) = &machine.identity {
            options.push(("IdentityFile", path_option(file)));
            options.push(("IdentitiesOnly", "yes".into()));
        }
        options.extend(machine.options.iter().map(|(name, value)| (name.as_str(), value.clone())));
        let mut words: Vec<String> =
            options.iter().flat_map(|(name, value)| ["-o".to_owned(), format!("{name}={value}")]).collect();
        if let Some(port) = machine.port {
            words.extend(["-p".to_owned(), port.to_string()]);
        }
        if let Some(user) = &machine.user {
            words.extend(["-l".to_owned(), user.clone()]);
        }
        words.extend(["--".to_owned(), machine.host.clone()]);
        let mut command = Command::new(&self.program);
        match self.control_directory().filter(|_| shared) {
            Some(place) => {
                let mut parts = words.clone();
                parts.push(name.to_owned());
                let socket = path_option(&place.join(control::socket_name(&parts)));
                command.args(["-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o"]);
                command.arg(format!("ControlPath={socket}"));
            }
            None => {
                // Switched off by name, since the user's own configuration may share connections too: a dead one costs ten seconds.
                command.args(["-o", "ControlMaster=no", "-o", "ControlPath=none"]);
            }
        }
        command.args(words);
        command
    }

    /// A command that runs `line` on a machine in this terminal.
    pub(crate) fn terminal_command(&self, name: &str, machine: &SshDestination, line: &str) -> Command {
        // Whatever started the session there pinned the key before.
        let _ = make_pin_directory(machine.known_hosts.as_deref());
        let usual = self.ssh_command(name, machine, true);
        let mut command = Command::new(usual.get_program());
        // The first of several values of an option is the one that counts.
        command.arg("-tt").args(["-o", "RequestTTY=force"]).args(usual.get_args()).arg(line);
        command.env_clear().envs(self.env.iter());
        command
    }

    async fn run_line(
        &self,
        name: &str,
        line: &str,
        input: Option<&Path>,
        output: Option<&Path>,
        limit: Duration,
    ) -> Result<CommandOutput, RemoteError> {
        let machine = self.find_machine(name)?;
        let pins = machine.destination.known_hosts.as_deref();
        let placed = |error: RemoteError| match pins {
            // The user's own list does not matter here.
            Some(file) if error.get_fact("reason") == Some("hostkey") => {
                error.with_fact("host", name).with_fact(
                    "hint",
                    format!(
                        "its key is not the one that it had: if it was made anew on purpose, remove {}",
                        file.display()
                    ),
                )
            }
            _ => error.with_fact("host", name),
        };
        make_pin_directory(pins).map_err(placed)?;
        let _room = machine.room.acquire().await.map_err(|_| RemoteError::Execution("no room".into()))?;
        let mut pauses = PAUSES.iter();
        let mut shared = true;
        loop {
            let mut command = self.ssh_command(name, &machine.destination, shared);
            command.arg(line);
            let answer = run_command(command, &self.env, input, output, limit).await.map_err(placed)?;
            if answer.status != 255 {
                return Ok(answer);
            }
            match pauses.next() {
                Some(pause) if fault::may_try_again(&answer.stderr) => tokio::time::sleep(*pause).await,
                _ => return Err(placed(fault::ssh_error(&answer.stderr))),
            }
            // Whoever shares the connection may have taken all that it allows.
            shared = false;
        }
    }
}

/// Makes the directory of a file for pinned keys: ssh makes none, and without the file it would trust any key, each time.
fn make_pin_directory(file: Option<&Path>) -> Result<(), RemoteError> {
    let Some(directory) = file.and_then(Path::parent) else { return Ok(()) };
    create_private_dir(directory).map_err(|error| {
        let what = format!("{} for the keys of machines cannot be made: {error}", directory.display());
        RemoteError::Transfer(ErrorContext::new(what).with_fact("reason", "pins"))
    })
}

/// A path as an option's value: it may have blanks, and `%` would be a token.
fn path_option(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('%', "%%"))
}

#[async_trait]
impl RemoteCommandRunner for SshRunner {
    async fn azlin(&self, _args: &[String]) -> Result<CommandOutput, RemoteError> {
        Err(RemoteError::Provisioning("hosts of hosts.toml are not azlin's: use --backend azlin".into()))
    }

    async fn connect(&self, vm_name: &str, command: &str) -> Result<CommandOutput, RemoteError> {
        self.run_line(vm_name, command, None, None, LIMIT).await
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
        self.run_line(vm_name, command, input, output, LONG_LIMIT).await
    }
}

impl std::fmt::Debug for SshRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SshRunner").field("control", &self.control).finish_non_exhaustive()
    }
}
