//! The run itself: the thin shell that carries out what the state machine decides.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use amplihack_utils::sys::{self, Exit, SavedTerminal, Signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::error::RunError;
use crate::escalation::{Action, Escalation, Graces, Input as Told, Target};
use crate::output::{Captured, Process, ProcessOutput};
use crate::pipes::{Feed, Tap};
use crate::run_end::RunEnd;
use crate::signals::{Listener, Notice};
use crate::spawner::{self, Leads};
use crate::spec::{Deadlines, Input, Output, RunSpec, Terminal};
use crate::tree::{Members, Tree};

/// A child that runs, with all that comes of it. Dropping it kills them.
///
/// Needs a tokio runtime with I/O and time enabled; a current-thread one is enough, and no task is spawned on it.
pub struct AgentRun {
    program: OsString,
    tree: Tree,
    child: AsyncFd<OwnedFd>,
    machine: Escalation,
    terminal: Terminal,
    subreaper: bool,
    feed: Feed,
    stdout: Tap,
    stderr: Tap,
    listener: Listener,
    saved: Option<SavedTerminal>,
    exit: Option<Exit>,
    /// Members whose ends are waited for before they are counted again.
    watched: Option<Vec<AsyncFd<OwnedFd>>>,
    /// How many members there were when they were last counted.
    members: Option<usize>,
    /// Those that were alive when they were last looked at.
    seen: Vec<Process>,
    background: Vec<Process>,
}

/// Starts a run and waits for its end.
pub async fn run_to_end(spec: RunSpec) -> Result<ProcessOutput, RunError> {
    AgentRun::start(spec).await?.wait().await
}

/// What the run waits for.
enum Event {
    Exited(Exit),
    Fed,
    Output { some: bool },
    Noticed(Notice),
    MembersEnded,
    Woke,
}

impl AgentRun {
    /// Starts the run. Nothing is left running if that fails, or if the future is dropped.
    pub async fn start(mut spec: RunSpec) -> Result<Self, RunError> {
        let program = spec.command.get_program().to_os_string();
        spec.wire();
        let listens = spec.listens();
        if spec.subreaper {
            sys::become_subreaper().map_err(RunError::watch(&program, "become its orphans' parent"))?;
        }
        // Before the child is there, so that no signal finds this process without it.
        let listener = listen(&spec).map_err(RunError::watch(&program, "listen to signals"))?;
        let saved = (spec.terminal == Terminal::Owned).then(SavedTerminal::save).flatten();

        let leads = match spec.terminal {
            Terminal::Owned => Leads::Nothing,
            Terminal::Detached if spec.session => Leads::Session,
            Terminal::Detached => Leads::Group,
        };
        let (kid, (stdin, stdout, stderr)) = spawner::spawn(spec.command, leads, spec.keep, spec.record)
            .await
            .map_err(|source| RunError::Spawn { program: program.clone(), source })?;
        let pidfd = sys::open_pidfd(kid.pid, kid.start_time);
        // From here on, an early return kills.
        let tree = Tree::new(kid, &spec.tag, spec.terminal, spec.subreaper);
        let child = pidfd.and_then(watch).map_err(RunError::watch(&program, "open its descriptor"))?;
        let feed = match (stdin, spec.stdin) {
            (Some(stdin), Input::Bytes(bytes)) => Feed::new(stdin, bytes),
            _ => Ok(Feed::closed()),
        };
        let deadlines = if listens {
            spec.deadlines
        } else {
            Deadlines { total: spec.deadlines.total, ..Deadlines::default() }
        };
        let now = Instant::now();
        let graces = Graces::new(spec.grace);
        let graces = Graces { linger: spec.linger.unwrap_or(graces.linger), ..graces };
        let mut machine = Escalation::new(spec.terminal, graces, deadlines, now);
        if !listens {
            // Asks for nothing as long as the child runs.
            drop(machine.step(now, Told::Drained));
        }
        Ok(Self {
            tree,
            child,
            machine,
            terminal: spec.terminal,
            subreaper: spec.subreaper,
            feed: feed.map_err(RunError::watch(&program, "open its stdin"))?,
            stdout: tap(stdout, spec.stdout).map_err(RunError::watch(&program, "open its stdout"))?,
            stderr: tap(stderr, spec.stderr).map_err(RunError::watch(&program, "open its stderr"))?,
            listener,
            saved,
            exit: None,
            watched: None,
            members: None,
            seen: Vec::new(),
            background: Vec::new(),
            program,
        })
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.tree.kid().map_or(0, |kid| kid.pid)
    }

    /// When the child started, in clock ticks from boot: with its id, its name for other processes.
    pub fn start_time(&self) -> u64 {
        self.tree.kid().map_or(0, |kid| kid.start_time)
    }

    /// Waits for the end of an agent's run whose output passes through, and takes its exit as the end. Also
    /// returns standard output, if it was captured.
    ///
    /// What it was given on standard input was its prompt.
    pub async fn wait_for_end(self) -> Result<(RunEnd, Captured), RunError> {
        let mut output = self.wait().await?;
        Ok((RunEnd::of_process(&mut output), output.stdout))
    }

    /// Waits for the end of the run: of the child, and in a headless run of all that came of it.
    ///
    /// An error means that the run could no longer be watched; it is killed then.
    pub async fn wait(mut self) -> Result<ProcessOutput, RunError> {
        while !self.turn().await? {}
        self.finish()
    }

    /// Waits for what happens next, and takes it in. True when the run is over. Cancel-safe.
    async fn turn(&mut self) -> Result<bool, RunError> {
        let event = self.event().await;
        event
            .and_then(|event| self.handle(&event))
            .map_err(|source| RunError::watch(&self.program, "see its processes")(source))
    }

    /// Waits for the next bytes of a streamed stdout ([`Output::Stream`]). `None` when the run is over: what was in the pipe
    /// then is in the outcome of [`AgentRun::finish`]. Cancel-safe.
    pub async fn chunk(&mut self) -> Result<Option<&[u8]>, RunError> {
        while !self.turn().await? {
            if self.stdout.has_some() {
                return Ok(Some(self.stdout.give()));
            }
        }
        Ok(None)
    }

    /// The child says that it is done. If it does not end soon, it is ended.
    pub fn expect_end(&mut self) -> Result<(), RunError> {
        let told = self.tell(Told::Over);
        told.map(drop).map_err(RunError::watch(&self.program, "see its processes"))
    }

    /// Ends the run as a signal to this process does: the child is interrupted, and may still say what it used.
    pub fn interrupt(&mut self) -> Result<(), RunError> {
        let told = self.tell(Told::Signal(Signal::INT));
        told.map(drop).map_err(RunError::watch(&self.program, "interrupt it"))
    }

    async fn event(&mut self) -> io::Result<Event> {
        let wake = self.machine.wake();
        let woken = async {
            match wake {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            exit = ended(&self.child), if self.exit.is_none() => Ok(Event::Exited(exit?)),
            () = self.feed.turn() => Ok(Event::Fed),
            some = self.stdout.turn() => Ok(Event::Output { some }),
            some = self.stderr.turn() => Ok(Event::Output { some }),
            notice = self.listener.next() => Ok(Event::Noticed(notice)),
            () = all_ended(&mut self.watched) => Ok(Event::MembersEnded),
            () = woken => Ok(Event::Woke),
        }
    }

    /// Takes an event in. True when the run is over.
    fn handle(&mut self, event: &Event) -> io::Result<bool> {
        match *event {
            Event::Exited(exit) => {
                self.exit = Some(exit);
                self.tell(Told::Exited)
            }
            Event::Output { some: true } => self.tell(Told::Output),
            Event::Output { some: false } if !self.stdout.is_open() && !self.stderr.is_open() => {
                self.tell(Told::Drained)
            }
            Event::Fed | Event::Output { .. } => Ok(false),
            Event::Noticed(Notice::End(signal)) => self.tell(Told::Signal(signal)),
            Event::Noticed(Notice::Continued) => {
                self.tree.send(Target::Child, Signal::CONT)?;
                Ok(false)
            }
            Event::Noticed(Notice::Child) => {
                if self.subreaper {
                    spawner::reap_orphans();
                }
                // An agent that stops itself expects its shell back, which waits for this process.
                if self.terminal == Terminal::Owned && sys::stopped(self.child.get_ref()) {
                    sys::stop_self()?;
                }
                Ok(false)
            }
            Event::MembersEnded => {
                let members = self.count()?;
                self.tell(Told::Members(members))
            }
            Event::Woke => {
                // A reader who came back late finds what the child wrote meanwhile: that was no silence.
                let spoke = self.stdout.peek() && self.tell(Told::Output)?;
                Ok(spoke || self.tell(Told::Tick)?)
            }
        }
    }

    /// Tells the machine, and does what it says. True when the run is over.
    fn tell(&mut self, input: Told) -> io::Result<bool> {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for action in self.machine.step(Instant::now(), input) {
                match action {
                    Action::Send(target, signal) => {
                        tracing::debug!(pid = self.pid(), ?target, ?signal, "ending the run");
                        let members = self.tree.send(target, signal)?;
                        if target == Target::Tree {
                            self.watch_members(members)?;
                        }
                    }
                    Action::Count => inputs.push_back(Told::Members(self.count()?)),
                    Action::NameBackground => self.background.clone_from(&self.seen),
                    Action::Done => return Ok(true),
                }
            }
        }
        Ok(false)
    }

    fn count(&mut self) -> io::Result<usize> {
        let members = self.tree.members()?;
        let count = members.processes.len();
        self.watch_members(members)?;
        if count == 0 {
            // Nobody to wait for: the next count is the machine's wish.
            self.watched = None;
        }
        self.members = Some(count);
        Ok(count)
    }

    fn watch_members(&mut self, members: Members) -> io::Result<()> {
        self.seen = members.processes.iter().map(Process::from).collect();
        self.watched = Some(members.ends.into_iter().map(watch).collect::<io::Result<_>>()?);
        Ok(())
    }

    /// What became of a run that [`AgentRun::chunk`] said is over. One that still runs is killed.
    pub fn finish(mut self) -> Result<ProcessOutput, RunError> {
        let mut survivors = Vec::new();
        if self.exit.is_none() {
            survivors.push(Process { pid: self.pid(), name: self.program.to_string_lossy().into_owned() });
        }
        if self.terminal == Terminal::Detached && self.members != Some(0) {
            let members =
                self.tree.members().map_err(RunError::watch(&self.program, "count its processes"))?;
            survivors.extend(members.processes.iter().map(Process::from));
        }
        if let Some(saved) = self.saved {
            let crashed = !matches!(self.exit, Some(Exit::Code(_)));
            if let Err(error) = saved.restore(crashed) {
                tracing::warn!(%error, "the terminal's settings cannot be put back");
            }
        }
        let exit = self.exit;
        let outcome = ProcessOutput {
            exit: exit.unwrap_or(Exit::Signal(Signal::KILL.as_raw())),
            cause: self.machine.cause(),
            background: self.background,
            survivors,
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
            unread: self.feed.unread(),
        };
        if exit.is_some() {
            self.tree.reap();
        }
        Ok(outcome)
    }
}

/// What this run has to hear of this process's signals.
fn listen(spec: &RunSpec) -> io::Result<Listener> {
    let listener = Listener::new(&spec.interrupts, spec.terminal)?;
    // A process that ignores SIGCHLD is not told how its children ended; one that listens to it is.
    if spec.subreaper || listener.sees_stops() || sys::ignores(Signal::CHILD) {
        listener.and_children()
    } else {
        Ok(listener)
    }
}

fn tap<P: Into<OwnedFd>>(pipe: Option<P>, output: Output) -> io::Result<Tap> {
    pipe.map_or_else(|| Ok(Tap::closed()), |pipe| Tap::new(pipe, output))
}

#[expect(
    deprecated,
    reason = "its successor is `unsafe` for descriptors that may close; an `OwnedFd` stays open"
)]
fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// Waits for the child's end. It stays unreaped.
async fn ended(child: &AsyncFd<OwnedFd>) -> io::Result<Exit> {
    loop {
        let mut ready = child.readable().await?;
        if let Some(end) = sys::ended(child.get_ref())? {
            return Ok(end);
        }
        ready.clear_ready();
    }
}

/// Waits until all of them have ended. Cancel-safe. Never returns when there is nothing to wait for.
async fn all_ended(members: &mut Option<Vec<AsyncFd<OwnedFd>>>) {
    let Some(members) = members else { return std::future::pending().await };
    while let Some(member) = members.last() {
        // The only error is a runtime that is shutting down.
        drop(member.readable().await);
        members.pop();
    }
}
