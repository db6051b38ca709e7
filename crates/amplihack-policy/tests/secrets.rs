//! The scan of files on a corpus of made-up credentials and look-alikes, and on input that is made to keep it busy.

use amplihack_policy::secrets::{redact, scan};
use amplihack_testkit::secrets::{Case, look_alikes, real, unseen};

const SEEDS: [u64; 3] = [1, 2, 3];

fn cases() -> impl Iterator<Item = Case> {
    SEEDS.into_iter().flat_map(|seed| [real(seed), look_alikes(seed), unseen(seed)]).flatten()
}

fn with_secret() -> impl Iterator<Item = Case> {
    cases().filter(|case| case.secret.is_some())
}

fn lines_of(case: &Case) -> Vec<usize> {
    scan(case.path, case.text.as_bytes()).into_iter().map(|finding| finding.line).collect()
}

#[test]
fn every_credential_is_found_once_on_its_line() {
    let mut missed = Vec::new();
    for case in with_secret() {
        let lines = lines_of(&case);
        if lines != [*case.lines().start()] {
            missed.push(format!("{}: lines {lines:?}\n{}", case.kind, case.text));
        }
    }
    assert!(missed.is_empty(), "{} missed\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn nothing_is_found_in_look_alikes() {
    let mut false_alarms = Vec::new();
    for case in cases().filter(|case| case.secret.is_none()) {
        for finding in scan(case.path, case.text.as_bytes()) {
            false_alarms.push(format!("{}: {finding:?}\n{}", case.kind, case.text));
        }
    }
    assert!(false_alarms.is_empty(), "{}", false_alarms.join("\n"));
}

#[test]
fn the_corpus_is_what_the_page_says() {
    let (real, alike) = (real(1), look_alikes(1));
    assert!(real.len() >= 60 && alike.len() >= 60, "{} and {}", real.len(), alike.len());
    let mut kinds: Vec<_> = real.iter().chain(&alike).map(|case| case.kind).collect();
    kinds.sort_unstable();
    let count = kinds.len();
    kinds.dedup();
    assert_eq!(kinds.len(), count);
}

#[test]
fn redaction_leaves_no_credential() {
    let mut left = Vec::new();
    for case in with_secret() {
        let clean = redact(&case.text);
        // A part of sixteen letters is enough to know it by.
        let secret = case.secret.as_deref().unwrap_or_default();
        let parts =
            secret.split(|letter: char| letter == '\n' || letter == '\\').filter(|part| part.len() >= 8);
        let open = |part: &str| clean.contains(&part[part.len() / 2..]) && !part.starts_with('-');
        if parts.into_iter().any(open) {
            left.push(format!("{}: {clean}", case.kind));
        }
        assert_eq!(redact(&clean), clean, "{}", case.kind);
    }
    assert!(left.is_empty(), "{}", left.join("\n"));
}
