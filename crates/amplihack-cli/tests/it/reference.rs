//! Generated pages are what the code would write now; `cargo xtask docs` writes them.

#[path = "../../examples/reference/pages/mod.rs"]
pub(crate) mod pages;

use std::collections::BTreeSet;
use std::path::Path;

use amplihack_testkit::{Run, Sandbox, Script, workspace};

use crate::auto::{auto, plays};
use crate::help::commands;
use crate::world::{amplihack, run};

fn read(path: &str) -> String {
    let path = workspace().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn tables_of_the_code_are_on_their_pages() {
    for page in pages::pages() {
        assert!(read(&page.path) == (page.text)(), "{} is out of date; run `cargo xtask docs`", page.path);
    }
}

#[test]
fn the_help_of_every_command_is_on_its_page() {
    let sandbox = Sandbox::new();
    let page = read("docs/reference/cli.md");
    let mut all = Vec::new();
    commands(&sandbox, &[], &mut all);
    for words in &all {
        let mut help = sandbox.command(amplihack());
        help.args(words).arg("--help").env_clear().env("COLUMNS", "100").env("NO_COLOR", "1");
        let help = Run::new(help).output().assert_code(0).stdout_text();
        let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        let title = std::iter::once("amplihack")
            .chain(words.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" ");
        let section = format!("\n## {title}\n\n```text\n{}\n```\n", help.join("\n"));
        assert!(
            page.contains(&section),
            "docs/reference/cli.md is out of date about `{title}`; run `cargo xtask docs`"
        );
    }
    assert_eq!(page.matches("\n## amplihack").count(), all.len(), "sections of docs/reference/cli.md");
}

/// The paths in the first column of the tables of `docs/reference/files.md`, `<…>` for one name.
fn documented() -> Vec<String> {
    let page = read("docs/reference/files.md");
    let mut paths = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cell = row.split(" | ").next().unwrap_or_default();
        let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        // Further names stand in the directory of the first.
        let directory =
            named[0].trim_end_matches('/').rsplit_once('/').map_or("", |(directory, _)| directory);
        paths.push(named[0].to_owned());
        paths.extend(named[1..].iter().map(|name| format!("{directory}/{name}")));
    }
    paths
}

/// Whether `path` is what the page calls `named`, or below it if that is a directory.
fn is_named(path: &str, row: &str) -> bool {
    let (mut parts, mut names) = (path.split('/'), row.trim_end_matches('/').split('/'));
    loop {
        match (parts.next(), names.next()) {
            (None, None) => return true,
            (Some(_), None) => return row.ends_with('/'),
            (None, Some(_)) => return false,
            (Some(part), Some(name)) => {
                let (before, after) = match (name.find('<'), name.rfind('>')) {
                    (Some(from), Some(to)) => (&name[..from], &name[to + 1..]),
                    _ if name.contains("YYYYMMDD") => name.split_once("YYYYMMDD").unwrap_or_default(),
                    _ if part == name => continue,
                    _ => return false,
                };
                if !(part.starts_with(before) && part.ends_with(after)) {
                    return false;
                }
            }
        }
    }
}

fn files(directory: &Path, found: &mut BTreeSet<String>, root: &Path) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            files(&path, found, root);
        } else {
            found.insert(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
}

#[test]
fn every_file_that_is_left_is_on_the_page_of_files() {
    let mut sandbox = Sandbox::repository();
    sandbox.fake("claude");
    sandbox.script_for("claude", &Script::new().print("done\n"));
    run(&sandbox, &["claude", "--prompt", "hi"]).assert_code(0);
    run(&sandbox, &["claude", "--output", "json", "--prompt", "hi"]);
    sandbox.write("work/r.yaml", "name: r\nsteps:\n  - {id: a, command: \"seq 100000\", output: a}\n  - {id: b, command: \"echo {{a}} | wc -c\"}\n");
    run(&sandbox, &["recipe", "run", "r.yaml"]).assert_code(0);
    plays(&mut sandbox, "claude", "echo x >> steps; say working; result done");
    auto(&sandbox, &["--permissions", "edit", "--verify", "true", "--worktree"]).output().assert_code(0);
    let stopped = format!(
        r#"{{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"rm -rf /"}},"cwd":{:?},"session_id":"s"}}"#,
        sandbox.work()
    );
    Run::new(sandbox.command(amplihack()))
        .args(["hook", "pre-tool-use"])
        .stdin(stopped)
        .output()
        .assert_code(2);
    run(&sandbox, &["install", "--agent", "claude"]).assert_code(0);

    let (mut found, home) = (BTreeSet::new(), sandbox.home());
    files(&home, &mut found, &home);
    let documented = documented();
    let ours: Vec<&String> = found
        .iter()
        .filter(|path| !["turns-claude", ".gitconfig", ".claude/settings.json"].contains(&path.as_str()))
        .collect();
    for path in &ours {
        let known = documented.iter().any(|named| match path.strip_prefix(".amplihack/") {
            Some(below) => is_named(below, named),
            None => is_named(&format!("~/{path}"), named),
        });
        assert!(known, "docs/reference/files.md does not have {path}; all: {ours:#?}");
    }
    for part in ["/events.jsonl", "/auto.jsonl", "/journal.jsonl", "versions.json", "rust_security_"] {
        assert!(ours.iter().any(|path| path.contains(part)), "nothing wrote {part}: {ours:#?}");
    }
}
