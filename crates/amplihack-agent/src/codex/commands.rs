//! Codex's own commands and flags, by what of a launch's guard holds with them; as its help at 0.171.0 lists them.

use crate::subcommand::{AgentSubcommand, FlagValues, GuardFlag, GuardState};

const DAEMON: &str = "the server that runs the session has the settings with which it was started";
const CLOUD: &str = "the task runs in the cloud, where hooks of a launch do not run";
const OFF: &str = "Codex leaves out the guard's hooks";
const TTY: &str = "write_stdin asks no hook";

/// Flags of every review.
const REVIEW: &[&str] = &["--base", "--commit", "--title", "--uncommitted"];
/// Flags of every command that picks a session.
const PICK: &[&str] = &["--all", "--include-non-interactive", "--last"];

pub(super) const COMMANDS: &[AgentSubcommand] = &[
    AgentSubcommand::new_unguarded(&["agents"], DAEMON).with_guard_words(),
    AgentSubcommand::new_guarded(&["exec", "e"]).with_prompt().with_commands(&[
        AgentSubcommand::new_guarded(&["resume"]).with_flags(PICK),
        AgentSubcommand::new_guarded(&["fork"]),
        AgentSubcommand::new_guarded(&["review"]).with_flags(REVIEW),
        AgentSubcommand::new_quiet(&["help"]),
    ]),
    AgentSubcommand::new_guarded(&["review"]).with_flags(REVIEW),
    AgentSubcommand::new_quiet(&["login"]),
    AgentSubcommand::new_quiet(&["logout"]),
    AgentSubcommand::new_quiet(&["mcp"]),
    AgentSubcommand::new_quiet(&["plugin"]),
    AgentSubcommand::new_guarded(&["app-server"])
        .with_flags(&[
            "--analytics-default-enabled",
            "--cloud-skills-snapshot",
            "--code-mode-host",
            "--listen",
            "--print-startup-config",
            "--startup-client-info",
            "--startup-sign-out",
            "--stdio",
            "--ws-audience",
            "--ws-auth",
            "--ws-issuer",
            "--ws-max-clock-skew-seconds",
            "--ws-shared-secret-file",
            "--ws-token-file",
            "--ws-token-sha256",
        ])
        .with_commands(&[
            AgentSubcommand::new_unguarded(&["daemon"], DAEMON).with_guard_words(),
            AgentSubcommand::new_unguarded(&["proxy"], DAEMON).with_guard_words(),
            AgentSubcommand::new_quiet(&["generate-ts"]),
            AgentSubcommand::new_quiet(&["generate-json-schema"]),
            AgentSubcommand::new_quiet(&["help"]),
        ]),
    AgentSubcommand::new_unguarded(&["remote-control"], DAEMON).with_guard_words(),
    AgentSubcommand::new_quiet(&["completion"]),
    AgentSubcommand::new_quiet(&["update"]),
    AgentSubcommand::new_quiet(&["doctor"]),
    AgentSubcommand::new_quiet(&["sandbox"]),
    AgentSubcommand::new_quiet(&["debug"]).with_commands(&[
        AgentSubcommand::new_quiet(&["models"]),
        AgentSubcommand::new_unguarded(&["app-server"], DAEMON).with_guard_words(),
        AgentSubcommand::new_quiet(&["prompt-input"]),
        AgentSubcommand::new_quiet(&["help"]),
    ]),
    AgentSubcommand::new_quiet(&["apply", "a"]),
    AgentSubcommand::new_guarded(&["resume"]).with_flags(PICK),
    AgentSubcommand::new_unguarded(&["queue"], DAEMON).with_guard_words(),
    AgentSubcommand::new_quiet(&["archive"]),
    AgentSubcommand::new_quiet(&["delete"]),
    AgentSubcommand::new_quiet(&["migrate-rollouts"]),
    AgentSubcommand::new_quiet(&["migrate-nfs-db"]),
    AgentSubcommand::new_quiet(&["unarchive"]),
    AgentSubcommand::new_guarded(&["fork"]).with_flags(PICK),
    AgentSubcommand::new_unguarded(&["cloud"], CLOUD).with_guard_words(),
    AgentSubcommand::new_unguarded(&["exec-server"], "what it runs, another program asks for")
        .with_guard_words(),
    AgentSubcommand::new_quiet(&["features"]),
    AgentSubcommand::new_quiet(&["help"]),
];

/// Settings that would take the place of the guard's, or let `write_stdin` through.
const SETTINGS: FlagValues =
    FlagValues::Keys(&["hooks", "features.hooks", "features.codex_hooks", "features.unified_exec_tty"]);

pub(super) const FLAGS: &[GuardFlag] = &[
    GuardFlag::new_switching_off("-c", OFF).with_values(SETTINGS),
    GuardFlag::new_switching_off("--config", OFF).with_values(SETTINGS),
    GuardFlag::new_switching_off("--disable", OFF).with_values(FlagValues::Words(&["hooks", "codex_hooks"])),
    GuardFlag {
        name: "--enable",
        values: FlagValues::Words(&["unified_exec_tty"]),
        state: GuardState::SwitchedOff(TTY),
    },
    GuardFlag::new_absent("--remote", DAEMON),
];
