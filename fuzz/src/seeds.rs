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

/// Every file of a directory below `crates/`, by name: the same seed has to give the same inputs on every machine.
pub fn files(directory: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(crates().join(directory)).expect("test data of the repository");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let found: Vec<_> = paths.into_iter().filter_map(|path| fs::read(path).ok()).collect();
    assert!(!found.is_empty());
    found
}

/// Every line of these files below `crates/`.
pub fn each_line(files: &[&str]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for file in files {
        let text = fs::read(crates().join(file)).expect("test data of the repository");
        found.extend(text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec));
    }
    assert!(!found.is_empty());
    found
}

/// These texts.
pub fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Every file of `seeds/<name>/`: what the programs themselves wrote.
pub fn own(name: &str) -> Vec<Vec<u8>> {
    files(&format!("../fuzz/seeds/{name}"))
}

/// These files below `crates/`, whole.
pub fn whole(files: &[&str]) -> Vec<Vec<u8>> {
    files.iter().map(|file| fs::read(crates().join(file)).expect("test data of the repository")).collect()
}

/// The words under `argv` of every line of JSON in this file below `crates/`, a line each.
pub fn argv(file: &str) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(crates().join(file)).expect("test data of the repository");
    let rows =
        text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("lines of JSON"));
    let words = |row: serde_json::Value| {
        let list = row["argv"].as_array().or_else(|| row["input"].as_array())?.clone();
        Some(list.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join("\n").into_bytes())
    };
    let found: Vec<_> = rows.filter_map(words).collect();
    assert!(!found.is_empty());
    found
}
