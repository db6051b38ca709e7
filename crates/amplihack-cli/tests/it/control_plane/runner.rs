//! The bridge to an external recipe runner: where it is found, which versions are taken, and what it gets.

use std::path::Path;

use amplihack_testkit::{Output, Sandbox};

use crate::world::run;

/// Puts a runner at `path` below the sandbox that tells this version, notes that it ran, and then does `script`.
pub(super) fn put(sandbox: &Sandbox, path: &str, version: &str, script: &str) {
    let mark = sandbox.root().join("ran");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo '{version}'; exit; }}\necho {path} >>{}\n{script}\n",
        mark.display()
    );
    let file = sandbox.write(path, text);
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

/// What runners that came to run left, a line each.
pub(super) fn ran(sandbox: &Sandbox) -> Vec<String> {
    let text = std::fs::read_to_string(sandbox.root().join("ran")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

pub(super) const SUCCESS: &str = r#"echo '{"recipe_name": "r", "success": true, "step_results": [{"step_id": "a", "status": "completed", "output": "done"}]}'"#;

/// A repository whose PATH has no runner, and a recipe.
pub(super) fn place() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.write("work/r.yaml", "name: r\nsteps:\n  - {id: a, command: 'echo built-in >>../ran'}\n");
    sandbox.set("PATH", format!("{}:/usr/bin:/bin", sandbox.bin().display()));
    sandbox
}

/// `recipe run` by an external runner, to be looked for.
pub(super) fn bridged(sandbox: &Sandbox, more: &[&str]) -> Output {
    run(sandbox, &[&["recipe", "run", "r.yaml", "--runner", "external", "--agent", "copilot"], more].concat())
}

const PLACES: [&str; 4] = [
    "named/runner",
    "bin/recipe-runner-rs",
    "home/.cargo/bin/recipe-runner-rs",
    "home/.local/bin/recipe-runner-rs",
];

/// Of the places from the given one on, the first is taken.
fn first_of(from: usize) {
    let mut sandbox = place();
    for path in &PLACES[from..] {
        put(&sandbox, path, "recipe-runner 0.3.6", SUCCESS);
    }
    if from == 0 {
        let named = sandbox.root().join(PLACES[0]);
        sandbox.set("RECIPE_RUNNER_RS_PATH", named);
    }
    bridged(&sandbox, &[]).assert_code(0);
    assert_eq!(ran(&sandbox), [PLACES[from]]);
}

#[test]
fn the_variable_is_first() {
    first_of(0);
}

#[test]
fn path_is_second() {
    first_of(1);
}

#[test]
fn cargos_directory_is_third() {
    first_of(2);
}

#[test]
fn the_users_own_directory_is_last() {
    first_of(3);
}

#[test]
fn a_runner_that_is_nowhere_is_an_error_of_its_own() {
    let output = bridged(&place(), &["-f", "json"]);
    output.assert_code(3);
    assert_eq!(output.json()["error"]["kind"], "runner_not_found");
}

/// A runner that tells this version is refused before it runs a recipe, by an error of this kind that names it.
fn refused(version: &str, kind: &str, says: &str) {
    let sandbox = place();
    put(&sandbox, "bin/recipe-runner-rs", version, SUCCESS);
    let output = bridged(&sandbox, &["-f", "json"]);
    output.assert_code(1);
    let error = &output.json()["error"];
    assert_eq!(error["kind"], kind, "{error}");
    assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    assert_eq!(ran(&sandbox), [""; 0]);
}

#[test]
fn a_version_that_is_too_old_is_rejected_by_name() {
    for old in ["0.3.4", "0.0.9", "0.3.5-rc1"] {
        refused(&format!("recipe-runner {old}"), "runner_version_too_old", old);
    }
}

#[test]
fn a_version_that_cannot_be_parsed_is_rejected_by_name() {
    refused("recipe-runner dev-build", "runner_version_unreadable", "dev-build");
}

#[test]
fn an_unknown_version_is_rejected() {
    refused("something else entirely", "runner_version_unknown", "recipe-runner-rs");
}

#[test]
fn nothing_falls_back_to_another_runner() {
    let sandbox = place();
    put(&sandbox, "bin/recipe-runner-rs", "recipe-runner 0.3.4", SUCCESS);
    let output = bridged(&sandbox, &[]);
    output.assert_code(1).assert_stdout("").assert_stderr_has("0.3.4");
    assert_eq!(ran(&sandbox), [""; 0]);
}

fn banner(words: &str) {
    let sandbox = place();
    put(&sandbox, "bin/recipe-runner-rs", "recipe-runner 0.3.6", SUCCESS);
    let output = bridged(&sandbox, &[]);
    output.assert_code(0).assert_stderr_has(&format!("[amplihack] recipe-runner --- {words}: "));
    assert!(!output.stdout_text().contains("[amplihack]"), "{output}");
}

#[test]
fn the_first_banner_says_that_it_starts() {
    banner("starting");
}

#[test]
fn the_second_banner_says_that_it_executes() {
    banner("executing");
}

fn environment(sandbox: &Sandbox) -> String {
    let file = sandbox.root().join("env");
    put(
        sandbox,
        "bin/recipe-runner-rs",
        "recipe-runner 0.3.6",
        &format!("env >{}\n{SUCCESS}", file.display()),
    );
    bridged(sandbox, &[]).assert_code(0);
    std::fs::read_to_string(Path::new(&file)).unwrap()
}

#[test]
fn the_runner_gets_what_it_needs_and_no_key() {
    let mut sandbox = place();
    sandbox.set("ANTHROPIC_API_KEY", "secret").set("GITHUB_TOKEN", "passes");
    let seen = environment(&sandbox);
    assert!(seen.contains("GITHUB_TOKEN=passes") && seen.contains("CLAUDE_PROJECT_DIR="), "{seen}");
    assert!(!seen.contains("ANTHROPIC_API_KEY"), "{seen}");
}

#[test]
fn the_agent_of_the_variable_is_that_of_nested_recipes() {
    for agent in ["codex", "claude", "copilot"] {
        let mut sandbox = place();
        sandbox.set("AMPLIHACK_AGENT_BINARY", agent);
        let file = sandbox.root().join("env");
        put(
            &sandbox,
            "bin/recipe-runner-rs",
            "recipe-runner 0.3.6",
            &format!("env >{}\n{SUCCESS}", file.display()),
        );
        run(&sandbox, &["recipe", "run", "r.yaml", "--runner", "external"]).assert_code(0);
        let seen = std::fs::read_to_string(file).unwrap();
        assert!(seen.lines().any(|line| line == format!("AMPLIHACK_AGENT_BINARY={agent}")), "{seen}");
    }
}

#[test]
fn the_time_of_an_installation_is_whole_seconds() {
    let mut sandbox = place();
    put(&sandbox, "bin/recipe-runner-rs", "recipe-runner 0.3.6", SUCCESS);
    sandbox.set("RECIPE_RUNNER_INSTALL_TIMEOUT", "300");
    bridged(&sandbox, &[]).assert_code(0);
    sandbox.set("RECIPE_RUNNER_INSTALL_TIMEOUT", "soon");
    let output = bridged(&sandbox, &["-f", "json"]);
    output.assert_code(2);
    assert_eq!(output.json()["error"]["kind"], "bad_install_timeout");
}

#[test]
fn the_engine_of_hooks_is_rust() {
    let mut sandbox = super::installed();
    for engine in ["rust", "auto"] {
        sandbox.set("AMPLIHACK_HOOK_ENGINE", engine);
        let answer = super::wrapper(&sandbox, "pre-tool-use", &super::shell_call("pwd"));
        assert_eq!(answer, serde_json::json!({}), "{engine}");
    }
}
