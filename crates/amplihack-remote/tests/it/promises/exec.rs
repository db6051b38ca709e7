//! One prompt from the package to the results.

use amplihack_remote::{CommandMode, ExecOptions, RemoteError, WorkflowResult};

use crate::client::Here;

/// An exec of this prompt, and what its session wrote.
async fn shown(here: &Here, options: ExecOptions) -> (WorkflowResult, String) {
    let mut bytes = Vec::new();
    let mut show = |part: &[u8]| {
        bytes.extend_from_slice(part);
        Ok(())
    };
    let result = here.client.exec_with_output(options, None, &mut show).await.unwrap();
    (result, String::from_utf8(bytes).unwrap())
}

/// Commits a file that looks like a credential.
fn leak(here: &Here) {
    here.sandbox.write("work/key", concat!("token = \"ghp", "_Zk3vQ9xT1bN7mWc5RfY2LhPdSe8UaJ4oGi6K\"\n"));
    for args in [&["add", "."][..], &["commit", "-q", "-m", "key"]] {
        assert!(here.sandbox.command("git").args(args).status().unwrap().success());
    }
}

#[tokio::test]
async fn a_secret_in_what_would_be_sent_stops_it() {
    let here = Here::new();
    leak(&here);
    let error = here.client.exec(here.exec("x")).await.unwrap_err();
    assert!(matches!(error, RemoteError::Packaging(_)), "{error:?}");
    assert_eq!(error.get_fact("reason"), Some("secrets"));
}

#[tokio::test]
async fn the_search_for_secrets_is_left_out_on_request() {
    let here = Here::new();
    leak(&here);
    let options = ExecOptions { skip_secret_scan: true, ..here.exec("x") };
    assert_eq!(here.client.exec(options).await.unwrap().exit_code, 0);
}

#[tokio::test]
async fn the_context_is_transferred() {
    let here = Here::new();
    let result = here.client.exec(here.exec("commit it")).await.unwrap();
    assert_eq!(result.summary.expect("work").commits, 1);
}

#[tokio::test]
async fn the_command_runs_there_with_its_turns() {
    let here = Here::new();
    let (_, text) = shown(&here, ExecOptions { max_turns: 7, ..here.exec("do it") }).await;
    assert!(text.contains("words: auto --task-file ../prompt --max-turns 7 --agent claude\n"), "{text}");
}

#[tokio::test]
async fn turns_reach_the_command() {
    let here = Here::new();
    let (_, text) = shown(&here, ExecOptions { max_turns: 7, ..here.exec("do it") }).await;
    assert!(text.contains("--max-turns 7 "), "{text}");
}

#[tokio::test]
async fn the_log_comes_here() {
    let here = Here::new();
    let (_, text) = shown(&here, here.exec("do it")).await;
    assert!(text.contains("asked: do it\n"), "{text}");
}

#[tokio::test]
async fn the_state_of_git_comes_into_the_repository() {
    let here = Here::new();
    here.client.exec(here.exec("commit it")).await.unwrap();
    let refs = here.sandbox.run("git", ["for-each-ref", "--format=%(refname)", "refs/remotes/remote-exec/"]);
    assert_eq!(refs.stdout_text().lines().count(), 1, "{refs}");
}

#[tokio::test]
async fn a_result_has_the_exit_code() {
    let here = Here::new();
    assert_eq!(here.client.exec(here.exec("fail")).await.unwrap().exit_code, 7);
}

#[tokio::test]
async fn a_result_has_the_summary() {
    let here = Here::new();
    let summary = here.client.exec(here.exec("commit it")).await.unwrap().summary.expect("a summary");
    assert_eq!((summary.branches.len(), summary.commits, summary.files_changed), (1, 1, 1));
}

#[tokio::test]
async fn a_result_has_the_machine() {
    let here = Here::new();
    assert_eq!(here.client.exec(here.exec("x")).await.unwrap().vm_name.as_deref(), Some("local"));
}

#[tokio::test]
async fn the_limit_of_time_is_that_of_the_session() {
    let here = Here::new();
    // What limits the session there is in what it was given.
    let watched = here.sandbox.home().join(".amplihack/remote/sessions");
    let look = tokio::spawn(async move {
        loop {
            for session in std::fs::read_dir(&watched).into_iter().flatten().flatten() {
                if let Ok(text) = std::fs::read_to_string(session.path().join("timeout")) {
                    return text;
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    });
    here.client.exec(ExecOptions { timeout_minutes: 6, ..here.exec("x") }).await.unwrap();
    let limit = tokio::time::timeout(std::time::Duration::from_secs(5), look).await;
    assert_eq!(limit.expect("a limit").unwrap().trim(), "360");
}

#[tokio::test]
async fn the_earlier_name_does_the_same() {
    let here = Here::new();
    let options = || ExecOptions { command: CommandMode::Auto, prompt: String::new(), ..here.exec("x") };
    let (one, other) =
        (amplihack_remote::exec(options()).await, amplihack_remote::execute_remote_workflow(options()).await);
    assert_eq!(one.unwrap_err(), other.unwrap_err());
}
