//! A real Slurm of one controller and three nodes on a host, and its faults.
//!
//! The nodes are daemons of one host: they share its file system, as the nodes of a site share homes. Users find `sbatch` and the
//! others in PATH and the configuration where a site has it, in `/etc/slurm`. There is no accounting daemon.

use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::hosts::{Host, kill};
use crate::procs::{self, Process};
use crate::{Output, Run};

const CONFIGURATION: &str = include_str!("slurm.conf");
const PREPARE: &str = include_str!("start.sh");
/// The programs that are needed.
const PROGRAMS: &[&str] =
    &["/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged", "/usr/bin/sbatch", "/usr/bin/squeue"];
/// How many nodes there are.
pub const NODES: u8 = 3;
const PATIENCE: Duration = Duration::from_mins(1);

/// A Slurm that runs on a host, and ends with it.
#[derive(Debug)]
pub struct Slurm {
    host: Host,
}

impl Slurm {
    /// Starts one on `host` and waits until its nodes are idle. After the host was switched off and on this starts the same one
    /// again. `None`, after a loud line, if Slurm is not installed.
    #[track_caller]
    pub fn start(host: &Host) -> Option<Self> {
        if !crate::require_programs(PROGRAMS) {
            return None;
        }
        let slurm = Self { host: host.clone() };
        let mut prepare = Command::new("/bin/sh");
        prepare.args(["-c", PREPARE]);
        Run::new(host.wrap_as_superuser(&prepare)).stdin(CONFIGURATION).output().assert_code(0);
        slurm.start_controller();
        for node in 1..=NODES {
            slurm.start_node(node);
        }
        slurm.until("all nodes are idle", |slurm| {
            let states = slurm.ask("sinfo -h -N -o %T").stdout_text();
            states.lines().count() == usize::from(NODES) && states.lines().all(|state| state == "idle")
        });
        Some(slurm)
    }

    /// The host that it runs on, which users log in to.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// A bash command run by the user on the host, without ssh.
    #[track_caller]
    pub fn ask(&self, command: &str) -> Output {
        self.host.exec(command)
    }

    /// Where the controller keeps its state, seen from outside: what was ever written there can be searched.
    pub fn state(&self) -> PathBuf {
        self.host.disk().join("var/spool/slurm/state")
    }

    /// Where all that it writes is but for its state: the nodes' spool and all logs, seen from outside.
    pub fn traces(&self) -> [PathBuf; 2] {
        [self.host.disk().join("var/spool/slurm"), self.host.disk().join("var/log")]
    }

    /// Kills the controller, which gets no last word.
    pub fn kill_controller(&self) {
        self.kill(|process| program(process) == "slurmctld");
    }

    /// Starts the controller with the state that was left. It answers soon, not at once.
    #[track_caller]
    pub fn start_controller(&self) {
        self.host.exec_as_superuser("slurmctld").assert_code(0);
    }

    /// Kills the daemon of node `number`, 1 to 3. Its jobs run on.
    pub fn kill_slurmd(&self, number: u8) {
        let name = format!("node{number}");
        self.kill(|process| {
            program(process) == "slurmd" && process.argv.iter().any(|arg| arg.0 == name.as_bytes())
        });
    }

    /// Starts node `number`.
    #[track_caller]
    pub fn start_node(&self, number: u8) {
        self.host.exec_as_superuser(&format!("slurmd -N node{number}")).assert_code(0);
    }

    /// Kills what watches over the jobs of node `number`, and not the jobs: the controller believes that they failed, and they
    /// run on.
    pub fn kill_stepds(&self, number: u8) {
        self.kill(|process| is_stepd(process, number));
    }

    /// Kills node `number` with all its jobs, as a crash of a machine does. The controller believes that they run until it has
    /// missed the node for 15 s; if the node is back before that, it goes on believing it.
    pub fn kill_node(&self, number: u8) {
        self.kill_slurmd(number);
        let all = self.host.processes();
        let mut doomed: Vec<i32> =
            all.iter().filter(|process| is_stepd(process, number)).map(|process| process.pid).collect();
        // Children come after their parents in no order that could be relied on.
        while let Some(child) =
            all.iter().find(|child| doomed.contains(&child.ppid) && !doomed.contains(&child.pid))
        {
            doomed.push(child.pid);
        }
        kill_all(&doomed);
    }

    /// Puts a job into the queue again, as an administrator does.
    #[track_caller]
    pub fn requeue(&self, job: &str) {
        self.host.exec_as_superuser(&format!("scontrol requeue {job}")).assert_code(0);
    }

    /// The state of a job in the controller's words; empty if it does not know the job, or does not answer.
    pub fn job_state(&self, job: &str) -> String {
        self.ask(&format!("squeue -h -t all -j {job} -o %T 2>/dev/null")).stdout_text().trim().to_owned()
    }

    /// Waits until `done` holds; fails the test after a minute.
    #[track_caller]
    pub fn until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !done(self) {
            assert!(Instant::now() < end, "timed out waiting until {what}:\n{}", self.log());
            sleep(Duration::from_millis(20));
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.host.disk().join("var/log/slurm/slurmctld.log")).unwrap_or_default()
    }

    fn kill(&self, chosen: impl Fn(&Process) -> bool) {
        let processes = self.host.processes();
        let chosen: Vec<i32> =
            processes.iter().filter(|process| chosen(process)).map(|process| process.pid).collect();
        kill_all(&chosen);
    }
}

/// Kills processes and waits until they have ended.
fn kill_all(pids: &[i32]) {
    for pid in pids {
        kill(*pid, Signal::KILL);
    }
    let end = Instant::now() + PATIENCE;
    let lives =
        |pid: &i32| u32::try_from(*pid).ok().and_then(procs::one).is_some_and(|process| process.state != 'Z');
    while pids.iter().any(lives) && Instant::now() < end {
        sleep(Duration::from_millis(2));
    }
}

/// The name of a process's program, without directories.
fn program(process: &Process) -> String {
    let first = process.argv.first().map(crate::Bytes::lossy).unwrap_or_default();
    first.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Whether a process watches over a job of node `number`: it writes that node's log.
fn is_stepd(process: &Process, number: u8) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{}/comm", process.pid)).unwrap_or_default();
    let log = format!("slurmd.node{number}.log");
    let files = || std::fs::read_dir(format!("/proc/{}/fd", process.pid)).into_iter().flatten().flatten();
    name.starts_with("slurmstepd")
        && files().any(|file| std::fs::read_link(file.path()).is_ok_and(|path| path.ends_with(&log)))
}
