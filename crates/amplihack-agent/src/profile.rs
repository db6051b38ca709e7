//! Profile of an agent: its names, where it is found, how it is installed, its rows and its grammar.

use std::path::Path;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;

use crate::decode::Decode;
use crate::event::AgentUsage;
use crate::grammar::ArgumentGrammar;
use crate::live::LiveFile;
use crate::matrix::{AgentCapability, CapabilityRow, RunMode};
use crate::own_commands::OwnCommands;
use crate::subcommand::GuardFlag;

/// Reads what a run used out of a file of the agent.
pub type ReadUsage = fn(&[u8]) -> Option<AgentUsage>;

/// Everything that is known of one agent CLI.
#[derive(Debug)]
pub struct AgentProfile {
    /// The agent.
    pub agent: AgentBinary,
    /// Name of the agent for people.
    pub title: &'static str,
    /// Provider of its models, as far as the agent settles that: a value of OpenTelemetry's conventions where they have one.
    pub provider: &'static str,
    /// Name of its program.
    pub program: &'static str,
    /// Places where its own installers put the program, relative to the home directory, in the order of looking.
    pub install_places: &'static [&'static str],
    /// Variables that name directories into which even its `--version` writes: Codex links itself into its home, Copilot
    /// unpacks itself, Amp logs.
    pub directories: &'static [&'static str],
    /// The command that installs it.
    pub install_hint: &'static str,
    /// Sentence of `doctor` about its prompts.
    pub prompt_note: &'static str,
    /// The matrix.
    pub rows: &'static [CapabilityRow],
    /// The decoder of its stream of JSON lines; `None` for an agent that prints text only.
    pub decoder: Option<fn() -> Box<dyn Decode>>,
    /// Reports of the agent about its usage.
    pub counts: UsageReports,
    /// Grammar of its own arguments.
    pub grammar: ArgumentGrammar,
    /// Flags with which a launch's guard is not in force.
    pub guard_flags: &'static [GuardFlag],
    /// Variables by which it leaves out the hooks of a launch.
    pub guard_variables: &'static [&'static str],
    /// The flag that carries the guard's hooks, where it counts the last value only: the user's own go into that one.
    pub settings_flag: Option<&'static str>,
    /// The flags by which a user decides what it starts of a repository.
    pub trust_flags: &'static [&'static str],
    /// Flags that name the directory which it enters first.
    pub directory_flags: &'static [&'static str],
    /// Variables that it sets for its own tools and that would mislead a new session below it. A final `*` matches the rest.
    pub scrub: &'static [&'static str],
    /// Variables that it hides from its tools though a nested session needs them, in groups that only make sense
    /// together: a key belongs to the address that it opens.
    pub withheld: &'static [&'static [&'static str]],
    /// Variables that hold the key of its provider: the one that a headless run takes, then others in which users have it. `codex exec`
    /// was seen to send `CODEX_API_KEY`, and not `OPENAI_API_KEY`.
    pub keys: &'static [&'static str],
    /// The beginning of the line with which a headless run without a key asks a person to log in, and waits for ever; `None` for an agent
    /// that ends with an error.
    pub login_prompt: Option<&'static str>,
    /// Commands of its own with which a prompt may begin.
    pub own_commands: OwnCommands,
    /// Explicit delivery requests that it refuses before it is started, with the reason.
    pub refuses_requests: Option<&'static str>,
}

/// Reports of an agent about its usage, and where they are.
#[derive(Debug, Clone, Copy)]
pub struct UsageReports {
    /// Set if its totals are those of its session: after a resume they hold what earlier runs of it used.
    pub session_totals: bool,
    /// Set if it reports its cost in dollars.
    pub dollars: bool,
    /// Reads the file that it writes where [`AgentCapability::UsageFile`] asks for one.
    pub usage_file: Option<ReadUsage>,
    /// File to which it writes its usage while it works, in an environment, at a path of ours where we may choose the place.
    pub live_file: Option<fn(&Env, &Path) -> Option<LiveFile>>,
}

impl UsageReports {
    /// Reports of an agent whose stream has the run's tokens at its end.
    pub(crate) const OF_THE_RUN: Self =
        Self { session_totals: false, dollars: false, usage_file: None, live_file: None };
}

/// The profile of `agent`.
pub fn agent_profile(agent: AgentBinary) -> &'static AgentProfile {
    match agent {
        AgentBinary::Copilot => &crate::copilot::PROFILE,
        AgentBinary::Codex => &crate::codex::PROFILE,
        AgentBinary::Amplifier => &crate::amplifier::PROFILE,
        AgentBinary::Amp => &crate::amp::PROFILE,
        AgentBinary::Gemini => &crate::gemini::PROFILE,
        // `AgentBinary` is non-exhaustive for users of the library; a test holds that each agent has its own profile.
        _ => &crate::claude::PROFILE,
    }
}

impl AgentProfile {
    /// The row of `cap` in `mode`, if the agent has one.
    pub fn find_row(&self, cap: AgentCapability, mode: RunMode) -> Option<&'static CapabilityRow> {
        self.rows.iter().find(|row| row.cap == cap && row.modes.contains(&mode))
    }

    /// Reports whether a line of output, or the beginning of one, is the request to log in of a headless run without a key.
    pub fn asks_for_login(&self, line: &[u8]) -> bool {
        self.login_prompt.is_some_and(|prompt| line.starts_with(prompt.as_bytes()))
    }

    /// The reason of a run that was not begun for want of a key, with what to do.
    pub fn login_reason(&self) -> String {
        let set = self.keys.first().map(|key| format!(", or set {key}")).unwrap_or_default();
        format!("{0} has no API key; run `{0} login`{set}", self.program)
    }

    /// Reports whether a launch removes the variable `name` from the agent's environment.
    pub fn scrubs_variable(&self, name: &str) -> bool {
        self.scrub.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => *pattern == name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{ArgShape, RowEvidence};

    #[test]
    fn each_agent_has_a_profile_of_its_own() {
        for agent in AgentBinary::ALL {
            assert_eq!(agent_profile(agent).agent, agent);
        }
    }

    #[test]
    fn a_capability_has_one_row_a_mode() {
        for agent in AgentBinary::ALL {
            for (index, row) in agent_profile(agent).rows.iter().enumerate() {
                for mode in row.modes {
                    let first = agent_profile(agent)
                        .rows
                        .iter()
                        .position(|r| r.cap == row.cap && r.modes.contains(mode));
                    assert_eq!(first, Some(index), "{agent}: {} in {mode} has two rows", row.cap);
                }
            }
        }
    }

    #[test]
    fn every_agent_takes_a_headless_prompt_on_argv() {
        use amplihack_config::prompt_delivery::DeliveryMode;
        for agent in AgentBinary::ALL {
            let row = agent_profile(agent)
                .find_row(AgentCapability::Prompt(DeliveryMode::Argv), RunMode::Headless)
                .unwrap();
            assert!(matches!(row.shape, ArgShape::AfterDashes | ArgShape::FlagEq(_)), "{agent}");
        }
    }

    #[test]
    fn evidence_is_never_empty() {
        for agent in AgentBinary::ALL {
            for row in agent_profile(agent).rows {
                match row.evidence {
                    RowEvidence::Probe(range, test) => {
                        assert!(range.from < range.below && !test.is_empty(), "{row:?}");
                    }
                    RowEvidence::Documented(source) => assert!(!source.is_empty(), "{row:?}"),
                }
            }
        }
    }
}
