//! Every command line that a page shows is one that this program reads.

use std::path::{Path, PathBuf};
use std::process::Command;

use amplihack_testkit::{page, workspace};
use clap::Parser;

use super::AmplihackCli;

/// The README and every page below `docs`.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![workspace().join("README.md")];
    let mut open = vec![workspace().join("docs")];
    while let Some(directory) = open.pop() {
        for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ext| ext == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// The arguments of the first call of `amplihack` in `line`, as bash makes them.
fn arguments(line: &str) -> Vec<String> {
    let call = &line[line.find("amplihack ").unwrap()..];
    // No file of this machine is written.
    let is_outside = |at: &usize| call[..*at].matches(['\'', '"']).count().is_multiple_of(2);
    let redirected = call.match_indices(" >").map(|(at, _)| at).find(is_outside);
    let call = &call[..redirected.unwrap_or(call.len())];
    // The function stands for the program, ends with the first call, and nothing else is run.
    let script = format!("amplihack() {{ printf '%s\\0' \"$@\" >&9; exit; }}; {call}");
    let mut bash = Command::new("/bin/bash");
    bash.args(["--norc", "-c", &format!("exec 9>&1; {script}")])
        .env_clear()
        .env("PATH", "/nowhere")
        .env("HOME", "/nowhere");
    let output = bash.stdin(std::process::Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn every_command_line_of_the_pages_is_read() {
    let mut seen = 0;
    for path in pages() {
        let text = std::fs::read_to_string(&path).unwrap();
        let shown = path.strip_prefix(workspace()).unwrap_or(Path::new("")).display();
        for block in page::blocks(&text) {
            let calls = block.commands.lines().filter(|line| {
                line.starts_with("amplihack ")
                    || line.contains("| amplihack ")
                    || line.contains('=') && line.contains(" amplihack ")
            });
            // `…` stands for words of the reader's.
            for line in calls.filter(|line| !line.contains(" … ")) {
                let words = arguments(line);
                let parsed = AmplihackCli::try_parse_from(
                    std::iter::once("amplihack".to_owned()).chain(words.clone()),
                );
                if let Err(error) = parsed
                    && error.use_stderr()
                {
                    panic!("{shown}:{}: {line}\n{words:?}\n{error}", block.line);
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "only {seen} command lines were found");
}
