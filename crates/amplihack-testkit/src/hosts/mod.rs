//! Machines of a test: a network of hosts with a real ssh server each, which can be cut off, switched off and lost.
//!
//! Everything is in namespaces that the test makes, the client included, so that nothing of this machine's network is touched
//! and many tests can have the same addresses at once. What cannot be had here: packet loss and delay (a link is up or
//! down), clocks and uptime of a host's own, and kernels that differ.

mod host;
mod machine;
mod namespace;
mod prepare;

pub use host::Host;
pub use machine::{HostLimits, Spec};

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use crate::Run;
use machine::Machine;
pub(crate) use machine::kill;

/// The user that hosts let in, by name and number.
pub const USER: (&str, u32) = ("azureuser", 4242);
/// What the network's own programs find theirs in.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A network with a client side and hosts. It, and every process in it, ends with this value or with the test's process.
#[derive(Debug)]
pub struct Network {
    inner: Arc<Inner>,
}

/// A way to the hosts of a network, as long as that lives.
#[derive(Debug)]
pub(crate) struct Handle(Arc<Inner>);

impl Handle {
    /// A new host.
    pub(crate) fn host_with(&self, name: &str, spec: Spec) -> Host {
        Host::create(&self.0, name, spec)
    }

    /// The host `name`, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<Host> {
        let machine = Arc::clone(self.0.machines().get(name)?);
        Some(Host::new(&self.0, machine))
    }
}

/// What hosts hold too.
#[derive(Debug)]
struct Inner {
    directory: TempDir,
    home: PathBuf,
    marker: String,
    holder: Mutex<Option<Child>>,
    holder_pid: u32,
    /// The process whose children are born where hosts live.
    pool_pid: u32,
    machines: Mutex<BTreeMap<String, Arc<Machine>>>,
}

impl Network {
    /// A network whose client side has a home of its own. `None`, after a loud line, where this machine cannot have one.
    pub fn new() -> Option<Self> {
        Self::make(None)
    }

    /// A network whose client side has `home`, in which `.ssh` is made.
    pub fn in_home(home: &Path) -> Option<Self> {
        Self::make(Some(home))
    }

    fn make(home: Option<&Path>) -> Option<Self> {
        if let Some(why) = prepare::hindrance() {
            crate::skip_test(&format!("no hosts: {why}"));
            return None;
        }
        let directory = tempfile::Builder::new().prefix("kit-net-").tempdir().expect("a temporary directory");
        let home = home.map_or_else(|| directory.path().join("home"), Path::to_path_buf);
        prepare::fill(directory.path(), &home);
        let marker = directory.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        match hold(directory.path(), &marker) {
            Ok((holder, pool_pid)) => {
                let holder_pid = holder.id();
                let (holder, machines) = (Mutex::new(Some(holder)), Mutex::default());
                let inner = Inner { directory, home, marker, holder, holder_pid, pool_pid, machines };
                Some(Self { inner: Arc::new(inner) })
            }
            Err(why) => {
                crate::skip_test(&format!("no hosts: this machine makes no namespaces: {}", why.trim()));
                None
            }
        }
    }

    /// The host `name`, running; made by the ordinary [`Spec`] if there is none.
    #[track_caller]
    pub fn host(&self, name: &str) -> Host {
        self.find(name).unwrap_or_else(|| self.host_with(name, Spec::default()))
    }

    /// A new host `name`. It has the lowest free address, so that one that is made again gets its old one.
    #[track_caller]
    pub fn host_with(&self, name: &str, spec: Spec) -> Host {
        self.handle().host_with(name, spec)
    }

    /// The host `name`, if there is one.
    pub fn find(&self, name: &str) -> Option<Host> {
        self.handle().find(name)
    }

    /// A way to the hosts that does not keep the network.
    pub(crate) fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.inner))
    }

    /// The client's home. Its `.ssh` has a key that all hosts let in, and a configuration by which `ssh NAME` works.
    pub fn home(&self) -> &Path {
        &self.inner.home
    }

    /// The directory that all hosts have at `/opt/tools`, read only and first in PATH. Links in it lead nowhere on a host.
    pub fn tools(&self) -> PathBuf {
        self.inner.directory.path().join("tools")
    }

    /// Puts the program file at `from` into the tools as `name`.
    #[track_caller]
    pub fn tool(&self, name: &str, from: &Path) -> PathBuf {
        let to = self.tools().join(name);
        let from = from.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        if std::fs::hard_link(&from, &to).is_err() {
            std::fs::copy(&from, &to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        }
        to
    }

    /// A word in the environment of every process of this network's hosts.
    pub fn marker(&self) -> &str {
        &self.inner.marker
    }

    /// A directory that lives as long as the network, for what belongs to it.
    pub fn directory(&self) -> &Path {
        self.inner.directory.path()
    }

    /// `command`, to be run on the client side: program, arguments, environment, directory and process id stay as they are.
    pub fn wrap(&self, command: &Command) -> Command {
        self.inner.wrap(command)
    }

    /// `ssh OPTIONS HOST COMMAND` on the client side, as a program calls it: no questions, five seconds to connect unless said.
    pub fn ssh(&self, options: &[&str], host: &str, command: &str) -> Run {
        let mut ssh = Command::new("/usr/bin/ssh");
        ssh.args(options).args(["-oBatchMode=yes", "-oConnectTimeout=5", "-oLogLevel=ERROR", host, command]);
        ssh.env_clear().env("PATH", PATH).env("HOME", self.home()).current_dir(self.home());
        Run::new(self.wrap(&ssh))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let holder = self.inner.holder.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut holder) = holder {
            // It ends all processes of the network when its stdin ends, and then itself.
            drop(holder.stdin.take());
            let _ = holder.wait();
        }
        for machine in self.inner.machines().values() {
            machine.reap();
        }
    }
}

impl Inner {
    fn machines(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Machine>>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrap(&self, command: &Command) -> Command {
        let mut wrapped = self.enter(&["--net", "--mount"]);
        wrapped.arg("/usr/bin/env").arg("--chdir");
        let here = || std::env::current_dir().expect("a test has a working directory");
        wrapped.arg(command.get_current_dir().map_or_else(here, Path::to_path_buf));
        crate::netns::repeat(command, &mut wrapped);
        wrapped
    }

    /// A command line that enters these namespaces of the network, up to the program.
    fn enter(&self, namespaces: &[&str]) -> Command {
        let mut command = Command::new("/usr/bin/nsenter");
        command.arg(format!("--target={}", self.holder_pid)).args(namespaces).arg("--");
        command.env_clear().env("PATH", PATH);
        command
    }

    /// Runs one of the network's own programs inside and claims that it worked.
    #[track_caller]
    fn tell(&self, words: &[&str]) {
        self.told(words).assert_code(0);
    }

    /// The same for what may be refused: whether it was done.
    fn tells(&self, words: &[&str]) -> bool {
        self.told(words).code == Some(0)
    }

    fn told(&self, words: &[&str]) -> crate::Output {
        let mut command = self.enter(&["--net", "--mount"]);
        command.args(words);
        Run::new(command).output()
    }

    /// Tells the client and all hosts who is where.
    fn write_names(&self, machines: &BTreeMap<String, Arc<Machine>>) {
        let hosts = machines.iter().map(|(name, machine)| (name.clone(), machine.address()));
        prepare::names(self.directory.path(), &self.home, hosts);
    }
}

/// Starts the process that holds the namespaces. Returns it and the one whose children are born among the hosts.
fn hold(directory: &Path, marker: &str) -> Result<(Child, u32), String> {
    let log = directory.join("hold.log");
    let mut command = Command::new("/usr/bin/unshare");
    command.args(["--net", "--mount", "/bin/sh"]).arg(directory.join("hold.sh"));
    command.env_clear().env("PATH", PATH).env("DIRECTORY", directory).env("KIT_NETWORK", marker);
    let stderr = std::fs::File::create(&log).map_err(|error| error.to_string())?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).process_group(0);
    let mut holder = command.spawn().map_err(|error| format!("unshare: {error}"))?;
    let mut line = String::new();
    if let Some(stdout) = holder.stdout.take() {
        // A holder that failed has closed its stdout; then the line is empty.
        let _ = BufReader::new(stdout).read_line(&mut line);
    }
    if let Some(Ok(pool)) = line.trim().strip_prefix("up ").map(str::parse) {
        return Ok((holder, pool));
    }
    drop(holder.stdin.take());
    let _ = holder.wait();
    Err(std::fs::read_to_string(&log).unwrap_or_default())
}
