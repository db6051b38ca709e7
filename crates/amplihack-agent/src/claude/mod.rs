//! Claude Code.

mod commands;
pub(crate) mod decode;
mod ends;
mod messages;
mod notices;
mod partial;
mod plan;
mod questions;
mod result;
mod system;
mod tasks;
mod tools;
mod user;
mod wire;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::prompt_delivery::DeliveryMode;

pub(crate) use messages::message_line;

use crate::command::PermissionLevel;
use crate::grammar::{ArgumentGrammar, PositionalMeaning};
use crate::matrix::{
    AgentCapability, ArgShape, ArgSlot, BOTH, CapabilityRow, ChannelLimit, HEADLESS, INTERACTIVE,
    RowEvidence, VersionRange,
};
use crate::profile::{AgentProfile, UsageReports};

const PROVED: VersionRange = VersionRange { from: (2, 1, 332), below: (2, 2, 0) };
const PROMPTS: RowEvidence = RowEvidence::Probe(PROVED, "claude_takes_every_prompt_unchanged");
const OPTIONS: RowEvidence = RowEvidence::Probe(PROVED, "claude_understands_every_option");
const LEVELS: RowEvidence = RowEvidence::Probe(PROVED, "claude_keeps_its_permission_levels");
const HOOKS: RowEvidence = RowEvidence::Probe(PROVED, "claude_is_held_by_the_guard");
const HELD: RowEvidence = RowEvidence::Probe(PROVED, "claude_starts_nothing_of_an_untrusted_repository");
const TERMINAL: RowEvidence = RowEvidence::Probe(PROVED, "claude_takes_a_prompt_in_a_terminal");
const DOLLARS: RowEvidence = RowEvidence::Probe(PROVED, "claude_keeps_its_budget_in_dollars");
const COUNTS: RowEvidence = RowEvidence::Probe(PROVED, "claude_counts_while_it_works");
const SYSTEM_FILE: RowEvidence = RowEvidence::Probe(PROVED, "claude_reads_a_system_prompt_from_a_file");
const STREAM: RowEvidence = RowEvidence::Probe(PROVED, "claude_streams_what_it_does");

/// Beyond this the CLI itself refuses: "Prompt is too long".
const STDIN_LIMIT: ChannelLimit = ChannelLimit::Bytes(9_900_000);
const KEEPS: &str = "a resumed session keeps the system prompt that it began with";
const SLASH: &str = "a prompt that begins with / is a command of Claude's own";

/// Claude Code.
pub(crate) static PROFILE: AgentProfile = AgentProfile {
    agent: AgentBinary::Claude,
    title: "Claude Code",
    provider: "anthropic",
    program: "claude",
    install_places: &[".claude/local/claude", ".local/bin/claude"],
    directories: &[],
    install_hint: "npm install -g @anthropic-ai/claude-code",
    prompt_note: SLASH,
    own_commands: crate::OwnCommands::EveryName,
    rows: &[
        CapabilityRow::new(
            AgentCapability::Start,
            HEADLESS,
            ArgShape::Words(ArgSlot::Front, &["-p"]),
            PROMPTS,
        ),
        CapabilityRow::new(
            AgentCapability::Prompt(DeliveryMode::Argv),
            HEADLESS,
            ArgShape::AfterDashes,
            PROMPTS,
        )
        .with_note(SLASH),
        CapabilityRow::new(
            AgentCapability::Prompt(DeliveryMode::Stdin),
            HEADLESS,
            ArgShape::Stdin(&[]),
            PROMPTS,
        )
        .with_limit(STDIN_LIMIT)
        .with_note(SLASH),
        CapabilityRow::new(
            AgentCapability::Prompt(DeliveryMode::Argv),
            INTERACTIVE,
            ArgShape::AfterDashes,
            TERMINAL,
        )
        .with_note(SLASH),
        CapabilityRow::new(
            AgentCapability::Hooks,
            BOTH,
            ArgShape::WordsThen(ArgSlot::Option, &["--settings"]),
            HOOKS,
        )
        .with_note("with the user's own --settings in them, since Claude counts the last only"),
        CapabilityRow::new(
            AgentCapability::HoldRepository,
            BOTH,
            ArgShape::EachThen("--add-dir", &["--setting-sources", "user"]),
            HELD,
        )
        .with_note("the directory is named again, so that its instructions are read"),
        CapabilityRow::new(
            AgentCapability::HeldInstructions,
            BOTH,
            ArgShape::Variable("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"),
            HELD,
        ),
        CapabilityRow::new(AgentCapability::Model, BOTH, ArgShape::FlagEq("--model"), OPTIONS),
        CapabilityRow::new(AgentCapability::Resume, BOTH, ArgShape::FlagEq("--resume"), OPTIONS),
        CapabilityRow::new(
            AgentCapability::Continue,
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--continue"]),
            OPTIONS,
        ),
        CapabilityRow::new(AgentCapability::AddDir, BOTH, ArgShape::FlagEq("--add-dir"), OPTIONS),
        CapabilityRow::new(AgentCapability::McpConfig, BOTH, ArgShape::FlagEq("--mcp-config"), OPTIONS),
        CapabilityRow::new(
            AgentCapability::AppendSystemPrompt,
            BOTH,
            ArgShape::FlagEq("--append-system-prompt"),
            OPTIONS,
        )
        .with_note(KEEPS),
        CapabilityRow::new(
            AgentCapability::AppendSystemPromptFile,
            HEADLESS,
            ArgShape::FlagEq("--append-system-prompt-file"),
            SYSTEM_FILE,
        )
        .with_note("the flag is not in Claude's help"),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Ask),
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--permission-mode", "manual"]),
            LEVELS,
        )
        .with_note("headless, what needs leave is refused"),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Edit),
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--permission-mode", "acceptEdits"]),
            LEVELS,
        )
        .with_note(
            "also runs shell commands that only change files, such as touch; headless, others are refused",
        ),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Full),
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--dangerously-skip-permissions"]),
            LEVELS,
        )
        .with_note("refused as root unless IS_SANDBOX=1 is set"),
        CapabilityRow::new(
            AgentCapability::Stream,
            HEADLESS,
            ArgShape::Words(ArgSlot::Option, &["--output-format", "stream-json", "--verbose"]),
            STREAM,
        ),
        CapabilityRow::new(
            AgentCapability::LiveUsage,
            HEADLESS,
            ArgShape::Words(ArgSlot::Option, &["--include-partial-messages"]),
            COUNTS,
        )
        .with_note("only with its stream"),
        CapabilityRow::new(
            AgentCapability::BudgetUsd,
            HEADLESS,
            ArgShape::FlagEq("--max-budget-usd"),
            DOLLARS,
        )
        .with_note("of the process: what the session cost before does not count"),
    ],
    decoder: Some(|| Box::new(decode::ClaudeStream::default())),
    counts: UsageReports {
        dollars: true,
        live_file: Some(|env, _| messages::find_message_files(env)),
        ..UsageReports::OF_THE_RUN
    },
    grammar: ArgumentGrammar {
        commands: commands::COMMANDS,
        headless_flags: &["-p", "--print"],
        prompt_flags: &[],
        positional: PositionalMeaning::Prompt,
        stdin_word: None,
        value_flags: &[
            "--agent",
            "--agents",
            "--append-system-prompt",
            "--append-system-prompt-file",
            "--autocompact",
            "--debug-file",
            "--effort",
            "--environment",
            "--fallback-model",
            "--input-format",
            "--json-schema",
            "--managed-settings",
            "--max-budget-usd",
            "--max-turns",
            "--model",
            "--name",
            "-n",
            "--output-format",
            "--permission-mode",
            "--permission-prompt-tool",
            "--permission-prompts",
            "--plugin-dir",
            "--plugin-url",
            "--remote-control-session-name-prefix",
            "--session-id",
            "--setting-sources",
            "--settings",
            "--system-prompt",
            "--system-prompt-file",
            "--system-prompt-snapshot",
        ],
        optional_value_flags: &[
            "--cloud",
            "-d",
            "--debug",
            "--from-pr",
            "--prompt-suggestions",
            "--remote-control",
            "-r",
            "--resume",
            "--teleport",
            "-w",
            "--worktree",
        ],
        variadic_flags: &[
            "--add-dir",
            "--allowedTools",
            "--allowed-tools",
            "--betas",
            "--disallowedTools",
            "--disallowed-tools",
            "--file",
            "--mcp-config",
            "--tools",
        ],
        switches: &[
            "--allow-dangerously-skip-permissions",
            "--ax-screen-reader",
            "--bare",
            "--bg",
            "--background",
            "--brief",
            "-c",
            "--chrome",
            "--continue",
            "--dangerously-skip-permissions",
            "--desktop",
            "--disable-slash-commands",
            "--exclude-dynamic-system-prompt-sections",
            "--fork-session",
            "--forward-subagent-text",
            "--ide",
            "--include-hook-events",
            "--include-partial-messages",
            "--no-chrome",
            "--no-session-persistence",
            "--replay-user-messages",
            "--restricted",
            "--safe-mode",
            "--strict-mcp-config",
            "--tmux",
            "--verbose",
        ],
        information_flags: &["-h", "--help", "-v", "--version"],
        serving_flags: &[],
    },
    guard_flags: commands::FLAGS,
    guard_variables: &["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"],
    settings_flag: Some("--settings"),
    trust_flags: &["--setting-sources"],
    directory_flags: &[],
    scrub: &[
        "AI_AGENT",
        "CLAUDECODE",
        "CLAUDE_CODE_CHILD_*",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_MESSAGING_*",
        "CLAUDE_CODE_SESSION_*",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_EFFORT",
        "CLAUDE_PID",
        "CLAUDE_PROJECT_DIR",
    ],
    withheld: &[],
    keys: &["ANTHROPIC_API_KEY"],
    login_prompt: None,
    refuses_requests: None,
};
