//! A run on disk, before anybody sees it: `$AMPLIHACK_HOME/sessions/<id>/auto.jsonl`, and the run as its journal tells it.
//!
//! The journal holds what the run was told, in order. What the run is follows from that alone, so a resumed run is the same run.

mod run_state;

use std::path::{Path, PathBuf};

use amplihack_agent::AgentBinary;
use amplihack_agent::event::RunOutcome;
use amplihack_config::launcher_context::{SessionId, pick_by_prefix, sessions_directory};
use amplihack_session::RunEnd;
use amplihack_sys::form;
use amplihack_sys::fs::create_private_dir;
use amplihack_sys::log::{JsonLog, LogError, read_from};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::budget::LaunchUsage;
use crate::error::AutoError;
use crate::extension::RunExtension;
use crate::prompts::shorten_text;
use crate::snapshots::DiffStat;
use crate::spec::AutoRunSpec;
use crate::turns::{RunStopCause, TurnAnswer, TurnPhase};
use crate::verify::{CheckBaseline, WorkVerification};
use crate::worktree::RunWorktree;

pub use run_state::{AutoRunState, RecordedEnd, TurnRecord};

/// The form of the journal that this version writes and knows.
const FORM: u64 = 1;
/// The name of a run's journal in its directory.
const FILE: &str = "auto.jsonl";
/// The most that is kept of an agent's answer.
const MAX_ANSWER: usize = 512 * 1024;

/// An entry of the journal: something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum AutoJournalEntry {
    /// The run began.
    Began {
        /// Specification of the run.
        spec: Box<AutoRunSpec>,
        /// The run's own worktree; `None` if it works in the user's directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worktree: Option<RunWorktree>,
    },
    /// The worktree was moved, or is to be made elsewhere: where it was, the guard lets no agent write.
    Moved {
        /// The worktree as it is now.
        worktree: RunWorktree,
    },
    /// The worktree has what was asked for it.
    Prepared,
    /// The files were looked at before anything was done.
    Based {
        /// State of the files, as git names it.
        tree: String,
        /// The commit that was checked out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
    },
    /// The checks were run before the first turn, or not.
    Baseline {
        /// Results of the checks.
        baseline: CheckBaseline,
    },
    /// A process took the run over: at its beginning, and at each resume.
    Driven {
        /// The process.
        pid: u32,
        /// Start time of the process, in clock ticks since boot.
        start_time: u64,
    },
    /// The run continues after its end, or gets new bounds.
    Continued {
        /// Bounds of the run from here on.
        extension: RunExtension,
    },
    /// The run's worktree is about to be removed, since nothing would be lost with it.
    WorktreeRemoved,
    /// The agent is about to be asked.
    Asked {
        /// The turn.
        turn: u32,
        /// Purpose of the turn.
        phase: TurnPhase,
        /// The agent.
        agent: AgentBinary,
        /// Session of the agent that is continued; `None` for a new one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume: Option<String>,
        /// The launch, whose events are in the directory of that name.
        launch: String,
        /// Messages of the user that are in the prompt, by file.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        appended: Vec<String>,
        /// Prompt of the turn.
        prompt: String,
    },
    /// A turn is over.
    Answered {
        /// The turn.
        turn: u32,
        /// The answer, with the end of the launch.
        answer: TurnAnswer,
        /// Usage of the turn.
        used: LaunchUsage,
        /// Text of the agent at its end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Denied calls: rules of the policy, tools.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        denied: Vec<String>,
        /// The state of the files after it, as git names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// A turn was broken off, and is asked for again or not at all.
    Broken {
        /// The turn.
        turn: u32,
        /// Usage of the turn.
        used: LaunchUsage,
    },
    /// A claim was checked.
    Checked {
        /// The turn that made the claim.
        turn: u32,
        /// Findings of the verification.
        verdict: WorkVerification,
        /// The state of the files after it, as git names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// The run is stopped.
    Stopped {
        /// Cause of the stop.
        why: RunStopCause,
        /// In words.
        reason: String,
    },
    /// The run has ended.
    Ended {
        /// The end, with everything that the run used.
        #[serde(flatten)]
        run: Box<RunEnd>,
        /// True if files differ from the beginning; unknown outside a repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed: Option<bool>,
        /// The limit, or other end, at which a verification found the work done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<RunOutcome>,
        /// Files of the checks themselves that are other than at the beginning.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        check_changed: Vec<String>,
        /// The size of what was changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stat: Option<DiffStat>,
        /// The files that were changed, below the top of the repository.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<PathBuf>,
        /// The reason for which its worktree is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
    },
    /// The command that tells the end is about to be run.
    Notified,
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AutoJournalLine {
    /// Time of the entry.
    pub at: Timestamp,
    /// The entry itself.
    #[serde(flatten)]
    pub entry: AutoJournalEntry,
}

/// The journal of one run, for its driver. What is written is applied to the story at once.
pub struct AutoJournal {
    log: JsonLog,
    /// The run.
    pub story: AutoRunState,
    /// The run's directory.
    pub directory: PathBuf,
}

impl AutoJournal {
    /// Begins the journal of the run `id` below `home`, in a directory of this user alone.
    pub fn begin_run(
        home: &Path,
        id: &SessionId,
        spec: AutoRunSpec,
        worktree: Option<RunWorktree>,
    ) -> Result<Self, AutoError> {
        let directory = id.directory(home);
        create_private_dir(&directory).map_err(AutoError::for_path(&directory))?;
        let mut log = JsonLog::open(&directory.join(FILE))?;
        let at = Timestamp::now();
        let entry = AutoJournalEntry::Began { spec: Box::new(spec.clone()), worktree: worktree.clone() };
        log.append_value(&AutoJournalLine { at, entry })?;
        Ok(Self { log, story: AutoRunState::begin(spec, worktree, at), directory })
    }

    /// Opens the journal of the run `id`, to go on with it.
    pub fn open(home: &Path, id: &SessionId) -> Result<Self, AutoError> {
        let story = read_run(home, id)?;
        let directory = id.directory(home);
        Ok(Self { log: JsonLog::open(&directory.join(FILE))?, story, directory })
    }

    /// Writes down what happened, and takes it in.
    pub fn write(&mut self, entry: AutoJournalEntry) -> Result<(), AutoError> {
        self.write_at(Timestamp::now(), entry)
    }

    /// Writes down what happened `at` a moment, and takes it in.
    pub fn write_at(&mut self, at: Timestamp, mut entry: AutoJournalEntry) -> Result<(), AutoError> {
        if let AutoJournalEntry::Answered { text: Some(text), .. } = &mut entry {
            *text = shorten_text(text, MAX_ANSWER);
        }
        self.story.apply_entry(at, &entry);
        let over = matches!(entry, AutoJournalEntry::Ended { .. });
        self.log.append_value(&AutoJournalLine { at, entry })?;
        if over {
            self.log.sync()?;
        }
        Ok(())
    }
}

/// The run `id` below `home`, as its journal tells it.
pub fn read_run(home: &Path, id: &SessionId) -> Result<AutoRunState, AutoError> {
    let path = id.directory(home).join(FILE);
    if !path.is_file() {
        return Err(AutoError::NotFound { id: id.to_string() });
    }
    let mut story: Option<AutoRunState> = None;
    for line in read_from(&path, 0)? {
        let line = line?.1;
        form::check_form(&path, &line, FORM).map_err(LogError::from)?;
        // A line that this version does not know, and that does not ask to be known.
        let Ok(AutoJournalLine { at, entry }) = serde_json::from_slice(&line) else { continue };
        match (&mut story, entry) {
            (None, AutoJournalEntry::Began { spec, worktree }) => {
                story = Some(AutoRunState::begin(*spec, worktree, at));
            }
            (Some(story), entry) => story.apply_entry(at, &entry),
            (None, _) => {}
        }
    }
    story.ok_or(AutoError::Damaged { path })
}

/// The id of the run that is meant by `wanted`: an id, or its beginning where that is enough.
pub fn find_run(home: &Path, wanted: &str) -> Result<SessionId, AutoError> {
    pick_by_prefix(all_runs(home), wanted, SessionId::as_str)
        .map_err(|_| AutoError::NotFound { id: wanted.to_owned() })
}

/// Every unattended run below `home`, oldest first.
pub fn all_runs(home: &Path) -> Vec<SessionId> {
    let Ok(entries) = std::fs::read_dir(sessions_directory(home)) else { return Vec::new() };
    let mut found: Vec<SessionId> = entries
        .flatten()
        .filter(|entry| entry.path().join(FILE).is_file())
        .filter_map(|entry| SessionId::parse(entry.file_name().to_str()?).ok())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use amplihack_config::launcher_context::new_session_id;

    use super::*;
    use crate::claim::{AgentClaim, ClaimStatus};
    use amplihack_agent::event::{EndEvent, RunEndSummary, UsageTotals};
    use amplihack_session::EndEvidence;

    use crate::turns::TurnOutput;

    fn answered(turn: u32, status: ClaimStatus, session: &str) -> AutoJournalEntry {
        let totals = UsageTotals { input_tokens: 10, ..UsageTotals::default() };
        AutoJournalEntry::Answered {
            turn,
            answer: TurnAnswer {
                run: Box::new(RunEnd::new(
                    EndEvent::of_success(RunEndSummary::default()),
                    EndEvidence::Record,
                )),
                cut: false,
                claim: Some(AgentClaim { status, summary: None, changes: Some(turn == 1) }),
                alive: true,
                resumed: turn > 1,
                denials: 0,
            },
            used: LaunchUsage::from_totals(AgentBinary::Claude, Some(session.to_owned()), totals),
            text: Some(format!("answer {turn}")),
            denied: Vec::new(),
            tree: None,
        }
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let home = tempfile::tempdir().unwrap();
        let id = new_session_id().unwrap();
        let spec = AutoRunSpec::new(AgentBinary::Claude, "it's".to_owned(), PathBuf::from("/w"));
        let mut journal = AutoJournal::begin_run(home.path(), &id, spec, None).unwrap();
        for turn in 1..=3 {
            journal
                .write(AutoJournalEntry::Asked {
                    turn,
                    phase: TurnPhase::Plan,
                    agent: AgentBinary::Claude,
                    resume: None,
                    launch: format!("launch{turn}"),
                    appended: Vec::new(),
                    prompt: "p".to_owned(),
                })
                .unwrap();
            journal
                .write(answered(turn, if turn == 3 { ClaimStatus::Done } else { ClaimStatus::Working }, "s"))
                .unwrap();
        }
        let again = read_run(home.path(), &id).unwrap();
        assert_eq!(again.next, TurnOutput::Verify);
        assert_eq!(again.agent_session(), Some("s"));
        assert_eq!(again.changes, Some(true));
        assert_eq!(again.meter.totals().input_tokens, 30);
        assert_eq!(again.launches().collect::<Vec<_>>(), ["launch1", "launch2", "launch3"]);
        assert_eq!(format!("{again:?}"), format!("{:?}", journal.story));
        assert_eq!(find_run(home.path(), &id.as_str()[..20]).unwrap(), id);
        assert!(find_run(home.path(), "").is_err());
        // A torn tail is nothing that happened.
        let path = journal.directory.join(FILE);
        let mut text = std::fs::read(&path).unwrap();
        text.truncate(text.len() - 3);
        std::fs::write(&path, text).unwrap();
        let torn = read_run(home.path(), &id).unwrap();
        assert!(matches!(torn.next, TurnOutput::Ask(ask) if ask.turn == 3), "{:?}", torn.next);
        assert_eq!(torn.turns.len(), 3);
    }
}
