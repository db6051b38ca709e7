//! The launch that `cargo xtask dist` calls the guard in, to see the order in which its functions are used, is one as launches are.

use std::path::Path;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_hooks::guard::PolicySnapshot;
use amplihack_hooks::injection::{StartContext, build_injection};
use amplihack_hooks::registration::{HookProgram, RegistrationFacts};
use serde_json::Value;

/// The pinned policy, the arguments of the guard, and those behind every other event.
const LAUNCH: &str = include_str!("../cases/launch.txt");

#[test]
fn the_launch_of_the_order_is_one_as_launches_are() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().to_str().unwrap();
    let env = Env::empty().with_variable("HOME", home).with_variable("PATH", "/usr/bin:/bin");
    let (launch, cwd) = (Path::new("/l"), Path::new("/w"));
    let snapshot = PolicySnapshot::capture(&env, Path::new(home), "standard", None).unwrap();
    let facts = RegistrationFacts {
        headless: true,
        policy: Some("standard"),
        cwd: Some(cwd),
        ..RegistrationFacts::default()
    };
    let started = StartContext { env: &env, cwd, theirs: None, is_held: false, words: &[] };
    let program = HookProgram::from_binary("/b/amplihack-hooks");
    let brought = build_injection(AgentBinary::Claude, &program, launch, facts, &snapshot, started).unwrap();
    let text = LAUNCH
        .replace("@LAUNCHER@", &std::process::id().to_string())
        .replace("@HOME@", home)
        .replace("@LAUNCH@", "/l")
        .replace("@PIN@", &snapshot.pin_hash())
        .replace("@CWD@", "/w");
    let lines: Vec<&str> = text.lines().collect();
    let [policy, guard, others] = lines[..] else { panic!("{text}") };
    assert_eq!(policy, snapshot.text());
    let settings: Value = serde_json::from_str(brought.values[0].to_str().unwrap()).unwrap();
    let events = settings["hooks"].as_object().unwrap();
    assert!(events.len() > 5, "{settings}");
    for (name, groups) in events {
        let command = groups[0]["hooks"][0]["command"].as_str().unwrap();
        let words = command.strip_prefix("/b/amplihack-hooks ").unwrap();
        if name == "PreToolUse" {
            // Each launch has a code of its own.
            let without_code = |words: &str| words.split_once(" --code ").unwrap().0.to_owned();
            assert_eq!(without_code(words), without_code(guard));
        } else {
            assert_eq!(words.split_once(' ').unwrap().1, others, "{name}");
        }
    }
}
