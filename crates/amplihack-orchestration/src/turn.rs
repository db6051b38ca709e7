//! A turn of an agent: launched, watched event by event, ended when it has to be, and told as an answer.

use std::time::Duration;

use amplihack_agent::AgentEvent;
use amplihack_agent::event::{Envelope, RunOutcome};
use amplihack_launcher::LaunchedEvents;
use amplihack_session::{EndEvidence, RunEnd};
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use crate::budget::LaunchUsage;
use crate::claim;
use crate::error::AutoError;
use crate::live::LiveUsage;
use crate::race::RaceStatus;
use crate::stall::{StallDetector, TurnFault, TurnLimits};
use crate::turns::{RunStopCause, TurnAnswer};

/// Interval at which what an agent does not tell in its stream is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// State of a turn as its events tell it, as far as a run needs it.
#[derive(Debug)]
pub struct TurnTracker {
    session: Option<String>,
    text: Option<String>,
    alive: bool,
    denied: Vec<String>,
    stall: StallDetector,
    resumed: bool,
}

/// A turn that is over.
#[derive(Debug)]
pub struct EndedTurn {
    /// The answer, with the end of the launch.
    pub answer: TurnAnswer,
    /// Usage of the turn.
    pub used: LaunchUsage,
    /// Text of the agent at its end.
    pub text: Option<String>,
    /// Denied calls: rules of the policy, tools.
    pub denied: Vec<String>,
    /// The run is to be stopped, and why in words.
    pub stop: Option<(RunStopCause, String)>,
}

impl TurnTracker {
    /// A turn of which nothing was heard; with `resume`, one that goes on with that session.
    pub fn new(resume: Option<&str>, limits: TurnLimits) -> Self {
        Self {
            session: resume.map(str::to_owned),
            text: None,
            alive: false,
            denied: Vec::new(),
            stall: StallDetector::new(limits),
            resumed: resume.is_some(),
        }
    }

    /// Takes an event in, and says what is wrong with the turn, if anything is.
    pub fn observe_event(&mut self, event: &AgentEvent) -> Option<TurnFault> {
        match event {
            AgentEvent::Started(started) => {
                if let Some(session) = &started.agent_session {
                    self.session = Some(session.clone());
                }
            }
            AgentEvent::Text(text) => {
                self.alive |= !text.text.trim().is_empty();
                if !text.delta && text.parent.is_none() {
                    self.text = Some(text.text.clone());
                }
            }
            AgentEvent::Thinking(_) | AgentEvent::ToolCall(_) => self.alive = true,
            AgentEvent::PermissionDecided(decided) if decided.allowed == Some(false) => {
                let what = decided.tool.clone().or_else(|| decided.reason.clone());
                self.denied.push(what.unwrap_or_else(|| "a call".to_owned()));
            }
            AgentEvent::End(end) => {
                let summary = &end.summary;
                self.session = summary.agent_session.clone().or(self.session.take());
                self.text = summary.text.clone().or(self.text.take());
            }
            _ => {}
        }
        self.stall.observe_event(event)
    }

    /// Returns the fault of a turn with too many calls, by those that its stream tells and those of nested agents that `live` knows.
    fn check_calls(&self, live: &LiveUsage) -> Option<TurnFault> {
        self.stall.check_calls(live.nested_calls())
    }

    /// The agent's session, as far as it is known.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The turn as an answer, after `run`, in which it used `used`, and which was ended for `trouble`.
    pub fn into_ended_turn(
        self,
        mut run: RunEnd,
        used: LaunchUsage,
        trouble: Option<TurnFault>,
    ) -> EndedTurn {
        // The guard's denials are told by the agent too: each is one call.
        let by_rules = run.denials.denied_rules();
        let denied = if by_rules.len() >= self.denied.len() { by_rules.to_vec() } else { self.denied };
        let mut stop = None;
        let mut cut = false;
        match trouble {
            Some(TurnFault::Stalled(message)) => {
                run.settle_outcome(RunOutcome::Stalled, message, EndEvidence::Record);
            }
            // One that was through before it could be cut is through.
            Some(TurnFault::Endless) => cut = !run.is_success(),
            None => {
                stop = match run.outcome() {
                    RunOutcome::Budget => Some(RunStopCause::Budget),
                    RunOutcome::Interrupted => Some(RunStopCause::Interrupted),
                    _ => None,
                };
                cut = stop.is_some();
            }
        }
        let whole = !cut && run.is_success();
        let claim = self.text.as_deref().filter(|_| whole).and_then(claim::read);
        let stop = stop.map(|why| (why, run.reason().to_owned()));
        run.event.summary.text = None;
        EndedTurn {
            answer: TurnAnswer {
                run: Box::new(run),
                cut,
                claim,
                alive: self.alive,
                resumed: self.resumed,
                denials: u32::try_from(denied.len()).unwrap_or(u32::MAX),
            },
            used: LaunchUsage { session: self.session.or(used.session), ..used },
            text: self.text,
            denied,
            stop,
        }
    }
}

/// Bounds of a turn that are set from outside of it.
pub struct TurnBounds<'a> {
    /// Time at which the run must have ended.
    pub deadline: Option<Instant>,
    /// Says in words which budget is reached, of a turn that has used so much by now.
    pub over_budget: &'a dyn Fn(&LaunchUsage) -> Option<String>,
    /// Other runs use up the same budget.
    pub shared: bool,
    /// Resolves when the run is to be given up: a race that another has won.
    pub lane: &'a mut Receiver<RaceStatus>,
}

/// Watches `launched` to its end. `told` gets each event, and what was used by then if that is more.
pub async fn watch_turn(
    mut launched: LaunchedEvents,
    mut heard: TurnTracker,
    mut live: LiveUsage,
    bounds: TurnBounds<'_>,
    told: &dyn Fn(&Envelope, &LaunchUsage),
) -> Result<(EndedTurn, Vec<String>), AutoError> {
    let mut stop: Option<(RunStopCause, String)> = None;
    let mut trouble = None;
    let mut last_event = Instant::now();
    loop {
        let stopped = stop.is_some() || trouble.is_some();
        let silent_at = last_event + heard.stall.silence_limit();
        let wake = [Some(silent_at), bounds.deadline].into_iter().flatten().min().unwrap_or(silent_at);
        let look = if live.is_wanted() || bounds.shared { wake.min(Instant::now() + LOOK) } else { wake };
        let event = tokio::select! {
            event = launched.next() => Some(event?),
            () = tokio::time::sleep_until(look), if !stopped => None,
            why = wait_given_up(bounds.lane), if !stopped => {
                stop = Some((RunStopCause::Interrupted, why.to_owned()));
                None
            }
        };
        match event {
            Some(None) => break,
            Some(Some(envelope)) => {
                last_event = Instant::now();
                live.observe_event(&envelope.event);
                let found = heard.observe_event(&envelope.event);
                let used = usage_now(&heard, &mut live, &launched);
                if !stopped {
                    trouble = found.or_else(|| heard.check_calls(&live));
                }
                told(&envelope, &used);
                if !stopped && let Some(reason) = (bounds.over_budget)(&used) {
                    stop = Some((RunStopCause::Budget, reason));
                }
            }
            None => {
                let moment = Instant::now();
                if stop.is_none() && bounds.deadline.is_some_and(|deadline| deadline <= moment) {
                    stop = Some((RunStopCause::Deadline, "the deadline has passed".to_owned()));
                } else if stop.is_none() && silent_at <= moment {
                    trouble =
                        Some(TurnFault::Stalled("the agent gave no sign of life for too long".to_owned()));
                } else if stop.is_none() {
                    let used = usage_now(&heard, &mut live, &launched);
                    stop = (bounds.over_budget)(&used).map(|reason| (RunStopCause::Budget, reason));
                    trouble = heard.check_calls(&live).filter(|_| stop.is_none());
                }
            }
        }
        if !stopped && (stop.is_some() || trouble.is_some()) {
            launched.interrupt_agent()?;
        }
    }
    let stated = launched.usage();
    let used = live.final_usage(heard.session(), stated);
    let ended = launched.finish_run().await?;
    let mut notices: Vec<String> = ended.notices.iter().map(ToString::to_string).collect();
    notices.retain(|notice| !notice.is_empty());
    let mut over = heard.into_ended_turn(ended.end, used, trouble);
    // A turn that was through when it was stopped still counts, but for time and races, which wait for nobody.
    let through = over.answer.is_whole();
    over.stop = match stop {
        Some((RunStopCause::Budget, _)) if through => None,
        Some(stop) => Some(stop),
        None => over.stop,
    };
    Ok((over, notices))
}

/// Reason why a run in `lane` is given up, in words; `None` if it is not.
pub const fn give_up_reason(lane: RaceStatus) -> Option<&'static str> {
    match lane {
        RaceStatus::Open => None,
        RaceStatus::Lost => Some("another run was verified first"),
        RaceStatus::Closed => Some("all runs were ended"),
    }
}

/// Waits until the run is to be given up, and says why.
pub async fn wait_given_up(lane: &mut Receiver<RaceStatus>) -> &'static str {
    loop {
        if let Some(why) = give_up_reason(*lane.borrow_and_update()) {
            return why;
        }
        if lane.changed().await.is_err() {
            // Nobody is left to give it up.
            std::future::pending::<()>().await;
        }
    }
}

fn usage_now(heard: &TurnTracker, live: &mut LiveUsage, launched: &LaunchedEvents) -> LaunchUsage {
    live.current_usage(heard.session(), launched.usage())
}
