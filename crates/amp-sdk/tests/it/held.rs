//! Runs that nobody polls, that are polled in the wrong place, or that are interrupted.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use amp_sdk::{AmpContext, Options, StreamMessage, execute, threads};
use amplihack_testkit::procs::assert_none_soon;
use futures_core::Stream;

use crate::fake::{Fake, INIT, RESULT, block_on, drain};
use crate::runs::nothing_left;

/// A CLI that ignores what asks it to end, with a tool that does, too.
fn stubborn() -> String {
    format!("trap '' INT TERM; sleep 61 & {INIT}; while :; do sleep 1; done")
}

#[test]
fn a_deadline_holds_while_nobody_polls() {
    let fake = Fake::new(&stubborn());
    let options = fake.options().with_run_deadline_ms(300).with_transport_headless_timeout_ms(400);
    let mut stream = execute("x", options.with_stream_timeout_ms(60_000));
    block_on(async {
        assert_eq!(stream.next().await.unwrap().unwrap().kind(), "system");
        // Neither this stream nor anything else of the runtime is polled.
        std::thread::sleep(Duration::from_secs(2));
        assert_none_soon(fake.dir.path().to_str().unwrap(), Duration::ZERO);
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), "run_deadline_exceeded");
        assert!(stream.next().await.is_none());
    });
}

#[test]
fn silence_that_nobody_waits_for_is_ended_and_unread_output_is_none() {
    let fake = Fake::new(&stubborn());
    let options = fake.options().with_stream_timeout_ms(300).with_transport_headless_timeout_ms(200);
    block_on(async {
        let mut stream = execute("x", options.clone());
        stream.next().await.unwrap().unwrap();
        std::thread::sleep(Duration::from_millis(1_500));
        assert_none_soon(fake.dir.path().to_str().unwrap(), Duration::ZERO);
        assert_eq!(stream.next().await.unwrap().unwrap_err().kind(), "stream_timeout");
    });
    let fake = Fake::new(&format!("{INIT}; sleep 0.1; {INIT}; sleep 1; {RESULT}"));
    block_on(async {
        let mut stream = execute("x", fake.options().with_stream_timeout_ms(300));
        stream.next().await.unwrap().unwrap();
        std::thread::sleep(Duration::from_millis(1_500));
        let (messages, error) = drain(&mut stream).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(messages.len(), 2);
    });
}

#[test]
fn a_run_that_ended_in_time_is_no_deadline_however_late_it_is_read() {
    let fake = Fake::new(&format!("cat >/dev/null; {INIT}; {RESULT}"));
    block_on(async {
        let mut stream = execute("x", fake.options().with_run_deadline_ms(500).with_stream_timeout_ms(400));
        stream.next().await.unwrap().unwrap();
        std::thread::sleep(Duration::from_millis(1_200));
        let (messages, error) = drain(&mut stream).await;
        assert!(error.is_none() && messages[0].is_final(), "{messages:?} {error:?}");
        assert_eq!(stream.end().unwrap().exit_code(), Some(0));
        assert!(stream.warnings().is_empty(), "{:?}", stream.warnings());
    });
}

#[test]
fn a_run_ends_within_its_deadline_and_the_time_to_end() {
    let fake = Fake::new(&stubborn());
    let options = fake.options().with_run_deadline_ms(500).with_transport_headless_timeout_ms(1_000);
    let started = Instant::now();
    assert_eq!(block_on(amp_sdk::run("x", options)).unwrap_err().kind(), "run_deadline_exceeded");
    let took = started.elapsed();
    assert!((Duration::from_millis(1_400)..Duration::from_secs(3)).contains(&took), "{took:?}");
}

fn poll_here<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Poll<T> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_poll_outside_of_a_runtime_is_an_error() {
    let fake = Fake::new(&format!("{INIT}; {RESULT}"));
    let said = |error: &amp_sdk::Error| {
        assert_eq!(error.kind(), "transport_error");
        assert!(error.to_string().contains("no tokio runtime with I/O and time"), "{error}");
    };
    let mut stream = execute("x", fake.options());
    let first = Pin::new(&mut stream).poll_next(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(Some(Err(error))) = first else { panic!("{first:?}") };
    said(&error);
    // A runtime that can do less.
    let bare = tokio::runtime::Builder::new_current_thread().build().unwrap();
    said(&bare.block_on(amp_sdk::run("x", fake.options())).unwrap_err());
    // One that was left in the middle of the run.
    let slow = Fake::new("sleep 60");
    let mut stream = execute("x", slow.options());
    block_on(async { tokio::time::timeout(Duration::from_millis(200), stream.next()).await }).unwrap_err();
    let Poll::Ready(Some(Err(error))) = poll_here(&mut Box::pin(stream.next())) else { panic!() };
    said(&error);
    nothing_left(&slow);
    let amp = AmpContext::from(fake.options());
    let Poll::Ready(Err(error)) = poll_here(&mut Box::pin(threads::markdown(&amp, "T-1"))) else { panic!() };
    assert_eq!(error.kind(), "command_execution_failed");
    nothing_left(&fake);
}

#[test]
fn an_interrupted_run_may_still_give_its_result() {
    let fake = Fake::new(&format!(
        "cat >/dev/null; trap '{}; exit 0' INT; {INIT}; while :; do sleep 0.05; done",
        RESULT.replace('\'', "'\\''")
    ));
    block_on(async {
        let mut stream = execute("x", fake.options());
        stream.next().await.unwrap().unwrap();
        stream.interrupt();
        let (messages, error) = drain(&mut stream).await;
        assert!(error.is_none(), "{error:?}");
        assert!(matches!(messages[..], [StreamMessage::Result(_)]), "{messages:?}");
    });
    nothing_left(&fake);
}

fn cancelled(error: &amp_sdk::Error) {
    let amp_sdk::Error::ExecutionFailed { subtype, .. } = error else { panic!("{error:?}") };
    assert_eq!((error.kind(), subtype.as_str()), ("execution_failed", "user_cancelled"));
}

#[test]
fn an_interrupt_may_come_from_elsewhere_and_twice() {
    let fake = Fake::new(&stubborn());
    let options: Options = fake.options().with_transport_headless_timeout_ms(600_000);
    block_on(async {
        let mut stream = execute("x", options.clone());
        let interrupter = stream.interrupter();
        let elsewhere = std::thread::spawn(move || {
            for _ in 0..3 {
                std::thread::sleep(Duration::from_millis(200));
                interrupter.interrupt();
            }
        });
        let (messages, error) = drain(&mut stream).await;
        elsewhere.join().unwrap();
        assert_eq!(messages.len(), 1);
        cancelled(&error.unwrap());
    });
    nothing_left(&fake);
    let mut messages = amp_sdk::blocking::execute("x", options);
    let interrupter = messages.interrupter();
    messages.next().unwrap().unwrap();
    for _ in 0..3 {
        interrupter.interrupt();
        std::thread::sleep(Duration::from_millis(200));
    }
    cancelled(&messages.next().unwrap().unwrap_err());
    nothing_left(&fake);
}

#[test]
fn a_run_that_was_interrupted_before_it_started_does_not_start() {
    let fake = Fake::new("touch \"$AMP_TEST_DIR/started\"");
    block_on(async {
        let mut stream = execute("x", fake.options());
        stream.interrupt();
        cancelled(&stream.next().await.unwrap().unwrap_err());
        assert!(stream.next().await.is_none());
    });
    assert!(!fake.path("started").exists());
}
