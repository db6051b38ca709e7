//! Starting an agent as a stream of events.

use std::path::Path;
use std::sync::Arc;

use amplihack_agent::decode::{PlainText, decoder};
use amplihack_agent::event::{Totals, Usage};
use amplihack_agent::reader::Earlier;
use amplihack_agent::{AgentBinary, Envelope, profile};
use amplihack_hooks::injection::Written;
use amplihack_session::journal::{RunRecord, used_before};
use amplihack_session::{Captured, EventRun, Journal, Reading, RunEnd, RunError};
use amplihack_utils::fs::read_regular;
use amplihack_utils::launcher_context::SessionId;

use crate::error::LaunchError;
use crate::notice::Notice;
use crate::plan::Plan;
use crate::start::{
    Hosting, LaunchReport, Prepared, SessionMark, Streams, finish_notices, prepare, take_denials,
};

/// The largest file of usage that is read.
const MAX_USAGE_FILE: u64 = 1024 * 1024;

/// A running agent whose events are read.
pub struct LaunchedEvents {
    run: EventRun,
    guard: Option<Arc<Written>>,
    // Last: the session's directory goes when the guard's is gone.
    session: SessionMark,
}

/// How the events of a launch are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
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
    plan: Plan,
    hosting: Hosting,
    streams: Streams,
    wanted: Wanted,
) -> Result<(LaunchedEvents, Vec<Notice>), LaunchError> {
    let agent = plan.installed.agent;
    let (streamed, usage) = (plan.streamed, plan.usage_file.clone());
    let record = RunRecord::of_this_process(agent, &plan.cwd);
    let home = plan.env.amplihack_home();
    let Prepared { session, guard, spec, mut notices } = prepare(plan, hosting, streams)?;
    let earlier = home.clone().filter(|_| streamed && profile(agent).counts.session_totals).map(|home| {
        let own = session.id.clone();
        Box::new(move |name: &str| used_before(&home, agent, name, &own)) as Earlier
    });
    let journal = home
        .map(|home| Journal::create(&home, &session.id, record))
        .transpose()
        .map_err(RunError::Journal)?;
    if journal.is_none() {
        notices.push(Notice::NoJournal);
    }
    let decoder = if streamed { decoder(agent) } else { Box::new(PlainText::new(agent)) };
    let guard = guard.map(Arc::new);
    let judging = guard.clone();
    let judge = Box::new(move |end: &mut RunEnd| {
        take_denials(end, judging.as_deref(), wanted.fail_on_denial);
        usage.and_then(|file| used(agent, &file))
    });
    let reading = Reading { decoder, journal, raw: wanted.raw, earlier, judge };
    let run = EventRun::start(spec, reading).await?;
    Ok((LaunchedEvents { run, guard, session }, notices))
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
    pub fn interrupt(&mut self) -> Result<(), RunError> {
        self.run.interrupt()
    }

    /// What the run used so far.
    pub fn usage(&self) -> Totals {
        self.run.usage()
    }

    /// Takes the remaining events without looking at them, and waits for the end of the run.
    pub async fn finish(self) -> Result<LaunchReport, RunError> {
        let Self { run, guard, session } = self;
        let end = run.wait().await?;
        let notices = finish_notices(&end);
        drop((guard, session));
        Ok(LaunchReport { end, stdout: Captured::default(), notices })
    }
}

/// What `agent` wrote to `file` about what it used. The file is ours, and goes.
fn used(agent: AgentBinary, file: &Path) -> Option<Usage> {
    let bytes = read_regular(file, MAX_USAGE_FILE).ok()?;
    if let Err(error) = std::fs::remove_file(file) {
        tracing::debug!(%error, "a run's file of its usage stays behind");
    }
    profile(agent).counts.usage_file?(&bytes)
}
