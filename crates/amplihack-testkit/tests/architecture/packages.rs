//! What a package has to bring along to be published.

use serde_json::Value;

use crate::crates::{is_shipped, metadata};
use crate::{none, sources};

fn published() -> Vec<Value> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("cargo lists packages").clone();
    packages.into_iter().filter(|package| is_shipped(package["name"].as_str().unwrap_or_default())).collect()
}

#[test]
fn every_published_crate_has_its_licence_a_readme_and_keywords() {
    let root = amplihack_testkit::workspace();
    let licence = std::fs::read_to_string(root.join("LICENSE")).expect("the workspace has a licence");
    let crates = published();
    assert!(crates.len() >= 20, "only {} crates", crates.len());
    for package in crates {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let directory = std::path::Path::new(manifest).parent().expect("a manifest is in a directory");
        let read = |file: &str| std::fs::read_to_string(directory.join(file)).unwrap_or_default();
        assert_eq!(read("LICENSE"), licence, "{name}: LICENSE");
        assert_eq!(package["readme"], "README.md", "{name}");
        assert!(read("README.md").starts_with(&format!("# {name}\n")), "{name}: README.md");
        assert!(package["description"].is_string() && package["license"] == "MIT", "{name}");
        let keywords = package["keywords"].as_array().map_or(0, Vec::len);
        assert!((1..=5).contains(&keywords), "{name}: {keywords} keywords");
        assert!(package["categories"].as_array().is_some_and(|list| !list.is_empty()), "{name}: categories");
    }
}

#[test]
fn no_published_crate_includes_a_file_of_another() {
    let includes = ["include_str!(\"", "include_bytes!(\"", "#[path = \""];
    let mut breaches = Vec::new();
    for source in sources().iter().filter(|source| source.ships()) {
        let inside = source.path.components().skip_while(|part| part.as_os_str() != "src");
        // The file itself is no directory; `src` is one below the package.
        let depth = inside.count().saturating_sub(1);
        for (at, line) in source.quoting.lines().enumerate() {
            let path = includes.iter().find_map(|start| line.split_once(start)).map(|(_, path)| path);
            if path.is_some_and(|path| path.matches("../").count() > depth) {
                breaches.push(format!("{}:{}: {}", source.path.display(), at + 1, line.trim()));
            }
        }
    }
    none("a package has only its own files", breaches);
}
