//! The six commands by a client of this machine, whose `amplihack` and agent are small programs of the test.

use std::path::{Path, PathBuf};

use amplihack_remote::{
    Backend, Client, CommandMode, ExecOptions, KillOptions, ListOptions, OutputOptions, RemoteError,
    SessionStatus, StartOptions, StatusOptions, VMOptions, VMSize,
};
use amplihack_sys::error::ErrorExplanation;
use amplihack_testkit::Sandbox;
use amplihack_testkit::procs::Sweep;

/// What runs on the far side instead of amplihack: it shows its prompt and its key, works, and ends as the prompt says.
const AMPLIHACK: &str = r#"#!/bin/sh
case $1 in --version) echo 'amplihack 0.18.0' && exit ;; esac
prompt=$(cat ../prompt)
echo "asked: $prompt"
echo "words: $*"
echo "key of ${#ANTHROPIC_API_KEY}, $NODE_OPTIONS"
case $prompt in
*sleep*) sleep 600 ;;
*commit*) echo more >>file && git commit -q -a -m more ;;
*fail*) exit 7 ;;
*wide*) head -c 6000000 /dev/zero | tr '\0' x && echo && echo last ;;
esac
"#;

pub(crate) struct Here {
    _sweep: Sweep,
    pub(crate) sandbox: Sandbox,
    pub(crate) client: Client,
}

impl Here {
    pub(crate) fn new() -> Self {
        let mut sandbox = Sandbox::repository();
        sandbox.write("work/file", "one\n");
        for args in [&["add", "."][..], &["commit", "-q", "-m", "one"]] {
            let done = sandbox.command("git").args(args).status().unwrap();
            assert!(done.success());
        }
        for (name, text) in
            [("amplihack", AMPLIHACK), ("claude", "#!/bin/sh\necho '2.1.332 (Claude Code)'\n")]
        {
            let path = sandbox.write(format!("bin/{name}"), text);
            std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        sandbox.set("AMPLIHACK_AGENT_BINARY", "claude");
        let mut client = Client::new(sandbox.env(), &sandbox.work()).unwrap();
        client.backend = Some(Backend::Local);
        let sweep = Sweep::new(sandbox.home().display().to_string());
        Self { _sweep: sweep, sandbox, client }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.sandbox.home().join(".amplihack/remote-state.json")
    }

    pub(crate) fn exec(&self, prompt: &str) -> ExecOptions {
        ExecOptions {
            repo_path: self.sandbox.work(),
            command: CommandMode::Auto,
            prompt: prompt.to_owned(),
            max_turns: 10,
            vm_options: VMOptions::default(),
            timeout_minutes: 5,
            skip_secret_scan: false,
            api_key: "sk-test".to_owned(),
        }
    }

    pub(crate) fn start(&self, prompts: &[&str]) -> StartOptions {
        StartOptions {
            repo_path: self.sandbox.work(),
            prompts: prompts.iter().map(|prompt| (*prompt).to_owned()).collect(),
            command: CommandMode::Auto,
            max_turns: 10,
            size: VMSize::L,
            region: None,
            tunnel_port: None,
            api_key: "sk-test".to_owned(),
            state_file: None,
        }
    }
}

fn refused(result: Result<impl Sized, RemoteError>, part: &str) {
    let error = result.err().unwrap_or_else(|| panic!("not refused: {part}"));
    assert!(matches!(error, RemoteError::Validation(_)), "{error:?}");
    assert!(error.to_string().contains(part), "{error} lacks {part}");
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_before_anything_is_done() {
    let here = Here::new();
    let client = &here.client;
    let plain = || here.exec("x");
    refused(client.exec(ExecOptions { prompt: " \n".into(), ..plain() }).await, "prompt is empty");
    refused(client.exec(ExecOptions { prompt: "a\0b".into(), ..plain() }).await, "NUL");
    for turns in [0, 51] {
        refused(client.exec(ExecOptions { max_turns: turns, ..plain() }).await, "not between 1 and 50");
    }
    for minutes in [4, 481] {
        refused(
            client.exec(ExecOptions { timeout_minutes: minutes, ..plain() }).await,
            "not between 5 and 480",
        );
    }
    refused(client.exec(ExecOptions { api_key: " ".into(), ..plain() }).await, "no key for claude");
    refused(client.exec(ExecOptions { command: CommandMode::Fix, ..plain() }).await, "'fix' works until");
    refused(client.start_sessions(here.start(&[])).await, "no prompt");
    refused(client.start_sessions(here.start(&["one", ""])).await, "prompt is empty");
    refused(
        client.start_sessions(StartOptions { api_key: String::new(), ..here.start(&["one"]) }).await,
        "no key",
    );
    let mut nowhere = client.clone();
    nowhere.backend = None;
    refused(nowhere.start_sessions(here.start(&["one"])).await, "local (this machine), ssh");
    assert!(!here.state().exists());
    assert!(!here.sandbox.home().join(".amplihack/remote").exists());
}

#[tokio::test]
async fn sessions_that_nobody_knows_are_not_found() {
    let here = Here::new();
    let id = "sess-20260101-000000-0001".to_owned();
    let output = OutputOptions { session_id: id.clone(), lines: 10, state_file: None };
    let kill = KillOptions { session_id: id.clone(), force: true, state_file: None };
    for error in [
        here.client.capture_output(output).await.err(),
        here.client.kill_session(kill).await.err(),
        here.client.wait_for_sessions(std::slice::from_ref(&id), false, None, None).await.err(),
        here.client.pull_results(&id, &here.sandbox.work(), false, None).await.err(),
    ] {
        let error = error.expect("an error");
        assert_eq!(error, RemoteError::SessionNotFound { session_id: id.clone() });
        assert_eq!(error.exit_kind().code(), 3);
    }
    assert!(!here.state().exists());
}

#[tokio::test]
async fn an_exec_brings_the_work_home_and_has_code_summary_and_machine() {
    let here = Here::new();
    let mut shown = Vec::new();
    let result = here
        .client
        .exec_with_output(here.exec("commit it"), None, &mut |bytes| {
            shown.extend_from_slice(bytes);
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!((result.exit_code, result.vm_name.as_deref()), (0, Some("local")));
    let summary = result.summary.expect("work");
    assert_eq!((summary.commits, summary.files_changed, summary.conflicts.len()), (1, 1, 0));
    let text = String::from_utf8(shown).unwrap();
    assert!(
        text.contains("asked: commit it\nwords: auto --task-file ../prompt --max-turns 10 --agent claude\n"),
        "{text}"
    );
    assert!(text.contains("key of 7, --max-old-space-size=32768"), "{text}");
    let sessions = here.client.list_sessions(ListOptions::default()).await.unwrap();
    assert_eq!((sessions.len(), sessions[0].status), (1, SessionStatus::Completed));
    // Nothing of it is left on the machine.
    let far = here.sandbox.home().join(".amplihack/remote/sessions");
    assert_eq!(std::fs::read_dir(far).unwrap().count(), 0);

    let failed = here.client.exec(here.exec("fail")).await.unwrap();
    assert_eq!((failed.exit_code, failed.summary), (7, None));
}

#[tokio::test]
async fn each_prompt_has_its_session_and_lists_outputs_kills_and_sums_say_so() {
    let here = Here::new();
    let client = &here.client;
    let started = client.start_sessions(here.start(&["quick", "sleep", "fail"])).await.unwrap();
    let ids: Vec<String> = started
        .rows
        .iter()
        .map(|row| {
            let session = row.outcome.as_ref().unwrap();
            assert_eq!(
                (session.prompt.as_str(), session.status),
                (row.prompt.as_str(), SessionStatus::Running)
            );
            assert_eq!(session.memory_mb, Some(32_768));
            session.session_id.clone()
        })
        .collect();
    let ended = client.wait_for_sessions(&[ids[0].clone(), ids[2].clone()], false, None, None).await.unwrap();
    assert_eq!(
        ended.sessions.iter().map(|session| session.exit_code).collect::<Vec<_>>(),
        [Some(0), Some(7)]
    );

    let of = |status| ListOptions { status, state_file: None };
    let running = client.list_sessions(of(Some(SessionStatus::Running))).await.unwrap();
    assert_eq!(running.iter().map(|session| &session.session_id).collect::<Vec<_>>(), [&ids[1]]);
    let output = OutputOptions { session_id: ids[2].clone(), lines: 1, state_file: None };
    let shown = client.capture_output(output).await.unwrap();
    assert_eq!(shown.session.status, SessionStatus::Failed);
    assert_eq!(shown.output, "key of 7, --max-old-space-size=32768\n");

    let killed = client
        .kill_session(KillOptions { session_id: ids[1].clone(), force: false, state_file: None })
        .await
        .unwrap();
    assert_eq!(killed.session.status, SessionStatus::Killed);
    assert!(killed.remote_kill_attempted && killed.remote_kill_succeeded && killed.capacity_released);
    let status = client.remote_status(StatusOptions::default()).await.unwrap();
    assert_eq!((status.total_sessions, status.pool.total_vms, status.pool.active_sessions), (3, 1, 0));
    let counts = status.sessions;
    assert_eq!(
        (counts.completed, counts.failed, counts.killed, counts.running, counts.pending),
        (1, 1, 1, 0, 0)
    );
}

#[tokio::test]
async fn the_last_lines_are_the_last_ones_however_long_they_are() {
    let here = Here::new();
    let started = here.client.start_sessions(here.start(&["wide"])).await.unwrap();
    let id = started.rows[0].outcome.as_ref().unwrap().session_id.clone();
    here.client.wait_for_sessions(std::slice::from_ref(&id), false, None, None).await.unwrap();
    let of = |lines| OutputOptions { session_id: id.clone(), lines, state_file: None };
    assert_eq!(here.client.capture_output(of(1)).await.unwrap().output, "last\n");
    let two = here.client.capture_output(of(2)).await.unwrap().output;
    assert!(two.ends_with("x\nlast\n"), "{} bytes", two.len());
    assert_eq!(two.len(), 6_000_000 + "\nlast\n".len());
    let all = here.client.capture_output(of(100)).await.unwrap().output;
    assert!(all.starts_with("asked: wide\n") && all.ends_with(&two));
}

/// A machine that is never reached.
struct Silent;

#[async_trait::async_trait]
impl amplihack_remote::RemoteCommandRunner for Silent {
    async fn azlin(&self, _: &[String]) -> Result<amplihack_remote::CommandOutput, RemoteError> {
        unreachable!("nothing is rented")
    }
    async fn connect(&self, _: &str, _: &str) -> Result<amplihack_remote::CommandOutput, RemoteError> {
        let context =
            amplihack_remote::ErrorContext::new("no route to host").with_fact("reason", "unreachable");
        Err(RemoteError::Transfer(context))
    }
    async fn transfer(&self, _: &Path, _: &str, _: &Path) -> Result<(), RemoteError> {
        unreachable!("nothing is copied")
    }
}

#[tokio::test]
async fn a_kill_that_nobody_hears_changes_nothing_unless_it_is_forced() {
    let here = Here::new();
    let started = here.client.start_sessions(here.start(&["sleep"])).await.unwrap();
    let id = started.rows[0].outcome.as_ref().unwrap().session_id.clone();
    let mut cut = here.client.clone();
    cut.runner = Some(std::sync::Arc::new(Silent));
    let before = std::fs::read(here.state()).unwrap();
    let options = |force| KillOptions { session_id: id.clone(), force, state_file: None };
    let error = cut.kill_session(options(false)).await.unwrap_err();
    assert_eq!(error.get_fact("reason"), Some("unreachable"));
    assert!(error.hint().unwrap().contains("--force"), "{:?}", error.hint());
    assert_eq!(std::fs::read(here.state()).unwrap(), before);

    let forced = cut.kill_session(options(true)).await.unwrap();
    assert_eq!(forced.session.status, SessionStatus::Killed);
    assert!(forced.remote_kill_attempted && !forced.remote_kill_succeeded && forced.capacity_released);
    // When the machine answers, what still runs there is ended.
    here.client.refresh_sessions(None).await.unwrap();
    let listing = here.client.session_listing(&ListOptions::default()).unwrap();
    assert_eq!(listing.unsettled, Vec::<String>::new());
}

/// A runner that notes down what it is asked, and answers nothing that helps.
#[derive(Default)]
struct Noting(std::sync::Mutex<Vec<String>>);

#[async_trait::async_trait]
impl amplihack_remote::RemoteCommandRunner for Noting {
    async fn azlin(&self, args: &[String]) -> Result<amplihack_remote::CommandOutput, RemoteError> {
        self.0.lock().unwrap().push(args.join(" "));
        Err(RemoteError::Provisioning("no azlin".into()))
    }
    async fn connect(&self, vm: &str, _: &str) -> Result<amplihack_remote::CommandOutput, RemoteError> {
        self.0.lock().unwrap().push(vm.to_owned());
        Err(RemoteError::Transfer("no answer".into()))
    }
    async fn transfer(&self, _: &Path, vm: &str, _: &Path) -> Result<(), RemoteError> {
        self.0.lock().unwrap().push(vm.to_owned());
        Err(RemoteError::Transfer("no answer".into()))
    }
}

#[tokio::test]
async fn a_forced_kill_asks_a_machine_that_is_known_and_says_whether_it_did() {
    for known in [true, false] {
        let here = Here::new();
        let started = here.client.start_sessions(here.start(&["sleep"])).await.unwrap();
        let id = started.rows[0].outcome.as_ref().unwrap().session_id.clone();
        if !known {
            amplihack_remote::state_lock::with_lock(&here.state(), |state| {
                state.vm_pool.clear();
                Ok(())
            })
            .unwrap();
        }
        let runner = std::sync::Arc::new(Noting::default());
        let mut client = here.client.clone();
        client.runner = Some(std::sync::Arc::clone(&runner) as _);
        let options = |force| KillOptions { session_id: id.clone(), force, state_file: None };
        let before = std::fs::read(here.state()).unwrap();
        client.kill_session(options(false)).await.unwrap_err();
        assert_eq!(std::fs::read(here.state()).unwrap(), before);
        runner.0.lock().unwrap().clear();
        let killed = client.kill_session(options(true)).await.unwrap();
        let calls = std::mem::take(&mut *runner.0.lock().unwrap());
        assert_eq!(killed.session.status, SessionStatus::Killed);
        assert_eq!((killed.remote_kill_attempted, !calls.is_empty()), (known, known), "{calls:?}");
        assert_eq!((killed.remote_kill_succeeded, killed.capacity_released), (false, known));
        // Nobody saw its end.
        let listing = client.session_listing(&ListOptions::default()).unwrap();
        assert_eq!(listing.unsettled.len(), 1, "{:?}", listing.unsettled);
    }
}

#[tokio::test]
async fn a_repository_that_is_not_there_is_refused_before_anything_is_done() {
    let here = Here::new();
    let missing = here.sandbox.root().join("missing");
    let plain = here.sandbox.root().join("plain");
    std::fs::create_dir(&plain).unwrap();
    let runner = std::sync::Arc::new(Noting::default());
    let mut client = here.client.clone();
    client.runner = Some(std::sync::Arc::clone(&runner) as _);
    for (repo_path, why) in
        [(missing, "missing is not a directory"), (plain, "plain is in no git repository")]
    {
        refused(client.exec(ExecOptions { repo_path: repo_path.clone(), ..here.exec("x") }).await, why);
        refused(client.start_sessions(StartOptions { repo_path, ..here.start(&["x"]) }).await, why);
    }
    assert_eq!(*runner.0.lock().unwrap(), Vec::<String>::new());
    assert!(!here.sandbox.home().join(".amplihack").exists());
}

#[tokio::test]
async fn what_came_to_run_although_it_was_given_up_is_ended_and_said_to_have_been() {
    let here = Here::new();
    let started = here.client.start_sessions(here.start(&["sleep"])).await.unwrap();
    let id = started.rows[0].outcome.as_ref().unwrap().session_id.clone();
    let setup = here.sandbox.home().join(format!(".amplihack/remote/sessions/{id}/started"));
    while !setup.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    // As a look leaves it that came between a killed client and what that had sent.
    amplihack_remote::state_lock::with_lock(&here.state(), |state| {
        state.mark_failed(&id, "its machine had not claimed it", jiff::Timestamp::now())?;
        let record = state.session_mut(&id)?;
        record.phase = Some(amplihack_remote::state::StartPhase::Sent);
        record.end_unconfirmed = true;
        Ok(())
    })
    .unwrap();
    here.client.refresh_sessions(None).await.unwrap();
    let listing = here.client.session_listing(&ListOptions::default()).unwrap();
    let session = &listing.rows[0].session;
    assert_eq!((session.status, session.exit_code), (SessionStatus::Killed, Some(143)), "{session:?}");
    assert_eq!(listing.unsettled, Vec::<String>::new());
}

#[test]
fn facts_of_an_error_are_in_order() {
    let context =
        amplihack_remote::ErrorContext::new("m").with_fact("b", 2).with_fact("a", 1).with_fact("c", 3);
    let facts: Vec<String> = context.context.keys().cloned().collect();
    assert_eq!(facts, ["a", "b", "c"]);
    assert_eq!(RemoteError::Transfer(context).facts().into_values().collect::<Vec<_>>(), ["1", "2", "3"]);
}
