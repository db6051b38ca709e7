//! Faults of a registration.

use std::io;
use std::path::PathBuf;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_sys::error::ErrorExplanation;

/// The reason why hooks are not in force.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// The active agent has no registration for an event.
    #[error("{binary} has no hook for {event} at {}; {remediation}", expected_path.display())]
    MissingHookForBinary {
        /// The agent.
        binary: AgentBinary,
        /// The event, as its registration would name it.
        event: String,
        /// Path to the file in which the registration belongs.
        expected_path: PathBuf,
        /// The next step for the person.
        remediation: String,
    },
    /// The agent has no hooks at all.
    #[error("{binary} has no command hooks; {instead}")]
    NoHooks {
        /// The agent.
        binary: AgentBinary,
        /// The restriction that stands in for hooks.
        instead: &'static str,
    },
    /// The agent has no permission language.
    #[error(
        "{binary} has no permission rules that a policy could be put into; use claude, codex, copilot or amp"
    )]
    NoPermissions {
        /// The agent.
        binary: AgentBinary,
    },
    /// A setting of the host leaves out all hooks.
    #[error(
        "{} sets {setting}, by which {binary} leaves out all hooks and the guard with them; remove that, or launch with --no-hooks, without a guard",
        file.display()
    )]
    SwitchedOff {
        /// The agent.
        binary: AgentBinary,
        /// The settings file.
        file: PathBuf,
        /// The setting.
        setting: &'static str,
    },
    /// The host runs no hooks where it does not trust the folder.
    #[error(
        "{binary} leaves out all hooks, and the guard with them, in a folder that it does not trust; trust it in {binary} first, or launch with --no-hooks, without a guard"
    )]
    Untrusted {
        /// The agent.
        binary: AgentBinary,
    },
    /// The host reads a launch's hooks from no directory that this user can write, and none that hold are installed.
    #[error(
        "{binary} reads the hooks of a launch only from directories that root alone can change; run `amplihack install --agent {binary}`, whose hooks it reads, or launch with --no-hooks, without a guard"
    )]
    NotRead {
        /// The agent.
        binary: AgentBinary,
    },
    /// The hooks that are installed would be the guard, and a setting keeps them from running.
    #[error(
        "the hooks that are installed for {binary} do not run: {why}; remove that, or start it with --no-hooks"
    )]
    InstalledOff {
        /// The agent.
        binary: AgentBinary,
        /// The setting that keeps them from running, and its file.
        why: String,
    },
    /// The work would lie in a directory in which the guard lets no agent write.
    #[error(
        "{} lies in {}, where amplihack keeps its own state and the guard lets no agent write; start in another directory, set AMPLIHACK_HOME to one without your work, or launch with --no-hooks, without a guard",
        cwd.display(), state.display()
    )]
    WorkInState {
        /// The working directory.
        cwd: PathBuf,
        /// The directory of state.
        state: PathBuf,
    },
    /// The user's own `--settings` cannot have the guard's hooks beside them.
    #[error(
        "the --settings of this launch cannot carry the guard: {why}; change them, or launch with --no-hooks, without a guard"
    )]
    OwnSettings {
        /// The fault in them.
        why: String,
    },
    /// Settings that the hooks of a launch would stand beside.
    #[error("{} {why}", path.display())]
    Settings {
        /// Path to the settings file.
        path: PathBuf,
        /// The reason why nothing can be put beside them.
        why: crate::settings::EditError,
    },
    /// The hook binary is not a program that can be registered.
    #[error(
        "the hook binary {} cannot be registered: {why}; install amplihack in a directory with a plain name",
        path.display()
    )]
    BadBinary {
        /// The binary.
        path: PathBuf,
        /// The fault of the binary.
        why: &'static str,
    },
    /// The directory of a launch cannot stand in a registration.
    #[error(
        "the guard's directory {} cannot be registered with the agent: {why}; set AMPLIHACK_HOME to a directory with a plain \
         name, or launch with --no-hooks, without a guard",
        path.display()
    )]
    BadLaunchDirectory {
        /// The directory.
        path: PathBuf,
        /// The fault of its path.
        why: &'static str,
    },
    /// The directory of an injection cannot be made.
    #[error(
        "the hooks of this launch cannot be written to {}: {source}; make room there, set AMPLIHACK_HOME to another directory, or launch with --no-hooks, without a guard",
        path.display()
    )]
    Io {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl ErrorExplanation for HookError {
    fn kind(&self) -> &'static str {
        match self {
            Self::MissingHookForBinary { .. } => "missing_hook_for_binary",
            Self::NoHooks { .. } => "no_hooks",
            Self::NoPermissions { .. } => "no_permissions",
            Self::SwitchedOff { .. } | Self::InstalledOff { .. } => "hooks_switched_off",
            Self::Untrusted { .. } => "hooks_untrusted",
            Self::WorkInState { .. } => "work_in_state",
            Self::NotRead { .. } => "hooks_not_read",
            Self::Settings { .. } | Self::OwnSettings { .. } => "hook_settings",
            Self::BadBinary { .. } => "bad_hook_binary",
            Self::BadLaunchDirectory { .. } => "bad_launch_directory",
            Self::Io { .. } => "hook_injection_io",
        }
    }
}
