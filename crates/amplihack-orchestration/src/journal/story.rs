//! A run as its journal tells it.

use std::collections::BTreeMap;
use std::path::Path;

use amplihack_agent::AgentBinary;
use amplihack_session::RunEnd;
use jiff::Timestamp;
use serde::Serialize;

use super::Entry;
use crate::budget::{Meter, Used};
use crate::spec::Spec;
use crate::turns::{Answer, Checked, Phase, TurnInput, TurnOutput, Turns};
use crate::verify::Verification;
use crate::worktree::Tree;

/// A turn, as it is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnRecord {
    /// Its number.
    pub turn: u32,
    /// What for.
    pub phase: Phase,
    /// The agent.
    pub agent: AgentBinary,
    /// The launches that it took, the last one last.
    pub launches: Vec<String>,
    /// When it was asked for.
    pub started: Timestamp,
    /// How it went; `None` as long as it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// What was denied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// What its claim's verification found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verification>,
}

/// The recorded end of an unattended run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedEnd {
    /// The end.
    #[serde(flatten)]
    pub run: RunEnd,
    /// The time of it.
    pub at: Timestamp,
    /// Whether files are other than at the beginning; `None` outside a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// Whether the command that tells it was started.
    pub notified: bool,
}

/// A run, as its journal tells it.
#[derive(Debug, Clone)]
pub struct Story {
    /// What it is asked to do.
    pub spec: Spec,
    /// Where it works, if that is a worktree of its own.
    pub worktree: Option<Tree>,
    /// Whether the worktree has what was asked for it.
    pub prepared: bool,
    /// The state of the files at the beginning.
    pub base: Option<String>,
    /// When it began.
    pub began: Timestamp,
    /// What is to be done next.
    pub next: TurnOutput,
    /// The agent at work.
    pub agent: AgentBinary,
    /// The turns so far.
    pub turns: Vec<TurnRecord>,
    /// The plan, as the agent told it.
    pub plan: Option<String>,
    /// The agent's last answer.
    pub last: Option<String>,
    /// What the last verification found, if that is to be mended.
    pub findings: Option<String>,
    /// Whether the task asks for changes to files, as the agent said.
    pub changes: Option<bool>,
    /// The end.
    pub ended: Option<RecordedEnd>,
    /// The process that drove it last.
    pub driver: Option<(u32, u64)>,
    /// What it used.
    pub meter: Meter,
    /// Messages of the user that were told, by file.
    pub told: Vec<String>,
    sessions: BTreeMap<AgentBinary, String>,
    machine: Turns,
    stopped: Option<String>,
}

impl Story {
    pub(super) fn begin(spec: Spec, worktree: Option<Tree>, at: Timestamp) -> Self {
        let mut machine = Turns::new(spec.rules());
        let next = machine.step(TurnInput::Begin);
        Self {
            worktree,
            prepared: false,
            base: None,
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
            meter: Meter::new(spec.prices.clone()),
            told: Vec::new(),
            sessions: BTreeMap::new(),
            machine,
            stopped: None,
            spec,
        }
    }

    /// Takes in what happened.
    pub(super) fn apply(&mut self, at: Timestamp, entry: &Entry) {
        match entry {
            Entry::Began { .. } => {}
            Entry::Moved { worktree } => {
                self.worktree = Some(worktree.clone());
                // Agents keep their sessions by directory.
                self.sessions.clear();
            }
            Entry::Prepared => self.prepared = true,
            Entry::Based { tree } => self.base = Some(tree.clone()),
            Entry::Driven { pid, start_time } => self.driver = Some((*pid, *start_time)),
            Entry::Asked { turn, phase, agent, launch, appended, .. } => {
                self.agent = *agent;
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
            Entry::Answered { answer, used, text, denied, .. } => {
                self.answered(answer, text.as_deref(), denied);
                self.used(used);
                // What a turn that failed was to mend is still to be mended.
                if answer.cut || answer.run.is_success() {
                    self.findings = None;
                }
                self.step(TurnInput::Answered(answer.clone()));
            }
            Entry::Broken { used, .. } => self.used(used),
            Entry::Checked { verdict, .. } => {
                if let Some(last) = self.turns.last_mut() {
                    last.verdict = Some(verdict.clone());
                }
                if verdict.outcome == Checked::Refuted {
                    self.findings = Some(verdict.findings());
                }
                self.step(TurnInput::Checked { outcome: verdict.outcome });
            }
            Entry::Stopped { why, reason } => {
                self.stopped = Some(reason.clone());
                self.step(TurnInput::Stopped { why: *why });
            }
            Entry::Ended { run, changed } => {
                self.ended = Some(RecordedEnd { run: run.clone(), at, changed: *changed, notified: false });
            }
            Entry::Notified => {
                if let Some(ended) = &mut self.ended {
                    ended.notified = true;
                }
            }
        }
    }

    fn step(&mut self, input: TurnInput) {
        self.next = self.machine.step(input);
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

    fn answered(&mut self, answer: &Answer, text: Option<&str>, denied: &[String]) {
        let phase = self.turns.last_mut().map(|last| {
            last.answer = Some(answer.clone());
            last.denied = denied.to_vec();
            last.phase
        });
        if let Some(text) = text {
            if phase == Some(Phase::Plan) {
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

    fn used(&mut self, used: &Used) {
        self.meter.add(used);
        if let Some(session) = &used.session {
            self.sessions.insert(used.agent, session.clone());
        }
    }

    /// The session of the agent at work, to go on with.
    pub fn session(&self) -> Option<&str> {
        self.sessions.get(&self.agent).map(String::as_str)
    }

    /// Where the run works.
    pub fn directory(&self) -> &Path {
        self.worktree.as_ref().map_or(&self.spec.cwd, |tree| &tree.workdir)
    }

    /// Every launch that it made.
    pub fn launches(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().flat_map(|turn| turn.launches.iter().map(String::as_str))
    }

    /// Whether it goes on: it has no end, and the process that drives it lives.
    pub fn is_running(&self) -> bool {
        self.ended.is_none()
            && self.driver.is_some_and(|(pid, start)| amplihack_utils::sys::process_alive(pid, start))
    }

    /// How it stands, in a word.
    pub fn state(&self) -> &'static str {
        match &self.ended {
            Some(ended) => ended.run.name(),
            None if self.is_running() => "running",
            None => "killed",
        }
    }
}
