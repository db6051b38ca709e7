//! What people see.

use amplihack_remote::{Backend, Condition, ErrorContext, PoolStatus, RemoteError, SessionCounts, StartRow};

use amplihack_remote::SessionStatus;

use super::*;

fn session(id: &str, status: SessionStatus, prompt: &str) -> Session {
    Session {
        session_id: format!("sess-20260502-030405-{id}"),
        vm_name: "big".into(),
        workspace: "~/x".into(),
        tmux_session: id.into(),
        prompt: prompt.into(),
        command: "auto".into(),
        max_turns: 10,
        status,
        memory_mb: Some(32_768),
        created_at: "2026-05-02T03:04:05Z".parse().unwrap(),
        started_at: None,
        completed_at: None,
        exit_code: (status == SessionStatus::Failed).then_some(7),
    }
}

fn row(session: Session, condition: Option<Condition>) -> ListRow {
    ListRow {
        end: session.run_end().map(|end| end.outcome()),
        session,
        condition,
        backend: Some(Backend::Ssh),
    }
}

fn vm(name: &str, size: &str, active: usize, capacity: usize) -> PoolVm {
    PoolVm {
        name: name.into(),
        size: size.into(),
        region: if size.is_empty() { String::new() } else { "eastus".into() },
        capacity,
        active_sessions: active,
        available_capacity: capacity - active,
    }
}

#[test]
fn lists_show_ages_conditions_and_the_beginnings_of_prompts() {
    let later = "2026-05-02T05:04:05Z".parse().unwrap();
    let rows = [
        row(session("0001", SessionStatus::Running, "line one\nline \x1b[31mtwo"), None),
        row(session("0002", SessionStatus::Running, &"long ".repeat(20)), Some(Condition::Unreachable)),
        row(session("0003", SessionStatus::Failed, "short"), Some(Condition::Lost)),
    ];
    insta::assert_snapshot!(list(&rows, later));
    insta::assert_snapshot!("list_of_nothing", list(&[], later));
}

#[test]
fn sums_and_machines() {
    let pool = PoolStatus {
        total_vms: 2,
        total_capacity: 5,
        active_sessions: 3,
        available_capacity: 2,
        vms: vec![vm("amplihack-me-1", "Standard_E16s_v5", 3, 4), vm("closed", "", 0, 0)],
    };
    let sessions = SessionCounts { running: 3, completed: 2, failed: 1, killed: 0, pending: 0 };
    insta::assert_snapshot!(status(&RemoteStatus { pool, sessions, total_sessions: 6 }));
    assert_eq!(machines(&[]), "No machines.\n");
}

#[test]
fn starts_and_results() {
    let rows = vec![
        StartRow { prompt: "a".into(), outcome: Ok(session("0001", SessionStatus::Running, "a")) },
        StartRow { prompt: "b".into(), outcome: Err(RemoteError::Transfer(ErrorContext::new("no"))) },
    ];
    let brought = IntegrationSummary {
        branches: vec!["main".into(), "wip/sess-1".into()],
        commits: 3,
        files_changed: 2,
        conflicts: vec!["src/lib.rs".into()],
    };
    let done = WorkflowResult { exit_code: 0, summary: Some(brought.clone()), vm_name: Some("big".into()) };
    insta::assert_snapshot!(format!(
        "{}===\n{}===\n{}===\n{}",
        started(&Started { rows }),
        exec(&done),
        summary("sess-1", Some(&brought)),
        summary("sess-1", None)
    ));
}

#[test]
fn what_was_swept_and_what_machines_miss() {
    let swept_now = Swept {
        released: vec!["amplihack-me-1".into()],
        kept: [("amplihack-me-2".to_owned(), "it is used by sess-1".to_owned())].into(),
        failed: [("amplihack-me-3".to_owned(), "failed to clean up: azlin kill: no".to_owned())].into(),
    };
    let reports = [
        HostReport { host: "a".into(), facts: vec!["x86_64, 2 processors".into()], problems: Vec::new() },
        HostReport { host: "b".into(), facts: Vec::new(), problems: vec!["git is missing".into()] },
    ];
    insta::assert_snapshot!(format!(
        "{}{}{}{}{}",
        swept(&swept_now, false),
        swept(&Swept { released: vec!["x".into()], ..Swept::default() }, true),
        swept(&Swept::default(), false),
        doctor(&reports),
        doctor(&[])
    ));
}

#[test]
fn outputs_and_exit_codes() {
    let failed = session("0003", SessionStatus::Failed, "short");
    insta::assert_snapshot!(format!("{}{}", output(&failed, "its log\n"), ended(&failed)));
    assert_eq!(code(&failed), 7);
    assert_eq!(code(&session("0001", SessionStatus::Completed, "x")), 0);
    assert_eq!(code(&Session { exit_code: None, ..failed.clone() }), 1);
    assert_eq!(code(&Session { exit_code: Some(256), ..failed }), 1);
    assert_eq!((low(0), low(255), low(-1), low(512)), (0, 255, 255, 1));
}

#[test]
fn keys_are_masked_also_when_they_come_in_pieces() {
    let key = format!("ghp_{}", "a8Kd03LmQpX7vRt2NwZc5YbHs1GfUe9JiTo4");
    assert!(!masked(&format!("token {key}\n"), false).contains(&key));
    assert!(masked(&key, true).contains(&key));
    // Nothing is shown before its line is whole.
    let mut mask = Mask::new(false);
    mask.show(&key.as_bytes()[..10]).unwrap();
    assert_eq!(mask.rest, &key.as_bytes()[..10]);
}

#[test]
fn a_log_keeps_its_colours_and_nothing_else_that_a_terminal_obeys() {
    let text = "\x1b[1;31mred\x1b[0m\tx\r\n\x1b]0;title\x07\x1b[2J\u{9b}31m\x1b[";
    let calmed = "\x1b[1;31mred\x1b[0m\tx\r\n[U+001B]0;title[U+0007][U+001B][2J[U+009B]31m[U+001B][";
    assert_eq!(calm(text, false), calmed.replace("[U+001B]0", "[U+001B]]0"));
    assert_eq!(calm(text, true), text);
    assert_eq!(calm("plain\n", false), "plain\n");
    assert!(is_calm(b"\xff\n") && !is_calm(b"\xff\x1b"));
}

#[test]
fn names_of_branches_are_words_for_a_shell() {
    let summary = IntegrationSummary {
        branches: vec!["feat/a".into(), "a;touch${IFS}x".into(), "it's".into()],
        ..IntegrationSummary::default()
    };
    let text = super::summary("sess-20260502-030405-0001", Some(&summary));
    assert!(text.ends_with(
        "  git merge remote-exec/sess-20260502-030405-0001/feat/a\n  git merge 'remote-exec/sess-20260502-030405-0001/a;touch${IFS}x'\n  git merge 'remote-exec/sess-20260502-030405-0001/it'\\''s'\n"
    ), "{text}");
}
