//! A turn of a driven run: asked, launched, watched, and written down; or the recovery of one whose driver died.

use std::cell::Cell;
use std::mem;
use std::path::{Path, PathBuf};

use amplihack_agent::AgentCapability;
use amplihack_agent::event::{Envelope, RunOutcome};
use amplihack_config::launcher_context::SessionId;
use amplihack_hooks::switches::trust_like;
use amplihack_launcher::{
    EventOptions, LaunchHosting, LaunchStreams, LaunchedEvents, plan_launch, start_events,
};
use amplihack_session::ChildOutput;
use amplihack_session::journal::{JournaledRun, events_path};
use amplihack_sys::log::read_from;
use jiff::Timestamp;

use super::AutoRunDriver;
use super::ask::{TurnRequest, has_capability, is_wide, launch_request};
use crate::append;
use crate::budget::{LaunchUsage, RunBudget};
use crate::claim::ClaimStatus;
use crate::error::AutoError;
use crate::journal::AutoJournalEntry;
use crate::live::LiveUsage;
use crate::progress::AutoProgress;
use crate::prompts::{PromptParts, compose_prompt};
use crate::turn::{EndedTurn, TurnBounds, TurnTracker, watch_turn};
use crate::turns::{NextTurn, RunStopCause, TurnAnswer, TurnOutput};

/// Bytes that are kept of an agent's standard error.
pub(super) const STDERR: usize = 64 * 1024;

impl AutoRunDriver<'_> {
    /// Takes in what is known of the turn that was in flight when the driver died.
    pub(super) fn recover_turn(&mut self) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let TurnOutput::Ask(ask) = &story.next else { return Ok(()) };
        // One that was broken off by the end of the run is followed by another.
        self.interrupted = story.agent_session().is_some()
            && story.turns.last().is_some_and(|last| last.turn < ask.turn && last.answer.is_none());
        let Some(last) = story.turns.last().filter(|last| last.turn == ask.turn && last.answer.is_none())
        else {
            return Ok(());
        };
        let (turn, agent) = (last.turn, last.agent);
        let launch = last.launches.last().and_then(|launch| SessionId::parse(launch).ok());
        let recorded = launch.map(|launch| JournaledRun::read(&self.home, &launch)).transpose()?.flatten();
        let Some(recorded) = recorded else { return Ok(()) };
        let mut heard = TurnTracker::new(story.agent_session(), story.spec.turn_limits());
        let (before, started) = (story.meter.session_totals(agent, story.agent_session()), last.started);
        let mut live: Option<LiveUsage> = None;
        let ours = live_usage_path(&self.journal.directory);
        let look = |since| LiveUsage::new(agent, self.place.env, &ours, since, before);
        for line in read_from(&events_path(&recorded.directory), 0)? {
            if let Ok(envelope) = serde_json::from_slice::<Envelope>(&line?.1) {
                // What is wrong with a turn that is over no longer matters.
                let _ = heard.observe_event(&envelope.event);
                // Of several launches of one turn, only the last is not counted yet.
                live.get_or_insert_with(|| look(envelope.at)).observe_event(&envelope.event);
            }
        }
        let mut live = live.unwrap_or_else(|| look(started));
        let used = live.final_usage(heard.session(), recorded.record.usage);
        if let Some(end) = recorded.record.end {
            return self.record_answer(turn, heard.into_ended_turn(end, used, None), None);
        }
        let session = heard.session().or(live.session()).map(str::to_owned);
        self.interrupted = session.is_some();
        let used = LaunchUsage { session, ..used };
        self.journal.write(AutoJournalEntry::Broken { turn, used })
    }

    pub(super) async fn run_turn(&mut self, ask: NextTurn) -> Result<(), AutoError> {
        let story = &self.journal.story;
        let agent = story.agent;
        if ask.fall_back {
            let before = story.spec.agent;
            self.report_notice(format!(
                "{before} reports that its account is used up or not accepted; continuing with {agent}"
            ));
        }
        let resume = story.agent_session().map(str::to_owned);
        let messages = append::read_messages(&self.journal.directory, &story.told);
        let (files, texts): (Vec<String>, Vec<String>) = messages.into_iter().unzip();
        let text = compose_prompt(&PromptParts {
            phase: ask.phase,
            task: &story.spec.task,
            fresh: resume.is_none(),
            interrupted: mem::take(&mut self.interrupted),
            plan: story.plan.as_deref(),
            last: story.last.as_deref(),
            findings: story.findings.as_deref(),
            appended: &texts,
            wide: is_wide(agent),
            schema: has_capability(agent, AgentCapability::AnswerSchema),
        });
        let cwd = story.working_directory().to_owned();
        let schema = self.journal.directory.join("schema.json");
        let dollars = self.dollars_left();
        let prompted = TurnRequest {
            agent,
            prompt: text.clone(),
            resume: resume.as_deref(),
            dollars,
            schema: Some(&schema),
        };
        let wanted = launch_request(&self.place, &story.spec, &cwd, prompted);
        let heard = TurnTracker::new(resume.as_deref(), story.spec.turn_limits());
        let of = story.spec.max_turns;
        let before = story.meter.session_totals(agent, story.agent_session());
        let (ours, now) = (live_usage_path(&self.journal.directory), Timestamp::now());
        let live = LiveUsage::new(agent, self.place.env, &ours, now, before);
        let mut env = live.prepare_env(self.place.env);
        if let Some(tree) = &story.worktree
            && let Some((name, value)) = trust_like(agent, &env, &tree.repository, &cwd)
        {
            // A worktree holds what the repository holds, which its user trusts.
            env.set_variable(name, value);
        }
        let mut plan = match plan_launch(wanted, &env, self.place.config) {
            Ok(plan) => plan,
            Err(error) => {
                return self.journal.write(AutoJournalEntry::Stopped {
                    why: RunStopCause::Failed,
                    reason: error.to_string(),
                });
            }
        };
        plan.record = Some(self.processes.record_file()?);
        plan.interrupts = Some(self.place.interrupts.clone());
        let launch = plan.session.to_string();
        self.journal.write(AutoJournalEntry::Asked {
            turn: ask.turn,
            phase: ask.phase,
            agent,
            resume,
            launch: launch.clone(),
            appended: files.clone(),
            prompt: text,
        })?;
        append::remove_messages(&self.journal.directory, &files);
        self.report_progress(&AutoProgress::Turn { turn: ask.turn, of, phase: ask.phase, agent, launch });
        let mut notices: Vec<String> = plan.notices.iter().map(ToString::to_string).collect();
        let streams = LaunchStreams { stderr: ChildOutput::Tail(STDERR), ..LaunchStreams::default() };
        let (launched, more) =
            match start_events(plan, LaunchHosting::Binary, streams, EventOptions::default()).await {
                Ok(started) => started,
                Err(error) => {
                    return self.journal.write(AutoJournalEntry::Stopped {
                        why: RunStopCause::Failed,
                        reason: error.to_string(),
                    });
                }
            };
        notices.extend(more.iter().map(ToString::to_string));
        // They are the same with each turn.
        for notice in notices.into_iter().filter(|_| ask.turn == 1 || ask.fall_back) {
            self.report_notice(notice);
        }
        let (over, notices) = Box::pin(self.watch_turn(launched, heard, live)).await?;
        for notice in notices {
            self.report_notice(notice);
        }
        let tree = if over.stop.is_none() { self.capture_files().await? } else { None };
        self.record_answer(ask.turn, over, tree)
    }

    async fn watch_turn(
        &mut self,
        launched: LaunchedEvents,
        heard: TurnTracker,
        live: LiveUsage,
    ) -> Result<(EndedTurn, Vec<String>), AutoError> {
        let Self { place, journal, id, deadline, .. } = self;
        let (meter, budget): (_, RunBudget) = (&journal.story.meter, journal.story.spec.budget);
        let shared = place.shared;
        let over_budget = |used: &LaunchUsage| {
            let bounded = budget.is_set() || shared.is_some();
            let sum = bounded.then(|| meter.totals_with(used))?;
            budget
                .reached_bound(&sum)
                .or_else(|| shared.and_then(|shared| shared.record_usage(id.as_str(), &sum)))
        };
        let before = Cell::new(meter.totals());
        let told = |envelope: &Envelope, used: &LaunchUsage| {
            if let Some(progress) = AutoProgress::from_event(&envelope.event) {
                (place.told)(id, &progress);
            }
            let sum = meter.totals_with(used);
            if sum != before.get() {
                before.set(sum);
                (place.told)(id, &AutoProgress::Used { used: sum });
            }
        };
        let bounds = TurnBounds {
            deadline: *deadline,
            over_budget: &over_budget,
            shared: shared.is_some(),
            lane: &mut place.lane.clone(),
        };
        watch_turn(launched, heard, live, bounds, &told).await
    }

    /// Writes down how a turn went, and whether it was the last.
    fn record_answer(&mut self, turn: u32, over: EndedTurn, tree: Option<String>) -> Result<(), AutoError> {
        let EndedTurn { answer, used, text, denied, mut stop } = over;
        let how = describe_answer(&answer);
        if matches!(stop, Some((RunStopCause::Budget, _))) && self.has_share_left(&used) {
            // The agent used up its share, not the budget: the turn is cut.
            stop = None;
        }
        if let Some((why, reason)) = stop {
            self.journal.write(AutoJournalEntry::Broken { turn, used })?;
            self.report_progress(&AutoProgress::Answered { turn, how: "ended".to_owned() });
            return self.journal.write(AutoJournalEntry::Stopped { why, reason });
        }
        self.journal.write(AutoJournalEntry::Answered { turn, answer, used, text, denied, tree })?;
        self.report_progress(&AutoProgress::Answered { turn, how });
        let used = self.journal.story.meter.totals();
        self.report_progress(&AutoProgress::Used { used });
        Ok(())
    }
}

impl AutoRunDriver<'_> {
    /// The dollars that the agent may use in its next turn: all that is left, or this run's share of that.
    fn dollars_left(&self) -> Option<f64> {
        let story = &self.journal.story;
        let used = story.meter.totals();
        let left = story.spec.budget.usd.map(|most| most - used.cost_usd.unwrap_or_default());
        let share = self.place.shared.and_then(|shared| shared.give_share(self.id.as_str(), &used));
        [left, share].into_iter().flatten().reduce(f64::min)
    }

    /// Reports whether the budget that this run shares has something left after a turn that used `used`.
    fn has_share_left(&self, used: &LaunchUsage) -> bool {
        let (sum, id) = (self.journal.story.meter.totals_with(used), self.id.as_str());
        self.place.shared.is_some_and(|shared| shared.record_usage(id, &sum).is_none())
            && self.journal.story.spec.budget.reached_bound(&sum).is_none()
    }
}

/// Path of the file in which an agent that is told to writes down what it uses.
pub(super) fn live_usage_path(directory: &Path) -> PathBuf {
    directory.join("spans.jsonl")
}

/// The end of a turn in a word, for the board.
fn describe_answer(answer: &TurnAnswer) -> String {
    let claim = answer.claim.as_ref().map(|claim| claim.status);
    match (answer.run.outcome(), claim) {
        _ if answer.cut => "cut".to_owned(),
        (outcome, Some(status)) if outcome.is_success() => match status {
            ClaimStatus::Done => "reports done".to_owned(),
            ClaimStatus::Working => "reports working".to_owned(),
            ClaimStatus::Blocked => "reports blocked".to_owned(),
        },
        (outcome, None) if outcome.is_success() => "reports no status".to_owned(),
        (RunOutcome::Failed, _) => format!("failed: {}", answer.run.reason()),
        (outcome, _) if answer.run.event.kind.is_some() => format!("{outcome}: {}", answer.run.reason()),
        (outcome, _) => outcome.to_string(),
    }
}
