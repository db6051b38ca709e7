//! The threads that spawn, and the register of the children that have an owner.
//!
//! A death signal follows the *thread* that spawned, so that thread must not end before the process does: it is the main
//! thread, or one that is there for it. And only one place knows every child: a reaper of orphans must never take the
//! status of a child that somebody waits for.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use amplihack_sys::{self as sys, ChildOptions, PreparedKeeper, ProgramSurroundings, Signal};
use tokio::sync::oneshot;

use crate::child_stream::{ChildPipes, ChildStream, open_streams};

/// Work for a thread that never ends. It must not panic: the thread would end with it.
type ThreadJob = Box<dyn FnOnce() + Send>;

static SPAWNER: Mutex<Option<mpsc::Sender<ThreadJob>>> = Mutex::new(None);
static REAPER: Mutex<Option<mpsc::Sender<ThreadJob>>> = Mutex::new(None);
/// Children that were spawned here and are not reaped yet. Locked while a child is spawned.
static OWNED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

pub(crate) fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives `job` to the thread behind `worker`, which is started if it does not run yet.
fn submit_job(worker: &Mutex<Option<mpsc::Sender<ThreadJob>>>, name: &str, job: ThreadJob) -> io::Result<()> {
    let mut worker = lock_mutex(worker);
    if worker.is_none() {
        let (sender, jobs) = mpsc::channel::<ThreadJob>();
        thread::Builder::new().name(format!("amplihack-{name}")).spawn(move || {
            for job in jobs {
                job();
            }
        })?;
        *worker = Some(sender);
    }
    match worker.as_ref().map(|jobs| jobs.send(job)) {
        Some(Ok(())) => Ok(()),
        _ => Err(io::Error::other(format!("the {name} thread has ended"))),
    }
}

/// The children that were spawned here and are not reaped yet.
pub(crate) fn owned_children() -> BTreeSet<u32> {
    lock_mutex(&OWNED).clone()
}

/// Reaps children that have ended and are nobody's: orphans that this process inherited.
///
/// Stops at the first that has an owner. What waits behind it is reaped when the next child ends, or with its run.
pub(crate) fn reap_orphans() {
    let owned = lock_mutex(&OWNED);
    while let Some(pid) = sys::ended_child() {
        if owned.contains(&pid) || !sys::reap_orphan(pid) {
            break;
        }
    }
}

/// Reaps `pid`, an orphan that this process inherited and that has ended.
pub(crate) fn reap_orphan(pid: u32) {
    let owned = lock_mutex(&OWNED);
    if !owned.contains(&pid) {
        sys::reap_orphan(pid);
    }
}

/// A child that is not reaped yet: its id, and the group that it may lead, are its own. Dropping it ends and reaps it.
pub(crate) struct OwnedChild {
    child: Option<SpawnedChild>,
    /// Dropped once the child is reaped.
    keep: Option<Box<dyn Send>>,
    pub(crate) pid: u32,
    /// Not asked for a keeper.
    pub(crate) start_time: u64,
    pub(crate) leads_group: bool,
    /// Signal that the child gets when it is dropped: SIGKILL, unless it ends its own tree on something gentler.
    on_drop: Signal,
}

/// Child as it was spawned: a program, one that began as a copy of this process, or a keeper.
enum SpawnedChild {
    Program(sys::StartedProgram),
    Copy(Child),
    Keeper(sys::StepKeeper),
}

impl SpawnedChild {
    fn id(&self) -> u32 {
        match self {
            Self::Program(program) => program.id(),
            Self::Copy(child) => child.id(),
            Self::Keeper(keeper) => keeper.id(),
        }
    }

    fn wait(self) -> io::Result<()> {
        match self {
            Self::Program(program) => program.wait(),
            Self::Copy(mut child) => child.wait().map(drop),
            Self::Keeper(keeper) => keeper.wait(),
        }
    }
}

/// A child that is to be spawned.
pub(crate) struct ChildStart {
    pub(crate) command: Command,
    /// The command's variables are all that the child gets.
    pub(crate) clean_environment: bool,
    pub(crate) streams: [ChildStream; 3],
    /// The child leads a process group of its own.
    pub(crate) leads_group: bool,
    /// Lives until the child is reaped.
    pub(crate) keep: Box<dyn Send>,
    /// The child is written down here before it is the program.
    pub(crate) record: Option<File>,
}

/// Spawns a child from a thread that never ends, with default signals and a death signal.
pub(crate) async fn spawn_child(start: ChildStart) -> io::Result<(OwnedChild, ChildPipes)> {
    from_a_lasting_thread(move || start.spawn_here()).await
}

/// Starts a keeper from a thread that never ends. What it tells is read from the descriptor.
pub(crate) async fn spawn_keeper(keeper: PreparedKeeper) -> io::Result<(OwnedChild, OwnedFd)> {
    from_a_lasting_thread(move || {
        let mut owned = lock_mutex(&OWNED);
        let (keeper, told) = keeper.start_keeper()?;
        let pid = keeper.id();
        owned.insert(pid);
        let child = Some(SpawnedChild::Keeper(keeper));
        // It may not lead its group yet, and SIGKILL would end the keeper and nothing else.
        let kid =
            OwnedChild { child, keep: None, pid, start_time: 0, leads_group: false, on_drop: Signal::TERM };
        Ok((kid, told))
    })
    .await
}

async fn from_a_lasting_thread<T: Send + 'static>(
    job: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    if sys::is_main_thread() {
        // Saves a thread, which costs as much as the spawning.
        return job();
    }
    let (reply, answer) = oneshot::channel();
    // A run that was dropped meanwhile does not take its child: dropping the child ends it.
    submit_job(&SPAWNER, "spawner", Box::new(move || drop(reply.send(job()))))?;
    answer.await.map_err(|_| io::Error::other("the spawner thread has ended"))?
}

impl ChildStart {
    fn spawn_here(self) -> io::Result<(OwnedChild, ChildPipes)> {
        let Self { mut command, clean_environment, streams, leads_group, keep, record } = self;
        let options = ChildOptions { group: leads_group, death_signal: true };
        let mut owned = lock_mutex(&OWNED);
        let (child, pipes) = if clean_environment && sys::can_start_program(&command) {
            let (streams, pipes) = open_streams(streams)?;
            let surroundings = ProgramSurroundings { streams, options, record };
            (SpawnedChild::Program(sys::start_program(&command, &surroundings)?), pipes)
        } else {
            let [stdin, stdout, stderr] = streams.map(ChildStream::into_stdio);
            command.stdin(stdin).stdout(stdout).stderr(stderr);
            sys::prepare_child(&mut command, options);
            if let Some(record) = record {
                sys::record_child(&mut command, record);
            }
            let mut child = command.spawn()?;
            let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            (SpawnedChild::Copy(child), pipes)
        };
        let pid = child.id();
        owned.insert(pid);
        drop(owned);
        // The child cannot be gone: nobody but its owner reaps it.
        let start_time = sys::start_time(pid).unwrap_or_default();
        let keep = Some(keep).filter(|_| !amplihack_sys::sabotage::is_active("delivery-handle-lifetime"));
        let child = Some(child);
        Ok((OwnedChild { child, keep, pid, start_time, leads_group, on_drop: Signal::KILL }, pipes))
    }
}

impl OwnedChild {
    /// Sends `signal` to the child's group if it leads one, else to the child.
    pub(crate) fn signal_group(&self, signal: Signal) -> io::Result<()> {
        if self.leads_group {
            sys::send_to_group(self.pid, signal)
        } else {
            sys::send_to_process(self.pid, signal)
        }
    }

    /// Waits for the child, which is known to have ended or to be about to.
    pub(crate) fn reap_child(mut self) {
        if let Some(child) = self.child.take() {
            reap_spawned(child, self.pid, self.keep.take());
        }
    }
}

impl Drop for OwnedChild {
    fn drop(&mut self) {
        let Some(child) = self.child.take() else { return };
        if let Err(error) = self.signal_group(self.on_drop) {
            tracing::warn!(pid = self.pid, %error, "cannot kill the child of a dropped run");
        }
        let (pid, keep) = (self.pid, self.keep.take());
        run_later(Box::new(move || reap_spawned(child, pid, keep)));
    }
}

fn reap_spawned(child: SpawnedChild, pid: u32, keep: Option<Box<dyn Send>>) {
    if let Err(error) = child.wait() {
        tracing::warn!(pid, %error, "cannot reap a child");
    }
    lock_mutex(&OWNED).remove(&pid);
    drop(keep);
}

/// Does what may block a little on a thread that is there for it.
pub(crate) fn run_later(job: ThreadJob) {
    if let Err(error) = submit_job(&REAPER, "reaper", job) {
        tracing::warn!(%error, "an ended child stays unreaped");
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::{ChildStart, ChildStream, OwnedChild, owned_children, spawn_child};
    use amplihack_sys as sys;

    /// The two ways in which a child is made.
    const WAYS: [bool; 2] = [false, true];

    async fn spawned(words: &[&str], clean_environment: bool) -> std::io::Result<OwnedChild> {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env_clear().env("PATH", "/usr/bin:/bin");
        let start = ChildStart {
            command,
            clean_environment,
            streams: [ChildStream::Null, ChildStream::Inherit, ChildStream::Inherit],
            leads_group: true,
            keep: Box::new(()),
            record: None,
        };
        Ok(spawn_child(start).await?.0)
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    #[test]
    fn a_child_is_in_the_register_until_it_is_reaped() {
        for way in WAYS {
            let kid = block_on(spawned(&["true"], way)).unwrap();
            let pid = kid.pid;
            assert!(owned_children().contains(&pid));
            kid.reap_child();
            assert!(!owned_children().contains(&pid));
        }
    }

    #[test]
    fn all_children_have_the_same_spawning_thread_and_outlive_the_asking_one() {
        for way in WAYS {
            let kid =
                std::thread::spawn(move || block_on(spawned(&["sleep", "30"], way))).join().unwrap().unwrap();
            std::thread::sleep(Duration::from_millis(50));
            assert!(
                sys::process_alive(kid.pid, kid.start_time),
                "the death signal followed the wrong thread"
            );
        }
    }

    #[test]
    fn a_dropped_child_is_killed_and_reaped() {
        for way in WAYS {
            let kid = block_on(spawned(&["sleep", "30"], way)).unwrap();
            let pid = kid.pid;
            let asked = Instant::now();
            drop(kid);
            while owned_children().contains(&pid) {
                assert!(asked.elapsed() < Duration::from_secs(20));
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(sys::start_time(pid), None);
        }
    }

    #[test]
    fn a_missing_program_is_an_error_and_the_thread_goes_on() {
        for way in WAYS {
            assert!(block_on(spawned(&["/nonexistent/program"], way)).is_err());
            block_on(spawned(&["true"], way)).unwrap().reap_child();
        }
    }
}
