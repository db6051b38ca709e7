//! One host of a network, from outside: its faults, its files, its processes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rustix::process::Signal;

use super::machine::{Machine, kill};
use super::{Inner, Spec, USER};
use crate::procs::Process;
use crate::{Output, Run};

/// What its users find programs in.
const PATH: &str = "/opt/tools:/usr/local/bin:/usr/bin:/bin";
/// The first number that a host has in the network's addresses.
const FIRST: u8 = 10;

/// A host: namespaces with a real ssh server on port 22, an address, a disk, users and processes of its own. Its root is a disk
/// of its own with this machine's `/usr`, so that nothing else of this machine is seen.
#[derive(Debug, Clone)]
pub struct Host {
    network: Arc<Inner>,
    machine: Arc<Machine>,
}

impl Host {
    pub(super) fn new(network: &Arc<Inner>, machine: Arc<Machine>) -> Self {
        Self { network: Arc::clone(network), machine }
    }

    #[track_caller]
    pub(super) fn create(network: &Arc<Inner>, name: &str, spec: Spec) -> Self {
        let machine = {
            let mut machines = network.machines();
            assert!(!machines.contains_key(name), "there is a host {name} already");
            let taken: Vec<u8> = machines.values().map(|machine| machine.number).collect();
            let number = (FIRST..=250).find(|number| !taken.contains(number)).expect("an address is free");
            let machine = Arc::new(Machine::new(name, number, spec));
            machines.insert(name.to_owned(), Arc::clone(&machine));
            network.write_names(&machines);
            machine
        };
        let host = Self::new(network, machine);
        host.boot();
        host
    }

    /// Its name, which ssh on the client side knows.
    pub fn name(&self) -> &str {
        &self.machine.name
    }

    /// Its address in the network.
    pub fn address(&self) -> String {
        self.machine.address()
    }

    /// Its host key as a line of `known_hosts` has it: type and key.
    pub fn host_key(&self) -> String {
        let text = std::fs::read_to_string(self.path("/etc/ssh/ssh_host_ed25519_key.pub"))
            .expect("a host has a key");
        text.split_ascii_whitespace().take(2).collect::<Vec<_>>().join(" ")
    }

    /// Whether it is on.
    pub fn is_on(&self) -> bool {
        self.machine.init().is_some()
    }

    /// Cuts it off from the network. It runs on, and nobody is told.
    #[track_caller]
    pub fn cut(&self) {
        let link = self.machine.link();
        self.network.tell(&["ip", "link", "set", &link, "down"]);
    }

    /// Ends what [`Self::cut`] began.
    #[track_caller]
    pub fn join(&self) {
        let link = self.machine.link();
        self.network.tell(&["ip", "link", "set", &link, "up"]);
    }

    /// Takes its power away. Its disk stays; `/tmp`, `/run`, `/dev/shm` and all processes are gone.
    #[track_caller]
    pub fn power_off(&self) {
        self.machine.power_off(&self.network);
    }

    /// Switches it on again, with another boot id. Its start time and uptime stay this machine's.
    #[track_caller]
    pub fn boot(&self) {
        self.machine.boot(&self.network);
    }

    /// Takes it away, disk and all. Its name and its address are free.
    #[track_caller]
    pub fn destroy(self) {
        self.power_off();
        let disk = self.machine.disk(&self.network);
        self.network.tell(&["umount", "-l", &disk.display().to_string()]);
        let mut machines = self.network.machines();
        machines.remove(self.name());
        self.network.write_names(&machines);
    }

    /// Stops its ssh server and all that serves connections: they are taken, and nothing answers.
    pub fn freeze_sshd(&self) {
        self.signal_sshd(Signal::STOP);
    }

    /// Ends what [`Self::freeze_sshd`] began.
    pub fn thaw_sshd(&self) {
        self.signal_sshd(Signal::CONT);
    }

    fn signal_sshd(&self, signal: Signal) {
        for process in self.processes() {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", process.pid)).unwrap_or_default();
            if name.starts_with("sshd") {
                kill(process.pid, signal);
            }
        }
    }

    /// Leaves no room on its disk, as if its last block were taken.
    #[track_caller]
    pub fn fill_disk(&self) {
        let disk = self.disk();
        // What is written in between makes the size too small, which is refused.
        let filled = (0..50).any(|_| {
            let used = rustix::fs::statvfs(&disk).expect("a disk has a size");
            self.resized(&((used.f_blocks - used.f_bfree) * used.f_frsize).to_string())
        });
        assert!(filled, "the disk of {} cannot be filled", self.name());
    }

    /// Gives it its room back.
    #[track_caller]
    pub fn free_disk(&self) {
        let size = self.machine.disk_size();
        self.resize(&size);
    }

    fn resize(&self, size: &str) {
        assert!(self.resized(size), "the disk of {} cannot have {size} bytes", self.name());
    }

    fn resized(&self, size: &str) -> bool {
        let disk = self.machine.disk(&self.network).display().to_string();
        self.network.tells(&["mount", "-o", &format!("remount,size={size}"), &disk])
    }

    /// A bash command run on it as its user, without ssh.
    #[track_caller]
    pub fn exec(&self, command: &str) -> Output {
        let mut bash = Command::new("/bin/bash");
        bash.args(["-c", command])
            .env_clear()
            .envs(self.variables())
            .current_dir(format!("/home/{}", USER.0));
        Run::new(self.wrap(&bash)).output()
    }

    /// A shell command run on it as the superuser, without ssh.
    #[track_caller]
    pub fn exec_as_superuser(&self, command: &str) -> Output {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]);
        Run::new(self.wrap_as_superuser(&shell)).output()
    }

    /// `command`, to be run on it as the superuser, with the superuser's variables.
    #[track_caller]
    pub fn wrap_as_superuser(&self, command: &Command) -> Command {
        let mut wrapped = self.enter();
        crate::netns::repeat(command, &mut wrapped);
        wrapped.env("PATH", format!("{PATH}:/usr/sbin:/sbin")).env("KIT_NETWORK", &self.network.marker);
        wrapped
    }

    /// Runs `work` on a new thread whose sockets are the host's, so that its programs reach a server of the test on their loopback.
    #[track_caller]
    pub fn on_thread<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let init = self.machine.init().unwrap_or_else(|| panic!("{} is off", self.name()));
        crate::netns::on_thread(Some(init.unsigned_abs()), work)
            .expect("a thread may enter a host that this test made")
    }

    /// The variables that its user has after a login.
    pub fn variables(&self) -> Vec<(String, String)> {
        let (user, _) = USER;
        [
            ("PATH", PATH.to_owned()),
            ("HOME", format!("/home/{user}")),
            ("USER", user.to_owned()),
            ("LOGNAME", user.to_owned()),
            ("SHELL", "/bin/bash".to_owned()),
            ("KIT_NETWORK", self.network.marker.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// `command`, to be run on it as its user. The process that is started out here passes on its end, but no signal but KILL of
    /// its group reaches the program: that has a process id of its own there.
    #[track_caller]
    pub fn wrap(&self, command: &Command) -> Command {
        let (_, id) = USER;
        let mut wrapped = self.enter();
        wrapped.arg("/usr/bin/setpriv");
        wrapped.args([format!("--reuid={id}"), format!("--regid={id}"), "--clear-groups".to_owned()]);
        wrapped.args(["/usr/bin/env", "--chdir"]);
        wrapped.arg(command.get_current_dir().unwrap_or_else(|| Path::new("/")));
        crate::netns::repeat(command, &mut wrapped);
        wrapped
    }

    /// A command line that enters it, up to the program.
    #[track_caller]
    fn enter(&self) -> Command {
        let init = self.machine.init().unwrap_or_else(|| panic!("{} is off", self.name()));
        let mut command = Command::new("/usr/bin/nsenter");
        command.arg(format!("--target={init}"));
        command.args(["--mount", "--uts", "--ipc", "--net", "--pid", "--"]);
        command
    }

    /// All its processes, by their ids out here.
    pub fn processes(&self) -> Vec<Process> {
        self.machine.processes()
    }

    /// Its processes with `word` in an argument.
    pub fn processes_with(&self, word: &str) -> Vec<Process> {
        let holds = |process: &Process| process.argv.iter().any(|arg| arg.lossy().contains(word));
        self.processes().into_iter().filter(holds).collect()
    }

    /// The home of its user, seen from outside, while it is on or off. The path goes through `/proc`: to be opened, not to be
    /// made canonical.
    pub fn home(&self) -> PathBuf {
        self.disk().join("home").join(USER.0)
    }

    /// The root of its disk, seen from outside, as [`Self::home`].
    pub fn disk(&self) -> PathBuf {
        let disk = self.machine.disk(&self.network);
        let root = PathBuf::from(format!("/proc/{}/root", self.network.holder_pid));
        root.join(disk.strip_prefix("/").unwrap_or(&disk))
    }

    /// Its absolute path `inside`, seen from outside; `/tmp`, `/run` and `/dev/shm` only while it is on.
    pub fn path(&self, inside: &str) -> PathBuf {
        let root = self
            .machine
            .init()
            .map_or_else(|| self.disk(), |init| PathBuf::from(format!("/proc/{init}/root")));
        root.join(inside.trim_start_matches('/'))
    }
}
