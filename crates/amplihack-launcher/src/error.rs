//! Errors for which a launch does not happen.

use std::path::PathBuf;

use amplihack_agent::lookup::LookupError;
use amplihack_agent::{AgentBinary, DeliveryError};
use amplihack_hooks::HookError;
use amplihack_hooks::guard::{GuardError, UnknownEngine};
use amplihack_session::RunError;
use amplihack_sys::error::{ErrorExplanation, ExitKind};

use crate::notice::{TO_TRUST, file_list};
use crate::repository::UntrustedRepository;

/// A launch that was refused or failed. Nothing of it is left running.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The agent's program cannot be used.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The prompt or an option cannot be delivered.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// Too many launches are above this one.
    #[error("this would be launch {depth} inside another, the limit is {limit}")]
    TooDeep {
        /// The depth that was asked for.
        depth: u64,
        /// The greatest that is allowed.
        limit: u64,
    },
    /// The depth variable does not hold a number.
    #[error("AMPLIHACK_SESSION_DEPTH does not hold a number, so the depth of this launch is not known")]
    DepthUnknown,
    /// Arguments and environment together are more than the platform takes.
    #[error("arguments and environment need {size} bytes, the platform takes {limit}")]
    ExecTooLarge {
        /// Bytes that they need.
        size: u64,
        /// Bytes that the platform takes.
        limit: u64,
        /// The largest environment variable, by name.
        largest: String,
    },
    /// The working directory cannot be entered.
    #[error("the directory {} cannot be used: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// There is no source of random numbers for a session id.
    #[error("no session id could be made: {0}")]
    SessionId(std::io::Error),
    /// The policy cannot be loaded.
    #[error("the policy cannot be loaded: {0}")]
    Policy(#[from] GuardError),
    /// Another engine for hooks is asked for.
    #[error(transparent)]
    Engine(#[from] UnknownEngine),
    /// The guard cannot be put into the launch.
    #[error(transparent)]
    Hooks(#[from] HookError),
    /// The configuration requires a guard that was proved, and there is none.
    #[error("require_proof is set and the guard is not proved for {agent}{}: {why}", version.as_ref().map(|version| format!(" {version}")).unwrap_or_default())]
    ProofRequired {
        /// The agent.
        agent: AgentBinary,
        /// Version of the agent, where it could be read.
        version: Option<semver::Version>,
        /// Reason: what is missing.
        why: String,
    },
    /// The user's own arguments leave the guard out.
    #[error("{word} would leave the guard out: {why}")]
    GuardSwitchedOff {
        /// The agent.
        agent: AgentBinary,
        /// The flag, with its value where that decides.
        word: String,
        /// Effect of the word.
        why: &'static str,
    },
    /// The agent would start what a repository has that nobody trusts, and nothing keeps it from that.
    #[error(
        "this repository is not trusted, and {agent} would start of it, before the guard or beside it: {}",
        file_list(found)
    )]
    UntrustedRepository {
        /// The agent.
        agent: AgentBinary,
        /// The repository.
        found: UntrustedRepository,
    },
    /// The agent could not be started or watched.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl ErrorExplanation for LaunchError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Lookup(error) => error.kind(),
            Self::Delivery(error) => error.kind(),
            Self::Run(error) => error.kind(),
            Self::Policy(error) => error.kind(),
            Self::Engine(_) => "unknown_hook_engine",
            Self::Hooks(error) => error.kind(),
            Self::ProofRequired { .. } => "proof_required",
            Self::GuardSwitchedOff { .. } => "guard_switched_off",
            Self::UntrustedRepository { .. } => "untrusted_repository",
            Self::TooDeep { .. } => "too_deep",
            Self::DepthUnknown => "depth_unknown",
            Self::ExecTooLarge { .. } => "exec_too_large",
            Self::Directory { .. } => "directory",
            Self::SessionId(_) => "session_id",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::Lookup(error) => error.exit_kind(),
            Self::Delivery(error) => error.exit_kind(),
            Self::Run(error) => error.exit_kind(),
            _ => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Lookup(error) => error.hint(),
            Self::Delivery(error) => error.hint(),
            Self::Run(error) => error.hint(),
            Self::TooDeep { .. } => Some(
                "an agent that starts agents may be in a loop; raise AMPLIHACK_MAX_DEPTH if it is not"
                    .to_owned(),
            ),
            Self::DepthUnknown => Some("unset AMPLIHACK_SESSION_DEPTH outside a launch".to_owned()),
            Self::ExecTooLarge { largest, .. } => Some(format!(
                "the largest variable is {largest}; unset it, or raise the stack limit (ulimit -s)"
            )),
            Self::Directory { .. } => Some("check that it exists and may be entered".to_owned()),
            Self::Policy(error) => error.hint(),
            Self::ProofRequired { agent, .. } => {
                Some(format!("`amplihack doctor --prove {agent}` proves it on this machine"))
            }
            Self::GuardSwitchedOff { .. } => {
                Some("leave it out, or launch with --no-hooks, without a guard".to_owned())
            }
            Self::UntrustedRepository { .. } => Some(TO_TRUST.to_owned()),
            Self::Hooks(_) | Self::Engine(_) | Self::SessionId(_) => None,
        }
    }
}
