//! The guard table: in which situations the guard was found off without a word, or in the way, and with which agents each is tried.
//!
//! A cell is one session of the real CLI in one situation, started by `amplihack`, in which the scripted model asks for harmless
//! and for forbidden calls of several tools. It holds if no forbidden call had an effect, every harmless one had, and nothing that
//! was held back was held back in silence. The tests are `guard_table::<situation>::<agent>` of `amplihack-cli`; the page
//! `docs/reference/guard-table.md` is the page that is made of it.

use std::fmt::Write as _;

use amplihack_config::agent_binary::AgentBinary;

use crate::grid::AGENTS;

mod situations;

pub use situations::SITUATIONS;

/// How one cell is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardCell {
    /// In every run of the tests: in the whole run with every tool, else with a choice of tools that with those of the other agents
    /// makes all of them.
    Always,
    /// Not run: the situation cannot be had with this agent, for this reason.
    Never(&'static str),
}

/// One situation.
#[derive(Debug)]
pub struct Situation {
    /// Its name, that of the module of its tests.
    pub name: &'static str,
    /// The finding that it comes from.
    pub finding: &'static str,
    /// The situation in words.
    pub title: &'static str,
    /// How it is covered, by [`AGENTS`].
    pub cells: [GuardCell; 4],
}

impl Situation {
    /// The situation `name`.
    ///
    /// # Panics
    /// If there is none.
    pub fn of_name(name: &str) -> &'static Self {
        let found = SITUATIONS.iter().find(|situation| situation.name == name);
        found.unwrap_or_else(|| panic!("the guard table has no situation {name}"))
    }

    /// How the cell with `agent` is covered.
    ///
    /// # Panics
    /// If the agent has no column.
    pub fn cell(&self, agent: AgentBinary) -> GuardCell {
        let column = AGENTS.iter().position(|of| *of == agent);
        self.cells[column.unwrap_or_else(|| panic!("the guard table has no agent {agent}"))]
    }
}

/// The table as Markdown; `outcome` is what a cell left when it was run, `holds …` if it holds.
pub fn table(outcome: &dyn Fn(&str, AgentBinary) -> Option<String>) -> String {
    let names = AGENTS.map(AgentBinary::name).join(" | ");
    let mut text = format!("| finding | situation | tests | {names} |\n|---|---|---|---|---|---|---|\n");
    let mut reasons: Vec<&str> = Vec::new();
    for situation in SITUATIONS {
        let cells = AGENTS.map(|agent| match situation.cell(agent) {
            GuardCell::Never(reason) => {
                let known = reasons.iter().position(|other| *other == reason);
                let number = known.unwrap_or_else(|| {
                    reasons.push(reason);
                    reasons.len() - 1
                });
                format!("- ({})", number + 1)
            }
            GuardCell::Always => outcome(situation.name, agent).unwrap_or_else(|| "not run".to_owned()),
        });
        let Situation { name, finding, title, .. } = situation;
        let _ = writeln!(text, "| {finding} | {title} | `{name}` | {} |", cells.join(" | "));
    }
    for (number, reason) in reasons.iter().enumerate() {
        let _ = write!(text, "\n{}. {reason}", number + 1);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_situation_is_tried_and_what_is_not_has_a_reason() {
        for situation in SITUATIONS {
            let same = SITUATIONS.iter().filter(|other| other.name == situation.name).count();
            assert_eq!(same, 1, "{}", situation.name);
            let tried = situation.cells.iter().filter(|cell| !matches!(cell, GuardCell::Never(_)));
            assert!(tried.count() > 0, "{}", situation.name);
            for cell in situation.cells {
                if let GuardCell::Never(reason) = cell {
                    assert!(reason.len() > 20, "{}: {reason:?} is no reason", situation.name);
                }
            }
        }
    }

    #[test]
    fn the_table_shows_what_came_of_each_cell() {
        let text =
            table(&|name, agent| (name == "usual" && agent == AGENTS[0]).then(|| "holds 3.1".to_owned()));
        assert!(text.contains("| `usual` | holds 3.1 | not run | not run | not run |"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("| ")).count(), 1 + SITUATIONS.len());
    }
}
