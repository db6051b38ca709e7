//! A conversation: the second question depends on the first answer, and both go to the same run.

mod common;

use std::pin::Pin;
use std::task::{Context, Poll};

use amp_sdk::testing::{FakeAmp, FakeReply};
use amp_sdk::{StreamMessage, UserInputMessage, create_user_message, execute_messages};
use common::{cli, say};
use futures_core::Stream;
use tokio::sync::mpsc;

/// Questions as they are asked.
struct Questions(mpsc::Receiver<UserInputMessage>);

impl Stream for Questions {
    type Item = UserInputMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<UserInputMessage>> {
        self.0.poll_recv(context)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> amp_sdk::Result<()> {
    let reply = FakeReply::new()
        .await_message()
        .init()
        .result("3 modules are without tests.")
        .await_message()
        .result("All 3 have tests now.");
    let (options, _fake) = cli(FakeAmp::new().with_run(reply))?;
    let (ask, questions) = mpsc::channel(1);
    let mut ask = Some(ask);
    let mut messages = execute_messages(Questions(questions), options);
    send(ask.as_ref(), "Which modules have no tests?").await;
    while let Some(message) = messages.next().await {
        if let StreamMessage::Result(result) = message? {
            let answer = result.result.unwrap_or_default();
            say(format_args!("{answer}\n"));
            // Without a sender the input ends, and the run after its last answer.
            if let Some(ask) = ask.take().filter(|_| answer.contains("without")) {
                send(Some(&ask), "Write them.").await;
            }
        }
    }
    Ok(())
}

async fn send(ask: Option<&mpsc::Sender<UserInputMessage>>, question: &str) {
    say(format_args!("> {question}\n"));
    if let Some(ask) = ask {
        // Nobody receives it only if the run has ended, which the stream says.
        let _ = ask.send(create_user_message(question)).await;
    }
}
