//! One turn of a driven run: asked, launched, watched, and written down; or what is known of one whose driver died.

use std::cell::Cell;
use std::mem;
use std::path::{Path, PathBuf};

use amplihack_agent::Capability;
use amplihack_agent::event::{Envelope, RunOutcome};
use amplihack_hooks::switches::trust_like;
use amplihack_launcher::{Hosting, LaunchedEvents, Streams, Wanted, plan, start_events};
use amplihack_session::Output;
use amplihack_session::journal::{Recorded, events_path};
use amplihack_utils::launcher_context::SessionId;
use amplihack_utils::log::read_from;
use jiff::Timestamp;

use super::Drive;
use super::ask::{Prompted, has, is_wide, request};
use crate::append;
use crate::budget::{Budget, Used};
use crate::claim::Status;
use crate::error::AutoError;
use crate::journal::Entry;
use crate::live::Live;
use crate::progress::Progress;
use crate::prompts::{Parts, prompt};
use crate::turn::{Bounds, Heard, Over, watch};
use crate::turns::{Answer, Ask, Stop, TurnOutput};

/// What is kept of an agent's standard error.
pub(super) const STDERR: usize = 64 * 1024;

impl Drive<'_> {
    /// What is known of the turn that was in flight when the driver died.
    pub(super) fn recover(&mut self) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let TurnOutput::Ask(ask) = &story.next else { return Ok(()) };
        // One that was broken off by the end of the run is followed by another.
        self.interrupted = story.session().is_some()
            && story.turns.last().is_some_and(|last| last.turn < ask.turn && last.answer.is_none());
        let Some(last) = story.turns.last().filter(|last| last.turn == ask.turn && last.answer.is_none())
        else {
            return Ok(());
        };
        let (turn, agent) = (last.turn, last.agent);
        let launch = last.launches.last().and_then(|launch| SessionId::parse(launch).ok());
        let recorded = launch.map(|launch| Recorded::read(&self.home, &launch)).transpose()?.flatten();
        let Some(recorded) = recorded else { return Ok(()) };
        let mut heard = Heard::new(story.session(), story.spec.limits());
        let (before, started) = (story.meter.of_session(agent, story.session()), last.started);
        let mut live: Option<Live> = None;
        let ours = live_path(&self.journal.directory);
        let look = |since| Live::new(agent, self.place.env, &ours, since, before);
        for line in read_from(&events_path(&recorded.directory), 0)? {
            if let Ok(envelope) = serde_json::from_slice::<Envelope>(&line?.1) {
                // What is wrong with a turn that is over no longer matters.
                let _ = heard.event(&envelope.event);
                // Of several launches of one turn, only the last is not counted yet.
                live.get_or_insert_with(|| look(envelope.at)).event(&envelope.event);
            }
        }
        let mut live = live.unwrap_or_else(|| look(started));
        let used = live.last_look(heard.session(), recorded.record.usage);
        if let Some(end) = recorded.record.end {
            return self.answered(turn, heard.answer(end, used, None), None);
        }
        let session = heard.session().or(live.session()).map(str::to_owned);
        self.interrupted = session.is_some();
        let used = Used { session, ..used };
        self.journal.write(Entry::Broken { turn, used })
    }

    pub(super) async fn turn(&mut self, ask: Ask) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let agent = story.agent;
        if ask.fall_back {
            let before = story.spec.agent;
            self.notice(format!(
                "{before} reports that its account is used up or not accepted; {agent} goes on"
            ));
        }
        let resume = story.session().map(str::to_owned);
        let messages = append::take(&self.journal.directory, &story.told);
        let (files, texts): (Vec<String>, Vec<String>) = messages.into_iter().unzip();
        let text = prompt(&Parts {
            phase: ask.phase,
            task: &story.spec.task,
            fresh: resume.is_none(),
            interrupted: mem::take(&mut self.interrupted),
            plan: story.plan.as_deref(),
            last: story.last.as_deref(),
            findings: story.findings.as_deref(),
            appended: &texts,
            wide: is_wide(agent),
            schema: has(agent, Capability::AnswerSchema),
        });
        let cwd = story.directory().to_owned();
        let schema = self.journal.directory.join("schema.json");
        let dollars = self.dollars_left();
        let prompted = Prompted {
            agent,
            prompt: text.clone(),
            resume: resume.as_deref(),
            dollars,
            schema: Some(&schema),
        };
        let wanted = request(&self.place, &story.spec, &cwd, prompted);
        let heard = Heard::new(resume.as_deref(), story.spec.limits());
        let of = story.spec.max_turns;
        let before = story.meter.of_session(agent, story.session());
        let (ours, now) = (live_path(&self.journal.directory), Timestamp::now());
        let live = Live::new(agent, self.place.env, &ours, now, before);
        let mut env = live.prepare(self.place.env);
        if let Some(tree) = &story.worktree
            && let Some((name, value)) = trust_like(agent, &env, &tree.repository, &cwd)
        {
            // A worktree holds what the repository holds, which its user trusts.
            env.set(name, value);
        }
        let mut plan = match plan(wanted, &env, self.place.config) {
            Ok(plan) => plan,
            Err(error) => {
                return self.journal.write(Entry::Stopped { why: Stop::Failed, reason: error.to_string() });
            }
        };
        plan.record = Some(self.processes.record()?);
        plan.interrupts = Some(self.place.interrupts.clone());
        let launch = plan.session.to_string();
        self.journal.write(Entry::Asked {
            turn: ask.turn,
            phase: ask.phase,
            agent,
            resume,
            launch: launch.clone(),
            appended: files.clone(),
            prompt: text,
        })?;
        append::forget(&self.journal.directory, &files);
        self.tell(&Progress::Turn { turn: ask.turn, of, phase: ask.phase, agent, launch });
        let mut notices: Vec<String> = plan.notices.iter().map(ToString::to_string).collect();
        let streams = Streams { stderr: Output::Tail(STDERR), ..Streams::default() };
        let (launched, more) = match start_events(plan, Hosting::Binary, streams, Wanted::default()).await {
            Ok(started) => started,
            Err(error) => {
                return self.journal.write(Entry::Stopped { why: Stop::Failed, reason: error.to_string() });
            }
        };
        notices.extend(more.iter().map(ToString::to_string));
        // They are the same with each turn.
        for notice in notices.into_iter().filter(|_| ask.turn == 1 || ask.fall_back) {
            self.notice(notice);
        }
        let (over, notices) = Box::pin(self.watch(launched, heard, live)).await?;
        for notice in notices {
            self.notice(notice);
        }
        let tree = if over.stop.is_none() { self.files().await? } else { None };
        self.answered(ask.turn, over, tree)
    }

    async fn watch(
        &mut self,
        launched: LaunchedEvents,
        heard: Heard,
        live: Live,
    ) -> Result<(Over, Vec<String>), AutoError> {
        let Self { place, journal, id, deadline, .. } = self;
        let (meter, budget): (_, Budget) = (&journal.story.meter, journal.story.spec.budget);
        let shared = place.shared;
        let over_budget = |used: &Used| {
            let bounded = budget.is_set() || shared.is_some();
            let sum = bounded.then(|| meter.with(used))?;
            budget.reached(&sum).or_else(|| shared.and_then(|shared| shared.reached(id.as_str(), &sum)))
        };
        let before = Cell::new(meter.totals());
        let told = |envelope: &Envelope, used: &Used| {
            if let Some(progress) = Progress::of(&envelope.event) {
                (place.told)(id, &progress);
            }
            let sum = meter.with(used);
            if sum != before.get() {
                before.set(sum);
                (place.told)(id, &Progress::Used { used: sum });
            }
        };
        let bounds = Bounds {
            deadline: *deadline,
            over_budget: &over_budget,
            shared: shared.is_some(),
            lane: &mut place.lane.clone(),
        };
        watch(launched, heard, live, bounds, &told).await
    }

    /// Writes down how a turn went, and whether it was the last.
    fn answered(&mut self, turn: u32, over: Over, tree: Option<String>) -> Result<(), AutoError> {
        let Over { answer, used, text, denied, mut stop } = over;
        let how = how(&answer);
        if matches!(stop, Some((Stop::Budget, _))) && self.has_share_left(&used) {
            // The agent used up its share, not the budget: the turn is cut.
            stop = None;
        }
        if let Some((why, reason)) = stop {
            self.journal.write(Entry::Broken { turn, used })?;
            self.tell(&Progress::Answered { turn, how: "ended".to_owned() });
            return self.journal.write(Entry::Stopped { why, reason });
        }
        self.journal.write(Entry::Answered { turn, answer, used, text, denied, tree })?;
        self.tell(&Progress::Answered { turn, how });
        let used = self.journal.story.meter.totals();
        self.tell(&Progress::Used { used });
        Ok(())
    }
}

impl Drive<'_> {
    /// The dollars that the agent may use in its next turn: all that is left, or this run's share of that.
    fn dollars_left(&self) -> Option<f64> {
        let story = &self.journal.story;
        let used = story.meter.totals();
        let left = story.spec.budget.usd.map(|most| most - used.cost_usd.unwrap_or_default());
        let share = self.place.shared.and_then(|shared| shared.share(self.id.as_str(), &used));
        [left, share].into_iter().flatten().reduce(f64::min)
    }

    /// Whether the budget that this run shares has something left after a turn that used `used`.
    fn has_share_left(&self, used: &Used) -> bool {
        let (sum, id) = (self.journal.story.meter.with(used), self.id.as_str());
        self.place.shared.is_some_and(|shared| shared.reached(id, &sum).is_none())
            && self.journal.story.spec.budget.reached(&sum).is_none()
    }
}

/// Where an agent that is told to writes down what it uses.
pub(super) fn live_path(directory: &Path) -> PathBuf {
    directory.join("spans.jsonl")
}

/// The end of a turn in a word, for the board.
fn how(answer: &Answer) -> String {
    let claim = answer.claim.as_ref().map(|claim| claim.status);
    match (answer.run.outcome(), claim) {
        _ if answer.cut => "cut".to_owned(),
        (outcome, Some(status)) if outcome.is_success() => match status {
            Status::Done => "reports done".to_owned(),
            Status::Working => "reports working".to_owned(),
            Status::Blocked => "reports blocked".to_owned(),
        },
        (outcome, None) if outcome.is_success() => "reports no status".to_owned(),
        (RunOutcome::Failed, _) => format!("failed: {}", answer.run.reason()),
        (outcome, _) if answer.run.event.kind.is_some() => format!("{outcome}: {}", answer.run.reason()),
        (outcome, _) => outcome.to_string(),
    }
}
