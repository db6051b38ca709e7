//! The machine's rules one by one, then its invariants over any sequence of inputs.

use std::time::{Duration, Instant};

use amplihack_sys::Signal;
use proptest::prelude::*;

use super::{EscalationAction, EscalationGraces, EscalationInput, EscalationMachine, SignalTarget};
use crate::output::{DeadlineKind, EndCause};
use crate::spec::{Deadlines, TerminalMode};

const STEP: Duration = Duration::from_secs(5);

struct Script {
    machine: EscalationMachine,
    now: Instant,
}

impl Script {
    fn new(terminal: TerminalMode, deadlines: Deadlines) -> Self {
        let now = Instant::now();
        Self { machine: EscalationMachine::new(terminal, EscalationGraces::new(STEP), deadlines, now), now }
    }

    fn detached() -> Self {
        Self::new(TerminalMode::Detached, Deadlines::default())
    }

    fn feed(&mut self, input: EscalationInput) -> Vec<EscalationAction> {
        self.machine.take_input(self.now, input)
    }

    /// Lets time pass up to the next wake.
    fn wake(&mut self) -> Vec<EscalationAction> {
        self.now = self.machine.next_wake().unwrap().max(self.now);
        self.feed(EscalationInput::Tick)
    }
}

fn send(target: SignalTarget, signal: Signal) -> Vec<EscalationAction> {
    vec![EscalationAction::Send(target, signal)]
}

#[test]
fn a_child_that_ends_alone_is_done_without_a_signal() {
    let mut run = Script::detached();
    assert_eq!(run.machine.next_wake(), None);
    assert_eq!(run.feed(EscalationInput::Exited), []);
    assert_eq!(run.feed(EscalationInput::Drained), [EscalationAction::Count]);
    assert_eq!(run.feed(EscalationInput::Members(0)), [EscalationAction::Done]);
    assert_eq!(run.machine.cause(), EndCause::Ended);
}

#[test]
fn a_child_that_waits_for_input_is_not_silent_and_is_held_to_its_deadlines_again_once_it_is_asked() {
    let short = Some(Duration::from_secs(1));
    let mut run = Script::new(TerminalMode::Detached, Deadlines { startup: short, idle: short, total: None });
    let began = run.now;
    assert_eq!(run.machine.next_wake(), Some(began + Duration::from_secs(1)));
    run.feed(EscalationInput::Waits(true));
    assert_eq!(run.machine.next_wake(), None);
    run.now += Duration::from_mins(1);
    run.feed(EscalationInput::Waits(false));
    // Being asked once more puts nothing off.
    let asked = run.now;
    run.now += Duration::from_millis(500);
    run.feed(EscalationInput::Waits(false));
    assert_eq!(run.machine.next_wake(), Some(asked + Duration::from_secs(1)));
    assert_eq!(run.wake(), send(SignalTarget::Group, Signal::INT));
    assert_eq!(run.machine.cause(), EndCause::Deadline(DeadlineKind::Startup));
}

#[test]
fn background_processes_get_a_moment_then_term_then_kill() {
    let mut run = Script::detached();
    run.feed(EscalationInput::Drained);
    assert_eq!(run.feed(EscalationInput::Exited), [EscalationAction::Count]);
    assert_eq!(run.feed(EscalationInput::Members(2)), []);
    assert_eq!(
        run.wake(),
        [EscalationAction::Send(SignalTarget::Tree, Signal::TERM), EscalationAction::NameBackground]
    );
    assert_eq!(run.feed(EscalationInput::Members(1)), send(SignalTarget::Tree, Signal::TERM));
    assert_eq!(run.wake(), send(SignalTarget::Tree, Signal::KILL));
    assert_eq!(run.feed(EscalationInput::Members(1)), send(SignalTarget::Tree, Signal::KILL));
    assert_eq!(run.feed(EscalationInput::Members(0)), [EscalationAction::Done]);
}

#[test]
fn a_pipe_held_open_is_waited_for_only_so_long() {
    let mut run = Script::detached();
    run.feed(EscalationInput::Exited);
    let before = run.now;
    assert_eq!(run.wake(), [EscalationAction::Count]);
    assert_eq!(run.now - before, EscalationGraces::new(STEP).drain);
}

#[test]
fn a_run_without_its_guard_is_not_asked_but_killed() {
    let mut run = Script::detached();
    assert_eq!(run.feed(EscalationInput::Stop), send(SignalTarget::Tree, Signal::KILL));
    assert_eq!(run.feed(EscalationInput::Stop), []);
    assert_eq!(run.wake(), [EscalationAction::Done]);
    assert_eq!(run.machine.cause(), EndCause::Unguarded);
    let mut ended = Script::detached();
    ended.feed(EscalationInput::Exited);
    assert_eq!(ended.feed(EscalationInput::Stop), []);
    assert_eq!(ended.machine.cause(), EndCause::Ended);
}

#[test]
fn a_signal_is_passed_on_then_term_then_kill_then_given_up() {
    let mut run = Script::detached();
    assert_eq!(run.feed(EscalationInput::Signal(Signal::HUP)), send(SignalTarget::Group, Signal::HUP));
    assert_eq!(run.wake(), send(SignalTarget::Tree, Signal::TERM));
    assert_eq!(run.wake(), send(SignalTarget::Tree, Signal::KILL));
    assert_eq!(run.wake(), [EscalationAction::Done]);
    assert_eq!(run.machine.cause(), EndCause::Interrupted(Signal::HUP));
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_the_grace() {
    let mut run = Script::detached();
    assert_eq!(run.feed(EscalationInput::Signal(Signal::INT)), send(SignalTarget::Group, Signal::INT));
    assert_eq!(run.feed(EscalationInput::Signal(Signal::INT)), send(SignalTarget::Tree, Signal::TERM));
    assert_eq!(run.feed(EscalationInput::Signal(Signal::INT)), send(SignalTarget::Tree, Signal::KILL));
    assert_eq!(run.feed(EscalationInput::Signal(Signal::INT)), []);
}

#[test]
fn another_signal_is_passed_on_and_is_no_second_request() {
    let mut run = Script::detached();
    run.feed(EscalationInput::Signal(Signal::HUP));
    let wake = run.machine.next_wake();
    assert_eq!(run.feed(EscalationInput::Signal(Signal::TERM)), send(SignalTarget::Group, Signal::TERM));
    assert_eq!(run.machine.next_wake(), wake);
    assert_eq!(run.machine.cause(), EndCause::Interrupted(Signal::HUP));
}

#[test]
fn what_an_asked_child_leaves_is_ended_with_the_short_grace() {
    let mut run = Script::detached();
    run.feed(EscalationInput::Signal(Signal::INT));
    assert_eq!(run.feed(EscalationInput::Exited), [EscalationAction::Count]);
    assert_eq!(run.feed(EscalationInput::Members(3)), send(SignalTarget::Tree, Signal::TERM));
    let before = run.now;
    assert_eq!(run.wake(), send(SignalTarget::Tree, Signal::KILL));
    assert_eq!(run.now - before, EscalationGraces::new(STEP).sweep);
}

#[test]
fn an_agent_with_the_terminal_is_signalled_alone_and_leaves_what_it_likes() {
    let mut run = Script::new(TerminalMode::Owned, Deadlines::default());
    assert_eq!(run.feed(EscalationInput::Signal(Signal::HUP)), send(SignalTarget::Child, Signal::HUP));
    assert_eq!(run.wake(), send(SignalTarget::Child, Signal::TERM));
    assert_eq!(run.wake(), send(SignalTarget::Child, Signal::KILL));
    assert_eq!(run.feed(EscalationInput::Exited), [EscalationAction::Done]);
    let mut run = Script::new(TerminalMode::Owned, Deadlines::default());
    run.feed(EscalationInput::Exited);
    assert_eq!(run.feed(EscalationInput::Drained), [EscalationAction::Done]);
}

#[test]
fn the_deadline_that_passes_first_is_the_reason() {
    let seconds = |n| Some(Duration::from_secs(n));
    let deadlines = Deadlines { startup: seconds(3), idle: seconds(10), total: seconds(15) };
    let mut run = Script::new(TerminalMode::Detached, deadlines);
    assert_eq!(run.wake(), send(SignalTarget::Group, Signal::INT));
    assert_eq!(run.machine.cause(), EndCause::Deadline(DeadlineKind::Startup));

    let mut run = Script::new(TerminalMode::Detached, deadlines);
    run.feed(EscalationInput::Output);
    run.wake();
    assert_eq!(run.machine.cause(), EndCause::Deadline(DeadlineKind::Idle));

    let mut run = Script::new(TerminalMode::Detached, deadlines);
    run.now += Duration::from_secs(9);
    run.feed(EscalationInput::Output);
    run.wake();
    assert_eq!(run.machine.cause(), EndCause::Deadline(DeadlineKind::Total));
}

#[test]
fn a_child_that_works_on_after_its_word_is_left_alone() {
    let mut run = Script::new(TerminalMode::Detached, Deadlines::default());
    run.feed(EscalationInput::Over);
    assert!(run.machine.next_wake().is_some(), "its end is waited for");
    run.feed(EscalationInput::WorksOn);
    assert_eq!(run.machine.next_wake(), None);
    run.feed(EscalationInput::Over);
    run.wake();
    assert_eq!(run.machine.cause(), EndCause::Lingered);
}

fn any_input() -> impl Strategy<Value = (EscalationInput, Duration)> {
    let signals = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
    let input = prop_oneof![
        proptest::sample::select(signals.to_vec()).prop_map(EscalationInput::Signal),
        Just(EscalationInput::Output),
        Just(EscalationInput::Over),
        Just(EscalationInput::WorksOn),
        Just(EscalationInput::Exited),
        Just(EscalationInput::Drained),
        (0..4usize).prop_map(EscalationInput::Members),
        Just(EscalationInput::Stop),
        Just(EscalationInput::Tick),
    ];
    (input, (0..4000u64).prop_map(Duration::from_millis))
}

proptest! {
    #[test]
    fn every_run_ends_once_and_nothing_follows(
        owned in any::<bool>(),
        inputs in proptest::collection::vec(any_input(), 0..40),
    ) {
        let terminal = if owned { TerminalMode::Owned } else { TerminalMode::Detached };
        let total = Deadlines { total: Some(Duration::from_mins(1)), ..Deadlines::default() };
        let mut run = Script::new(terminal, total);
        let (mut actions, mut exited) = (Vec::new(), false);
        for (input, after) in inputs {
            run.now += after;
            exited |= input == EscalationInput::Exited;
            actions.extend(run.feed(input));
        }
        // The worst that can follow: nobody ends, and only time passes.
        let mut wakes = 0;
        while run.machine.next_wake().is_some() {
            actions.extend(run.wake());
            wakes += 1;
            prop_assert!(wakes < 10);
        }
        prop_assert_eq!(actions.iter().filter(|action| **action == EscalationAction::Done).count(), 1);
        prop_assert_eq!(actions.last(), Some(&EscalationAction::Done));
        prop_assert_eq!(run.feed(EscalationInput::Signal(Signal::INT)), []);
        prop_assert_eq!(run.feed(EscalationInput::Members(1)), []);
        let target = if owned { SignalTarget::Child } else { SignalTarget::Tree };
        if !exited {
            prop_assert!(actions.contains(&EscalationAction::Send(target, Signal::KILL)), "given up without SIGKILL");
        }
        for action in &actions {
            if let EscalationAction::Send(to, signal) = action {
                prop_assert_eq!(owned, *to == SignalTarget::Child);
                prop_assert!(*signal != Signal::KILL || *to != SignalTarget::Group);
            }
        }
    }
}
