//! An agent that starts an agent: depth, sessions, what is removed from its environment and what is given back to it.

use amplihack_testkit::{Output, Record, Sandbox, Script};

use crate::scene::{assert_in_no_file, repository, variable};
use crate::world::run;

const PROVIDER: [&str; 3] =
    ["COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_TYPE"];

#[test]
fn a_nested_launch_is_a_launch_of_its_own() {
    let mut sandbox = repository(&["claude", "codex"]);
    sandbox.set("CODEX_MANAGED_BY_NPM", "1").set("KEPT", "kept");
    sandbox.script_for("claude", &Script::new().shell("amplihack codex -p inside"));
    sandbox.script_for("codex", &Script::new().shell("amplihack which"));
    run(&sandbox, &["claude", "-p", "outside"]).assert_code(0).assert_stdout("codex\n").assert_stderr("");
    let [outer, inner] = <[Record; 2]>::try_from(sandbox.runs()).unwrap();
    assert_eq!((&*outer.name, &*inner.name), ("claude", "codex"));
    let both = |name| (variable(&outer, name), variable(&inner, name));
    assert_eq!(both("AMPLIHACK_SESSION_DEPTH"), (Some("1".into()), Some("2".into())));
    assert_eq!(both("AMPLIHACK_AGENT_BINARY"), (Some("claude".into()), Some("codex".into())));
    let (session, nested) = both("AMPLIHACK_SESSION_ID");
    assert!(session.is_some() && nested.is_some() && session != nested, "{session:?} {nested:?}");
    assert_eq!(variable(&inner, "AMPLIHACK_AGENT_BINARY_SET"), nested.map(|id| format!("{id}:codex")));
    assert_eq!(variable(&inner, "CODEX_MANAGED_BY_NPM"), None, "Codex would take itself for a child of npm");
    assert_eq!(both("KEPT"), (Some("kept".into()), Some("kept".into())));
}

#[test]
fn claude_starts_below_claude() {
    let mut sandbox = repository(&["claude"]);
    sandbox.script(&Script::new().shell(
        "[ $AMPLIHACK_SESSION_DEPTH = 2 ] || CLAUDECODE=1 CLAUDE_CODE_ENTRYPOINT=cli CLAUDE_CODE_USE_BEDROCK=1 amplihack claude -p inside",
    ));
    run(&sandbox, &["claude", "-p", "outside"]).assert_code(0);
    let [_, inner] = <[Record; 2]>::try_from(sandbox.runs()).unwrap();
    let inner = |name| variable(&inner, name);
    assert_eq!((inner("CLAUDECODE"), inner("CLAUDE_CODE_ENTRYPOINT")), (None, None));
    assert_eq!(inner("CLAUDE_CODE_USE_BEDROCK").as_deref(), Some("1"), "the user's own settings stay");
}

#[test]
fn launches_do_not_nest_for_ever() {
    let mut sandbox = repository(&["claude"]);
    sandbox.set("AMPLIHACK_MAX_DEPTH", "3");
    sandbox.script(&Script::new().shell("amplihack claude -p again || echo \"refused with $?\""));
    let output = run(&sandbox, &["claude", "-p", "first"]);
    output.assert_code(0).assert_stdout("refused with 1\n");
    output.assert_stderr_has("error: this would be launch 4 inside another, the limit is 3");
    assert_eq!(sandbox.runs().len(), 3);
}

/// Starts a Copilot with secrets whose tool runs `below`, below the outermost launch only. Returns all starts.
fn below_copilot(agents: &[&str], below: &str) -> (Sandbox, Output, Vec<Record>) {
    let mut sandbox = repository(agents);
    for name in PROVIDER {
        sandbox.set(name, format!("{name}-{}", sandbox.marker("secret")));
    }
    let other = sandbox.marker("other");
    sandbox.set("COPILOT_OFFLINE", "true").set("OTHER_SECRET", other);
    sandbox.script(&Script::new().shell(&format!("if [ $AMPLIHACK_SESSION_DEPTH = 1 ]; then {below}; fi")));
    let output = run(&sandbox, &["copilot", "-p", "outside"]);
    output.assert_code(0);
    let starts = sandbox.runs();
    (sandbox, output, starts)
}

/// What the real Copilot keeps from its tools, and one variable more that it would not.
const WITHHOLD: &str = "env -u COPILOT_PROVIDER_API_KEY -u COPILOT_PROVIDER_BASE_URL -u COPILOT_PROVIDER_TYPE -u COPILOT_OFFLINE -u OTHER_SECRET";

#[test]
fn a_nested_copilot_gets_back_what_the_outer_one_withheld_and_only_that() {
    let (sandbox, output, starts) =
        below_copilot(&["copilot"], &format!("{WITHHOLD} amplihack copilot -p inside"));
    output.assert_nowhere(&sandbox.marker("secret"));
    let [outer, inner] = <[Record; 2]>::try_from(starts).unwrap();
    for name in PROVIDER.into_iter().chain(["COPILOT_OFFLINE"]) {
        assert!(variable(&inner, name).is_some(), "{name}");
        assert_eq!(variable(&inner, name), variable(&outer, name), "{name}");
    }
    assert_eq!(variable(&inner, "OTHER_SECRET"), None);
    assert_in_no_file(&sandbox, &sandbox.marker("secret"));
    assert_in_no_file(&sandbox, &sandbox.marker("other"));
}

#[test]
fn a_key_is_not_given_to_another_address() {
    let line = format!("{WITHHOLD} COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:9 amplihack copilot -p inside");
    let (_sandbox, _output, starts) = below_copilot(&["copilot"], &line);
    let [_, inner] = <[Record; 2]>::try_from(starts).unwrap();
    assert_eq!(variable(&inner, PROVIDER[1]).as_deref(), Some("http://127.0.0.1:9"));
    assert_eq!((variable(&inner, PROVIDER[0]), variable(&inner, PROVIDER[2])), (None, None));
    assert_eq!(variable(&inner, "COPILOT_OFFLINE").as_deref(), Some("true"));
}

#[test]
fn another_agent_gets_nothing_back() {
    let (_sandbox, _output, starts) =
        below_copilot(&["copilot", "claude"], &format!("{WITHHOLD} amplihack claude -p inside"));
    let [_, inner] = <[Record; 2]>::try_from(starts).unwrap();
    assert_eq!((&*inner.name, variable(&inner, PROVIDER[0])), ("claude", None));
}

#[test]
fn an_ended_copilot_gives_nothing_back() {
    let (mut sandbox, _output, starts) = below_copilot(&["copilot"], "true");
    for name in PROVIDER {
        sandbox.unset(name);
    }
    for name in ["AMPLIHACK_SESSION_ID", "AMPLIHACK_SESSION_DEPTH"] {
        sandbox.set(name, variable(&starts[0], name).unwrap());
    }
    run(&sandbox, &["copilot", "-p", "later"]).assert_code(0);
    let later = sandbox.runs().pop().unwrap();
    assert_eq!(variable(&later, "AMPLIHACK_SESSION_DEPTH").as_deref(), Some("2"));
    assert_eq!(variable(&later, PROVIDER[0]), None);
}
