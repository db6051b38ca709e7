//! What options may hold: refused by its rule, before anything is done.

use amplihack_remote::{
    CommandMode, ExecOptions, KillOptions, OutputOptions, RemoteError, SessionManager, StartOptions, VMSize,
};

use crate::client::Here;

fn is_refused<T>(result: Result<T, RemoteError>, part: &str) {
    let error = result.err().unwrap_or_else(|| panic!("not refused: {part}"));
    assert!(matches!(error, RemoteError::Validation(_)) && error.to_string().contains(part), "{error:?}");
}

#[tokio::test]
async fn an_empty_prompt_is_refused() {
    let here = Here::new();
    for prompt in ["", " \n\t"] {
        is_refused(here.client.exec(here.exec(prompt)).await, "prompt is empty");
    }
}

#[test]
fn a_command_is_one_of_four() {
    for word in ["destroy", "", "AUTO", "auto "] {
        assert!(word.parse::<CommandMode>().is_err(), "{word:?}");
    }
}

fn read(word: &str, mode: CommandMode) {
    assert_eq!(word.parse::<CommandMode>(), Ok(mode));
}

#[test]
fn auto_is_a_command() {
    read("auto", CommandMode::Auto);
}

#[test]
fn ultrathink_is_a_command() {
    read("ultrathink", CommandMode::Ultrathink);
}

#[test]
fn analyze_is_a_command() {
    read("analyze", CommandMode::Analyze);
}

#[test]
fn fix_is_a_command() {
    read("fix", CommandMode::Fix);
}

#[test]
fn commands_are_shown_by_the_words_of_the_command_line() {
    assert_eq!(CommandMode::ALL.map(|mode| mode.to_string()), ["auto", "ultrathink", "analyze", "fix"]);
}

#[tokio::test]
async fn at_least_one_turn_is_asked_for() {
    let here = Here::new();
    is_refused(here.client.exec(ExecOptions { max_turns: 0, ..here.exec("x") }).await, "between 1 and 50");
}

#[tokio::test]
async fn at_most_fifty_turns_are_asked_for() {
    let here = Here::new();
    is_refused(here.client.exec(ExecOptions { max_turns: 51, ..here.exec("x") }).await, "between 1 and 50");
}

#[tokio::test]
async fn a_timeout_has_at_least_five_minutes() {
    let here = Here::new();
    is_refused(
        here.client.exec(ExecOptions { timeout_minutes: 4, ..here.exec("x") }).await,
        "between 5 and 480",
    );
}

#[tokio::test]
async fn a_timeout_has_at_most_480_minutes() {
    let here = Here::new();
    is_refused(
        here.client.exec(ExecOptions { timeout_minutes: 481, ..here.exec("x") }).await,
        "between 5 and 480",
    );
}

/// Nothing was packaged, claimed or written down.
fn untouched(here: &Here) {
    assert!(!here.sandbox.home().join(".amplihack").exists());
}

#[tokio::test]
async fn an_exec_needs_a_key_before_anything_is_done() {
    let here = Here::new();
    is_refused(here.client.exec(ExecOptions { api_key: " ".into(), ..here.exec("x") }).await, "no key");
    untouched(&here);
}

#[tokio::test]
async fn a_start_needs_a_key_before_anything_is_done() {
    let here = Here::new();
    is_refused(
        here.client.start_sessions(StartOptions { api_key: String::new(), ..here.start(&["x"]) }).await,
        "no key",
    );
    untouched(&here);
}

#[tokio::test]
async fn a_start_needs_a_prompt() {
    let here = Here::new();
    is_refused(here.client.start_sessions(here.start(&[])).await, "no prompt");
}

#[tokio::test]
async fn all_prompts_are_looked_at_before_anything_is_done() {
    let here = Here::new();
    is_refused(here.client.start_sessions(here.start(&["one", "two", " "])).await, "prompt is empty");
    untouched(&here);
}

#[tokio::test]
async fn a_refusal_changes_no_state() {
    let here = Here::new();
    is_refused(here.client.exec(here.exec(" ")).await, "prompt is empty");
    is_refused(here.client.start_sessions(here.start(&[" "])).await, "prompt is empty");
    assert!(!here.state().exists());
    SessionManager::new(Some(here.state())).unwrap().create_session("m", "p", None, None, None).unwrap();
    let before = std::fs::read(here.state()).unwrap();
    is_refused(here.client.start_sessions(here.start(&["one", ""])).await, "prompt is empty");
    assert_eq!(std::fs::read(here.state()).unwrap(), before);
}

#[tokio::test]
async fn a_repository_that_is_missing_is_refused_first() {
    let here = Here::new();
    let repo_path = here.sandbox.root().join("missing");
    is_refused(
        here.client.exec(ExecOptions { repo_path, ..here.exec("x") }).await,
        "missing is not a directory",
    );
    untouched(&here);
}

const NOBODY: &str = "sess-20260101-000000-0001";

#[tokio::test]
async fn the_output_of_an_unknown_session_is_an_error() {
    let output = OutputOptions { session_id: NOBODY.to_owned(), lines: 1, state_file: None };
    let error = Here::new().client.capture_output(output).await.unwrap_err();
    assert_eq!(error, RemoteError::SessionNotFound { session_id: NOBODY.to_owned() });
}

#[tokio::test]
async fn a_kill_of_an_unknown_session_is_an_error() {
    let kill = KillOptions { session_id: NOBODY.to_owned(), force: true, state_file: None };
    let error = Here::new().client.kill_session(kill).await.unwrap_err();
    assert_eq!(error, RemoteError::SessionNotFound { session_id: NOBODY.to_owned() });
}

fn tier(size: VMSize, sku: &str, capacity: usize) {
    assert_eq!((size.azure_size(), size.capacity()), (sku, capacity));
}

#[test]
fn s_is_one_session() {
    tier(VMSize::S, "Standard_D8s_v3", 1);
}

#[test]
fn m_is_two_sessions() {
    tier(VMSize::M, "Standard_E8s_v5", 2);
}

#[test]
fn l_is_four_sessions() {
    tier(VMSize::L, "Standard_E16s_v5", 4);
}

#[test]
fn xl_is_eight_sessions() {
    tier(VMSize::XL, "Standard_E32s_v5", 8);
}
