//! The watch over a launch's guard while the agent runs: the reports of its hooks, the calls of its agent, and what they show together.

mod channel;
mod finding;
mod hung;
mod state;
mod transcript;

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use amplihack_agent::{AgentBinary, AgentEvent};
use amplihack_config::env::Env;
use amplihack_hooks::HookError;
use amplihack_hooks::channel::{HookMessage, LaunchReply, SOCKET, UNANSWERED};
use amplihack_hooks::injection::{InjectedDirectory, Injection};
use amplihack_session::{GuardDenials, RunStopper};
use tokio::sync::Notify;

use crate::once::{GrantBook, SocketPeer, check_person};
use crate::pinned::PinnedGuardFiles;

use channel::LaunchChannel;
pub use finding::GuardFinding;
use hung::HookProcesses;
use state::CallLedger;
use transcript::AgentTranscripts;

/// Interval at which the thread looks for hooks that do not answer, in milliseconds.
const LOOK: i64 = 1000;

/// Milliseconds after the launch's first step until its files are hashed: a program is a few megabytes, and the agent starts meanwhile.
const HASH_DELAY: i64 = 100;

/// The milliseconds between two looks of a thread that nothing can wake.
const BLIND_LOOK: i64 = 20;

/// The guard of a launch that runs: its hooks' directory, and the watch over it.
#[derive(Debug)]
pub(crate) struct RunningGuard {
    // First: nobody listens any more when the directory goes.
    pub(crate) liveness: GuardLiveness,
    written: InjectedDirectory,
}

impl RunningGuard {
    /// Writes the hooks of a launch of `agent` from `env` in `cwd`, and opens what they report to.
    pub(crate) fn open_guard(
        injection: &Injection,
        agent: AgentBinary,
        watched: WatchOptions,
        (env, cwd): (&Env, &Path),
    ) -> Result<Self, HookError> {
        let written = injection.write()?;
        let unheld = |source| HookError::Io { path: injection.program.clone(), source };
        let files = PinnedGuardFiles::hold_files(injection, env, cwd).map_err(unheld)?;
        let io = |source| HookError::Io { path: written.directory().join(SOCKET), source };
        let liveness = GuardLiveness::open_watch(written.directory(), files, agent, watched).map_err(io)?;
        Ok(Self { liveness, written })
    }

    /// Listens to the hooks from now on.
    pub(crate) fn start_watch(&self) -> Result<(), HookError> {
        let path = || self.written.directory().join(SOCKET);
        self.liveness.start_thread().map_err(|source| HookError::Io { path: path(), source })
    }
}

/// Options of the watch over a launch.
#[derive(Debug, Clone)]
pub(crate) struct WatchOptions {
    /// Ends the run over what is found; `None` where a person attends it.
    pub(crate) stopper: Option<RunStopper>,
    /// True if the agent's stream is read.
    pub(crate) is_streamed: bool,
    /// True if a success shows that hooks were called: the agent was given a task in a session that calls them.
    pub(crate) is_task: bool,
}

/// The watch over one launch. Dropping it ends its thread.
#[derive(Debug)]
pub(crate) struct GuardLiveness {
    shared: Arc<GuardWatch>,
    /// Closing it wakes the thread.
    wake: UnixStream,
    thread: Mutex<WatchThread>,
}

/// The thread that listens.
#[derive(Debug)]
enum WatchThread {
    /// Set up, with the end of the pair that wakes it.
    NotStarted(UnixStream),
    Running(JoinHandle<()>),
    Ended,
}

/// Record of what a launch's guard is known to have done.
#[derive(Debug)]
pub(crate) struct GuardRecord {
    pub(crate) denials: GuardDenials,
    /// Findings against the guard.
    pub(crate) findings: Vec<GuardFinding>,
    /// Reason why the audit lacks a line.
    pub(crate) unaudited: Option<String>,
    /// Tools that were called and that no table lists.
    pub(crate) unlisted: Vec<String>,
    /// Policy files that changed meanwhile.
    pub(crate) changed_policy: Vec<PathBuf>,
}

#[derive(Debug)]
struct GuardWatch {
    launch: PathBuf,
    line: Mutex<WatchState>,
    /// Ends the run, if that is to be done.
    stopper: Option<RunStopper>,
    /// Something was found.
    found: Notify,
}

/// The channel and what was heard on it.
#[derive(Debug)]
struct WatchState {
    channel: LaunchChannel,
    state: CallLedger,
    /// Grants of a person.
    grants: GrantBook,
    /// Files that the guard stands on, and those of them that are other ones by now.
    files: PinnedGuardFiles,
    /// The agent's records, where no stream shows its calls.
    transcripts: Option<AgentTranscripts>,
    /// True if hooks must have been called in a success.
    is_task: bool,
    /// Findings that were acted on.
    acted: usize,
    /// Findings that were given to be told.
    told: usize,
}

impl GuardLiveness {
    /// Opens the socket in the directory of a launch whose guard stands on `files`. Who calls it waits for the watch's thread, which is
    /// started when the agent is: it would only take time from the start.
    ///
    /// # Errors
    /// There is no room for the socket. Without it the guard lets nothing through.
    pub(crate) fn open_watch(
        launch: &Path,
        files: PinnedGuardFiles,
        agent: AgentBinary,
        watched: WatchOptions,
    ) -> io::Result<Self> {
        let WatchOptions { stopper, is_streamed, is_task } = watched;
        let transcripts = AgentTranscripts::for_launch(agent, is_streamed);
        let channel = LaunchChannel::listen_in(launch)?;
        let line = WatchState {
            channel,
            state: CallLedger::new(agent),
            grants: GrantBook::default(),
            files,
            transcripts,
            is_task,
            acted: 0,
            told: 0,
        };
        let shared = Arc::new(GuardWatch {
            launch: launch.to_owned(),
            line: Mutex::new(line),
            stopper,
            found: Notify::new(),
        });
        let (wake, woken) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        Ok(Self { shared, wake, thread: Mutex::new(WatchThread::NotStarted(woken)) })
    }

    /// Starts the thread that listens, unless it runs.
    ///
    /// # Errors
    /// There is no room for it. Without it the guard lets nothing through.
    pub(crate) fn start_thread(&self) -> io::Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *thread, WatchThread::Ended) {
            WatchThread::NotStarted(woken) => {
                let watched = Arc::clone(&self.shared);
                let named = std::thread::Builder::new().name("amplihack-guard".to_owned());
                *thread = WatchThread::Running(named.spawn(move || watch_guard(&watched, &woken))?);
            }
            started => *thread = started,
        }
        Ok(())
    }

    /// Takes an event of the agent's stream in. A result is held against what hooks reported before it.
    pub(crate) fn observe_event(&self, event: &AgentEvent) {
        match event {
            AgentEvent::ToolCall(call) => self.shared.drain_reports().state.take_call(&call.id, &call.name),
            AgentEvent::ToolResult(result) => {
                let mut line = self.shared.drain_reports();
                line.state.take_result(result, false);
                self.shared.act_on_findings(&mut line);
            }
            _ => {}
        }
    }

    /// Waits until something speaks against the guard that was not given yet. Cancel-safe.
    pub(crate) async fn next_finding(&self) -> GuardFinding {
        loop {
            {
                let mut line = self.shared.lock();
                if let Some(finding) = line.state.findings().get(line.told).cloned() {
                    line.told += 1;
                    return finding;
                }
            }
            self.shared.found.notified().await;
        }
    }

    /// Returns what is known when the run has ended; `is_success` tells how it ended, as far as that is known.
    pub(crate) fn finish_watch(&self, is_success: bool) -> GuardRecord {
        self.shared.read_records();
        let is_there = self.shared.is_there();
        let mut line = self.shared.drain_reports();
        line.compare_files();
        let changed_policy = line.files.changed_policy().to_vec();
        let is_task = line.is_task;
        let state = &mut line.state;
        if !is_there {
            state.add_finding(GuardFinding::Unreachable);
        }
        if self.shared.is_unanswered() {
            state.add_finding(GuardFinding::DidNotRun);
        }
        state.finish_run(is_success && is_task);
        GuardRecord {
            denials: if is_there { state.denials() } else { GuardDenials::Unknown },
            findings: state.findings().to_vec(),
            unaudited: state.unaudited().map(str::to_owned),
            unlisted: state.unlisted().map(str::to_owned).collect(),
            changed_policy,
        }
    }
}

impl Drop for GuardLiveness {
    fn drop(&mut self) {
        // A thread that does not hear of it ends with the process.
        let _ = self.wake.write_all(b"x");
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let WatchThread::Running(thread) = std::mem::replace(thread, WatchThread::Ended) {
            drop(thread.join());
        }
    }
}

impl GuardWatch {
    fn lock(&self) -> MutexGuard<'_, WatchState> {
        // What a panic left behind is still what was heard.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The line with everything that was said by now.
    fn drain_reports(&self) -> MutexGuard<'_, WatchState> {
        let mut line = self.lock();
        let WatchState { channel, state, grants, files, transcripts, .. } = &mut *line;
        let mut is_reported = false;
        channel.drain_messages(&mut |message, peer| match message {
            HookMessage::PinnedPolicy => Some(LaunchReply::PinnedPolicy { pin: files.policy_pin() }),
            HookMessage::Stopped(_) | HookMessage::ListStopped | HookMessage::Grant { .. } => {
                Some(answer_grant(grants, message, peer))
            }
            message => {
                if let (HookMessage::Report(report), Some(transcripts)) = (&message, &mut *transcripts)
                    && let Some(file) = &report.transcript
                {
                    transcripts.follow_file(file);
                }
                is_reported = true;
                answer_report(state, message)
            }
        });
        if is_reported {
            line.compare_files();
        }
        self.act_on_findings(&mut line);
        line
    }

    /// Reads the agent's records, and holds them against what hooks reported before.
    fn read_records(&self) {
        let events = self.lock().transcripts.as_mut().map(AgentTranscripts::read).unwrap_or_default();
        if events.is_empty() {
            return;
        }
        let mut line = self.drain_reports();
        for event in events {
            match event {
                AgentEvent::ToolCall(call) => line.state.take_call(&call.id, &call.name),
                AgentEvent::ToolResult(result) => line.state.take_result(&result, true),
                _ => {}
            }
        }
        self.act_on_findings(&mut line);
    }

    /// Ends the run over what was found since the last time, and wakes whoever tells of it.
    fn act_on_findings(&self, line: &mut WatchState) {
        let found = line.state.findings().len();
        if found > line.acted {
            line.acted = found;
            if let Some(stopper) = &self.stopper {
                stopper.stop_run();
            }
            self.found.notify_one();
        }
    }

    /// Reports whether hooks can still reach the socket.
    fn is_there(&self) -> bool {
        self.lock().channel.is_at(&self.launch)
    }

    /// Reports whether a registration stopped a call because no guard answered it.
    fn is_unanswered(&self) -> bool {
        self.launch.join(UNANSWERED).exists()
    }

    fn add_finding(&self, finding: GuardFinding) {
        let mut line = self.lock();
        line.state.add_finding(finding);
        self.act_on_findings(&mut line);
    }
}

impl WatchState {
    /// Compares what the guard stands on with what it was at the start.
    fn compare_files(&mut self) {
        for path in self.files.find_changes() {
            self.state.add_finding(GuardFinding::Changed { path });
        }
    }
}

/// Answers what is about stopped calls: a hook asks whether one was granted, a person grants.
fn answer_grant(grants: &mut GrantBook, message: HookMessage, peer: SocketPeer) -> LaunchReply {
    let now = Instant::now();
    if let HookMessage::Stopped(call) = message {
        let granted = grants.use_grant(call, now);
        return if granted { LaunchReply::Granted } else { LaunchReply::NotGranted };
    }
    if let Err(why) = check_person(peer) {
        return LaunchReply::NotAPerson { why: why.to_string() };
    }
    match message {
        HookMessage::Grant { id } => {
            grants.grant_call(&id, now).map_or(LaunchReply::NoSuchCall, LaunchReply::GrantMade)
        }
        _ => LaunchReply::StoppedCalls { calls: grants.pending_calls(now) },
    }
}

/// Takes one message of a hook.
fn answer_report(state: &mut CallLedger, message: HookMessage) -> Option<LaunchReply> {
    match message {
        HookMessage::Report(report) => {
            state.take_report(&report);
            None
        }
        HookMessage::Judged { digest } if state.was_judged(&digest) => Some(LaunchReply::WasJudged),
        HookMessage::Judged { .. } => Some(LaunchReply::NotJudged),
        _ => Some(LaunchReply::Unknown),
    }
}

/// Hears hooks, and looks for those that say nothing, until `woken` is written to or closed.
fn watch_guard(shared: &GuardWatch, woken: &UnixStream) {
    let mut processes = HookProcesses::for_launch(&shared.launch);
    let mut looked = Instant::now();
    let (begun, mut is_hashed) = (looked, false);
    loop {
        let watched = shared.drain_reports().channel.watched_descriptors();
        let watched = watched.and_then(|mut watched| {
            watched.push(woken.as_fd().try_clone_to_owned()?);
            Ok(watched)
        });
        match watched {
            Ok(watched) => channel::wait_readable(&watched, if is_hashed { LOOK } else { HASH_DELAY }),
            // Without a free descriptor nothing wakes the thread, and it looks often instead.
            Err(_) => channel::wait_readable(&[], BLIND_LOOK),
        }
        if is_told(woken) {
            return;
        }
        let now = Instant::now();
        if !is_hashed && now.saturating_duration_since(begun).as_millis() >= HASH_DELAY.unsigned_abs().into()
        {
            is_hashed = true;
            if let Err(error) = shared.lock().files.start_hashing() {
                tracing::debug!(%error, "the launch's files are not hashed");
            }
        }
        if now.saturating_duration_since(looked).as_millis() >= LOOK.unsigned_abs().into() {
            looked = now;
            shared.read_records();
            if !shared.is_there() {
                shared.add_finding(GuardFinding::Unreachable);
            }
            if shared.is_unanswered() {
                shared.add_finding(GuardFinding::DidNotRun);
            }
            if let Some(age) = processes.check_processes(now) {
                shared.add_finding(GuardFinding::Hung { seconds: age.as_secs() });
            }
        }
    }
}

/// Reports whether the owner wants the thread to end.
fn is_told(mut woken: &UnixStream) -> bool {
    !matches!(woken.read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests;
