//! What a proof could not see in time is neither proved nor refuted; what it saw counts.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use amplihack_agent::AgentBinary;
use amplihack_config::LayeredConfig;
use amplihack_config::env::Env;
use amplihack_launcher::proofs::AgentProof;
use amplihack_probe::bench::ProbeBench;
use amplihack_probe::model::ModelServer;
use amplihack_probe::prove;

/// The proof of a Claude Code that does what `script` says behind an honest `--version`, ended after two seconds.
fn proved(script: &str) -> AgentProof {
    let machine = tempfile::tempdir().unwrap();
    let program = machine.path().join("claude");
    let version = r#"[ "$1" = --version ] && echo '2.1.332 (Claude Code)' && exit"#;
    std::fs::write(&program, format!("#!/bin/sh\n{version}\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let env = Env::empty()
        .with_variable("PATH", "/usr/bin:/bin")
        .with_variable("HOME", machine.path())
        .with_variable("AMPLIHACK_CLAUDE_PATH", &program);
    let config = LayeredConfig::load_with(Path::new("/nonexistent"), &env, machine.path(), &[]).unwrap();
    let runtime = amplihack_session::build_runtime().unwrap();
    let server = runtime.block_on(ModelServer::start()).unwrap();
    let bench = ProbeBench::new(env.get("PATH"), server).unwrap().with_deadline(Duration::from_secs(2));
    prove::prove_agent(AgentBinary::Claude, &env, &config, (&bench, &runtime)).unwrap()
}

fn legs(proof: &AgentProof) -> Vec<(&str, Option<bool>)> {
    let channels = proof.delivery.iter().map(|channel| (channel.channel.as_str(), channel.arrived));
    channels.chain(proof.guard.iter().map(|leg| (leg.leg.as_str(), leg.held))).collect()
}

#[test]
fn an_agent_that_does_not_end_in_time_is_unknown() {
    let proof = proved("exec tail -f /dev/null");
    let unknown =
        [("argv", None), ("stdin", None), ("alone", None), ("as_configured", None), ("tools", None)];
    assert_eq!(legs(&proof), unknown);
    let facts = proof.local_proofs();
    assert!(facts.proved.is_empty() && facts.refuted.is_empty() && facts.guard.is_none(), "{facts:?}");
    let lines = prove::unknown_lines(AgentBinary::Claude, &proof);
    assert_eq!(lines.len(), unknown.len(), "{lines:#?}");
    for line in &lines {
        assert!(
            line.contains(" is unknown: ") && line.ends_with(" again when this machine is quieter"),
            "{line}"
        );
    }
    assert!(
        prove::report_lines(AgentBinary::Claude, &Ok(proof))[0]
            .contains("argv unknown (did not arrive in time)")
    );
}

#[test]
fn a_forbidden_call_that_ran_is_no_question_of_time() {
    let proof = proved("> forbidden.txt; > forbidden-tool.txt; exec tail -f /dev/null");
    let alone = ("alone", Some(false));
    let expected =
        [("argv", None), ("stdin", None), alone, ("as_configured", Some(false)), ("tools", Some(false))];
    assert_eq!(legs(&proof), expected);
    assert_eq!(proof.local_proofs().guard, Some(false));
}
