//! What a launch has to tell a person, one line each on stderr, while it goes on.

use std::fmt;

use amplihack_agent::AgentBinary;
use amplihack_session::Process;
use amplihack_utils::launcher_context::ContextError;
use amplihack_utils::prompt_delivery::{DeliveryMode, DeliveryWarning};
use semver::Version;

/// One line for a person. Never a byte of a prompt.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice {
    /// The prompt travels otherwise than requested, or was changed.
    Delivery(DeliveryWarning),
    /// The channel was proved at other versions only.
    Unproved {
        /// The agent.
        agent: AgentBinary,
        /// Its version, where it could be read.
        version: Option<Version>,
        /// The channel.
        channel: DeliveryMode,
    },
    /// Channels that a probe on this machine refuted are not used, so the prompt may travel otherwise than it should.
    Refuted {
        /// The agent.
        agent: AgentBinary,
        /// Its version, where it could be read.
        version: Option<Version>,
        /// The channels.
        channels: Vec<DeliveryMode>,
    },
    /// Descendants that lose their environment will not know who is in charge.
    Context(ContextError),
    /// Background processes of a headless run were ended.
    Background(Vec<Process>),
    /// Processes of the run could not be ended.
    Survivors(Vec<Process>),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivery(warning) => warning.fmt(f),
            Self::Unproved { agent, version, channel } => {
                match version {
                    Some(version) => write!(f, "{agent} {version} is not a version")?,
                    None => write!(f, "the version of {agent} is not known, so it is not one")?,
                }
                write!(
                    f,
                    " at which a prompt by {channel} was proved; `amplihack doctor --prove {agent}` proves it here"
                )
            }
            Self::Refuted { agent, version, channels } => {
                let version = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
                let channels: Vec<String> = channels.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "{} is not used for {agent}{version}: a probe on this machine saw prompts lost or changed in it; \
                     `amplihack doctor --prove {agent}` tries again",
                    channels.join(" and ")
                )
            }
            Self::Context(error) => {
                write!(f, "descendants can learn the agent only from their environment: {error}")
            }
            Self::Background(processes) => {
                write!(f, "ended what the agent left in the background: {}", names(processes))
            }
            Self::Survivors(processes) => write!(f, "could not be ended: {}", names(processes)),
        }
    }
}

fn names(processes: &[Process]) -> String {
    processes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
