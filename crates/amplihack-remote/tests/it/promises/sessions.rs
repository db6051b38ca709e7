//! Detached sessions: started, listed, read, ended, counted.

use std::path::Path;
use std::sync::{Arc, Mutex};

use amplihack_remote::{
    CommandOutput, KillOptions, KillResult, ListOptions, OutputOptions, RemoteCommandRunner, RemoteError,
    Session, SessionCounts, SessionManager, SessionStatus, StartOptions, StatusOptions, is_session_id,
};

use crate::client::Here;

async fn started(here: &Here, prompts: &[&str]) -> Vec<Session> {
    let started = here.client.start_sessions(here.start(prompts)).await.unwrap();
    started.rows.into_iter().map(|row| row.outcome.unwrap()).collect()
}

/// All that a session wrote, after its end.
async fn written(here: &Here, id: &str) -> String {
    here.client.wait_for_sessions(&[id.to_owned()], false, None, None).await.unwrap();
    here.client.capture_output(output(id, 100)).await.unwrap().output
}

fn output(id: &str, lines: u32) -> OutputOptions {
    OutputOptions { session_id: id.to_owned(), lines, state_file: None }
}

#[tokio::test]
async fn each_prompt_has_its_own_context() {
    let here = Here::new();
    let sessions = started(&here, &["one", "two"]).await;
    for (session, prompt) in sessions.iter().zip(["one", "two"]) {
        let text = written(&here, &session.session_id).await;
        assert!(text.contains(&format!("asked: {prompt}\n")), "{text}");
    }
}

#[tokio::test]
async fn each_session_takes_a_slot() {
    let here = Here::new();
    started(&here, &["sleep", "sleep"]).await;
    assert_eq!(here.client.remote_status(StatusOptions::default()).await.unwrap().pool.active_sessions, 2);
}

#[tokio::test]
async fn a_session_that_started_is_running() {
    let here = Here::new();
    assert_eq!(started(&here, &["sleep"]).await[0].status, SessionStatus::Running);
}

#[tokio::test]
async fn sessions_record_their_memory() {
    let here = Here::new();
    assert_eq!(started(&here, &["x"]).await[0].memory_mb, Some(32_768));
    let state: serde_json::Value = serde_json::from_slice(&std::fs::read(here.state()).unwrap()).unwrap();
    let session = state["sessions"].as_object().unwrap().values().next().unwrap();
    assert_eq!(session["memory_mb"], 32_768);
}

#[tokio::test]
async fn sessions_run_with_the_memory_of_node() {
    let here = Here::new();
    let sessions = started(&here, &["x"]).await;
    let text = written(&here, &sessions[0].session_id).await;
    assert!(text.contains(", --max-old-space-size=32768\n"), "{text}");
}

#[tokio::test]
async fn ids_have_the_documented_form() {
    let here = Here::new();
    let mut manager = SessionManager::new(Some(here.state())).unwrap();
    let id = manager.create_session("m", "p", None, None, None).unwrap().session_id;
    assert!(is_session_id(&id) && id.starts_with("sess-20"), "{id}");
}

#[tokio::test]
async fn a_state_file_that_is_named_is_the_one_that_is_used() {
    let here = Here::new();
    let named = here.sandbox.root().join("named/state.json");
    let options = StartOptions { state_file: Some(named.clone()), ..here.start(&["x"]) };
    here.client.start_sessions(options).await.unwrap();
    assert!(named.is_file() && !here.state().exists());
}

#[tokio::test]
async fn all_sessions_are_listed() {
    let here = Here::new();
    started(&here, &["one", "two"]).await;
    let listed = here.client.list_sessions(ListOptions::default()).await.unwrap();
    let prompts: Vec<&str> = listed.iter().map(|session| session.prompt.as_str()).collect();
    assert_eq!(prompts, ["one", "two"]);
}

#[tokio::test]
async fn sessions_are_listed_by_their_status() {
    let here = Here::new();
    let mut manager = SessionManager::new(Some(here.state())).unwrap();
    let one = manager.create_session("m", "p", None, None, None).unwrap().session_id;
    manager.create_session("m", "q", None, None, None).unwrap();
    manager.complete_session(&one, 0).unwrap();
    let of = |status| ListOptions { status: Some(status), state_file: None };
    let listed = here.client.list_sessions(of(SessionStatus::Completed)).await.unwrap();
    assert_eq!(listed.iter().map(|session| &session.session_id).collect::<Vec<_>>(), [&one]);
}

#[tokio::test]
async fn output_is_the_last_lines() {
    let here = Here::new();
    let sessions = started(&here, &["x"]).await;
    let id = &sessions[0].session_id;
    assert!(written(&here, id).await.lines().count() > 2);
    let last = here.client.capture_output(output(id, 1)).await.unwrap().output;
    assert_eq!(last, "key of 7, --max-old-space-size=32768\n");
}

/// A machine that does not answer, and how often it was asked.
#[derive(Default)]
struct Silent(Mutex<usize>);

#[async_trait::async_trait]
impl RemoteCommandRunner for Silent {
    async fn azlin(&self, _: &[String]) -> Result<CommandOutput, RemoteError> {
        Err(RemoteError::Provisioning("no azlin".into()))
    }
    async fn connect(&self, _: &str, _: &str) -> Result<CommandOutput, RemoteError> {
        *self.0.lock().unwrap() += 1;
        Err(RemoteError::Transfer("no answer".into()))
    }
    async fn transfer(&self, _: &Path, _: &str, _: &Path) -> Result<(), RemoteError> {
        Err(RemoteError::Transfer("no answer".into()))
    }
}

/// A session that runs on a machine that is out of reach by now, and a kill of it.
async fn kill_in_vain(here: &Here, force: bool) -> Result<KillResult, RemoteError> {
    let mut manager = SessionManager::new(Some(here.state())).unwrap();
    let session = manager.create_session("m", "p", None, None, None).unwrap();
    manager.start_session(&session.session_id).unwrap();
    amplihack_remote::state_lock::with_lock(&here.state(), |state| {
        let vm = amplihack_remote::state::VmRecord { name: "m".to_owned(), ..Default::default() };
        let machine = amplihack_remote::state::PoolMachine {
            vm,
            capacity: 1,
            active_sessions: [session.session_id.clone()].into_iter().collect(),
            ..Default::default()
        };
        state.vm_pool.insert("m".to_owned(), machine);
        Ok(())
    })
    .unwrap();
    let mut client = here.client.clone();
    client.runner = Some(Arc::new(Silent::default()));
    client.kill_session(KillOptions { session_id: session.session_id, force, state_file: None }).await
}

#[tokio::test]
async fn a_kill_that_fails_is_an_error() {
    let error = kill_in_vain(&Here::new(), false).await.unwrap_err();
    assert!(error.get_fact("hint").is_some_and(|hint| hint.contains("--force")), "{error:?}");
}

#[tokio::test]
async fn a_kill_that_fails_leaves_the_state_as_it_is() {
    let here = Here::new();
    kill_in_vain(&here, false).await.unwrap_err();
    let listed = here.client.list_sessions(ListOptions::default()).await.unwrap();
    assert_eq!(listed[0].status, SessionStatus::Running);
}

#[tokio::test]
async fn a_forced_kill_changes_the_state_although_nothing_answers() {
    let killed = kill_in_vain(&Here::new(), true).await.unwrap();
    assert_eq!(killed.session.status, SessionStatus::Killed);
    assert!(killed.remote_kill_attempted && !killed.remote_kill_succeeded);
}

#[tokio::test]
async fn an_attempt_is_told_only_where_a_machine_was_asked() {
    let here = Here::new();
    let mut manager = SessionManager::new(Some(here.state())).unwrap();
    // Of this machine nothing is known.
    let id = manager.create_session("m", "p", None, None, None).unwrap().session_id;
    let runner = Arc::new(Silent::default());
    let mut client = here.client.clone();
    client.runner = Some(Arc::clone(&runner) as _);
    let killed =
        client.kill_session(KillOptions { session_id: id, force: true, state_file: None }).await.unwrap();
    assert_eq!((killed.remote_kill_attempted, *runner.0.lock().unwrap()), (false, 0));
}

#[tokio::test]
async fn a_success_is_told_where_nothing_runs_any_more() {
    let here = Here::new();
    let id = started(&here, &["sleep"]).await[0].session_id.clone();
    let killed = here
        .client
        .kill_session(KillOptions { session_id: id, force: false, state_file: None })
        .await
        .unwrap();
    assert!(killed.remote_kill_succeeded);
}

#[tokio::test]
async fn a_slot_that_is_free_again_is_told() {
    assert!(kill_in_vain(&Here::new(), true).await.unwrap().capacity_released);
}

/// A state with one session of each status, two of them pending.
fn counted(here: &Here) {
    let mut manager = SessionManager::new(Some(here.state())).unwrap();
    let ids: Vec<String> =
        (0..6).map(|_| manager.create_session("m", "p", None, None, None).unwrap().session_id).collect();
    manager.start_session(&ids[0]).unwrap();
    manager.complete_session(&ids[1], 0).unwrap();
    manager.fail_session(&ids[2], "no").unwrap();
    manager.kill_session(&ids[3]).unwrap();
}

async fn counts() -> SessionCounts {
    let here = Here::new();
    counted(&here);
    here.client.remote_status(StatusOptions::default()).await.unwrap().sessions
}

#[tokio::test]
async fn running_sessions_are_counted() {
    assert_eq!(counts().await.running, 1);
}

#[tokio::test]
async fn completed_sessions_are_counted() {
    assert_eq!(counts().await.completed, 1);
}

#[tokio::test]
async fn failed_sessions_are_counted() {
    assert_eq!(counts().await.failed, 1);
}

#[tokio::test]
async fn killed_sessions_are_counted() {
    assert_eq!(counts().await.killed, 1);
}

#[tokio::test]
async fn pending_sessions_are_counted() {
    assert_eq!(counts().await.pending, 2);
}

#[tokio::test]
async fn all_sessions_are_counted() {
    let here = Here::new();
    counted(&here);
    assert_eq!(here.client.remote_status(StatusOptions::default()).await.unwrap().total_sessions, 6);
}

#[tokio::test]
async fn the_pool_is_summed_up() {
    let here = Here::new();
    started(&here, &["sleep"]).await;
    let pool = here.client.remote_status(StatusOptions::default()).await.unwrap().pool;
    assert_eq!((pool.total_vms, pool.total_capacity), (1, 4));
    assert_eq!((pool.active_sessions, pool.available_capacity), (1, 3));
    assert_eq!(pool.vms[0].name, "local");
}
