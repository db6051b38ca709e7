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
        let Some(last) = story.turns.last().filter(|last| last.turn == ask.turn && last.answer.is_none())
        else {
            return Ok(());
        };
        let (turn, agent) = (last.turn, last.agent);
        let launch = last.launches.last().and_then(|launch| SessionId::parse(launch).ok());
        let recorded = launch.map(|launch| Recorded::read(&self.home, &launch)).transpose()?.flatten();
        let Some(recorded) = recorded else { return Ok(()) };
        let mut heard = Heard::new(agent, story.session(), story.spec.limits());
        for line in read_from(&events_path(&recorded.directory), 0)? {
            if let Ok(envelope) = serde_json::from_slice::<Envelope>(&line?.1) {
                // What is wrong with a turn that is over no longer matters.
                let _ = heard.event(&envelope.event);
            }
        }
        let before = story.meter.of_session(agent, story.session());
        let mut live = Live::new(agent, self.place.env, &live_path(&self.journal.directory), before);
        let totals = live.look(heard.session(), recorded.record.usage);
        if let Some(end) = recorded.record.end {
            return self.answered(turn, heard.answer(end, totals, None));
        }
        let session = heard.session().or(live.session()).map(str::to_owned);
        self.interrupted = session.is_some();
        let used = Used { agent, session, totals };
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
        let used = story.meter.totals().cost_usd.unwrap_or_default();
        let dollars = story.spec.budget.usd.map(|most| most - used);
        let prompted = Prompted {
            agent,
            prompt: text.clone(),
            resume: resume.as_deref(),
            dollars,
            schema: Some(&schema),
        };
        let wanted = request(&self.place, &story.spec, &cwd, prompted);
        let heard = Heard::new(agent, resume.as_deref(), story.spec.limits());
        let of = story.spec.max_turns;
        let before = story.meter.of_session(agent, story.session());
        let live = Live::new(agent, self.place.env, &live_path(&self.journal.directory), before);
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
        self.answered(ask.turn, over)
    }

    async fn watch(
        &mut self,
        launched: LaunchedEvents,
        heard: Heard,
        live: Live,
    ) -> Result<(Over, Vec<String>), AutoError> {
        let Self { place, journal, id, deadline, .. } = self;
        let (meter, budget): (_, Budget) = (&journal.story.meter, journal.story.spec.budget);
        let over_budget = |used: &Used| budget.is_set().then(|| budget.reached(&meter.with(used))).flatten();
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
        let bounds = Bounds { deadline: *deadline, over_budget: &over_budget, lane: &mut place.lane.clone() };
        watch(launched, heard, live, bounds, &told).await
    }

    /// Writes down how a turn went, and whether it was the last.
    fn answered(&mut self, turn: u32, over: Over) -> Result<(), AutoError> {
        let Over { answer, used, text, denied, stop } = over;
        let how = how(&answer);
        if let Some((why, reason)) = stop {
            self.journal.write(Entry::Broken { turn, used })?;
            self.tell(&Progress::Answered { turn, how: "ended".to_owned() });
            return self.journal.write(Entry::Stopped { why, reason });
        }
        self.journal.write(Entry::Answered { turn, answer, used, text, denied })?;
        self.tell(&Progress::Answered { turn, how });
        let used = self.journal.story.meter.totals();
        self.tell(&Progress::Used { used });
        Ok(())
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
            Status::Done => "says done".to_owned(),
            Status::Working => "says working".to_owned(),
            Status::Blocked => "says blocked".to_owned(),
        },
        (outcome, None) if outcome.is_success() => "says nothing of its state".to_owned(),
        (RunOutcome::Failed, _) => format!("failed: {}", answer.run.reason()),
        (outcome, _) if answer.run.event.kind.is_some() => format!("{outcome}: {}", answer.run.reason()),
        (outcome, _) => outcome.to_string(),
    }
}
