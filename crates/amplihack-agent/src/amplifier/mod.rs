//! Microsoft Amplifier. It cannot be installed from a registry, so all of it is documented and none of it probed.

mod commands;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::prompt_delivery::DeliveryMode;

use crate::grammar::{ArgumentGrammar, PositionalMeaning};
use crate::matrix::{
    AgentCapability, ArgShape, ArgSlot, BOTH, CapabilityRow, HEADLESS, INTERACTIVE, RowEvidence,
};
use crate::profile::{AgentProfile, UsageReports};

const DOCS: RowEvidence =
    RowEvidence::Documented("amplifier run [OPTIONS] [PROMPT], README and --help of amplifier-app-cli");
const NOTE: &str = "argv only; upstream documents stdin now, but no probe can run Amplifier here";

/// Microsoft Amplifier.
pub(crate) static PROFILE: AgentProfile = AgentProfile {
    agent: AgentBinary::Amplifier,
    title: "Microsoft Amplifier",
    provider: "amplifier",
    program: "amplifier",
    install_places: &[".local/bin/amplifier"],
    directories: &["XDG_CACHE_HOME"],
    install_hint: "uv tool install git+https://github.com/microsoft/amplifier",
    prompt_note: NOTE,
    own_commands: crate::OwnCommands::Nothing,
    rows: &[
        CapabilityRow::new(AgentCapability::Start, HEADLESS, ArgShape::Words(ArgSlot::Front, &["run"]), DOCS),
        CapabilityRow::new(
            AgentCapability::Prompt(DeliveryMode::Argv),
            HEADLESS,
            ArgShape::AfterDashes,
            DOCS,
        )
        .with_note(NOTE),
        CapabilityRow::new(
            AgentCapability::Prompt(DeliveryMode::Argv),
            INTERACTIVE,
            ArgShape::AfterDashes,
            DOCS,
        ),
        CapabilityRow::new(AgentCapability::Model, BOTH, ArgShape::FlagEq("--model"), DOCS),
        CapabilityRow::new(AgentCapability::Resume, BOTH, ArgShape::FlagEq("--resume"), DOCS),
        CapabilityRow::new(
            AgentCapability::Start,
            INTERACTIVE,
            ArgShape::Words(ArgSlot::Front, &["run", "--mode", "chat"]),
            DOCS,
        ),
    ],
    decoder: None,
    counts: UsageReports::OF_THE_RUN,
    grammar: ArgumentGrammar {
        commands: commands::COMMANDS,
        headless_flags: &[],
        prompt_flags: &[],
        positional: PositionalMeaning::Prompt,
        stdin_word: None,
        value_flags: &[
            "-B",
            "--bundle",
            "-P",
            "--profile",
            "-p",
            "--provider",
            "-m",
            "--model",
            "--max-tokens",
            "--mode",
            "--resume",
            "--output-format",
        ],
        optional_value_flags: &[],
        variadic_flags: &[],
        switches: &["-v", "--verbose"],
        information_flags: &["--help", "--version"],
        serving_flags: &[],
    },
    guard_flags: &[],
    guard_variables: &[],
    settings_flag: None,
    trust_flags: &[],
    directory_flags: &[],
    scrub: &[],
    withheld: &[],
    keys: &["ANTHROPIC_API_KEY"],
    login_prompt: None,
    refuses_requests: Some(
        "upstream documents only `amplifier run [OPTIONS] [PROMPT]`; no stable prompt-file or stdin contract is available",
    ),
};
