//! The page of promises: each row names integration tests and a fault, and the code has these faults and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::compliance_page::{Breach, Row, rows};
use crate::docs::exists;
use crate::source::Source;
use crate::{none, sources};

/// At least as many promises have a fault of their own.
const FAULTS: usize = 150;
/// At most as many rows may argue instead of showing a test that fails.
const ARGUED: usize = 5;

fn page() -> Vec<Row> {
    let path = amplihack_testkit::workspace().join("docs/compliance.md");
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let rows = rows(&text).unwrap_or_else(|error| panic!("docs/compliance.md, {error}"));
    assert!(rows.len() > 150, "{} rows", rows.len());
    rows
}

/// Whether a source holds integration tests, which see of a crate what everybody sees.
fn is_integration(source: &Source) -> bool {
    let mut parts = source.path.components().map(std::path::Component::as_os_str);
    parts.next().is_some_and(|part| part == "crates") && parts.nth(1).is_some_and(|part| part == "tests")
}

#[test]
fn rows_name_integration_tests() {
    let all = sources();
    let mut breaches = Vec::new();
    for row in page() {
        let may_miss = matches!(row.breach, Breach::Superseded | Breach::Argued);
        if row.tests.is_empty() && !may_miss {
            breaches.push(format!("no test: {}", row.shown()));
        }
        for name in row.tests.iter().filter(|name| !exists(name, &all)) {
            breaches.push(format!("{name} does not exist: {}", row.shown()));
        }
    }
    let integration: Vec<Source> = all.into_iter().filter(is_integration).collect();
    for row in page() {
        for name in &row.tests {
            let is_architecture = name.starts_with("amplihack_testkit::architecture::");
            if !exists(name, &integration) {
                breaches.push(format!("{name} is no integration test: {}", row.shown()));
            }
            if is_architecture != (row.breach == Breach::Structure) {
                breaches.push(format!("{name}: a test of the architecture, or not: {}", row.shown()));
            }
            if name.starts_with("amplihack_testkit::kit::") {
                breaches.push(format!("{name} is about the test kit itself: {}", row.shown()));
            }
        }
    }
    none("docs/compliance.md", breaches);
}

#[test]
fn every_promise_can_be_broken() {
    let open = page().into_iter().filter(|row| row.breach == Breach::Open);
    none("the last column does not say how the promise is broken", open.map(|row| row.shown()));
    let rows = page();
    let argued: Vec<&Row> = rows.iter().filter(|row| row.breach == Breach::Argued).collect();
    assert!(argued.len() <= ARGUED, "{argued:#?}");

    let mut owners: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        if let Some(fault) = row.fault() {
            owners.entry(fault).or_default().push(row);
        }
    }
    let twice = owners
        .iter()
        .filter(|(_, rows)| rows.iter().filter(|row| matches!(row.breach, Breach::Fault(_))).count() != 1);
    none(
        "a fault has several rows, and none or several of them leave out `, shared`",
        twice.map(|(name, _)| (*name).to_owned()),
    );
    assert!(owners.len() >= FAULTS, "only {} promises have a fault of their own", owners.len());
}

/// Names that shipped code asks for, with the places that do not give one as a literal.
fn asked() -> (BTreeSet<String>, Vec<String>) {
    let (mut names, mut unclear) = (BTreeSet::new(), Vec::new());
    let is_own = |source: &Source| source.is_in("crates/amplihack-sys/src/sabotage.rs");
    for source in sources().iter().filter(|source| source.ships() && !is_own(source)) {
        // Strings are blank in the code, at the same bytes as in the text.
        for (at, call) in source.code.match_indices("is_active(") {
            if !source.code[..at].ends_with("sabotage::") {
                continue;
            }
            let argument = source.text[at + call.len()..].trim_start().strip_prefix('"');
            match argument.and_then(|text| text.split_once('"')) {
                Some((name, rest)) if rest.trim_start_matches([',', ' ', '\n']).starts_with(')') => {
                    names.insert(name.to_owned());
                }
                _ => unclear.push(format!("{}: byte {at}", source.path.display())),
            }
        }
        if ["sabotage::is_active;", "sabotage::is_active as", "sabotage::{"]
            .iter()
            .any(|import| source.code.contains(import))
        {
            unclear.push(format!("{} imports the function; import the module", source.path.display()));
        }
    }
    (names, unclear)
}

#[test]
fn the_code_and_the_page_have_the_same_faults() {
    let (asked, unclear) = asked();
    none("the name of a fault is no literal", unclear);
    let rows = page();
    let named: BTreeSet<String> = rows.iter().filter_map(Row::fault).map(str::to_owned).collect();
    none("no shipped code asks for a fault of the page", named.difference(&asked).cloned());
    none("docs/compliance.md does not have a fault of the code", asked.difference(&named).cloned());
}

#[test]
fn no_shipped_program_has_faults() {
    // The feature is off by default, no crate turns it on for another, and an optimized build with it does not compile.
    let mut breaches = Vec::new();
    let manifests = crate::tracked().into_iter().filter(|path| path.ends_with("Cargo.toml"));
    for manifest in manifests.filter(|path| path != Path::new("crates/amplihack-sys/Cargo.toml")) {
        if read(&manifest).contains("sabotage") {
            breaches.push(format!("{} names the feature", manifest.display()));
        }
    }
    let metadata = crate::crates::metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let sys = packages.iter().find(|package| package["name"] == "amplihack-sys").expect("amplihack-sys");
    // The others are for a program of `cargo xtask dist` that looks at programs, and for the sandbox.
    assert_eq!(
        (&sys["features"]["sabotage"], &sys["features"]["first-calls"]),
        (&serde_json::json!([]), &serde_json::json!([]))
    );
    let confine = sys["features"]["confine"].to_string();
    assert!(!confine.contains("sabotage") && !confine.contains("first-calls"), "{confine}");
    for source in
        sources().iter().filter(|source| source.text.contains(concat!("amplihack-sys", "/sabotage")))
    {
        if !source.is_in("xtask/src/compliance/build.rs") {
            breaches.push(format!("{} builds with the feature", source.path.display()));
        }
    }
    none("the feature `sabotage` is used outside of `cargo xtask compliance`", breaches);
    let module = read(Path::new("crates/amplihack-sys/src/sabotage.rs"));
    assert!(module.contains("#[cfg(all(feature = \"sabotage\", not(debug_assertions)))]\ncompile_error!("));
    let workspace = read(Path::new("Cargo.toml"));
    for profile in ["release", "dist", "hook"] {
        let section = workspace.split(&format!("[profile.{profile}]")).nth(1).expect("the profile");
        let section = section.split("\n[").next().unwrap_or_default();
        assert!(!section.contains("debug-assertions"), "{profile} has debug assertions");
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(amplihack_testkit::workspace().join(path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
