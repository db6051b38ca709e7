//! The Amplifier stand-in takes the documented command line and nothing else.

use amplihack_testkit::{Bytes, Run, Sandbox, StdinKind};

#[test]
fn a_documented_call_is_accepted_byte_for_byte() {
    let mut sandbox = Sandbox::new();
    sandbox.amplifier_stand_in();
    let prompt = "-it's `$HOME` 漢字\n\n";
    let args = ["run", "--mode", "single", "-m", "opus", "--output-format=json", "--", prompt];
    sandbox.run("amplifier", args).assert_code(0).assert_stderr("");
    let accepted = sandbox.accepted().pop().unwrap();
    assert_eq!(accepted.prompt, Some(Bytes::from(prompt)));
    assert!(!accepted.from_stdin);
    assert_eq!(accepted.option("--mode"), Some(&Bytes::from("single")));
    assert_eq!(accepted.option("--output-format"), Some(&Bytes::from("json")));
    let record = sandbox.only_run();
    assert_eq!((record.stdin_kind, record.stdin.as_ref()), (StdinKind::Null, None));
}

#[test]
fn a_prompt_from_stdin_is_told_apart() {
    let mut sandbox = Sandbox::new();
    sandbox.amplifier_stand_in();
    Run::new(sandbox.command("amplifier")).arg("run").stdin("from a pipe").output().assert_code(0);
    let accepted = sandbox.accepted().pop().unwrap();
    assert!(accepted.from_stdin);
    assert_eq!(accepted.prompt, Some(Bytes::from("from a pipe")));
}

#[test]
fn anything_else_ends_with_2_and_a_usage_line() {
    let mut sandbox = Sandbox::new();
    sandbox.amplifier_stand_in();
    for args in [&["run", "-x", "p"][..], &["run", "--print", "p"], &["run", "a", "b"], &["exec", "p"]] {
        let output = sandbox.run("amplifier", args);
        output.assert_code(2).assert_stdout("").assert_stderr_has("Usage: amplifier run [OPTIONS] [PROMPT]");
        output.assert_stderr_has("Error: ");
    }
    for args in [&["run"][..], &["run", " "]] {
        sandbox.run("amplifier", args).assert_code(1).assert_stderr_has("Prompt required");
    }
    assert!(sandbox.accepted().is_empty());
    sandbox.run("amplifier", ["--version"]).assert_code(0).assert_stdout("amplifier, version 0.1.0\n");
}
