//! The rules one by one, then over any run.

use proptest::prelude::*;

use super::*;

const HOSTS: [AgentBinary; 4] =
    [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot, AgentBinary::Gemini];

/// The shell of a host, as its stream and as its hooks call it, and whether its hooks name calls.
fn shell(agent: AgentBinary) -> (&'static str, &'static str, bool) {
    match agent {
        AgentBinary::Claude => ("Bash", "Bash", true),
        AgentBinary::Codex => ("command_execution", "Bash", false),
        AgentBinary::Copilot => ("bash", "Bash", false),
        _ => ("run_shell_command", "run_shell_command", false),
    }
}

fn pre(agent: AgentBinary, id: &str, decision: Decision) -> HookReport {
    let (_, tool, named) = shell(agent);
    HookReport {
        tool: Some(tool.to_owned()),
        call: named.then(|| id.to_owned()),
        ..HookReport::new(HookEvent::PreToolUse, decision)
    }
}

fn result(state: &mut CallLedger, id: &str, is_error: bool, output: &str) {
    let mut result = ToolResult::new(id, output);
    result.is_error = is_error;
    state.take_result(&result, false);
}

fn call(
    state: &mut CallLedger,
    agent: AgentBinary,
    id: &str,
    verdict: Option<Decision>,
    result: (bool, &str),
) {
    state.take_call(id, shell(agent).0);
    if let Some(decision) = verdict {
        state.take_report(&pre(agent, id, decision));
    }
    self::result(state, id, result.0, result.1);
}

#[test]
fn a_result_stands_on_its_verdict() {
    let denial = (true, "PreToolUse hook: [amplihack guards/x] no");
    let no = |tool: &str| tool.to_owned();
    for agent in HOSTS {
        let tool = shell(agent).0;
        for (verdict, result, expected) in [
            (Some(Decision::None), (false, "out"), None),
            (Some(Decision::None), (true, "Exit code 1"), None),
            (Some(Decision::Deny), denial, None),
            (None, (false, "out"), Some(GuardFinding::NoVerdict { tool: no(tool) })),
            (None, (true, "Exit code 1"), Some(GuardFinding::NoVerdict { tool: no(tool) })),
            (None, (true, "guard did not run"), Some(GuardFinding::DidNotRun)),
            // One that says itself that it was denied.
            (None, denial, Some(GuardFinding::NoVerdict { tool: no(tool) })),
        ] {
            let mut state = CallLedger::new(agent);
            call(&mut state, agent, "c", verdict, result);
            let expected: Vec<_> = expected.into_iter().collect();
            assert_eq!(state.findings(), expected, "{agent} {verdict:?} {result:?}");
        }
        let mut state = CallLedger::new(agent);
        call(&mut state, agent, "c", Some(Decision::Deny), (false, "out"));
        assert_eq!(state.findings().len(), 1, "{agent}: {:?}", state.findings());
    }
}

/// Codex takes a patch out of a command: the hook is asked about the shell, the stream tells of a changed file.
#[test]
fn a_patch_of_the_shell_stands_on_the_shells_verdict_once() {
    let agent = AgentBinary::Codex;
    let patch = |state: &mut CallLedger, id: &str| {
        state.take_call(id, "file_change");
        result(state, id, false, "");
    };
    let mut state = CallLedger::new(agent);
    state.take_report(&pre(agent, "", Decision::None));
    patch(&mut state, "a");
    assert_eq!(state.findings(), []);
    // Its verdict is used up: for a command, and for another patch.
    for tool in ["command_execution", "file_change"] {
        let mut state = CallLedger::new(agent);
        state.take_report(&pre(agent, "", Decision::None));
        patch(&mut state, "a");
        state.take_call("b", tool);
        result(&mut state, "b", false, "");
        assert_eq!(state.findings(), [GuardFinding::NoVerdict { tool: tool.to_owned() }]);
    }
    let mut state = CallLedger::new(agent);
    state.take_report(&pre(agent, "", Decision::Deny));
    patch(&mut state, "a");
    assert_eq!(state.findings().len(), 1);
}

#[test]
fn what_ran_after_a_denial_is_seen_by_the_hook_too() {
    let mut state = CallLedger::new(AgentBinary::Claude);
    let post = |id: &str| HookReport {
        event: HookEvent::PostToolUse,
        ..pre(AgentBinary::Claude, id, Decision::None)
    };
    state.take_report(&pre(AgentBinary::Claude, "a", Decision::None));
    state.take_report(&post("a"));
    assert_eq!(state.findings(), []);
    state.take_report(&pre(AgentBinary::Claude, "b", Decision::Deny));
    state.take_report(&post("b"));
    state.take_report(&post("c"));
    let tool = || "Bash".to_owned();
    assert_eq!(
        state.findings(),
        [GuardFinding::RanAlthoughDenied { tool: tool() }, GuardFinding::NoVerdict { tool: tool() }]
    );
}

#[test]
fn a_tool_that_is_harmless_needs_no_verdict_and_an_unlisted_one_does() {
    let mut state = CallLedger::new(AgentBinary::Claude);
    state.take_call("a", "StructuredOutput");
    result(&mut state, "a", false, "{}");
    assert_eq!(state.findings(), []);
    state.take_call("b", "Hammer");
    result(&mut state, "b", true, "<tool_use_error>No such tool</tool_use_error>");
    assert_eq!(state.findings(), []);
    state.take_call("c", "Hammer");
    result(&mut state, "c", false, "done");
    assert_eq!(state.findings(), [GuardFinding::NoVerdict { tool: "Hammer".to_owned() }]);
    assert_eq!(state.unlisted().collect::<Vec<_>>(), ["Hammer"]);
}

#[test]
fn an_unlisted_tool_with_a_verdict_is_named_only() {
    for agent in HOSTS {
        let mut state = CallLedger::new(agent);
        state.take_call("c", "hammer");
        state.take_report(&HookReport { tool: Some("hammer".to_owned()), ..pre(agent, "c", Decision::None) });
        result(&mut state, "c", false, "done");
        assert_eq!((state.findings(), state.unlisted().count()), (&[][..], 1), "{agent}");
    }
}

#[test]
fn words_about_amplihack_are_no_denial_and_a_quoted_mark_takes_no_verdict_from_others() {
    for agent in HOSTS {
        let mut state = CallLedger::new(agent);
        call(&mut state, agent, "a", Some(Decision::None), (true, "cd: /src/amplihack: No such file"));
        call(&mut state, agent, "b", Some(Decision::None), (true, "diff: [amplihack guards/x]"));
        assert_eq!(state.findings(), [], "{agent}");
    }
}

#[test]
fn a_denial_of_an_unreadable_payload_stands_for_one_stopped_call() {
    let denial = (true, "the payload is not JSON [amplihack hook/unreadable]");
    for agent in HOSTS {
        let mut state = CallLedger::new(agent);
        state.take_report(&HookReport::new(HookEvent::PreToolUse, Decision::Deny));
        call(&mut state, agent, "a", Some(Decision::None), (false, "out"));
        call(&mut state, agent, "b", None, denial);
        assert_eq!(state.findings(), [], "{agent}");
        call(&mut state, agent, "c", None, denial);
        assert_eq!(state.findings().len(), 1, "{agent}");
        let mut state = CallLedger::new(agent);
        state.take_report(&HookReport::new(HookEvent::PreToolUse, Decision::Deny));
        call(&mut state, agent, "a", None, (false, "out"));
        assert_eq!(state.findings().len(), 1, "{agent}: what ran was not stopped");
    }
}

#[test]
fn a_success_without_any_hook_was_not_guarded_and_a_failure_proves_nothing() {
    let mut state = CallLedger::new(AgentBinary::Codex);
    state.finish_run(false);
    assert_eq!((state.findings(), state.denials()), (&[][..], GuardDenials::Unknown));
    state.finish_run(true);
    assert_eq!(state.findings(), [GuardFinding::Silent]);
    let mut state = CallLedger::new(AgentBinary::Codex);
    state.take_report(&HookReport::new(HookEvent::SessionStart, Decision::None));
    state.finish_run(true);
    assert_eq!((state.findings(), state.denials()), (&[][..], GuardDenials::Known(Vec::new())));
}

#[test]
fn an_audit_without_a_line_is_told() {
    let mut state = CallLedger::new(AgentBinary::Gemini);
    for why in ["full", "gone"] {
        state.take_report(&HookReport {
            unaudited: Some(why.to_owned()),
            ..pre(AgentBinary::Gemini, "x", Decision::None)
        });
    }
    assert_eq!(state.unaudited(), Some("full"));
}

#[test]
fn a_call_that_a_person_interrupted_needs_no_verdict() {
    let interrupted = "The user doesn't want to proceed with this tool use. The tool use was rejected";
    let mut state = CallLedger::new(AgentBinary::Claude);
    call(&mut state, AgentBinary::Claude, "a", None, (true, interrupted));
    assert_eq!(state.findings(), []);
    // Words that a tool gives back show nothing.
    call(&mut state, AgentBinary::Claude, "b", None, (false, interrupted));
    assert_eq!(state.findings(), [GuardFinding::NoVerdict { tool: "Bash".to_owned() }]);
    let mut state = CallLedger::new(AgentBinary::Claude);
    state.take_call("c", "mcp__x__run");
    result(&mut state, "c", true, interrupted);
    assert_eq!(state.findings().len(), 1);
}

fn permission(decision: Decision) -> HookReport {
    HookReport { tool: Some("Bash".to_owned()), ..HookReport::new(HookEvent::PermissionRequest, decision) }
}

#[test]
fn a_call_is_permitted_once_by_its_verdict_and_only_by_one_that_lets_it_run() {
    let judged =
        |decision| HookReport { digest: Some("d".to_owned()), ..pre(AgentBinary::Claude, "a", decision) };
    let mut state = CallLedger::new(AgentBinary::Claude);
    for decision in [Decision::Ask, Decision::Deny] {
        state.take_report(&judged(decision));
        assert!(!state.was_judged("d"), "{decision:?}");
    }
    state.take_report(&judged(Decision::None));
    assert!(!state.was_judged("e"));
    assert!(state.was_judged("d"));
    assert!(!state.was_judged("d"), "each verdict is for one call");
}

#[test]
fn a_call_that_was_judged_at_its_question_has_its_verdict_in_the_result_and_in_the_hook_behind_it() {
    let mut state = CallLedger::new(AgentBinary::Claude);
    state.take_report(&permission(Decision::None));
    call(&mut state, AgentBinary::Claude, "a", None, (false, "out"));
    state.take_report(&HookReport {
        event: HookEvent::PostToolUse,
        ..pre(AgentBinary::Claude, "a", Decision::None)
    });
    assert_eq!(state.findings(), []);
    call(&mut state, AgentBinary::Claude, "b", None, (false, "out"));
    assert_eq!(state.findings().len(), 1, "the verdict of one call is not another's");
    let mut state = CallLedger::new(AgentBinary::Claude);
    state.take_report(&permission(Decision::Ask));
    call(&mut state, AgentBinary::Claude, "a", None, (false, "out"));
    assert_eq!(state.findings().len(), 1, "a question is no verdict for a later call");
    let mut state = CallLedger::new(AgentBinary::Claude);
    state.take_report(&permission(Decision::Deny));
    call(&mut state, AgentBinary::Claude, "a", None, (true, "no [amplihack guards/x]"));
    assert_eq!((state.findings(), state.denials().denied_rules().len()), (&[][..], 1));
}

proptest! {
    /// Calls in any order of their results, each with its verdict before its result, speak against nothing; without one of the verdicts
    /// something is found.
    #[test]
    fn every_verdict_counts(
        host in 0..4_usize,
        calls in proptest::collection::vec(any::<bool>(), 1..12),
        order in any::<prop::sample::Index>(),
        left_out in any::<Option<prop::sample::Index>>(),
    ) {
        let agent = HOSTS[host];
        let left_out = left_out.map(|index| index.index(calls.len()));
        let mut state = CallLedger::new(agent);
        for (number, denied) in calls.iter().enumerate() {
            state.take_call(&number.to_string(), shell(agent).0);
            if left_out != Some(number) {
                let decision = if *denied { Decision::Deny } else { Decision::None };
                state.take_report(&pre(agent, &number.to_string(), decision));
            }
        }
        let first = order.index(calls.len());
        for number in (first..calls.len()).chain(0..first) {
            let output = if calls[number] { "[amplihack a/b] no" } else { "out" };
            result(&mut state, &number.to_string(), calls[number], output);
        }
        prop_assert_eq!(state.findings().is_empty(), left_out.is_none());
    }

    /// Whatever a person interrupts, before or behind the hooks of a call, is no finding; what ran beside it without a verdict is one.
    #[test]
    fn an_interruption_is_no_finding(
        calls in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..12),
        is_one_unjudged in any::<bool>(),
    ) {
        let interrupted = "The user doesn't want to take this action right now. STOP";
        let mut state = CallLedger::new(AgentBinary::Claude);
        for (number, (has_verdict, is_interrupted)) in calls.iter().enumerate() {
            let verdict = (*has_verdict || !*is_interrupted).then_some(Decision::None);
            let result = if *is_interrupted { (true, interrupted) } else { (false, "out") };
            call(&mut state, AgentBinary::Claude, &number.to_string(), verdict, result);
        }
        if is_one_unjudged {
            call(&mut state, AgentBinary::Claude, "unjudged", None, (false, "out"));
        }
        prop_assert_eq!(state.findings().is_empty(), !is_one_unjudged);
    }
}
