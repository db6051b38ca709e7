//! Membership of processes in a run's tree, and signals to them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use amplihack_sys::{self as sys, ProcessEntry, Signal};
use rustix::io::Errno;

use crate::escalation::SignalTarget;
use crate::spawner::{self, OwnedChild};
use crate::spec::{SESSION_ID, TerminalMode};

/// Runs of this process that have not ended. An orphan of nobody else is the only run's.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Number of rounds, and the pause between them, in which a dropped run's processes are killed before the rest is given up.
const KILL_ROUNDS: u32 = 80;
const KILL_PAUSE: Duration = Duration::from_millis(25);

/// Marks by which a process is known as one of a run.
struct MembershipScope<'a> {
    /// Process id of this process.
    own: u32,
    /// The run's child.
    child: u32,
    child_start: u64,
    /// The child's group, if it leads one.
    group: Option<u32>,
    /// Children of this process that belong to other runs.
    others: &'a BTreeSet<u32>,
    /// Orphans that this process inherited are the run's.
    adopts: bool,
    /// Processes that were the run's before, by id and start time.
    known: &'a BTreeMap<(u32, u64), Option<Signal>>,
    /// Test for a process that carries the run's session id.
    tagged: &'a dyn Fn(u32) -> bool,
}

/// The processes of `table` that are the run's and alive, without its child.
///
/// They are the child's group, whoever carries its session id, whoever was known before, inherited orphans if the run
/// adopts them, and all descendants of these and of the child. Nothing that is older than the child, and nothing
/// in another run's group or below it.
fn find_members<'a>(table: &'a [ProcessEntry], scope: &MembershipScope<'_>) -> Vec<&'a ProcessEntry> {
    let mut children: BTreeMap<u32, Vec<&ProcessEntry>> = BTreeMap::new();
    for proc in table {
        children.entry(proc.ppid).or_default().push(proc);
    }
    let of_others = |pid: u32| pid != scope.child && scope.others.contains(&pid);
    let foreign_roots = table.iter().filter(|proc| of_others(proc.pid) || of_others(proc.pgid));
    let foreign = descendants_of(&children, foreign_roots.map(|proc| proc.pid), &|_| true);
    let possible = |proc: &ProcessEntry| {
        proc.pid != scope.own && proc.start_time >= scope.child_start && !foreign.contains(&proc.pid)
    };
    let is_root = |proc: &&ProcessEntry| {
        proc.pid == scope.child
            || possible(proc)
                && (scope.group == Some(proc.pgid)
                    || scope.known.contains_key(&(proc.pid, proc.start_time))
                    || (scope.adopts && proc.ppid == scope.own)
                    || (scope.tagged)(proc.pid))
    };
    let found = descendants_of(&children, table.iter().filter(is_root).map(|proc| proc.pid), &possible);
    table.iter().filter(|proc| found.contains(&proc.pid) && proc.pid != scope.child && !proc.dead).collect()
}

/// `roots` and all their descendants that `may` be entered.
fn descendants_of(
    children: &BTreeMap<u32, Vec<&ProcessEntry>>,
    roots: impl Iterator<Item = u32>,
    may: &dyn Fn(&ProcessEntry) -> bool,
) -> BTreeSet<u32> {
    let mut open: Vec<u32> = roots.collect();
    let mut found = BTreeSet::new();
    while let Some(pid) = open.pop() {
        if found.insert(pid) {
            let next = children.get(&pid).into_iter().flatten().filter(|proc| may(proc));
            open.extend(next.map(|proc| proc.pid));
        }
    }
    found
}

/// Processes that were alive when they were looked at, and descriptors to see their ends by.
#[derive(Default)]
pub(crate) struct TreeMembers {
    pub(crate) processes: Vec<ProcessEntry>,
    pub(crate) ends: Vec<OwnedFd>,
}

impl TreeMembers {
    /// Opens a descriptor of each of `processes` that is still there.
    fn open(processes: Vec<ProcessEntry>) -> io::Result<Self> {
        let mut members = Self::default();
        for proc in processes {
            match sys::open_pidfd(proc.pid, proc.start_time) {
                Ok(pidfd) => {
                    members.processes.push(proc);
                    members.ends.push(pidfd);
                }
                Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(members)
    }
}

/// Counts a run as long as it lives.
struct RunCounter;

impl RunCounter {
    fn new() -> Self {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for RunCounter {
    fn drop(&mut self) {
        RUNS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A run's processes: the child, and whatever came of it.
struct ProcessFamily {
    kid: OwnedChild,
    /// `AMPLIHACK_SESSION_ID=<tag>`, or empty.
    tag: Vec<u8>,
    subreaper: bool,
    /// Every process that was seen in this run, with the last signal it was sent.
    known: BTreeMap<(u32, u64), Option<Signal>>,
    /// The last signal that the child was sent as part of its tree.
    child_sent: Option<Signal>,
    _counted: RunCounter,
}

impl ProcessFamily {
    fn new(kid: OwnedChild, tag: &str, subreaper: bool) -> Self {
        let tag = if tag.is_empty() { Vec::new() } else { format!("{SESSION_ID}={tag}").into_bytes() };
        Self { kid, tag, subreaper, known: BTreeMap::new(), child_sent: None, _counted: RunCounter::new() }
    }

    /// Reports whether the child has ended and nothing that came of it is left, told without a look at every process.
    ///
    /// Only for a subreaper: the child's orphans are this process's children then, whatever they did to hide.
    fn is_extinct(&self) -> bool {
        // Until it is reaped, the child itself is among them, so an empty list would be no answer.
        sys::living_process(self.kid.pid).is_none()
            && sys::list_children().is_some_and(|left| left == [self.kid.pid])
    }

    /// The run's living processes without its child, as of now. Reaps inherited orphans that have ended.
    fn living_members(&mut self) -> io::Result<TreeMembers> {
        if self.subreaper && self.is_extinct() {
            return Ok(TreeMembers::default());
        }
        let table = sys::list_processes()?;
        // Read after the table: whoever is in the table and was spawned here is in the register by now.
        let others = spawner::owned_children();
        let own = std::process::id();
        for orphan in table.iter().filter(|proc| self.subreaper && proc.dead && proc.ppid == own) {
            spawner::reap_orphan(orphan.pid);
        }
        let scope = MembershipScope {
            own,
            child: self.kid.pid,
            child_start: self.kid.start_time,
            group: self.kid.leads_group.then_some(self.kid.pid),
            others: &others,
            adopts: self.subreaper && RUNS.load(Ordering::Relaxed) == 1,
            known: &self.known,
            tagged: &|pid| !self.tag.is_empty() && sys::environ_has(pid, &self.tag),
        };
        let members: Vec<ProcessEntry> = find_members(&table, &scope).into_iter().cloned().collect();
        for proc in &members {
            self.known.entry((proc.pid, proc.start_time)).or_default();
        }
        TreeMembers::open(members)
    }

    /// Sends `signal` to `target`. For a tree, returns its living members and how to see their end.
    ///
    /// In a tree no process gets the same signal twice running, except for SIGKILL. Stopped ones are continued, since
    /// they would not see the signal.
    fn send(&mut self, target: SignalTarget, signal: Signal) -> io::Result<TreeMembers> {
        let pid = self.kid.pid;
        let sent = match target {
            SignalTarget::Child => sys::send_to_process(pid, signal),
            SignalTarget::Group => self.kid.signal_group(signal),
            // At once for the whole group: nobody in it can fork away between two signals.
            SignalTarget::Tree if signal == Signal::KILL => self.kid.signal_group(signal),
            SignalTarget::Tree if self.child_sent.replace(signal) == Some(signal) => Ok(()),
            SignalTarget::Tree => {
                sys::send_to_process(pid, signal).and_then(|()| sys::send_to_process(pid, Signal::CONT))
            }
        };
        if let Err(error) = sent {
            tracing::warn!(pid, ?signal, %error, "a signal to the run failed");
        }
        if target == SignalTarget::Tree { self.send_members(signal) } else { Ok(TreeMembers::default()) }
    }

    fn send_members(&mut self, signal: Signal) -> io::Result<TreeMembers> {
        let members = self.living_members()?;
        for (proc, pidfd) in members.processes.iter().zip(&members.ends) {
            let last = self.known.entry((proc.pid, proc.start_time)).or_default();
            if *last == Some(signal) && signal != Signal::KILL {
                continue;
            }
            *last = Some(signal);
            if let Err(error) =
                sys::send_signal(pidfd, signal).and_then(|()| sys::send_signal(pidfd, Signal::CONT))
            {
                tracing::warn!(pid = proc.pid, name = proc.name, %error, "a process of the run cannot be signalled");
            }
        }
        Ok(members)
    }

    /// Kills all there is, at once and without waiting; what that leaves is ended and reaped by a thread of its own.
    fn kill(mut self) {
        let shown = self.send(SignalTarget::Tree, Signal::KILL);
        if let Err(error) = shown {
            tracing::warn!(%error, "cannot see all processes of a dropped run");
        }
        spawner::run_later(Box::new(move || {
            for _ in 0..KILL_ROUNDS {
                if self.send(SignalTarget::Tree, Signal::KILL).is_ok_and(|left| left.processes.is_empty()) {
                    break;
                }
                std::thread::sleep(KILL_PAUSE);
            }
            self.kid.reap_child();
        }));
    }
}

/// The owner of a run's processes. Dropping it kills them: all of a headless run, of an interactive one the child.
pub(crate) struct ProcessTree {
    /// `None` once the child is reaped.
    family: Option<ProcessFamily>,
    terminal: TerminalMode,
}

impl ProcessTree {
    pub(crate) fn new(kid: OwnedChild, tag: &str, terminal: TerminalMode, subreaper: bool) -> Self {
        Self { family: Some(ProcessFamily::new(kid, tag, subreaper)), terminal }
    }

    /// The child, for its id and start time.
    pub(crate) fn owned_child(&self) -> Option<&OwnedChild> {
        self.family.as_ref().map(|family| &family.kid)
    }

    /// The run's living processes without its child.
    pub(crate) fn living_members(&mut self) -> io::Result<TreeMembers> {
        self.family.as_mut().map_or_else(|| Ok(TreeMembers::default()), ProcessFamily::living_members)
    }

    /// Sends `signal` to `target`. For a tree, returns its living members.
    pub(crate) fn send(&mut self, target: SignalTarget, signal: Signal) -> io::Result<TreeMembers> {
        self.family.as_mut().map_or_else(|| Ok(TreeMembers::default()), |family| family.send(target, signal))
    }

    /// Reaps the child, which has ended.
    pub(crate) fn reap_child(mut self) {
        if let Some(family) = self.family.take() {
            family.kid.reap_child();
        }
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        match self.family.take() {
            Some(family) if self.terminal == TerminalMode::Detached => family.kill(),
            // The child kills itself when dropped; what it left in the background is left alone.
            family => drop(family),
        }
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
