//! Interface for a layer above several agents' SDKs: the capabilities of each, and the sessions that there are.

use serde_json::{Map, Value};

use crate::error::Result;
use crate::manage::AmpContext;
use crate::threads::{self, ThreadListOptions, ThreadSummary};

/// Something that sessions of Amp can do. None of them is a system prompt: Amp has no such thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionCapability {
    /// Past sessions can be listed: threads.
    SessionHistory,
    /// A session can be gone on with: [`Options::continue_thread`](crate::Options::continue_thread).
    SessionResume,
    /// A session can be interrupted and gone on with later: drop the stream, continue the thread.
    SessionPause,
    /// Something can be said in between: drop the stream, continue the thread with it.
    SessionIntervene,
}

impl SessionCapability {
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

/// Returns the capabilities of Amp's sessions.
pub fn capabilities() -> [SessionCapability; 4] {
    if amplihack_sys::sabotage::is_active("amp-capabilities") {
        return [SessionCapability::SessionHistory; 4];
    }
    [
        SessionCapability::SessionHistory,
        SessionCapability::SessionResume,
        SessionCapability::SessionPause,
        SessionCapability::SessionIntervene,
    ]
}

/// A past session, in a shape that is the same for all agents.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProviderSession {
    /// The agent's own name for it, to go on with: a thread's `T-…`.
    pub id: String,
    /// Title of the thread.
    pub label: String,
    /// Working directory of the session. Threads do not record it.
    pub cwd: Option<String>,
    /// Time of the last change, as [`ThreadSummary::last_updated`].
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
            label: if amplihack_sys::sabotage::is_active("amp-provider-sessions") {
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

/// The threads as past sessions, newest first.
///
/// # Errors
/// Those of [`threads::list`].
pub async fn list_provider_sessions(
    amp: &AmpContext,
    which: &ThreadListOptions,
) -> Result<Vec<ProviderSession>> {
    let threads = threads::list(amp, which).await?;
    Ok(threads.into_iter().map(ProviderSession::from).collect())
}

/// Blocking form of the list of sessions.
pub mod blocking {
    use super::{AmpContext, ProviderSession, Result, ThreadListOptions, threads};

    /// See [`list_provider_sessions`](super::list_provider_sessions).
    ///
    /// # Errors
    /// Those of [`threads::blocking::list`].
    pub fn list_provider_sessions(
        amp: &AmpContext,
        which: &ThreadListOptions,
    ) -> Result<Vec<ProviderSession>> {
        let threads = threads::blocking::list(amp, which)?;
        Ok(threads.into_iter().map(ProviderSession::from).collect())
    }
}
