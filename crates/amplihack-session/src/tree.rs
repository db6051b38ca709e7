//! Which processes are a run's, and signals to them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use amplihack_utils::sys::{self, Proc, Signal};
use rustix::io::Errno;

use crate::escalation::Target;
use crate::spawner::{self, Kid};
use crate::spec::{SESSION_ID, Terminal};

/// Runs of this process that have not ended. An orphan of nobody else is the only run's.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// How often, and after what pauses, a dropped run's processes are killed before the rest is given up.
const KILL_ROUNDS: u32 = 80;
const KILL_PAUSE: Duration = Duration::from_millis(25);

/// How a process of a run is known.
struct Scope<'a> {
    /// This process.
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
    /// Whether a process carries the run's session id.
    tagged: &'a dyn Fn(u32) -> bool,
}

/// The processes of `table` that are the run's and alive, without its child.
///
/// They are the child's group, whoever carries its session id, whoever was known before, inherited orphans if the run
/// adopts them, and all descendants of these and of the child. Nothing that is older than the child, and nothing
/// in another run's group or below it.
fn members<'a>(table: &'a [Proc], scope: &Scope<'_>) -> Vec<&'a Proc> {
    let mut children: BTreeMap<u32, Vec<&Proc>> = BTreeMap::new();
    for proc in table {
        children.entry(proc.ppid).or_default().push(proc);
    }
    let of_others = |pid: u32| pid != scope.child && scope.others.contains(&pid);
    let foreign_roots = table.iter().filter(|proc| of_others(proc.pid) || of_others(proc.pgid));
    let foreign = below(&children, foreign_roots.map(|proc| proc.pid), &|_| true);
    let possible = |proc: &Proc| {
        proc.pid != scope.own && proc.start_time >= scope.child_start && !foreign.contains(&proc.pid)
    };
    let is_root = |proc: &&Proc| {
        proc.pid == scope.child
            || possible(proc)
                && (scope.group == Some(proc.pgid)
                    || scope.known.contains_key(&(proc.pid, proc.start_time))
                    || (scope.adopts && proc.ppid == scope.own)
                    || (scope.tagged)(proc.pid))
    };
    let found = below(&children, table.iter().filter(is_root).map(|proc| proc.pid), &possible);
    table.iter().filter(|proc| found.contains(&proc.pid) && proc.pid != scope.child && !proc.dead).collect()
}

/// `roots` and all their descendants that `may` be entered.
fn below(
    children: &BTreeMap<u32, Vec<&Proc>>,
    roots: impl Iterator<Item = u32>,
    may: &dyn Fn(&Proc) -> bool,
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
pub(crate) struct Members {
    pub(crate) processes: Vec<Proc>,
    pub(crate) ends: Vec<OwnedFd>,
}

impl Members {
    /// Opens a descriptor of each of `processes` that is still there.
    fn open(processes: Vec<Proc>) -> io::Result<Self> {
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
struct Counted;

impl Counted {
    fn new() -> Self {
        RUNS.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        RUNS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A run's processes: the child, and whatever came of it.
struct Family {
    kid: Kid,
    /// `AMPLIHACK_SESSION_ID=<tag>`, or empty.
    tag: Vec<u8>,
    subreaper: bool,
    /// Every process that was seen in this run, with the last signal it was sent.
    known: BTreeMap<(u32, u64), Option<Signal>>,
    /// The last signal that the child was sent as part of its tree.
    child_sent: Option<Signal>,
    _counted: Counted,
}

impl Family {
    fn new(kid: Kid, tag: &str, subreaper: bool) -> Self {
        let tag = if tag.is_empty() { Vec::new() } else { format!("{SESSION_ID}={tag}").into_bytes() };
        Self { kid, tag, subreaper, known: BTreeMap::new(), child_sent: None, _counted: Counted::new() }
    }

    /// Whether the child has ended and nothing that came of it is left, told without a look at every process.
    ///
    /// Only for a subreaper: the child's orphans are this process's children then, whatever they did to hide.
    fn is_extinct(&self) -> bool {
        // Until it is reaped, the child itself is among them, so an empty list would be no answer.
        sys::living(self.kid.pid).is_none() && sys::children().is_some_and(|left| left == [self.kid.pid])
    }

    /// The run's living processes without its child, as of now. Reaps inherited orphans that have ended.
    fn members(&mut self) -> io::Result<Members> {
        if self.subreaper && self.is_extinct() {
            return Ok(Members::default());
        }
        let table = sys::processes()?;
        // Read after the table: whoever is in the table and was spawned here is in the register by now.
        let others = spawner::owned();
        let own = std::process::id();
        for orphan in table.iter().filter(|proc| self.subreaper && proc.dead && proc.ppid == own) {
            spawner::reap_orphan(orphan.pid);
        }
        let scope = Scope {
            own,
            child: self.kid.pid,
            child_start: self.kid.start_time,
            group: self.kid.leads_group.then_some(self.kid.pid),
            others: &others,
            adopts: self.subreaper && RUNS.load(Ordering::Relaxed) == 1,
            known: &self.known,
            tagged: &|pid| !self.tag.is_empty() && sys::environ_has(pid, &self.tag),
        };
        let members: Vec<Proc> = members(&table, &scope).into_iter().cloned().collect();
        for proc in &members {
            self.known.entry((proc.pid, proc.start_time)).or_default();
        }
        Members::open(members)
    }

    /// Sends `signal` to `target`. For a tree, returns its living members and how to see their end.
    ///
    /// In a tree no process gets the same signal twice running, except for SIGKILL. Stopped ones are continued, since
    /// they would not see the signal.
    fn send(&mut self, target: Target, signal: Signal) -> io::Result<Members> {
        let pid = self.kid.pid;
        let sent = match target {
            Target::Child => sys::send_to_process(pid, signal),
            Target::Group => self.kid.signal_group(signal),
            // At once for the whole group: nobody in it can fork away between two signals.
            Target::Tree if signal == Signal::KILL => self.kid.signal_group(signal),
            Target::Tree if self.child_sent.replace(signal) == Some(signal) => Ok(()),
            Target::Tree => {
                sys::send_to_process(pid, signal).and_then(|()| sys::send_to_process(pid, Signal::CONT))
            }
        };
        if let Err(error) = sent {
            tracing::warn!(pid, ?signal, %error, "a signal to the run failed");
        }
        if target == Target::Tree { self.send_members(signal) } else { Ok(Members::default()) }
    }

    fn send_members(&mut self, signal: Signal) -> io::Result<Members> {
        let members = self.members()?;
        for (proc, pidfd) in members.processes.iter().zip(&members.ends) {
            let last = self.known.entry((proc.pid, proc.start_time)).or_default();
            if *last == Some(signal) && signal != Signal::KILL {
                continue;
            }
            *last = Some(signal);
            if let Err(error) = sys::send(pidfd, signal).and_then(|()| sys::send(pidfd, Signal::CONT)) {
                tracing::warn!(pid = proc.pid, name = proc.name, %error, "a process of the run cannot be signalled");
            }
        }
        Ok(members)
    }

    /// Kills all there is, at once and without waiting; what that leaves is ended and reaped by a thread of its own.
    fn kill(mut self) {
        let shown = self.send(Target::Tree, Signal::KILL);
        if let Err(error) = shown {
            tracing::warn!(%error, "cannot see all processes of a dropped run");
        }
        spawner::later(Box::new(move || {
            for _ in 0..KILL_ROUNDS {
                if self.send(Target::Tree, Signal::KILL).is_ok_and(|left| left.processes.is_empty()) {
                    break;
                }
                std::thread::sleep(KILL_PAUSE);
            }
            self.kid.reap();
        }));
    }
}

/// The owner of a run's processes. Dropping it kills them: all of a headless run, of an interactive one the child.
pub(crate) struct Tree {
    /// `None` once the child is reaped.
    family: Option<Family>,
    terminal: Terminal,
}

impl Tree {
    pub(crate) fn new(kid: Kid, tag: &str, terminal: Terminal, subreaper: bool) -> Self {
        Self { family: Some(Family::new(kid, tag, subreaper)), terminal }
    }

    /// The child, for its id and start time.
    pub(crate) fn kid(&self) -> Option<&Kid> {
        self.family.as_ref().map(|family| &family.kid)
    }

    /// The run's living processes without its child.
    pub(crate) fn members(&mut self) -> io::Result<Members> {
        self.family.as_mut().map_or_else(|| Ok(Members::default()), Family::members)
    }

    /// Sends `signal` to `target`. For a tree, returns its living members.
    pub(crate) fn send(&mut self, target: Target, signal: Signal) -> io::Result<Members> {
        self.family.as_mut().map_or_else(|| Ok(Members::default()), |family| family.send(target, signal))
    }

    /// Reaps the child, which has ended.
    pub(crate) fn reap(mut self) {
        if let Some(family) = self.family.take() {
            family.kid.reap();
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        match self.family.take() {
            Some(family) if self.terminal == Terminal::Detached => family.kill(),
            // The child kills itself when dropped; what it left in the background is left alone.
            family => drop(family),
        }
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
