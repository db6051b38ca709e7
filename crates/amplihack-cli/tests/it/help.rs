//! `amplihack help` and `amplihack man`: topics out of the documentation, commands out of their declaration.

use std::path::Path;

use amplihack_testkit::{Run, Sandbox, skip_test};

use crate::world::run;

/// The names that `amplihack help` lists.
fn topics(sandbox: &Sandbox) -> Vec<String> {
    let list = run(sandbox, &["help"]).assert_code(0).assert_stderr("").stdout_text();
    let lines = list.lines().filter_map(|line| line.strip_prefix("  "));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Every command that the help of `words` lists, and those below them.
pub(crate) fn commands(sandbox: &Sandbox, words: &[String], found: &mut Vec<Vec<String>>) {
    let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
    args.push("--help");
    let help = run(sandbox, &args).assert_code(0).stdout_text();
    found.push(words.to_vec());
    let below =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    for name in below.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' '))) {
        let name = name.split_whitespace().next().unwrap_or_default().to_owned();
        commands(sandbox, &words.iter().cloned().chain([name]).collect::<Vec<_>>(), found);
    }
}

#[test]
fn the_list_of_topics() {
    insta::assert_snapshot!(run(&Sandbox::new(), &["help"]).assert_code(0).stdout_text());
}

#[test]
fn a_topic_is_a_page_for_a_terminal() {
    insta::assert_snapshot!(run(&Sandbox::new(), &["help", "exit-codes"]).assert_code(0).stdout_text());
}

#[test]
fn every_topic_is_text_that_fits() {
    let mut sandbox = Sandbox::new();
    sandbox.set("COLUMNS", "90");
    let topics = topics(&sandbox);
    assert!(topics.len() > 10, "{topics:?}");
    for topic in topics {
        let output = run(&sandbox, &["help", &topic]);
        let text = output.assert_code(0).assert_stderr("").stdout_text();
        assert!(text.lines().count() > 5, "{topic}: {text}");
        for line in text.lines() {
            assert!(!line.contains("](") && !line.starts_with("```"), "{topic}: {line}");
            let is_code = line.starts_with("    ");
            assert!(is_code || line.chars().count() <= 90, "{topic}: {line}");
        }
    }
}

#[test]
fn a_command_shows_its_own_help_and_a_name_that_is_both_shows_both() {
    let sandbox = Sandbox::new();
    let help = run(&sandbox, &["recipe", "run", "--help"]).assert_code(0).stdout_text();
    run(&sandbox, &["help", "recipe", "run"]).assert_code(0).assert_stdout(&help);
    let both = run(&sandbox, &["help", "policy"]);
    both.assert_code(0)
        .assert_stdout_has("Usage: amplihack policy [OPTIONS] <COMMAND>")
        .assert_stdout_has("Your own policy\n---");
}

#[test]
fn what_is_neither_is_a_usage_error_with_the_next_step() {
    let output = run(&Sandbox::new(), &["help", "nothing", "here"]);
    output.assert_code(2).assert_stdout("");
    insta::assert_snapshot!(output.stderr_text());
}

#[test]
fn every_command_has_a_manual_page_that_renders() {
    let sandbox = Sandbox::new();
    let mut all = Vec::new();
    commands(&sandbox, &[], &mut all);
    assert!(all.len() > 30, "{all:?}");
    let has_man = Path::new("/usr/bin/man").is_file() && Path::new("/usr/bin/groff").is_file();
    if !has_man {
        skip_test("man or groff is not installed; manual pages were made and not rendered");
    }
    for words in all {
        let args: Vec<&str> = std::iter::once("man").chain(words.iter().map(String::as_str)).collect();
        let output = run(&sandbox, &args);
        let page = output.assert_code(0).assert_stderr("").stdout_text();
        let name = std::iter::once("amplihack").chain(args.iter().copied().skip(1)).collect::<Vec<_>>();
        assert!(page.contains(&format!(".TH {} 1", name.join("-"))), "{page}");
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{page}");
        assert!(page.contains(".SH EXAMPLES"), "{page}");
        if has_man {
            let file = sandbox.write("page.1", &page);
            let mut man = sandbox.command("/usr/bin/man");
            man.env("MANWIDTH", "100").arg("--warnings").arg("--local-file").arg(file);
            let shown = Run::new(man).output();
            shown.assert_code(0).assert_stderr("").assert_stdout_has("SYNOPSIS");
        }
    }
}
