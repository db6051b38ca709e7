//! Runs of a fake CLI: what is started when, what is read, what is left.

use std::time::{Duration, Instant};

use amp_sdk::{AmpPrompt, ContentBlock, Options, StreamMessage, ToolOutput, create_user_message, execute};
use amplihack_testkit::procs::assert_none_soon;

use crate::fake::{Fake, INIT, RESULT, block_on, drain};

/// Waits until nothing of this fake runs; at most two seconds. All that comes of it has its directory in the environment.
pub(crate) fn nothing_left(fake: &Fake) {
    assert_none_soon(fake.dir.path().to_str().unwrap(), Duration::from_secs(2));
}

#[test]
fn nothing_starts_before_the_first_poll() {
    let fake = Fake::new(&format!("touch \"$AMP_TEST_DIR/started\"; {RESULT}"));
    block_on(async {
        let mut stream = execute("x", fake.options());
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!fake.path("started").exists());
        assert!(stream.next().await.unwrap().unwrap().is_final());
        assert!(fake.path("started").exists());
        assert!(stream.next().await.is_none() && stream.next().await.is_none());
        assert_eq!(stream.end().unwrap().exit_code(), Some(0));
    });
    // Not even a check, and no panic without a runtime.
    drop(execute("", Options::default().with_stream_timeout_ms(0)));
}

#[test]
fn a_dropped_stream_leaves_nothing() {
    let fake = Fake::new(&format!("{INIT}; (setsid sleep 60 &) ; sleep 60 & trap '' INT TERM; sleep 60"));
    block_on(async {
        let mut stream = execute("x", fake.options());
        stream.next().await.unwrap().unwrap();
        assert!(stream.pid().is_some());
    });
    nothing_left(&fake);
}

#[test]
fn noise_is_told_and_the_stream_goes_on() {
    let fake = Fake::new(&format!(
        "{INIT}; echo 'npm warn'; echo 'null'; echo '{{\"a\":1}}'; echo; printf '   \\r\\n'; {RESULT}"
    ));
    let (messages, error) = block_on(async { drain(&mut execute("x", fake.options())).await });
    assert!(error.is_none());
    let told: Vec<String> = messages
        .iter()
        .map(|message| match message {
            StreamMessage::Diagnostic(told) => format!("{}: {}", told.error.cause(), told.line),
            other => other.kind().to_owned(),
        })
        .collect();
    assert_eq!(
        told,
        ["system", "not_json: npm warn", "not_an_object: null", "missing_type_field: {\"a\":1}", "result"]
    );
    let strict = fake.options().with_strict(true);
    let (messages, error) = block_on(async { drain(&mut execute("x", strict)).await });
    assert_eq!((messages.len(), error.unwrap().kind()), (1, "parse_error"));
    nothing_left(&fake);
}

#[test]
fn a_line_of_megabytes_arrives_whole() {
    let body = format!(
        r#"printf '{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"'
head -c 20000000 /dev/zero | tr '\0' e
printf '"}}]}},"session_id":"T"}}\n'; {RESULT}"#
    );
    let fake = Fake::new(&body);
    let started = Instant::now();
    let (messages, error) = block_on(async { drain(&mut execute("x", fake.options())).await });
    assert!(error.is_none(), "{error:?}");
    let StreamMessage::User(user) = &messages[0] else { panic!("{messages:?}") };
    let ContentBlock::ToolResult(result) = &user.message.content[0] else { panic!() };
    let ToolOutput::Text(text) = &result.content else { panic!() };
    assert_eq!(text.len(), 20_000_000);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn a_slow_reader_holds_the_cli_up_and_is_no_silence() {
    let body = format!(
        "{INIT}; i=0; while [ $i -lt 4000 ]; do echo '{{\"type\":\"x\",\"pad\":\"{}\"}}'; i=$((i+1)); done; touch \"$AMP_TEST_DIR/done\"; {RESULT}",
        "p".repeat(200)
    );
    let fake = Fake::new(&body);
    let options = fake.options().with_stream_timeout_ms(300);
    block_on(async {
        let mut stream = execute("x", options);
        stream.next().await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert!(!fake.path("done").exists(), "the CLI wrote all of it although nobody reads");
        let (messages, error) = drain(&mut stream).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(messages.len(), 4001);
    });
}

#[test]
fn messages_reach_the_cli_as_lines() {
    let fake = Fake::new(&format!(
        "printf '%s ' \"$@\" >\"$AMP_TEST_DIR/argv\"; cat >\"$AMP_TEST_DIR/stdin\"; {INIT}; {RESULT}"
    ));
    let messages = vec![create_user_message("first"), create_user_message("second\nline")];
    let options = fake.options().with_thinking(true);
    assert_eq!(block_on(amp_sdk::run(messages.clone(), options)).unwrap(), "ok");
    assert_eq!(fake.read("argv"), "--execute --stream-json-thinking --stream-json-input ");
    let lines: Vec<String> = messages.iter().map(|message| message.to_value().to_string()).collect();
    assert_eq!(fake.read("stdin"), lines.join("\n") + "\n");
}

#[test]
fn the_environment_is_what_was_given() {
    let fake = Fake::new(&format!(
        "cat >/dev/null; env | sort >\"$AMP_TEST_DIR/env\"; pwd >\"$AMP_TEST_DIR/cwd\"; {RESULT}"
    ));
    let options =
        fake.options().with_env([("AMP_URL", "http://u")]).with_toolbox("/tools").with_cwd(fake.path("home"));
    block_on(amp_sdk::run("x", options)).unwrap();
    let env = fake.read("env");
    let names: Vec<&str> =
        env.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert!(!env.contains("ambient"), "{env}");
    for name in
        ["AMPLIHACK_SESSION_ID", "AMP_SDK_VERSION", "AMP_TOOLBOX", "AMP_URL", "AMP_TEST_DIR", "HOME", "PATH"]
    {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    assert!(!names.contains(&"AMP_API_KEY"), "{names:?}");
    assert_eq!(fake.read("cwd").trim(), fake.path("home").to_str().unwrap());
}

#[test]
fn programs_without_a_runtime_do_the_same() {
    let fake = Fake::new(&format!("{INIT}; cat >/dev/null; {RESULT}"));
    assert_eq!(amp_sdk::blocking::run("x", fake.options()).unwrap(), "ok");
    let mut messages = amp_sdk::blocking::execute("x", fake.options());
    let kinds: Vec<String> = messages.by_ref().map(|message| message.unwrap().kind().to_owned()).collect();
    assert_eq!(kinds, ["system", "result"]);
    assert_eq!(messages.end().unwrap().exit_code(), Some(0));
    // Within a runtime too.
    let inside = block_on(async { amp_sdk::blocking::run("x", fake.options()) });
    assert_eq!(inside.unwrap(), "ok");
    let error = amp_sdk::blocking::execute("", fake.options()).next().unwrap().unwrap_err();
    assert_eq!(error.kind(), "invalid_configuration");
    // A dropped iterator ends its CLI, whether it waits for the reader or for the CLI.
    for body in [format!("{INIT}; {INIT}; {INIT}; sleep 60"), format!("{INIT}; sleep 60")] {
        let fake = Fake::new(&body);
        let mut messages = amp_sdk::blocking::execute("x", fake.options());
        messages.next().unwrap().unwrap();
        let dropped = Instant::now();
        drop(messages);
        assert!(dropped.elapsed() < Duration::from_secs(30), "{:?}", dropped.elapsed());
        nothing_left(&fake);
    }
}

#[test]
fn many_runs_at_once_end_and_leave_nothing() {
    let runs = if amplihack_testkit::long() { 500 } else { 60 };
    let fake = Fake::new(&format!("{INIT}; sleep 0.1; cat >/dev/null; {RESULT}"));
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    // What is made once: the spawning and the reaping thread.
    block_on(amp_sdk::run("x", fake.options())).unwrap();
    let (before, most) = (descriptors(), threads() + 8);
    block_on(async {
        let handles: Vec<_> =
            (0..runs).map(|_| tokio::spawn(amp_sdk::run(AmpPrompt::from("x"), fake.options()))).collect();
        for handle in handles {
            assert_eq!(handle.await.unwrap().unwrap(), "ok");
            assert!(threads() <= most, "{} threads", threads());
        }
    });
    assert!(descriptors() <= before + 2, "{} descriptors, {before} before", descriptors());
    assert_eq!(fake.left(), 0);
    nothing_left(&fake);
}

#[test]
fn the_version_is_asked_for_once_and_decides() {
    let fake =
        Fake::new("echo x >>\"$AMP_TEST_DIR/asked\"; echo '0.0.1700000000-gabc (released 2023-11-14)'");
    let version = block_on(amp_sdk::version::probe_version(&fake.options())).unwrap();
    assert_eq!(version.to_string(), "0.0.1700000000-gabc");
    assert_eq!(block_on(amp_sdk::version::probe_version(&fake.options())).unwrap(), version);
    assert_eq!(fake.read("asked"), "x\n");
    let public = |cli_version| {
        let mut options = fake.options().with_visibility("public");
        options.cli_version = cli_version;
        amp_sdk::plan_run(&"x".into(), &options).unwrap().argv.last().unwrap().clone()
    };
    assert_eq!((public(Some(version)), public(None)), ("public".into(), "unlisted".into()));
    let silent = Fake::new("echo hello");
    assert_eq!(
        block_on(amp_sdk::version::probe_version(&silent.options())).unwrap_err().kind(),
        "parse_error"
    );
    let broken = Fake::new("echo 'amp: not found' >&2; exit 127");
    assert_eq!(
        block_on(amp_sdk::version::probe_version(&broken.options())).unwrap_err().kind(),
        "cli_not_found"
    );
}

#[test]
fn threads_are_past_sessions() {
    let fake = Fake::new(
        r#"echo '[{"id":"T-1","title":"a  b","updated":"2026-11-01T00:00:00Z","messageCount":3}]'"#,
    );
    let amp = amp_sdk::AmpContext::from(fake.options());
    let which = amp_sdk::threads::ThreadListOptions::default();
    let sessions = block_on(amp_sdk::runtime::list_provider_sessions(&amp, &which)).unwrap();
    let [session] = &sessions[..] else { panic!("{sessions:?}") };
    assert_eq!(
        (session.id.as_str(), session.label.as_str(), session.source_kind),
        ("T-1", "a  b", "thread_history")
    );
    assert_eq!(session.updated_at.as_deref(), Some("2026-11-01T00:00:00Z"));
    assert_eq!(session.metadata["messages"], 3);
    assert_eq!(amp_sdk::runtime::blocking::list_provider_sessions(&amp, &which).unwrap(), sessions);
    let names = amp_sdk::runtime::capabilities().map(amp_sdk::runtime::SessionCapability::as_str);
    assert_eq!(names, ["session_history", "session_resume", "session_pause", "session_intervene"]);
}
