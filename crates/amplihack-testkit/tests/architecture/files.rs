//! What every file of the repository keeps to, and the files that `ARCHITECTURE.md` names.

use std::collections::BTreeSet;
use std::path::Path;

use crate::source::Source;
use crate::{none, sources, tracked};

/// The longest a Rust file may be, unless it is a test's whose first comment says why.
const LINES: usize = 600;
/// Half of all Rust files are no longer than this.
const MEDIAN: usize = 200;
/// "Where to look" has at least as many behaviors.
const BEHAVIORS: usize = 10;
/// Words in front of a name where it is defined.
const DEFINING: &[&str] = &["fn", "struct", "enum", "trait", "type", "const", "static", "mod"];

fn read(path: impl AsRef<Path>) -> String {
    let path = amplihack_testkit::workspace().join(path);
    String::from_utf8_lossy(
        &std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    )
    .into_owned()
}

#[test]
fn every_module_says_what_it_is() {
    let silent = |text: &str| {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        first.strip_prefix("//!").is_none_or(|doc| doc.trim().is_empty())
    };
    let breaches = sources()
        .into_iter()
        .filter(|source| silent(&source.text))
        .map(|source| source.path.display().to_string());
    none("a Rust file does not open with a module doc", breaches);
}

#[test]
fn files_stay_short() {
    let sources = sources();
    // The reason stands in the lines of `//!` that open the file: "one file, since …".
    let says_why = |text: &str| {
        text.lines().take_while(|line| line.starts_with("//!")).any(|line| line.contains("one file, since"))
    };
    let long = sources.iter().filter(|source| {
        source.text.lines().count() > LINES && !(source.is_test_or_build() && says_why(&source.text))
    });
    none("a Rust file is too long", long.map(|source| source.path.display().to_string()));

    let mut lengths: Vec<usize> = sources.iter().map(|source| source.text.lines().count()).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median <= MEDIAN, "half of the Rust files are longer than {median} lines");
}

/// The ground crates, whose modules are listed, and the names that the seeds give to some of them.
const GROUND: &[&str] = &["amplihack-sys", "amplihack-config"];

#[test]
fn the_ground_crates_are_closed_lists() {
    let modules = |name: &str| -> BTreeSet<(String, String)> {
        let text = read(format!("crates/{name}/src/lib.rs"));
        let names = text.lines().filter_map(|line| {
            line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?.strip_suffix(';')
        });
        names.map(|module| (name.to_owned(), module.to_owned())).collect()
    };
    let document = read("ARCHITECTURE.md");
    let section =
        document.split("## The modules of the ground").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows = section.expect("ARCHITECTURE.md lists the modules of the ground").lines();
    let listed: BTreeSet<(String, String)> = rows
        .filter_map(|row| {
            let mut names = row.split('`').skip(1).step_by(2);
            Some((names.next()?.to_owned(), names.next()?.to_owned())).filter(|_| row.starts_with("| `"))
        })
        .collect();
    assert_eq!(GROUND.iter().flat_map(|name| modules(name)).collect::<BTreeSet<_>>(), listed);
}

#[test]
fn utils_has_names_and_no_code() {
    let text = read("crates/amplihack-utils/src/lib.rs");
    let code: Vec<&str> = text.lines().filter(|line| !line.starts_with("//!") && !line.is_empty()).collect();
    assert_eq!(code, ["pub use amplihack_config::{agent_binary, prompt_delivery};"]);
    let users = tracked().into_iter().filter(|path| {
        path.ends_with("Cargo.toml")
            && !path.starts_with("crates/amplihack-utils")
            && read(path).contains("amplihack-utils")
    });
    none("a crate uses the seeds' names", users.map(|path| path.display().to_string()));
}

#[test]
fn invariants_name_tests_that_exist() {
    let document = read("ARCHITECTURE.md");
    let section = document.split("## Invariants").nth(1).expect("ARCHITECTURE.md lists the invariants");
    let named: Vec<&str> = section
        .lines()
        .filter_map(|line| line.strip_suffix("` |")?.rsplit_once('`'))
        .map(|(_, name)| name.rsplit("::").next().unwrap_or(name))
        .collect();
    assert!(named.len() > 8, "{named:?}");
    let sources = sources();
    let exists = |name: &str| sources.iter().any(|source| source.text.contains(&format!("fn {name}()")));
    none("a named test does not exist", named.into_iter().filter(|name| !exists(name)).map(str::to_owned));
}

#[test]
fn where_to_add_things_names_files_that_exist() {
    let document = read("ARCHITECTURE.md");
    let section = document.split("## Where to add things").nth(1).and_then(|rest| rest.split("\n## ").next());
    let words = section.expect("ARCHITECTURE.md says where to add things").split('`').skip(1).step_by(2);
    let files: Vec<&str> = words.filter(|word| word.contains('/') && !word.contains(' ')).collect();
    assert!(files.len() > 30, "{files:?}");
    let missing = files.into_iter().filter(|file| !amplihack_testkit::workspace().join(file).exists());
    none("ARCHITECTURE.md names a file that does not exist", missing.map(str::to_owned));
}

/// Breaches of a row of "Where to look": its file does not exist, or does not define a name of the last cell.
fn row_breaches(row: &str, sources: &[Source]) -> Vec<String> {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let ["", _, file, names, ""] = &cells[..] else { return vec![format!("not three cells: {row}")] };
    let file = file.trim_matches('`');
    let Some(source) = sources.iter().find(|source| source.path == Path::new(file)) else {
        return vec![format!("no such file: {row}")];
    };
    let names: Vec<&str> = names.split('`').skip(1).step_by(2).flat_map(|name| name.split("::")).collect();
    if names.is_empty() {
        return vec![format!("no name: {row}")];
    }
    let is_defined =
        |name: &str| DEFINING.iter().any(|word| !source.places(&format!("{word} {name}")).is_empty());
    let missing = names.into_iter().filter(|name| !is_defined(name));
    missing.map(|name| format!("{file} does not define {name}")).collect()
}

#[test]
fn where_to_look_names_what_its_files_define() {
    let document = read("ARCHITECTURE.md");
    let section = document.split("\n## Where to look\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let lines = section.expect("ARCHITECTURE.md says where to look").lines();
    let below_head = lines.skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows: Vec<&str> = below_head.take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= BEHAVIORS, "only {} behaviors: {rows:?}", rows.len());
    let sources = sources();
    none("\"Where to look\" misleads", rows.into_iter().flat_map(|row| row_breaches(row, &sources)));
}

#[test]
fn a_misleading_row_is_found() {
    let sources = [Source::read("crates/amplihack-testkit/tests/architecture/source.rs".into())];
    let file = sources[0].path.display();
    for (cells, is_right) in [
        (format!("`{file}` | `Source::read`, `has_word`"), true),
        (format!("`{file}` | `Source::read_word`"), false),
        // A part of a name, and one that stands in a string only.
        (format!("`{file}` | `has`"), false),
        (format!("`{file}` | `a`"), false),
        (format!("`{file}` | its functions"), false),
        (format!("`{file}`"), false),
        ("`crates/source.rs` | `Source::read`".to_owned(), false),
    ] {
        let breaches = row_breaches(&format!("| Words are found | {cells} |"), &sources);
        assert_eq!(breaches.is_empty(), is_right, "{cells}: {breaches:?}");
    }
}

#[test]
fn no_path_of_one_machine_is_in_a_file() {
    // Put together here, so that this file does not hold what it looks for.
    let forbidden =
        [concat!("/ro", "ot"), concat!("/wo", "rk"), concat!("/tmp/", "wt"), concat!("/tmp/", "fb")];
    let names_it = |text: &str, path: &str| {
        text.match_indices(path).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + path.len()..].chars().next();
            let starts = before.is_none_or(|before| before.is_whitespace() || "\"'`(=:<|[,".contains(before));
            starts
                && after
                    .is_none_or(|after| after == '/' || after.is_whitespace() || "\"'`)>|],;".contains(after))
        })
    };
    let mut breaches = Vec::new();
    for path in tracked() {
        let text = read(&path);
        for word in forbidden.iter().filter(|word| names_it(&text, word)) {
            breaches.push(format!("{}: {word}", path.display()));
        }
    }
    none("a tracked file holds an absolute path of one machine", breaches);
}

#[test]
fn lock_files_name_no_registry() {
    let crates_io = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let mut breaches = Vec::new();
    let mut seen = 0;
    for path in tracked() {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !["Cargo.lock", "package-lock.json"].contains(&name) {
            continue;
        }
        seen += 1;
        for line in read(&path).lines() {
            // Cargo's own name for the public registry is an identity, not an address that is asked.
            if line.contains("://") && line.trim() != crates_io || line.contains("\"resolved\"") {
                breaches.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(seen >= 2, "only {seen} lock files were found");
    none("a lock file holds an address", breaches);
}
