//! Input of a run: a prompt that is whole, or messages that come while the run goes on.

use std::pin::Pin;

use futures_core::Stream;

use crate::error::{Error, Result};
use crate::prompt::{AmpPrompt, UserInputMessage};

/// Messages that come while the run goes on.
type InputMessages = Pin<Box<dyn Stream<Item = UserInputMessage> + Send>>;

/// Input of a run.
pub(super) enum RunInput {
    Prompt(AmpPrompt),
    Messages(InputMessages),
}

/// Input of a run at its start, and the source of more.
pub(super) struct FirstInput {
    pub(super) prompt: AmpPrompt,
    /// Number of results that the prompt asks for.
    pub(super) messages: usize,
    pub(super) rest: Option<MessageFeed>,
}

/// The rest of a stream of messages.
pub(super) struct MessageFeed {
    source: InputMessages,
    sent: usize,
}

impl RunInput {
    /// Reports whether the input is messages as a stream of JSON.
    pub(super) const fn is_json(&self) -> bool {
        match self {
            Self::Prompt(prompt) => prompt.is_json(),
            Self::Messages(_) => true,
        }
    }

    /// Waits for the first message of a stream, and checks what a run would begin with.
    pub(super) async fn first(self) -> Result<FirstInput> {
        match self {
            Self::Prompt(prompt) => {
                prompt.validate()?;
                let messages = prompt.message_count();
                Ok(FirstInput { prompt, messages, rest: None })
            }
            Self::Messages(source) => {
                let mut feed = MessageFeed { source, sent: 0 };
                let message = feed.next().await.unwrap_or(Err(Error::EmptyPrompt))?;
                Ok(FirstInput { prompt: message.into(), messages: 1, rest: Some(feed) })
            }
        }
    }
}

impl MessageFeed {
    /// The next message, checked; `None`: that was the last. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Result<UserInputMessage>> {
        let next = std::future::poll_fn(|context| self.source.as_mut().poll_next(context)).await;
        let message = next?;
        self.sent += 1;
        Some(message.validate(self.sent - 1).map(|()| message))
    }
}
