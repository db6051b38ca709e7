//! `cargo xtask test --grid`: every whole journey with every agent, and a table of what came of each.

use std::fmt::Write as _;

use crate::cell_tests::{CellLines, cells, read_page, verdict};
use crate::{Failure, shell, ui};

/// The page with the grid, which the tests hold to be that of the test kit.
const PAGE: &str = "docs/explanation/journeys.md";

/// Makes all journeys and prints the table; fails if one failed or was not made.
pub(crate) fn run() -> Result<(), Failure> {
    let page = read_page(&shell::root().join(PAGE))?;
    let (lines, tested) = CellLines::of_run("grid::", "grid")?;
    let (text, open) = table(&page, &|journey, agent| lines.get(journey, agent));
    ui::say(&text);
    tested?;
    verdict("grid", &open)
}

/// The grid of `page` with what `outcome` says of each cell, and the cells that neither hold nor are named. One that says nothing has
/// failed.
fn table(page: &str, outcome: &dyn Fn(&str, &str) -> Option<String>) -> (String, Vec<String>) {
    let mut rows = page.lines().filter(|line| line.starts_with("| ")).map(cells);
    let Some(header) = rows.next() else {
        return (String::new(), vec!["there is none".to_owned()]);
    };
    let agents = header.get(2..6).unwrap_or_default();
    let mut text = format!("{:<18}", "journey");
    for agent in agents {
        let _ = write!(text, "{agent:<14}");
    }
    let (mut reasons, mut open) = (String::new(), Vec::new());
    for row in rows {
        let Some(name) = row.get(1).and_then(|cell| cell.trim_matches('`').strip_prefix("grid::")) else {
            continue;
        };
        let _ = write!(text, "\n{name:<18}");
        for agent in agents {
            let said = outcome(name, agent).unwrap_or_else(|| "FAILED".to_owned());
            let (word, rest) = said.split_once(": ").unwrap_or((&said, ""));
            if word != "named" && !word.starts_with("holds") {
                open.push(format!("{name}, {agent}: {word}"));
            }
            let word = if word.starts_with("holds") { format!("{word} s") } else { word.to_owned() };
            let _ = write!(text, "{word:<14}");
            if !rest.is_empty() {
                let _ = write!(reasons, "\n{name}, {agent}: {rest}");
            }
        }
    }
    (text + &reasons, open)
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::cell_tests::verdict;

    const PAGE: &str = "text\n\n| journey | tests | a | b | c | d | typed |\n|---|---|---|---|---|---|---|\n\
        | `auto` | `grid::auto` | holds | holds | holds (nightly) | named (1) | `x` |\n\n1. It cannot.\n";

    #[test]
    fn each_cell_shows_what_came_of_it() {
        let outcome = |journey: &str, agent: &str| {
            assert_eq!(journey, "auto");
            match agent {
                "a" => Some("holds 3.2".to_owned()),
                "c" => Some("named: it cannot".to_owned()),
                "d" => Some("not run: no tmux".to_owned()),
                _ => None,
            }
        };
        let (text, open) = table(PAGE, &outcome);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(
            lines,
            [
                "journey           a             b             c             d",
                "auto              holds 3.2 s   FAILED        named         not run",
                "auto, c: it cannot",
                "auto, d: no tmux",
            ]
        );
        assert_eq!(open, ["auto, b: FAILED", "auto, d: not run"]);
        assert!(verdict("grid", &open).is_err() && verdict("grid", &[]).is_ok());
        assert!(verdict("grid", &table("", &outcome).1).is_err());
    }

    #[test]
    fn the_page_has_the_grid() {
        let page = std::fs::read_to_string(crate::shell::root().join(super::PAGE)).unwrap();
        let (text, open) = table(&page, &|_, _| Some("holds 1.0".to_owned()));
        assert!(text.lines().count() > 10 && text.matches("holds 1.0 s").count() > 40, "{text}");
        assert_eq!(open, Vec::<String>::new());
    }
}
