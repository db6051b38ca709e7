//! The grid's table, its tests and its page are the same.

use amplihack_testkit::grid::{AGENTS, JOURNEYS, table};
use amplihack_testkit::workspace;

use super::TESTS;

#[test]
fn every_cell_has_a_test() {
    let rows: Vec<&str> = JOURNEYS.iter().map(|row| row.name).collect();
    let tested: Vec<&str> = TESTS.iter().map(|(name, _)| *name).collect();
    assert_eq!(tested, rows);
    for (name, agents) in TESTS {
        assert_eq!(*agents, AGENTS, "{name}");
    }
}

#[test]
fn the_page_shows_the_table_of_the_test_kit() {
    let page = std::fs::read_to_string(workspace().join("docs/explanation/journeys.md")).unwrap();
    let table = table();
    assert!(page.contains(table.trim_end()), "docs/explanation/journeys.md lacks this table:\n{table}");
}
