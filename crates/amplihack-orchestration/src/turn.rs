//! One turn of an agent: launched, watched event by event, ended when it has to be, and told as an answer.

use std::time::Duration;

use amplihack_agent::AgentEvent;
use amplihack_agent::event::{Envelope, RunOutcome};
use amplihack_launcher::LaunchedEvents;
use amplihack_session::{Evidence, RunEnd};
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use crate::budget::Used;
use crate::claim;
use crate::error::AutoError;
use crate::live::Live;
use crate::race::Lane;
use crate::stall::{Limits, Stall, Trouble};
use crate::turns::{Answer, Stop};

/// How often what an agent does not tell in its stream is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// What the events of a turn say, as far as a run wants to know.
#[derive(Debug)]
pub struct Heard {
    session: Option<String>,
    text: Option<String>,
    alive: bool,
    denied: Vec<String>,
    stall: Stall,
    resumed: bool,
}

/// A turn that is over.
#[derive(Debug)]
pub struct Over {
    /// How it went.
    pub answer: Answer,
    /// What it used.
    pub used: Used,
    /// What the agent said at its end.
    pub text: Option<String>,
    /// What was denied.
    pub denied: Vec<String>,
    /// The run is to be stopped, and why in words.
    pub stop: Option<(Stop, String)>,
}

impl Heard {
    /// A turn of which nothing was heard; with `resume`, one that goes on with that session.
    pub fn new(resume: Option<&str>, limits: Limits) -> Self {
        Self {
            session: resume.map(str::to_owned),
            text: None,
            alive: false,
            denied: Vec::new(),
            stall: Stall::new(limits),
            resumed: resume.is_some(),
        }
    }

    /// Takes an event in, and says what is wrong with the turn, if anything is.
    pub fn event(&mut self, event: &AgentEvent) -> Option<Trouble> {
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
        self.stall.observe(event)
    }

    /// Whether the turn does not end, by the calls that its stream tells and those of nested agents that `live` knows.
    fn endless(&self, live: &Live) -> Option<Trouble> {
        self.stall.endless(live.nested_calls())
    }

    /// The agent's session, as far as it is known.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The turn as an answer, after `run`, in which it used `used`, and which was ended for `trouble`.
    pub fn answer(self, mut run: RunEnd, used: Used, trouble: Option<Trouble>) -> Over {
        // The guard's denials are told by the agent too: each is one call.
        let by_rules = run.denials.rules();
        let denied = if by_rules.len() >= self.denied.len() { by_rules.to_vec() } else { self.denied };
        let mut stop = None;
        let mut cut = false;
        match trouble {
            Some(Trouble::Stalled(message)) => run.settle(RunOutcome::Stalled, message, Evidence::Record),
            // One that was through before it could be cut is through.
            Some(Trouble::Endless) => cut = !run.is_success(),
            None => {
                stop = match run.outcome() {
                    RunOutcome::Budget => Some(Stop::Budget),
                    RunOutcome::Interrupted => Some(Stop::Interrupted),
                    _ => None,
                };
                cut = stop.is_some();
            }
        }
        let whole = !cut && run.is_success();
        let claim = self.text.as_deref().filter(|_| whole).and_then(claim::read);
        let stop = stop.map(|why| (why, run.reason().to_owned()));
        run.event.summary.text = None;
        Over {
            answer: Answer {
                run: Box::new(run),
                cut,
                claim,
                alive: self.alive,
                resumed: self.resumed,
                denials: u32::try_from(denied.len()).unwrap_or(u32::MAX),
            },
            used: Used { session: self.session.or(used.session), ..used },
            text: self.text,
            denied,
            stop,
        }
    }
}

/// What bounds a turn from outside of it.
pub struct Bounds<'a> {
    /// When the run must be over.
    pub deadline: Option<Instant>,
    /// Says in words which budget is reached, of a turn that has used so much by now.
    pub over_budget: &'a dyn Fn(&Used) -> Option<String>,
    /// Other runs use up the same budget.
    pub shared: bool,
    /// Resolves when the run is to be given up: a race that another has won.
    pub lane: &'a mut Receiver<Lane>,
}

/// Watches `launched` to its end. `told` gets each event, and what was used by then if that is more.
pub async fn watch(
    mut launched: LaunchedEvents,
    mut heard: Heard,
    mut live: Live,
    bounds: Bounds<'_>,
    told: &dyn Fn(&Envelope, &Used),
) -> Result<(Over, Vec<String>), AutoError> {
    let mut stop: Option<(Stop, String)> = None;
    let mut trouble = None;
    let mut last_event = Instant::now();
    loop {
        let stopped = stop.is_some() || trouble.is_some();
        let silent_at = last_event + heard.stall.patience();
        let wake = [Some(silent_at), bounds.deadline].into_iter().flatten().min().unwrap_or(silent_at);
        let look = if live.is_wanted() || bounds.shared { wake.min(Instant::now() + LOOK) } else { wake };
        let event = tokio::select! {
            event = launched.next() => Some(event?),
            () = tokio::time::sleep_until(look), if !stopped => None,
            why = given_up(bounds.lane), if !stopped => {
                stop = Some((Stop::Interrupted, why.to_owned()));
                None
            }
        };
        match event {
            Some(None) => break,
            Some(Some(envelope)) => {
                last_event = Instant::now();
                live.event(&envelope.event);
                let found = heard.event(&envelope.event);
                let used = now(&heard, &mut live, &launched);
                if !stopped {
                    trouble = found.or_else(|| heard.endless(&live));
                }
                told(&envelope, &used);
                if !stopped && let Some(reason) = (bounds.over_budget)(&used) {
                    stop = Some((Stop::Budget, reason));
                }
            }
            None => {
                let moment = Instant::now();
                if stop.is_none() && bounds.deadline.is_some_and(|deadline| deadline <= moment) {
                    stop = Some((Stop::Deadline, "the deadline has passed".to_owned()));
                } else if stop.is_none() && silent_at <= moment {
                    trouble =
                        Some(Trouble::Stalled("nothing was heard of the agent for too long".to_owned()));
                } else if stop.is_none() {
                    let used = now(&heard, &mut live, &launched);
                    stop = (bounds.over_budget)(&used).map(|reason| (Stop::Budget, reason));
                    trouble = heard.endless(&live).filter(|_| stop.is_none());
                }
            }
        }
        if !stopped && (stop.is_some() || trouble.is_some()) {
            launched.interrupt()?;
        }
    }
    let stated = launched.usage();
    let used = live.last_look(heard.session(), stated);
    let ended = launched.finish().await?;
    let mut notices: Vec<String> = ended.notices.iter().map(ToString::to_string).collect();
    notices.retain(|notice| !notice.is_empty());
    let mut over = heard.answer(ended.end, used, trouble);
    // A turn that was through when it was stopped still counts, but for time and races, which wait for nobody.
    let through = over.answer.is_whole();
    over.stop = match stop {
        Some((Stop::Budget, _)) if through => None,
        Some(stop) => Some(stop),
        None => over.stop,
    };
    Ok((over, notices))
}

/// Why a run in `lane` is given up, in words; `None` if it is not.
pub const fn why(lane: Lane) -> Option<&'static str> {
    match lane {
        Lane::Open => None,
        Lane::Lost => Some("another run was verified first"),
        Lane::Closed => Some("all runs were ended"),
    }
}

/// Waits until the run is to be given up, and says why.
pub async fn given_up(lane: &mut Receiver<Lane>) -> &'static str {
    loop {
        if let Some(why) = why(*lane.borrow_and_update()) {
            return why;
        }
        if lane.changed().await.is_err() {
            // Nobody is left to give it up.
            std::future::pending::<()>().await;
        }
    }
}

fn now(heard: &Heard, live: &mut Live, launched: &LaunchedEvents) -> Used {
    live.look(heard.session(), launched.usage())
}
