//! Claude Code's own commands and flags, by what of a launch's guard holds with them; as its help at 2.1.332 lists them.

use crate::subcommand::{AgentSubcommand, GuardFlag};

const BACKGROUND: &str = "a background session has the settings with which it was started";
const SERVES: &str = "its tools are called by another program, past every hook";
const CLOUD: &str = "the session runs in the cloud, where hooks of a launch do not run";

pub(super) const COMMANDS: &[AgentSubcommand] = &[
    AgentSubcommand::new_unguarded(&["agents"], BACKGROUND),
    AgentSubcommand::new_unguarded(&["attach"], BACKGROUND),
    AgentSubcommand::new_quiet(&["auth"]),
    AgentSubcommand::new_quiet(&["auto-mode"]),
    AgentSubcommand::new_quiet(&["doctor"]),
    AgentSubcommand::new_quiet(&["gateway"]),
    AgentSubcommand::new_quiet(&["help"]),
    AgentSubcommand::new_quiet(&["import"]),
    AgentSubcommand::new_quiet(&["install"]),
    AgentSubcommand::new_quiet(&["logs"]),
    AgentSubcommand::new_quiet(&["mcp"]).with_commands(&[AgentSubcommand::new_unguarded(&["serve"], SERVES)]),
    AgentSubcommand::new_quiet(&["plugin", "plugins"]),
    AgentSubcommand::new_quiet(&["purge"]),
    AgentSubcommand::new_unguarded(&["respawn"], BACKGROUND),
    AgentSubcommand::new_quiet(&["rm"]),
    AgentSubcommand::new_quiet(&["setup-token"]),
    AgentSubcommand::new_quiet(&["stop", "kill"]),
    AgentSubcommand::new_unguarded(&["ultrareview"], CLOUD),
    AgentSubcommand::new_quiet(&["update", "upgrade"]),
];

pub(super) const FLAGS: &[GuardFlag] = &[
    GuardFlag::new_switching_off("--bare", "Claude Code leaves out all hooks"),
    GuardFlag::new_switching_off("--safe-mode", "Claude Code leaves out all hooks"),
    GuardFlag::new_switching_off(
        "--managed-settings",
        "settings of an administrator may leave out all hooks but their own",
    ),
    GuardFlag::new_absent("--bg", "the session outlives the launch, and its guard was not shown"),
    GuardFlag::new_absent("--background", "the session outlives the launch, and its guard was not shown"),
    GuardFlag::new_absent("--cloud", CLOUD),
    GuardFlag::new_absent("--environment", CLOUD),
    GuardFlag::new_absent("--desktop", "the desktop app runs the session"),
];
