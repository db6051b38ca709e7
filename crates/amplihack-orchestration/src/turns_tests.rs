//! The machine by table and by property.

use proptest::prelude::*;

use super::*;

const RULES: TurnRules =
    TurnRules { max_turns: 6, fallback: false, end_on_denial: false, has_checks: false, direct: false };
const CHECKED: TurnRules = TurnRules { has_checks: true, ..RULES };

fn claims(status: ClaimStatus) -> TurnInput {
    answered(answer(success(), Some(status)))
}

fn answered(answer: TurnAnswer) -> TurnInput {
    TurnInput::Answered { answer, files: TurnFiles::Unknown }
}

/// A turn without a status, after which the files are so.
fn silent(files: TurnFiles) -> TurnInput {
    TurnInput::Answered { answer: answer(success(), None), files }
}

fn success() -> RunEnd {
    known(RunEnd::new(EndEvent::of_success(RunEndSummary::default()), EndEvidence::Record))
}

/// `run` with a guard that reports no denial.
fn known(mut run: RunEnd) -> RunEnd {
    run.denials = GuardDenials::Known(Vec::new());
    run
}

fn answer(run: RunEnd, status: Option<ClaimStatus>) -> TurnAnswer {
    let claim = status.map(|status| AgentClaim { status, summary: None, changes: None });
    TurnAnswer { run: Box::new(run), cut: false, claim, alive: true, resumed: false, denials: 0 }
}

fn failed(kind: FailKind) -> TurnAnswer {
    answer(known(RunEnd::from_failure(kind, "no")), None)
}

fn checked(outcome: VerificationResult) -> TurnInput {
    TurnInput::Checked { outcome, changed: None, repeated: false }
}

fn changed(outcome: VerificationResult, changed: bool) -> TurnInput {
    TurnInput::Checked { outcome, changed: Some(changed), repeated: false }
}

fn stopped(why: RunStopCause) -> TurnInput {
    TurnInput::Stopped { why }
}

fn phase(output: &TurnOutput) -> TurnPhase {
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
    assert_eq!(phase(&turns.step(TurnInput::Begin)), TurnPhase::Clarify);
    assert_eq!(phase(&turns.step(claims(ClaimStatus::Working))), TurnPhase::Plan);
    assert_eq!(phase(&turns.step(claims(ClaimStatus::Working))), TurnPhase::Execute);
    assert_eq!(turns.step(claims(ClaimStatus::Done)), TurnOutput::Verify);
    assert_eq!(phase(&turns.step(checked(VerificationResult::Refuted))), TurnPhase::Adjust);
    assert_eq!(turns.step(claims(ClaimStatus::Done)), TurnOutput::Verify);
    assert_eq!(phase(&turns.step(checked(VerificationResult::Refuted))), TurnPhase::Adjust);
    assert_eq!(turns.step(claims(ClaimStatus::Done)), TurnOutput::Verify);
    assert_eq!(end(&turns.step(checked(VerificationResult::Passed))), RunOutcome::Verified);
    // It stays so.
    assert_eq!(end(&turns.step(claims(ClaimStatus::Blocked))), RunOutcome::Verified);
}

#[test]
fn a_short_run_comes_to_doing_the_task() {
    for (max_turns, first) in [(1, TurnPhase::Execute), (2, TurnPhase::Plan), (3, TurnPhase::Clarify)] {
        let mut turns = Turns::new(TurnRules { max_turns, ..RULES });
        assert_eq!(phase(&turns.step(TurnInput::Begin)), first);
        let mut last = first;
        for _ in 1..max_turns {
            last = phase(&turns.step(claims(ClaimStatus::Working)));
        }
        assert_eq!(last, TurnPhase::Execute);
        assert_eq!(end(&turns.step(claims(ClaimStatus::Working))), RunOutcome::MaxTurns);
    }
}

#[test]
fn a_claim_without_a_command_is_a_claim() {
    let mut turns = Turns::new(RULES);
    let _ = turns.step(TurnInput::Begin);
    assert_eq!(turns.step(claims(ClaimStatus::Done)), TurnOutput::Verify);
    assert_eq!(end(&turns.step(checked(VerificationResult::Unproved))), RunOutcome::Claimed);
}

#[test]
fn denials_end_a_run_when_they_are_told_to_or_when_the_agent_cannot_go_on() {
    let denied = |status| answered(TurnAnswer { denials: 1, ..answer(success(), Some(status)) });
    let mut turns = Turns::new(RULES);
    let _ = turns.step(TurnInput::Begin);
    assert_eq!(phase(&turns.step(denied(ClaimStatus::Working))), TurnPhase::Plan);
    assert_eq!(end(&turns.step(denied(ClaimStatus::Blocked))), RunOutcome::Denied);
    let mut turns = Turns::new(TurnRules { end_on_denial: true, ..RULES });
    let _ = turns.step(TurnInput::Begin);
    assert_eq!(end(&turns.step(denied(ClaimStatus::Done))), RunOutcome::Denied);
    let mut turns = Turns::new(RULES);
    let _ = turns.step(TurnInput::Begin);
    assert_eq!(end(&turns.step(claims(ClaimStatus::Blocked))), RunOutcome::Failed);
}

#[test]
fn an_account_that_is_used_up_goes_to_the_other_agent_once() {
    for kind in [FailKind::Auth, FailKind::Quota, FailKind::RateLimit] {
        let mut turns = Turns::new(TurnRules { fallback: true, ..RULES });
        let _ = turns.step(TurnInput::Begin);
        let asked = turns.step(answered(failed(kind)));
        assert_eq!(
            asked,
            TurnOutput::Ask(NextTurn { turn: 2, phase: TurnPhase::Clarify, fresh: true, fall_back: true })
        );
        assert_eq!(end(&turns.step(answered(failed(kind)))), RunOutcome::Failed);
        let mut alone = Turns::new(RULES);
        let _ = alone.step(TurnInput::Begin);
        assert_eq!(end(&alone.step(answered(failed(kind)))), RunOutcome::Failed);
    }
}

#[test]
fn a_failure_is_tried_again_once_and_a_lost_session_is_left_behind() {
    let mut turns = Turns::new(RULES);
    let _ = turns.step(TurnInput::Begin);
    let lost = TurnAnswer { alive: false, resumed: true, ..failed(FailKind::Agent) };
    let TurnOutput::Ask(NextTurn { fresh: true, .. }) = turns.step(answered(lost)) else { panic!() };
    let again = turns.step(answered(failed(FailKind::Exit)));
    assert!(matches!(again, TurnOutput::Ask(NextTurn { fresh: false, .. })), "{again:?}");
    let long = turns.step(claims(ClaimStatus::Working));
    assert!(matches!(long, TurnOutput::Ask(_)));
    let fresh = turns.step(answered(failed(FailKind::ContextLength)));
    assert!(matches!(fresh, TurnOutput::Ask(NextTurn { fresh: true, .. })), "{fresh:?}");
    assert_eq!(end(&turns.step(answered(failed(FailKind::Exit)))), RunOutcome::Failed);
}

#[test]
fn a_short_task_begins_with_the_work() {
    let mut turns = Turns::new(TurnRules { direct: true, ..CHECKED });
    assert_eq!(phase(&turns.step(TurnInput::Begin)), TurnPhase::Execute);
    assert_eq!(turns.step(claims(ClaimStatus::Done)), TurnOutput::Verify);
    assert_eq!(end(&turns.step(checked(VerificationResult::Passed))), RunOutcome::Verified);
}

#[test]
fn every_end_is_verified_and_a_check_that_turned_makes_it_one() {
    let ends: &[(&[TurnInput], RunOutcome)] = &[
        (&[claims(ClaimStatus::Working)], RunOutcome::MaxTurns),
        (&[claims(ClaimStatus::Blocked)], RunOutcome::Failed),
        (&[answered(failed(FailKind::Quota))], RunOutcome::Failed),
        (
            &[answered(answer(
                known(RunEnd::from_outcome(RunOutcome::Stalled, "", EndEvidence::Record)),
                None,
            ))],
            RunOutcome::Stalled,
        ),
        (
            &[answered(TurnAnswer { cut: true, ..answer(success(), None) }), stopped(RunStopCause::Budget)],
            RunOutcome::Budget,
        ),
        (
            &[answered(TurnAnswer { cut: true, ..answer(success(), None) }), stopped(RunStopCause::Deadline)],
            RunOutcome::Deadline,
        ),
    ];
    // Green before, and whether files changed: what the passing check shows then.
    let proofs = [
        (Some(false), Some(false), true),
        (Some(false), None, true),
        (Some(true), Some(true), true),
        (Some(true), Some(false), false),
        (Some(true), None, false),
        (None, Some(true), true),
        (None, None, false),
    ];
    for (inputs, expected) in ends {
        for (green, changed, turned) in proofs {
            let max_turns = if *expected == RunOutcome::MaxTurns { 1 } else { 6 };
            let mut turns = Turns::new(TurnRules { max_turns, ..CHECKED });
            if let Some(green) = green {
                turns.set_baseline(green);
            }
            let _ = turns.step(TurnInput::Begin);
            let mut last = turns.step(inputs[0].clone());
            for input in &inputs[1..] {
                last = turns.step(input.clone());
            }
            assert_eq!(last, TurnOutput::Verify, "{inputs:?}");
            let mut refuted = turns.clone();
            let last = turns.step(TurnInput::Checked {
                outcome: VerificationResult::Passed,
                changed,
                repeated: false,
            });
            let end_here = if turned { RunOutcome::Verified } else { *expected };
            assert_eq!(end(&last), end_here, "{inputs:?} {green:?} {changed:?}");
            assert_eq!(turns.limit(), turned.then_some(*expected));
            assert_eq!(end(&refuted.step(checked(VerificationResult::Refuted))), *expected);
            assert_eq!(refuted.limit(), None);
        }
    }
}

#[test]
fn what_a_person_or_the_guard_ends_is_not_verified() {
    let mut turns = Turns::new(CHECKED);
    let _ = turns.step(TurnInput::Begin);
    let _ = turns.step(claims(ClaimStatus::Working));
    assert_eq!(end(&turns.step(stopped(RunStopCause::Interrupted))), RunOutcome::Interrupted);
    let mut turns = Turns::new(TurnRules { end_on_denial: true, ..CHECKED });
    let _ = turns.step(TurnInput::Begin);
    let denied = TurnAnswer { denials: 1, ..answer(success(), Some(ClaimStatus::Done)) };
    assert_eq!(end(&turns.step(answered(denied))), RunOutcome::Denied);
    let mut turns = Turns::new(TurnRules { end_on_denial: true, ..CHECKED });
    let _ = turns.step(TurnInput::Begin);
    let run = RunEnd::new(EndEvent::of_success(RunEndSummary::default()), EndEvidence::Record);
    assert_eq!(end(&turns.step(answered(answer(run, Some(ClaimStatus::Done))))), RunOutcome::Unguarded);
}

#[test]
fn work_is_checked_once_and_not_before_there_is_any() {
    let mut turns = Turns::new(CHECKED);
    let _ = turns.step(TurnInput::Begin);
    assert_eq!(end(&turns.step(stopped(RunStopCause::Deadline))), RunOutcome::Deadline);
    let mut turns = Turns::new(CHECKED);
    let _ = turns.step(TurnInput::Begin);
    assert_eq!(turns.step(claims(ClaimStatus::Done)), TurnOutput::Verify);
    assert_eq!(phase(&turns.step(checked(VerificationResult::Refuted))), TurnPhase::Adjust);
    assert_eq!(end(&turns.step(stopped(RunStopCause::Budget))), RunOutcome::Budget);
    let mut turns = Turns::new(CHECKED);
    let _ = turns.step(TurnInput::Begin);
    turns.set_worked();
    assert_eq!(turns.step(stopped(RunStopCause::Budget)), TurnOutput::Verify);
}

#[test]
fn a_turn_that_forgets_its_status_is_checked_if_it_changed_files() {
    let begun = |green: Option<bool>, rules: TurnRules| {
        let mut turns = Turns::new(rules);
        if let Some(green) = green {
            turns.set_baseline(green);
        }
        let _ = turns.step(TurnInput::Begin);
        turns
    };
    for green in [None, Some(false)] {
        let mut turns = begun(green, CHECKED);
        assert_eq!(turns.step(silent(TurnFiles::Changed)), TurnOutput::Verify);
        assert_eq!(phase(&turns.clone().step(checked(VerificationResult::Refuted))), TurnPhase::Plan);
        assert_eq!(end(&turns.step(changed(VerificationResult::Passed, true))), RunOutcome::Verified);
    }
    // What passed before passes in the middle of the work as well.
    assert_eq!(phase(&begun(Some(true), CHECKED).step(silent(TurnFiles::Changed))), TurnPhase::Plan);
    assert_eq!(phase(&begun(None, CHECKED).step(silent(TurnFiles::Unchanged))), TurnPhase::Plan);
    assert_eq!(phase(&begun(None, RULES).step(silent(TurnFiles::Changed))), TurnPhase::Plan);
    let mut turns = begun(Some(false), TurnRules { direct: true, ..CHECKED });
    assert_eq!(turns.step(silent(TurnFiles::Changed)), TurnOutput::Verify);
    assert_eq!(phase(&turns.step(checked(VerificationResult::Refuted))), TurnPhase::Adjust);
}

#[test]
fn a_claim_without_the_change_that_was_asked_for_is_sent_back_once() {
    let mut turns = Turns::new(RULES);
    let _ = turns.step(TurnInput::Begin);
    let _ = turns.step(claims(ClaimStatus::Done));
    assert_eq!(phase(&turns.step(changed(VerificationResult::Unchanged, false))), TurnPhase::Adjust);
    let _ = turns.step(claims(ClaimStatus::Done));
    assert_eq!(end(&turns.step(changed(VerificationResult::Unchanged, false))), RunOutcome::NothingDone);
    let mut turns = Turns::new(TurnRules { max_turns: 1, ..RULES });
    let _ = turns.step(TurnInput::Begin);
    let _ = turns.step(claims(ClaimStatus::Done));
    assert_eq!(end(&turns.step(changed(VerificationResult::Unchanged, false))), RunOutcome::NothingDone);
}

#[test]
fn turns_that_lead_nowhere_are_a_stall() {
    let mut turns = Turns::new(CHECKED);
    let _ = turns.step(TurnInput::Begin);
    let _ = turns.step(claims(ClaimStatus::Done));
    assert_eq!(phase(&turns.step(checked(VerificationResult::Refuted))), TurnPhase::Adjust);
    let _ = turns.step(claims(ClaimStatus::Done));
    let again =
        TurnInput::Checked { outcome: VerificationResult::Refuted, changed: Some(true), repeated: true };
    assert_eq!(end(&turns.clone().step(again.clone())), RunOutcome::Stalled);
    let mut silent_one = Turns::new(TurnRules { direct: true, ..CHECKED });
    let _ = silent_one.step(TurnInput::Begin);
    let _ = silent_one.step(silent(TurnFiles::Changed));
    let _ = silent_one.step(checked(VerificationResult::Refuted));
    assert_eq!(silent_one.step(silent(TurnFiles::Unchanged)), TurnOutput::Verify);
    assert_eq!(end(&silent_one.step(again)), RunOutcome::Stalled);
    // Denied twice in a row without a change; a plan needs none.
    let denied = |files| TurnInput::Answered {
        answer: TurnAnswer { denials: 2, ..answer(success(), Some(ClaimStatus::Working)) },
        files,
    };
    let mut turns = Turns::new(TurnRules { max_turns: 9, ..RULES });
    let _ = turns.step(TurnInput::Begin);
    for expected in [TurnPhase::Plan, TurnPhase::Execute, TurnPhase::GoOn] {
        assert_eq!(phase(&turns.step(denied(TurnFiles::Unchanged))), expected);
    }
    let mut other = turns.clone();
    assert_eq!(end(&turns.step(denied(TurnFiles::Unchanged))), RunOutcome::Stalled);
    assert_eq!(phase(&other.step(denied(TurnFiles::Changed))), TurnPhase::GoOn);
    assert_eq!(phase(&other.step(denied(TurnFiles::Unchanged))), TurnPhase::GoOn);
}

#[test]
fn a_run_that_was_interrupted_in_its_last_check_continues_with_the_work() {
    let rules = TurnRules { max_turns: 1, ..CHECKED };
    let mut turns = Turns::new(rules);
    let _ = turns.step(TurnInput::Begin);
    assert_eq!(turns.step(claims(ClaimStatus::Working)), TurnOutput::Verify);
    let mut claimed = Turns::new(rules);
    let _ = claimed.step(TurnInput::Begin);
    assert_eq!(claimed.step(claims(ClaimStatus::Done)), TurnOutput::Verify);
    for turns in [&mut turns, &mut claimed] {
        assert_eq!(end(&turns.step(stopped(RunStopCause::Interrupted))), RunOutcome::Interrupted);
    }
    assert_eq!(phase(&turns.resume_run(rules, 1).unwrap()), TurnPhase::GoOn);
    assert_eq!(claimed.resume_run(rules, 1), Some(TurnOutput::Verify));
}

fn any_input() -> impl Strategy<Value = TurnInput> {
    let status = prop_oneof![Just(ClaimStatus::Done), Just(ClaimStatus::Working), Just(ClaimStatus::Blocked)];
    let kind = prop_oneof![
        Just(FailKind::Auth),
        Just(FailKind::Quota),
        Just(FailKind::ContextLength),
        Just(FailKind::Agent),
        Just(FailKind::NoResult)
    ];
    let turn_end = prop_oneof![
        6 => Just(success()),
        2 => kind.prop_map(|kind| RunEnd::from_failure(kind, "")),
        1 => Just(RunEnd::from_outcome(RunOutcome::Denied, "", EndEvidence::Record)),
        1 => Just(RunEnd::from_outcome(RunOutcome::Stalled, "", EndEvidence::Record)),
    ];
    let flags = (any::<bool>(), any::<bool>(), proptest::bool::weighted(0.2));
    let answered = (turn_end, proptest::option::of(status), flags, 0_u32..3).prop_map(
        |(end, status, (alive, resumed, cut), denials)| {
            let answer = TurnAnswer { cut, alive, resumed, denials, ..answer(end, status) };
            let files = [TurnFiles::Changed, TurnFiles::Unchanged, TurnFiles::Unknown]
                [usize::from(alive) + usize::from(resumed)];
            TurnInput::Answered { answer, files }
        },
    );
    let outcome = prop_oneof![
        3 => Just(VerificationResult::Refuted),
        1 => Just(VerificationResult::Passed),
        1 => Just(VerificationResult::Unproved),
        1 => Just(VerificationResult::Unchanged),
    ];
    let checked = (outcome, any::<Option<bool>>(), any::<bool>())
        .prop_map(|(outcome, changed, repeated)| TurnInput::Checked { outcome, changed, repeated });
    prop_oneof![
        8 => answered,
        6 => checked,
        1 => Just(stopped(RunStopCause::Budget)),
    ]
}

proptest! {
    /// However inputs come: turns are numbered without gaps and bounded, an end is final, only a verification that
    /// passed makes `verified`, and the same inputs give the same outputs.
    #[test]
    fn turns_are_bounded_ends_final_and_success_proved(
        max_turns in 1_u32..8,
        (fallback, end_on_denial, has_checks, direct) in any::<(bool, bool, bool, bool)>(),
        green in any::<Option<bool>>(),
        inputs in proptest::collection::vec(any_input(), 0..40),
    ) {
        let rules = TurnRules { max_turns, fallback, end_on_denial, has_checks, direct };
        let (mut turns, mut twin) = (Turns::new(rules), Turns::new(rules));
        if let Some(green) = green {
            turns.set_baseline(green);
            twin.set_baseline(green);
        }
        let (mut asked, mut lost) = (0, 0);
        let mut over: Option<RunOutcome> = None;
        for input in std::iter::once(TurnInput::Begin).chain(inputs) {
            let output = turns.step(input.clone());
            prop_assert_eq!(&output, &twin.step(input.clone()));
            let is_check = |wanted| matches!(input, TurnInput::Checked { outcome, .. } if outcome == wanted);
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
                    let done = matches!(&input, TurnInput::Answered { answer, .. }
                        if answer.claim.as_ref().map(|claim| claim.status) == Some(ClaimStatus::Done));
                    prop_assert!(done || has_checks, "{input:?}");
                }
                TurnOutput::End { end, .. } => {
                    if let Some(before) = over {
                        prop_assert_eq!(before, end);
                    } else {
                        let passed = is_check(VerificationResult::Passed);
                        prop_assert!(end != RunOutcome::Verified || passed, "{input:?}");
                        prop_assert!(end != RunOutcome::Claimed || is_check(VerificationResult::Unproved), "{input:?}");
                        prop_assert!(end != RunOutcome::NothingDone || is_check(VerificationResult::Unchanged), "{input:?}");
                        prop_assert!(turns.limit().is_none() || end == RunOutcome::Verified);
                    }
                    over = Some(end);
                }
            }
        }
    }
}
