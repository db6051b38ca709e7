//! The module `api` that the published page names: commands, what they take, and what they answer.

use std::path::PathBuf;

use amplihack_remote::api::{
    CommandMode, ErrorContext, ExecOptions, IntegrationSummary, KillOptions, KillResult, ListOptions,
    OutputOptions, PoolStatus, RemoteError, RemoteStatus, Session, SessionCounts, SessionOutput,
    SessionStatus, StartOptions, StartResult, StatusOptions, VMOptions, VMSize, WorkflowResult,
    capture_output, exec, execute_remote_workflow, kill_session, list_sessions, start_sessions, status,
};

/// Each command by the module, with what it takes and answers.
#[tokio::test]
async fn the_six_commands_take_and_answer_what_the_module_has() {
    let home = tempfile::tempdir().unwrap();
    let state = || Some(home.path().join("state.json"));
    let options = || ExecOptions {
        repo_path: PathBuf::from("."),
        command: CommandMode::Auto,
        prompt: String::new(),
        max_turns: 1,
        vm_options: VMOptions::default(),
        timeout_minutes: 5,
        skip_secret_scan: false,
        api_key: "k".to_owned(),
    };
    let empty = |error: RemoteError| {
        assert_eq!(error, RemoteError::Validation(ErrorContext::new("the prompt is empty")));
    };
    let done: Result<WorkflowResult, RemoteError> = exec(options()).await;
    empty(done.unwrap_err());
    let done: Result<WorkflowResult, RemoteError> = execute_remote_workflow(options()).await;
    empty(done.unwrap_err());
    let started: Result<StartResult, RemoteError> = start_sessions(StartOptions {
        repo_path: PathBuf::from("."),
        prompts: vec![String::new()],
        command: CommandMode::Auto,
        max_turns: 1,
        size: VMSize::S,
        region: None,
        tunnel_port: None,
        api_key: "k".to_owned(),
        state_file: state(),
    })
    .await;
    empty(started.unwrap_err());
    let listed: Vec<Session> =
        list_sessions(ListOptions { status: Some(SessionStatus::Running), state_file: state() })
            .await
            .unwrap();
    assert_eq!(listed, []);
    let session_id = "sess-20260101-000000-0001".to_owned();
    let missing = RemoteError::SessionNotFound { session_id: session_id.clone() };
    let shown: Result<SessionOutput, RemoteError> =
        capture_output(OutputOptions { session_id: session_id.clone(), lines: 1, state_file: state() }).await;
    assert_eq!(shown.unwrap_err(), missing);
    let killed: Result<KillResult, RemoteError> =
        kill_session(KillOptions { session_id, force: false, state_file: state() }).await;
    assert_eq!(killed.unwrap_err(), missing);
    let sums: RemoteStatus = status(StatusOptions { state_file: state() }).await.unwrap();
    let nothing =
        RemoteStatus { pool: PoolStatus::default(), sessions: SessionCounts::default(), total_sessions: 0 };
    assert_eq!(sums, nothing);
    let summary: Option<IntegrationSummary> = None;
    assert_eq!(WorkflowResult { exit_code: 0, summary, vm_name: None }.summary, None);
}
