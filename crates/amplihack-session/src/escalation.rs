//! What is done to a run's processes, and when: a state machine without processes, pipes or clocks.
//!
//! A run ends by one of three ways: its child ends, a signal reaches this process, or a deadline passes. From then on
//! time only leads forward, from asking to SIGTERM to SIGKILL to an end, so that every wait has one.

use std::time::{Duration, Instant};

use amplihack_utils::sys::Signal;

use crate::output::{Deadline, EndCause};
use crate::spec::{Deadlines, Terminal};

/// How long each step of an ending may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Graces {
    /// From a passed-on signal to SIGTERM, and from there to SIGKILL, while the child runs.
    pub step: Duration,
    /// After the child's own end: for pipes that somebody else holds open.
    pub drain: Duration,
    /// After that: for processes that are about to follow their parent.
    pub settle: Duration,
    /// From SIGTERM to SIGKILL for what the child left in the background.
    pub sweep: Duration,
    /// From SIGKILL until survivors are given up.
    pub kill: Duration,
    /// From the agent's own word that it is done to its end.
    pub linger: Duration,
}

impl Graces {
    /// The usual graces, none longer than `step`, but for the last. A step of more than a day counts as a day.
    pub fn new(step: Duration) -> Self {
        let step = step.min(Duration::from_hours(24));
        let at_most = |millis| step.min(Duration::from_millis(millis));
        Self {
            step,
            drain: at_most(500),
            settle: at_most(100),
            sweep: at_most(1000),
            kill: Duration::from_secs(2),
            linger: step,
        }
    }
}

/// What the machine is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// This process received a signal that ends runs.
    Signal(Signal),
    /// The child wrote something.
    Output,
    /// The child says that it is done: nothing more is expected of it but its end.
    Over,
    /// The child ended.
    Exited,
    /// No captured output of the run is open any more.
    Drained,
    /// So many processes of the run, apart from the child, were alive just now.
    Members(usize),
    /// Time passed.
    Tick,
}

/// Whom a signal is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The child alone.
    Child,
    /// The child's process group.
    Group,
    /// Every process of the run, wherever it is.
    Tree,
}

/// What the machine wants done, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send a signal. To a tree each process gets each signal once; SIGKILL as often as it is wanted.
    Send(Target, Signal),
    /// Count the members now, and again whenever those counted have ended.
    Count,
    /// The members that were just sent a signal are what the child left in the background.
    NameBackground,
    /// The run is over. Nothing follows.
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Asked,
    Term,
    Kill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The child runs, and may.
    Running,
    /// The child ended by itself; its last output is waited for.
    Draining {
        until: Instant,
    },
    /// … and its last relatives.
    Settling {
        until: Instant,
    },
    /// The run is being ended.
    Ending {
        step: Step,
        until: Instant,
    },
    Done,
}

/// The machine. Feed it with [`step`](Self::step), and with [`Input::Tick`] at [`wake`](Self::wake).
#[derive(Debug)]
pub struct Escalation {
    terminal: Terminal,
    graces: Graces,
    deadlines: Deadlines,
    started: Instant,
    last_output: Option<Instant>,
    /// When the child said that it is done.
    over: Option<Instant>,
    phase: Phase,
    cause: EndCause,
    /// The signal that was passed on last.
    passed_on: Option<Signal>,
    exited: bool,
    drained: bool,
}

impl Escalation {
    /// A run that started at `now`. For a run whose output is not read, leave `startup` and `idle` unset.
    pub fn new(terminal: Terminal, graces: Graces, deadlines: Deadlines, now: Instant) -> Self {
        Self {
            terminal,
            graces,
            deadlines,
            started: now,
            last_output: None,
            over: None,
            phase: Phase::Running,
            cause: EndCause::Ended,
            passed_on: None,
            exited: false,
            drained: false,
        }
    }

    /// The cause of the run's end; [`EndCause::Ended`] as long as there is no other.
    pub fn cause(&self) -> EndCause {
        self.cause
    }

    /// When to come back at the latest. `None`: there is nothing that time alone would change.
    pub fn wake(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running => self.next_deadline().map(|(at, _)| at),
            Phase::Draining { until } | Phase::Settling { until } | Phase::Ending { until, .. } => {
                Some(until)
            }
            Phase::Done => None,
        }
    }

    /// Takes one input at the time `now`, and says what to do. After [`Action::Done`] it says nothing any more.
    #[must_use]
    pub fn step(&mut self, now: Instant, input: Input) -> Vec<Action> {
        if self.phase == Phase::Done {
            return Vec::new();
        }
        match input {
            Input::Tick => self.time(now),
            Input::Signal(signal) => self.signal(now, signal),
            Input::Output => {
                self.last_output = Some(now);
                Vec::new()
            }
            Input::Over => {
                self.over.get_or_insert(now);
                Vec::new()
            }
            Input::Exited => self.exited(now),
            Input::Drained => self.drained(now),
            Input::Members(count) => self.members(now, count),
        }
    }

    /// What passes next, and why the run ends then. Once there was output, silence is counted from there; once the child
    /// is done, only its end is waited for.
    fn next_deadline(&self) -> Option<(Instant, EndCause)> {
        let Deadlines { startup, idle, total } = self.deadlines;
        let startup = startup.filter(|_| self.last_output.is_none() && self.over.is_none());
        let idle = idle.filter(|_| self.over.is_none());
        let idle_from = self.last_output.unwrap_or(self.started);
        let after = |from: Instant, wait: Option<Duration>, why| {
            wait.and_then(|wait| from.checked_add(wait)).map(|at| (at, why))
        };
        [
            after(self.started, startup, EndCause::Deadline(Deadline::Startup)),
            after(idle_from, idle, EndCause::Deadline(Deadline::Idle)),
            after(self.started, total, EndCause::Deadline(Deadline::Total)),
            // One that goes on after its word is not done yet.
            self.over
                .and_then(|over| after(over.max(idle_from), Some(self.graces.linger), EndCause::Lingered)),
        ]
        .into_iter()
        .flatten()
        .min_by_key(|(at, _)| *at)
    }

    fn time(&mut self, now: Instant) -> Vec<Action> {
        match self.phase {
            Phase::Running => match self.next_deadline() {
                Some((at, why)) if at <= now => {
                    self.cause = why;
                    self.ask(now, Signal::INT)
                }
                _ => Vec::new(),
            },
            Phase::Draining { until } if until <= now => self.settle(now),
            Phase::Settling { until } if until <= now => self.sweep(now),
            Phase::Ending { step: Step::Asked, until } if until <= now => {
                self.end(Step::Term, now + self.graces.step)
            }
            Phase::Ending { step: Step::Term, until } if until <= now => {
                self.end(Step::Kill, now + self.graces.kill)
            }
            Phase::Ending { step: Step::Kill, until } if until <= now => self.done(),
            _ => Vec::new(),
        }
    }

    fn signal(&mut self, now: Instant, signal: Signal) -> Vec<Action> {
        match self.phase {
            Phase::Running => {
                self.cause = EndCause::Interrupted(signal);
                self.ask(now, signal)
            }
            // The child ended before the signal came: the outcome is the child's, only the rest is hurried.
            Phase::Draining { .. } | Phase::Settling { .. } => match self.terminal {
                Terminal::Detached => self.sweep(now),
                Terminal::Owned => self.done(),
            },
            Phase::Ending { step, .. } => {
                // A closed terminal brings SIGHUP and SIGTERM together; that is no second request. A second Ctrl-C is.
                let again = signal == Signal::INT || self.passed_on == Some(signal);
                match step {
                    Step::Asked if again => self.end(Step::Term, now + self.graces.step),
                    Step::Term if again => self.end(Step::Kill, now + self.graces.kill),
                    Step::Asked if !self.exited => {
                        self.passed_on = Some(signal);
                        vec![Action::Send(self.asked(), signal)]
                    }
                    _ => Vec::new(),
                }
            }
            Phase::Done => Vec::new(),
        }
    }

    fn exited(&mut self, now: Instant) -> Vec<Action> {
        if self.exited {
            return Vec::new();
        }
        self.exited = true;
        match (self.phase, self.terminal) {
            (Phase::Running, _) if self.drained => self.settle(now),
            (Phase::Running, _) => {
                self.phase = Phase::Draining { until: now + self.graces.drain };
                Vec::new()
            }
            (Phase::Ending { .. }, Terminal::Detached) => vec![Action::Count],
            (Phase::Ending { .. }, Terminal::Owned) => self.done(),
            _ => Vec::new(),
        }
    }

    fn drained(&mut self, now: Instant) -> Vec<Action> {
        self.drained = true;
        if matches!(self.phase, Phase::Draining { .. }) { self.settle(now) } else { Vec::new() }
    }

    fn members(&mut self, now: Instant, count: usize) -> Vec<Action> {
        match self.phase {
            Phase::Settling { .. } | Phase::Ending { .. } if self.exited && count == 0 => self.done(),
            Phase::Ending { step: Step::Asked, .. } if self.exited => {
                self.end(Step::Term, now + self.graces.sweep)
            }
            // New ones appeared while the others were being ended.
            Phase::Ending { step: Step::Term, .. } if count > 0 => {
                vec![Action::Send(self.rest(), Signal::TERM)]
            }
            Phase::Ending { step: Step::Kill, .. } if count > 0 => {
                vec![Action::Send(self.rest(), Signal::KILL)]
            }
            _ => Vec::new(),
        }
    }

    /// Passes a signal on for the first time.
    fn ask(&mut self, now: Instant, signal: Signal) -> Vec<Action> {
        self.passed_on = Some(signal);
        self.phase = Phase::Ending { step: Step::Asked, until: now + self.graces.step };
        vec![Action::Send(self.asked(), signal)]
    }

    fn end(&mut self, step: Step, until: Instant) -> Vec<Action> {
        self.phase = Phase::Ending { step, until };
        let signal = if step == Step::Kill { Signal::KILL } else { Signal::TERM };
        vec![Action::Send(self.rest(), signal)]
    }

    fn settle(&mut self, now: Instant) -> Vec<Action> {
        match self.terminal {
            Terminal::Owned => self.done(),
            Terminal::Detached => {
                self.phase = Phase::Settling { until: now + self.graces.settle };
                vec![Action::Count]
            }
        }
    }

    fn sweep(&mut self, now: Instant) -> Vec<Action> {
        let mut actions = self.end(Step::Term, now + self.graces.sweep);
        actions.push(Action::NameBackground);
        actions
    }

    fn done(&mut self) -> Vec<Action> {
        self.phase = Phase::Done;
        vec![Action::Done]
    }

    fn asked(&self) -> Target {
        match self.terminal {
            Terminal::Detached => Target::Group,
            Terminal::Owned => Target::Child,
        }
    }

    fn rest(&self) -> Target {
        match self.terminal {
            Terminal::Detached => Target::Tree,
            Terminal::Owned => Target::Child,
        }
    }
}

#[cfg(test)]
#[path = "escalation_tests.rs"]
mod tests;
