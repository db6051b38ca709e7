//! `install` and `uninstall` as a user meets them: what is said, what stands in the files, and that nothing is left.

use std::collections::BTreeMap;
use std::path::PathBuf;

use amplihack_testkit::{Output, Sandbox};

use crate::scene::{files, json, repository, shown};
use crate::world::run;

const SETTINGS: &str = "{\n  // mine\n  \"model\": \"x\",\n}\n";

fn machine() -> Sandbox {
    let mut sandbox = repository(&["claude", "codex", "copilot", "amp"]);
    sandbox.set("PATH", sandbox.bin());
    sandbox.write("home/.claude/settings.json", SETTINGS);
    sandbox
}

/// Every file of the user's with its bytes.
fn contents(sandbox: &Sandbox) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for file in files(&sandbox.home()).into_iter().chain(files(&sandbox.work())) {
        let bytes = std::fs::read(&file).unwrap();
        all.insert(file, bytes);
    }
    all
}

/// The output without the paths of the program under test.
fn told(sandbox: &Sandbox, output: &Output) -> String {
    let program = crate::world::amplihack().canonicalize().unwrap();
    // The small hook binary is there or not, by what was built.
    shown(sandbox, output)
        .replace(&*program.parent().unwrap().to_string_lossy(), "[BIN]")
        .replace("[BIN]/amplihack-hooks", "[BIN]/amplihack")
}

#[test]
fn installing_says_what_became_of_each_file_and_uninstalling_leaves_nothing() {
    let sandbox = machine();
    let before = contents(&sandbox);
    let mut story = String::new();
    for args in [
        &["install"][..],
        &["install", "--agent", "claude", "--agent", "amplifier"],
        &["install", "--scope", "repo", "--agent", "copilot", "--agent", "codex"],
        &["doctor"],
        &["uninstall", "--agent", "claude"],
        &["uninstall"],
        &["uninstall", "--scope", "repo"],
        &["uninstall"],
    ] {
        let output = run(&sandbox, args);
        let text = told(&sandbox, &output);
        let text = match (args[0], text.find("\nHooks\n"), text.find("\nTools\n")) {
            ("doctor", Some(start), Some(end)) => text[start + 1..end].to_owned(),
            _ => text,
        };
        story.extend(["=== ", &args.join(" "), "\n", &text]);
    }
    insta::assert_snapshot!(story);
    let mut after = contents(&sandbox);
    // The cache of versions is no part of an installation.
    after.retain(|path, _| before.contains_key(path) || !path.ends_with(".amplihack/versions.json"));
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(after, before);
}

#[test]
fn every_registered_command_is_shown_to_hold() {
    let sandbox = machine();
    let args = ["install", "--verify", "--agent", "claude", "--agent", "codex", "--agent", "copilot"];
    let output = run(&sandbox, &args);
    insta::assert_snapshot!(told(&sandbox, output.assert_code(0)));
    let object = run(&sandbox, &[&args[..], &["--json"]].concat()).assert_code(0).json();
    for agent in object["verified"].as_array().unwrap() {
        for event in agent["events"].as_array().unwrap() {
            assert!(event["fault"].is_null(), "{event:#}");
        }
    }
    let outcomes = object["agents"][0]["files"].as_array().unwrap().iter();
    assert!(outcomes.into_iter().all(|file| file["outcome"] == "unchanged"), "{object:#}");
}

#[test]
fn an_agent_without_hooks_leaves_the_others_their_verification() {
    let sandbox = machine();
    let args = ["install", "--verify", "--agent", "amp", "--agent", "claude"];
    let output = run(&sandbox, &args);
    output.assert_code(0).assert_stdout_has("claude answers\n");
    output.assert_stderr_has("note: not verified: amp has no command hooks");
    // Where nothing can be verified, nothing was.
    run(&sandbox, &["install", "--verify", "--agent", "amp"])
        .assert_code(1)
        .assert_stderr_has("error: amp has no command hooks");
}

#[test]
fn a_repositorys_wrappers_hold_and_deny_where_the_binary_is_not_found() {
    let mut sandbox = machine();
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    let args = ["install", "--verify", "--scope", "repo", "--agent", "copilot"];
    run(&sandbox, &args).assert_code(0).assert_stdout_has("harmless call runs, forbidden call stopped");
    let text = std::fs::read_to_string(sandbox.work().join(".github/hooks/pre-tool-use")).unwrap();
    for place in [sandbox.root(), crate::world::amplihack()] {
        assert!(!text.contains(&*place.to_string_lossy()), "{text}");
    }
    std::fs::remove_file(sandbox.bin().join("amplihack")).unwrap();
    let output = run(&sandbox, &args);
    output.assert_code(1).assert_stderr_has("ends with 0 on a harmless payload");
}

/// The registrations of an agent that was added last, too: else any agent could take the guard away from it.
#[test]
fn no_agent_may_change_what_was_installed() {
    let sandbox = Sandbox::repository();
    let before = contents(&sandbox);
    let mut installed = 0;
    for scope in ["user", "repo"] {
        for agent in ["claude", "codex", "copilot", "amp", "gemini"] {
            run(&sandbox, &["install", "--scope", scope, "--agent", agent]).assert_code(0);
        }
    }
    for file in contents(&sandbox).into_keys().filter(|file| !before.contains_key(file)) {
        // Words for the agent hold nothing up.
        if file.ends_with("copilot-instructions.md") {
            continue;
        }
        installed += 1;
        for command in ["rm -f", "chmod a-r", "tee"] {
            let command = format!("{command} {}", file.display());
            let output = run(&sandbox, &["policy", "check", &command]);
            output.assert_code(4).assert_stdout_has("guard_disabling/own-files");
        }
    }
    assert!(installed > 10, "{installed}");
}

#[test]
fn what_cannot_be_read_is_left_alone_and_named() {
    let sandbox = machine();
    sandbox.write("home/.claude/settings.json", "{\n  \"a\": 1\n  \"b\": 2\n}\n");
    let before = contents(&sandbox);
    let mut story = String::new();
    for args in [&["install"][..], &["install", "--json"], &["install", "--agent", "emacs"]] {
        story += &told(&sandbox, &run(&sandbox, args));
    }
    let mut elsewhere = Sandbox::new();
    elsewhere.set("PATH", elsewhere.bin());
    story += &told(&elsewhere, &run(&elsewhere, &["install"]));
    story += &told(&elsewhere, &run(&elsewhere, &["uninstall", "--scope", "repo"]));
    insta::assert_snapshot!(story);
    assert_eq!(contents(&sandbox), before);
}

#[test]
fn doctor_says_what_is_broken_about_a_registration() {
    let sandbox = machine();
    let agents = ["--agent", "claude", "--agent", "codex"];
    run(&sandbox, &[&["install"], &agents[..]].concat()).assert_code(0);
    let broken = |sandbox: &Sandbox| {
        let report = run(sandbox, &["doctor", "--json"]).json();
        let broken: Vec<String> = serde_json::from_value(report["broken"].clone()).unwrap();
        broken.join("\n").replace(&*sandbox.root().canonicalize().unwrap().to_string_lossy(), "[ROOT]")
    };
    assert_eq!(broken(&sandbox), "");
    let mut story = String::new();
    let config = std::fs::read_to_string(sandbox.home().join(".codex/config.toml")).unwrap();
    sandbox.write("home/.codex/config.toml", "");
    story.extend(["untrusted\n", &broken(&sandbox), "\n\n"]);
    sandbox.write("home/.codex/config.toml", config);
    let path = sandbox.home().join(".claude/settings.json");
    let settings = std::fs::read_to_string(&path).unwrap();
    let bin = crate::world::amplihack().canonicalize().unwrap();
    for (name, text) in [
        ("off", settings.replace("\"model\": \"x\"", "\"disableAllHooks\": true")),
        ("incomplete", settings.replace("pre-tool-use", "post-tool-use")),
        ("unreadable", settings.replace("// mine", "/")),
        (
            "gone",
            settings
                .replace("/amplihack hook", "/gone/amplihack hook")
                .replace("/amplihack-hooks ", "/gone/amplihack-hooks "),
        ),
        ("open", {
            // A program of our name that answers nothing.
            let open = sandbox.write("open/amplihack-hooks", "#!/bin/sh\nexit 0\n");
            std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            let ours = bin.display().to_string();
            let open = format!("{} ", open.display());
            settings.replace(&format!("{ours}-hooks "), &open).replace(&format!("{ours} hook "), &open)
        }),
    ] {
        std::fs::write(&path, text).unwrap();
        story.extend([name, "\n", &broken(&sandbox), "\n\n"]);
    }
    let story = story.replace(&*bin.parent().unwrap().to_string_lossy(), "[BIN]");
    insta::assert_snapshot!(story.replace("/gone/amplihack-hooks", "/gone/amplihack"));
    std::fs::write(&path, settings).unwrap();
    assert_eq!(json(&sandbox, "home/.codex/hooks.json")["hooks"]["PreToolUse"].as_array().unwrap().len(), 1);
}

/// The launch is guarded by its own hooks; sessions without it are not.
#[test]
fn a_launch_says_that_the_users_own_registration_is_broken() {
    let sandbox = machine();
    let line = "sessions of claude that are started without amplihack are not held";
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0).assert_nowhere(line);
    run(&sandbox, &["install", "--agent", "claude"]).assert_code(0);
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0).assert_nowhere(line);
    let path = sandbox.home().join(".claude/settings.json");
    let settings = std::fs::read_to_string(&path).unwrap();
    for (text, why) in [
        (settings.replace("pre-tool-use", "post-tool-use"), "PreToolUse"),
        (
            settings
                .replace("/amplihack-hooks ", "/gone/amplihack-hooks ")
                .replace("/amplihack hook", "/gone/amplihack hook"),
            "is gone",
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        let output = run(&sandbox, &["claude", "-p", "hi"]);
        output
            .assert_code(0)
            .assert_stderr_has(line)
            .assert_stderr_has(why)
            .assert_stderr_has("amplihack install");
        assert_eq!(output.stderr_text().matches(line).count(), 1);
    }
    // What is not ours is not ours to speak of.
    std::fs::write(&path, SETTINGS).unwrap();
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(0).assert_nowhere(line);
}
