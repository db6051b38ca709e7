//! Errors of remote sessions, by the part that failed.

use std::collections::BTreeMap;
use std::fmt;

use amplihack_sys::error::{ErrorExplanation, ExitKind};

/// A message for the user, and what a program may want to know beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorContext {
    /// A lower-case fragment that names what failed and the next step.
    pub message: String,
    /// Facts by name, in order: `host`, `session_id`, `reason`, `hint` and the like. Never a secret.
    pub context: BTreeMap<String, String>,
}

impl ErrorContext {
    /// A message alone.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), context: BTreeMap::new() }
    }

    /// Adds a fact to the context.
    #[must_use]
    pub fn with_fact(mut self, name: &str, value: impl fmt::Display) -> Self {
        if !amplihack_sys::sabotage::is_active("remote-error-context") {
            self.context.insert(name.to_owned(), value.to_string());
        }
        self
    }
}

impl<T: Into<String>> From<T> for ErrorContext {
    fn from(message: T) -> Self {
        Self::new(message)
    }
}

impl fmt::Display for ErrorContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if amplihack_sys::sabotage::is_active("remote-error-message") {
            "it failed"
        } else {
            &self.message
        })
    }
}

/// A failure of a remote command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The work to be sent could not be gathered, or must not be sent.
    #[error("failed to package the repository: {0}")]
    Packaging(ErrorContext),
    /// No machine could be had.
    #[error("failed to get a machine: {0}")]
    Provisioning(ErrorContext),
    /// Something could not be sent or fetched.
    #[error("failed to transfer: {0}")]
    Transfer(ErrorContext),
    /// A command on the far side failed, or could not be given.
    #[error("failed to run on the far side: {0}")]
    Execution(ErrorContext),
    /// Results could not be brought into the repository.
    #[error("failed to integrate results: {0}")]
    Integration(ErrorContext),
    /// Something that was made is still there.
    #[error("failed to clean up: {0}")]
    Cleanup(ErrorContext),
    /// There is no such session.
    #[error("session '{session_id}' not found")]
    SessionNotFound {
        /// The id that was asked for.
        session_id: String,
    },
    /// The options, the configuration or the state cannot be used.
    #[error("{0}")]
    Validation(ErrorContext),
}

impl RemoteError {
    /// The context of the error; `None` if the error is about a missing session.
    pub fn error_context(&self) -> Option<&ErrorContext> {
        match self {
            Self::Packaging(context)
            | Self::Provisioning(context)
            | Self::Transfer(context)
            | Self::Execution(context)
            | Self::Integration(context)
            | Self::Cleanup(context)
            | Self::Validation(context) => Some(context),
            Self::SessionNotFound { .. } => None,
        }
    }

    /// Adds a fact to the error's context; an error about a missing session stays as it is.
    #[must_use]
    pub fn with_fact(mut self, name: &str, value: impl fmt::Display) -> Self {
        // Once more: no function is generic over whether it may change what it gives.
        let context = match &mut self {
            Self::Packaging(context)
            | Self::Provisioning(context)
            | Self::Transfer(context)
            | Self::Execution(context)
            | Self::Integration(context)
            | Self::Cleanup(context)
            | Self::Validation(context) => context,
            Self::SessionNotFound { .. } => return self,
        };
        context.context.insert(name.to_owned(), value.to_string());
        self
    }

    /// A fact of the error by its name.
    pub fn get_fact(&self, name: &str) -> Option<&str> {
        self.error_context()?.context.get(name).map(String::as_str)
    }
}

impl ErrorExplanation for RemoteError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Packaging(_) => "packaging",
            Self::Provisioning(_) => "provisioning",
            Self::Transfer(_) => "transfer",
            Self::Execution(_) => "execution",
            Self::Integration(_) => "integration",
            Self::Cleanup(_) => "cleanup",
            Self::SessionNotFound { .. } => "session_not_found",
            Self::Validation(_) => "validation",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::SessionNotFound { .. } if amplihack_sys::sabotage::is_active("remote-exit-not-found") => {
                ExitKind::Failed
            }
            Self::SessionNotFound { .. } => ExitKind::NotFound,
            _ if amplihack_sys::sabotage::is_active("remote-exit-failed") => ExitKind::NotFound,
            _ => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::SessionNotFound { .. } => {
                Some("use 'amplihack remote list' to see available sessions".to_owned())
            }
            _ => self.get_fact("hint").map(str::to_owned),
        }
    }

    fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = match self {
            Self::SessionNotFound { session_id } => {
                BTreeMap::from([("session_id".to_owned(), session_id.clone())])
            }
            _ => self.error_context().map(|context| context.context.clone()).unwrap_or_default(),
        };
        facts.remove("hint");
        facts
    }
}
