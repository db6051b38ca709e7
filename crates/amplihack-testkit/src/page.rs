//! Pages as tests: the shell blocks of a Markdown page are run in their order, and what they print is held against the page.
//!
//! A block that begins with three backticks and `sh` is commands; a `text` block that follows it is what they print. In expected text `…` stands for
//! any text within a line, and a line that is nothing but `…` for any lines, or none. Further words behind `sh`, as in
//! `sh agent=claude`, are the block's conditions.

use std::fmt::Write as _;
use std::time::Duration;

use crate::{Output, Run, Sandbox};

/// The stand-in for what differs from run to run.
const ANY: &str = "…";

/// A block of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The line of the page on which its commands begin.
    pub line: usize,
    /// Words behind `sh`.
    pub conditions: Vec<String>,
    /// The commands.
    pub commands: String,
    /// What they print, if the page says it.
    pub expected: Option<String>,
}

/// All blocks of commands of `page`, in order.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // Whether only prose without a block stands between the last commands and here.
    let mut may_follow = false;
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.trim_start().strip_prefix("```") else {
            // An output stands directly below its commands.
            may_follow &= line.trim().is_empty();
            continue;
        };
        let inside: Vec<&str> = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| !line.trim_start().starts_with("```"))
            .collect();
        let text: String = inside.iter().fold(String::new(), |mut text, line| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{line}");
            text
        });
        let mut words = info.split_whitespace().map(str::to_owned);
        match words.next().as_deref() {
            Some("sh") => {
                let conditions = words.collect();
                blocks.push(Block { line: number + 2, conditions, commands: text, expected: None });
                may_follow = true;
            }
            Some("text") if may_follow => {
                blocks.last_mut().expect("there are commands above").expected = Some(text);
                may_follow = false;
            }
            _ => may_follow = false,
        }
    }
    blocks
}

/// Runs `blocks` one after another in one bash, as a reader would, with stderr among stdout. Returns what each printed.
///
/// Fails the test if a command fails whose failure the block does not handle, or if the output is not what the page says.
#[track_caller]
pub fn run(sandbox: &Sandbox, page: &str, blocks: &[Block], timeout: Duration) -> Vec<String> {
    let mark = sandbox.marker("block");
    let mut script = format!("exec 2>&1\ntrap 'echo \"{mark} failed: $BASH_COMMAND\"' ERR\n");
    for block in blocks {
        let _ = writeln!(script, "{}echo \"{mark} end\"", block.commands);
    }
    let file = sandbox.write("page.sh", script);
    let output = Run::new(sandbox.command("bash")).arg("--norc").arg(file).timeout(timeout).output();
    let text = output.stdout_text();
    let printed: Vec<String> =
        text.split(&format!("{mark} end\n")).map(str::to_owned).take(blocks.len()).collect();
    assert!(
        text.matches(&format!("{mark} end\n")).count() == blocks.len(),
        "{page}: the end was not reached\n{output}"
    );
    for (block, found) in blocks.iter().zip(&printed) {
        check(page, block, found, &mark, &output);
    }
    printed
}

#[track_caller]
fn check(page: &str, block: &Block, found: &str, mark: &str, output: &Output) {
    let at = format!("{page}:{}", block.line);
    if let Some((_, command)) = found.split_once(&format!("{mark} failed: ")) {
        panic!("{at}: a command failed: {command}\n{output}");
    }
    if let Some(expected) = &block.expected
        && let Err(why) = matches(expected, found)
    {
        panic!("{at}: {why}\n--- the page says\n{expected}--- it printed\n{found}");
    }
}

/// Whether `found` is what `expected` says; else the first line that has no partner.
pub fn matches(expected: &str, found: &str) -> Result<(), String> {
    let expected: Vec<&str> = expected.lines().map(str::trim_end).collect();
    let found: Vec<&str> = found.lines().map(str::trim_end).collect();
    // reach[n]: the lines of the page so far may be the first n that were printed.
    let mut reach = vec![false; found.len() + 1];
    reach[0] = true;
    for line in expected {
        let mut next = vec![false; found.len() + 1];
        for at in (0..=found.len()).filter(|at| reach[*at]) {
            if line.trim() == ANY {
                next[at..].fill(true);
            } else if found.get(at).is_some_and(|found| line_matches(line, found)) {
                next[at + 1] = true;
            }
        }
        if !next.contains(&true) {
            return Err(format!("nothing was printed in this place like: {line}"));
        }
        reach = next;
    }
    if reach[found.len()] {
        return Ok(());
    }
    let last = reach.iter().rposition(|reached| *reached).unwrap_or_default();
    Err(format!("the page does not have: {}", found[last]))
}

fn line_matches(expected: &str, found: &str) -> bool {
    let mut parts = expected.split(ANY);
    let Some(mut rest) = parts.next().and_then(|first| found.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::{blocks, matches};

    #[test]
    fn commands_and_what_they_print_are_found() {
        let page = "# A\n\n```sh\nls\n```\n\n```text\na\nb\n```\n\nProse.\n\n```text\nnot ls\n```\n\n```sh agent=x\nfalse\n```\nProse\n```text\nno\n```\n";
        let found = blocks(page);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].line, found[0].commands.as_str(), found[0].expected.as_deref()),
            (4, "ls\n", Some("a\nb\n"))
        );
        assert_eq!(
            (found[1].conditions.as_slice(), &found[1].expected),
            (["agent=x".to_owned()].as_slice(), &None)
        );
    }

    #[test]
    fn dots_stand_for_text_and_for_lines() {
        for (expected, found) in [
            ("a\nb", "a\nb\n"),
            ("…", ""),
            ("…", "a\nb\n"),
            ("…\nb", "x\nb\nb\n"),
            ("a … c\n…\nd", "a bb c\nx\nd"),
            ("at …/tour)", "at (/home/x/tour)"),
        ] {
            assert_eq!(matches(expected, found), Ok(()), "{expected:?} {found:?}");
        }
        for (expected, found) in
            [("a", ""), ("a", "a\nb"), ("a … c", "a bb d"), ("…\nb", "b\na"), ("", "a"), ("aa…aa", "aaa")]
        {
            assert!(matches(expected, found).is_err(), "{expected:?} {found:?}");
        }
    }
}
