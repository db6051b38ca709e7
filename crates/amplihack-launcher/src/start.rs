//! Carrying a plan out: say who is in charge, start the agent, wait for its end.

use amplihack_agent::RunMode;
use amplihack_hooks::injection::Written;
use amplihack_session::{
    AgentRun, Captured, Deadlines, Denials, Input, Interrupts, Output, RunEnd, RunError, RunOutcome, RunSpec,
    Terminal,
};
use amplihack_utils::launcher_context::{self, LauncherContext, SessionContext, SessionId};

use crate::error::LaunchError;
use crate::notice::Notice;
use crate::plan::Plan;

/// What this process is to the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosting {
    /// One of our binaries, here for this run: it passes signals on and takes orphans of the run as its own children.
    Binary,
    /// A program that uses this library: its signals and its children are left alone.
    Library,
}

/// Where the agent's output goes.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// Deadlines of the run.
    pub deadlines: Deadlines,
}

impl Default for Streams {
    fn default() -> Self {
        Self { stdout: Output::Inherit, stderr: Output::Inherit, deadlines: Deadlines::default() }
    }
}

/// A running agent.
pub struct Launched {
    run: AgentRun,
    guard: Option<Written>,
    fail_on_denial: bool,
    // Last: the session's directory goes when the guard's is gone.
    session: SessionMark,
}

/// A launch that has ended.
#[derive(Debug)]
pub struct LaunchReport {
    /// The end of the run.
    pub end: RunEnd,
    /// Standard output, if it was captured.
    pub stdout: Captured,
    /// Lines for a person.
    pub notices: Vec<Notice>,
}

/// The session's context file, removed when the launch ends.
pub(crate) struct SessionMark {
    home: Option<std::path::PathBuf>,
    pub(crate) id: SessionId,
}

impl Drop for SessionMark {
    fn drop(&mut self) {
        if let Some(home) = &self.home
            && let Err(error) = SessionContext::remove(home, &self.id)
        {
            tracing::debug!(%error, "the session's context file stays behind");
        }
    }
}

/// Starts what `plan` decided. Returns the run and what to tell a person.
///
/// The repository's context file and the session's are written first, so that no descendant can ask too early. A file
/// that cannot be written is a notice, not an error.
pub async fn start(
    plan: Plan,
    hosting: Hosting,
    streams: Streams,
) -> Result<(Launched, Vec<Notice>), LaunchError> {
    // Dropped in reverse: the session's directory goes when the guard's is gone.
    let Prepared { session, guard, spec, notices } = prepare(plan, hosting, streams)?;
    let run = AgentRun::start(spec).await?;
    Ok((Launched { run, guard, fail_on_denial: false, session }, notices))
}

/// A run that is ready to start, and what must live as long as it does.
pub(crate) struct Prepared {
    pub(crate) spec: RunSpec,
    pub(crate) guard: Option<Written>,
    pub(crate) session: SessionMark,
    pub(crate) notices: Vec<Notice>,
}

/// Says who is in charge, writes the guard, and describes the run.
pub(crate) fn prepare(plan: Plan, hosting: Hosting, streams: Streams) -> Result<Prepared, LaunchError> {
    let mut notices = Vec::new();
    let agent = plan.installed.agent;
    let home = plan.env.amplihack_home();
    let session = SessionMark { home: home.clone(), id: plan.session.clone() };
    if let Some(home) = &home
        && let Err(error) = SessionContext::of_this_process(agent, &plan.cwd).write(home, &plan.session)
    {
        notices.push(Notice::Context(error));
    }
    let context = LauncherContext::of_this_process(agent, plan.session.clone(), &plan.cwd);
    if let Err(error) = launcher_context::write(&plan.cwd, &plan.env, &context) {
        notices.push(Notice::Context(error));
    }
    // Without its guard an agent is not started.
    let guard = plan.guard.map(|guard| guard.write()).transpose()?;
    let terminal = match plan.mode {
        RunMode::Headless => Terminal::Detached,
        RunMode::Interactive => Terminal::Owned,
    };
    let stdin = match (plan.stdin_payload, terminal) {
        (Some(bytes), _) => Input::Bytes(bytes),
        (None, Terminal::Owned) => Input::Inherit,
        // Arguments of the user's own pass through with the user's stdin.
        (None, Terminal::Detached) if plan.delivery.is_none() => Input::Inherit,
        (None, Terminal::Detached) => Input::Null,
    };
    let interrupts = match (hosting, plan.interrupts) {
        (Hosting::Library, _) => Interrupts::none(),
        (Hosting::Binary, interrupts) => interrupts.unwrap_or_else(Interrupts::listen),
    };
    let spec = RunSpec {
        stdin,
        stdout: streams.stdout,
        stderr: streams.stderr,
        keep: Box::new((plan.handle, plan.system_prompt)),
        terminal,
        deadlines: streams.deadlines,
        grace: plan.grace,
        tag: plan.session.to_string(),
        record: plan.record,
        subreaper: hosting == Hosting::Binary,
        interrupts,
        ..RunSpec::new(plan.command)
    };
    Ok(Prepared { spec, guard, session, notices })
}

impl Launched {
    /// Holds a success to a guard that denied nothing.
    #[must_use]
    pub fn failing_on_denial(self, fail_on_denial: bool) -> Self {
        Self { fail_on_denial, ..self }
    }

    /// The session of this launch.
    pub fn session(&self) -> &SessionId {
        &self.session.id
    }

    /// Waits for the end of the run.
    pub async fn wait(self) -> Result<LaunchReport, RunError> {
        let (mut end, stdout) = self.run.wait_for_end().await?;
        take_denials(&mut end, self.guard.as_ref(), self.fail_on_denial);
        let notices = finish_notices(&end);
        Ok(LaunchReport { end, stdout, notices })
    }
}

/// Takes the denials of a launch into its end: unknown without a guard, and where its reports are gone. With `fail_on_denial`,
/// a success is held to them.
pub(crate) fn take_denials(end: &mut RunEnd, guard: Option<&Written>, fail_on_denial: bool) {
    end.denials = guard.and_then(Written::denials).map_or(Denials::Unknown, Denials::Known);
    if fail_on_denial {
        end.hold_to_denials();
    }
}

/// Lines for a person about the end of a launch.
pub(crate) fn finish_notices(end: &RunEnd) -> Vec<Notice> {
    let mut notices = Vec::new();
    if let Some(bytes) = end.unread_prompt {
        notices.push(Notice::PromptUnread { bytes });
    }
    if !end.denials.rules().is_empty() {
        notices.push(Notice::Denied(end.denials.rules().to_vec()));
    }
    if end.outcome() == RunOutcome::Unguarded {
        notices.push(Notice::DenialsUnknown);
    }
    if !end.background.is_empty() {
        notices.push(Notice::Background(end.background.clone()));
    }
    if !end.survivors.is_empty() {
        notices.push(Notice::Survivors(end.survivors.clone()));
    }
    notices
}
