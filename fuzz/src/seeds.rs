//! Inputs to begin with: the test data of the crates.

use std::fs;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

/// The text under `key` of every line of JSON in these files below `crates/`.
pub fn lines(files: &[&str], key: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(crates().join(file)).expect("test data of the repository");
        for line in text.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("lines of JSON");
            found.extend(row[key].as_str().map(|text| text.as_bytes().to_vec()));
        }
    }
    assert!(!found.is_empty());
    found
}

/// Every file of a directory below `crates/`.
pub fn files(directory: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(crates().join(directory)).expect("test data of the repository");
    let found: Vec<_> = entries.filter_map(|entry| fs::read(entry.ok()?.path()).ok()).collect();
    assert!(!found.is_empty());
    found
}
