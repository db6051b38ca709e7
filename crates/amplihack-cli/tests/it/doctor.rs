//! `doctor`: the whole report, to the letter, on machines whose agents and tools are known.

use std::os::unix::fs::PermissionsExt;

use amplihack_testkit::{NetNs, Output, Run, Sandbox, Script, real};

use crate::scene::{files, program, shown};
use crate::world::{amplihack, run};

/// A machine with two agents of proved versions, one that has no version, and tools of known versions.
fn machine() -> Sandbox {
    let mut sandbox = Sandbox::new();
    for agent in ["claude", "codex", "copilot"] {
        sandbox.fake(agent);
    }
    sandbox.script_for("copilot", &Script::new().version("cannot tell"));
    shell_program(&sandbox, "tmux", "echo tmux 3.5");
    shell_program(&sandbox, "ssh", "echo 'OpenSSH_9.9, OpenSSL 3.5' >&2");
    sandbox.set("PATH", sandbox.bin());
    sandbox
}

fn shell_program(sandbox: &Sandbox, name: &str, line: &str) {
    program(sandbox, name, &format!("#!/bin/sh\n{line}\n"));
}

fn doctor(sandbox: &Sandbox, args: &[&str]) -> Output {
    let output = run(sandbox, &[&["doctor"], args].concat());
    output.assert_nowhere("\u{1b}");
    output
}

#[test]
fn the_whole_report() {
    let sandbox = machine();
    insta::assert_snapshot!("report", shown(&sandbox, &doctor(&sandbox, &[])));
    insta::assert_snapshot!("json", shown(&sandbox, &doctor(&sandbox, &["--json"])));
}

/// Every launch is refused then, so it is not carried by a guard, and no registration is called broken for it.
#[test]
fn an_engine_that_every_launch_refuses_is_named() {
    for registered in [false, true] {
        let mut sandbox = machine();
        if registered {
            run(&sandbox, &["install", "--agent", "claude"]).assert_code(0);
        }
        doctor(&sandbox, &[]).assert_code(0).assert_stdout_has("every launch carries the guard");
        for engine in ["python", "zz", ""] {
            sandbox.set("AMPLIHACK_HOOK_ENGINE", engine);
            let output = doctor(&sandbox, &[]);
            output.assert_code(1).assert_stdout_has(&format!(
                "AMPLIHACK_HOOK_ENGINE={}",
                if engine == "python" { engine.to_owned() } else { format!("{engine:?}") }
            ));
            output.assert_nowhere("every launch carries the guard").assert_nowhere("on a harmless payload");
            let report = doctor(&sandbox, &["--json"]).json();
            assert_eq!(report["broken"].as_array().unwrap().len(), 1, "{report:#}");
            for agent in report["hooks"]["agents"].as_array().unwrap() {
                assert_eq!(agent["guarded_launches"], false, "{agent:#}");
            }
            let launch = run(&sandbox, &["claude", "-p", "hi"]);
            launch.assert_code(1).assert_stderr_has("AMPLIHACK_HOOK_ENGINE");
        }
    }
}

#[test]
fn prompt_delivery_is_reported_for_each_request() {
    let mut sandbox = machine();
    let mut report = String::new();
    for request in ["argv", "TempFile", "stdin", "pigeon"] {
        sandbox.set("AMPLIHACK_PROMPT_DELIVERY", request);
        let output = doctor(&sandbox, &[]);
        let text = shown(&sandbox, output.assert_code(0));
        let (block, _) = text.split_once("\nActive agent").unwrap();
        assert!(!text.contains("pigeon"), "a value that is none may be a prompt");
        let stderr = text.split_once("--- stderr\n").map_or("", |(_, stderr)| stderr);
        report.extend(["=== ", request, "\n", block, stderr]);
    }
    insta::assert_snapshot!(report);
}

#[test]
fn only_what_is_broken_makes_doctor_fail() {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", sandbox.bin());
    doctor(&sandbox, &[]).assert_code(0).assert_stdout_has("no agent was found: ");
    shell_program(&sandbox, "claude", "echo 'lost my libraries' >&2; exit 127");
    sandbox.write("bin/copilot", "#!/no/such/interpreter\n");
    std::fs::set_permissions(sandbox.bin().join("copilot"), std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.set("AMPLIHACK_CODEX_PATH", sandbox.root().join("no/codex"));
    sandbox.set("HOME", "relative");
    let output = doctor(&sandbox, &[]);
    let text = shown(&sandbox, output.assert_code(1));
    let broken: Vec<&str> = text.lines().filter(|line| line.starts_with("broken: ")).collect();
    insta::assert_snapshot!(broken.join("\n"));
    let json = doctor(&sandbox, &["--json"]);
    assert_eq!(json.assert_code(1).json()["broken"].as_array().unwrap().len(), broken.len());
}

#[test]
fn doctor_starts_version_probes_only_and_writes_their_cache_only() {
    let sandbox = machine();
    doctor(&sandbox, &[]).assert_code(0);
    assert_eq!(sandbox.runs(), []);
    assert_eq!(sandbox.starts().len(), 3);
    let written: Vec<_> = files(&sandbox.home()).into_iter().chain(files(&sandbox.work())).collect();
    assert_eq!(written, [sandbox.home().join(".amplihack/versions.json")]);
    doctor(&sandbox, &[]).assert_code(0);
    let asked = |name: &str| sandbox.starts().iter().filter(|start| start.name == name).count();
    assert_eq!((asked("claude"), asked("codex")), (1, 1), "a version is asked for once");
}

/// Even `--version` of real agents unpacks and logs, where their launches need it; a look must not.
#[test]
fn a_look_at_real_agents_leaves_the_home_alone() {
    let mut sandbox = Sandbox::new();
    for agent in ["claude", "codex", "copilot", "amp"] {
        if let Some(program) = real::real_agent(agent) {
            sandbox.set(format!("AMPLIHACK_{}_PATH", agent.to_uppercase()), program);
        }
    }
    let mut command = sandbox.command(amplihack());
    command.arg("doctor");
    let network = NetNs::new();
    let output = Run::new(network.wrap(&command)).output();
    output.assert_code(0).assert_nowhere("version unknown");
    let mut written = files(&sandbox.home());
    written.retain(|path| *path != sandbox.home().join(".amplihack/versions.json"));
    assert_eq!(written, Vec::<std::path::PathBuf>::new());
    assert_eq!(files(&sandbox.root().join("tmp")), Vec::<std::path::PathBuf>::new());
}
