//! `cargo xtask test --guard-table`: every situation of the guard table with every agent and every tool, and the page with what came of it.

use std::fs;
use std::process::Command;

use crate::cell_tests::{CellLines, cells, read_page, verdict};
use crate::{Failure, shell, ui};

/// The page, whose rows the tests hold to be those of the test kit.
const PAGE: &str = "docs/reference/guard-table.md";
/// How the line begins that has the day of the last whole run.
const DATE: &str = "Last whole run: ";

/// Makes all cells and writes the page; fails if one failed or was not made.
pub(crate) fn run() -> Result<(), Failure> {
    let path = shell::root().join(PAGE);
    let page = read_page(&path)?;
    let (lines, tested) = CellLines::of_run("guard_table::", "guard-table")?;
    let today = shell::read(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let (text, open) = filled(&page, today.trim(), &|name, agent| lines.get(name, agent));
    fs::write(&path, text).map_err(|error| format!("failed to write {}: {error}", path.display()))?;
    ui::say(&format!("wrote {PAGE}"));
    tested?;
    verdict("guard table", &open)
}

/// `page` with `today` and with what `outcome` says of each cell, and the cells that do not hold. A cell that says nothing has failed; one
/// that begins with `-` is never run.
fn filled(page: &str, today: &str, outcome: &dyn Fn(&str, &str) -> Option<String>) -> (String, Vec<String>) {
    let mut agents: Vec<String> = Vec::new();
    let mut open = Vec::new();
    let mut text = String::new();
    for line in page.lines() {
        let cells = cells(line);
        if line.starts_with(DATE) {
            text.extend([DATE, today, "."]);
        } else if !line.starts_with("| ") || cells.len() != 7 {
            text.push_str(line);
        } else if agents.is_empty() {
            agents = cells[3..].iter().map(|agent| (*agent).to_owned()).collect();
            text.push_str(line);
        } else {
            let name = cells[2].trim_matches('`');
            let shown = cells[3..].iter().zip(&agents).map(|(cell, agent)| {
                if cell.starts_with('-') {
                    return (*cell).to_owned();
                }
                let said = outcome(name, agent).unwrap_or_else(|| "FAILED".to_owned());
                if !said.starts_with("holds") {
                    open.push(format!("{name}, {agent}: {said}"));
                }
                said
            });
            let shown = shown.collect::<Vec<_>>().join(" | ");
            text.extend(["| ", cells[0], " | ", cells[1], " | ", cells[2], " | ", &shown, " |"]);
        }
        text.push('\n');
    }
    (text, open)
}

#[cfg(test)]
mod tests {
    use super::filled;

    const PAGE: &str = "Last whole run: never.\n\n| finding | situation | tests | a | b | c | d |\n|---|---|---|---|---|---|---|\n\
        | S1 | it is so | `usual` | not run | not run | not run | - (1) |\n\n1. It cannot.\n";

    #[test]
    fn each_cell_shows_what_came_of_it() {
        let outcome = |name: &str, agent: &str| match (name, agent) {
            ("usual", "a") => Some("holds: 2 forbidden".to_owned()),
            ("usual", "b") => Some("not run".to_owned()),
            _ => None,
        };
        let (text, open) = filled(PAGE, "2026-01-02", &outcome);
        assert!(text.starts_with("Last whole run: 2026-01-02.\n\n| finding |"), "{text}");
        assert!(
            text.contains("| S1 | it is so | `usual` | holds: 2 forbidden | not run | FAILED | - (1) |\n"),
            "{text}"
        );
        assert_eq!(open, ["usual, b: not run", "usual, c: FAILED"]);
        // A second run fills the same page.
        assert_eq!(filled(&text, "2026-01-02", &outcome).0, text);
    }

    #[test]
    fn the_page_has_the_table() {
        let page = std::fs::read_to_string(crate::shell::root().join(super::PAGE)).unwrap();
        let (text, open) = filled(&page, "2026-01-02", &|_, _| Some("holds".to_owned()));
        assert!(
            text.contains("Last whole run: 2026-01-02.") && text.matches("| holds").count() > 40,
            "{text}"
        );
        assert_eq!(open, Vec::<String>::new());
    }
}
