//! Which crate may know which: the floors, and the libraries that stay on some of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::source::has_word;
use crate::{none, sources};

/// Floor of each crate; a crate knows only crates on lower floors. Mirrors the table in `ARCHITECTURE.md`.
const FLOORS: &[(u32, &str)] = &[
    (7, "amplihack-cli"),
    (6, "amplihack-compat"),
    (6, "amplihack-probe"),
    (5, "amplihack-setup"),
    (5, "amplihack-orchestration"),
    (5, "amplihack-recipe"),
    (5, "amplihack-remote"),
    (4, "amplihack-launcher"),
    (4, "amplihack-amp-sdk"),
    (4, "amplihack-export"),
    (3, "amplihack-session"),
    (3, "amplihack-hooks"),
    (2, "amplihack-agent"),
    (2, "amplihack-sandbox"),
    (2, "amplihack-policy"),
    (2, "amplihack-audit"),
    (1, "amplihack-shell"),
    (1, "amplihack-secrets"),
    (0, "amplihack-verdict"),
    (2, "amplihack-utils"),
    (1, "amplihack-config"),
    (0, "amplihack-sys"),
];

/// Crates that develop and never ship. Others may use them for tests only.
const DEV: &[&str] = &["amplihack-testkit", FUZZ, "xtask"];

/// Crates that those that develop may know too.
const GROUND: &[&str] = &["amplihack-config", "amplihack-sys"];

/// Gives random input to every reader, so it may know them all.
const FUZZ: &str = "amplihack-fuzz";

struct Crate {
    name: String,
    /// Path of its directory below the workspace's root.
    home: String,
    /// Name of its library in code.
    library: String,
    /// Name and whether it is a dependency for tests only.
    knows: Vec<(String, bool)>,
}

/// What cargo knows of the workspace's packages.
pub(crate) fn metadata() -> Value {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--format-version=1", "--offline"]);
    let output =
        cargo.current_dir(amplihack_testkit::workspace()).output().expect("cargo describes the workspace");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo writes JSON")
}

fn crates() -> Vec<Crate> {
    let metadata = metadata();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let root = amplihack_testkit::workspace();
    let knows = |package: &Value| {
        list(&package["dependencies"])
            .iter()
            .map(|known| (text(&known["name"]), known["kind"] == "dev"))
            .collect()
    };
    list(&metadata["packages"])
        .iter()
        .map(|package| {
            let name = text(&package["name"]);
            let home = PathBuf::from(text(&package["manifest_path"]));
            let home = home.parent().and_then(|home| home.strip_prefix(&root).ok()).unwrap_or(&root);
            let library = list(&package["targets"]).into_iter().find(|target| target["kind"][0] == "lib");
            let library = library.map_or_else(|| name.replace('-', "_"), |target| text(&target["name"]));
            Crate { home: home.display().to_string(), library, knows: knows(package), name }
        })
        .collect()
}

/// Reports whether other people get the crate of this name.
pub(crate) fn is_shipped(name: &str) -> bool {
    floor(name).is_some()
}

fn floor(name: &str) -> Option<u32> {
    FLOORS.iter().find(|(_, known)| *known == name).map(|(floor, _)| *floor)
}

#[test]
fn every_crate_has_a_floor_and_the_document_says_the_same() {
    let found: BTreeSet<String> = crates().into_iter().map(|found| found.name).collect();
    let listed: BTreeSet<String> =
        FLOORS.iter().map(|(_, name)| *name).chain(DEV.iter().copied()).map(str::to_owned).collect();
    assert_eq!(found, listed);

    let document = std::fs::read_to_string(amplihack_testkit::workspace().join("ARCHITECTURE.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in document.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, floor, name, ..] = cells[..] else { continue };
        let name = name.trim_matches('`');
        if found.contains(name) {
            rows.insert(name.to_owned(), floor.to_owned());
        }
    }
    let expected: BTreeMap<String, String> = FLOORS
        .iter()
        .map(|(floor, name)| ((*name).to_owned(), floor.to_string()))
        .chain(DEV.iter().map(|name| ((*name).to_owned(), "dev".to_owned())))
        .collect();
    assert_eq!(rows, expected);
}

#[test]
fn a_crate_knows_only_lower_floors() {
    let mut breaches = Vec::new();
    for Crate { name, knows, .. } in crates() {
        for (known, for_tests) in knows {
            let allowed = match (floor(&name), floor(&known)) {
                (_, None) if !DEV.contains(&known.as_str()) => continue,
                // A crate may ask for its own features in its tests.
                (Some(own), Some(other)) => other < own || (for_tests && known == name),
                (Some(_), None) => for_tests,
                (None, _) if name == FUZZ => true,
                (None, _) => GROUND.contains(&known.as_str()) || (for_tests && known == "amplihack-testkit"),
            };
            if !allowed {
                breaches.push(format!("{name} knows {known}"));
            }
        }
    }
    none("a crate depends on a crate that is not on a lower floor", breaches);
}

#[test]
fn a_crate_uses_what_it_knows() {
    // What is not used is compiled before the crate all the same, and each of its changes compiles the crate again.
    let sources = sources();
    let mut breaches = Vec::new();
    let crates = crates();
    let libraries: BTreeMap<&str, &str> =
        crates.iter().map(|found| (&*found.name, &*found.library)).collect();
    for Crate { name, home, knows, .. } in &crates {
        for (known, for_tests) in knows {
            let Some(word) = libraries.get(&**known) else { continue };
            let is_used = sources
                .iter()
                .filter(|source| source.is_in(home) && (*for_tests || !source.is_test_or_build()))
                .any(|source| has_word(if *for_tests { &source.text } else { &source.code }, word));
            if known != name && !is_used {
                breaches.push(format!("{name} does not use {known}"));
            }
        }
    }
    none("a crate depends on a crate that it does not use", breaches);
}

#[test]
fn libraries_stay_on_their_floors() {
    let mut breaches = Vec::new();
    for Crate { name, knows, .. } in crates() {
        for (known, for_tests) in knows {
            let allowed = if known == "clap" || known.starts_with("clap_") {
                ["amplihack-cli", "amplihack-compat"].contains(&&*name)
            } else if known == "tokio" || known.starts_with("tokio-") || known == "axum" {
                for_tests || name == FUZZ || floor(&name).is_some_and(|floor| floor >= 3)
            } else {
                true
            };
            if !allowed {
                breaches.push(format!("{name} uses {known}"));
            }
        }
    }
    none("clap belongs to the command lines, an asynchronous runtime to sessions and above", breaches);
}
