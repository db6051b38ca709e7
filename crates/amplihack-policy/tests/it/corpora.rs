//! Everyday commands that must stay free, and harmful ones that must not: the files that `amplihack policy test` takes.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail loudly, too")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_policy::rules::ExampleWorld;
use amplihack_policy::{Event, Policy};
use amplihack_shell::{BashReaders, Limits};
use amplihack_verdict::{Decision, Verdict};

#[derive(serde::Deserialize)]
struct Row {
    command: String,
    expected: Decision,
}

fn judge(script: &str, readers: BashReaders) -> Verdict {
    // A deadline that a busy machine does not reach.
    let limits = Limits { deadline: Duration::from_secs(20), readers, ..Limits::default() };
    let event = Event::Shell { script: script.as_bytes(), cwd: Path::new(ExampleWorld::CWD) };
    Policy::with_builtin_rules().judge(&event, &ExampleWorld::default(), &limits)
}

fn hold(rows: &str, least: usize) {
    for readers in [BashReaders::All, BashReaders::Tree] {
        hold_with(rows, least, readers);
    }
}

fn hold_with(rows: &str, least: usize, readers: BashReaders) {
    let rows: Vec<Row> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.len() >= least);
    let wrong: Vec<_> = rows
        .iter()
        .map(|row| (row, judge(&row.command, readers)))
        .filter(|(row, verdict)| verdict.decision != row.expected)
        .map(|(row, verdict)| {
            format!(
                "{:?} should be {}, is {}: {}",
                row.command, row.expected, verdict.decision, verdict.reason
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{readers:?}: {} of {} wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn everyday_commands_are_free() {
    hold(include_str!("../corpus/benign.jsonl"), 200);
}

#[test]
fn harmful_commands_are_stopped_in_every_spelling() {
    hold(include_str!("../corpus/harmful.jsonl"), 100);
}

/// Files of this repository that hold commands for people and for CI.
fn pages(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The shell blocks of a Markdown page, prompts taken away; of a block with prompts, only what is behind them.
fn blocks(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else { continue };
        let body: Vec<&str> =
            lines.by_ref().take_while(|line| !line.trim_start().starts_with("```")).collect();
        let prompted: Vec<&str> =
            body.iter().filter_map(|line| line.trim_start().strip_prefix("$ ")).collect();
        match language.trim() {
            "sh" | "bash" | "shell" | "console" if !prompted.is_empty() => found.push(prompted.join("\n")),
            "sh" | "bash" | "shell" => found.push(body.join("\n")),
            _ => {}
        }
    }
    found
}

#[test]
fn the_commands_of_this_repository_are_not_denied() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md"), root.join("ARCHITECTURE.md")];
    pages(&root.join("docs"), &mut files);
    let mut scripts: Vec<String> =
        files.iter().flat_map(|file| blocks(&fs::read_to_string(file).unwrap())).collect();
    assert!(scripts.len() >= 4, "{} blocks", scripts.len());
    let ci = root.join(".ci/run");
    if ci.exists() {
        scripts.push(fs::read_to_string(ci).unwrap());
    }
    for script in scripts {
        let verdict = judge(&script, BashReaders::All);
        // A person may write our configuration, as pages show; an agent may not.
        let is_the_policys = script.contains("> ~/.config/amplihack/");
        assert_eq!(verdict.decision == Decision::Deny, is_the_policys, "{script}\n{}", verdict.reason);
    }
}
