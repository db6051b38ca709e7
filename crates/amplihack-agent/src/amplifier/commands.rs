//! Amplifier's own commands. No guard holds Amplifier, which has no hooks for it.

use crate::subcommand::AgentSubcommand;

/// Amplifier runs whatever its bundle allows.
const NONE: &str = "amplifier has no command hooks";

pub(super) const COMMANDS: &[AgentSubcommand] = &[
    AgentSubcommand::new_guarded(&["run"]).with_prompt(),
    AgentSubcommand::new_quiet(&["allowed-dirs"]),
    AgentSubcommand::new_quiet(&["bundle"]),
    AgentSubcommand::new_quiet(&["cache"]),
    AgentSubcommand::new_quiet(&["collection"]),
    AgentSubcommand::new_quiet(&["completion"]),
    AgentSubcommand::new_unguarded(&["continue"], NONE),
    AgentSubcommand::new_quiet(&["denied-dirs"]),
    AgentSubcommand::new_quiet(&["doctor"]),
    AgentSubcommand::new_quiet(&["help"]),
    AgentSubcommand::new_quiet(&["init"]),
    AgentSubcommand::new_quiet(&["logs"]),
    AgentSubcommand::new_quiet(&["module"]),
    AgentSubcommand::new_quiet(&["notify"]),
    AgentSubcommand::new_quiet(&["profile"]),
    AgentSubcommand::new_quiet(&["provider"]),
    AgentSubcommand::new_quiet(&["reset"]),
    AgentSubcommand::new_unguarded(&["resume"], NONE),
    AgentSubcommand::new_unguarded(&["session"], NONE),
    AgentSubcommand::new_quiet(&["source"]),
    AgentSubcommand::new_unguarded(&["tool"], NONE),
    AgentSubcommand::new_quiet(&["update"]),
    AgentSubcommand::new_quiet(&["version"]),
];
