//! Amp's own commands. No guard holds Amp, which has no hooks, so what is no management may start an agent without one.

use crate::subcommand::AgentSubcommand;

/// Amp asks its own permission rules.
const RULES: &str = "amp has no command hooks, only permission rules of its own";

pub(super) const COMMANDS: &[AgentSubcommand] = &[
    AgentSubcommand::new_quiet(&["apps"]),
    AgentSubcommand::new_quiet(&["clone"]),
    AgentSubcommand::new_quiet(&["completions"]),
    AgentSubcommand::new_quiet(&["config"]),
    AgentSubcommand::new_quiet(&["domains"]),
    AgentSubcommand::new_quiet(&["files"]),
    AgentSubcommand::new_quiet(&["git-setup"]),
    AgentSubcommand::new_quiet(&["help"]),
    AgentSubcommand::new_unguarded(&["last", "l"], RULES),
    AgentSubcommand::new_quiet(&["login"]),
    AgentSubcommand::new_quiet(&["logout"]),
    AgentSubcommand::new_quiet(&["mcp"]),
    AgentSubcommand::new_quiet(&["net"]),
    AgentSubcommand::new_quiet(&["oauth-clients"]),
    AgentSubcommand::new_unguarded(&["orb"], RULES),
    AgentSubcommand::new_unguarded(&["orb-spawner"], RULES),
    AgentSubcommand::new_quiet(&["permissions", "permission"]),
    AgentSubcommand::new_quiet(&["plugins", "plugin"]),
    AgentSubcommand::new_quiet(&["portal"]),
    AgentSubcommand::new_quiet(&["projects"]),
    AgentSubcommand::new_quiet(&["report-bug", "report", "diagnostics"]),
    AgentSubcommand::new_unguarded(&["review"], RULES),
    AgentSubcommand::new_unguarded(&["runner"], RULES),
    AgentSubcommand::new_quiet(&["secrets"]),
    AgentSubcommand::new_quiet(&["skills", "skill"]),
    AgentSubcommand::new_quiet(&["svc"]),
    AgentSubcommand::new_unguarded(&["threads", "thread", "t"], RULES).with_commands(&[
        AgentSubcommand::new_quiet(&["list", "ls", "l"]),
        AgentSubcommand::new_quiet(&["search", "find"]),
        AgentSubcommand::new_quiet(&["usage"]),
    ]),
    AgentSubcommand::new_unguarded(&["tools", "tool"], RULES),
    AgentSubcommand::new_quiet(&["top"]),
    AgentSubcommand::new_unguarded(&["up"], RULES),
    AgentSubcommand::new_quiet(&["update"]),
    AgentSubcommand::new_quiet(&["usage"]),
    AgentSubcommand::new_quiet(&["version"]),
];
