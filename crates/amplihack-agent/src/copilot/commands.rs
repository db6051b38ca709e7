//! Copilot's own commands and flags, by what of a launch's guard holds with them; as its help at 1.0.102 lists them.

use crate::subcommand::{AgentSubcommand, GuardFlag};

const ELSEWHERE: &str = "the session runs on another machine, where hooks of a launch do not run";
/// Seen: no hook of the launch ran, though its tools did.
const READ_ONLY: &str = "its tools, which only read, ask no hook of a launch";
const NOT_SHOWN: &str = "no probe has shown that hooks of a launch run there";

pub(super) const COMMANDS: &[AgentSubcommand] = &[
    AgentSubcommand::new_unguarded(&["app"], "the app runs the session"),
    AgentSubcommand::new_quiet(&["login"]),
    AgentSubcommand::new_quiet(&["help"]),
    AgentSubcommand::new_unguarded(&["init"], READ_ONLY).with_guard_words(),
    AgentSubcommand::new_quiet(&["config"]),
    AgentSubcommand::new_quiet(&["update"]),
    AgentSubcommand::new_quiet(&["version"]),
    AgentSubcommand::new_unguarded(&["workflow"], NOT_SHOWN).with_guard_words(),
    AgentSubcommand::new_quiet(&["sessions"]),
    AgentSubcommand::new_quiet(&["memories"]),
    AgentSubcommand::new_quiet(&["plugin"]),
    AgentSubcommand::new_quiet(&["mcp"]),
    AgentSubcommand::new_quiet(&["skill"]),
    AgentSubcommand::new_quiet(&["instruction"]),
    AgentSubcommand::new_quiet(&["lsp"]),
    AgentSubcommand::new_quiet(&["sandbox"]),
    AgentSubcommand::new_quiet(&["completion"]),
];

pub(super) const FLAGS: &[GuardFlag] = &[
    GuardFlag::new_absent("--connect", ELSEWHERE),
    GuardFlag::new_absent("--environment-host", NOT_SHOWN),
    GuardFlag::new_absent("--server", NOT_SHOWN),
];
