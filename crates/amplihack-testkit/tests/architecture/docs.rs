//! The documentation hangs together: links lead somewhere, the book has every page, and the tests that pages name exist.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use amplihack_testkit::grid::{AGENTS, JOURNEYS, JourneyCell};

use crate::source::Source;
use crate::{none, sources, tracked};

fn read(path: &Path) -> String {
    let whole = amplihack_testkit::workspace().join(path);
    std::fs::read_to_string(&whole).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every page of the repository, but for what tests feed to programs.
fn pages() -> Vec<PathBuf> {
    let is_page =
        |path: &PathBuf| path.extension().is_some_and(|ext| ext == "md") && !path.starts_with("crates");
    tracked().into_iter().filter(is_page).collect()
}

/// The lines of a page that are no code, with code spans blanked.
fn prose(page: &str) -> Vec<String> {
    let mut fence: Option<String> = None;
    let mut lines = Vec::new();
    for line in page.lines() {
        let ticks: String = line.trim_start().chars().take_while(|ch| *ch == '`').collect();
        match &fence {
            Some(open) if ticks.len() >= open.len() => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => {
                let spans = line.split('`').enumerate();
                lines.push(spans.map(|(at, part)| if at.is_multiple_of(2) { part } else { "" }).collect());
            }
        }
    }
    lines
}

/// Targets of links in a page.
fn links(page: &str) -> Vec<String> {
    let targets = |line: &String| {
        line.split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'))
            .map(|(target, _)| target.to_owned())
            .collect::<Vec<_>>()
    };
    prose(page).iter().flat_map(targets).collect()
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|ch| ch.is_alphanumeric() || *ch == ' ' || *ch == '-' || *ch == '_')
        .collect::<String>()
        .replace(' ', "-")
}

/// `path` without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[test]
fn every_link_leads_somewhere() {
    let mut breaches = Vec::new();
    let mut seen = 0;
    for page in pages() {
        for link in links(&read(&page)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (file, part) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                plain(&page.parent().unwrap_or(Path::new("")).join(file))
            };
            if !amplihack_testkit::workspace().join(&target).exists() {
                breaches.push(format!("{}: {link}", page.display()));
            } else if !part.is_empty()
                && !read(&target)
                    .lines()
                    .any(|line| line.starts_with('#') && anchor(line.trim_start_matches('#')) == part)
            {
                breaches.push(format!("{}: {link}: no such heading", page.display()));
            }
        }
    }
    assert!(seen > 50, "only {seen} links were found");
    none("a link leads nowhere", breaches);
}

#[test]
fn the_book_has_every_page_in_one_of_its_parts() {
    let summary = read(Path::new("docs/SUMMARY.md"));
    let titles: Vec<&str> = summary.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    assert_eq!(titles, ["Summary", "Tutorial", "How-to", "Reference", "Explanation"]);
    let listed: Vec<PathBuf> = links(&summary).iter().map(|link| Path::new("docs").join(link)).collect();
    let once: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    let missing = pages()
        .into_iter()
        .filter(|page| page.starts_with("docs") && !page.ends_with("SUMMARY.md") && !once.contains(page));
    none("a page is not in docs/SUMMARY.md", missing.map(|page| page.display().to_string()));
}

/// Whether `name`, `crate::module::test`, is a test in one of `sources`.
pub(crate) fn exists(name: &str, sources: &[Source]) -> bool {
    let parts: Vec<&str> = name.split("::").collect();
    let [package, modules @ .., test] = &parts[..] else { return false };
    if *package == "amplihack_cli" && is_cell(modules, test) {
        return true;
    }
    let directory = Path::new("crates").join(package.replace('_', "-"));
    let function = format!("fn {test}(");
    sources.iter().filter(|source| source.is_in(directory.to_str().unwrap_or_default())).any(|source| {
        let stem = source.path.with_extension("");
        let mut path = stem.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        // Every module of the name is a part of the file's path, in this order.
        modules.iter().all(|module| path.any(|part| part == *module)) && is_test(&source.text, &function)
    })
}

/// Whether this is a test of the grid's, which are derived from its table.
fn is_cell(modules: &[&str], test: &str) -> bool {
    let ["grid", journey] = modules else { return false };
    let row = JOURNEYS.iter().find(|row| row.name == *journey);
    let mut cells = row.into_iter().flat_map(|row| AGENTS.into_iter().zip(row.cells));
    cells.any(|(agent, cell)| agent.name() == test && !matches!(cell, JourneyCell::Named(_)))
}

/// Whether the attribute of a test stands above `function`, or a macro that makes tests around it.
fn is_test(text: &str, function: &str) -> bool {
    text.match_indices(function).any(|(at, _)| {
        let above: Vec<&str> = text[..at].lines().rev().take(4).collect();
        above.iter().any(|line| {
            ["#[test]", "#[tokio::test", "everywhere! {"].iter().any(|mark| line.trim().starts_with(mark))
        })
    })
}

/// Rows of a page's tables, each with the title of its section.
fn rows(page: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut rows = Vec::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            title.clone_into(&mut section);
        } else if line.starts_with("| ") && !line.ends_with("kept by |") && !line.ends_with("shown here by |")
        {
            rows.push((section.clone(), line.to_owned()));
        }
    }
    rows
}

#[test]
fn every_requirement_and_every_known_failure_names_a_test_that_exists() {
    let sources = sources();
    let mut breaches = Vec::new();
    for (page, least) in [("docs/known-failures.md", 100), ("docs/remote/requirements.md", 24)] {
        let rows = rows(&read(Path::new(page)));
        assert!(rows.len() >= least, "{page} has {} rows", rows.len());
        for (section, row) in rows {
            let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
            let named: Vec<&str> =
                cell.split('`').skip(1).step_by(2).filter(|name| name.contains("::")).collect();
            // Only what is not built yet may have no test.
            let is_pending = cell.ends_with("pending") && section.starts_with("Remote");
            if named.is_empty() && !is_pending && !cell.starts_with("superseded") {
                breaches.push(format!("{page}: no test: {row}"));
            }
            for name in named.iter().filter(|name| !exists(name, &sources)) {
                breaches.push(format!("{page}: {name}"));
            }
        }
    }
    none("a test that a page names does not exist, or a row names none", breaches);
}
