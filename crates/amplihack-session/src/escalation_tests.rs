//! The machine's rules one by one, then its invariants over any sequence of inputs.

use std::time::{Duration, Instant};

use amplihack_utils::sys::Signal;
use proptest::prelude::*;

use super::{Action, Escalation, Graces, Input, Target};
use crate::output::{Deadline, EndCause};
use crate::spec::{Deadlines, Terminal};

const STEP: Duration = Duration::from_secs(5);

struct Script {
    machine: Escalation,
    now: Instant,
}

impl Script {
    fn new(terminal: Terminal, deadlines: Deadlines) -> Self {
        let now = Instant::now();
        Self { machine: Escalation::new(terminal, Graces::new(STEP), deadlines, now), now }
    }

    fn detached() -> Self {
        Self::new(Terminal::Detached, Deadlines::default())
    }

    fn feed(&mut self, input: Input) -> Vec<Action> {
        self.machine.step(self.now, input)
    }

    /// Lets time pass up to the next wake.
    fn wake(&mut self) -> Vec<Action> {
        self.now = self.machine.wake().unwrap().max(self.now);
        self.feed(Input::Tick)
    }
}

fn send(target: Target, signal: Signal) -> Vec<Action> {
    vec![Action::Send(target, signal)]
}

#[test]
fn a_child_that_ends_alone_is_done_without_a_signal() {
    let mut run = Script::detached();
    assert_eq!(run.machine.wake(), None);
    assert_eq!(run.feed(Input::Exited), []);
    assert_eq!(run.feed(Input::Drained), [Action::Count]);
    assert_eq!(run.feed(Input::Members(0)), [Action::Done]);
    assert_eq!(run.machine.cause(), EndCause::Ended);
}

#[test]
fn background_processes_get_a_moment_then_term_then_kill() {
    let mut run = Script::detached();
    run.feed(Input::Drained);
    assert_eq!(run.feed(Input::Exited), [Action::Count]);
    assert_eq!(run.feed(Input::Members(2)), []);
    assert_eq!(run.wake(), [Action::Send(Target::Tree, Signal::TERM), Action::NameBackground]);
    assert_eq!(run.feed(Input::Members(1)), send(Target::Tree, Signal::TERM));
    assert_eq!(run.wake(), send(Target::Tree, Signal::KILL));
    assert_eq!(run.feed(Input::Members(1)), send(Target::Tree, Signal::KILL));
    assert_eq!(run.feed(Input::Members(0)), [Action::Done]);
}

#[test]
fn a_pipe_held_open_is_waited_for_only_so_long() {
    let mut run = Script::detached();
    run.feed(Input::Exited);
    let before = run.now;
    assert_eq!(run.wake(), [Action::Count]);
    assert_eq!(run.now - before, Graces::new(STEP).drain);
}

#[test]
fn a_signal_is_passed_on_then_term_then_kill_then_given_up() {
    let mut run = Script::detached();
    assert_eq!(run.feed(Input::Signal(Signal::HUP)), send(Target::Group, Signal::HUP));
    assert_eq!(run.wake(), send(Target::Tree, Signal::TERM));
    assert_eq!(run.wake(), send(Target::Tree, Signal::KILL));
    assert_eq!(run.wake(), [Action::Done]);
    assert_eq!(run.machine.cause(), EndCause::Interrupted(Signal::HUP));
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_the_grace() {
    let mut run = Script::detached();
    assert_eq!(run.feed(Input::Signal(Signal::INT)), send(Target::Group, Signal::INT));
    assert_eq!(run.feed(Input::Signal(Signal::INT)), send(Target::Tree, Signal::TERM));
    assert_eq!(run.feed(Input::Signal(Signal::INT)), send(Target::Tree, Signal::KILL));
    assert_eq!(run.feed(Input::Signal(Signal::INT)), []);
}

#[test]
fn another_signal_is_passed_on_and_is_no_second_request() {
    let mut run = Script::detached();
    run.feed(Input::Signal(Signal::HUP));
    let wake = run.machine.wake();
    assert_eq!(run.feed(Input::Signal(Signal::TERM)), send(Target::Group, Signal::TERM));
    assert_eq!(run.machine.wake(), wake);
    assert_eq!(run.machine.cause(), EndCause::Interrupted(Signal::HUP));
}

#[test]
fn what_an_asked_child_leaves_is_ended_with_the_short_grace() {
    let mut run = Script::detached();
    run.feed(Input::Signal(Signal::INT));
    assert_eq!(run.feed(Input::Exited), [Action::Count]);
    assert_eq!(run.feed(Input::Members(3)), send(Target::Tree, Signal::TERM));
    let before = run.now;
    assert_eq!(run.wake(), send(Target::Tree, Signal::KILL));
    assert_eq!(run.now - before, Graces::new(STEP).sweep);
}

#[test]
fn an_agent_with_the_terminal_is_signalled_alone_and_leaves_what_it_likes() {
    let mut run = Script::new(Terminal::Owned, Deadlines::default());
    assert_eq!(run.feed(Input::Signal(Signal::HUP)), send(Target::Child, Signal::HUP));
    assert_eq!(run.wake(), send(Target::Child, Signal::TERM));
    assert_eq!(run.wake(), send(Target::Child, Signal::KILL));
    assert_eq!(run.feed(Input::Exited), [Action::Done]);
    let mut run = Script::new(Terminal::Owned, Deadlines::default());
    run.feed(Input::Exited);
    assert_eq!(run.feed(Input::Drained), [Action::Done]);
}

#[test]
fn the_deadline_that_passes_first_is_the_reason() {
    let seconds = |n| Some(Duration::from_secs(n));
    let deadlines = Deadlines { startup: seconds(3), idle: seconds(10), total: seconds(15) };
    let mut run = Script::new(Terminal::Detached, deadlines);
    assert_eq!(run.wake(), send(Target::Group, Signal::INT));
    assert_eq!(run.machine.cause(), EndCause::Deadline(Deadline::Startup));

    let mut run = Script::new(Terminal::Detached, deadlines);
    run.feed(Input::Output);
    run.wake();
    assert_eq!(run.machine.cause(), EndCause::Deadline(Deadline::Idle));

    let mut run = Script::new(Terminal::Detached, deadlines);
    run.now += Duration::from_secs(9);
    run.feed(Input::Output);
    run.wake();
    assert_eq!(run.machine.cause(), EndCause::Deadline(Deadline::Total));
}

fn any_input() -> impl Strategy<Value = (Input, Duration)> {
    let signals = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
    let input = prop_oneof![
        proptest::sample::select(signals.to_vec()).prop_map(Input::Signal),
        Just(Input::Output),
        Just(Input::Exited),
        Just(Input::Drained),
        (0..4usize).prop_map(Input::Members),
        Just(Input::Tick),
    ];
    (input, (0..4000u64).prop_map(Duration::from_millis))
}

proptest! {
    #[test]
    fn every_run_ends_once_and_nothing_follows(
        owned in any::<bool>(),
        inputs in proptest::collection::vec(any_input(), 0..40),
    ) {
        let terminal = if owned { Terminal::Owned } else { Terminal::Detached };
        let total = Deadlines { total: Some(Duration::from_mins(1)), ..Deadlines::default() };
        let mut run = Script::new(terminal, total);
        let (mut actions, mut exited) = (Vec::new(), false);
        for (input, after) in inputs {
            run.now += after;
            exited |= input == Input::Exited;
            actions.extend(run.feed(input));
        }
        // The worst that can follow: nobody ends, and only time passes.
        let mut wakes = 0;
        while run.machine.wake().is_some() {
            actions.extend(run.wake());
            wakes += 1;
            prop_assert!(wakes < 10);
        }
        prop_assert_eq!(actions.iter().filter(|action| **action == Action::Done).count(), 1);
        prop_assert_eq!(actions.last(), Some(&Action::Done));
        prop_assert_eq!(run.feed(Input::Signal(Signal::INT)), []);
        prop_assert_eq!(run.feed(Input::Members(1)), []);
        let target = if owned { Target::Child } else { Target::Tree };
        if !exited {
            prop_assert!(actions.contains(&Action::Send(target, Signal::KILL)), "given up without SIGKILL");
        }
        for action in &actions {
            if let Action::Send(to, signal) = action {
                prop_assert_eq!(owned, *to == Target::Child);
                prop_assert!(*signal != Signal::KILL || *to != Target::Group);
            }
        }
    }
}
