//! Amp.

mod commands;
mod decode;
pub mod sdk;
mod tools;
pub mod wire;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::prompt_delivery::DeliveryMode;

pub use decode::AmpStream;

use crate::grammar::{ArgumentGrammar, PositionalMeaning, PromptFlag};
use crate::matrix::{
    AgentCapability, ArgShape, ArgSlot, BOTH, CapabilityRow, HEADLESS, RowEvidence, RunMode,
};
use crate::profile::{AgentProfile, UsageReports};

const HELP: RowEvidence = RowEvidence::Documented("amp --help, 0.0.1790142911");
const NOTE: &str = "stdin and argv are documented by amp --help; without an account no probe can show them";

/// Amp.
pub(crate) static PROFILE: AgentProfile = AgentProfile {
    agent: AgentBinary::Amp,
    title: "Amp",
    provider: "amp",
    program: "amp",
    install_places: &[".amp/bin/amp", ".local/bin/amp"],
    directories: &["XDG_CACHE_HOME"],
    install_hint: "npm install -g @ampcode/cli",
    prompt_note: NOTE,
    own_commands: crate::OwnCommands::Nothing,
    rows: &[
        CapabilityRow::new(AgentCapability::Start, HEADLESS, ArgShape::Words(ArgSlot::Option, &[]), HELP),
        CapabilityRow::new(
            AgentCapability::Prompt(DeliveryMode::Argv),
            HEADLESS,
            ArgShape::FlagEq("--execute"),
            HELP,
        )
        .with_note(NOTE),
        CapabilityRow::new(
            AgentCapability::Prompt(DeliveryMode::Stdin),
            HEADLESS,
            ArgShape::Stdin(&["--execute"]),
            HELP,
        )
        .with_note(NOTE),
        CapabilityRow::new(
            AgentCapability::Resume,
            BOTH,
            ArgShape::WordsThen(ArgSlot::Front, &["threads", "continue"]),
            HELP,
        ),
        CapabilityRow::new(
            AgentCapability::Continue,
            BOTH,
            ArgShape::Words(ArgSlot::Front, &["threads", "continue", "--last"]),
            HELP,
        ),
        CapabilityRow::new(AgentCapability::McpConfig, BOTH, ArgShape::FlagEq("--mcp-config"), HELP),
        CapabilityRow::new(
            AgentCapability::Stream,
            HEADLESS,
            ArgShape::Words(ArgSlot::Option, &["--stream-json"]),
            HELP,
        ),
    ],
    decoder: Some(|| Box::new(AmpStream::new())),
    counts: UsageReports::OF_THE_RUN,
    grammar: ArgumentGrammar {
        commands: commands::COMMANDS,
        headless_flags: &[],
        prompt_flags: &[
            PromptFlag { flag: "-x", mode: RunMode::Headless, optional: true },
            PromptFlag { flag: "--execute", mode: RunMode::Headless, optional: true },
        ],
        positional: PositionalMeaning::Foreign,
        stdin_word: None,
        value_flags: &[
            "--visibility",
            "--settings-file",
            "--log-level",
            "--log-file",
            "--mcp-config",
            "-m",
            "--mode",
            "--features",
            "--executor",
            "--runner-dir",
            "--runner-id",
            "--attach",
            "--orb-size",
            "--title",
            "-l",
            "--label",
        ],
        optional_value_flags: &["--project", "--plugin-ready-timeout"],
        variadic_flags: &[],
        switches: &[
            "--notifications",
            "--no-notifications",
            "--color",
            "--no-color",
            "--ide",
            "--no-ide",
            "--fast",
            "--no-tui",
            "--amp-env",
            "--remote-control-terminal",
            "--no-remote-control-terminal",
            "-ox",
            "--orb-execute",
            "--stream-json",
            "--stream-json-thinking",
            "--stream-json-input",
            "--no-archive-after-execute",
        ],
        information_flags: &["-h", "--help", "-v", "-V", "--version"],
        serving_flags: &[],
    },
    guard_flags: &[],
    guard_variables: &[],
    settings_flag: None,
    trust_flags: &[],
    directory_flags: &[],
    scrub: &[],
    withheld: &[],
    keys: &["AMP_API_KEY"],
    login_prompt: Some("No API key found."),
    refuses_requests: None,
};
