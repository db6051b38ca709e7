//! What people see.

use amplihack_remote::{
    Backend, ErrorContext, PoolStatus, RemoteError, SessionCondition, SessionCounts, StartRow,
};

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

fn row(session: Session, condition: Option<SessionCondition>) -> ListRow {
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
        row(
            session("0002", SessionStatus::Running, &"long ".repeat(20)),
            Some(SessionCondition::Unreachable),
        ),
        row(session("0003", SessionStatus::Failed, "short"), Some(SessionCondition::Lost)),
    ];
    insta::assert_snapshot!(session_table(&rows, later));
    insta::assert_snapshot!("list_of_nothing", session_table(&[], later));
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
    insta::assert_snapshot!(pool_status(&RemoteStatus { pool, sessions, total_sessions: 6 }));
    assert_eq!(machine_list(&[]), "No machines.\n");
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
        started_sessions(&StartReport { rows }),
        exec_result(&done),
        pull_summary("sess-1", Some(&brought)),
        pull_summary("sess-1", None)
    ));
}

#[test]
fn what_was_swept_and_what_machines_miss() {
    let swept_now = SweepReport {
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
        swept_machines(&swept_now, false),
        swept_machines(&SweepReport { released: vec!["x".into()], ..SweepReport::default() }, true),
        swept_machines(&SweepReport::default(), false),
        doctor_reports(&reports),
        doctor_reports(&[])
    ));
}

#[test]
fn outputs_and_exit_codes() {
    let failed = session("0003", SessionStatus::Failed, "short");
    insta::assert_snapshot!(format!("{}{}", session_log(&failed, "its log\n"), session_end(&failed)));
    assert_eq!(session_exit_code(&failed), 7);
    assert_eq!(session_exit_code(&session("0001", SessionStatus::Completed, "x")), 0);
    assert_eq!(session_exit_code(&Session { exit_code: None, ..failed.clone() }), 1);
    assert_eq!(session_exit_code(&Session { exit_code: Some(256), ..failed }), 1);
    assert_eq!(
        (clamp_exit_code(0), clamp_exit_code(255), clamp_exit_code(-1), clamp_exit_code(512)),
        (0, 255, 255, 1)
    );
}

#[test]
fn keys_are_masked_also_when_they_come_in_pieces() {
    let key = format!("ghp_{}", "a8Kd03LmQpX7vRt2NwZc5YbHs1GfUe9JiTo4");
    assert!(!mask_keys(&format!("token {key}\n"), false).contains(&key));
    assert!(mask_keys(&key, true).contains(&key));
    // Nothing is shown before its line is whole.
    let mut mask = LogMask::new(false);
    mask.show_bytes(&key.as_bytes()[..10]).unwrap();
    assert_eq!(mask.rest, &key.as_bytes()[..10]);
}

#[test]
fn a_log_keeps_its_colours_and_nothing_else_that_a_terminal_obeys() {
    let text = "\x1b[1;31mred\x1b[0m\tx\r\n\x1b]0;title\x07\x1b[2J\u{9b}31m\x1b[";
    let calmed = "\x1b[1;31mred\x1b[0m\tx\r\n[U+001B]0;title[U+0007][U+001B][2J[U+009B]31m[U+001B][";
    assert_eq!(strip_controls(text, false), calmed.replace("[U+001B]0", "[U+001B]]0"));
    assert_eq!(strip_controls(text, true), text);
    assert_eq!(strip_controls("plain\n", false), "plain\n");
    assert!(has_no_controls(b"\xff\n") && !has_no_controls(b"\xff\x1b"));
}

#[test]
fn names_of_branches_are_words_for_a_shell() {
    let summary = IntegrationSummary {
        branches: vec!["feat/a".into(), "a;touch${IFS}x".into(), "it's".into()],
        ..IntegrationSummary::default()
    };
    let text = pull_summary("sess-20260502-030405-0001", Some(&summary));
    assert!(text.ends_with(
        "  git merge remote-exec/sess-20260502-030405-0001/feat/a\n  git merge 'remote-exec/sess-20260502-030405-0001/a;touch${IFS}x'\n  git merge 'remote-exec/sess-20260502-030405-0001/it'\\''s'\n"
    ), "{text}");
}
