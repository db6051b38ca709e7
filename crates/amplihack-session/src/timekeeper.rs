//! Deadlines of runs that nobody polls, held by one thread of this process.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use amplihack_sys as sys;
use tokio::net::unix::pipe;

use crate::escalation::{EscalationAction, EscalationInput, EscalationMachine};
use crate::spawner::lock_mutex;
use crate::tree::ProcessTree;

/// Whoever polls the run has this long to see that a deadline passed, before the thread does.
const SLACK: Duration = Duration::from_millis(100);

/// The runs whose time is kept, by when they are looked at next.
static KEPT: Mutex<KeptRuns> = Mutex::new(KeptRuns { by_time: BTreeMap::new(), has_thread: false });
static CHANGED: Condvar = Condvar::new();

struct KeptRuns {
    by_time: BTreeMap<(Instant, u64), Weak<Mutex<RunCore>>>,
    has_thread: bool,
}

/// Part of a run that its owner shares with the thread: what is decided, and whom it is done to.
pub(crate) struct RunCore {
    pub(crate) machine: EscalationMachine,
    /// `None` once the run is over.
    pub(crate) tree: Option<ProcessTree>,
    /// Standard output, as long as it is open: what waits in it is no silence.
    stdout: Weak<pipe::Receiver>,
    /// Entry of the run among those whose time is kept.
    kept: Option<(Instant, u64)>,
}

/// The owner's hold on a run's core. Dropping it ends the run, whatever the thread does just now.
pub(crate) struct CoreHandle {
    core: Arc<Mutex<RunCore>>,
    /// Key of the run for the thread; `None`: the owner alone keeps the time.
    id: Option<u64>,
}

impl CoreHandle {
    pub(crate) fn new(
        machine: EscalationMachine,
        tree: ProcessTree,
        stdout: Weak<pipe::Receiver>,
        is_kept: bool,
    ) -> io::Result<Self> {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let core = RunCore { machine, tree: Some(tree), stdout, kept: None };
        let id = is_kept.then(|| RUNS.fetch_add(1, Ordering::Relaxed));
        let handle = Self { core: Arc::new(Mutex::new(core)), id };
        if is_kept {
            ensure_thread()?;
            handle.keep_time();
        }
        Ok(handle)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, RunCore> {
        lock_mutex(&self.core)
    }

    /// Tells the thread that the time may have become shorter.
    pub(crate) fn keep_time(&self) {
        if let Some(id) = self.id {
            schedule(&mut self.lock(), id, &Arc::downgrade(&self.core));
        }
    }
}

impl Drop for CoreHandle {
    fn drop(&mut self) {
        let mut core = self.lock();
        if let Some(entry) = core.kept.take() {
            lock_mutex(&KEPT).by_time.remove(&entry);
        }
        drop(core.tree.take());
    }
}

/// Sets when the thread looks at the run next.
fn schedule(core: &mut RunCore, id: u64, weak: &Weak<Mutex<RunCore>>) {
    let wake = core.machine.next_wake().filter(|_| core.tree.is_some() && core.machine.may_be_ended());
    let entry = wake.and_then(|at| at.checked_add(SLACK)).map(|at| (at, id));
    // A later time is found when the earlier one has come: most outputs only move it on.
    if matches!((entry, core.kept), (Some(new), Some(old)) if old <= new) {
        return;
    }
    let mut kept = lock_mutex(&KEPT);
    if let Some(old) = core.kept.take() {
        kept.by_time.remove(&old);
    }
    if let Some(entry) = entry {
        core.kept = Some(entry);
        kept.by_time.insert(entry, weak.clone());
        CHANGED.notify_one();
    }
}

fn ensure_thread() -> io::Result<()> {
    let mut kept = lock_mutex(&KEPT);
    if !kept.has_thread {
        std::thread::Builder::new().name("amplihack-deadlines".to_owned()).spawn(keep_time)?;
        kept.has_thread = true;
    }
    Ok(())
}

/// The thread: it waits for the next time, and ends the runs that nobody ended at theirs.
fn keep_time() {
    loop {
        let (id, run) = next_due();
        if let Some(run) = run.upgrade() {
            let mut core = lock_mutex(&run);
            core.kept = None;
            if core.pass_time(Instant::now()) {
                schedule(&mut core, id, &Arc::downgrade(&run));
            }
        }
    }
}

fn next_due() -> (u64, Weak<Mutex<RunCore>>) {
    let mut kept = lock_mutex(&KEPT);
    loop {
        let now = Instant::now();
        let wait = kept.by_time.first_key_value().map(|((at, _), _)| at.saturating_duration_since(now));
        kept = match wait {
            Some(Duration::ZERO) => {
                if let Some(((_, id), run)) = kept.by_time.pop_first() {
                    return (id, run);
                }
                kept
            }
            Some(wait) => {
                CHANGED.wait_timeout(kept, wait).map_or_else(|error| error.into_inner().0, |woken| woken.0)
            }
            None => CHANGED.wait(kept).unwrap_or_else(std::sync::PoisonError::into_inner),
        };
    }
}

impl RunCore {
    /// Does what has been due for a while, in the owner's place. The run's last step is left to the owner, who alone learns of its end: false
    /// if nothing but that is to be done.
    fn pass_time(&mut self, now: Instant) -> bool {
        let is_late = |at: Instant| at.checked_add(SLACK).is_some_and(|at| at <= now);
        let Some(tree) = self.tree.as_mut().filter(|_| self.machine.may_be_ended()) else { return false };
        if !self.machine.next_wake().is_some_and(is_late) {
            return true;
        }
        let child_ended = tree.owned_child().is_none_or(|kid| sys::living_process(kid.pid).is_none());
        let unread = self
            .stdout
            .upgrade()
            .is_some_and(|pipe| rustix::io::ioctl_fionread(pipe.as_ref()).is_ok_and(|bytes| bytes > 0));
        if self.machine.is_running() && child_ended {
            return false;
        }
        if unread {
            drop(self.machine.take_input(now, EscalationInput::Output));
        }
        for action in self.machine.take_input(now, EscalationInput::Tick) {
            if let EscalationAction::Send(target, signal) = action {
                tracing::debug!(?target, ?signal, "ending a run that nobody polls");
                if let Err(error) = tree.send(target, signal) {
                    tracing::warn!(%error, "cannot see all processes of a run that nobody polls");
                }
            }
        }
        true
    }
}
