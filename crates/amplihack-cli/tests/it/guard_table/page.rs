//! The guard table, its tests and its page have the same rows.

use amplihack_testkit::guard_table::{SITUATIONS, table};
use amplihack_testkit::workspace;

use super::TESTS;

#[test]
fn every_situation_has_tests() {
    let rows: Vec<&str> = SITUATIONS.iter().map(|row| row.name).collect();
    assert_eq!(TESTS, rows);
}

#[test]
fn the_page_has_every_row_of_the_table() {
    let page = std::fs::read_to_string(workspace().join("docs/reference/guard-table.md")).unwrap();
    // What came of each cell is filled in by `cargo xtask test --guard-table`.
    let table = table(&|_, _| None);
    for line in table.lines() {
        let fixed = line.split(" | ").take(3).collect::<Vec<_>>().join(" | ");
        assert!(
            page.contains(&fixed),
            "docs/reference/guard-table.md lacks `{fixed}` of this table:\n{table}"
        );
    }
}
