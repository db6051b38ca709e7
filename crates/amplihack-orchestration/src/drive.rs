//! Carrying a run out: the thin shell that does what the machine says, and writes down what came of it before anybody sees it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_agent::event::RunOutcome;
use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_config::launcher_context::{SessionId, new_session_id};
use amplihack_hooks::registration::HookProgram;
use amplihack_launcher::plan_launch;
use amplihack_session::{InterruptSignals, NamedProcess, RunEnd, SESSION_ID, leftovers};
use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};
use amplihack_sys::lock::FileLock;
use amplihack_sys::start_time;
use jiff::Timestamp;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

mod ask;
mod check;
mod finish;
mod turn;
mod worktree;

use ask::{TurnRequest, is_wide, launch_request};
use finish::summarize_run;

use crate::budget::SharedBudget;
use crate::changes::RepositoryState;
use crate::claim::SCHEMA;
use crate::error::AutoError;
use crate::extension::RunExtension;
use crate::journal::{AutoJournal, AutoJournalEntry, AutoRunState};
use crate::process::RunProcesses;
use crate::progress::{AutoProgress, end_headline};
use crate::prompts::{PromptParts, compose_prompt};
use crate::race::RaceStatus;
use crate::snapshots::{DiffStat, SnapshotStore};
use crate::spec::AutoRunSpec;
use crate::turn::give_up_reason;
use crate::turns::{RunStopCause, TurnOutput, VerificationResult};
use crate::verify::CheckBaseline;
use crate::worktree::RunWorktree;

/// Context of a run: its environment, its configuration, and the listener of its progress.
pub struct AutoRunContext<'a> {
    /// The environment of everything that is started.
    pub env: &'a Env,
    /// The configuration, as it was when the run began: what agents write into it meanwhile does not count.
    pub config: &'a LayeredConfig,
    /// Program that answers the guard's hooks.
    pub guard: Option<HookProgram>,
    /// Hears what happens.
    pub told: &'a dyn Fn(&SessionId, &AutoProgress),
    /// The signals that end the run.
    pub interrupts: InterruptSignals,
    /// Receiver of whether the run may continue; the worktree of one that has lost a race is kept, whatever is in it.
    pub lane: Receiver<RaceStatus>,
    /// The budget of all runs of this process, where they share one.
    pub shared: Option<&'a SharedBudget>,
}

impl AutoRunContext<'_> {
    /// The processes of the run `id`, whose directory is `directory`.
    fn run_processes(&self, directory: &Path, id: &SessionId) -> Result<RunProcesses, AutoError> {
        let grace = self.config.stop_grace();
        RunProcesses::new(self.env.clone(), grace, directory, id.as_str(), self.interrupts.clone())
    }
}

/// An unattended run that has ended.
#[derive(Debug, Clone)]
pub struct AutoRunSummary {
    /// The run.
    pub id: SessionId,
    /// The end, with what the run used and what was denied in it.
    pub end: RunEnd,
    /// The agent that was at work last.
    pub agent: AgentBinary,
    /// Turns that were made.
    pub turns: u32,
    /// True if files differ from the beginning; `None` if that is not known.
    pub changed: Option<bool>,
    /// Results of the checks before the first turn; `None` without checks.
    pub baseline: Option<CheckBaseline>,
    /// The limit, or other end, at which a verification found the work done.
    pub limit: Option<RunOutcome>,
    /// Files of the checks themselves that were changed.
    pub check_changed: Vec<String>,
    /// The outcome of the last check of its work; none if none was made.
    pub check: Option<VerificationResult>,
    /// The size of what was changed.
    pub stat: Option<DiffStat>,
    /// The files that were changed, below the top of the repository.
    pub files: Vec<PathBuf>,
    /// The run's worktree, if that is kept.
    pub worktree: Option<RunWorktree>,
    /// The reason for which that is kept.
    pub kept: Option<String>,
}

impl AutoRunSummary {
    /// The end in one line for a person.
    pub fn headline(&self) -> String {
        end_headline(&self.end, self.baseline.as_ref(), self.limit, &self.check_changed)
    }
}

/// Begins a run of `spec`, and drives it to its end.
///
/// What cannot work is refused before anything is made or started: a missing agent, a prompt that no channel of the agent holds, a
/// delivery that it does not take.
pub async fn begin_run(place: AutoRunContext<'_>, spec: AutoRunSpec) -> Result<AutoRunSummary, AutoError> {
    let id = new_session_id().map_err(AutoError::for_path("/dev/urandom"))?;
    begin_run_as(place, spec, id).await
}

/// Begins a run of `spec` as the run `id`, which is new, and drives it to its end.
pub(crate) async fn begin_run_as(
    place: AutoRunContext<'_>,
    spec: AutoRunSpec,
    id: SessionId,
) -> Result<AutoRunSummary, AutoError> {
    if *place.lane.borrow() != RaceStatus::Open {
        return Err(AutoError::GivenUp);
    }
    if let Some(signal) = place.interrupts.pending_signal() {
        return Err(AutoError::Interrupted { signal });
    }
    if let Some(reason) = place.shared.and_then(SharedBudget::spent_bound) {
        return Err(AutoError::BudgetSpent { reason });
    }
    let home = place.env.amplihack_home().ok_or(AutoError::NoHome)?;
    if spec.cwd.to_str().is_none() {
        return Err(AutoError::NotUtf8 { directory: spec.cwd });
    }
    for agent in [Some(spec.agent), spec.fallback].into_iter().flatten() {
        let first = compose_prompt(&PromptParts::for_first_turn(&spec.task, is_wide(agent)));
        let first = TurnRequest { agent, prompt: first, resume: None, dollars: None, schema: None };
        drop(plan_launch(launch_request(&place, &spec, &spec.cwd, first), place.env, place.config)?);
    }
    let directory = id.directory(&home);
    create_private_dir(&directory).map_err(AutoError::for_path(&directory))?;
    let lock = lock_run(&directory, &id)?;
    let processes = place.run_processes(&directory, &id)?;
    let worktree = if spec.worktree {
        let planned = RunWorktree::plan_for_run(&processes, place.env, &spec, id.as_str()).await;
        if planned.is_err() {
            // Nothing has begun; what stays would be a directory without a run.
            let _ = std::fs::remove_dir_all(&directory);
        }
        Some(planned?)
    } else {
        None
    };
    let journal = AutoJournal::begin_run(&home, &id, spec, worktree)?;
    Box::pin(AutoRunDriver::new(place, home, id, journal, processes, lock).run(false)).await
}

/// The summary of the run `id` as `story` tells it, if that is complete: there is nothing to continue.
pub fn completed_summary(id: &SessionId, story: &AutoRunState) -> Option<AutoRunSummary> {
    recorded_summary(id, story).filter(|_| story.is_complete())
}

/// The summary of the run `id` as `story` tells it, if an end is recorded.
pub(crate) fn recorded_summary(id: &SessionId, story: &AutoRunState) -> Option<AutoRunSummary> {
    let kept = story.worktree.clone().filter(|tree| tree.path.is_dir());
    Some(summarize_run(id, story, story.ended.as_ref()?.run.clone(), kept))
}

/// Continues the run `id`: at the turn that was in flight if its driver died, and after any end but a success with the bounds of
/// `extension`, or those that it had anew. A run that is complete answers with its summary, and nothing is started.
pub async fn resume_run(
    place: AutoRunContext<'_>,
    id: SessionId,
    extension: RunExtension,
) -> Result<AutoRunSummary, AutoError> {
    let home = place.env.amplihack_home().ok_or(AutoError::NoHome)?;
    let directory = id.directory(&home);
    // Looked at first: a lock file must not make a run of nothing.
    if let Some(summary) = completed_summary(&id, &crate::journal::read_run(&home, &id)?) {
        (place.told)(&id, &AutoProgress::from_summary(&summary));
        return Ok(summary);
    }
    let lock = lock_run(&directory, &id)?;
    let mut journal = AutoJournal::open(&home, &id)?;
    journal.story.required_directory()?;
    if extension.usd.is_some() {
        journal.story.spec.require_prices()?;
    }
    let processes = place.run_processes(&directory, &id)?;
    // At once: nobody reads what they would still say.
    let left = end_leftovers(&directory, &journal.story)?;
    if !left.is_empty() {
        tracing::warn!(?left, "processes left by the run's earlier, dead driver cannot be ended");
    }
    let is_done = matches!(&journal.story.ended, Some(ended) if ended.run.is_success());
    if !is_done && (journal.story.is_over() || !extension.is_empty()) {
        // Bounds of a run that had not ended go on, and do not begin anew.
        let is_over = journal.story.is_over();
        let extension = if is_over { extension.filled_from(&journal.story.extension) } else { extension };
        journal.write(AutoJournalEntry::Continued { extension })?;
    }
    Box::pin(AutoRunDriver::new(place, home, id, journal, processes, lock).run(true)).await
}

/// Ends what the dead driver of the run in `directory` left running; gives what would not end. Blocks.
///
/// The caller holds the run's lock, so nobody drives it.
pub fn end_leftovers(directory: &Path, story: &AutoRunState) -> Result<Vec<NamedProcess>, AutoError> {
    let list = directory.join("processes");
    let listed = leftovers::listed_processes(&list).map_err(AutoError::for_path(&list))?;
    let marks: Vec<String> = story.launches().map(|session| format!("{SESSION_ID}={session}")).collect();
    leftovers::end_leftovers(&listed, &marks, Duration::ZERO).map_err(AutoError::for_path("/proc"))
}

/// Holds the run, so that one process drives it.
fn lock_run(directory: &Path, id: &SessionId) -> Result<FileLock, AutoError> {
    FileLock::acquire(&directory.join("lock"), Duration::ZERO)
        .map_err(|source| AutoError::Driven { id: id.to_string(), source })
}

/// A run that is being driven.
struct AutoRunDriver<'a> {
    place: AutoRunContext<'a>,
    home: PathBuf,
    id: SessionId,
    journal: AutoJournal,
    processes: RunProcesses,
    deadline: Option<Instant>,
    snapshots: Option<SnapshotStore>,
    /// The turn in flight was begun before and broken off.
    interrupted: bool,
    _lock: FileLock,
}

impl<'a> AutoRunDriver<'a> {
    fn new(
        place: AutoRunContext<'a>,
        home: PathBuf,
        id: SessionId,
        journal: AutoJournal,
        processes: RunProcesses,
        lock: FileLock,
    ) -> Self {
        Self {
            place,
            home,
            id,
            journal,
            processes,
            deadline: None,
            snapshots: None,
            interrupted: false,
            _lock: lock,
        }
    }

    fn report_progress(&self, progress: &AutoProgress) {
        (self.place.told)(&self.id, progress);
    }

    fn report_notice(&self, message: impl Into<String>) {
        self.report_progress(&AutoProgress::Notice { message: message.into() });
    }

    async fn run(mut self, resumed: bool) -> Result<AutoRunSummary, AutoError> {
        let pid = std::process::id();
        let start_time = start_time(pid).unwrap_or_default();
        self.journal.write(AutoJournalEntry::Driven { pid, start_time })?;
        let story = &self.journal.story;
        self.deadline = story.spec.deadline.map(|deadline| {
            let gone = Duration::try_from(Timestamp::now().duration_since(story.since));
            Instant::now() + deadline.saturating_sub(gone.unwrap_or_default())
        });
        if let Some(ended) = &story.ended {
            let (end, reason) = (ended.run.outcome(), ended.run.reason().to_owned());
            return self.finish_run(end, reason).await;
        }
        let schema = self.journal.directory.join("schema.json");
        write_atomic(&schema, SCHEMA.as_bytes(), 0o600, WriteDurability::Process)
            .map_err(AutoError::for_path(&schema))?;
        let is_new = self.open_worktree(resumed).await?;
        let story = &self.journal.story;
        self.report_progress(&AutoProgress::Began {
            resumed,
            directory: story.working_directory().display().to_string(),
            branch: story.worktree.as_ref().map(|tree| tree.branch.clone()),
        });
        if resumed {
            self.recover_turn()?;
        }
        let mut done = self.prepare_files(is_new).await;
        loop {
            match done {
                // What comes next begins with a look at the signals.
                Ok(()) | Err(AutoError::Interrupted { .. }) => {}
                Err(error) => return Err(error),
            }
            let next = self.journal.story.next.clone();
            if let TurnOutput::End { end, reason } = next {
                return self.finish_run(end, reason).await;
            }
            // Work that is done is verified at every end but that of a signal.
            let stopped = match next {
                TurnOutput::Verify => self.check_interruption(),
                _ => self.check_stop(),
            };
            done = match (stopped, next) {
                (Some((why, reason)), _) => self.journal.write(AutoJournalEntry::Stopped { why, reason }),
                (None, TurnOutput::Ask(ask)) => Box::pin(self.run_turn(ask)).await,
                (None, _) => self.verify_work().await,
            };
        }
    }

    /// Gives a worktree what it lacks, and looks at the files before anything is done.
    async fn prepare_files(&mut self, is_new: bool) -> Result<(), AutoError> {
        self.prepare_worktree(is_new).await?;
        let story = &self.journal.story;
        self.snapshots =
            SnapshotStore::open(&self.processes, story.working_directory(), &self.journal.directory).await?;
        self.check_baseline().await?;
        // After the checks: what they write down is no work of the agent.
        if let (Some(snapshots), None) = (&self.snapshots, &self.journal.story.base) {
            let own = self.journal.story.worktree.as_ref();
            let mut state = RepositoryState::capture(&self.processes, snapshots, own).await?;
            if let Some(tree) = own.filter(|_| !is_new) {
                // Somebody worked in it before it was looked at: all that its commit does not have is work.
                state = state.with_tree(&self.start_tree(tree).await?);
            }
            state.store(&self.journal.directory)?;
            self.journal.write(AutoJournalEntry::Based { tree: state.tree, head: state.head })?;
        }
        Ok(())
    }

    /// Returns the stop and its reason, if a signal or another run ends this one.
    fn check_interruption(&self) -> Option<(RunStopCause, String)> {
        if let Some(signal) = self.place.interrupts.pending_signal() {
            return Some((RunStopCause::Interrupted, format!("ended by signal {}", signal.as_raw())));
        }
        give_up_reason(*self.place.lane.borrow()).map(|why| (RunStopCause::Interrupted, why.to_owned()))
    }

    /// Returns the stop and its reason, if something forbids a further turn.
    fn check_stop(&self) -> Option<(RunStopCause, String)> {
        if let Some(interrupted) = self.check_interruption() {
            return Some(interrupted);
        }
        if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Some((RunStopCause::Deadline, "the deadline has passed".to_owned()));
        }
        self.out_of_budget().map(|reason| (RunStopCause::Budget, reason))
    }

    /// Names the budget that is used up. Tokens whose cost nobody knows use up a budget in dollars: it cannot be kept.
    fn out_of_budget(&self) -> Option<String> {
        let story = &self.journal.story;
        let (budget, used) = (story.spec.budget, story.meter.totals());
        let shared = || self.place.shared.and_then(|shared| shared.record_turn_end(self.id.as_str(), &used));
        budget.unknown_cost(&story.meter).or_else(|| budget.reached_bound(&used)).or_else(shared)
    }
}

/// Path of the diff of the run in `directory`.
pub fn diff_path(directory: &Path) -> PathBuf {
    directory.join("diff.patch")
}
