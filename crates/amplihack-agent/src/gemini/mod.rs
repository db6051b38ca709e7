//! Google Gemini CLI.

mod calls;
mod commands;
mod decode;
mod messages;
mod wire;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::prompt_delivery::DeliveryMode;

pub(crate) use messages::message_line;

use crate::command::PermissionLevel;
use crate::grammar::{ArgumentGrammar, PositionalMeaning, PromptFlag};
use crate::matrix::{
    AgentCapability, ArgShape, ArgSlot, BOTH, CapabilityRow, HEADLESS, INTERACTIVE, RowEvidence, RunMode,
    VersionRange,
};
use crate::profile::{AgentProfile, UsageReports};

const PROVED: VersionRange = VersionRange { from: (0, 61, 0), below: (0, 62, 0) };
const PROMPTS: RowEvidence = RowEvidence::Probe(PROVED, "gemini_takes_every_prompt_unchanged");
const OPTIONS: RowEvidence = RowEvidence::Probe(PROVED, "gemini_understands_every_option");
const LEVELS: RowEvidence = RowEvidence::Probe(PROVED, "gemini_keeps_its_permission_levels");
const HOOKS: RowEvidence = RowEvidence::Probe(PROVED, "gemini_is_held_by_the_guard");
const HELD: RowEvidence = RowEvidence::Probe(PROVED, "gemini_starts_nothing_of_an_untrusted_repository");
const ASKS: RowEvidence = RowEvidence::Probe(PROVED, "gemini_asks_its_client_under_acp");
const TERMINAL: RowEvidence = RowEvidence::Probe(PROVED, "gemini_takes_a_prompt_in_a_terminal");
const STREAM: RowEvidence = RowEvidence::Probe(PROVED, "gemini_streams_what_it_does");

const AT_FILES: &str = "Gemini replaces `@file` in a prompt by the file, and runs nothing headless in a folder that it does not trust; the guard needs that trust too";

/// Google Gemini CLI.
pub(crate) static PROFILE: AgentProfile = AgentProfile {
    agent: AgentBinary::Gemini,
    title: "Gemini CLI",
    provider: "gcp.gemini",
    program: "gemini",
    install_places: &[".local/bin/gemini"],
    directories: &["GEMINI_CLI_HOME"],
    install_hint: "npm install -g @google/gemini-cli",
    prompt_note: AT_FILES,
    own_commands: crate::OwnCommands::Words(&["/model", "/exit", "/init"]),
    rows: &[
        CapabilityRow::new(AgentCapability::Start, HEADLESS, ArgShape::Words(ArgSlot::Option, &[]), PROMPTS),
        CapabilityRow::new(AgentCapability::Prompt(DeliveryMode::Argv), HEADLESS, ArgShape::FlagEq("--prompt"), PROMPTS)
            .with_note(AT_FILES),
        CapabilityRow::new(AgentCapability::Prompt(DeliveryMode::Stdin), HEADLESS, ArgShape::Stdin(&[]), PROMPTS)
            .with_note(AT_FILES),
        CapabilityRow::new(
            AgentCapability::Prompt(DeliveryMode::Argv),
            INTERACTIVE,
            ArgShape::FlagEq("--prompt-interactive"),
            TERMINAL,
        ),
        CapabilityRow::new(AgentCapability::Hooks, BOTH, ArgShape::Variable("GEMINI_CLI_SYSTEM_SETTINGS_PATH"), HOOKS)
            .with_note("for root; Gemini reads that file from no other user, whom `amplihack install` serves"),
        CapabilityRow::new(AgentCapability::AskAlways, BOTH, ArgShape::FlagEq("--admin-policy"), ASKS)
            .with_note("where no hooks are called; what Gemini takes for harmless itself is not asked"),
        CapabilityRow::new(
            AgentCapability::HoldRepository,
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--skip-trust"]),
            HELD,
        )
        .with_note("with a list of trusted folders of the launch's own, which is empty: the folder is trusted after its settings were left out"),
        CapabilityRow::new(AgentCapability::Model, BOTH, ArgShape::FlagEq("--model"), OPTIONS),
        CapabilityRow::new(AgentCapability::Resume, BOTH, ArgShape::FlagEq("--resume"), OPTIONS),
        CapabilityRow::new(AgentCapability::Continue, BOTH, ArgShape::Words(ArgSlot::Option, &["--resume=latest"]), OPTIONS),
        CapabilityRow::new(AgentCapability::AddDir, BOTH, ArgShape::FlagEq("--include-directories"), OPTIONS)
            .with_note("a comma divides two directories"),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Ask),
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--approval-mode=default"]),
            LEVELS,
        )
        .with_note("headless, tools that need leave are not offered to the model"),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Edit),
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--approval-mode=auto_edit"]),
            LEVELS,
        )
        .with_note("headless, the shell is not offered to the model"),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Full),
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--approval-mode=yolo"]),
            LEVELS,
        ),
        CapabilityRow::new(
            AgentCapability::Stream,
            HEADLESS,
            ArgShape::Words(ArgSlot::Option, &["--output-format", "stream-json"]),
            STREAM,
        ),
    ],
    decoder: Some(|| Box::new(decode::GeminiStream::default())),
    counts: UsageReports { live_file: Some(|env, _| messages::find_message_files(env)), ..UsageReports::OF_THE_RUN },
    grammar: ArgumentGrammar {
        commands: commands::COMMANDS,
        headless_flags: &[],
        prompt_flags: &[
            PromptFlag { flag: "-p", mode: RunMode::Headless, optional: false },
            PromptFlag { flag: "--prompt", mode: RunMode::Headless, optional: false },
            PromptFlag { flag: "-i", mode: RunMode::Interactive, optional: false },
            PromptFlag { flag: "--prompt-interactive", mode: RunMode::Interactive, optional: false },
        ],
        positional: PositionalMeaning::Prompt,
        stdin_word: None,
        value_flags: &[
            "-m",
            "--model",
            "--approval-mode",
            "-o",
            "--output-format",
            "--session-file",
            "--session-id",
            "--delete-session",
        ],
        optional_value_flags: &["-r", "--resume", "-w", "--worktree"],
        variadic_flags: &[
            "--policy",
            "--admin-policy",
            "--allowed-mcp-server-names",
            "--allowed-tools",
            "-e",
            "--extensions",
            "--include-directories",
        ],
        switches: &[
            "-d",
            "--debug",
            "--skip-trust",
            "-s",
            "--sandbox",
            "-y",
            "--yolo",
            "--acp",
            "--experimental-acp",
            "--screen-reader",
            "--raw-output",
            "--accept-raw-output-risk",
        ],
        information_flags: &["-h", "--help", "-v", "--version", "-l", "--list-extensions", "--list-sessions"],
        serving_flags: &["--acp", "--experimental-acp"],
    },
    guard_flags: commands::FLAGS,
    guard_variables: &[],
    settings_flag: None,
    trust_flags: &["--skip-trust"],
    directory_flags: &[],
    scrub: &[
        "GEMINI_CLI",
        "GEMINI_CWD",
        "GEMINI_PLANS_DIR",
        "GEMINI_PROJECT_DIR",
        "GEMINI_PTY_INFO",
        "GEMINI_SESSION_ID",
    ],
    withheld: &[],
    keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    login_prompt: None,
    refuses_requests: None,
};
