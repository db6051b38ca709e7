//! A run on disk, before anybody sees it: `$AMPLIHACK_HOME/sessions/<id>/auto.jsonl`, and the run as its journal tells it.
//!
//! The journal holds what the run was told, in order. What the run is follows from that alone, so a resumed run is the same run.

mod story;

use std::path::{Path, PathBuf};

use amplihack_agent::AgentBinary;
use amplihack_agent::event::RunOutcome;
use amplihack_session::RunEnd;
use amplihack_utils::form;
use amplihack_utils::fs::create_private_dir;
use amplihack_utils::launcher_context::{SessionId, meant, sessions};
use amplihack_utils::log::{JsonLog, LogError, read_from};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::budget::Used;
use crate::error::AutoError;
use crate::extension::RunExtension;
use crate::prompts::shortened;
use crate::snapshots::DiffStat;
use crate::spec::Spec;
use crate::turns::{Answer, Phase, Stop};
use crate::verify::{Baseline, Verification};
use crate::worktree::Tree;

pub use story::{RecordedEnd, Story, TurnRecord};

/// The form of the journal that this version writes and knows.
const FORM: u64 = 1;
/// The name of a run's journal in its directory.
const FILE: &str = "auto.jsonl";
/// The most that is kept of an agent's answer.
const MAX_ANSWER: usize = 512 * 1024;

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// The run began.
    Began {
        /// What it is asked to do.
        spec: Box<Spec>,
        /// Where it works, if that is a worktree of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worktree: Option<Tree>,
    },
    /// The worktree was moved, or is to be made elsewhere: where it was, the guard lets no agent write.
    Moved {
        /// The worktree as it is now.
        worktree: Tree,
    },
    /// The worktree has what was asked for it.
    Prepared,
    /// The files were looked at before anything was done.
    Based {
        /// Their state, as git names it.
        tree: String,
        /// The commit that was checked out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
    },
    /// The checks were run before the first turn, or not.
    Baseline {
        /// What they showed.
        baseline: Baseline,
    },
    /// A process took the run over: at its beginning, and at each resume.
    Driven {
        /// The process.
        pid: u32,
        /// When it started, in clock ticks since boot.
        start_time: u64,
    },
    /// The run continues after its end, or gets new bounds.
    Continued {
        /// Its bounds from here on.
        extension: RunExtension,
    },
    /// Its worktree is about to be removed, since nothing would be lost with it.
    WorktreeRemoved,
    /// The agent is about to be asked.
    Asked {
        /// The turn.
        turn: u32,
        /// What for.
        phase: Phase,
        /// The agent.
        agent: AgentBinary,
        /// Its session, if it goes on with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resume: Option<String>,
        /// The launch, whose events are in the directory of that name.
        launch: String,
        /// Messages of the user that are in the prompt, by file.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        appended: Vec<String>,
        /// What it is asked.
        prompt: String,
    },
    /// A turn is over.
    Answered {
        /// The turn.
        turn: u32,
        /// How it went.
        answer: Answer,
        /// What it used.
        used: Used,
        /// What the agent said at its end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// What was denied: rules of the policy, tools.
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
        /// What it used.
        used: Used,
    },
    /// A claim was checked.
    Checked {
        /// The turn that made the claim.
        turn: u32,
        /// What was found.
        verdict: Verification,
        /// The state of the files after it, as git names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// The run is stopped.
    Stopped {
        /// Why.
        why: Stop,
        /// In words.
        reason: String,
    },
    /// The run has ended.
    Ended {
        /// The end, with everything that the run used.
        #[serde(flatten)]
        run: Box<RunEnd>,
        /// Whether files are other than at the beginning; unknown outside a repository.
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
pub struct Line {
    /// When.
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub entry: Entry,
}

/// The journal of one run, for its driver. What is written is applied to the story at once.
pub struct Journal {
    log: JsonLog,
    /// The run.
    pub story: Story,
    /// The run's directory.
    pub directory: PathBuf,
}

impl Journal {
    /// Begins the journal of the run `id` below `home`, in a directory of this user alone.
    pub fn begin(home: &Path, id: &SessionId, spec: Spec, worktree: Option<Tree>) -> Result<Self, AutoError> {
        let directory = id.directory(home);
        create_private_dir(&directory).map_err(AutoError::file(&directory))?;
        let mut log = JsonLog::open(&directory.join(FILE))?;
        let at = Timestamp::now();
        let entry = Entry::Began { spec: Box::new(spec.clone()), worktree: worktree.clone() };
        log.append_value(&Line { at, entry })?;
        Ok(Self { log, story: Story::begin(spec, worktree, at), directory })
    }

    /// Opens the journal of the run `id`, to go on with it.
    pub fn open(home: &Path, id: &SessionId) -> Result<Self, AutoError> {
        let story = read(home, id)?;
        let directory = id.directory(home);
        Ok(Self { log: JsonLog::open(&directory.join(FILE))?, story, directory })
    }

    /// Writes down what happened, and takes it in.
    pub fn write(&mut self, entry: Entry) -> Result<(), AutoError> {
        self.write_at(Timestamp::now(), entry)
    }

    /// Writes down what happened `at` a moment, and takes it in.
    pub fn write_at(&mut self, at: Timestamp, mut entry: Entry) -> Result<(), AutoError> {
        if let Entry::Answered { text: Some(text), .. } = &mut entry {
            *text = shortened(text, MAX_ANSWER);
        }
        self.story.apply(at, &entry);
        let over = matches!(entry, Entry::Ended { .. });
        self.log.append_value(&Line { at, entry })?;
        if over {
            self.log.sync()?;
        }
        Ok(())
    }
}

/// The run `id` below `home`, as its journal tells it.
pub fn read(home: &Path, id: &SessionId) -> Result<Story, AutoError> {
    let path = id.directory(home).join(FILE);
    if !path.is_file() {
        return Err(AutoError::NotFound { id: id.to_string() });
    }
    let mut story: Option<Story> = None;
    for line in read_from(&path, 0)? {
        let line = line?.1;
        form::check(&path, &line, FORM).map_err(LogError::from)?;
        // A line that this version does not know, and that does not ask to be known.
        let Ok(Line { at, entry }) = serde_json::from_slice(&line) else { continue };
        match (&mut story, entry) {
            (None, Entry::Began { spec, worktree }) => {
                story = Some(Story::begin(*spec, worktree, at));
            }
            (Some(story), entry) => story.apply(at, &entry),
            (None, _) => {}
        }
    }
    story.ok_or(AutoError::Damaged { path })
}

/// The id of the run that is meant by `wanted`: an id, or its beginning where that is enough.
pub fn find(home: &Path, wanted: &str) -> Result<SessionId, AutoError> {
    meant(all(home), wanted, SessionId::as_str).map_err(|_| AutoError::NotFound { id: wanted.to_owned() })
}

/// Every unattended run below `home`, oldest first.
pub fn all(home: &Path) -> Vec<SessionId> {
    let Ok(entries) = std::fs::read_dir(sessions(home)) else { return Vec::new() };
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
    use amplihack_utils::launcher_context::new_session_id;

    use super::*;
    use crate::claim::{Claim, Status};
    use amplihack_agent::event::{EndEvent, Summary, Totals};
    use amplihack_session::Evidence;

    use crate::turns::TurnOutput;

    fn answered(turn: u32, status: Status, session: &str) -> Entry {
        let totals = Totals { input_tokens: 10, ..Totals::default() };
        Entry::Answered {
            turn,
            answer: Answer {
                run: Box::new(RunEnd::new(EndEvent::success(Summary::default()), Evidence::Record)),
                cut: false,
                claim: Some(Claim { status, summary: None, changes: Some(turn == 1) }),
                alive: true,
                resumed: turn > 1,
                denials: 0,
            },
            used: Used::of(AgentBinary::Claude, Some(session.to_owned()), totals),
            text: Some(format!("answer {turn}")),
            denied: Vec::new(),
            tree: None,
        }
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let home = tempfile::tempdir().unwrap();
        let id = new_session_id().unwrap();
        let spec = Spec::new(AgentBinary::Claude, "it's".to_owned(), PathBuf::from("/w"));
        let mut journal = Journal::begin(home.path(), &id, spec, None).unwrap();
        for turn in 1..=3 {
            journal
                .write(Entry::Asked {
                    turn,
                    phase: Phase::Plan,
                    agent: AgentBinary::Claude,
                    resume: None,
                    launch: format!("launch{turn}"),
                    appended: Vec::new(),
                    prompt: "p".to_owned(),
                })
                .unwrap();
            journal
                .write(answered(turn, if turn == 3 { Status::Done } else { Status::Working }, "s"))
                .unwrap();
        }
        let again = read(home.path(), &id).unwrap();
        assert_eq!(again.next, TurnOutput::Verify);
        assert_eq!(again.session(), Some("s"));
        assert_eq!(again.changes, Some(true));
        assert_eq!(again.meter.totals().input_tokens, 30);
        assert_eq!(again.launches().collect::<Vec<_>>(), ["launch1", "launch2", "launch3"]);
        assert_eq!(format!("{again:?}"), format!("{:?}", journal.story));
        assert_eq!(find(home.path(), &id.as_str()[..20]).unwrap(), id);
        assert!(find(home.path(), "").is_err());
        // A torn tail is nothing that happened.
        let path = journal.directory.join(FILE);
        let mut text = std::fs::read(&path).unwrap();
        text.truncate(text.len() - 3);
        std::fs::write(&path, text).unwrap();
        let torn = read(home.path(), &id).unwrap();
        assert!(matches!(torn.next, TurnOutput::Ask(ask) if ask.turn == 3), "{:?}", torn.next);
        assert_eq!(torn.turns.len(), 3);
    }
}
