//! The stream of a run: when it starts, what it gives when, how it ends.

use amp_sdk::{StreamMessage, execute};

use crate::fake::{Fake, INIT, RESULT, block_on, drain};
use crate::runs::nothing_left;

const FAILED: &str = r#"echo '{"type":"result","subtype":"error_during_execution","is_error":true,"error":"boom","duration_ms":1,"num_turns":1,"session_id":"T-1","permission_denials":["Bash: rm -rf /"]}'"#;

fn kinds(body: &str) -> (Vec<String>, Option<amp_sdk::Error>) {
    let fake = Fake::new(body);
    let (messages, error) = block_on(async { drain(&mut execute("x", fake.options())).await });
    (messages.iter().map(|message| message.kind().to_owned()).collect(), error)
}

#[test]
fn messages_come_while_the_cli_works() {
    // The CLI goes on only after its first message was read.
    let fake = Fake::new(&format!(
        "{INIT}; i=0; until [ -e \"$AMP_TEST_DIR/go\" ]; do i=$((i+1)); [ $i -gt 100 ] && exit 7; sleep 0.05; done; {RESULT}"
    ));
    block_on(async {
        let mut stream = execute("x", fake.options());
        assert_eq!(stream.next().await.unwrap().unwrap().kind(), "system");
        std::fs::write(fake.path("go"), "").unwrap();
        assert!(stream.next().await.unwrap().unwrap().is_final());
    });
}

#[test]
fn a_run_gives_the_text_of_its_result() {
    let result = r#"printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"result":"  two\n lines \n","duration_ms":1,"num_turns":1}'"#;
    let fake =
        Fake::new(&format!("cat >/dev/null; {INIT}; {result}; sleep 0.3; touch \"$AMP_TEST_DIR/ended\""));
    assert_eq!(block_on(amp_sdk::run("x", fake.options())).unwrap(), "  two\n lines \n");
    // It waited for the CLI's end.
    assert!(fake.path("ended").exists());
}

#[test]
fn a_stream_ends_at_its_result() {
    let late = r#"echo '{"type":"assistant","message":{"role":"assistant","content":[]}}'"#;
    let (kinds, error) = kinds(&format!("{INIT}; {RESULT}; {late}; {RESULT}"));
    assert_eq!((kinds, error.is_none()), (vec!["system".to_owned(), "result".to_owned()], true));
}

#[test]
fn a_stream_ends_at_its_error() {
    let fake = Fake::new(&format!("{INIT}; echo 'Error: no network' >&2; exit 3"));
    // `drain` sees to it that nothing comes after the error.
    let (messages, error) = block_on(async { drain(&mut execute("x", fake.options())).await });
    assert_eq!(messages.len(), 1);
    let error = error.unwrap();
    assert_eq!(
        (error.kind(), error.exit_code(), error.stderr()),
        ("transport_exit", Some(3), "Error: no network\n")
    );
}

#[test]
fn a_run_that_failed_is_a_message_with_its_denials() {
    let fake = Fake::new(&format!("{INIT}; {FAILED}"));
    let (messages, error) = block_on(async { drain(&mut execute("x", fake.options())).await });
    assert!(error.is_none(), "{error:?}");
    let Some(StreamMessage::ErrorResult(failed)) = messages.last() else { panic!("{messages:?}") };
    assert_eq!((failed.message().as_str(), failed.subtype.as_str()), ("boom", "error_during_execution"));
    let denials: Vec<String> = failed.summary.permission_denials.iter().map(ToString::to_string).collect();
    assert_eq!(denials, ["Bash: rm -rf /"]);
}

#[test]
fn a_run_that_failed_is_an_error_with_a_kind_and_a_text() {
    let fake = Fake::new(&format!("{INIT}; {FAILED}"));
    let error = block_on(amp_sdk::run("x", fake.options())).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), ("execution_failed", "run the prompt: boom"));
    let amp_sdk::Error::ExecutionFailed { subtype, permission_denials, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!((subtype.as_str(), permission_denials.len()), ("error_during_execution", 1));
}

#[test]
fn an_end_without_a_result_has_its_own_kind() {
    for body in ["exit 0", INIT] {
        let error = block_on(amp_sdk::run("x", Fake::new(body).options())).unwrap_err();
        assert_eq!((error.kind(), error.exit_code()), ("no_result", Some(0)), "{body}");
    }
}

#[test]
fn missing_credentials_have_their_own_kind() {
    for said in ["Please log in", "not authenticated", "Authentication required", "Run `amp login` first"] {
        let error = block_on(amp_sdk::run("x", Fake::new(&format!("echo '{said}' >&2; exit 1")).options()));
        assert_eq!(error.unwrap_err().kind(), "auth_error", "{said}");
    }
}

#[test]
fn a_run_out_of_time_leaves_nothing() {
    let body = format!("{INIT}; (setsid sleep 60 &) ; sleep 60 & trap '' INT TERM; sleep 60");
    let fake = Fake::new(&body);
    let options = fake
        .options()
        .with_stream_timeout_ms(200)
        .with_transport_headless_timeout_ms(100)
        .with_permissions([amp_sdk::Permission::new("Bash", amp_sdk::PermissionAction::Ask)]);
    assert_eq!(block_on(amp_sdk::run("x", options)).unwrap_err().kind(), "stream_timeout");
    nothing_left(&fake);
    assert_eq!(fake.left(), 0);
}

#[test]
fn the_tail_of_stderr_is_kept() {
    let flood = format!("{INIT}; head -c 300000 /dev/zero | tr '\\0' e >&2; echo end >&2; {RESULT}");
    let fake = Fake::new(&flood);
    block_on(async {
        let mut stream = execute("x", fake.options());
        let (_, error) = drain(&mut stream).await;
        assert!(error.is_none());
        let tail = stream.stderr().unwrap();
        assert!(tail.truncated && tail.text.len() == 262_144 && tail.text.ends_with("end\n"));
    });
}

#[test]
fn a_stream_may_be_read_without_a_runtime() {
    let fake = Fake::new(&format!("{INIT}; {RESULT}"));
    let kinds: Vec<String> = amp_sdk::blocking::execute("x", fake.options())
        .map(|message| message.unwrap().kind().to_owned())
        .collect();
    assert_eq!(kinds, ["system", "result"]);
}
