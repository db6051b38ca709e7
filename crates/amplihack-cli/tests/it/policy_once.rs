//! A person's one-time yes where no session runs: what the command says. `real_once` has the sessions.

use amplihack_testkit::Sandbox;

use crate::world::run;

#[test]
fn without_a_session_there_is_nothing_to_allow() {
    let sandbox = Sandbox::new();
    for args in
        [&["policy", "pending"][..], &["policy", "allow-once"], &["policy", "allow-once", "01234567-89ab"]]
    {
        run(&sandbox, args)
            .assert_code(3)
            .assert_stdout("")
            .assert_stderr_has("no session started by amplihack is running");
    }
    run(&sandbox, &["policy", "allow-once", "7f"]).assert_code(2).assert_stderr_has("`7f` is not the id");
    // A file of an earlier version, or one that somebody makes.
    sandbox.write("home/.amplihack/once/01234567-89ab", r#"{"hash":"","at":0,"command":"x","cwd":"/"}"#);
    run(&sandbox, &["policy", "allow-once", "01234567-89ab"]).assert_code(3);
}

#[test]
fn an_agent_cannot_give_it() {
    for name in ["AMPLIHACK_SESSION_ID", "CLAUDECODE", "CODEX_MANAGED_BY_NPM", "COPILOT_CLI"] {
        let mut sandbox = Sandbox::new();
        sandbox.set(name, "1");
        let output = run(&sandbox, &["policy", "allow-once", "01234567-89ab"]);
        output.assert_code(4).assert_stdout("").assert_stderr(format!(
            "error: only you can allow a call, and {name} shows that this is an agent session\n\
             hint: run it in your own terminal\n"
        ));
        assert!(!sandbox.home().join(".claude").exists(), "nothing changed, so nothing is written down");
    }
    // Without its marks it is the policy that stops the agent.
    let sandbox = Sandbox::new();
    for command in [
        "amplihack policy allow-once 01234567-89ab",
        "amplihack policy allow-once",
        "amplihack policy pending",
        "env -i amplihack policy allow-once x",
        "env -u CLAUDECODE ~/bin/amplihack policy allow-once x",
    ] {
        run(&sandbox, &["policy", "check", command])
            .assert_code(4)
            .assert_stdout_has("deny by guard_disabling/own-commands");
    }
}
