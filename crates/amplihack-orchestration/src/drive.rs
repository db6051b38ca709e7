//! Carrying a run out: the thin shell that does what the machine says, and writes down what came of it before anybody sees it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_agent::event::RunOutcome;
use amplihack_hooks::registration::Program;
use amplihack_launcher::plan;
use amplihack_session::{Interrupts, Process, RunEnd, SESSION_ID, leftovers};
use amplihack_utils::config::Config;
use amplihack_utils::env::Env;
use amplihack_utils::fs::{Durability, create_private_dir, write_atomic};
use amplihack_utils::launcher_context::{SessionId, new_session_id};
use amplihack_utils::lock::FileLock;
use amplihack_utils::sys::start_time;
use jiff::Timestamp;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

mod ask;
mod check;
mod finish;
mod turn;
mod worktree;

use ask::{Prompted, is_wide, request};
use finish::summary;

use crate::budget::SharedBudget;
use crate::changes::RepositoryState;
use crate::claim::SCHEMA;
use crate::error::AutoError;
use crate::extension::RunExtension;
use crate::journal::{Entry, Journal, Story};
use crate::process::Processes;
use crate::progress::{Progress, headline};
use crate::prompts::{Parts, prompt};
use crate::race::Lane;
use crate::snapshots::{DiffStat, Snapshots};
use crate::spec::Spec;
use crate::turn::why;
use crate::turns::{Checked, Stop, TurnOutput};
use crate::verify::Baseline;
use crate::worktree::Tree;

/// Where a run goes on, and who hears of it.
pub struct Place<'a> {
    /// The environment of everything that is started.
    pub env: &'a Env,
    /// The configuration, as it was when the run began: what agents write into it meanwhile does not count.
    pub config: &'a Config,
    /// What answers the guard's hooks.
    pub guard: Option<Program>,
    /// Hears what happens.
    pub told: &'a dyn Fn(&SessionId, &Progress),
    /// The signals that end the run.
    pub interrupts: Interrupts,
    /// Whether the run may go on; the worktree of one that has lost a race is kept, whatever is in it.
    pub lane: Receiver<Lane>,
    /// The budget of all runs of this process, where they share one.
    pub shared: Option<&'a SharedBudget>,
}

impl Place<'_> {
    /// The processes of the run `id`, whose directory is `directory`.
    fn processes(&self, directory: &Path, id: &SessionId) -> Result<Processes, AutoError> {
        let grace = self.config.stop_grace();
        Processes::new(self.env.clone(), grace, directory, id.as_str(), self.interrupts.clone())
    }
}

/// An unattended run that has ended.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The run.
    pub id: SessionId,
    /// The end, with what the run used and what was denied in it.
    pub end: RunEnd,
    /// The agent that was at work last.
    pub agent: AgentBinary,
    /// Turns that were made.
    pub turns: u32,
    /// Whether files are other than at the beginning.
    pub changed: Option<bool>,
    /// What the checks showed before the first turn; `None` without checks.
    pub baseline: Option<Baseline>,
    /// The limit, or other end, at which a verification found the work done.
    pub limit: Option<RunOutcome>,
    /// Files of the checks themselves that were changed.
    pub check_changed: Vec<String>,
    /// The outcome of the last check of its work; none if none was made.
    pub check: Option<Checked>,
    /// The size of what was changed.
    pub stat: Option<DiffStat>,
    /// The files that were changed, below the top of the repository.
    pub files: Vec<PathBuf>,
    /// Its worktree, if that is kept.
    pub worktree: Option<Tree>,
    /// The reason for which that is kept.
    pub kept: Option<String>,
}

impl Summary {
    /// The end in one line for a person.
    pub fn headline(&self) -> String {
        headline(&self.end, self.baseline.as_ref(), self.limit, &self.check_changed)
    }
}

/// Begins a run of `spec`, and drives it to its end.
///
/// What cannot work is refused before anything is made or started: a missing agent, a prompt that no channel of the agent holds, a
/// delivery that it does not take.
pub async fn begin(place: Place<'_>, spec: Spec) -> Result<Summary, AutoError> {
    let id = new_session_id().map_err(AutoError::file("/dev/urandom"))?;
    begin_as(place, spec, id).await
}

/// The same, as the run `id`, which is new.
pub(crate) async fn begin_as(place: Place<'_>, spec: Spec, id: SessionId) -> Result<Summary, AutoError> {
    if *place.lane.borrow() != Lane::Open {
        return Err(AutoError::GivenUp);
    }
    if let Some(signal) = place.interrupts.heard() {
        return Err(AutoError::Interrupted { signal });
    }
    if let Some(reason) = place.shared.and_then(SharedBudget::spent) {
        return Err(AutoError::BudgetSpent { reason });
    }
    let home = place.env.amplihack_home().ok_or(AutoError::NoHome)?;
    if spec.cwd.to_str().is_none() {
        return Err(AutoError::NotUtf8 { directory: spec.cwd });
    }
    for agent in [Some(spec.agent), spec.fallback].into_iter().flatten() {
        let first = prompt(&Parts::first(&spec.task, is_wide(agent)));
        let first = Prompted { agent, prompt: first, resume: None, dollars: None, schema: None };
        drop(plan(request(&place, &spec, &spec.cwd, first), place.env, place.config)?);
    }
    let directory = id.directory(&home);
    create_private_dir(&directory).map_err(AutoError::file(&directory))?;
    let lock = hold(&directory, &id)?;
    let processes = place.processes(&directory, &id)?;
    let worktree = if spec.worktree {
        let planned = Tree::plan(&processes, place.env, &spec, id.as_str()).await;
        if planned.is_err() {
            // Nothing has begun; what stays would be a directory without a run.
            let _ = std::fs::remove_dir_all(&directory);
        }
        Some(planned?)
    } else {
        None
    };
    let journal = Journal::begin(&home, &id, spec, worktree)?;
    Box::pin(Drive::new(place, home, id, journal, processes, lock).run(false)).await
}

/// The summary of the run `id` as `story` tells it, if that is complete: there is nothing to continue.
pub fn complete(id: &SessionId, story: &Story) -> Option<Summary> {
    recorded(id, story).filter(|_| story.is_complete())
}

/// The summary of the run `id` as `story` tells it, if an end is recorded.
pub(crate) fn recorded(id: &SessionId, story: &Story) -> Option<Summary> {
    let kept = story.worktree.clone().filter(|tree| tree.path.is_dir());
    Some(summary(id, story, story.ended.as_ref()?.run.clone(), kept))
}

/// Continues the run `id`: at the turn that was in flight if its driver died, and after any end but a success with the bounds of
/// `extension`, or those that it had anew. A run that is complete answers with its summary, and nothing is started.
pub async fn resume(place: Place<'_>, id: SessionId, extension: RunExtension) -> Result<Summary, AutoError> {
    let home = place.env.amplihack_home().ok_or(AutoError::NoHome)?;
    let directory = id.directory(&home);
    // Looked at first: a lock file must not make a run of nothing.
    if let Some(summary) = complete(&id, &crate::journal::read(&home, &id)?) {
        (place.told)(&id, &Progress::ended(&summary));
        return Ok(summary);
    }
    let lock = hold(&directory, &id)?;
    let mut journal = Journal::open(&home, &id)?;
    journal.story.required_directory()?;
    if extension.usd.is_some() {
        journal.story.spec.priced()?;
    }
    let processes = place.processes(&directory, &id)?;
    // At once: nobody reads what they would still say.
    let left = end_leftovers(&directory, &journal.story)?;
    if !left.is_empty() {
        tracing::warn!(?left, "what the run's dead driver had left cannot be ended");
    }
    let is_done = matches!(&journal.story.ended, Some(ended) if ended.run.is_success());
    if !is_done && (journal.story.is_over() || !extension.is_empty()) {
        // Bounds of a run that had not ended go on, and do not begin anew.
        let is_over = journal.story.is_over();
        let extension = if is_over { extension.or(&journal.story.extension) } else { extension };
        journal.write(Entry::Continued { extension })?;
    }
    Box::pin(Drive::new(place, home, id, journal, processes, lock).run(true)).await
}

/// Ends what the dead driver of the run in `directory` left running; gives what would not end. Blocks.
///
/// The caller holds the run's lock, so nobody drives it.
pub fn end_leftovers(directory: &Path, story: &Story) -> Result<Vec<Process>, AutoError> {
    let list = directory.join("processes");
    let listed = leftovers::listed(&list).map_err(AutoError::file(&list))?;
    let marks: Vec<String> = story.launches().map(|session| format!("{SESSION_ID}={session}")).collect();
    leftovers::end(&listed, &marks, Duration::ZERO).map_err(AutoError::file("/proc"))
}

/// Holds the run, so that one process drives it.
fn hold(directory: &Path, id: &SessionId) -> Result<FileLock, AutoError> {
    FileLock::acquire(&directory.join("lock"), Duration::ZERO)
        .map_err(|source| AutoError::Driven { id: id.to_string(), source })
}

/// A run that is being driven.
struct Drive<'a> {
    place: Place<'a>,
    home: PathBuf,
    id: SessionId,
    journal: Journal,
    processes: Processes,
    deadline: Option<Instant>,
    snapshots: Option<Snapshots>,
    /// The turn in flight was begun before and broken off.
    interrupted: bool,
    _lock: FileLock,
}

impl<'a> Drive<'a> {
    fn new(
        place: Place<'a>,
        home: PathBuf,
        id: SessionId,
        journal: Journal,
        processes: Processes,
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

    fn tell(&self, progress: &Progress) {
        (self.place.told)(&self.id, progress);
    }

    fn notice(&self, message: impl Into<String>) {
        self.tell(&Progress::Notice { message: message.into() });
    }

    async fn run(mut self, resumed: bool) -> Result<Summary, AutoError> {
        let pid = std::process::id();
        let start_time = start_time(pid).unwrap_or_default();
        self.journal.write(Entry::Driven { pid, start_time })?;
        let story = &self.journal.story;
        self.deadline = story.spec.deadline.map(|deadline| {
            let gone = Duration::try_from(Timestamp::now().duration_since(story.since));
            Instant::now() + deadline.saturating_sub(gone.unwrap_or_default())
        });
        if let Some(ended) = &story.ended {
            let (end, reason) = (ended.run.outcome(), ended.run.reason().to_owned());
            return self.finish(end, reason).await;
        }
        let schema = self.journal.directory.join("schema.json");
        write_atomic(&schema, SCHEMA.as_bytes(), 0o600, Durability::Process)
            .map_err(AutoError::file(&schema))?;
        let is_new = self.open_worktree(resumed).await?;
        let story = &self.journal.story;
        self.tell(&Progress::Began {
            resumed,
            directory: story.directory().display().to_string(),
            branch: story.worktree.as_ref().map(|tree| tree.branch.clone()),
        });
        if resumed {
            self.recover()?;
        }
        let mut done = self.look(is_new).await;
        loop {
            match done {
                // What comes next begins with a look at the signals.
                Ok(()) | Err(AutoError::Interrupted { .. }) => {}
                Err(error) => return Err(error),
            }
            let next = self.journal.story.next.clone();
            if let TurnOutput::End { end, reason } = next {
                return self.finish(end, reason).await;
            }
            // Work that is done is verified at every end but that of a signal.
            let stopped = match next {
                TurnOutput::Verify => self.interrupted(),
                _ => self.stopped(),
            };
            done = match (stopped, next) {
                (Some((why, reason)), _) => self.journal.write(Entry::Stopped { why, reason }),
                (None, TurnOutput::Ask(ask)) => Box::pin(self.turn(ask)).await,
                (None, _) => self.verify().await,
            };
        }
    }

    /// Gives a worktree what it lacks, and looks at the files before anything is done.
    async fn look(&mut self, is_new: bool) -> Result<(), AutoError> {
        self.prepare_worktree(is_new).await?;
        let story = &self.journal.story;
        self.snapshots = Snapshots::open(&self.processes, story.directory(), &self.journal.directory).await?;
        self.baseline().await?;
        // After the checks: what they write down is no work of the agent.
        if let (Some(snapshots), None) = (&self.snapshots, &self.journal.story.base) {
            let own = self.journal.story.worktree.as_ref();
            let mut state = RepositoryState::capture(&self.processes, snapshots, own).await?;
            if let Some(tree) = own.filter(|_| !is_new) {
                // Somebody worked in it before it was looked at: all that its commit does not have is work.
                state = state.with_tree(&self.start_of(tree).await?);
            }
            state.store(&self.journal.directory)?;
            self.journal.write(Entry::Based { tree: state.tree, head: state.head })?;
        }
        Ok(())
    }

    /// Whether a signal, or another run, ends this one.
    fn interrupted(&self) -> Option<(Stop, String)> {
        if let Some(signal) = self.place.interrupts.heard() {
            return Some((Stop::Interrupted, format!("ended by signal {}", signal.as_raw())));
        }
        why(*self.place.lane.borrow()).map(|why| (Stop::Interrupted, why.to_owned()))
    }

    /// Whether something forbids a further turn.
    fn stopped(&self) -> Option<(Stop, String)> {
        if let Some(interrupted) = self.interrupted() {
            return Some(interrupted);
        }
        if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Some((Stop::Deadline, "the deadline has passed".to_owned()));
        }
        self.out_of_budget().map(|reason| (Stop::Budget, reason))
    }

    /// Which budget is used up, in words. Tokens whose cost nobody knows use up a budget in dollars: it cannot be kept.
    fn out_of_budget(&self) -> Option<String> {
        let story = &self.journal.story;
        let (budget, used) = (story.spec.budget, story.meter.totals());
        let shared = || self.place.shared.and_then(|shared| shared.ends(self.id.as_str(), &used));
        budget.unknown_cost(&story.meter).or_else(|| budget.reached(&used)).or_else(shared)
    }
}

/// Where the diff of the run in `directory` is.
pub fn diff_path(directory: &Path) -> PathBuf {
    directory.join("diff.patch")
}
