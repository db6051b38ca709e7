//! A person's one-time yes: who may give it, what it tells, where it is written down.

use std::path::Path;
use std::time::SystemTime;

use amplihack_hooks::once;
use amplihack_testkit::Sandbox;

use crate::scene::mode;
use crate::world::run;

const SCRIPT: &[u8] = b"git push --force origin main";

/// The id of a call that was stopped in the sandbox.
fn stopped(sandbox: &Sandbox) -> String {
    once::offer(&home(sandbox), SCRIPT, Path::new("/w"), SystemTime::now()).unwrap().to_string()
}

fn home(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.home().join(".amplihack")
}

fn goes_through(sandbox: &Sandbox) -> bool {
    once::take(&home(sandbox), SCRIPT, Path::new("/w"), None, SystemTime::now())
}

#[test]
fn a_person_lets_a_stopped_call_through_once() {
    let sandbox = Sandbox::new();
    let id = stopped(&sandbox);
    let output = run(&sandbox, &["policy", "allow-once", &id]);
    output
        .assert_code(0)
        .assert_stderr("")
        .assert_stdout("within 10 minutes this goes through once, in /w:\n  git push --force origin main\n");
    let audit = run(&sandbox, &["audit", "show", "--json"]).assert_code(0).json();
    assert_eq!(
        (&audit[0]["event_type"], &audit[0]["decision"], &audit[0]["rule"], &audit[0]["cwd"]),
        (&"policy_change".into(), &"allow".into(), &format!("once/{id}").into(), &"/w".into())
    );
    assert_eq!(audit[0]["data"]["command"], "git push --force origin main");
    assert!(goes_through(&sandbox));
    assert!(!goes_through(&sandbox));
    run(&sandbox, &["policy", "allow-once", &id]).assert_code(3).assert_stderr_has("was granted before");
    run(&sandbox, &["policy", "allow-once", "7f"]).assert_code(2).assert_stderr_has("`7f` is not the id");
}

#[test]
fn an_agent_cannot_give_it() {
    for name in ["AMPLIHACK_SESSION_ID", "CLAUDECODE", "CODEX_MANAGED_BY_NPM", "COPILOT_CLI"] {
        let mut sandbox = Sandbox::new();
        let id = stopped(&sandbox);
        sandbox.set(name, "1");
        let output = run(&sandbox, &["policy", "allow-once", &id]);
        output.assert_code(4).assert_stdout("").assert_stderr(format!(
            "error: only a person may allow a call, and {name} says that this is an agent's session\n\
             hint: run it in a terminal of your own\n"
        ));
        assert!(!goes_through(&sandbox), "{name}");
        assert!(!sandbox.home().join(".claude").exists(), "nothing changed, so nothing is written down");
    }
    // Without its marks it is the policy that stops the agent.
    let sandbox = Sandbox::new();
    for command in [
        "amplihack policy allow-once 01234567-89ab",
        "env -i amplihack policy allow-once x",
        "env -u CLAUDECODE ~/bin/amplihack policy allow-once x",
    ] {
        run(&sandbox, &["policy", "check", command])
            .assert_code(4)
            .assert_stdout_has("deny by guard_disabling/own-commands");
    }
}

#[test]
fn what_is_kept_is_private() {
    let sandbox = Sandbox::new();
    let id = stopped(&sandbox);
    assert_eq!(mode(&sandbox, format!("home/.amplihack/once/{id}")), 0o600);
    assert_eq!(mode(&sandbox, "home/.amplihack/once"), 0o700);
}
