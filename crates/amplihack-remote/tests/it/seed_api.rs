//! The published page of the API, word for word: what it shows compiles, and holds.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use amplihack_remote::{
    CommandMode, CommandOutput, ErrorContext, ExecOptions, IntegrationSummary, KillOptions, KillResult,
    ListOptions, OutputOptions, PoolStatus, RemoteCommandRunner, RemoteError, RemoteStatus, Session,
    SessionCounts, SessionManager, SessionOutput, SessionStatus, StartOptions, StartResult, StatusOptions,
    VMOptions, VMSize, WorkflowResult,
};
use async_trait::async_trait;

/// The page's first example.
async fn run_remote(repo: PathBuf, api_key: String) -> Result<(), RemoteError> {
    let result = amplihack_remote::exec(ExecOptions {
        repo_path: repo,
        command: CommandMode::Auto,
        prompt: "implement remote list JSON output".to_string(),
        max_turns: 10,
        vm_options: VMOptions::default(),
        timeout_minutes: 120,
        skip_secret_scan: false,
        api_key,
    })
    .await?;
    assert_eq!(result.exit_code, 0);
    Ok(())
}

/// Nothing of this is run: that it compiles says that each function and struct is as the page shows it.
#[expect(dead_code, reason = "compiled only")]
async fn the_other_commands(state: Option<PathBuf>) -> Result<(), RemoteError> {
    let StartResult { sessions } = amplihack_remote::start_sessions(StartOptions {
        repo_path: PathBuf::from("."),
        prompts: vec!["one".to_string()],
        command: "ultrathink".parse::<CommandMode>().expect("a mode"),
        max_turns: 10,
        size: VMSize::L,
        region: None,
        tunnel_port: None,
        api_key: String::new(),
        state_file: state.clone(),
    })
    .await?;
    let first: &Session = &sessions[0];
    let listed: Vec<Session> = amplihack_remote::list_sessions(ListOptions {
        status: Some(SessionStatus::Running),
        state_file: state.clone(),
    })
    .await?;
    let SessionOutput { session, output } = amplihack_remote::capture_output(OutputOptions {
        session_id: first.session_id.clone(),
        lines: 100,
        state_file: state.clone(),
    })
    .await?;
    let _: (Vec<Session>, Session, String) = (listed, session, output);
    let KillResult { session, remote_kill_attempted, remote_kill_succeeded, capacity_released } =
        amplihack_remote::kill_session(KillOptions {
            session_id: first.session_id.clone(),
            force: true,
            state_file: state.clone(),
        })
        .await?;
    let _: (Session, bool, bool, bool) =
        (session, remote_kill_attempted, remote_kill_succeeded, capacity_released);
    let RemoteStatus { pool, sessions, total_sessions } =
        amplihack_remote::status(StatusOptions { state_file: state }).await?;
    let PoolStatus { total_vms, total_capacity, active_sessions, available_capacity, vms } = pool;
    let SessionCounts { running, completed, failed, killed, pending } = sessions;
    let _ = (total_vms + total_capacity + active_sessions + available_capacity, vms);
    let _: usize = running + completed + failed + killed + pending + total_sessions;
    let WorkflowResult { exit_code, summary, vm_name } =
        amplihack_remote::execute_remote_workflow(ExecOptions {
            repo_path: PathBuf::from("."),
            command: CommandMode::Fix,
            prompt: "x".to_string(),
            max_turns: 1,
            vm_options: VMOptions {
                size: "Standard_D2s_v3".to_string(),
                region: Some("eastus".to_string()),
                vm_name: None,
                no_reuse: false,
                keep_vm: true,
                tunnel_port: Some(2222),
                azlin_extra_args: vec!["--public".to_string()],
            },
            timeout_minutes: 5,
            skip_secret_scan: true,
            api_key: String::new(),
        })
        .await?;
    let _: (i32, Option<String>) = (exit_code, vm_name);
    let Some(IntegrationSummary { branches, commits, files_changed, conflicts }) = summary else {
        return Ok(());
    };
    let _ = (branches.len() + conflicts.len(), commits + files_changed);
    Ok(())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn an_exec_without_a_key_is_refused_before_anything_is_done() {
    let nowhere = tempfile::tempdir().unwrap();
    let error = block_on(run_remote(nowhere.path().to_path_buf(), String::new())).unwrap_err();
    assert!(matches!(error, RemoteError::Validation(_)), "{error:?}");
    assert_eq!(std::fs::read_dir(nowhere.path()).unwrap().count(), 0);
}

#[test]
fn modes_and_tiers_are_those_of_the_page() {
    for (word, mode) in [
        ("auto", CommandMode::Auto),
        ("ultrathink", CommandMode::Ultrathink),
        ("analyze", CommandMode::Analyze),
        ("fix", CommandMode::Fix),
    ] {
        assert_eq!(word.parse::<CommandMode>().unwrap(), mode);
        assert_eq!(mode.to_string(), word);
    }
    assert!("destroy".parse::<CommandMode>().is_err());
    let size = VMSize::L;
    assert_eq!(size.capacity(), 4);
    assert_eq!(size.azure_size(), "Standard_E16s_v5");
    assert_eq!(
        [VMSize::S, VMSize::M, VMSize::XL].map(|size| (size.azure_size(), size.capacity())),
        [("Standard_D8s_v3", 1), ("Standard_E8s_v5", 2), ("Standard_E32s_v5", 8)]
    );
}

#[test]
fn a_manager_keeps_sessions_in_the_documented_form() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("state/remote-state.json");
    let mut manager = SessionManager::new(Some(file.clone())).unwrap();
    // The document's own example, here for its form and in `state.rs` for what it does.
    let session = manager
        .create_session(
            "amplihack-azureuser-20260502",
            "implement remote status JSON",
            Some("auto"),
            Some(10),
            Some(32_768),
        )
        .unwrap();
    assert_eq!(session.status, SessionStatus::Pending);
    manager.start_session(&session.session_id).unwrap();

    let kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let one = &kept["sessions"][&session.session_id];
    assert_eq!(one["status"], "running");
    assert_eq!(one["memory_mb"], 32_768);
    assert_eq!(one["command"], "auto");
    assert_eq!(one["tmux_session"], session.session_id.as_str());
}

#[test]
fn errors_map_to_the_documented_codes() {
    use amplihack_sys::error::ErrorExplanation;
    let context = || ErrorContext::new("why");
    for error in [
        RemoteError::Packaging(context()),
        RemoteError::Provisioning(context()),
        RemoteError::Transfer(context()),
        RemoteError::Execution(context()),
        RemoteError::Integration(context()),
        RemoteError::Cleanup(context()),
        RemoteError::Validation(context()),
    ] {
        assert_eq!(error.exit_kind().code(), 1, "{error}");
        assert!(error.to_string().contains("why"));
    }
    let missing = RemoteError::SessionNotFound { session_id: "sess-20260502-030405-00ff".to_string() };
    assert_eq!(missing.exit_kind().code(), 3);
}

/// A runner in memory, as the page has it for tests.
#[derive(Default)]
struct InMemory {
    calls: Mutex<Vec<String>>,
    answers: Mutex<VecDeque<CommandOutput>>,
}

#[async_trait]
impl RemoteCommandRunner for InMemory {
    async fn azlin(&self, args: &[String]) -> Result<CommandOutput, RemoteError> {
        self.calls.lock().unwrap().push(format!("azlin {}", args.join(" ")));
        Ok(self.answers.lock().unwrap().pop_front().unwrap_or_default())
    }

    async fn connect(&self, vm_name: &str, command: &str) -> Result<CommandOutput, RemoteError> {
        self.calls.lock().unwrap().push(format!("connect {vm_name} {command}"));
        Ok(self.answers.lock().unwrap().pop_front().unwrap_or_default())
    }

    async fn transfer(&self, source: &Path, vm_name: &str, destination: &Path) -> Result<(), RemoteError> {
        let call = format!("transfer {} {vm_name} {}", source.display(), destination.display());
        self.calls.lock().unwrap().push(call);
        Ok(())
    }
}

#[test]
fn a_runner_of_three_functions_is_enough() {
    let runner = InMemory::default();
    runner.answers.lock().unwrap().push_back(CommandOutput {
        status: 0,
        stdout: "done\n".to_string(),
        stderr: String::new(),
    });
    let home = tempfile::tempdir().unwrap();
    let (input, output) = (home.path().join("in"), home.path().join("out"));
    std::fs::write(&input, "x").unwrap();
    let shared: Arc<dyn RemoteCommandRunner> = Arc::new(runner);
    let answer = block_on(shared.run_piped("vm", "cat", Some(&input), Some(&output))).unwrap();
    assert_eq!(answer.status, 0);
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "done\n");
}
