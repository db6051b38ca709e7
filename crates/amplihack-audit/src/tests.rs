//! The chain, its breaks and what is written.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jiff::civil::{Date, DateTime, date};

use super::*;

const DAY: Date = date(2026, 3, 4);

fn entry(number: u64) -> AuditEntry {
    let mut entry = AuditEntry::new(
        DateTime::from_parts(DAY, jiff::civil::time(5, 6, 7, 8000)),
        EventType::PreToolValidation,
        Decision::Deny,
    );
    entry.data.command = Some(format!("rm -rf /{number}"));
    entry.data.is_valid = Some(false);
    entry.rule = Some("destroy/root".to_owned());
    entry.host = Some("claude".to_owned());
    entry.duration_us = number;
    entry
}

fn write(dir: &Path, day: Date, count: u64) {
    let mut audit = AuditLogWriter::open(dir, day).unwrap();
    for number in 0..count {
        audit.append_entry(&entry(number)).unwrap();
    }
}

fn lines(dir: &Path, file: &str) -> Vec<String> {
    std::fs::read_to_string(dir.join(file)).unwrap().lines().map(str::to_owned).collect()
}

const FILE: &str = "rust_security_20260304.log";

#[test]
fn a_line_has_the_seeds_fields_and_ours_and_only_its_owner_reads_it() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("logs/xpia");
    write(&dir, DAY, 1);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&dir.join(FILE))), (0o700, 0o600));
    assert_eq!(
        lines(&dir, FILE),
        [format!(
            r#"{{"timestamp":"2026-03-04T05:06:07.000008","event_type":"pre_tool_validation","backend":"rust","data":{{"command":"rm -rf /0","is_valid":false}},"decision":"deny","rule":"destroy/root","host":"claude","duration_us":0,"prev":"{}"}}"#,
            "0".repeat(64)
        )]
    );
    let shown: Vec<AuditEntry> =
        read_entries(&dir, AuditFilter::default()).unwrap().map(Result::unwrap).collect();
    assert_eq!(shown, [entry(0)]);
}

#[test]
fn secrets_are_not_in_the_file_also_when_the_cut_goes_through_one() {
    let dir = tempfile::tempdir().unwrap();
    let token = format!("{}{}", "ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let mut audit = AuditLogWriter::open(dir.path(), DAY).unwrap();
    let mut with = entry(0);
    with.data.command = Some(format!("curl {} -H {token} {}", "x".repeat(80), "y".repeat(500)));
    with.data.error = Some(format!("cannot push with {token}"));
    with.cwd = Some(format!("/tmp/{token}"));
    audit.append_entry(&with).unwrap();
    let text = std::fs::read_to_string(audit.path()).unwrap();
    assert!(
        !text.contains("ghp_") && !text.contains("a1B2c3D4") && text.contains("[redacted:github-token]"),
        "{text}"
    );
    let line: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["data"]["command"].as_str().unwrap().chars().count(), COMMAND_CHARS);
}

#[test]
fn a_chain_holds_over_days_and_many_writers() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), DAY, 3);
    write(dir.path(), date(2026, 3, 7), 2);
    let day = date(2026, 3, 8);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..50 {
                    // As separate processes do: each call its own handle.
                    AuditLogWriter::open(dir.path(), day).unwrap().append_entry(&entry(number)).unwrap();
                }
            });
        }
    });
    let report = verify_logs(dir.path()).unwrap();
    assert_eq!((report.files, report.lines, report.torn, report.broken), (3, 205, 0, None));
    assert!(!report.pruned);
    std::fs::remove_file(dir.path().join(FILE)).unwrap();
    let report = verify_logs(dir.path()).unwrap();
    assert!(report.pruned && report.broken.is_none());
}

#[test]
fn changed_removed_added_and_moved_lines_are_found() {
    type Change = fn(&mut Vec<String>);
    let changes: [(Change, usize); 6] = [
        (|lines| lines[2] = lines[2].replace("deny", "none"), 4),
        (|lines| drop(lines.remove(2)), 3),
        (|lines| lines.swap(2, 3), 3),
        (|lines| lines.insert(3, lines[2].clone()), 4),
        (|lines| lines[1] = "{}".to_owned(), 2),
        (|lines| lines[1] = "harmless".to_owned(), 2),
    ];
    for (change, line) in changes {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), DAY, 6);
        let mut text = lines(dir.path(), FILE);
        change(&mut text);
        std::fs::write(dir.path().join(FILE), text.join("\n") + "\n").unwrap();
        let broken = verify_logs(dir.path()).unwrap().broken.unwrap();
        assert_eq!((broken.line, broken.file.ends_with(FILE)), (line, true), "{}", broken.why);
    }
    // A day in the middle that is gone.
    let dir = tempfile::tempdir().unwrap();
    for day in [3, 4, 5] {
        write(dir.path(), date(2026, 3, day), 2);
    }
    std::fs::remove_file(dir.path().join(FILE)).unwrap();
    assert_eq!(verify_logs(dir.path()).unwrap().broken.unwrap().line, 1);
}

/// What the predecessor wrote into the same files.
const OLD: [&str; 3] = [
    r#"{"timestamp": "2026-03-04T01:02:03.000004", "event_type": "pre_tool_validation", "backend": "rust", "data": {"command": "ls", "is_valid": true, "risk_level": "none", "threats": 0, "session_id": "unknown"}}"#,
    r#"{"timestamp": "2026-03-04T01:02:04", "event_type": "pre_tool_validation", "backend": "rust", "data": {"command": "rm -rf /", "is_valid": false, "risk_level": "critical", "threats": 1, "session_id": "s"}}"#,
    r#"{"timestamp": "2026-03-04T01:02:05.5", "event_type": "rust_unavailable", "backend": "rust", "data": {"command": "ls"}}"#,
];

#[test]
fn the_predecessors_lines_are_shown_and_the_chain_begins_behind_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    std::fs::write(&path, OLD.join("\n") + "\n").unwrap();
    write(dir.path(), DAY, 2);
    let report = verify_logs(dir.path()).unwrap();
    assert_eq!((report.lines, report.unchained, report.broken), (5, 3, None));
    let shown: Vec<AuditEntry> =
        read_entries(dir.path(), AuditFilter::default()).unwrap().map(Result::unwrap).collect();
    let decisions: Vec<Decision> = shown.iter().map(|entry| entry.decision).collect();
    assert_eq!(decisions, [Decision::None, Decision::Deny, Decision::Deny, Decision::Deny, Decision::Deny]);
    assert_eq!(shown[1].data.threats, Some(1));
    // The last of them is secured by the first link.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen(r#"{"command": "ls"}"#, r#"{"command": "lo"}"#, 1)).unwrap();
    assert_eq!(verify_logs(dir.path()).unwrap().broken.unwrap().line, 4);
    // One in the middle was put there.
    std::fs::write(&path, text + OLD[0] + "\n").unwrap();
    let broken = verify_logs(dir.path()).unwrap().broken.unwrap();
    assert_eq!(
        (broken.line, broken.why.as_str()),
        (6, "it is an entry without a link, as the predecessor writes them")
    );
}

#[test]
fn lines_of_a_newer_version_are_counted_and_covered() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), DAY, 1);
    let path = dir.path().join(FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    let prev = chain::hash_line(text.trim_end().as_bytes());
    let newer = format!(
        r#"{{"timestamp":"2026-03-04T06:00:00.000000","event_type":"dreamt_of","backend":"rust","data":{{"later":1}},"decision":"deny","duration_us":1,"later":[1],"prev":"{prev}"}}"#
    );
    std::fs::write(&path, format!("{text}{newer}\n")).unwrap();
    write(dir.path(), DAY, 1);
    assert_eq!(verify_logs(dir.path()).unwrap().broken, None);
    let mut shown = read_entries(dir.path(), AuditFilter::default()).unwrap();
    assert_eq!((shown.by_ref().count(), shown.passed_over()), (2, 1));
}

#[test]
fn a_torn_line_is_kept_and_the_chain_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), DAY, 2);
    let path = dir.path().join(FILE);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 30);
    std::fs::write(&path, bytes).unwrap();
    write(dir.path(), DAY, 2);
    let report = verify_logs(dir.path()).unwrap();
    assert_eq!((report.lines, report.torn, report.broken), (4, 1, None));
    assert_eq!(read_entries(dir.path(), AuditFilter::default()).unwrap().count(), 3);
}

#[test]
fn a_lock_that_is_held_costs_the_link_not_the_line() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), DAY, 1);
    let mut audit = AuditLogWriter::open(dir.path(), DAY).unwrap();
    let held = audit.hold();
    let started = std::time::Instant::now();
    audit.append_entry(&entry(1)).unwrap();
    assert!(started.elapsed() < std::time::Duration::from_secs(5));
    drop(held);
    audit.append_entry(&entry(2)).unwrap();
    assert!(lines(dir.path(), FILE)[1].ends_with(r#""prev":"unknown"}"#));
    let report = verify_logs(dir.path()).unwrap();
    assert_eq!((report.lines, report.unlinked, report.broken), (3, 1, None));
    // The line without a link is secured by the one behind it.
    let mut text = lines(dir.path(), FILE);
    text.remove(1);
    std::fs::write(dir.path().join(FILE), text.join("\n") + "\n").unwrap();
    assert_eq!(verify_logs(dir.path()).unwrap().broken.unwrap().line, 2);
}

#[test]
fn what_cannot_be_written_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let error = AuditLogWriter::open(&file.join("logs"), DAY).unwrap_err();
    assert!(error.to_string().contains("file/logs"), "{error}");
    std::os::unix::fs::symlink(&file, dir.path().join(FILE)).unwrap();
    AuditLogWriter::open(dir.path(), DAY).unwrap_err();
    assert_eq!(std::fs::read(&file).unwrap(), b"");
    assert_eq!(AuditLogWriter::open_path(Path::new("/dev/null")).unwrap_err().kind(), "audit_not_a_file");
    assert!(AuditLogWriter::open_path(Path::new("/dev/full")).is_err());
    assert_eq!(verify_logs(&dir.path().join("none")).unwrap(), ChainReport::default());
}

#[test]
fn entries_are_chosen_by_what_the_filter_names() {
    let dir = tempfile::tempdir().unwrap();
    let mut audit = AuditLogWriter::open(dir.path(), DAY).unwrap();
    for (decision, session) in [(Decision::None, "a"), (Decision::Ask, "a"), (Decision::Deny, "b")] {
        let mut entry = entry(0);
        entry.decision = decision;
        entry.data.session_id = Some(session.to_owned());
        audit.append_entry(&entry).unwrap();
    }
    let count = |filter| read_entries(dir.path(), filter).unwrap().count();
    assert_eq!(count(AuditFilter { decision: Some(Decision::Ask), ..AuditFilter::default() }), 2);
    assert_eq!(count(AuditFilter { session: Some("a".to_owned()), ..AuditFilter::default() }), 2);
    assert_eq!(count(AuditFilter { host: Some("codex".to_owned()), ..AuditFilter::default() }), 0);
    assert_eq!(count(AuditFilter { since: Some(date(2026, 3, 5)), ..AuditFilter::default() }), 0);
    assert_eq!(count(AuditFilter { event_type: Some(EventType::HookError), ..AuditFilter::default() }), 0);
}
