//! Gemini's own commands and flags, by what of a launch's guard holds with them; as its help at 0.61.0 lists them.

use crate::subcommand::{AgentSubcommand, GuardFlag};

/// Shown: no hook of any settings is called there.
const ACP: &str = "under ACP Gemini calls no hooks; the launch makes it ask its client about every tool call but those that it takes for \
                   harmless itself";

pub(super) const COMMANDS: &[AgentSubcommand] = &[
    AgentSubcommand::new_quiet(&["mcp"]),
    AgentSubcommand::new_quiet(&["extensions", "extension"]),
    AgentSubcommand::new_quiet(&["skills", "skill"]),
    AgentSubcommand::new_quiet(&["hooks", "hook"]),
    AgentSubcommand::new_quiet(&["gemma"]),
];

pub(super) const FLAGS: &[GuardFlag] =
    &[GuardFlag::new_absent("--acp", ACP), GuardFlag::new_absent("--experimental-acp", ACP)];
