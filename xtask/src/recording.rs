//! The recording of the demo on README's first screen: an SVG whose lines appear as the demo printed them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::{Failure, shell};

/// The page that is made.
pub(crate) const PATH: &str = "docs/assets/demo.svg";

/// Command that is shown at the prompt. It prints what it prints on a machine without any agent.
const COMMAND: &str = "amplihack demo";

/// Columns that a line may have; what is longer goes on in the next one.
const COLUMNS: usize = 108;
/// Width of a column and height of a line, in the SVG's units.
const COLUMN: usize = 8;
const LINE: usize = 18;
/// Room around the text, and above it for the window's title.
const MARGIN: usize = 16;
const TITLE: usize = 28;
/// Time between two lines, in milliseconds.
const PACE: usize = 150;

/// Runs the demo of `amplihack` on a machine with nothing, and draws what it prints.
pub(crate) fn demo(amplihack: &Path) -> Result<String, Failure> {
    let home = shell::target().join(format!("recording-{}", std::process::id()));
    std::fs::create_dir_all(&home).map_err(|error| format!("failed to make {}: {error}", home.display()))?;
    let mut command = Command::new(amplihack);
    command.arg("demo").current_dir(&home).env_clear();
    command.env("HOME", &home).env("PATH", "/usr/bin:/bin").env("COLUMNS", COLUMNS.to_string());
    let printed = shell::read(&mut command);
    let removed = std::fs::remove_dir_all(&home);
    let text = printed?;
    removed.map_err(|error| format!("failed to remove {}: {error}", home.display()))?;
    Ok(draw(&text))
}

/// The SVG of `text`.
fn draw(text: &str) -> String {
    let lines: Vec<String> = std::iter::once(format!("$ {COMMAND}"))
        .chain(text.lines().map(constant))
        .flat_map(|line| folded(&line))
        .collect();
    let width = 2 * MARGIN + COLUMN * COLUMNS;
    let height = TITLE + 2 * MARGIN + LINE * lines.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Recording of {COMMAND}\">\n\
         {STYLE}<rect class=\"window\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n\
         <circle cx=\"18\" cy=\"16\" r=\"5\" fill=\"#ff5f57\"/><circle cx=\"36\" cy=\"16\" r=\"5\" fill=\"#febc2e\"/>\
         <circle cx=\"54\" cy=\"16\" r=\"5\" fill=\"#28c840\"/>\n"
    );
    for (number, line) in lines.iter().enumerate() {
        let (y, delay) = (TITLE + MARGIN + LINE * number + LINE / 2, PACE * number);
        let length = COLUMN * line.chars().count();
        if length == 0 {
            continue;
        }
        // The length holds the columns together in whatever font the reader has.
        let drawn = writeln!(
            svg,
            "<text class=\"{}\" x=\"{MARGIN}\" y=\"{y}\" textLength=\"{length}\" style=\"animation-delay:{delay}ms\">{}</text>",
            class(line),
            escaped(line)
        );
        debug_assert!(drawn.is_ok(), "a string takes all");
    }
    svg.push_str("</svg>\n");
    svg
}

const STYLE: &str = "<style>\n\
    .window { fill: #ffffff; stroke: #d0d7de }\n\
    text { font: 13px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1f2328; white-space: pre; \
    animation: appear 1ms both }\n\
    .ok { fill: #1a7f37 } .bad { fill: #cf222e } .command { font-weight: bold } .title { fill: #0969da; font-weight: bold }\n\
    @keyframes appear { from { opacity: 0 } to { opacity: 1 } }\n\
    @media (prefers-reduced-motion: reduce) { text { animation: none } }\n\
    @media (prefers-color-scheme: dark) { .window { fill: #0d1117; stroke: #30363d } text { fill: #e6edf3 } .ok { fill: #3fb950 } \
    .bad { fill: #f85149 } .title { fill: #58a6ff } }\n\
    </style>\n";

/// How a line is shown.
fn class(line: &str) -> &'static str {
    let text = line.trim_start();
    let is_title = line.split_once(": ").is_some_and(|(word, _)| matches!(word, "agents" | "worktree"));
    match text {
        _ if is_title => "title",
        _ if text.starts_with("$ ") => "command",
        _ if text.starts_with("ok ") || (text.starts_with('+') && !text.starts_with("+++")) => "ok",
        _ if text.starts_with("FAIL") || (text.starts_with('-') && !text.starts_with("---")) => "bad",
        _ => "plain",
    }
}

/// `line` without what is another one each time: times, the port, and the ids of sessions.
fn constant(line: &str) -> String {
    let mut words = Vec::new();
    let mut rest = line.split(' ').peekable();
    while let Some(word) = rest.next() {
        words.push(match word {
            "after"
                if rest.peek().is_some_and(|next| next.starts_with(|first: char| first.is_ascii_digit())) =>
            {
                let _ = rest.next();
                "after 1.2".to_owned()
            }
            _ if word.contains("127.0.0.1:") => {
                let (before, after) = word.split_once("127.0.0.1:").unwrap_or_default();
                format!("{before}127.0.0.1:41234{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
            }
            _ if is_session(word) => "20261130T101500Z-2f6c1d0a9b3e".to_owned(),
            _ => word.to_owned(),
        });
    }
    words.join(" ")
}

/// True for the id of a session: a time and random digits.
fn is_session(word: &str) -> bool {
    let Some((time, random)) = word.split_once("Z-") else { return false };
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let parts = time.split_once('T');
    parts.is_some_and(|(day, time)| day.len() == 8 && digits(day) && time.len() == 6 && digits(time))
        && random.chars().all(|c| c.is_ascii_hexdigit())
}

/// `line` in lines of at most [`COLUMNS`] columns, broken between words, each part indented as the first one.
fn folded(line: &str) -> Vec<String> {
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let mut lines = vec![" ".repeat(indent)];
    for word in line.split(' ').skip(indent) {
        let last = lines.last().map_or(0, |last| last.chars().count());
        if last > indent && last + 1 + word.chars().count() > COLUMNS {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else if let Some(text) = lines.last_mut() {
            if last > indent {
                text.push(' ');
            }
            text.push_str(word);
        }
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{constant, draw, folded};

    #[test]
    fn what_changes_from_run_to_run_is_constant() {
        for (line, expected) in [
            ("answers on http://127.0.0.1:40123; no", "answers on http://127.0.0.1:41234; no"),
            ("  ok   ended with 0 after 0.8 s", "  ok   ended with 0 after 1.2 s"),
            ("diff 20261130T164129Z-40107ac8bd9b", "diff 20261130T101500Z-2f6c1d0a9b3e"),
            ("named after a file", "named after a file"),
        ] {
            assert_eq!(constant(line), expected);
        }
    }

    #[test]
    fn text_is_escaped_and_long_lines_go_on() {
        let svg = draw("a <b> & \"c\"\n");
        assert!(svg.contains(">a &lt;b&gt; &amp; &quot;c&quot;</text>"), "{svg}");
        let words = folded(&format!("  {}", "word ".repeat(30).trim_end()));
        assert_eq!(
            words,
            [format!("  {}", "word ".repeat(21).trim_end()), format!("  {}", "word ".repeat(9).trim_end())]
        );
        assert_eq!(folded("a   b"), ["a   b"], "blanks stay");
    }
}
