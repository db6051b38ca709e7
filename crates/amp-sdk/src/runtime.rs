//! What a layer above several agents' SDKs asks each of them: what it can do, and which sessions there are.

use serde_json::{Map, Value};

use crate::error::Result;
use crate::manage::Amp;
use crate::threads::{self, List, ThreadSummary};

/// Something that sessions of Amp can do. None of them is a system prompt: Amp has no such thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// Past sessions can be listed: threads.
    SessionHistory,
    /// A session can be gone on with: [`Options::continue_thread`](crate::Options::continue_thread).
    SessionResume,
    /// A session can be interrupted and gone on with later: drop the stream, continue the thread.
    SessionPause,
    /// Something can be said in between: drop the stream, continue the thread with it.
    SessionIntervene,
}

impl Capability {
    /// The stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionHistory => "session_history",
            Self::SessionResume => "session_resume",
            Self::SessionPause => "session_pause",
            Self::SessionIntervene => "session_intervene",
        }
    }
}

/// What sessions of Amp can do.
pub fn capabilities() -> [Capability; 4] {
    if amplihack_utils::sabotage::active("amp-capabilities") {
        return [Capability::SessionHistory; 4];
    }
    [
        Capability::SessionHistory,
        Capability::SessionResume,
        Capability::SessionPause,
        Capability::SessionIntervene,
    ]
}

/// A past session, in a shape that is the same for all agents.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProviderSession {
    /// The agent's own name for it, to go on with: a thread's `T-…`.
    pub id: String,
    /// Its title.
    pub label: String,
    /// Where it worked. Threads do not say.
    pub cwd: Option<String>,
    /// When it changed last, as [`ThreadSummary::last_updated`].
    pub updated_at: Option<String>,
    /// `thread_history`
    pub source_kind: &'static str,
    /// `visibility` and `messages`, where they are known.
    pub metadata: Map<String, Value>,
    /// The thread itself.
    pub raw: ThreadSummary,
}

impl From<ThreadSummary> for ProviderSession {
    fn from(thread: ThreadSummary) -> Self {
        let mut metadata = Map::new();
        if let Some(visibility) = &thread.visibility {
            metadata.insert("visibility".to_owned(), visibility.clone().into());
        }
        if let Some(messages) = thread.messages {
            metadata.insert("messages".to_owned(), messages.into());
        }
        Self {
            id: thread.id.clone(),
            label: if amplihack_utils::sabotage::active("amp-provider-sessions") {
                thread.id.clone()
            } else {
                thread.title.clone()
            },
            cwd: None,
            updated_at: thread.last_updated.clone(),
            source_kind: "thread_history",
            metadata,
            raw: thread,
        }
    }
}

/// The threads as past sessions, newest first. Errors: those of [`threads::list`].
pub async fn list_provider_sessions(amp: &Amp, which: &List) -> Result<Vec<ProviderSession>> {
    let threads = threads::list(amp, which).await?;
    Ok(threads.into_iter().map(ProviderSession::from).collect())
}

/// The same, blocking.
pub mod blocking {
    use super::{Amp, List, ProviderSession, Result, threads};

    /// See [`list_provider_sessions`](super::list_provider_sessions).
    pub fn list_provider_sessions(amp: &Amp, which: &List) -> Result<Vec<ProviderSession>> {
        let threads = threads::blocking::list(amp, which)?;
        Ok(threads.into_iter().map(ProviderSession::from).collect())
    }
}
