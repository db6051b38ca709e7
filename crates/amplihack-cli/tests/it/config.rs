//! `config show` and `config trust`: every layer, what does not count, and what cannot be read.

use amplihack_testkit::Sandbox;

use crate::scene::{mode, shown};
use crate::world::run;

const USER: &str = "home/.config/amplihack/config.toml";
const REPOSITORY: &str = "work/.amplihack/config.toml";

/// A repository in which every layer but the system's says something.
fn every_layer() -> Sandbox {
    let mut sandbox = Sandbox::repository();
    sandbox.write(USER, "stop_grace_seconds = 9\nmax_depth = 5\n[agents.codex]\npath = '/opt/codex'\n");
    sandbox.write(
        REPOSITORY,
        "max_depth = 4\nstop_grace_seconds = 60\nprompt_delivery = 'argv'\nagents.claude.path = '/repository/claude'\n",
    );
    sandbox.set("AMPLIHACK_AMP_PATH", "/opt/amp");
    sandbox
}

#[test]
fn every_value_is_shown_with_its_origin_and_what_does_not_count_is_named() {
    let sandbox = every_layer();
    insta::assert_snapshot!("origin", shown(&sandbox, &run(&sandbox, &["config", "show", "--origin"])));
    insta::assert_snapshot!("json", shown(&sandbox, &run(&sandbox, &["config", "show", "--json"])));
    let plain = run(&sandbox, &["config", "show"]);
    plain.assert_code(0).assert_stdout(
        "prompt_delivery = auto\nmax_depth = 4\nstop_grace_seconds = 9\npolicy = standard\nrequire_proof = false\nprompt_reminder = false\nagents.codex.path = /opt/codex\nagents.amp.path = /opt/amp\nworktrees.setup_seconds = 600\nworktrees.submodules = false\n",
    );
}

#[test]
fn nothing_configured_is_the_defaults() {
    let sandbox = Sandbox::new();
    let output = run(&sandbox, &["config", "show", "--origin"]);
    output.assert_code(0).assert_stderr("").assert_stdout(
        "prompt_delivery = auto  # built-in\nmax_depth = 6  # built-in\nstop_grace_seconds = 5  # built-in\npolicy = standard  # built-in\nrequire_proof = false  # built-in\nprompt_reminder = false  # built-in\nworktrees.setup_seconds = 600  # built-in\nworktrees.submodules = false  # built-in\n",
    );
    assert_eq!(crate::scene::files(sandbox.root()), Vec::<std::path::PathBuf>::new(), "reading is free");
}

#[test]
fn a_trusted_repository_counts() {
    let sandbox = every_layer();
    let first = run(&sandbox, &["config", "trust"]);
    insta::assert_snapshot!("trust", shown(&sandbox, &first));
    insta::assert_snapshot!("trusted", shown(&sandbox, &run(&sandbox, &["config", "show", "--origin"])));
    run(&sandbox, &["config", "trust", "."]).assert_code(0).assert_stdout_has("was trusted before");
    let text = std::fs::read_to_string(sandbox.root().join(USER)).unwrap();
    assert!(text.contains("stop_grace_seconds = 9\nmax_depth = 5\n"), "{text}");
    assert_eq!(mode(&sandbox, USER) & 0o022, 0, "nobody else may write it");
}

#[test]
fn only_a_repository_can_be_trusted() {
    let sandbox = Sandbox::new();
    let output = run(&sandbox, &["config", "trust", "../home"]);
    output.assert_code(1).assert_stdout("").assert_stderr_has("error: ../home is not in a git repository");
}

/// A fault in a file, and the same fault as each command meets it.
#[test]
fn a_file_that_cannot_be_read_is_named_to_line_and_column() {
    let sandbox = Sandbox::repository();
    let mut report = String::new();
    for (file, text) in [
        (USER, "max_depth = 3\nmax_depth = = 4\n"),
        (USER, "\n  stop_grace_seconds = 'long'\n"),
        (REPOSITORY, "[agents.claude]\npath = 'relative'\n"),
        (USER, "prompt_delivery = 'pigeon'\n"),
    ] {
        let path = sandbox.write(file, text);
        report += &shown(&sandbox, &run(&sandbox, &["config", "show"]));
        std::fs::remove_file(path).unwrap();
    }
    insta::assert_snapshot!(report);
}

#[test]
fn programs_get_errors_as_one_object_on_stdout() {
    let sandbox = Sandbox::repository();
    sandbox.fake("claude");
    sandbox.write(USER, "max_depth = 'deep'\n");
    let mut report = String::new();
    for args in [&["config", "show", "--json"][..], &["doctor", "--json"]] {
        let output = run(&sandbox, args);
        let error = &output.assert_code(1).assert_stderr("").json()["error"];
        assert!(error.is_object(), "{output}");
        report += &shown(&sandbox, &output);
    }
    insta::assert_snapshot!(report);
    // Also what is wrong with the command line itself.
    for args in [
        &["sessions", "list", "--json", "--nope"][..],
        &["recipe", "runs", "show", "--json"],
        &["recipe", "run", "x", "-f", "json", "--step-timeout", "soon"],
    ] {
        let error = &run(&sandbox, args).assert_code(2).assert_stderr("").json()["error"];
        assert_eq!(error["kind"], "usage", "{args:?}");
        assert!(!error["message"].as_str().unwrap().starts_with("error"), "{error}");
    }
    // What is another program's is not read.
    let output = run(&sandbox, &["claude", "--nope", "--", "--json"]);
    output.assert_code(2).assert_stdout("").assert_stderr_has("error: ");
    // A launch says it to a person, and does not start.
    run(&sandbox, &["claude", "-p", "hi"]).assert_code(1).assert_stdout("").assert_stderr_has("error: ");
    assert_eq!(sandbox.starts(), []);
    // Who is in charge does not hang on the configuration.
    run(&sandbox, &["which", "--json"]).assert_code(0).assert_stdout_has(r#""agent":"copilot""#);
}

#[test]
fn which_in_a_directory_that_is_gone_is_an_error() {
    let sandbox = Sandbox::new();
    let line =
        format!("mkdir gone; cd gone; rmdir ../gone; '{}' which --json", crate::world::amplihack().display());
    let output = sandbox.run("sh", ["-c", &line]);
    let error = &output.assert_code(1).json()["error"];
    assert_eq!(error["kind"], "system");
    assert!(error["message"].as_str().unwrap().starts_with("cannot use the current directory: "), "{error}");
}
