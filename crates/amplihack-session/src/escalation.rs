//! Steps that end a run's processes, and their times: a state machine without processes, pipes or clocks.
//!
//! A run ends by one of three ways: its child ends, a signal reaches this process, or a deadline passes. From then on
//! time only leads forward, from asking to SIGTERM to SIGKILL to an end, so that every wait has one.

use std::time::{Duration, Instant};

use amplihack_sys::Signal;

use crate::output::{DeadlineKind, EndCause};
use crate::spec::{Deadlines, TerminalMode};

/// Time that each step of an ending may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EscalationGraces {
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

impl EscalationGraces {
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

/// Input of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscalationInput {
    /// Signal that this process received and that ends runs.
    Signal(Signal),
    /// The child wrote something.
    Output,
    /// True: the child has answered all it was asked, and waits for more; its silence is no stall. False: it was asked again.
    Waits(bool),
    /// The child says that it is done: nothing more is expected of it but its end.
    Over,
    /// The child took that back: it works on.
    WorksOn,
    /// The child ended.
    Exited,
    /// No captured output of the run is open any more.
    Drained,
    /// So many processes of the run, apart from the child, were alive just now.
    Members(usize),
    /// Whoever watches the run's guard wants it ended.
    Stop,
    /// Time passed.
    Tick,
}

/// Whom a signal is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalTarget {
    /// The child alone.
    Child,
    /// The child's process group.
    Group,
    /// Every process of the run, wherever it is.
    Tree,
}

/// Action that the machine wants done, in the order returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscalationAction {
    /// Send a signal. To a tree each process gets each signal once; SIGKILL as often as it is wanted.
    Send(SignalTarget, Signal),
    /// Count the members now, and again whenever those counted have ended.
    Count,
    /// The members that were just sent a signal are what the child left in the background.
    NameBackground,
    /// The run is over. Nothing follows.
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EndingStep {
    Asked,
    Term,
    Kill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EscalationPhase {
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
        step: EndingStep,
        until: Instant,
    },
    Done,
}

/// The machine. Feed it with [`take_input`](Self::take_input), and with [`EscalationInput::Tick`] at [`next_wake`](Self::next_wake).
#[derive(Debug)]
pub struct EscalationMachine {
    terminal: TerminalMode,
    graces: EscalationGraces,
    deadlines: Deadlines,
    started: Instant,
    last_output: Option<Instant>,
    /// Time from which an answer is expected; `None`: the child waits for input.
    asked: Option<Instant>,
    /// Time at which the child reported that it is done.
    over: Option<Instant>,
    phase: EscalationPhase,
    cause: EndCause,
    /// The signal that was passed on last.
    passed_on: Option<Signal>,
    exited: bool,
    drained: bool,
}

impl EscalationMachine {
    /// A run that started at `now`. For a run whose output is not read, leave `startup` and `idle` unset.
    pub fn new(terminal: TerminalMode, graces: EscalationGraces, deadlines: Deadlines, now: Instant) -> Self {
        Self {
            terminal,
            graces,
            deadlines,
            started: now,
            last_output: None,
            asked: Some(now),
            over: None,
            phase: EscalationPhase::Running,
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

    /// The limit that passed, of a run that a deadline ended.
    pub fn passed_limit(&self) -> Option<Duration> {
        match self.cause {
            EndCause::Deadline(DeadlineKind::Startup) => self.deadlines.startup,
            EndCause::Deadline(DeadlineKind::Idle) => self.deadlines.idle,
            EndCause::Deadline(DeadlineKind::Total) => self.deadlines.total,
            _ => None,
        }
    }

    /// Reports whether the child runs, and may.
    pub(crate) fn is_running(&self) -> bool {
        self.phase == EscalationPhase::Running
    }

    /// Reports whether time leads to a signal.
    pub(crate) fn may_be_ended(&self) -> bool {
        matches!(
            self.phase,
            EscalationPhase::Running
                | EscalationPhase::Ending { step: EndingStep::Asked | EndingStep::Term, .. }
        )
    }

    /// Latest time to come back. `None`: there is nothing that time alone would change.
    pub fn next_wake(&self) -> Option<Instant> {
        match self.phase {
            EscalationPhase::Running => self.next_deadline().map(|(at, _)| at),
            EscalationPhase::Draining { until }
            | EscalationPhase::Settling { until }
            | EscalationPhase::Ending { until, .. } => Some(until),
            EscalationPhase::Done => None,
        }
    }

    /// Takes one input at the time `now`, and returns what to do. After [`EscalationAction::Done`] it returns nothing any more.
    #[must_use]
    pub fn take_input(&mut self, now: Instant, input: EscalationInput) -> Vec<EscalationAction> {
        if self.phase == EscalationPhase::Done {
            return Vec::new();
        }
        match input {
            EscalationInput::Tick => self.pass_time(now),
            EscalationInput::Signal(signal) => self.take_signal(now, signal),
            EscalationInput::Output => {
                self.last_output = Some(now);
                Vec::new()
            }
            EscalationInput::Waits(waits) => {
                self.asked = (!waits).then(|| self.asked.unwrap_or(now));
                Vec::new()
            }
            EscalationInput::Over => {
                self.over.get_or_insert(now);
                Vec::new()
            }
            EscalationInput::WorksOn => {
                self.over = None;
                Vec::new()
            }
            EscalationInput::Stop => self.stop_unguarded(now),
            EscalationInput::Exited => self.note_exit(now),
            EscalationInput::Drained => self.note_drained(now),
            EscalationInput::Members(count) => self.note_members(now, count),
        }
    }

    /// The deadline that passes next, and the cause of the end then. Once there was output, silence is counted from there; once the child
    /// is done, only its end is waited for.
    fn next_deadline(&self) -> Option<(Instant, EndCause)> {
        let Deadlines { startup, idle, total } = self.deadlines;
        let answers = self.over.is_none() && self.asked.is_some();
        let startup = startup.filter(|_| self.last_output.is_none() && answers);
        let idle = idle.filter(|_| answers);
        let asked = self.asked.unwrap_or(self.started);
        let idle_from = self.last_output.map_or(asked, |output| output.max(asked));
        let after = |from: Instant, wait: Option<Duration>, why| {
            wait.and_then(|wait| from.checked_add(wait)).map(|at| (at, why))
        };
        [
            after(asked, startup, EndCause::Deadline(DeadlineKind::Startup)),
            after(idle_from, idle, EndCause::Deadline(DeadlineKind::Idle)),
            after(self.started, total, EndCause::Deadline(DeadlineKind::Total)),
            // One that goes on after its word is not done yet.
            self.over
                .and_then(|over| after(over.max(idle_from), Some(self.graces.linger), EndCause::Lingered)),
        ]
        .into_iter()
        .flatten()
        .min_by_key(|(at, _)| *at)
    }

    fn pass_time(&mut self, now: Instant) -> Vec<EscalationAction> {
        match self.phase {
            EscalationPhase::Running => match self.next_deadline() {
                Some((at, why)) if at <= now => {
                    self.cause = why;
                    self.ask_to_end(now, Signal::INT)
                }
                _ => Vec::new(),
            },
            EscalationPhase::Draining { until } if until <= now => self.begin_settling(now),
            EscalationPhase::Settling { until } if until <= now => self.begin_sweep(now),
            EscalationPhase::Ending { step: EndingStep::Asked, until } if until <= now => {
                self.end_with(EndingStep::Term, now + self.graces.step)
            }
            EscalationPhase::Ending { step: EndingStep::Term, until } if until <= now => {
                self.end_with(EndingStep::Kill, now + self.graces.kill)
            }
            EscalationPhase::Ending { step: EndingStep::Kill, until } if until <= now => self.finish_run(),
            _ => Vec::new(),
        }
    }

    /// Ends a run that nobody guards: it is killed, since its tools run meanwhile, and a signal that ends a hook first lets the call run
    /// that waits for it.
    fn stop_unguarded(&mut self, now: Instant) -> Vec<EscalationAction> {
        match self.phase {
            EscalationPhase::Running => {
                self.cause = EndCause::Unguarded;
                self.end_with(EndingStep::Kill, now + self.graces.kill)
            }
            EscalationPhase::Ending { step: EndingStep::Asked | EndingStep::Term, .. } => {
                self.end_with(EndingStep::Kill, now + self.graces.kill)
            }
            _ => Vec::new(),
        }
    }

    fn take_signal(&mut self, now: Instant, signal: Signal) -> Vec<EscalationAction> {
        match self.phase {
            EscalationPhase::Running => {
                self.cause = EndCause::Interrupted(signal);
                self.ask_to_end(now, signal)
            }
            // The child ended before the signal came: the outcome is the child's, only the rest is hurried.
            EscalationPhase::Draining { .. } | EscalationPhase::Settling { .. } => match self.terminal {
                TerminalMode::Detached => self.begin_sweep(now),
                TerminalMode::Owned => self.finish_run(),
            },
            EscalationPhase::Ending { step, .. } => {
                // A closed terminal brings SIGHUP and SIGTERM together; that is no second request. A second Ctrl-C is.
                let again = signal == Signal::INT || self.passed_on == Some(signal);
                match step {
                    EndingStep::Asked if again => self.end_with(EndingStep::Term, now + self.graces.step),
                    EndingStep::Term if again => self.end_with(EndingStep::Kill, now + self.graces.kill),
                    EndingStep::Asked if !self.exited => {
                        self.passed_on = Some(signal);
                        vec![EscalationAction::Send(self.asked_target(), signal)]
                    }
                    _ => Vec::new(),
                }
            }
            EscalationPhase::Done => Vec::new(),
        }
    }

    fn note_exit(&mut self, now: Instant) -> Vec<EscalationAction> {
        if self.exited {
            return Vec::new();
        }
        self.exited = true;
        match (self.phase, self.terminal) {
            (EscalationPhase::Running, _) if self.drained => self.begin_settling(now),
            (EscalationPhase::Running, _) => {
                self.phase = EscalationPhase::Draining { until: now + self.graces.drain };
                Vec::new()
            }
            (EscalationPhase::Ending { .. }, TerminalMode::Detached) => vec![EscalationAction::Count],
            (EscalationPhase::Ending { .. }, TerminalMode::Owned) => self.finish_run(),
            _ => Vec::new(),
        }
    }

    fn note_drained(&mut self, now: Instant) -> Vec<EscalationAction> {
        self.drained = true;
        if matches!(self.phase, EscalationPhase::Draining { .. }) {
            self.begin_settling(now)
        } else {
            Vec::new()
        }
    }

    fn note_members(&mut self, now: Instant, count: usize) -> Vec<EscalationAction> {
        match self.phase {
            EscalationPhase::Settling { .. } | EscalationPhase::Ending { .. }
                if self.exited && count == 0 =>
            {
                self.finish_run()
            }
            EscalationPhase::Ending { step: EndingStep::Asked, .. } if self.exited => {
                self.end_with(EndingStep::Term, now + self.graces.sweep)
            }
            // New ones appeared while the others were being ended.
            EscalationPhase::Ending { step: EndingStep::Term, .. } if count > 0 => {
                vec![EscalationAction::Send(self.rest_target(), Signal::TERM)]
            }
            EscalationPhase::Ending { step: EndingStep::Kill, .. } if count > 0 => {
                vec![EscalationAction::Send(self.rest_target(), Signal::KILL)]
            }
            _ => Vec::new(),
        }
    }

    /// Passes a signal on for the first time.
    fn ask_to_end(&mut self, now: Instant, signal: Signal) -> Vec<EscalationAction> {
        self.passed_on = Some(signal);
        self.phase = EscalationPhase::Ending { step: EndingStep::Asked, until: now + self.graces.step };
        vec![EscalationAction::Send(self.asked_target(), signal)]
    }

    fn end_with(&mut self, step: EndingStep, until: Instant) -> Vec<EscalationAction> {
        self.phase = EscalationPhase::Ending { step, until };
        let signal = if step == EndingStep::Kill { Signal::KILL } else { Signal::TERM };
        vec![EscalationAction::Send(self.rest_target(), signal)]
    }

    fn begin_settling(&mut self, now: Instant) -> Vec<EscalationAction> {
        match self.terminal {
            TerminalMode::Owned => self.finish_run(),
            TerminalMode::Detached => {
                self.phase = EscalationPhase::Settling { until: now + self.graces.settle };
                vec![EscalationAction::Count]
            }
        }
    }

    fn begin_sweep(&mut self, now: Instant) -> Vec<EscalationAction> {
        let mut actions = self.end_with(EndingStep::Term, now + self.graces.sweep);
        actions.push(EscalationAction::NameBackground);
        actions
    }

    fn finish_run(&mut self) -> Vec<EscalationAction> {
        self.phase = EscalationPhase::Done;
        vec![EscalationAction::Done]
    }

    fn asked_target(&self) -> SignalTarget {
        match self.terminal {
            TerminalMode::Detached => SignalTarget::Group,
            TerminalMode::Owned => SignalTarget::Child,
        }
    }

    fn rest_target(&self) -> SignalTarget {
        match self.terminal {
            TerminalMode::Detached => SignalTarget::Tree,
            TerminalMode::Owned => SignalTarget::Child,
        }
    }
}

#[cfg(test)]
#[path = "escalation_tests.rs"]
mod tests;
