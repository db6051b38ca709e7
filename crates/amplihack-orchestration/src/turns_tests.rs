//! The machine by table and by property.

use proptest::prelude::*;

use super::*;

const RULES: Rules = Rules { max_turns: 6, fallback: false, end_on_denial: false };

fn claims(status: Status) -> TurnInput {
    TurnInput::Answered(answer(success(), Some(status)))
}

fn success() -> RunEnd {
    known(RunEnd::new(EndEvent::success(Summary::default()), Evidence::Record))
}

/// `run` with a guard that reports no denial.
fn known(mut run: RunEnd) -> RunEnd {
    run.denials = Denials::Known(Vec::new());
    run
}

fn answer(run: RunEnd, status: Option<Status>) -> Answer {
    let claim = status.map(|status| Claim { status, summary: None, changes: None });
    Answer { run: Box::new(run), cut: false, claim, alive: true, resumed: false, denials: 0 }
}

fn failed(kind: FailKind) -> Answer {
    answer(known(RunEnd::failed(kind, "no")), None)
}

fn checked(outcome: Checked) -> TurnInput {
    TurnInput::Checked { outcome }
}

fn phase(output: &TurnOutput) -> Phase {
    let TurnOutput::Ask(ask) = output else { panic!("{output:?}") };
    ask.phase
}

fn end(output: &TurnOutput) -> RunOutcome {
    let TurnOutput::End { end, .. } = output else { panic!("{output:?}") };
    *end
}

#[test]
fn a_run_clarifies_plans_does_and_mends_until_it_is_verified() {
    let mut turns = Turns::new(RULES);
    assert_eq!(phase(&turns.step(TurnInput::Begin)), Phase::Clarify);
    assert_eq!(phase(&turns.step(claims(Status::Working))), Phase::Plan);
    assert_eq!(phase(&turns.step(claims(Status::Working))), Phase::Execute);
    assert_eq!(turns.step(claims(Status::Done)), TurnOutput::Verify);
    assert_eq!(phase(&turns.step(checked(Checked::Refuted))), Phase::Adjust);
    assert_eq!(turns.step(claims(Status::Done)), TurnOutput::Verify);
    assert_eq!(phase(&turns.step(checked(Checked::Refuted))), Phase::Adjust);
    assert_eq!(turns.step(claims(Status::Done)), TurnOutput::Verify);
    assert_eq!(end(&turns.step(checked(Checked::Passed))), RunOutcome::Verified);
    // It stays so.
    assert_eq!(end(&turns.step(claims(Status::Blocked))), RunOutcome::Verified);
}

#[test]
fn a_short_run_comes_to_doing_the_task() {
    for (max_turns, first) in [(1, Phase::Execute), (2, Phase::Plan), (3, Phase::Clarify)] {
        let mut turns = Turns::new(Rules { max_turns, ..RULES });
        assert_eq!(phase(&turns.step(TurnInput::Begin)), first);
        let mut last = first;
        for _ in 1..max_turns {
            last = phase(&turns.step(claims(Status::Working)));
        }
        assert_eq!(last, Phase::Execute);
        assert_eq!(end(&turns.step(claims(Status::Working))), RunOutcome::MaxTurns);
    }
}

#[test]
fn a_claim_without_a_command_is_a_claim() {
    let mut turns = Turns::new(RULES);
    let _ = turns.step(TurnInput::Begin);
    assert_eq!(turns.step(claims(Status::Done)), TurnOutput::Verify);
    assert_eq!(end(&turns.step(checked(Checked::Unproved))), RunOutcome::Claimed);
}

#[test]
fn denials_end_a_run_when_they_are_told_to_or_when_the_agent_cannot_go_on() {
    let denied = |status| TurnInput::Answered(Answer { denials: 1, ..answer(success(), Some(status)) });
    let mut turns = Turns::new(RULES);
    let _ = turns.step(TurnInput::Begin);
    assert_eq!(phase(&turns.step(denied(Status::Working))), Phase::Plan);
    assert_eq!(end(&turns.step(denied(Status::Blocked))), RunOutcome::Denied);
    let mut turns = Turns::new(Rules { end_on_denial: true, ..RULES });
    let _ = turns.step(TurnInput::Begin);
    assert_eq!(end(&turns.step(denied(Status::Done))), RunOutcome::Denied);
    let mut turns = Turns::new(RULES);
    let _ = turns.step(TurnInput::Begin);
    assert_eq!(end(&turns.step(claims(Status::Blocked))), RunOutcome::Failed);
}

#[test]
fn an_account_that_is_used_up_goes_to_the_other_agent_once() {
    for kind in [FailKind::Auth, FailKind::Quota, FailKind::RateLimit] {
        let mut turns = Turns::new(Rules { fallback: true, ..RULES });
        let _ = turns.step(TurnInput::Begin);
        let asked = turns.step(TurnInput::Answered(failed(kind)));
        assert_eq!(
            asked,
            TurnOutput::Ask(Ask { turn: 2, phase: Phase::Clarify, fresh: true, fall_back: true })
        );
        assert_eq!(end(&turns.step(TurnInput::Answered(failed(kind)))), RunOutcome::Failed);
        let mut alone = Turns::new(RULES);
        let _ = alone.step(TurnInput::Begin);
        assert_eq!(end(&alone.step(TurnInput::Answered(failed(kind)))), RunOutcome::Failed);
    }
}

#[test]
fn a_failure_is_tried_again_once_and_a_lost_session_is_left_behind() {
    let mut turns = Turns::new(RULES);
    let _ = turns.step(TurnInput::Begin);
    let lost = Answer { alive: false, resumed: true, ..failed(FailKind::Agent) };
    let TurnOutput::Ask(Ask { fresh: true, .. }) = turns.step(TurnInput::Answered(lost)) else { panic!() };
    let again = turns.step(TurnInput::Answered(failed(FailKind::Exit)));
    assert!(matches!(again, TurnOutput::Ask(Ask { fresh: false, .. })), "{again:?}");
    let long = turns.step(claims(Status::Working));
    assert!(matches!(long, TurnOutput::Ask(_)));
    let fresh = turns.step(TurnInput::Answered(failed(FailKind::ContextLength)));
    assert!(matches!(fresh, TurnOutput::Ask(Ask { fresh: true, .. })), "{fresh:?}");
    assert_eq!(end(&turns.step(TurnInput::Answered(failed(FailKind::Exit)))), RunOutcome::Failed);
}

fn any_input() -> impl Strategy<Value = TurnInput> {
    let status = prop_oneof![Just(Status::Done), Just(Status::Working), Just(Status::Blocked)];
    let kind = prop_oneof![
        Just(FailKind::Auth),
        Just(FailKind::Quota),
        Just(FailKind::ContextLength),
        Just(FailKind::Agent),
        Just(FailKind::NoResult)
    ];
    let turn_end = prop_oneof![
        6 => Just(success()),
        2 => kind.prop_map(|kind| RunEnd::failed(kind, "")),
        1 => Just(RunEnd::of(RunOutcome::Denied, "", Evidence::Record)),
        1 => Just(RunEnd::of(RunOutcome::Stalled, "", Evidence::Record)),
    ];
    let flags = (any::<bool>(), any::<bool>(), proptest::bool::weighted(0.2));
    let answered = (turn_end, proptest::option::of(status), flags, 0_u32..3).prop_map(
        |(end, status, (alive, resumed, cut), denials)| {
            TurnInput::Answered(Answer { cut, alive, resumed, denials, ..answer(end, status) })
        },
    );
    prop_oneof![
        8 => answered,
        3 => Just(checked(Checked::Refuted)),
        1 => Just(checked(Checked::Passed)),
        1 => Just(checked(Checked::Unproved)),
        1 => Just(TurnInput::Stopped { why: Stop::Budget }),
    ]
}

proptest! {
    /// However inputs come: turns are numbered without gaps and bounded, an end is final, only a verification that
    /// passed makes `verified`, and the same inputs give the same outputs.
    #[test]
    fn turns_are_bounded_ends_final_and_success_proved(
        max_turns in 1_u32..8,
        fallback in any::<bool>(),
        end_on_denial in any::<bool>(),
        inputs in proptest::collection::vec(any_input(), 0..40),
    ) {
        let rules = Rules { max_turns, fallback, end_on_denial };
        let (mut turns, mut twin) = (Turns::new(rules), Turns::new(rules));
        let (mut asked, mut lost) = (0, 0);
        let mut over: Option<RunOutcome> = None;
        for input in std::iter::once(TurnInput::Begin).chain(inputs) {
            let output = turns.step(input.clone());
            prop_assert_eq!(&output, &twin.step(input.clone()));
            match output {
                TurnOutput::Ask(ask) => {
                    prop_assert!(over.is_none());
                    if ask.turn == asked {
                        lost += 1;
                    } else {
                        asked += 1;
                    }
                    prop_assert_eq!(ask.turn, asked);
                    prop_assert!(asked <= max_turns && lost <= 1);
                }
                TurnOutput::Verify => {
                    prop_assert!(over.is_none());
                    let TurnInput::Answered(answer) = &input else { panic!("{input:?}") };
                    prop_assert_eq!(answer.claim.as_ref().map(|claim| claim.status), Some(Status::Done));
                }
                TurnOutput::End { end, .. } => {
                    if let Some(before) = over {
                        prop_assert_eq!(before, end);
                    } else {
                        prop_assert_eq!(end == RunOutcome::Verified, input == checked(Checked::Passed));
                        prop_assert_eq!(end == RunOutcome::Claimed, input == checked(Checked::Unproved));
                    }
                    over = Some(end);
                }
            }
        }
    }
}
