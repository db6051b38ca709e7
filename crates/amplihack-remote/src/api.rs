//! The six commands as functions, with what they take and what they answer: a client by the configuration, and its method.
//!
//! All names stand at the crate's root, too.

use crate::client::Client;

pub use crate::error::{ErrorContext, RemoteError};
pub use crate::mode::{CommandMode, UnknownCommandMode};
pub use crate::options::{
    ExecOptions, IntegrationSummary, KillOptions, KillResult, ListOptions, OutputOptions, PoolStatus, PoolVm,
    RemoteStatus, SessionCounts, SessionOutput, StartOptions, StartResult, StatusOptions, VMOptions,
    WorkflowResult,
};
pub use crate::session::{Session, SessionStatus};
pub use crate::size::{UnknownSize, VMSize};

/// Works on one prompt on a machine until its end, brings the work home, and gives the machine back.
///
/// # Errors
/// `Validation` where the configuration cannot be used; else those of [`Client::exec`].
pub async fn exec(options: ExecOptions) -> Result<WorkflowResult, RemoteError> {
    Client::from_config()?.exec(options).await
}

/// [`exec`] by its earlier name.
///
/// # Errors
/// Those of [`exec`].
pub async fn execute_remote_workflow(options: ExecOptions) -> Result<WorkflowResult, RemoteError> {
    if amplihack_sys::sabotage::is_active("remote-workflow") {
        return Err(RemoteError::Execution("it is not here any more".into()));
    }
    exec(options).await
}

/// Starts a session a prompt.
///
/// # Errors
/// `Validation` where the configuration cannot be used, and those of [`Client::start_sessions`]. If sessions could not be started, the
/// error is that of the first of them, and its fact `started` says which were; [`Client::start_sessions`] tells each prompt's fate.
pub async fn start_sessions(options: StartOptions) -> Result<StartResult, RemoteError> {
    let started = Client::from_config()?.start_sessions(options).await?;
    let mut sessions = Vec::new();
    let mut first = None;
    for row in started.rows {
        match row.outcome {
            Ok(session) => sessions.push(session),
            Err(error) => first = first.or(Some(error)),
        }
    }
    match first {
        None => Ok(StartResult { sessions }),
        Some(error) => {
            let ids: Vec<String> = sessions.into_iter().map(|session| session.session_id).collect();
            Err(if ids.is_empty() { error } else { error.with_fact("started", ids.join(" ")) })
        }
    }
}

/// The sessions, oldest first, as they are known here.
///
/// # Errors
/// `Validation` where the configuration, the environment or the state file cannot be used.
pub async fn list_sessions(options: ListOptions) -> Result<Vec<Session>, RemoteError> {
    Client::from_config()?.list_sessions(options).await
}

/// The last lines of what a session wrote.
///
/// # Errors
/// `Validation` where `lines` is 0 or the configuration cannot be used; else those of [`Client::capture_output`].
pub async fn capture_output(options: OutputOptions) -> Result<SessionOutput, RemoteError> {
    if options.lines == 0 {
        return Err(RemoteError::Validation(ErrorContext::new("lines must be at least 1")));
    }
    Client::from_config()?.capture_output(options).await
}

/// Ends a session.
///
/// # Errors
/// `Validation` where the configuration cannot be used; else those of [`Client::kill_session`].
pub async fn kill_session(options: KillOptions) -> Result<KillResult, RemoteError> {
    Client::from_config()?.kill_session(options).await
}

/// Sums over machines and sessions, as they are known here.
///
/// # Errors
/// `Validation` where the configuration, the environment or the state file cannot be used.
pub async fn status(options: StatusOptions) -> Result<RemoteStatus, RemoteError> {
    if amplihack_sys::sabotage::is_active("remote-api") {
        return Err(RemoteError::Execution("it is not here yet".into()));
    }
    Client::from_config()?.remote_status(options).await
}
