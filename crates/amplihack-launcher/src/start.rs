//! Carrying a plan out: say who is in charge, start the agent, wait for its end.

use amplihack_agent::AgentBinary;
use amplihack_agent::RunMode;
use amplihack_agent::agent_profile;
use amplihack_agent::event::FailKind;
use amplihack_config::launcher_context;
use amplihack_config::launcher_context::LauncherContext;
use amplihack_config::launcher_context::SessionContext;
use amplihack_config::launcher_context::SessionId;
use amplihack_session::{
    AgentRun, CapturedOutput, ChildInput, ChildOutput, Deadlines, EndEvidence, GuardDenials,
    InterruptSignals, RunEnd, RunError, RunOutcome, RunSpec, RunStopper, TerminalMode,
};

use crate::error::LaunchError;
use crate::liveness::{GuardRecord, RunningGuard, WatchOptions};
use crate::notice::LaunchNotice;
use crate::plan::LaunchPlan;

/// Role of this process for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchHosting {
    /// A binary of ours, here for this run: it passes signals on and takes orphans of the run as its own children.
    Binary,
    /// A program that uses this library: its signals and its children are left alone.
    Library,
}

/// Destinations of the agent's output.
#[derive(Debug, Clone, Copy)]
pub struct LaunchStreams {
    /// Standard output.
    pub stdout: ChildOutput,
    /// Standard error.
    pub stderr: ChildOutput,
    /// Deadlines of the run.
    pub deadlines: Deadlines,
}

impl Default for LaunchStreams {
    fn default() -> Self {
        Self { stdout: ChildOutput::Inherit, stderr: ChildOutput::Inherit, deadlines: Deadlines::default() }
    }
}

/// A running agent.
pub struct LaunchedAgent {
    run: AgentRun,
    guard: Option<RunningGuard>,
    fail_on_denial: bool,
    is_headless: bool,
    agent: AgentBinary,
    // Last: the session's directory goes when the guard's is gone.
    session: SessionMark,
}

/// A launch that has ended.
#[derive(Debug)]
pub struct LaunchReport {
    /// The end of the run.
    pub end: RunEnd,
    /// Standard output, if it was captured.
    pub stdout: CapturedOutput,
    /// Lines for a person.
    pub notices: Vec<LaunchNotice>,
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
    plan: LaunchPlan,
    hosting: LaunchHosting,
    streams: LaunchStreams,
) -> Result<(LaunchedAgent, Vec<LaunchNotice>), LaunchError> {
    // Dropped in reverse: the session's directory goes when the guard's is gone.
    let (is_headless, agent) = (plan.mode == RunMode::Headless, plan.installed.agent);
    let PreparedLaunch { session, guard, spec, notices } = prepare_launch(plan, hosting, streams)?;
    let run = AgentRun::start(spec).await?;
    guard.as_ref().map_or(Ok(()), RunningGuard::start_watch)?;
    Ok((LaunchedAgent { run, guard, fail_on_denial: false, is_headless, agent, session }, notices))
}

/// A run that is ready to start, and what must live as long as it does.
pub(crate) struct PreparedLaunch {
    pub(crate) spec: RunSpec,
    pub(crate) guard: Option<RunningGuard>,
    pub(crate) session: SessionMark,
    pub(crate) notices: Vec<LaunchNotice>,
}

/// Says who is in charge, writes the guard, and describes the run.
pub(crate) fn prepare_launch(
    plan: LaunchPlan,
    hosting: LaunchHosting,
    streams: LaunchStreams,
) -> Result<PreparedLaunch, LaunchError> {
    let mut notices = Vec::new();
    let agent = plan.installed.agent;
    let home = plan.env.amplihack_home();
    let session = SessionMark { home: home.clone(), id: plan.session.clone() };
    if let Some(home) = &home
        && let Err(error) = SessionContext::of_this_process(agent, &plan.cwd).write(home, &plan.session)
    {
        notices.push(LaunchNotice::Context(error));
    }
    let context = LauncherContext::of_this_process(agent, plan.session.clone(), &plan.cwd);
    if let Err(error) = launcher_context::write(&plan.cwd, &plan.env, &context) {
        notices.push(LaunchNotice::Context(error));
    }
    // Without its guard an agent is not started.
    let stopper = RunStopper::default();
    // A person is told, and decides; where there is none, the run ends.
    let watched = WatchOptions {
        stopper: (plan.mode == RunMode::Headless).then(|| stopper.clone()),
        is_streamed: plan.streamed,
        is_task: plan.is_task,
    };
    let guard = plan
        .guard
        .map(|guard| RunningGuard::open_guard(&guard, agent, watched, (&plan.env, &plan.cwd)))
        .transpose()?;
    let terminal = match plan.mode {
        RunMode::Headless => TerminalMode::Detached,
        RunMode::Interactive => TerminalMode::Owned,
    };
    let stdin = match (plan.stdin_payload, terminal) {
        (Some(bytes), _) => ChildInput::Bytes(bytes),
        (None, TerminalMode::Owned) => ChildInput::Inherit,
        // Arguments of the user's own pass through with the user's stdin.
        (None, TerminalMode::Detached) if plan.delivery.is_none() => ChildInput::Inherit,
        (None, TerminalMode::Detached) => ChildInput::Null,
    };
    let interrupts = match (hosting, plan.interrupts) {
        (LaunchHosting::Library, _) => InterruptSignals::without_signals(),
        (LaunchHosting::Binary, interrupts) => interrupts.unwrap_or_else(InterruptSignals::listen_from_now),
    };
    let spec = RunSpec {
        clean_environment: true,
        stdin,
        stdout: streams.stdout,
        stderr: streams.stderr,
        keep: Box::new((plan.handle, plan.system_prompt)),
        terminal,
        deadlines: streams.deadlines,
        grace: plan.grace,
        tag: plan.session.to_string(),
        record: plan.record,
        subreaper: hosting == LaunchHosting::Binary,
        interrupts,
        stopper,
        ..RunSpec::new(plan.command)
    };
    Ok(PreparedLaunch { spec, guard, session, notices })
}

impl LaunchedAgent {
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
        self.wait_telling(&mut |_| {}).await
    }

    /// Waits for the end of the run, whose standard output is [`ChildOutput::Stream`]: it goes to `pass` as it comes. A run whose agent
    /// asks a person to log in, and would wait for ever, is ended as a failure.
    pub async fn wait_passing(
        self,
        tell: &mut dyn FnMut(LaunchNotice),
        pass: &mut dyn FnMut(&[u8]),
    ) -> Result<LaunchReport, RunError> {
        let Self { mut run, guard, fail_on_denial, is_headless, session, agent } = self;
        let profile = agent_profile(agent);
        // As much as the request to log in is long: it is the first thing that such a run prints.
        let (mut head, longest) = (Vec::new(), profile.login_prompt.map_or(0, str::len));
        let mut asks_for_login = false;
        loop {
            let chunk = match &guard {
                None => run.next_chunk().await?,
                Some(guard) => tokio::select! {
                    chunk = run.next_chunk() => chunk?,
                    finding = guard.liveness.next_finding() => {
                        tell(LaunchNotice::GuardFound(vec![finding]));
                        continue;
                    }
                },
            };
            let Some(chunk) = chunk else { break };
            pass(chunk);
            if head.len() < longest {
                head.extend_from_slice(chunk);
                asks_for_login = profile.asks_for_login(&head);
                if asks_for_login {
                    run.expect_end()?;
                }
            }
        }
        let output = run.finish_run()?;
        pass(&output.stdout.bytes);
        let mut end = RunEnd::from_output(&output);
        if asks_for_login {
            end.event.become_failure(FailKind::Auth, profile.login_reason());
            end.evidence = EndEvidence::Record;
        }
        let rules = GuardRules { fail_on_denial, is_headless };
        let mut notices = judge_guard(&mut end, guard.as_ref(), rules);
        notices.extend(finish_notices(&end));
        drop((guard, session));
        Ok(LaunchReport { end, stdout: CapturedOutput::default(), notices })
    }

    /// Waits for the end of the run. What speaks against its guard is told to `tell` at once, and again in the report.
    pub async fn wait_telling(self, tell: &mut dyn FnMut(LaunchNotice)) -> Result<LaunchReport, RunError> {
        let Self { run, guard, fail_on_denial, is_headless, session, .. } = self;
        let mut end = std::pin::pin!(run.wait_for_end());
        let (mut end, stdout) = loop {
            let Some(guard) = &guard else { break end.await? };
            tokio::select! {
                ended = &mut end => break ended?,
                finding = guard.liveness.next_finding() => tell(LaunchNotice::GuardFound(vec![finding])),
            }
        };
        let rules = GuardRules { fail_on_denial, is_headless };
        let mut notices = judge_guard(&mut end, guard.as_ref(), rules);
        notices.extend(finish_notices(&end));
        drop((guard, session));
        Ok(LaunchReport { end, stdout, notices })
    }
}

/// Rules that a run is held to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GuardRules {
    /// A success in which the policy denied a call is none.
    pub(crate) fail_on_denial: bool,
    /// Nobody attends it.
    pub(crate) is_headless: bool,
}

/// Takes what is known of a launch's guard into its end: denials are unknown without a guard, and where its reports are gone. A run whose
/// guard was not in force is `unguarded` if nobody attended it. With `fail_on_denial`, a success is held to the denials.
pub(crate) fn judge_guard(
    end: &mut RunEnd,
    guard: Option<&RunningGuard>,
    rules: GuardRules,
) -> Vec<LaunchNotice> {
    let mut notices = Vec::new();
    end.denials = GuardDenials::Unknown;
    if let Some(guard) = guard {
        let GuardRecord { denials, findings, unaudited, unlisted, changed_policy } =
            guard.liveness.finish_watch(end.is_success());
        end.denials = denials;
        if let Some(finding) = findings.first().filter(|_| rules.is_headless || rules.fail_on_denial)
            && end.signal.is_none()
        {
            end.settle_outcome(
                RunOutcome::Unguarded,
                format!("the guard was not in force: {finding}"),
                EndEvidence::Guard,
            );
        }
        if !findings.is_empty() {
            notices.push(LaunchNotice::GuardFound(findings));
        }
        notices.extend(unaudited.map(LaunchNotice::Unaudited));
        if !changed_policy.is_empty() {
            notices.push(LaunchNotice::PolicyChanged(changed_policy));
        }
        if !unlisted.is_empty() {
            notices.push(LaunchNotice::UnlistedTools(unlisted));
        }
    }
    if rules.fail_on_denial {
        end.hold_to_denials();
    }
    notices
}

/// Lines for a person about the end of a launch.
pub(crate) fn finish_notices(end: &RunEnd) -> Vec<LaunchNotice> {
    let mut notices = Vec::new();
    if let Some(bytes) = end.unread_prompt {
        notices.push(LaunchNotice::PromptUnread { bytes });
    }
    if !end.denials.denied_rules().is_empty() {
        notices.push(LaunchNotice::Denied(end.denials.denied_rules().to_vec()));
    }
    if end.outcome() == RunOutcome::Unguarded && end.denials == GuardDenials::Unknown {
        notices.push(LaunchNotice::DenialsUnknown);
    }
    if !end.background.is_empty() {
        notices.push(LaunchNotice::Background(end.background.clone()));
    }
    if !end.survivors.is_empty() {
        notices.push(LaunchNotice::Survivors(end.survivors.clone()));
    }
    notices
}
