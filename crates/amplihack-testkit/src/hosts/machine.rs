//! What a host is while nobody looks: its disk, its link, and its processes if it is on.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process};

use super::{Inner, namespace};
use crate::procs::Process;

/// How many connections and sessions a host's ssh server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostLimits {
    /// As distributed: `MaxStartups 10:30:100`, `MaxSessions 10`.
    #[default]
    Stock,
    /// More than a test uses.
    Generous,
}

/// What a new host has.
#[derive(Debug, Clone, Default)]
pub struct Spec {
    limits: HostLimits,
    disk_mib: Option<u32>,
    binds: Vec<(PathBuf, String)>,
}

impl Spec {
    /// The ssh server's limits.
    #[must_use]
    pub fn limits(mut self, limits: HostLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The size of its disk, which is memory; 512 MiB unless said.
    #[must_use]
    pub fn disk_mib(mut self, size: u32) -> Self {
        self.disk_mib = Some(size);
        self
    }

    /// Shows the directory `from` read only at the absolute path `to`.
    #[must_use]
    pub fn bind(mut self, from: &Path, to: &str) -> Self {
        self.binds.push((from.to_path_buf(), to.to_owned()));
        self
    }

    fn disk_bytes(&self) -> u64 {
        u64::from(self.disk_mib.unwrap_or(512)) * 1024 * 1024
    }
}

/// One host. It is on while `on` is there.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) name: String,
    pub(super) number: u8,
    spec: Spec,
    on: Mutex<Option<On>>,
}

/// A host that runs.
#[derive(Debug)]
struct On {
    starter: Child,
    /// Its PID namespace.
    namespace: String,
    /// Its process 1, by its id out here.
    init: i32,
}

impl Machine {
    pub(super) fn new(name: &str, number: u8, spec: Spec) -> Self {
        Self { name: name.to_owned(), number, spec, on: Mutex::default() }
    }

    fn on(&self) -> MutexGuard<'_, Option<On>> {
        self.on.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its process 1, by its id out here, while it is on.
    pub(super) fn init(&self) -> Option<i32> {
        self.on().as_ref().map(|on| on.init)
    }

    pub(super) fn address(&self) -> String {
        format!("10.231.0.{}", self.number)
    }

    pub(super) fn link(&self) -> String {
        format!("v{}", self.number)
    }

    pub(super) fn disk(&self, network: &Inner) -> PathBuf {
        network.directory.path().join("disks").join(&self.name)
    }

    /// The largest its disk may be, as `mount` reads it.
    pub(super) fn disk_size(&self) -> String {
        self.spec.disk_bytes().to_string()
    }

    /// Switches it on and waits until its ssh server listens.
    pub(super) fn boot(&self, network: &Inner) {
        let mut on = self.on();
        assert!(on.is_none(), "{} runs already", self.name);
        let log = network.directory.path().join("logs").join(&self.name);
        let limits = match self.spec.limits {
            HostLimits::Stock => "MaxStartups 10:30:100\nMaxSessions 10",
            HostLimits::Generous => "MaxStartups 1000:30:2000\nMaxSessions 1000",
        };
        let binds = self.spec.binds.iter().map(|(from, to)| format!("{}\t{to}\n", from.display()));
        let binds: Vec<String> = binds.collect();
        let boot_id =
            std::fs::read_to_string("/proc/sys/kernel/random/uuid").expect("the kernel makes UUIDs");
        let mut command = network.enter(&[
            "--net",
            "--mount",
            &format!("--pid=/proc/{}/ns/pid_for_children", network.pool_pid),
        ]);
        command.arg("/bin/sh").arg(network.directory.path().join("boot.sh"));
        command
            .env("DIRECTORY", network.directory.path())
            .env("DISK", self.disk(network))
            .env("DISK_SIZE", self.disk_size())
            .env("NAME", &self.name)
            .env("ADDRESS", self.address())
            .env("LINK", self.link())
            .env("MAC", format!("02:00:00:00:01:{:02x}", self.number))
            .env("MARKER", &network.marker)
            .env("KIT_NETWORK", &network.marker)
            .env("SUPERUSER_HOME", super_user_home(network))
            .env("TOOLS", network.directory.path().join("tools"))
            .env("KEY", network.home.join(".ssh/id_ed25519.pub"))
            .env("LIMITS", limits)
            .env("BOOT_ID", boot_id.trim())
            .env("BINDS", binds.concat());
        let stderr = File::create(&log).expect("the network's directory is writable");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).process_group(0);
        let mut starter = command.spawn().expect("nsenter can be started");
        let mut line = String::new();
        if let Some(stdout) = starter.stdout.take() {
            // A start that failed has closed its stdout; then the line is empty.
            let _ = BufReader::new(stdout).read_line(&mut line);
        }
        let Some(namespace) = line.trim().strip_prefix("up ") else {
            let _ = starter.kill();
            let _ = starter.wait();
            panic!("{} does not start: {}", self.name, std::fs::read_to_string(&log).unwrap_or_default());
        };
        let init = namespace::first(namespace).expect("a host that is up has a process 1");
        *on = Some(On { starter, namespace: namespace.to_owned(), init });
    }

    /// Takes its power away: nobody gets a last word, not even its connections. Nothing if it is off.
    pub(super) fn power_off(&self, network: &Inner) {
        let Some(mut on) = self.on().take() else { return };
        network.tell(&["ip", "link", "del", &self.link()]);
        kill(on.init, Signal::KILL);
        // The kernel has ended all others when the first one is gone, and with it what waits for it.
        let _ = on.starter.wait();
    }

    /// Waits for what was started for it; its processes are being ended already.
    pub(super) fn reap(&self) {
        if let Some(mut on) = self.on().take() {
            let _ = on.starter.wait();
        }
    }

    /// Its processes, by their ids out here.
    pub(super) fn processes(&self) -> Vec<Process> {
        let namespace = self.on().as_ref().map(|on| on.namespace.clone());
        namespace.map(|link| namespace::processes(&link)).unwrap_or_default()
    }
}

/// Sends `signal` to a process of a host, unless it has ended.
pub(crate) fn kill(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Where the superuser of hosts is at home, below the disk.
fn super_user_home(network: &Inner) -> String {
    let passwd = std::fs::read_to_string(network.directory.path().join("passwd.host")).unwrap_or_default();
    let line = passwd.lines().find(|line| line.split(':').nth(2) == Some("0")).unwrap_or_default();
    let home = line.split(':').nth(5).unwrap_or_default().trim_start_matches('/').to_owned();
    if home.is_empty() { "superuser".to_owned() } else { home }
}
