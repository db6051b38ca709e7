//! GitHub Copilot CLI.

mod activity;
mod commands;
pub(crate) mod decode;
pub mod nested;
mod session;
mod spans;
mod speech;
mod tasks;
mod tools;
mod wire;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::prompt_delivery::DeliveryMode;

pub(crate) use spans::read_span;

use crate::command::PermissionLevel;
use crate::grammar::{ArgumentGrammar, PositionalMeaning, PromptFlag};
use crate::matrix::{
    AgentCapability, ArgShape, ArgSlot, BOTH, CapabilityRow, HEADLESS, INTERACTIVE, RowEvidence, RunMode,
    VersionRange,
};
use crate::profile::{AgentProfile, UsageReports};

const PROVED: VersionRange = VersionRange { from: (1, 0, 102), below: (1, 1, 0) };
const PROMPTS: RowEvidence = RowEvidence::Probe(PROVED, "copilot_takes_every_prompt_unchanged");
const OPTIONS: RowEvidence = RowEvidence::Probe(PROVED, "copilot_understands_every_option");
const LEVELS: RowEvidence = RowEvidence::Probe(PROVED, "copilot_keeps_its_permission_levels");
const HOOKS: RowEvidence = RowEvidence::Probe(PROVED, "copilot_is_held_by_the_guard");
const TERMINAL: RowEvidence = RowEvidence::Probe(PROVED, "copilot_takes_a_prompt_in_a_terminal");
const STREAM: RowEvidence = RowEvidence::Probe(PROVED, "copilot_streams_what_it_does");

const TRIMS: &str = "Copilot trims blanks at the end, puts the date before the prompt, and refuses prompts beyond its model's budget";

/// GitHub Copilot CLI.
pub(crate) static PROFILE: AgentProfile = AgentProfile {
    agent: AgentBinary::Copilot,
    title: "GitHub Copilot CLI",
    provider: "github.copilot",
    program: "copilot",
    install_places: &[".local/bin/copilot"],
    directories: &["COPILOT_CACHE_HOME", "COPILOT_HOME", "XDG_CACHE_HOME"],
    install_hint: "npm install -g @github/copilot",
    prompt_note: TRIMS,
    own_commands: crate::OwnCommands::Words(&["/compact"]),
    rows: &[
        CapabilityRow::new(AgentCapability::Start, HEADLESS, ArgShape::Words(ArgSlot::Option, &[]), PROMPTS),
        CapabilityRow::new(
            AgentCapability::Prompt(DeliveryMode::Argv),
            HEADLESS,
            ArgShape::FlagEq("--prompt"),
            PROMPTS,
        )
        .with_note(TRIMS),
        CapabilityRow::new(
            AgentCapability::Prompt(DeliveryMode::Stdin),
            HEADLESS,
            ArgShape::Stdin(&[]),
            PROMPTS,
        )
        .with_note(TRIMS),
        CapabilityRow::new(
            AgentCapability::Prompt(DeliveryMode::Argv),
            INTERACTIVE,
            ArgShape::FlagEq("--interactive"),
            TERMINAL,
        )
        .with_note(TRIMS),
        CapabilityRow::new(
            AgentCapability::Hooks,
            BOTH,
            ArgShape::WordsThen(ArgSlot::Option, &["--plugin-dir"]),
            HOOKS,
        )
        .with_note("in a folder that Copilot does not trust too"),
        CapabilityRow::new(AgentCapability::Model, BOTH, ArgShape::FlagEq("--model"), OPTIONS),
        CapabilityRow::new(AgentCapability::Resume, BOTH, ArgShape::FlagEq("--resume"), OPTIONS),
        CapabilityRow::new(
            AgentCapability::Continue,
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--continue"]),
            OPTIONS,
        ),
        CapabilityRow::new(AgentCapability::AddDir, BOTH, ArgShape::FlagEq("--add-dir"), OPTIONS),
        CapabilityRow::new(
            AgentCapability::McpConfig,
            BOTH,
            ArgShape::FlagEqAt("--additional-mcp-config"),
            OPTIONS,
        ),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Ask),
            BOTH,
            ArgShape::Words(ArgSlot::Option, &[]),
            LEVELS,
        )
        .with_note("Copilot asks by itself; headless, what needs leave is refused"),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Edit),
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--allow-tool=write"]),
            LEVELS,
        )
        .with_note("headless, shell commands are refused"),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Full),
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--allow-all"]),
            LEVELS,
        ),
        CapabilityRow::new(
            AgentCapability::Stream,
            HEADLESS,
            ArgShape::Words(ArgSlot::Option, &["--output-format", "json"]),
            STREAM,
        )
        .with_note("without tokens"),
        CapabilityRow::new(
            AgentCapability::UsageFile,
            HEADLESS,
            ArgShape::FlagEq("--usage-output-file"),
            STREAM,
        )
        .with_note("after a resume its tokens are those of all of the session"),
    ],
    decoder: Some(|| Box::new(decode::CopilotStream::default())),
    counts: UsageReports {
        session_totals: true,
        usage_file: Some(decode::usage_file),
        live_file: Some(spans::spans_file),
        ..UsageReports::OF_THE_RUN
    },
    grammar: ArgumentGrammar {
        commands: commands::COMMANDS,
        headless_flags: &[],
        prompt_flags: &[
            PromptFlag { flag: "-p", mode: RunMode::Headless, optional: false },
            PromptFlag { flag: "--prompt", mode: RunMode::Headless, optional: false },
            PromptFlag { flag: "-i", mode: RunMode::Interactive, optional: false },
            PromptFlag { flag: "--interactive", mode: RunMode::Interactive, optional: false },
        ],
        positional: PositionalMeaning::Foreign,
        stdin_word: None,
        value_flags: &[
            "--model",
            "--reasoning-effort",
            "--context",
            "--auto-tier",
            "--agent",
            "-n",
            "--name",
            "--session-id",
            "-C",
            "--log-dir",
            "--extension-sdk-path",
            "--log-level",
            "--stream",
            "--output-format",
            "--add-dir",
            "--attachment",
            "--disable-mcp-server",
            "--add-github-mcp-toolset",
            "--add-github-mcp-tool",
            "--plugin-dir",
            "--additional-mcp-config",
            "--mcp-github-auth",
            "--max-autopilot-continues",
            "--mode",
            "--environment-host",
            "--environment-compute-id",
            "--dynamic-retrieval",
            "--enable-mcp-server",
            "--max-ai-credits",
            "--usage-output-file",
        ],
        optional_value_flags: &["-r", "--resume", "--connect", "--share", "--bash-env", "--mouse"],
        variadic_flags: &[
            "--allow-tool",
            "--deny-tool",
            "--available-tools",
            "--excluded-tools",
            "--secret-env-vars",
            "--allow-url",
            "--deny-url",
        ],
        switches: &[
            "--fleet",
            "--trust-folder",
            "-s",
            "--silent",
            "--disable-client-telemetry",
            "--enable-memory",
            "--continue",
            "--allow-all-tools",
            "--allow-all-paths",
            "--disallow-temp-dir",
            "--banner",
            "--screen-reader",
            "--plain-diff",
            "--share-gist",
            "--disable-builtin-mcps",
            "--enable-all-github-mcp-tools",
            "--allow-all-mcp-server-instructions",
            "--allow-all-urls",
            "--allow-all",
            "--yolo",
            "--autopilot",
            "--plan",
            "--experimental",
            "--acp",
            "--remote",
            "--remote-export",
            "--assisted-approval",
            "--no-custom-instructions",
            "--no-auto-update",
            "--no-ask-user",
            "--no-color",
            "--no-experimental",
            "--no-bash-env",
            "--no-mouse",
            "--no-remote",
            "--no-remote-export",
            "--no-eager-powershell-resolution",
        ],
        information_flags: &["-h", "--help", "-v", "--version"],
        serving_flags: &["--acp", "--server"],
    },
    guard_flags: commands::FLAGS,
    guard_variables: &[],
    settings_flag: None,
    trust_flags: &["--trust-folder"],
    directory_flags: &["-C"],
    scrub: &[
        "CLAUDE_PROJECT_DIR",
        "COPILOT_CLI",
        "COPILOT_CLI_BINARY_VERSION",
        "COPILOT_CLI_RESOLVED_DIST_DIR",
        "COPILOT_HOOK_DIR",
        "COPILOT_PROJECT_DIR",
    ],
    withheld: &[
        &["COPILOT_OFFLINE"],
        &["COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_TYPE"],
    ],
    keys: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
    login_prompt: None,
    refuses_requests: None,
};
