//! Starting an agent as a stream of events.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use amplihack_agent::decode::{PlainText, new_decoder};
use amplihack_agent::event::{AgentUsage, UsageTotals};
use amplihack_agent::reader::EarlierUsage;
use amplihack_agent::{AgentBinary, AgentEvent, Envelope, RunMode, agent_profile};
use amplihack_config::launcher_context::SessionId;
use amplihack_session::journal::{RunRecord, used_before};
use amplihack_session::{CapturedOutput, EventReading, EventRun, Journal, RunEnd, RunError};
use amplihack_sys::fs::read_regular;

use crate::error::LaunchError;
use crate::liveness::RunningGuard;
use crate::notice::LaunchNotice;
use crate::plan::LaunchPlan;
use crate::start::{
    GuardRules, LaunchHosting, LaunchReport, LaunchStreams, PreparedLaunch, SessionMark, finish_notices,
    judge_guard, prepare_launch,
};

/// The largest file of usage that is read.
const MAX_USAGE_FILE: u64 = 1024 * 1024;

/// A running agent whose events are read.
pub struct LaunchedEvents {
    run: EventRun,
    guard: Option<Arc<RunningGuard>>,
    /// Notices of the guard for the end of the run.
    found: Arc<Mutex<Vec<LaunchNotice>>>,
    // Last: the session's directory goes when the guard's is gone.
    session: SessionMark,
}

/// Options for the events of a launch.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventOptions {
    /// Each line's own bytes go with its first event.
    pub raw: bool,
    /// A run in which the policy denied a call is not a success, whatever the agent says.
    pub fail_on_denial: bool,
}

/// Starts what `plan` decided, as [`start`](crate::start()) does, and reads its events.
///
/// They are in the session's journal before they are given. A journal that cannot be made refuses the launch; without a
/// home there is none, which is a notice.
pub async fn start_events(
    plan: LaunchPlan,
    hosting: LaunchHosting,
    streams: LaunchStreams,
    wanted: EventOptions,
) -> Result<(LaunchedEvents, Vec<LaunchNotice>), LaunchError> {
    let agent = plan.installed.agent;
    let (streamed, usage) = (plan.streamed, plan.usage_file.clone());
    let is_headless = plan.mode == RunMode::Headless;
    let record = RunRecord::from_this_process(agent, &plan.cwd);
    let home = plan.env.amplihack_home();
    let PreparedLaunch { session, guard, spec, mut notices } = prepare_launch(plan, hosting, streams)?;
    let earlier =
        home.clone().filter(|_| streamed && agent_profile(agent).counts.session_totals).map(|home| {
            let own = session.id.clone();
            Box::new(move |name: &str| used_before(&home, agent, name, &own)) as EarlierUsage
        });
    let journal = home
        .map(|home| Journal::create(&home, &session.id, record))
        .transpose()
        .map_err(RunError::Journal)?;
    if journal.is_none() {
        notices.push(LaunchNotice::NoJournal);
    }
    let decoder = if streamed { new_decoder(agent) } else { Box::new(PlainText::new(agent)) };
    let guard = guard.map(Arc::new);
    let judging = guard.clone();
    let found = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&found);
    let rules = GuardRules { fail_on_denial: wanted.fail_on_denial, is_headless };
    let judge = Box::new(move |end: &mut RunEnd| {
        let notices = judge_guard(end, judging.as_deref(), rules);
        *told.lock().unwrap_or_else(PoisonError::into_inner) = notices;
        usage.and_then(|file| read_usage_file(agent, &file))
    });
    let observing = guard.clone();
    // The result of a tool call without a verdict ends the run.
    let observe = Box::new(move |event: &AgentEvent| {
        if let Some(guard) = &observing {
            guard.liveness.observe_event(event);
        }
    });
    let reading = EventReading { decoder, journal, raw: wanted.raw, earlier, observe, judge };
    let run = EventRun::start(spec, reading).await?;
    guard.as_deref().map_or(Ok(()), RunningGuard::start_watch)?;
    Ok((LaunchedEvents { run, guard, found, session }, notices))
}

impl LaunchedEvents {
    /// The session of this launch.
    pub fn session(&self) -> &SessionId {
        &self.session.id
    }

    /// The next event; see [`EventRun::next`].
    pub async fn next(&mut self) -> Result<Option<Envelope>, RunError> {
        self.run.next().await
    }

    /// Ends the run as a signal to this process does: the agent is interrupted, and its events up to its end are still
    /// to be taken.
    pub fn interrupt_agent(&mut self) -> Result<(), RunError> {
        self.run.interrupt_run()
    }

    /// Usage of the run so far.
    pub fn usage(&self) -> UsageTotals {
        self.run.usage()
    }

    /// Takes the remaining events without looking at them, and waits for the end of the run.
    pub async fn finish_run(self) -> Result<LaunchReport, RunError> {
        let Self { run, guard, found, session } = self;
        let end = run.wait().await?;
        let mut notices = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        notices.extend(finish_notices(&end));
        drop((guard, session));
        Ok(LaunchReport { end, stdout: CapturedOutput::default(), notices })
    }
}

/// Reads what `agent` wrote to `file` about its usage. The file is ours, and goes.
fn read_usage_file(agent: AgentBinary, file: &Path) -> Option<AgentUsage> {
    let bytes = read_regular(file, MAX_USAGE_FILE).ok()?;
    if let Err(error) = std::fs::remove_file(file) {
        tracing::debug!(%error, "a run's file of its usage stays behind");
    }
    agent_profile(agent).counts.usage_file?(&bytes)
}
