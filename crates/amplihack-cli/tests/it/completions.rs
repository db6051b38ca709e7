//! Completion scripts of each shell.

use amplihack_testkit::{Run, Sandbox, loud};

use crate::world::run;

const VERBS: [&str; 22] = [
    "claude",
    "copilot",
    "codex",
    "amplifier",
    "amp",
    "launch",
    "which",
    "doctor",
    "demo",
    "install",
    "uninstall",
    "recipe",
    "auto",
    "parallel",
    "remote",
    "sessions",
    "stream",
    "config",
    "policy",
    "audit",
    "completions",
    "help",
];

#[test]
fn every_verb_and_option_is_completed_in_every_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&sandbox, &["completions", shell]);
        let script = output.assert_code(0).assert_stderr("").stdout_text();
        for word in
            VERBS.into_iter().chain(["prompt-file", "permissions", "prove", "scripted", "origin", "batch"])
        {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let help = run(&sandbox, &["--help"]).assert_code(0).stdout_text();
    let listed =
        help.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with([' ', '-']));
    let listed: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, VERBS, "the list above is all there is");
}

#[test]
fn bash_takes_its_script_and_completes_with_it() {
    let sandbox = Sandbox::new();
    let script = run(&sandbox, &["completions", "bash"]).stdout;
    let mut parse = sandbox.command("bash");
    parse.arg("-n");
    Run::new(parse).stdin(script.clone()).output().assert_code(0).assert_stderr("");
    let file = sandbox.write("amplihack.bash", script);
    let ask = |words: &str, at: usize, begun: &str| {
        let line = format!(
            "source '{}'; COMP_WORDS=({words}); COMP_CWORD={at}; _amplihack amplihack '{begun}' ''; echo \"${{COMPREPLY[@]}}\"",
            file.display()
        );
        sandbox.run("bash", ["--norc", "-c", &line]).assert_code(0).assert_stderr("").stdout_text()
    };
    assert_eq!(ask("amplihack do", 1, "do").trim(), "doctor");
    assert_eq!(
        ask("amplihack config ''", 2, "")
            .split_whitespace()
            .filter(|word| !word.starts_with('-'))
            .collect::<Vec<_>>(),
        ["show", "trust"]
    );
}

/// Loads the script in `shell`, if it is installed, as its users do.
fn loads(shell: &str, prepare: &str) {
    let sandbox = Sandbox::new();
    let script = run(&sandbox, &["completions", shell]).stdout;
    let file = sandbox.write(format!("amplihack.{shell}"), script);
    let installed = sandbox
        .env()
        .get("PATH")
        .is_some_and(|path| std::env::split_paths(path).any(|directory| directory.join(shell).is_file()));
    if !installed {
        return loud(&format!("SKIPPED: {shell} is not installed; its completion script was not loaded"));
    }
    let line = format!("{prepare}source '{}' && echo loaded", file.display());
    sandbox.run(shell, ["-c", &line]).assert_code(0).assert_stderr("").assert_stdout("loaded\n");
}

#[test]
fn zsh_loads_its_script() {
    loads("zsh", "autoload -U compinit && compinit -u && ");
}

#[test]
fn fish_loads_its_script() {
    loads("fish", "");
}

#[test]
fn an_unknown_shell_is_a_usage_error() {
    run(&Sandbox::new(), &["completions", "tcl"]).assert_code(2).assert_stdout("").assert_stderr_has("tcl");
}
