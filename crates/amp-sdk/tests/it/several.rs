//! Several messages: each is worked off, in a list or as they come.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use amp_sdk::{
    Error, MessageStream, StreamMessage, UserInputMessage, create_user_message, execute, execute_messages,
    run_to_answer,
};
use futures_core::Stream;
use tokio::sync::mpsc;

use crate::fake::{Fake, INIT, RESULT, block_on, drain};
use crate::runs::nothing_left;

/// A CLI that answers each line of its input with its number, and ends with its input.
const EACH: &str = r#"n=0; while read -r line; do n=$((n+1)); printf '%s\n' "$line" >>"$AMP_TEST_DIR/stdin"
echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"answer $n\",\"session_id\":\"T-1\"}"; done"#;

fn each() -> Fake {
    Fake::new(&format!("{INIT}\n{EACH}"))
}

fn texts(messages: &[StreamMessage]) -> Vec<&str> {
    let results = messages.iter().filter_map(|message| match message {
        StreamMessage::Result(result) => result.result.as_deref(),
        _ => None,
    });
    results.collect()
}

fn three() -> Vec<UserInputMessage> {
    ["first", "second", "third"].map(create_user_message).into()
}

/// Messages as somebody sends them.
struct Sent(mpsc::Receiver<UserInputMessage>);

impl Stream for Sent {
    type Item = UserInputMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// Messages that are all there.
struct Ready(VecDeque<UserInputMessage>);

impl Stream for Ready {
    type Item = UserInputMessage;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front())
    }
}

#[test]
fn every_message_of_a_list_is_worked_off() {
    let fake = each();
    let (messages, error) = block_on(async { drain(&mut execute(three(), fake.options())).await });
    assert!(error.is_none(), "{error:?}");
    assert_eq!(texts(&messages), ["answer 1", "answer 2", "answer 3"]);
    assert_eq!(fake.read("stdin").lines().count(), 3);
    let answer = block_on(run_to_answer(three(), fake.options())).unwrap();
    assert_eq!((answer.text.as_str(), texts(&answer.earlier)), ("answer 3", vec!["answer 1", "answer 2"]));
    assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
    let again = amp_sdk::blocking::run(three(), fake.options()).unwrap();
    assert_eq!(again, "answer 3");
    nothing_left(&fake);
}

#[test]
fn fewer_results_than_messages_are_told_and_no_failure_of_a_cli_that_ended_well() {
    let fake = Fake::new(&format!("cat >/dev/null; {INIT}; {RESULT}"));
    let answer = block_on(run_to_answer(three(), fake.options())).unwrap();
    assert_eq!((answer.text.as_str(), answer.earlier.len()), ("ok", 0));
    assert_eq!(answer.warnings, ["1 results came for 3 messages"]);
    // One that dies has not answered.
    let fake = Fake::new(&format!("cat >/dev/null; {RESULT}; exit 7"));
    let error = block_on(run_to_answer(three(), fake.options())).unwrap_err();
    assert_eq!((error.kind(), error.exit_code()), ("transport_exit", Some(7)));
}

#[test]
fn a_failed_message_is_told_and_the_next_is_worked_off() {
    let failed = r#"echo '{"type":"result","subtype":"error_max_turns","is_error":true,"error":"too far"}'"#;
    let fake = Fake::new(&format!("cat >/dev/null; {failed}; {RESULT}"));
    let two = three()[..2].to_vec();
    let answer = block_on(run_to_answer(two.clone(), fake.options())).unwrap();
    assert_eq!(answer.warnings, ["message 1 ended in an error: too far"]);
    assert!(matches!(answer.earlier[..], [StreamMessage::ErrorResult(_)]), "{:?}", answer.earlier);
    let last = Fake::new(&format!("cat >/dev/null; {RESULT}; {failed}"));
    assert_eq!(block_on(run_to_answer(two, last.options())).unwrap_err().kind(), "execution_failed");
}

#[test]
fn a_cli_lingers_only_after_its_last_result() {
    // Longer between two results than it may take to end after the last.
    let fake = Fake::new(&format!("cat >/dev/null; {RESULT}; sleep 0.7; {RESULT}; sleep 60"));
    let options = fake.options().with_linger_timeout_ms(200);
    let started = Instant::now();
    let answer = block_on(run_to_answer(three()[..2].to_vec(), options)).unwrap();
    assert_eq!(answer.earlier.len(), 1);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    nothing_left(&fake);
}

#[test]
fn a_deadline_holds_until_the_last_result() {
    let fake = Fake::new(&format!("cat >/dev/null; {RESULT}; sleep 60"));
    let options = fake.options().with_stream_timeout_ms(300).with_transport_headless_timeout_ms(200);
    let mut stream = execute(three(), options);
    let (messages, error) = block_on(async { drain(&mut stream).await });
    assert_eq!((messages.len(), error.unwrap().kind()), (1, "stream_timeout"));
    nothing_left(&fake);
}

/// The next result of a stream.
async fn answer(stream: &mut MessageStream) -> String {
    loop {
        match stream.next().await.unwrap().unwrap() {
            StreamMessage::Result(result) => return result.result.unwrap(),
            StreamMessage::System(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn messages_may_come_while_the_run_goes_on() {
    let fake = each();
    block_on(async {
        let (sender, receiver) = mpsc::channel(1);
        // The pause between messages is longer than the CLI may be silent over one.
        let options = fake.options().with_stream_timeout_ms(300).with_startup_timeout_ms(300);
        let mut stream = execute_messages(Sent(receiver), options);
        sender.send(create_user_message("first")).await.unwrap();
        assert_eq!(answer(&mut stream).await, "answer 1");
        let late = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(800)).await;
            sender.send(create_user_message("second")).await.unwrap();
        });
        assert_eq!(answer(&mut stream).await, "answer 2");
        late.await.unwrap();
        // The sender is gone: the input is closed, and the CLI ends.
        assert!(stream.next().await.is_none());
        assert_eq!(stream.end().unwrap().exit_code(), Some(0));
    });
    let lines = fake.read("stdin");
    assert_eq!(lines.lines().count(), 2);
    assert_eq!(lines.lines().next().unwrap(), create_user_message("first").to_value().to_string());
    nothing_left(&fake);
}

#[test]
fn a_stream_of_messages_is_checked_and_nothing_starts_without_one() {
    let fake = Fake::new("touch \"$AMP_TEST_DIR/started\"");
    let messages = |list: &[&str]| Ready(list.iter().map(|text| create_user_message(*text)).collect());
    let (_, error) = block_on(async { drain(&mut execute_messages(messages(&[]), fake.options())).await });
    assert!(matches!(error, Some(Error::EmptyPrompt)), "{error:?}");
    let remote = fake.options().with_executor("orb");
    let (_, error) = block_on(async { drain(&mut execute_messages(messages(&["x"]), remote)).await });
    assert_eq!(error.unwrap().kind(), "invalid_configuration");
    assert!(!fake.path("started").exists());
    let fake = each();
    let (read, error) =
        block_on(async { drain(&mut execute_messages(messages(&["x", " "]), fake.options())).await });
    assert!(matches!(error, Some(Error::EmptyPrompt)), "{read:?} {error:?}");
    nothing_left(&fake);
}

#[test]
fn a_cli_that_reads_nothing_holds_messages_up_and_not_the_memory() {
    /// Messages without an end, counted.
    struct Endless(std::sync::Arc<std::sync::atomic::AtomicUsize>);
    impl Stream for Endless {
        type Item = UserInputMessage;
        fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Poll::Ready(Some(create_user_message("m".repeat(10_000))))
        }
    }
    let fake = Fake::new("sleep 60");
    let asked = std::sync::Arc::default();
    let options = fake.options().with_startup_timeout_ms(500).with_transport_headless_timeout_ms(100);
    let mut stream = execute_messages(Endless(std::sync::Arc::clone(&asked)), options);
    let (_, error) = block_on(async { drain(&mut stream).await });
    assert_eq!(error.unwrap().kind(), "stream_timeout");
    let asked = asked.load(std::sync::atomic::Ordering::Relaxed);
    assert!(asked < 20, "{asked} messages were asked for");
}
