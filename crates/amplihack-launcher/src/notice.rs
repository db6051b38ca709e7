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
    /// The channel, the guard or both were proved at other versions only.
    Unproved {
        /// The agent.
        agent: AgentBinary,
        /// Its version, where it could be read.
        version: Option<Version>,
        /// The channel, if it is not proved.
        channel: Option<DeliveryMode>,
        /// Whether the guard is not proved.
        guard: bool,
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
    /// No guard holds this agent.
    Unguarded {
        /// The agent.
        agent: AgentBinary,
        /// Why.
        why: String,
    },
    /// The hooks that are installed hold this agent; the launch brings none.
    InstalledGuard(AgentBinary),
    /// This launch is guarded, but the hooks for sessions that are started without amplihack are broken.
    BrokenRegistration {
        /// The agent.
        agent: AgentBinary,
        /// What is broken about them.
        why: String,
    },
    /// The guard is in place, but a probe on this machine saw it fail.
    GuardRefuted {
        /// The agent.
        agent: AgentBinary,
        /// Its version, where it could be read.
        version: Option<Version>,
    },
    /// The policy observes and refuses nothing.
    Observing(AgentBinary),
    /// The prompt begins with a word that the agent takes for a command of its own.
    OwnCommand {
        /// The agent.
        agent: AgentBinary,
        /// The word: a slash and ASCII letters, digits and marks, at most 64 of them.
        word: String,
    },
    /// The prompt of an unattended run stands in the command line, because that was asked for.
    OnCommandLine(AgentBinary),
    /// The agent ended before it had read the whole prompt.
    PromptUnread {
        /// Bytes that it left.
        bytes: u64,
    },
    /// Whether calls were denied is not known.
    DenialsUnknown,
    /// Calls that the policy denied while the agent ran: the rules behind them.
    Denied(Vec<String>),
    /// Descendants that lose their environment will not know who is in charge.
    Context(ContextError),
    /// The run's events are not kept.
    NoJournal,
    /// Background processes of a headless run were ended.
    Background(Vec<Process>),
    /// Processes of the run could not be ended.
    Survivors(Vec<Process>),
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivery(warning) => warning.fmt(f),
            Self::Unproved { agent, version, channel, guard } => {
                match version {
                    Some(version) => write!(f, "{agent} {version} is not a version")?,
                    None => write!(f, "the version of {agent} is not known, so it is not one")?,
                }
                let what = match (channel, guard) {
                    (Some(channel), true) => format!("a prompt by {channel} and the guard were"),
                    (Some(channel), false) => format!("a prompt by {channel} was"),
                    (None, _) => "the guard was".to_owned(),
                };
                write!(f, " at which {what} proved; `amplihack doctor --prove {agent}` proves it here")
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
            Self::Unguarded { agent, why } => write!(f, "{agent} runs without a guard: {why}"),
            Self::InstalledGuard(agent) => write!(
                f,
                "the hooks that are installed hold {agent}, which reads none from a launch of this user; what they deny is in the audit only"
            ),
            Self::BrokenRegistration { agent, why } => {
                write!(f, "sessions of {agent} that are started without amplihack are not held: {why}")
            }
            Self::GuardRefuted { agent, version } => {
                let version = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
                write!(
                    f,
                    "the guard does not hold {agent}{version}: a probe on this machine saw it fail; `amplihack doctor --prove \
                     {agent}` tries again"
                )
            }
            Self::NoJournal => {
                f.write_str("this run's events are not kept: there is no home; set HOME or AMPLIHACK_HOME")
            }
            Self::Observing(agent) => {
                write!(
                    f,
                    "the policy only observes: {agent} is refused nothing, what would have been is in the audit"
                )
            }
            Self::OwnCommand { agent, word } => write!(
                f,
                "the prompt begins with {word}, which {agent} takes for a command of its own, so that it may reach no model; to send \
                 it as text, put something in front of it"
            ),
            Self::OnCommandLine(agent) => write!(
                f,
                "the prompts of this run stand in {agent}'s command line, where every user of this machine can read them, because \
                 prompt_delivery is argv"
            ),
            Self::PromptUnread { bytes } => {
                write!(f, "the agent ended with {bytes} bytes of the prompt unread; the run is not a success")
            }
            Self::DenialsUnknown => f.write_str(
                "whether the policy denied a call is not known, because no report of the guard arrived; \
                 `amplihack audit show` lists what was judged",
            ),
            Self::Denied(rules) => write!(
                f,
                "the policy denied {} ({}); `amplihack audit show` tells more",
                if rules.len() == 1 { "one call".to_owned() } else { format!("{} calls", rules.len()) },
                distinct(rules)
            ),
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

/// Each of `rules` once, in the order of their first use.
fn distinct(rules: &[String]) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for rule in rules {
        if !seen.contains(&rule.as_str()) {
            seen.push(rule);
        }
    }
    seen.join(", ")
}

fn names(processes: &[Process]) -> String {
    processes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
