//! The run itself: the thin shell that carries out what the state machine decides.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use amplihack_sys::{self as sys, ProcessExit, SavedTerminal, Signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

use crate::error::RunError;
use crate::escalation::{
    EscalationAction, EscalationGraces, EscalationInput as Told, EscalationMachine, SignalTarget,
};
use crate::output::{CapturedOutput, NamedProcess, ProcessOutput};
use crate::pipes::{OutputTap, StdinFeed};
use crate::run_end::RunEnd;
use crate::signals::{RunListener, SignalNotice};
use crate::spawner::{self, ChildStart};
use crate::spec::{ChildInput, ChildOutput, Deadlines, RunSpec, TerminalMode};
use crate::stopper::RunStopper;
use crate::timekeeper::CoreHandle;
use crate::tree::{ProcessTree, TreeMembers};

/// A child that runs, with all that comes of it. Dropping it kills them.
///
/// Needs a tokio runtime with I/O and time enabled; a current-thread one is enough, and no task is spawned on it.
pub struct AgentRun {
    program: OsString,
    core: CoreHandle,
    pid: u32,
    start_time: u64,
    child: AsyncFd<OwnedFd>,
    terminal: TerminalMode,
    subreaper: bool,
    feed: StdinFeed,
    stdout: OutputTap,
    stderr: OutputTap,
    listener: RunListener,
    stopper: RunStopper,
    saved: Option<SavedTerminal>,
    exit: Option<ProcessExit>,
    /// Members whose ends are waited for before they are counted again.
    watched: Option<Vec<AsyncFd<OwnedFd>>>,
    /// Number of members when they were last counted.
    members: Option<usize>,
    /// Members that were alive when they were last looked at.
    seen: Vec<NamedProcess>,
    background: Vec<NamedProcess>,
}

/// Starts a run and waits for its end.
///
/// # Errors
/// Those of [`AgentRun::start`] and [`AgentRun::wait`].
pub async fn run_to_end(spec: RunSpec) -> Result<ProcessOutput, RunError> {
    AgentRun::start(spec).await?.wait().await
}

/// Step of a run that its owner takes part in.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunStep<'a> {
    /// Bytes of a streamed stdout.
    Output(&'a [u8]),
    /// All input so far is written, or the child has closed its stdin.
    Fed,
    /// The run has ended.
    Over,
}

/// Event that the run waits for.
enum RunEvent {
    Exited(ProcessExit),
    Fed,
    Output { some: bool },
    Noticed(SignalNotice),
    Stopped,
    MembersEnded,
    Woke,
}

impl AgentRun {
    /// Starts the run. Nothing is left running if that fails, or if the future is dropped.
    ///
    /// # Errors
    /// [`RunError::Spawn`] if the program cannot be started, [`RunError::Watch`] if signals, the child's descriptor or its pipes cannot be
    /// opened.
    pub async fn start(mut spec: RunSpec) -> Result<Self, RunError> {
        let program = spec.command.get_program().to_os_string();
        if Handle::try_current().is_err() {
            return Err(RunError::NoRuntime { program });
        }
        let streams = spec.take_streams();
        let listens = spec.has_captured_output();
        if spec.subreaper {
            sys::become_subreaper().map_err(RunError::watch_error(&program, "become its orphans' parent"))?;
        }
        // Before the child is there, so that no signal finds this process without it.
        let listener = open_listener(&spec).map_err(RunError::watch_error(&program, "listen to signals"))?;
        let saved = (spec.terminal == TerminalMode::Owned).then(SavedTerminal::save_current).flatten();

        let start = ChildStart {
            command: spec.command,
            clean_environment: spec.clean_environment,
            streams,
            leads_group: spec.terminal == TerminalMode::Detached,
            keep: spec.keep,
            record: spec.record,
        };
        let (kid, (stdin, stdout, stderr)) = spawner::spawn_child(start)
            .await
            .map_err(|source| RunError::Spawn { program: program.clone(), source })?;
        let pidfd = sys::open_pidfd(kid.pid, kid.start_time);
        // From here on, an early return kills.
        let tree = ProcessTree::new(kid, &spec.tag, spec.terminal, spec.subreaper);
        let pidfd = pidfd.map_err(RunError::watch_error(&program, "open its descriptor"))?;
        // The first of the run's descriptors that the runtime sees: one without I/O or time panics.
        let watched = catch_unwind(AssertUnwindSafe(|| {
            drop(tokio::time::sleep(Duration::ZERO));
            watch_descriptor(pidfd)
        }));
        let child = watched
            .map_err(|_| RunError::NoRuntime { program: program.clone() })?
            .map_err(RunError::watch_error(&program, "open its descriptor"))?;
        let feed = match (stdin, spec.stdin) {
            (Some(stdin), ChildInput::Bytes(bytes)) => StdinFeed::new(stdin, bytes, false),
            (Some(stdin), ChildInput::Open(bytes)) => StdinFeed::new(stdin, bytes, true),
            _ => Ok(StdinFeed::new_closed()),
        };
        let deadlines = if listens {
            spec.deadlines
        } else {
            Deadlines { total: spec.deadlines.total, ..Deadlines::default() }
        };
        let now = Instant::now();
        let graces = EscalationGraces::new(spec.grace);
        let graces = EscalationGraces { linger: spec.linger.unwrap_or(graces.linger), ..graces };
        let mut machine = EscalationMachine::new(spec.terminal, graces, deadlines, now);
        if !listens {
            // Asks for nothing as long as the child runs.
            drop(machine.take_input(now, Told::Drained));
        }
        let stdout =
            open_tap(stdout, spec.stdout).map_err(RunError::watch_error(&program, "open its stdout"))?;
        let (pid, start_time) = tree.owned_child().map_or((0, 0), |kid| (kid.pid, kid.start_time));
        let core = CoreHandle::new(machine, tree, stdout.watch_pipe(), spec.timekeeper)
            .map_err(RunError::watch_error(&program, "have a thread that keeps its time"))?;
        Ok(Self {
            core,
            pid,
            start_time,
            child,
            terminal: spec.terminal,
            subreaper: spec.subreaper,
            feed: feed.map_err(RunError::watch_error(&program, "open its stdin"))?,
            stdout,
            stderr: open_tap(stderr, spec.stderr)
                .map_err(RunError::watch_error(&program, "open its stderr"))?,
            listener,
            stopper: spec.stopper,
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
        self.pid
    }

    /// Start time of the child, in clock ticks from boot: with its id, its name for other processes.
    pub fn start_time(&self) -> u64 {
        self.start_time
    }

    /// Waits for the end of an agent's run whose output passes through, and takes its exit as the end. Also
    /// returns standard output, if it was captured.
    ///
    /// What it was given on standard input was its prompt.
    ///
    /// # Errors
    /// Those of [`Self::wait`].
    pub async fn wait_for_end(self) -> Result<(RunEnd, CapturedOutput), RunError> {
        let mut output = self.wait().await?;
        Ok((RunEnd::from_process(&mut output), output.stdout))
    }

    /// Waits for the end of the run: of the child, and in a headless run of all that came of it.
    ///
    /// # Errors
    /// [`RunError::Watch`] if the run can no longer be watched; it is killed then.
    pub async fn wait(mut self) -> Result<ProcessOutput, RunError> {
        while !self.handle_next().await? {}
        self.finish_run()
    }

    /// Waits for what happens next, and takes it in. True when the run is over. Cancel-safe.
    async fn handle_next(&mut self) -> Result<bool, RunError> {
        if Handle::try_current().is_err() {
            return Err(RunError::NoRuntime { program: self.program.clone() });
        }
        let event = self.next_event().await;
        event
            .and_then(|event| self.handle_event(&event))
            .map_err(|source| RunError::watch_error(&self.program, "see its processes")(source))
    }

    /// Waits for the next bytes of a streamed stdout ([`ChildOutput::Stream`]). `None` when the run has ended: what was in the pipe
    /// then is in the outcome of [`AgentRun::finish_run`]. Cancel-safe.
    ///
    /// # Errors
    /// [`RunError::Watch`] if the run can no longer be watched.
    pub async fn next_chunk(&mut self) -> Result<Option<&[u8]>, RunError> {
        while !self.handle_next().await? {
            if self.stdout.has_bytes() {
                return Ok(Some(self.stdout.give_bytes()));
            }
        }
        Ok(None)
    }

    /// Waits for the next step of a run with an open input ([`ChildInput::Open`]) and a streamed stdout. Cancel-safe.
    ///
    /// # Errors
    /// Those of [`AgentRun::next_chunk`].
    pub async fn next_step(&mut self) -> Result<RunStep<'_>, RunError> {
        loop {
            let was_written = self.feed.is_written();
            if self.handle_next().await? {
                return Ok(RunStep::Over);
            }
            if self.stdout.has_bytes() {
                return Ok(RunStep::Output(self.stdout.give_bytes()));
            }
            if !was_written && self.feed.is_written() {
                return Ok(RunStep::Fed);
            }
        }
    }

    /// Adds bytes to an open input ([`ChildInput::Open`]). They are written as the run is polled.
    pub fn write_input(&mut self, bytes: &[u8]) {
        self.feed.add_bytes(bytes);
    }

    /// Closes an open input, once all of it is written.
    pub fn close_input(&mut self) {
        self.feed.close_when_written();
    }

    /// Reports whether an open input has room: all of it is written, and the child still reads.
    pub fn takes_input(&self) -> bool {
        self.feed.is_open() && self.feed.is_written()
    }

    /// Sets whether the child waits for input: it has answered all it was asked, and its silence is no stall.
    ///
    /// # Errors
    /// [`RunError::Watch`] if the processes of the run cannot be seen or signalled.
    pub fn await_input(&mut self, waits: bool) -> Result<(), RunError> {
        self.tell_watcher(Told::Waits(waits))
    }

    /// The child says that it is done. If it does not end soon, it is ended.
    ///
    /// # Errors
    /// [`RunError::Watch`] if the processes of the run cannot be seen or signalled.
    pub fn expect_end(&mut self) -> Result<(), RunError> {
        self.tell_watcher(Told::Over)
    }

    /// The child works on after it said that it was done: it is not ended for that any more.
    ///
    /// # Errors
    /// [`RunError::Watch`] if the processes of the run cannot be seen or signalled.
    pub fn expect_more(&mut self) -> Result<(), RunError> {
        self.tell_watcher(Told::WorksOn)
    }

    fn tell_watcher(&mut self, told: Told) -> Result<(), RunError> {
        let told = self.tell_machine(told);
        told.map(drop).map_err(RunError::watch_error(&self.program, "see its processes"))
    }

    /// Ends the run as a signal to this process does: the child is interrupted, and may still say what it used.
    ///
    /// # Errors
    /// [`RunError::Watch`] if the processes of the run cannot be seen or signalled.
    pub fn interrupt_run(&mut self) -> Result<(), RunError> {
        let told = self.tell_machine(Told::Signal(Signal::INT));
        told.map(drop).map_err(RunError::watch_error(&self.program, "interrupt it"))
    }

    async fn next_event(&mut self) -> io::Result<RunEvent> {
        let wake = self.core.lock().machine.next_wake();
        let woken = async {
            match wake {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            exit = await_exit(&self.child), if self.exit.is_none() => Ok(RunEvent::Exited(exit?)),
            () = self.feed.write_some() => Ok(RunEvent::Fed),
            some = self.stdout.read_some() => Ok(RunEvent::Output { some }),
            some = self.stderr.read_some() => Ok(RunEvent::Output { some }),
            notice = self.listener.next() => Ok(RunEvent::Noticed(notice)),
            () = self.stopper.wait_for_stop() => Ok(RunEvent::Stopped),
            () = all_ended(&mut self.watched) => Ok(RunEvent::MembersEnded),
            () = woken => Ok(RunEvent::Woke),
        }
    }

    /// Takes an event in. True when the run is over.
    fn handle_event(&mut self, event: &RunEvent) -> io::Result<bool> {
        match *event {
            RunEvent::Exited(exit) => {
                self.exit = Some(exit);
                self.tell_machine(Told::Exited)
            }
            RunEvent::Output { some: true } => self.tell_machine(Told::Output),
            RunEvent::Output { some: false } if !self.stdout.is_open() && !self.stderr.is_open() => {
                self.tell_machine(Told::Drained)
            }
            RunEvent::Fed | RunEvent::Output { .. } => Ok(false),
            RunEvent::Noticed(SignalNotice::End(signal)) => self.tell_machine(Told::Signal(signal)),
            RunEvent::Noticed(SignalNotice::Continued) => {
                self.send_signal(SignalTarget::Child, Signal::CONT)?;
                Ok(false)
            }
            RunEvent::Noticed(SignalNotice::Child) => {
                if self.subreaper {
                    spawner::reap_orphans();
                }
                // An agent that stops itself expects its shell back, which waits for this process.
                if self.terminal == TerminalMode::Owned && sys::has_stopped(self.child.get_ref()) {
                    sys::stop_self()?;
                }
                Ok(false)
            }
            RunEvent::Stopped => self.tell_machine(Told::Stop),
            RunEvent::MembersEnded => {
                let members = self.count_members()?;
                self.tell_machine(Told::Members(members))
            }
            RunEvent::Woke => {
                // One that had ended by then was in time, whoever saw it late.
                if self.exit.is_none()
                    && let Some(exit) = sys::child_exit(self.child.get_ref())?
                {
                    return self.handle_event(&RunEvent::Exited(exit));
                }
                // A reader who came back late finds what the child wrote meanwhile: that was no silence.
                let spoke = self.stdout.read_ready() && self.tell_machine(Told::Output)?;
                Ok(spoke || self.tell_machine(Told::Tick)?)
            }
        }
    }

    /// Tells the machine, and does what it says. True when the run is over.
    fn tell_machine(&mut self, input: Told) -> io::Result<bool> {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let actions = self.core.lock().machine.take_input(Instant::now(), input);
            // Output only puts deadlines off.
            if input != Told::Output {
                self.core.keep_time();
            }
            for action in actions {
                match action {
                    EscalationAction::Send(target, signal) => {
                        tracing::debug!(pid = self.pid(), ?target, ?signal, "ending the run");
                        let members = self.send_signal(target, signal)?;
                        if target == SignalTarget::Tree {
                            self.watch_members(members)?;
                        }
                    }
                    EscalationAction::Count => inputs.push_back(Told::Members(self.count_members()?)),
                    EscalationAction::NameBackground => self.background.clone_from(&self.seen),
                    EscalationAction::Done => return Ok(true),
                }
            }
        }
        Ok(false)
    }

    fn send_signal(&self, target: SignalTarget, signal: Signal) -> io::Result<TreeMembers> {
        let mut core = self.core.lock();
        core.tree.as_mut().map_or_else(|| Ok(TreeMembers::default()), |tree| tree.send(target, signal))
    }

    fn living_members(&self) -> io::Result<TreeMembers> {
        let mut core = self.core.lock();
        core.tree.as_mut().map_or_else(|| Ok(TreeMembers::default()), ProcessTree::living_members)
    }

    fn count_members(&mut self) -> io::Result<usize> {
        let members = self.living_members()?;
        let count = members.processes.len();
        self.watch_members(members)?;
        if count == 0 {
            // Nobody to wait for: the next count is the machine's wish.
            self.watched = None;
        }
        self.members = Some(count);
        Ok(count)
    }

    fn watch_members(&mut self, members: TreeMembers) -> io::Result<()> {
        self.seen = members.processes.iter().map(NamedProcess::from).collect();
        self.watched = Some(members.ends.into_iter().map(watch_descriptor).collect::<io::Result<_>>()?);
        Ok(())
    }

    /// Finishes a run that has ended, as [`AgentRun::next_chunk`] reported, and returns its output. A run that still runs is killed.
    ///
    /// # Errors
    /// [`RunError::Watch`] if the processes that are left cannot be counted.
    pub fn finish_run(self) -> Result<ProcessOutput, RunError> {
        let mut survivors = Vec::new();
        if self.exit.is_none() {
            survivors
                .push(NamedProcess { pid: self.pid(), name: self.program.to_string_lossy().into_owned() });
        }
        if self.terminal == TerminalMode::Detached && self.members != Some(0) {
            let members =
                self.living_members().map_err(RunError::watch_error(&self.program, "count its processes"))?;
            survivors.extend(members.processes.iter().map(NamedProcess::from));
        }
        if let Some(saved) = self.saved {
            let crashed = !matches!(self.exit, Some(ProcessExit::Code(_)));
            if let Err(error) = saved.restore(crashed) {
                tracing::warn!(%error, "the terminal's settings could not be restored");
            }
        }
        let exit = self.exit;
        let (cause, limit, tree) = {
            let mut core = self.core.lock();
            (core.machine.cause(), core.machine.passed_limit(), core.tree.take())
        };
        let outcome = ProcessOutput {
            exit: exit.unwrap_or(ProcessExit::Signal(Signal::KILL.as_raw())),
            cause,
            limit,
            background: self.background,
            survivors,
            stdout: self.stdout.take_rest(),
            stderr: self.stderr.take_rest(),
            unread: self.feed.unread_bytes(),
        };
        match tree {
            Some(tree) if exit.is_some() => tree.reap_child(),
            // Dropping it kills it.
            tree => drop(tree),
        }
        Ok(outcome)
    }
}

/// Opens the listener for the signals of this process that the run needs.
fn open_listener(spec: &RunSpec) -> io::Result<RunListener> {
    let listener = RunListener::new(&spec.interrupts, spec.terminal)?;
    // A process that ignores SIGCHLD is not told how its children ended; one that listens to it is.
    if spec.subreaper || listener.sees_stops() || sys::ignores_signal(Signal::CHILD) {
        listener.and_children()
    } else {
        Ok(listener)
    }
}

fn open_tap<P: Into<OwnedFd>>(pipe: Option<P>, output: ChildOutput) -> io::Result<OutputTap> {
    pipe.map_or_else(|| Ok(OutputTap::new_closed()), |pipe| OutputTap::new(pipe, output))
}

#[expect(
    deprecated,
    reason = "its successor is `unsafe` for descriptors that may close; an `OwnedFd` stays open"
)]
fn watch_descriptor(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}

/// Waits for the child's end. It stays unreaped.
async fn await_exit(child: &AsyncFd<OwnedFd>) -> io::Result<ProcessExit> {
    loop {
        let mut ready = child.readable().await?;
        if let Some(end) = sys::child_exit(child.get_ref())? {
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
