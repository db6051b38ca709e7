//! The grid of whole journeys: what a user does with an agent CLI, from the command line to the file at home. Tests are derived from it.
//!
//! A cell is one journey with one agent: the real CLI, the default home, the default policy, the guard on. The tests are
//! `grid::<journey>::<agent>` of `amplihack-cli`; the table in `docs/explanation/journeys.md` is [`table`].

use std::fmt::Write as _;

use amplihack_config::agent_binary::AgentBinary;

/// The agents of the grid, in the order of its columns.
pub const AGENTS: [AgentBinary; 4] =
    [AgentBinary::Claude, AgentBinary::Codex, AgentBinary::Copilot, AgentBinary::Gemini];

/// The most cells that may be named with a reason instead of being run.
pub const MOST_NAMED: usize = 8;

/// A kind of journey; each agent is shown with each kind in every run of the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JourneyKind {
    /// One launch of an agent.
    Launch,
    /// One unattended run.
    Unattended,
    /// Several launches in one run.
    Several,
    /// A session on another machine.
    Remote,
}

impl JourneyKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Launch, Self::Unattended, Self::Several, Self::Remote];
}

/// How one cell is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JourneyCell {
    /// In every run of the tests.
    Always,
    /// In the long form of the tests.
    Long,
    /// Not run, for this reason.
    Named(&'static str),
}

use JourneyCell::{Always, Long};

/// One journey with all agents.
#[derive(Debug)]
pub struct Journey {
    /// Its name, that of the module of its tests.
    pub name: &'static str,
    /// What it is for people.
    pub title: &'static str,
    /// What the user types; `A` is the agent.
    pub command: &'static str,
    /// Where the user finds the change.
    pub home: &'static str,
    /// What it is like.
    pub kind: JourneyKind,
    /// How it is covered, by [`AGENTS`].
    pub cells: [JourneyCell; 4],
}

/// All journeys.
pub static JOURNEYS: [Journey; 11] = [
    Journey {
        name: "launch_headless",
        title: "launch, headless",
        command: "amplihack A -p --prompt TASK --permissions full",
        home: "in the checkout",
        kind: JourneyKind::Launch,
        cells: [Long, Always, Long, Always],
    },
    Journey {
        name: "launch_terminal",
        title: "launch, in a terminal",
        command: "amplihack A --prompt TASK --permissions edit",
        home: "in the checkout",
        kind: JourneyKind::Launch,
        cells: [Always, Long, Long, Long],
    },
    Journey {
        name: "sessions_resume",
        title: "`sessions resume`",
        command: "amplihack sessions resume ID -p --prompt TASK --permissions full",
        home: "in the checkout",
        kind: JourneyKind::Launch,
        cells: [Long, Long, Always, Long],
    },
    Journey {
        name: "auto",
        title: "`auto`",
        command: "amplihack auto --agent A --permissions full --task TASK --verify CMD",
        home: "in the checkout",
        kind: JourneyKind::Unattended,
        cells: [Long, Long, Always, Always],
    },
    Journey {
        name: "auto_worktree",
        title: "`auto --worktree`",
        command: "amplihack auto --worktree --agent A --permissions full --task TASK --verify CMD",
        home: "in the worktree; in the checkout after the printed command",
        kind: JourneyKind::Unattended,
        cells: [Always, Long, Long, Long],
    },
    Journey {
        name: "auto_resume",
        title: "`auto --resume`",
        command: "amplihack auto --resume ID, after Ctrl-C",
        home: "in the checkout",
        kind: JourneyKind::Unattended,
        cells: [Long, Always, Long, Long],
    },
    Journey {
        name: "parallel",
        title: "`parallel`",
        command: "amplihack parallel --agents A --permissions full --task-file FILE --verify CMD",
        home: "in the worktrees; in the checkout after the printed command",
        kind: JourneyKind::Several,
        cells: [Long, Always, Long, Long],
    },
    Journey {
        name: "parallel_race",
        title: "`parallel --race`",
        command: "amplihack parallel --race --agents A,A --permissions full --task-file FILE --verify CMD",
        home: "in the winner's worktree; in the checkout after the printed command",
        kind: JourneyKind::Several,
        cells: [Always, Long, Long, Long],
    },
    Journey {
        name: "recipe_run",
        title: "`recipe run`, an agent step",
        command: "amplihack recipe run FILE --agent A --permissions full",
        home: "in the checkout",
        kind: JourneyKind::Several,
        cells: [Long, Long, Always, Always],
    },
    Journey {
        name: "remote_local",
        title: "`remote start`, this machine",
        command: "amplihack remote start TASK --backend local --agent A --permissions full",
        home: "in the checkout after `remote pull` and the printed command",
        kind: JourneyKind::Remote,
        cells: [Long, Always, Long, Always],
    },
    Journey {
        name: "remote_ssh",
        title: "`remote start`, ssh",
        command: "amplihack remote start TASK --backend ssh --agent A --permissions full",
        home: "in the checkout after `remote pull` and the printed command",
        kind: JourneyKind::Remote,
        cells: [Always, Long, Always, Long],
    },
];

/// How the cell of `journey` and `agent` is covered.
///
/// # Panics
/// If there is no such cell.
pub fn cell(journey: &str, agent: AgentBinary) -> JourneyCell {
    let row = JOURNEYS.iter().find(|row| row.name == journey);
    let row = row.unwrap_or_else(|| panic!("the grid has no journey {journey}"));
    let column = AGENTS.iter().position(|of| *of == agent);
    row.cells[column.unwrap_or_else(|| panic!("the grid has no agent {agent}"))]
}

/// The grid as Markdown, as it stands in the documentation.
pub fn table() -> String {
    let names = AGENTS.map(AgentBinary::name).join(" | ");
    let mut text = format!(
        "| journey | tests | {names} | what is typed | where the change is |\n|---|---|---|---|---|---|---|---|\n"
    );
    let mut reasons: Vec<&str> = Vec::new();
    for row in &JOURNEYS {
        let cells = row.cells.map(|cell| match cell {
            Always => "holds".to_owned(),
            Long => "holds (nightly)".to_owned(),
            JourneyCell::Named(reason) => {
                let known = reasons.iter().position(|other| *other == reason);
                let number = known.unwrap_or_else(|| {
                    reasons.push(reason);
                    reasons.len() - 1
                });
                format!("named ({})", number + 1)
            }
        });
        let (title, name, cells) = (row.title, row.name, cells.join(" | "));
        let _ = writeln!(text, "| {title} | `grid::{name}` | {cells} | `{}` | {} |", row.command, row.home);
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
    fn every_agent_is_shown_with_every_kind_of_journey_in_every_run() {
        for kind in JourneyKind::ALL {
            for (column, agent) in AGENTS.iter().enumerate() {
                let mut rows = JOURNEYS.iter().filter(|row| row.kind == kind);
                assert!(rows.any(|row| row.cells[column] == Always), "{agent} with {kind:?}");
            }
        }
    }

    #[test]
    fn every_journey_is_made_with_an_agent_in_every_run() {
        for row in &JOURNEYS {
            assert!(row.cells.contains(&Always), "{}", row.name);
        }
        let always = JOURNEYS.iter().flat_map(|row| row.cells).filter(|cell| *cell == Always).count();
        assert!(always <= 20, "{always} cells are too many for every run");
    }

    #[test]
    fn few_cells_are_named_and_only_geminis() {
        let mut named = 0;
        for row in &JOURNEYS {
            for (cell, agent) in row.cells.iter().zip(AGENTS) {
                if let JourneyCell::Named(reason) = cell {
                    named += 1;
                    assert_eq!(agent, AgentBinary::Gemini, "{}", row.name);
                    assert!(reason.len() > 30, "{}: {reason:?} is no reason", row.name);
                }
            }
        }
        assert!(named <= MOST_NAMED, "{named} cells are named");
    }

    #[test]
    fn the_table_has_a_row_for_each_journey() {
        let table = table();
        assert_eq!(table.lines().filter(|line| line.starts_with("| ")).count(), 1 + JOURNEYS.len());
        for row in &JOURNEYS {
            assert!(table.contains(row.title), "{}", row.title);
        }
    }
}
