//! The flag matrix keeps its word: a named probe is a test of this suite, and the reference page shows every row.

use std::path::Path;

use amplihack_agent::{AgentBinary, RowEvidence, agent_profile};
use amplihack_testkit::workspace;

/// The tests of this suite that are not switched off, by name.
fn tests() -> Vec<String> {
    let directory = workspace().join("crates/amplihack-cli/tests/it");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
        .flat_map(|path| named(&path))
        .collect()
}

fn named(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut tests = Vec::new();
    for item in text.split("#[test]").skip(1) {
        let mut lines = item.lines().map(str::trim).filter(|line| !line.is_empty());
        let name = lines.next().and_then(|line| line.strip_prefix("fn ")?.strip_suffix("() {"));
        tests.extend(name.map(str::to_owned));
    }
    tests
}

#[test]
fn every_probe_names_a_test_of_this_suite() {
    let tests = tests();
    let own = "every_probe_names_a_test_of_this_suite";
    assert!(tests.iter().any(|test| test == own), "the search does not even find this test: {tests:?}");
    for agent in AgentBinary::ALL {
        for row in agent_profile(agent).rows {
            if let RowEvidence::Probe(_, test) = row.evidence {
                assert!(
                    tests.iter().any(|name| name == test),
                    "{agent}, {}: there is no test {test}",
                    row.cap
                );
            }
        }
    }
}

#[test]
fn every_row_is_on_the_reference_page() {
    let page = std::fs::read_to_string(workspace().join("docs/reference/flag-matrix.md")).unwrap();
    for agent in AgentBinary::ALL {
        let title = format!("\n## {}\n", agent_profile(agent).title);
        let section = page.split(&title).nth(1).and_then(|rest| rest.split("\n## ").next());
        let section = section.unwrap_or_else(|| panic!("there is no section {title:?}"));
        let shown: Vec<Vec<&str>> = section
            .lines()
            .take_while(|line| !line.starts_with("| its own command"))
            .filter(|line| line.starts_with("| ") && !line.starts_with("| capability"))
            .map(|line| line.split(" | ").collect())
            .collect();
        assert_eq!(shown.len(), agent_profile(agent).rows.len(), "{agent}: rows of the page");
        for (cells, row) in shown.iter().zip(agent_profile(agent).rows) {
            let source = match row.evidence {
                RowEvidence::Probe(_, test) => format!("`{test}`"),
                RowEvidence::Documented(source) => {
                    source.replace('|', "\\|").replace('<', "\\<").replace('*', "\\*")
                }
            };
            assert_eq!(cells[0], format!("| {}", row.cap), "{agent}");
            assert!(cells[2].starts_with(&format!("`{}`", row.shape)), "{agent}, {}: {}", row.cap, cells[2]);
            assert_eq!(cells[4], source, "{agent}, {}", row.cap);
        }
    }
}
