//! The record of a run's actions, on disk before anybody sees it: `$AMPLIHACK_HOME/recipe-runs/<id>/`.
//!
//! `journal.jsonl` holds the entries, one JSON object a line; `steps/` the outputs, the records of ends, and the list of
//! processes ([`StepSpool`]); `outputs/` what is too long for a line.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use amplihack_session::step::StepSpool;
use amplihack_sys as sys;
use amplihack_sys::form;
use amplihack_sys::fs::{WriteDurability, create_private_dir, write_atomic};
use amplihack_sys::log::{JsonLog, LogError, read_from};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::inputs::{RecipeInputs, RecipeInputsError};
use crate::path_json;
use crate::result::{SCHEMA_VERSION, StepResult, StepResultStatus};

/// The longest output within a line.
const INLINE: usize = 64 * 1024;

/// An action of a run in its journal. `entry` in JSON, in snake case.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "most entries are ends of steps, the large ones")]
pub enum RecipeRunEntry {
    /// A runner began, or went on with, the run.
    Runner(Box<RecipeRunHeader>),
    /// A recipe began: the first one, or one inside.
    Recipe {
        /// The path of its step; empty for the first recipe.
        path: String,
        /// The recipe's name.
        name: String,
    },
    /// A step began.
    Begin {
        /// The step's path: numbers of steps from the first recipe on.
        path: String,
        /// The step's id.
        step: String,
        /// `bash`, `agent` or `recipe`.
        kind: String,
    },
    /// Something is about to be started for a step.
    Launch {
        /// The step's path.
        path: String,
        /// The name of its files.
        name: String,
        /// `step`, `hook` or `stage`.
        what: String,
        /// An agent is asked again: why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again: Option<String>,
        /// Seconds until then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<f64>,
    },
    /// An agent's session began for a step.
    Session {
        /// The step's path.
        path: String,
        /// The agent.
        agent: String,
        /// The session, whose events are kept.
        session: String,
    },
    /// Something to know about a step that ends nothing.
    Warning {
        /// The step's path.
        path: String,
        /// The text of the warning.
        message: String,
    },
    /// A step ended.
    End {
        /// The step's path.
        path: String,
        /// The result of the step.
        result: StepResult,
        /// True if the step's failure ends its recipe.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fatal: bool,
        /// The file with its output, if that is too long for a line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    /// A recipe ended.
    RecipeEnd {
        /// The path of its step; empty for the first recipe.
        path: String,
        /// True if no fatal step failed.
        success: bool,
    },
    /// A signal ended the runner.
    Interrupted {
        /// The number of the signal.
        signal: i32,
    },
}

/// The identity of a run and of its runner, with all that a resume needs to continue it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecipeRunHeader {
    /// The version of this form.
    pub schema_version: u32,
    /// The run.
    pub run_id: String,
    /// The recipe's file.
    #[serde(with = "path_json")]
    pub recipe: PathBuf,
    /// The recipe's name.
    pub name: String,
    /// The arguments of the command that began the run, for a resume to use again.
    pub asked: serde_json::Value,
    /// The inputs of the run; `None`: they are long, and in a file of their own.
    #[serde(default)]
    pub given: Option<RecipeInputs>,
    /// The files that the run was compiled from, with their contents' SHA-256.
    #[serde(with = "path_json::digests")]
    pub sources: Vec<(PathBuf, String)>,
    /// The working directory of the run's steps.
    #[serde(with = "path_json")]
    pub cwd: PathBuf,
    /// The runner.
    pub pid: u32,
    /// The start time of that process, in clock ticks since boot.
    pub start_time: u64,
}

impl RecipeRunHeader {
    /// Reports whether the runner's process is alive.
    pub fn is_alive(&self) -> bool {
        sys::process_alive(self.pid, self.start_time)
    }
}

/// An entry with its time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecipeRunLine {
    /// The time at which the entry was written.
    pub at: Timestamp,
    /// The entry itself.
    #[serde(flatten)]
    pub entry: RecipeRunEntry,
}

/// A borrowed entry with its time, for writing.
#[derive(Serialize)]
struct RecipeRunLineRef<'a> {
    at: Timestamp,
    #[serde(flatten)]
    entry: &'a RecipeRunEntry,
}

/// Returns the directory below `home` that holds runs.
pub fn runs_directory(home: &Path) -> PathBuf {
    home.join("recipe-runs")
}

/// The variable by which a run's descendants are known.
pub(crate) const RUN_ID: &str = "AMPLIHACK_RECIPE_RUN_ID";

/// The journal of one run, for its writer.
#[derive(Debug)]
pub struct RecipeRunJournal {
    directory: PathBuf,
    log: JsonLog,
    spool: Arc<StepSpool>,
    buffer: Vec<u8>,
    /// True if the journal stays when the run has ended.
    lasts: bool,
}

impl RecipeRunJournal {
    /// Opens the journal in `directory`, which is made if it is missing, private to this user.
    pub fn open(directory: &Path) -> Result<Self, LogError> {
        Self::open_in(directory, true)
    }

    /// Opens one that is gone with its run.
    pub fn open_temporary(directory: &Path) -> Result<Self, LogError> {
        Self::open_in(directory, false)
    }

    fn open_in(directory: &Path, lasts: bool) -> Result<Self, LogError> {
        let failed = |source| LogError::Io { path: directory.to_owned(), source };
        let steps = directory.join("steps");
        create_private_dir(&steps).map_err(failed)?;
        let spool = Arc::new(StepSpool::open(&steps).map_err(failed)?);
        let log = JsonLog::open(&directory.join("journal.jsonl"))?;
        Ok(Self { directory: directory.to_owned(), log, spool, buffer: Vec::new(), lasts })
    }

    /// The run's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The spool to which steps write their output.
    pub fn spool(&self) -> &Arc<StepSpool> {
        &self.spool
    }

    /// Appends `entries` by one write.
    pub fn append_entries(&mut self, entries: &[RecipeRunEntry]) -> Result<(), LogError> {
        let at = Timestamp::now();
        self.buffer.clear();
        for entry in entries {
            let long = self.store_long_output(entry)?;
            let entry = long.as_ref().unwrap_or(entry);
            serde_json::to_writer(&mut self.buffer, &RecipeRunLineRef { at, entry })
                .map_err(|source| LogError::Value { path: self.directory.clone(), source })?;
            self.buffer.push(b'\n');
        }
        self.log.append_lines(&self.buffer)
    }

    /// An end whose output is too long for a line goes to a file of its own first.
    fn store_long_output(&self, entry: &RecipeRunEntry) -> Result<Option<RecipeRunEntry>, LogError> {
        let RecipeRunEntry::End { path, result, fatal, file: None } = entry else { return Ok(None) };
        if result.output.len() <= INLINE {
            return Ok(None);
        }
        let name = format!("outputs/{path}");
        let file = self.directory.join(&name);
        let failed = |source| LogError::Io { path: file.clone(), source };
        create_private_dir(&self.directory.join("outputs")).map_err(failed)?;
        write_atomic(&file, result.output.as_bytes(), 0o600, WriteDurability::Process).map_err(failed)?;
        let result = StepResult { output: "".into(), ..result.clone() };
        Ok(Some(RecipeRunEntry::End { path: path.clone(), result, fatal: *fatal, file: Some(name) }))
    }

    /// Makes what was written survive the machine, if it is to survive the run.
    pub fn sync(&self) -> Result<(), LogError> {
        if self.lasts { self.log.sync() } else { Ok(()) }
    }
}

/// A run as its journal tells it.
#[derive(Debug, Clone)]
pub struct RecordedRecipeRun {
    /// Path to the run's directory.
    pub directory: PathBuf,
    /// The header of the run's latest runner.
    pub header: RecipeRunHeader,
    /// The time at which the run began.
    pub began: Timestamp,
    /// The time at which something was last written.
    pub last: Timestamp,
    /// Everything that it did.
    pub entries: Vec<RecipeRunEntry>,
    /// True if the run had ended before its latest runner began, and had failed.
    pub failed_before: bool,
}

impl RecordedRecipeRun {
    /// Reads the run in `directory`. `None`: there is none. A line that this version does not know is passed over; one that says that it has
    /// a newer form is an error: what was done would be done again.
    pub fn read(directory: &Path) -> Result<Option<Self>, LogError> {
        let log = directory.join("journal.jsonl");
        let lines = match read_from(&log, 0) {
            Ok(lines) => lines,
            Err(LogError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut found: Option<Self> = None;
        for line in lines {
            let line = line?.1;
            form::check_form(&log, &line, u64::from(SCHEMA_VERSION))?;
            let Ok(RecipeRunLine { at, entry }) = serde_json::from_slice(&line) else { continue };
            let entry = load_long_output(entry, directory)?;
            match (&mut found, entry) {
                (None, RecipeRunEntry::Runner(header)) => {
                    let directory = directory.to_owned();
                    found = Some(Self {
                        directory,
                        header: *header,
                        began: at,
                        last: at,
                        entries: Vec::new(),
                        failed_before: false,
                    });
                }
                (None, _) => {}
                (Some(found), RecipeRunEntry::Runner(header)) => {
                    found.header = *header;
                    found.last = at;
                    found.failed_before |= found.latest_success() == Some(false);
                    // The new runner tells its own story of what is not a step.
                    found.entries.retain(|entry| {
                        !matches!(entry, RecipeRunEntry::Interrupted { .. })
                            && !matches!(entry, RecipeRunEntry::RecipeEnd { path, .. } if path.is_empty())
                    });
                }
                (Some(found), entry) => {
                    found.last = at;
                    found.entries.push(entry);
                }
            }
        }
        Ok(found)
    }

    /// Loads the inputs of the run.
    pub fn load_inputs(&self) -> Result<RecipeInputs, RecipeInputsError> {
        self.header.given.clone().map_or_else(|| RecipeInputs::load_from(&self.directory), Ok)
    }

    /// The state of the run, in a word: `completed`, `failed`, `running`, `interrupted`, `killed`.
    pub fn state(&self) -> &'static str {
        let interrupted =
            self.entries.iter().any(|entry| matches!(entry, RecipeRunEntry::Interrupted { .. }));
        match self.latest_success() {
            Some(true) => "completed",
            Some(false) if interrupted => "interrupted",
            Some(false) => "failed",
            None if self.header.is_alive() => "running",
            None if interrupted => "interrupted",
            None => "killed",
        }
    }

    /// Reports whether a fatal step failed, in this runner's time or before.
    pub fn has_failed(&self) -> bool {
        self.failed_before || self.latest_success() == Some(false)
    }

    /// True if no fatal step failed; `None` if the latest runner did not come to the end.
    fn latest_success(&self) -> Option<bool> {
        self.entries.iter().rev().find_map(|entry| match entry {
            RecipeRunEntry::RecipeEnd { path, success } if path.is_empty() => Some(*success),
            _ => None,
        })
    }

    /// Steps that ended, and how many of them failed. Of one that ran again the last end counts.
    pub fn step_counts(&self) -> (usize, usize) {
        let ends = self.entries.iter().filter_map(|entry| match entry {
            RecipeRunEntry::End { path, result, .. } => Some((path.as_str(), result.status)),
            _ => None,
        });
        let ends: BTreeMap<&str, StepResultStatus> = ends.collect();
        (ends.len(), ends.values().filter(|status| **status == StepResultStatus::Failed).count())
    }
}

fn load_long_output(entry: RecipeRunEntry, directory: &Path) -> Result<RecipeRunEntry, LogError> {
    let RecipeRunEntry::End { path, mut result, fatal, file: Some(name) } = entry else { return Ok(entry) };
    let file = directory.join("outputs").join(Path::new(&name).file_name().unwrap_or_default());
    let bytes = std::fs::read(&file).map_err(|source| LogError::Io { path: file, source })?;
    result.output = String::from_utf8_lossy(&bytes).into();
    Ok(RecipeRunEntry::End { path, result, fatal, file: None })
}

/// Every run below `home`, oldest first, and what could not be read.
pub fn recorded_runs(home: &Path) -> (Vec<RecordedRecipeRun>, Vec<LogError>) {
    let directory = runs_directory(home);
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return (found, errors),
        Err(source) => return (found, vec![LogError::Io { path: directory, source }]),
    };
    for entry in entries.flatten() {
        match RecordedRecipeRun::read(&entry.path()) {
            Ok(Some(run)) => found.push(run),
            Ok(None) => {}
            Err(error) => errors.push(error),
        }
    }
    found.sort_by(|a, b| (a.began, &a.header.run_id).cmp(&(b.began, &b.header.run_id)));
    (found, errors)
}
