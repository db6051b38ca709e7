//! Amp's real CLI, as far as it goes without an account: what passes through, passes through unchanged.

use std::path::PathBuf;

use amplihack_agent::AgentBinary;
use amplihack_testkit::{NetNs, Output, Run, Sandbox};

use crate::world::{amplihack, real};

fn run(network: &NetNs, sandbox: &Sandbox, program: &std::path::Path, args: &[&str]) -> Output {
    let mut command = sandbox.command(program);
    command.args(args);
    Run::new(network.wrap(&command)).output()
}

#[test]
fn what_amp_does_offline_passes_through() {
    let Some(amp) = real(AgentBinary::Amp) else { return };
    let network = NetNs::new();
    let mut sandbox = Sandbox::new();
    sandbox.set("AMPLIHACK_AMP_PATH", &amp);
    let amplihack = PathBuf::from(amplihack());
    let rules = ["permissions", "list", "--builtin", "--json"];
    let mut outputs = Vec::new();
    // Each start of Amp takes seconds, so each claim has one.
    for (door, args, code) in [
        (&["amp", "--"][..], &["--version"][..], 0),
        (&["amp", "--raw", "--"], &rules, 0),
        (&["amp", "--"], &["permissions", "no-such-verb"], 1),
    ] {
        let through = run(&network, &sandbox, &amplihack, &[door, args].concat());
        through.assert_code(code);
        let bare = run(&network, &sandbox, &amp, args);
        bare.assert_code(code);
        assert_eq!(through.stdout_text(), bare.stdout_text(), "{args:?}");
        outputs.push(through);
    }
    let builtin: Vec<_> =
        amp_sdk::permissions::builtin_rules().iter().map(amp_sdk::Permission::to_value).collect();
    assert_eq!(outputs[1].json(), serde_json::json!(builtin), "take over Amp's list as builtin.json");
    let report = run(&network, &sandbox, &amplihack, &["doctor", "--json"]).json();
    let agents = report["agents"].as_array().unwrap();
    let found = agents.iter().find(|agent| agent["agent"] == "amp").unwrap();
    assert_eq!(found["path"], amp.to_str().unwrap());
    let version = found["version"].as_str().unwrap_or_default();
    assert!(!version.is_empty() && outputs[0].stdout_text().starts_with(version), "{version}");
}
