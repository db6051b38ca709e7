//! Completion scripts of each shell.

use amplihack_testkit::{Run, Sandbox, skip_test};

use crate::world::{amplihack, run};

const VERBS: [&str; 24] = [
    "claude",
    "copilot",
    "codex",
    "amplifier",
    "amp",
    "gemini",
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
    "sandbox",
    "completions",
    "help",
];

/// What the program answers a shell's script for the words behind `amplihack`, the last one being typed.
fn completed(sandbox: &Sandbox, shell: &str, words: &[&str]) -> Vec<String> {
    let mut command = sandbox.command(amplihack());
    command.env("AMPLIHACK_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "false").env("_CLAP_IFS", "\n");
    command.args(["--", "amplihack"]).args(words);
    let output = Run::new(command).output();
    let text = output.assert_code(0).stdout_text();
    text.lines().map(|line| line.split(['\t', ':']).next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_verb_and_option_is_completed_in_every_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&sandbox, &["completions", shell]);
        script.assert_code(0).assert_stderr("").assert_stdout_has("AMPLIHACK_COMPLETE");
        let verbs = completed(&sandbox, shell, &[""]);
        for verb in VERBS {
            assert!(verbs.iter().any(|found| found == verb), "{shell}: {verb} in {verbs:?}");
        }
        for (words, option) in [
            (["claude", "--prom"], "--prompt-file"),
            (["claude", "--perm"], "--permissions"),
            (["doctor", "--p"], "--prove"),
            (["demo", "--scr"], "--scripted"),
        ] {
            let found = completed(&sandbox, shell, &words);
            assert!(found.iter().any(|found| found == option), "{shell}: {option} in {found:?}");
        }
    }
    for shell in ["elvish", "powershell"] {
        run(&sandbox, &["completions", shell]).assert_code(0).assert_stdout_has("AMPLIHACK_COMPLETE");
    }
    let help = run(&sandbox, &["--help"]).assert_code(0).stdout_text();
    let listed =
        help.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with([' ', '-']));
    let listed: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, VERBS, "the list above is all there is");
}

#[test]
fn names_of_this_machine_are_completed() {
    let sandbox = crate::fakes::fakes();
    run(&sandbox, &["claude", "--no-hooks", "--output", "json", "hi"]);
    let sessions = run(&sandbox, &["sessions", "list", "--json"]).assert_code(0).json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(completed(&sandbox, "bash", &["sessions", "show", &id[..4]]), [id.as_str()]);
    sandbox.write(
        "work/.claude/recipes/release-it.yaml",
        "name: release-it\nsteps: [{id: a, command: 'true'}]\n",
    );
    assert_eq!(completed(&sandbox, "bash", &["recipe", "run", "release"]), ["release-it"]);
    run(&sandbox, &["recipe", "run", "release-it"]).assert_code(0);
    let runs = completed(&sandbox, "bash", &["recipe", "runs", "show", ""]);
    assert_eq!(runs.iter().filter(|run| !run.starts_with('-')).count(), 1, "{runs:?}");
    sandbox.write("home/.config/amplihack/hosts.toml", "[hosts.build-1]\naddress = \"b.example\"\n");
    assert_eq!(completed(&sandbox, "bash", &["remote", "start", "--host", "b"]), ["build-1"]);
    for words in [["policy", "export", "--agent", "cop"], ["recipe", "run", "--agent", "cop"]] {
        assert_eq!(completed(&sandbox, "bash", &words), ["copilot"]);
    }
    assert_eq!(completed(&sandbox, "bash", &["install", "--agent", "gem"]), ["gemini"]);
    assert!(
        completed(&sandbox, "bash", &["policy", "export", "--agent", "gem"]).is_empty(),
        "it has no rules"
    );
    assert!(completed(&sandbox, "bash", &["help", "pol"]).contains(&"policy".to_owned()));
    // Nothing of it is written or started.
    assert!(!sandbox.home().join(".amplihack/remote-state.json").exists());
}

#[test]
fn bash_takes_its_script_and_completes_with_it() {
    let sandbox = Sandbox::new();
    sandbox.link("amplihack", amplihack());
    let script = run(&sandbox, &["completions", "bash"]).stdout;
    let mut parse = sandbox.command("bash");
    parse.arg("-n");
    Run::new(parse).stdin(script.clone()).output().assert_code(0).assert_stderr("");
    let file = sandbox.write("amplihack.bash", script);
    let ask = |words: &str, at: usize, begun: &str| {
        let line = format!(
            "source '{}'; COMP_TYPE=9; COMP_WORDS=({words}); COMP_CWORD={at}; _clap_complete_amplihack amplihack '{begun}'; echo \"${{COMPREPLY[@]}}\"",
            file.display()
        );
        sandbox.run("bash", ["--norc", "-c", &line]).assert_code(0).stdout_text()
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

/// A sandbox with the script of `shell` where its users have it, if the shell is installed.
fn with_script(shell: &str, name: &str) -> Option<Sandbox> {
    let sandbox = Sandbox::new();
    let installed = sandbox
        .env()
        .get("PATH")
        .is_some_and(|path| std::env::split_paths(path).any(|directory| directory.join(shell).is_file()));
    if !installed {
        skip_test(&format!("{shell} is not installed; its completion script was not loaded"));
        return None;
    }
    sandbox.link("amplihack", amplihack());
    sandbox.write(format!("home/{name}"), run(&sandbox, &["completions", shell]).stdout);
    Some(sandbox)
}

/// A terminal of zsh's own, in which a user types the beginning of a word and the tabulator.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty terminal zsh -f -i
zpty -w terminal 'fpath=(~/functions $fpath); autoload -U compinit; compinit -u -D; PROMPT=; print rea""dy'
zpty -r -m terminal seen '*ready*'
for typed in 'amplihack doc' '--prov' $'\x15amplihack config tr'; do
    zpty -w -n terminal "$typed"$'\t'
    zpty -r -m terminal seen '*(doctor|--prove|trust)'
    print -r -- "seen: ${seen//[^a-z -]/}"
done
zpty -d terminal
"#;

#[test]
fn zsh_completes_with_its_script() {
    let Some(sandbox) = with_script("zsh", "functions/_amplihack") else { return };
    let seen = sandbox.run("zsh", ["-f", "-c", ZSH]).assert_code(0).stdout_text();
    let lines: Vec<&str> = seen.lines().filter(|line| line.starts_with("seen: ")).collect();
    assert_eq!(lines.len(), 3, "{seen}");
    for (line, completed) in lines.iter().zip(["doctor", "--prove", "trust"]) {
        assert!(line.contains(completed), "{completed}: {seen}");
    }
}

#[test]
fn fish_completes_with_its_script() {
    let Some(sandbox) = with_script("fish", ".config/fish/completions/amplihack.fish") else { return };
    let ask = |line: &str| {
        let output = sandbox.run("fish", ["-c", &format!("complete -C '{line}'")]);
        let text = output.assert_code(0).assert_stderr("").stdout_text();
        let found = text.lines().filter_map(|line| Some(line.split('\t').next()?.to_owned()));
        found.filter(|word| !word.starts_with('-')).collect::<Vec<_>>()
    };
    assert_eq!(ask("amplihack do"), ["doctor"]);
    assert_eq!(ask("amplihack config "), ["show", "trust"]);
    assert_eq!(ask("amplihack claude --permissions e"), ["edit"]);
}

#[test]
fn an_unknown_shell_is_a_usage_error() {
    run(&Sandbox::new(), &["completions", "tcl"]).assert_code(2).assert_stdout("").assert_stderr_has("tcl");
}
