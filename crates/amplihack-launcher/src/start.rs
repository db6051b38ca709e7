//! Carrying a plan out: say who is in charge, start the agent, wait for its end.

use amplihack_agent::RunMode;
use amplihack_hooks::injection::Written;
use amplihack_session::{AgentRun, Deadlines, Input, Outcome, Output, RunError, RunSpec, Terminal};
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
    // Last: the session's directory goes when the guard's is gone.
    session: SessionMark,
}

/// The end of a launch.
#[derive(Debug)]
pub struct Ended {
    /// How the run ended.
    pub outcome: Outcome,
    /// The rules behind the calls that the policy denied, in their order.
    pub denials: Vec<String>,
    /// What to tell a person.
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
    Ok((Launched { run, guard, session }, notices))
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
    let spec = RunSpec {
        stdin,
        stdout: streams.stdout,
        stderr: streams.stderr,
        keep: Box::new(plan.handle),
        terminal,
        deadlines: streams.deadlines,
        grace: plan.grace,
        tag: plan.session.to_string(),
        record: plan.record,
        subreaper: hosting == Hosting::Binary,
        signals: hosting == Hosting::Binary,
        ..RunSpec::new(plan.command)
    };
    Ok(Prepared { spec, guard, session, notices })
}

impl Launched {
    /// The session of this launch.
    pub fn session(&self) -> &SessionId {
        &self.session.id
    }

    /// Waits for the end of the run.
    pub async fn wait(self) -> Result<Ended, RunError> {
        let outcome = self.run.wait().await?;
        let (denials, notices) = aftermath(self.guard.as_ref(), &outcome);
        Ok(Ended { outcome, denials, notices })
    }
}

/// What the guard denied, and what to tell a person of the end.
pub(crate) fn aftermath(guard: Option<&Written>, outcome: &Outcome) -> (Vec<String>, Vec<Notice>) {
    let denials = guard.map(Written::denials).unwrap_or_default();
    let mut notices = Vec::new();
    if !denials.is_empty() {
        notices.push(Notice::Denied(denials.clone()));
    }
    if !outcome.background.is_empty() {
        notices.push(Notice::Background(outcome.background.clone()));
    }
    if !outcome.survivors.is_empty() {
        notices.push(Notice::Survivors(outcome.survivors.clone()));
    }
    (denials, notices)
}
