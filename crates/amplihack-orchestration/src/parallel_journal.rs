//! The record of several runs that were begun together: `$AMPLIHACK_HOME/sessions/<id>/parallel.jsonl`, written before anything of it
//! begins, so that what was killed or ended by a signal can be continued as a whole.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_agent::event::{RunOutcome, UsageTotals};
use amplihack_config::env::Env;
use amplihack_config::launcher_context::{SessionId, new_session_id, pick_by_prefix, sessions_directory};
use amplihack_sys::form;
use amplihack_sys::fs::create_private_dir;
use amplihack_sys::lock::FileLock;
use amplihack_sys::log::{JsonLog, LogError, read_from};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::budget::{RunBudget, SharedBudget, count_tokens};
use crate::drive::{AutoRunContext, AutoRunSummary, begin_run_as, recorded_summary, resume_run};
use crate::error::AutoError;
use crate::extension::RunExtension;
use crate::journal::{self, AutoRunState};
use crate::progress::AutoProgress;
use crate::race::RaceStatus;
use crate::spec::AutoRunSpec;

/// The form of the record that this version writes and knows.
const FORM: u64 = 1;
const FILE: &str = "parallel.jsonl";

/// An entry of the record: something that happened in the group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
enum GroupEntry {
    /// Several runs were asked for.
    Began {
        /// Specifications of the tasks, in order.
        specs: Vec<AutoRunSpec>,
        /// So many at once.
        max: usize,
        /// True if the runs have one task, and one of them wins.
        race: bool,
    },
    /// A run begins.
    Run {
        /// The number of its task, from 0.
        task: usize,
        /// The run.
        run: String,
    },
    /// The budget of all runs together is another from here on, counted from the beginning.
    Bounded {
        /// The budget.
        budget: RunBudget,
    },
    /// A run ended, or was not begun.
    Ended {
        /// The number of its task, from 0.
        task: usize,
        /// The name of the outcome, or of the error.
        end: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct GroupJournalLine {
    at: Timestamp,
    #[serde(flatten)]
    entry: GroupEntry,
}

/// Several runs that were begun together.
pub struct RunGroup {
    /// The id of all of them.
    pub id: SessionId,
    /// Specifications of the tasks, in order.
    pub specs: Vec<AutoRunSpec>,
    /// So many at once.
    pub max: usize,
    /// True if the runs have one task, and one of them wins.
    pub race: bool,
    /// The budget of all its runs together.
    budget: RunBudget,
    runs: BTreeMap<usize, SessionId>,
    log: JsonLog,
    _lock: FileLock,
}

impl RunGroup {
    /// Writes down what is asked for, below `home`, before anything of it begins.
    pub fn begin(home: &Path, specs: Vec<AutoRunSpec>, max: usize, race: bool) -> Result<Self, AutoError> {
        let id = new_session_id().map_err(AutoError::for_path(home))?;
        let directory = id.directory(home);
        create_private_dir(&directory).map_err(AutoError::for_path(&directory))?;
        let lock = lock_group(&directory, &id)?;
        let mut log = JsonLog::open(&directory.join(FILE))?;
        let entry = GroupEntry::Began { specs: specs.clone(), max, race };
        log.append_value(&GroupJournalLine { at: Timestamp::now(), entry })?;
        let budget = group_budget(&specs);
        Ok(Self { id, specs, max, race, budget, runs: BTreeMap::new(), log, _lock: lock })
    }

    /// Opens the record of the group `id`, to continue it.
    pub fn open(home: &Path, id: SessionId) -> Result<Self, AutoError> {
        let directory = id.directory(home);
        let path = directory.join(FILE);
        let lock = lock_group(&directory, &id)?;
        let (mut began, mut bounded) = (None, None);
        let mut runs = BTreeMap::new();
        for line in read_from(&path, 0)? {
            let line = line?.1;
            form::check_form(&path, &line, FORM).map_err(LogError::from)?;
            // A line that this version does not know, and that does not ask to be known.
            match serde_json::from_slice(&line) {
                Ok(GroupJournalLine { entry: GroupEntry::Began { specs, max, race }, .. }) => {
                    began = Some((specs, max, race));
                }
                Ok(GroupJournalLine { entry: GroupEntry::Run { task, run }, .. }) => {
                    runs.extend(SessionId::parse(&run).map(|run| (task, run)));
                }
                Ok(GroupJournalLine { entry: GroupEntry::Bounded { budget }, .. }) => bounded = Some(budget),
                _ => {}
            }
        }
        let (specs, max, race) = began.ok_or_else(|| AutoError::Damaged { path: path.clone() })?;
        let budget = bounded.unwrap_or_else(|| group_budget(&specs));
        Ok(Self { id, specs, max, race, budget, runs, log: JsonLog::open(&path)?, _lock: lock })
    }

    /// The run of task `number`, if it was begun.
    pub fn run_of_task(&self, number: usize) -> Option<&SessionId> {
        self.runs.get(&number)
    }

    /// States of its runs as their journals tell them, by the numbers of their tasks.
    fn run_states(&self, env: &Env) -> Vec<(usize, &SessionId, AutoRunState)> {
        let home = env.amplihack_home();
        let story = |run: &SessionId| journal::read_run(home.as_deref()?, run).ok();
        self.runs.iter().filter_map(|(task, run)| Some((*task, run, story(run)?))).collect()
    }

    /// The recorded ends of its runs, by the numbers of their tasks.
    pub fn recorded_ends(&self, env: &Env) -> Vec<(usize, RunOutcome)> {
        let stories = self.run_states(env).into_iter();
        stories.filter_map(|(task, _, story)| Some((task, story.ended?.run.outcome()))).collect()
    }

    /// The budget of all its runs together, if there is one. What `extension` gives counts from what is used. So does what its tasks
    /// were given once each of them has ended; until then, the budget stays what it is.
    pub fn shared_budget(
        &mut self,
        env: &Env,
        extension: &RunExtension,
    ) -> Result<Option<SharedBudget>, AutoError> {
        let given = group_budget(&self.specs);
        let stories = self.run_states(env);
        let mut used = UsageTotals::default();
        let mut totals: Vec<(String, UsageTotals)> = Vec::new();
        for (_, run, story) in &stories {
            used.add_amounts(&story.meter.totals());
            totals.push((run.as_str().to_owned(), story.meter.totals()));
        }
        let is_over =
            stories.len() == self.specs.len() && stories.iter().all(|(_, _, story)| story.ended.is_some());
        let (used_tokens, used_usd) = (count_tokens(&used), used.cost_usd.unwrap_or_default());
        let more_tokens = extension.tokens.or(given.tokens.filter(|_| is_over));
        let more_usd = extension.usd.or(given.usd.filter(|_| is_over));
        let budget = RunBudget {
            tokens: more_tokens.map(|more| used_tokens.saturating_add(more)).or(self.budget.tokens),
            usd: more_usd.map(|more| used_usd + more).or(self.budget.usd),
        };
        if budget != self.budget {
            // What is left of it still holds after a kill.
            self.write(GroupEntry::Bounded { budget })?;
            self.budget = budget;
        }
        let shared = budget.is_set().then(|| SharedBudget::new(budget, self.max.min(self.specs.len())));
        if let Some(shared) = &shared {
            for (run, totals) in &totals {
                shared.record_usage(run, totals);
            }
        }
        Ok(shared)
    }

    /// Writes down that the run of task `number` ended.
    pub fn record_end(
        &mut self,
        task: usize,
        end: &Result<AutoRunSummary, AutoError>,
    ) -> Result<(), AutoError> {
        use amplihack_sys::error::ErrorExplanation;
        let end = end.as_ref().map_or_else(ErrorExplanation::kind, |summary| summary.end.name()).to_owned();
        self.write(GroupEntry::Ended { task, end })
    }

    fn write(&mut self, entry: GroupEntry) -> Result<(), AutoError> {
        Ok(self.log.append_value(&GroupJournalLine { at: Timestamp::now(), entry })?)
    }

    /// The id of a new run of task `number`, written down before it is used.
    fn new_run(&mut self, number: usize) -> Result<SessionId, AutoError> {
        let id = new_session_id().map_err(AutoError::for_path("/dev/urandom"))?;
        self.write(GroupEntry::Run { task: number, run: id.to_string() })?;
        self.runs.insert(number, id.clone());
        Ok(id)
    }
}

/// The budget that the tasks of a group were given together.
fn group_budget(specs: &[AutoRunSpec]) -> RunBudget {
    specs.first().map(|spec| spec.budget).unwrap_or_default()
}

/// Holds the group, so that one process carries it out.
fn lock_group(directory: &Path, id: &SessionId) -> Result<FileLock, AutoError> {
    FileLock::acquire(&directory.join("lock"), Duration::ZERO)
        .map_err(|source| AutoError::Driven { id: id.to_string(), source })
}

/// The id of the group that is meant by `wanted`: an id, or its beginning where that is enough.
pub fn find_group(home: &Path, wanted: &str) -> Result<SessionId, AutoError> {
    pick_by_prefix(all_groups(home), wanted, SessionId::as_str)
        .map_err(|_| AutoError::NoGroup { id: wanted.to_owned() })
}

/// Every group below `home`, oldest first.
pub fn all_groups(home: &Path) -> Vec<SessionId> {
    let Ok(entries) = std::fs::read_dir(sessions_directory(home)) else { return Vec::new() };
    let mut found: Vec<SessionId> = entries
        .flatten()
        .filter(|entry| record_path(&entry.path()).is_file())
        .filter_map(|entry| SessionId::parse(entry.file_name().to_str()?).ok())
        .collect();
    found.sort();
    found
}

/// Path of the record of the group in `directory`.
pub fn record_path(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// Carries task `number` of `group` out. One that was not begun begins; one that was killed or ended by a signal continues; any
/// other end is kept, but for one that was no success where `extension` brings new bounds.
pub async fn carry_out(
    place: AutoRunContext<'_>,
    group: &RefCell<RunGroup>,
    number: usize,
    extension: &RunExtension,
) -> Result<AutoRunSummary, AutoError> {
    let home = place.env.amplihack_home().ok_or(AutoError::NoHome)?;
    let known = group.borrow().run_of_task(number).cloned();
    let story = known.map(|id| journal::read_run(&home, &id).map(|story| (id, story)));
    let id = match story {
        Some(Ok((id, story))) => {
            let is_kept = story.ended.as_ref().is_some_and(|ended| {
                ended.run.is_success() || (ended.run.signal.is_none() && extension.is_empty())
            });
            return match recorded_summary(&id, &story).filter(|_| is_kept) {
                Some(summary) => {
                    (place.told)(&id, &AutoProgress::from_summary(&summary));
                    Ok(summary)
                }
                None => resume_run(place, id, extension.clone()).await,
            };
        }
        // It was killed before it had begun.
        Some(Err(AutoError::NotFound { .. })) => group.borrow().run_of_task(number).cloned(),
        Some(Err(error)) => return Err(error),
        None => None,
    };
    if *place.lane.borrow() != RaceStatus::Open {
        return Err(AutoError::GivenUp);
    }
    if let Some(signal) = place.interrupts.pending_signal() {
        return Err(AutoError::Interrupted { signal });
    }
    let Some(mut spec) = group.borrow().specs.get(number).cloned() else { return Err(AutoError::GivenUp) };
    let extension = extension.clone().filled_from(&RunExtension::from_spec(&spec));
    extension.apply_to(&mut spec, 0, 0.0);
    spec.max_turns = extension.max_turns.unwrap_or(spec.max_turns);
    let id = match id {
        Some(id) => id,
        None => group.borrow_mut().new_run(number)?,
    };
    begin_run_as(place, spec, id).await
}
