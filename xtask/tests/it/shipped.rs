//! The real programs, out of a release: the guard is the one beside `amplihack`, wherever it lies, and through upgrades.

use std::path::Path;

use amplihack_testkit::programs::shipped;
use amplihack_testkit::{Output, Run, Sandbox, Script};
use serde_json::Value;

use crate::installer::home;
use crate::release::{PROGRAMS, dist, name};

/// This test's build of what is shipped, without its symbols, which weigh ten times as much.
fn bins(sandbox: &Sandbox) -> std::path::PathBuf {
    let directory = sandbox.root().join("bins");
    std::fs::create_dir(&directory).unwrap();
    for name in PROGRAMS {
        let from = shipped().join(name);
        let (from, to) = (from.to_str().unwrap(), directory.join(name));
        sandbox.run("strip", ["-o", to.to_str().unwrap(), from]).assert_code(0);
    }
    directory
}

/// `amplihack` of the programs in `directory`.
fn amplihack(sandbox: &Sandbox, directory: &Path, args: &[&str]) -> Output {
    sandbox.run(directory.join("amplihack"), args)
}

/// What `doctor` calls broken.
fn broken(sandbox: &Sandbox, directory: &Path) -> String {
    let report: Value = amplihack(sandbox, directory, &["doctor", "--json"]).json();
    let broken: Vec<String> = serde_json::from_value(report["broken"].clone()).unwrap();
    broken.join("\n")
}

/// The registered command that guards Claude Code's calls.
fn registered(sandbox: &Sandbox) -> String {
    let text = std::fs::read(sandbox.home().join(".claude/settings.json")).unwrap();
    let settings: Value = serde_json::from_slice(&text).unwrap();
    settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap().to_owned()
}

/// What the registered guard makes of a call that the policy forbids.
fn forbidden(sandbox: &Sandbox) -> Output {
    let payload = r#"{"session_id":"s","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf /"}}"#;
    let mut shell = sandbox.command("sh");
    shell.arg("-c").arg(registered(sandbox));
    Run::new(shell).stdin(payload).output()
}

#[test]
fn registrations_hold_where_the_programs_are_and_through_an_upgrade() {
    let mut sandbox = Sandbox::repository();
    sandbox.fake("claude");
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    dist(&sandbox, &bins(&sandbox), "dist");
    let version = env!("CARGO_PKG_VERSION");
    let folder = sandbox.root().join("dist").join(name(version));
    for page in ["amplihack-recipe-run.1", "amplihack.1"] {
        let text = std::fs::read_to_string(folder.join("share/man/man1").join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}: {text}");
    }
    let before = home(&sandbox);

    // From the folder of the release, without an installation.
    let guard = |directory: &Path| {
        let install = ["install", "--agent", "claude", "--verify"];
        amplihack(&sandbox, directory, &install).assert_code(0).assert_stdout_has("forbidden call stopped");
        let beside = directory.canonicalize().unwrap().join("amplihack-hooks");
        let command = registered(&sandbox);
        assert!(command.trim_start_matches("g=$(").starts_with(beside.to_str().unwrap()), "{command}");
        assert_eq!(broken(&sandbox, directory), "");
    };
    guard(&folder.join("bin"));

    // Elsewhere than the registration says: every call is stopped, and doctor says why.
    let moved = sandbox.root().join("a b");
    std::fs::rename(&folder, &moved).unwrap();
    assert_eq!(forbidden(&sandbox).code, Some(2));
    let said = broken(&sandbox, &moved.join("bin"));
    assert!(said.contains("amplihack-hooks is gone; run `amplihack install --agent claude`"), "{said}");
    amplihack(&sandbox, &moved.join("bin"), &["install", "--agent", "claude"]).assert_code(0);
    assert_eq!(broken(&sandbox, &moved.join("bin")), "");

    // Installed, and installed again over itself: the registration names the place, not the version.
    let script = moved.join("install.sh").display().to_string();
    let installer = |args: &[&str]| sandbox.run("sh", [&[script.as_str()], args].concat());
    installer(&[]).assert_code(0);
    let place = sandbox.home().join(".local/bin");
    guard(&place);
    let old = std::fs::metadata(place.join("amplihack-hooks")).unwrap();
    installer(&[]).assert_code(0);
    let new = std::fs::metadata(place.join("amplihack-hooks")).unwrap();
    assert_ne!(std::os::unix::fs::MetadataExt::ino(&old), std::os::unix::fs::MetadataExt::ino(&new));
    assert_eq!(broken(&sandbox, &place), "");
    let reply = forbidden(&sandbox).stdout_text();
    assert!(reply.contains("deny"), "{reply}");

    // Gone, with the hooks: a hook without its program would stop every call.
    let repository = ["install", "--scope", "repo", "--agent", "claude"];
    amplihack(&sandbox, &place, &repository).assert_code(0);
    installer(&["--uninstall"])
        .assert_code(1)
        .assert_stderr_has("run there: amplihack uninstall --scope repo");
    assert!(place.join("amplihack").exists());
    amplihack(&sandbox, &place, &["uninstall", "--scope", "repo"]).assert_code(0);
    installer(&["--uninstall"]).assert_code(0);
    let mut after = home(&sandbox);
    // What was seen and stopped is a state, and stays.
    let state = [".amplihack/versions.json", ".amplihack/once", ".claude/logs"];
    after.retain(|path, _| !state.iter().any(|part| path.starts_with(part)));
    assert_eq!(after, before);
}

#[test]
fn a_run_goes_on_with_the_version_that_was_put_in_its_place() {
    let mut sandbox = Sandbox::repository();
    sandbox.fake("claude");
    sandbox.script_for(
        "claude",
        // The hooks stand in the arguments of the agent.
        &Script::new().shell("tr '\\0' '\\n' <\"/proc/$PPID/cmdline\" >\"$HOME/seen\""),
    );
    sandbox.set("AMPLIHACK_AGENT_BINARY", "claude");
    let program = sandbox.home().join("own/amplihack");
    for place in ["own", "new"] {
        std::fs::create_dir(sandbox.home().join(place)).unwrap();
        std::fs::copy(shipped().join("amplihack"), sandbox.home().join(place).join("amplihack")).unwrap();
    }
    let recipe = "name: replaced\nsteps:\n  - id: replace\n    type: bash\n    command: mv \"$HOME/new/amplihack\" \"$HOME/own/amplihack\"\n  - id: ask\n    type: agent\n    prompt: say hi\n";
    let recipe = sandbox.write("work/replaced.yaml", recipe);
    let output = sandbox.run(&program, ["recipe", "run", recipe.to_str().unwrap()]);
    let seen = std::fs::read_to_string(sandbox.home().join("seen"));
    let seen = seen.unwrap_or_else(|error| panic!("the agent was not started: {error}\n{output}"));
    assert!(seen.contains("own/amplihack hook ") && !seen.contains("(deleted)"), "{seen}");
}
