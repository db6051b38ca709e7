//! Notices that a launch has for a person, one line each on stderr, while it continues.

use std::fmt;
use std::path::PathBuf;

use amplihack_agent::AgentBinary;
use amplihack_config::launcher_context::ContextError;
use amplihack_config::prompt_delivery::{DeliveryMode, DeliveryWarning};
use amplihack_session::NamedProcess;
use semver::Version;

use crate::hold::RepositoryTreatment;
use crate::liveness::GuardFinding;
use crate::repository::UntrustedRepository;

/// A line for a person. Never a byte of a prompt.
#[derive(Debug)]
#[non_exhaustive]
pub enum LaunchNotice {
    /// The prompt travels otherwise than requested, or was changed.
    Delivery(DeliveryWarning),
    /// The channel, the guard or both were proved at other versions only.
    Unproved {
        /// The agent.
        agent: AgentBinary,
        /// Version of the agent, where it could be read.
        version: Option<Version>,
        /// The channel, if it is not proved.
        channel: Option<DeliveryMode>,
        /// True if the guard is not proved.
        guard: bool,
    },
    /// Channels that a probe on this machine refuted are not used, so the prompt may travel otherwise than it should.
    Refuted {
        /// The agent.
        agent: AgentBinary,
        /// Version of the agent, where it could be read.
        version: Option<Version>,
        /// The channels.
        channels: Vec<DeliveryMode>,
    },
    /// No guard holds this agent.
    Unguarded {
        /// The agent.
        agent: AgentBinary,
        /// Reason why no guard holds it.
        why: String,
    },
    /// A variable by which the agent leaves out hooks is not passed on.
    SwitchRemoved {
        /// The agent.
        agent: AgentBinary,
        /// The variable.
        name: &'static str,
    },
    /// Neither a stream nor a record shows the calls of this agent, so that one whose hooks were all killed is not seen.
    CallsNotShown(AgentBinary),
    /// The agent is not made to ask before each call, because that would stop the commands in a text that it loads.
    CallsNotAskedAbout {
        /// The agent.
        agent: AgentBinary,
        /// The text.
        text: PathBuf,
    },
    /// The hooks that are installed hold this agent; the launch brings none.
    InstalledGuard(AgentBinary),
    /// Hooks for sessions that are started without amplihack are broken, though this launch is guarded.
    BrokenRegistration {
        /// The agent.
        agent: AgentBinary,
        /// Fault of those hooks.
        why: String,
    },
    /// The guard is in place, but a probe on this machine saw it fail.
    GuardRefuted {
        /// The agent.
        agent: AgentBinary,
        /// Version of the agent, where it could be read.
        version: Option<Version>,
    },
    /// The policy observes and refuses nothing.
    Observing(AgentBinary),
    /// A repository would start something of its own, and nobody has trusted that.
    UntrustedRepository {
        /// The agent.
        agent: AgentBinary,
        /// Files that it would start.
        found: UntrustedRepository,
        /// Treatment of the repository.
        fate: RepositoryTreatment,
    },
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
    /// No report of the guard tells whether calls were denied.
    DenialsUnknown,
    /// Findings against the guard of this launch.
    GuardFound(Vec<GuardFinding>),
    /// The audit lacks calls of this launch; why.
    Unaudited(String),
    /// Policy files that changed while the agent ran.
    PolicyChanged(Vec<PathBuf>),
    /// Tools that were called and that this version does not know.
    UnlistedTools(Vec<String>),
    /// Calls that the policy denied while the agent ran: the rules behind them.
    Denied(Vec<String>),
    /// Descendants that lose their environment will not know who is in charge.
    Context(ContextError),
    /// The run's events are not kept.
    NoJournal,
    /// Background processes of a headless run were ended.
    Background(Vec<NamedProcess>),
    /// Processes of the run could not be ended.
    Survivors(Vec<NamedProcess>),
}

impl fmt::Display for LaunchNotice {
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
            Self::SwitchRemoved { agent, name } => write!(
                f,
                "{name} is not passed on to {agent}, which would leave out the guard's hooks; --no-hooks launches without a guard"
            ),
            Self::CallsNotAskedAbout { agent, text } => write!(
                f,
                "{} has commands in it, which {agent} runs without asking: a call whose hooks are killed is only seen when it has run",
                text.display().to_string().escape_debug()
            ),
            Self::CallsNotShown(agent) => write!(
                f,
                "whether each call of {agent} is judged is not shown here: a call whose hooks are all killed is not seen; --output stream-json shows calls"
            ),
            Self::InstalledGuard(agent) => write!(
                f,
                "the hooks that are installed hold {agent}, which reads none from a launch of this user; denials appear only in the audit log"
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
            Self::NoJournal => f.write_str(
                "this run's events are not recorded: there is no home directory; set HOME or AMPLIHACK_HOME",
            ),
            Self::UntrustedRepository { agent, found, fate } => write_untrusted(f, *agent, found, *fate),
            Self::Observing(agent) => {
                write!(
                    f,
                    "the policy only observes: no call of {agent} is denied, and the audit log records what would have been"
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
            Self::GuardFound(findings) => {
                let found: Vec<String> = findings.iter().map(ToString::to_string).collect();
                write!(f, "the guard of this session is not in force: {}", found.join("; "))
            }
            Self::Unaudited(why) => write!(f, "calls of this session are not in the audit: {why}"),
            Self::PolicyChanged(files) => {
                let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
                write!(
                    f,
                    "{} changed while the session ran, which was judged by the policy of its start; the change counts for the next one",
                    files.join(", ")
                )
            }
            Self::UnlistedTools(tools) => write!(
                f,
                "this version does not know {}; such calls are judged by the commands, paths and addresses in them",
                tools.join(", ")
            ),
            Self::Denied(rules) => write!(
                f,
                "the policy denied {} ({}); `amplihack audit show` tells more",
                if rules.len() == 1 { "one call".to_owned() } else { format!("{} calls", rules.len()) },
                join_distinct(rules)
            ),
            Self::Context(error) => {
                write!(f, "descendants can learn the agent only from their environment: {error}")
            }
            Self::Background(processes) => {
                write!(f, "ended what the agent left in the background: {}", process_names(processes))
            }
            Self::Survivors(processes) => write!(f, "could not be ended: {}", process_names(processes)),
        }
    }
}

/// Files of a repository that are named before the rest is only counted.
const MOST_NAMED: usize = 20;

fn write_untrusted(
    f: &mut fmt::Formatter<'_>,
    agent: AgentBinary,
    found: &UntrustedRepository,
    fate: RepositoryTreatment,
) -> fmt::Result {
    f.write_str("this repository is not trusted")?;
    match fate {
        RepositoryTreatment::Held => write!(f, ", so {agent} starts nothing of its own")?,
        RepositoryTreatment::Distrusted => {
            write!(
                f,
                ", nor by {agent}, which starts nothing of it before it has asked for trust of its own"
            )?;
        }
        RepositoryTreatment::ByFlag(flag) => {
            write!(f, ", and what {agent} starts of it is decided by your {flag}")?;
        }
        RepositoryTreatment::Free => write!(f, ", and what {agent} starts of it is {agent}'s own decision")?,
    }
    write!(f, ": {}; {TO_TRUST}", file_list(found))
}

/// Hint for how a person trusts a repository.
pub(crate) const TO_TRUST: &str = "read them, then use --trust-repo or `amplihack config trust`";

/// The files of a repository, each with what is in it.
pub(crate) fn file_list(found: &UntrustedRepository) -> String {
    let named = found.files.iter().take(MOST_NAMED).map(|file| {
        format!("{} ({})", file.path.display().to_string().escape_debug(), file.what.escape_debug())
    });
    let mut files: Vec<String> = named.collect();
    if found.files.len() > MOST_NAMED {
        files.push(format!("{} more", found.files.len() - MOST_NAMED));
    }
    files.join(", ")
}

/// Each of `rules` once, in the order of their first use.
fn join_distinct(rules: &[String]) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for rule in rules {
        if !seen.contains(&rule.as_str()) {
            seen.push(rule);
        }
    }
    seen.join(", ")
}

fn process_names(processes: &[NamedProcess]) -> String {
    processes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
