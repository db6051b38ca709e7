//! A run as its journal tells it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use amplihack_agent::AgentBinary;
use amplihack_agent::event::RunOutcome;
use amplihack_session::RunEnd;
use jiff::Timestamp;
use serde::Serialize;

use super::AutoJournalEntry;
use crate::budget::{LaunchUsage, UsageMeter, count_tokens};
use crate::error::AutoError;
use crate::extension::RunExtension;
use crate::snapshots::DiffStat;
use crate::spec::AutoRunSpec;
use crate::turns::{
    TurnAnswer, TurnFiles, TurnInput, TurnOutput, TurnPhase, TurnRules, Turns, VerificationResult,
};
use crate::verify::{BaselineOutcome, CheckBaseline, WorkVerification};
use crate::worktree::RunWorktree;

/// A turn, as it is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnRecord {
    /// Number of the turn.
    pub turn: u32,
    /// Purpose of the turn.
    pub phase: TurnPhase,
    /// The agent.
    pub agent: AgentBinary,
    /// The launches that it took, the last one last.
    pub launches: Vec<String>,
    /// Time at which it was asked for.
    pub started: Timestamp,
    /// The answer; `None` as long as the turn continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<TurnAnswer>,
    /// Denied calls: rules of the policy, tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// Findings of the verification of its claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<WorkVerification>,
}

/// The recorded end of an unattended run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedEnd {
    /// The end.
    #[serde(flatten)]
    pub run: RunEnd,
    /// The time of it.
    pub at: Timestamp,
    /// True if files differ from the beginning; `None` outside a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// The limit, or other end, at which a verification found the work done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<RunOutcome>,
    /// Files of the checks themselves that are other than at the beginning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub check_changed: Vec<String>,
    /// The size of what was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stat: Option<DiffStat>,
    /// The files that were changed, below the top of the repository.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
    /// The reason for which its worktree is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// True once the command that tells it was started.
    pub notified: bool,
}

/// A run, as its journal tells it.
#[derive(Debug, Clone)]
pub struct AutoRunState {
    /// Specification of the run.
    pub spec: AutoRunSpec,
    /// The run's own worktree; `None` if it works in the user's directory.
    pub worktree: Option<RunWorktree>,
    /// True once the worktree has what was asked for it.
    pub prepared: bool,
    /// The state of the files at the beginning.
    pub base: Option<String>,
    /// Results of the checks before the first turn; `None` without checks.
    pub baseline: Option<CheckBaseline>,
    /// The commit that was checked out at the beginning.
    pub head: Option<String>,
    /// Time at which the run began.
    pub began: Timestamp,
    /// Next output of the machine: what is to be done.
    pub next: TurnOutput,
    /// The agent at work.
    pub agent: AgentBinary,
    /// The turns so far.
    pub turns: Vec<TurnRecord>,
    /// The plan, as the agent told it.
    pub plan: Option<String>,
    /// The agent's last answer.
    pub last: Option<String>,
    /// Findings of the last verification, if they are to be mended.
    pub findings: Option<String>,
    /// True if the task asks for changes to files, as the agent reported; `None` if it did not.
    pub changes: Option<bool>,
    /// The end.
    pub ended: Option<RecordedEnd>,
    /// The process that drove it last.
    pub driver: Option<(u32, u64)>,
    /// Meter of what the run used.
    pub meter: UsageMeter,
    /// Messages of the user that were told, by file.
    pub told: Vec<String>,
    /// The state of the files when they were last looked at.
    tree: Option<String>,
    /// The check that failed last, if no file has changed since.
    refuted_by: Option<String>,
    /// The bounds that began with the run, or with its last continuation.
    pub extension: RunExtension,
    /// From when on its deadline counts.
    pub since: Timestamp,
    /// A resume brought other checks, which no turn was made with yet.
    rebase_checks: bool,
    /// The worktree was removed, since nothing would be lost with it.
    pub worktree_removed: bool,
    last_entry: Timestamp,
    sessions: BTreeMap<AgentBinary, String>,
    machine: Turns,
    stopped: Option<String>,
}

impl AutoRunState {
    pub(super) fn begin(spec: AutoRunSpec, worktree: Option<RunWorktree>, at: Timestamp) -> Self {
        let mut machine = Turns::new(spec.turn_rules());
        let next = machine.step(TurnInput::Begin);
        Self {
            worktree,
            prepared: false,
            base: None,
            baseline: None,
            tree: None,
            refuted_by: None,
            head: None,
            began: at,
            next,
            agent: spec.agent,
            turns: Vec::new(),
            plan: None,
            last: None,
            findings: None,
            changes: None,
            ended: None,
            driver: None,
            meter: UsageMeter::new(spec.prices.clone()),
            told: Vec::new(),
            extension: RunExtension::from_spec(&spec),
            since: at,
            rebase_checks: false,
            worktree_removed: false,
            last_entry: at,
            sessions: BTreeMap::new(),
            machine,
            stopped: None,
            spec,
        }
    }

    /// Takes in what happened.
    pub(super) fn apply_entry(&mut self, at: Timestamp, entry: &AutoJournalEntry) {
        match entry {
            AutoJournalEntry::Began { .. } => {}
            AutoJournalEntry::Moved { worktree } => {
                self.worktree = Some(worktree.clone());
                // Agents keep their sessions by directory.
                self.sessions.clear();
            }
            AutoJournalEntry::Prepared => self.prepared = true,
            AutoJournalEntry::Baseline { baseline } => {
                match baseline.outcome {
                    BaselineOutcome::Green => self.machine.set_baseline(true),
                    BaselineOutcome::Red => self.machine.set_baseline(false),
                    BaselineOutcome::CouldNotRun | BaselineOutcome::Skipped => {}
                }
                self.baseline = Some(baseline.clone());
            }
            AutoJournalEntry::Based { tree, head } => {
                self.base = Some(tree.clone());
                self.tree = Some(tree.clone());
                self.head.clone_from(head);
            }
            AutoJournalEntry::Driven { pid, start_time } => {
                // The time in which nobody drove it does not count.
                let idle = at.duration_since(self.last_entry);
                self.since = self.since.checked_add(idle).unwrap_or(at);
                self.driver = Some((*pid, *start_time));
            }
            AutoJournalEntry::Continued { extension } => self.apply_extension(at, extension),
            AutoJournalEntry::WorktreeRemoved => self.worktree_removed = true,
            AutoJournalEntry::Asked { turn, phase, agent, launch, appended, .. } => {
                self.agent = *agent;
                self.worktree_removed = false;
                self.rebase_checks = false;
                self.told.extend(appended.iter().cloned());
                if self.turns.last().is_none_or(|last| last.turn != *turn) {
                    self.turns.push(TurnRecord {
                        turn: *turn,
                        phase: *phase,
                        agent: *agent,
                        launches: Vec::new(),
                        started: at,
                        answer: None,
                        denied: Vec::new(),
                        verdict: None,
                    });
                }
                if let Some(last) = self.turns.last_mut() {
                    last.launches.push(launch.clone());
                }
            }
            AutoJournalEntry::Answered { answer, used, text, denied, tree, .. } => {
                self.apply_answer(answer, text.as_deref(), denied);
                self.add_usage(used);
                // What a turn that failed was to mend is still to be mended.
                if answer.cut || answer.run.is_success() {
                    self.findings = None;
                }
                let files = self.compare_files(tree.as_deref());
                self.step_machine(TurnInput::Answered { answer: answer.clone(), files });
            }
            AutoJournalEntry::Broken { used, .. } => {
                self.add_usage(used);
                self.compare_files(None);
                self.machine.set_worked();
            }
            AutoJournalEntry::Checked { verdict, tree, .. } => {
                self.apply_verification(verdict, tree.as_deref());
            }
            AutoJournalEntry::Stopped { why, reason } => {
                self.stopped = Some(reason.clone());
                self.step_machine(TurnInput::Stopped { why: *why });
            }
            AutoJournalEntry::Ended { run, changed, limit, check_changed, stat, files, kept } => {
                // It was to be removed, and is there.
                self.worktree_removed &= kept.is_none();
                self.ended = Some(RecordedEnd {
                    run: (**run).clone(),
                    at,
                    changed: *changed,
                    limit: *limit,
                    check_changed: check_changed.clone(),
                    stat: *stat,
                    files: files.clone(),
                    kept: kept.clone(),
                    notified: false,
                });
            }
            AutoJournalEntry::Notified => {
                if let Some(ended) = &mut self.ended {
                    ended.notified = true;
                }
            }
        }
        self.last_entry = at;
    }

    /// Goes on after the end, or with new bounds. What a run that had not ended is not given anew holds as it was.
    fn apply_extension(&mut self, at: Timestamp, extension: &RunExtension) {
        let (was_over, before) = (self.is_over(), self.spec.clone());
        let used = self.meter.totals();
        extension.apply_to(&mut self.spec, count_tokens(&used), used.cost_usd.unwrap_or_default());
        if self.spec.verify != before.verify {
            self.baseline = None;
            self.machine.forget_baseline();
            self.rebase_checks = true;
        }
        if !was_over {
            self.spec.budget.tokens = self.spec.budget.tokens.or(before.budget.tokens);
            self.spec.budget.usd = self.spec.budget.usd.or(before.budget.usd);
            self.spec.deadline = self.spec.deadline.or(before.deadline);
        }
        if was_over || extension.max_turns.is_some() {
            let max_turns = extension.max_turns.unwrap_or(self.spec.max_turns);
            let made = self.turns.last().map_or(0, |last| last.turn);
            let next = self.machine.resume_run(TurnRules { max_turns, ..self.spec.turn_rules() }, made);
            if was_over {
                // One that was refused has an end of which the machine does not know.
                self.ended = None;
                self.stopped = None;
            }
            if let Some(next) = next {
                self.apply_output(next);
            }
        } else {
            self.machine.set_rules(self.spec.turn_rules());
        }
        self.spec.max_turns = self.machine.max_turns();
        self.extension = extension.clone().filled_from(&self.extension);
        self.since = if was_over || extension.deadline.is_some() {
            at
        } else {
            // The time in which nobody drove it does not count.
            self.since.checked_add(at.duration_since(self.last_entry)).unwrap_or(at)
        };
    }

    /// Reports whether its checks run before the next turn: before the first turn, and before the first one with other checks. Those
    /// for which it was refused are run again.
    pub fn is_baseline_due(&self) -> bool {
        let refused = |baseline: &CheckBaseline| match baseline.outcome {
            BaselineOutcome::CouldNotRun => true,
            BaselineOutcome::Green => self.spec.strict_verify,
            BaselineOutcome::Red | BaselineOutcome::Skipped => false,
        };
        (self.turns.is_empty() || self.rebase_checks) && self.baseline.as_ref().is_none_or(refused)
    }

    /// Reports whether nothing more is done: an end is recorded, or the driver died on the way to it.
    pub fn is_over(&self) -> bool {
        self.ended.is_some() || matches!(self.next, TurnOutput::End { .. })
    }

    /// Reports whether the run has ended with its task done, and everything told.
    pub fn is_complete(&self) -> bool {
        self.ended
            .as_ref()
            .is_some_and(|ended| ended.run.is_success() && (ended.notified || self.spec.notify.is_none()))
    }

    /// The directory that it needs: where the user stood, or the repository of its worktree.
    ///
    /// # Errors
    ///
    /// It is not there any more.
    pub fn required_directory(&self) -> Result<&Path, AutoError> {
        let directory = match &self.worktree {
            Some(tree) if !self.spec.cwd.is_dir() => &tree.repository,
            _ => &self.spec.cwd,
        };
        if directory.is_dir() {
            return Ok(directory);
        }
        Err(AutoError::DirectoryGone { directory: directory.clone() })
    }

    /// Reports what became of the files since they were last looked at, which are those of `tree` now.
    fn compare_files(&mut self, tree: Option<&str>) -> TurnFiles {
        let files = match (self.tree.as_deref(), tree) {
            (Some(before), Some(now)) if before == now => TurnFiles::Unchanged,
            (Some(_), Some(_)) => TurnFiles::Changed,
            _ => TurnFiles::Unknown,
        };
        if files != TurnFiles::Unchanged {
            self.refuted_by = None;
        }
        self.tree = tree.map(str::to_owned);
        files
    }

    fn apply_verification(&mut self, verdict: &WorkVerification, tree: Option<&str>) {
        if let Some(last) = self.turns.last_mut() {
            last.verdict = Some(verdict.clone());
        }
        if matches!(verdict.outcome, VerificationResult::Refuted | VerificationResult::Unchanged) {
            self.findings = Some(verdict.findings_text());
        }
        let failed = verdict.failed_checks().next().map(|check| check.what.clone());
        let repeated = failed.is_some() && failed == self.refuted_by;
        // What the check itself wrote is no work.
        self.tree = tree.map(str::to_owned);
        self.refuted_by = failed.filter(|_| tree.is_some());
        let changed = self.base.as_deref().zip(tree).map(|(base, now)| base != now);
        self.step_machine(TurnInput::Checked { outcome: verdict.outcome, changed, repeated });
    }

    /// The limit, or other end, at which a verification found the work done.
    pub fn reached_limit(&self) -> Option<RunOutcome> {
        self.ended.as_ref().map_or_else(|| self.machine.limit(), |ended| ended.limit)
    }

    /// Files of the checks themselves that were changed, by the last verification.
    pub fn check_changed(&self) -> &[String] {
        let last = self.turns.iter().rev().find_map(|turn| turn.verdict.as_ref());
        last.map_or(&[], |verdict| &verdict.check_changed)
    }

    fn step_machine(&mut self, input: TurnInput) {
        let next = self.machine.step(input);
        self.apply_output(next);
    }

    fn apply_output(&mut self, next: TurnOutput) {
        self.next = next;
        if let TurnOutput::Ask(ask) = &self.next {
            if ask.fall_back {
                self.agent = self.spec.fallback.unwrap_or(self.agent);
            }
            if ask.fresh {
                self.sessions.remove(&self.agent);
            }
        }
        if let (TurnOutput::End { reason, .. }, Some(stopped)) = (&mut self.next, &self.stopped) {
            reason.clone_from(stopped);
        }
    }

    fn apply_answer(&mut self, answer: &TurnAnswer, text: Option<&str>, denied: &[String]) {
        let phase = self.turns.last_mut().map(|last| {
            last.answer = Some(answer.clone());
            last.denied = denied.to_vec();
            last.phase
        });
        if let Some(text) = text {
            if phase == Some(TurnPhase::Plan) {
                self.plan = Some(text.to_owned());
            } else {
                self.last = Some(text.to_owned());
            }
        }
        // Once it was said that files have to change, that is not taken back.
        let said = answer.claim.as_ref().and_then(|claim| claim.changes);
        self.changes = match (self.changes, said) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (before, said) => said.or(before),
        };
    }

    fn add_usage(&mut self, used: &LaunchUsage) {
        self.meter.add_usage(used);
        if let Some(session) = &used.session {
            self.sessions.insert(used.agent, session.clone());
        }
    }

    /// The session of the agent at work, to go on with.
    pub fn agent_session(&self) -> Option<&str> {
        self.sessions.get(&self.agent).map(String::as_str)
    }

    /// Directory in which the run works.
    pub fn working_directory(&self) -> &Path {
        self.worktree.as_ref().map_or(&self.spec.cwd, |tree| &tree.workdir)
    }

    /// Every launch that it made.
    pub fn launches(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().flat_map(|turn| turn.launches.iter().map(String::as_str))
    }

    /// Reports whether the run continues: it has no end, and the process that drives it lives.
    pub fn is_running(&self) -> bool {
        self.ended.is_none()
            && self.driver.is_some_and(|(pid, start)| amplihack_sys::process_alive(pid, start))
    }

    /// State of the run, in a word.
    pub fn state_name(&self) -> &'static str {
        match &self.ended {
            Some(ended) => ended.run.name(),
            None if self.is_running() => "running",
            None => "killed",
        }
    }
}
