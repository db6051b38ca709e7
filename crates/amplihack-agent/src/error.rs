//! Errors of a command line that cannot be built.

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::prompt_delivery::{DeliveryMode, PromptDelivery};
use amplihack_sys::error::{ErrorExplanation, ExitKind};
use semver::Version;

use crate::matrix::{AgentCapability, RunMode};

/// The agent cannot do what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{agent}{} does not take {capability} in {mode} mode", version.as_ref().map(|v| format!(" {v}")).unwrap_or_default())]
pub struct Unsupported {
    /// The agent.
    pub agent: AgentBinary,
    /// Version of the agent, where it is known.
    pub version: Option<Version>,
    /// Capability that was asked for.
    pub capability: AgentCapability,
    /// In which run mode.
    pub mode: RunMode,
}

/// A prompt or an option cannot be delivered. Nothing was started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeliveryError {
    /// No channel of the agent holds the prompt.
    #[error(
        "the prompt has {size} bytes and no channel of {agent} in {mode} mode holds more than {limit}; these could take it: {}",
        list_channels(could)
    )]
    TooLarge {
        /// The agent.
        agent: AgentBinary,
        /// The run mode.
        mode: RunMode,
        /// Bytes of the prompt.
        size: u64,
        /// The most that the widest channel of the agent holds.
        limit: u64,
        /// Agents and channels that hold it, headless.
        could: Vec<(AgentBinary, DeliveryMode)>,
    },
    /// The agent refuses this delivery request.
    #[error("{agent} prompt delivery mode '{requested}' is unsupported: {reason}")]
    Rejected {
        /// The agent.
        agent: AgentBinary,
        /// Mode that was requested.
        requested: PromptDelivery,
        /// Reason for the refusal.
        reason: &'static str,
    },
    /// The agent has channels, but a probe on this machine saw prompts lost or changed in all of them.
    #[error(
        "no prompt reaches {agent}{} unchanged: a probe on this machine refuted {}",
        version.as_ref().map(|v| format!(" {v}")).unwrap_or_default(),
        channels.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
    )]
    Refuted {
        /// The agent.
        agent: AgentBinary,
        /// Version of the agent.
        version: Option<Version>,
        /// The refuted channels.
        channels: Vec<DeliveryMode>,
    },
    /// The prompt is empty.
    #[error("the prompt is empty; give one with --prompt, --prompt-file, on stdin or as the last argument")]
    Empty,
    /// An option cannot be expressed for this agent.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// An argument is longer than the platform takes.
    #[error("the argument for {what} has {size} bytes, the platform takes at most {limit} in one argument")]
    ArgumentTooLong {
        /// Option whose argument is too long.
        what: AgentCapability,
        /// Bytes of the argument.
        size: u64,
        /// The platform's limit.
        limit: u64,
    },
    /// A temporary prompt file could not be written.
    #[error("the prompt file could not be written: {0}")]
    Io(#[from] std::io::Error),
}

fn list_channels(could: &[(AgentBinary, DeliveryMode)]) -> String {
    if could.is_empty() {
        return "none".to_owned();
    }
    could.iter().map(|(agent, mode)| format!("{agent} ({mode})")).collect::<Vec<_>>().join(", ")
}

impl ErrorExplanation for DeliveryError {
    fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "prompt_too_large",
            Self::Rejected { .. } => "delivery_rejected",
            Self::Refuted { .. } => "delivery_refuted",
            Self::Empty => "prompt_empty",
            Self::Unsupported(_) => "unsupported",
            Self::ArgumentTooLong { .. } => "argument_too_long",
            Self::Io(_) => "prompt_file",
        }
    }

    fn exit_kind(&self) -> ExitKind {
        match self {
            Self::Empty | Self::Unsupported(_) => ExitKind::Usage,
            _ => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::TooLarge { could, mode, .. } => {
                let (agent, _) = could.first()?;
                Some(match mode {
                    RunMode::Headless => format!("run it with `amplihack {agent} -p --prompt-file FILE`"),
                    RunMode::Interactive => {
                        "an interactive session takes its first prompt as one argument; use -p for a headless run".to_owned()
                    }
                })
            }
            Self::Rejected { .. } => {
                Some("unset AMPLIHACK_PROMPT_DELIVERY, or set it to auto or argv".to_owned())
            }
            Self::Refuted { agent, .. } => {
                Some(format!("`amplihack doctor --prove {agent}` tries again and says what it saw"))
            }
            Self::Unsupported(_) => Some("`amplihack doctor` lists what each agent takes".to_owned()),
            _ => None,
        }
    }
}
