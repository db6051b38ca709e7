//! OpenAI Codex CLI.

mod agents;
mod calls;
mod commands;
pub(crate) mod decode;
mod rollout;
mod script;
mod wire;

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::prompt_delivery::DeliveryMode;

pub(crate) use rollout::{rollout_directory, rollout_line, rollout_session};

use crate::command::PermissionLevel;
use crate::grammar::{ArgumentGrammar, PositionalMeaning};
use crate::live::LiveFile;
use crate::matrix::{
    AgentCapability, ArgShape, ArgSlot, BOTH, CapabilityRow, ChannelLimit, HEADLESS, INTERACTIVE,
    RowEvidence, VersionRange,
};
use crate::profile::{AgentProfile, UsageReports};

const PROVED: VersionRange = VersionRange { from: (0, 171, 0), below: (0, 172, 0) };
const PROMPTS: RowEvidence = RowEvidence::Probe(PROVED, "codex_takes_every_prompt_unchanged");
const OPTIONS: RowEvidence = RowEvidence::Probe(PROVED, "codex_understands_every_option");
const LEVELS: RowEvidence = RowEvidence::Probe(PROVED, "codex_keeps_its_permission_levels");
const HOOKS: RowEvidence = RowEvidence::Probe(PROVED, "codex_is_held_by_the_guard");
const HELD: RowEvidence = RowEvidence::Probe(PROVED, "codex_starts_nothing_of_an_untrusted_repository");
const TERMINAL: RowEvidence = RowEvidence::Probe(PROVED, "codex_takes_a_prompt_in_a_terminal");
const SCHEMA: RowEvidence = RowEvidence::Probe(PROVED, "codex_answers_by_a_schema");
const STREAM: RowEvidence = RowEvidence::Probe(PROVED, "codex_streams_what_it_does");
const HELP: RowEvidence = RowEvidence::Documented("codex --help, 0.171.0");

/// "Input exceeds the maximum length of 1048576 characters".
const STDIN_LIMIT: ChannelLimit = ChannelLimit::Chars(1_048_576);
const BOM: &str = "a byte order mark at the start is dropped by Codex";

/// OpenAI Codex CLI.
pub(crate) static PROFILE: AgentProfile = AgentProfile {
    agent: AgentBinary::Codex,
    title: "OpenAI Codex CLI",
    provider: "openai",
    program: "codex",
    install_places: &[".local/bin/codex"],
    directories: &["CODEX_HOME", "XDG_CACHE_HOME"],
    install_hint: "npm install -g @openai/codex",
    prompt_note: BOM,
    own_commands: crate::OwnCommands::Nothing,
    rows: &[
        CapabilityRow::new(AgentCapability::Start, HEADLESS, ArgShape::Words(ArgSlot::Front, &["exec"]), PROMPTS),
        CapabilityRow::new(AgentCapability::Prompt(DeliveryMode::Argv), HEADLESS, ArgShape::AfterDashes, PROMPTS),
        CapabilityRow::new(AgentCapability::Prompt(DeliveryMode::Stdin), HEADLESS, ArgShape::Stdin(&["-"]), PROMPTS)
            .with_limit(STDIN_LIMIT)
            .with_note(BOM),
        CapabilityRow::new(AgentCapability::Prompt(DeliveryMode::Argv), INTERACTIVE, ArgShape::AfterDashes, TERMINAL),
        CapabilityRow::new(
            AgentCapability::Hooks,
            BOTH,
            ArgShape::EachThen("-c", &["-c", "features.hooks=true", "-c", "features.unified_exec_tty=false"]),
            HOOKS,
        )
        .with_note("with Codex's trust in these hooks alone; without a terminal of its own no command waits for write_stdin, which asks no hook"),
        CapabilityRow::new(
            AgentCapability::HoldRepository,
            BOTH,
            ArgShape::TomlTable("-c", "projects", "{trust_level=\"untrusted\"}"),
            HELD,
        )
        .with_note("for the directory and each above it up to the repository's root; Codex reads no AGENTS.md there"),
        CapabilityRow::new(
            AgentCapability::HeldInstructions,
            BOTH,
            ArgShape::Toml("-c", "developer_instructions"),
            HELD,
        )
        .with_note("the text of AGENTS.md, behind the user's own developer_instructions"),
        CapabilityRow::new(AgentCapability::Model, BOTH, ArgShape::FlagEq("--model"), OPTIONS),
        CapabilityRow::new(AgentCapability::Resume, BOTH, ArgShape::WordsThen(ArgSlot::Tail, &["resume"]), OPTIONS),
        CapabilityRow::new(AgentCapability::Continue, BOTH, ArgShape::Words(ArgSlot::Tail, &["resume", "--last"]), OPTIONS),
        CapabilityRow::new(AgentCapability::AddDir, BOTH, ArgShape::FlagEq("--add-dir"), OPTIONS),
        CapabilityRow::new(
            AgentCapability::AppendSystemPrompt,
            BOTH,
            ArgShape::Toml("-c", "developer_instructions"),
            OPTIONS,
        )
        .with_note("sent in the developer role; a resumed session keeps the text that it began with"),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Ask),
            HEADLESS,
            ArgShape::Words(ArgSlot::Option, &["--sandbox=read-only"]),
            LEVELS,
        )
        .with_note("nobody can be asked: what needs leave is refused"),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Edit),
            HEADLESS,
            ArgShape::Words(ArgSlot::Option, &["--sandbox=workspace-write"]),
            LEVELS,
        )
        .with_note("any command runs, and may write only in its directory and in temporary ones"),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Ask),
            INTERACTIVE,
            ArgShape::Words(ArgSlot::Option, &["--ask-for-approval=on-request", "--sandbox=read-only"]),
            HELP,
        ),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Edit),
            INTERACTIVE,
            ArgShape::Words(ArgSlot::Option, &["--ask-for-approval=on-request", "--sandbox=workspace-write"]),
            HELP,
        ),
        CapabilityRow::new(
            AgentCapability::Permissions(PermissionLevel::Full),
            BOTH,
            ArgShape::Words(ArgSlot::Option, &["--dangerously-bypass-approvals-and-sandbox"]),
            LEVELS,
        ),
        CapabilityRow::new(AgentCapability::Stream, HEADLESS, ArgShape::Words(ArgSlot::Option, &["--json"]), STREAM)
            .with_note("an interrupted run does not report its end; after a resume its tokens are those of the whole session"),
        CapabilityRow::new(AgentCapability::AnswerSchema, HEADLESS, ArgShape::FlagEq("--output-schema"), SCHEMA),
    ],
    decoder: Some(|| Box::new(decode::CodexStream::default())),
    counts: UsageReports {
        session_totals: true,
        live_file: Some(|env, _| rollout_directory(env).map(|below| LiveFile::Rollout { below })),
        ..UsageReports::OF_THE_RUN
    },
    grammar: ArgumentGrammar {
        commands: commands::COMMANDS,
        headless_flags: &[],
        prompt_flags: &[],
        positional: PositionalMeaning::Prompt,
        stdin_word: Some("-"),
        value_flags: &[
            "-c",
            "--config",
            "--enable",
            "--disable",
            "--remote",
            "--remote-auth-token-env",
            "-m",
            "--model",
            "--local-provider",
            "-p",
            "--profile",
            "-s",
            "--sandbox",
            "-C",
            "--cd",
            "--add-dir",
            "-a",
            "--ask-for-approval",
            "--thread-source",
            "--cyber-access-program",
            "--output-schema",
            "--color",
            "-o",
            "--output-last-message",
        ],
        optional_value_flags: &[],
        variadic_flags: &["-i", "--image"],
        switches: &[
            "--strict-config",
            "--oss",
            "--approve-for-me",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
            "--worktree",
            "--search",
            "--no-alt-screen",
            "--no-daemon",
            "--skip-git-repo-check",
            "--trust",
            "--ephemeral",
            "--ignore-user-config",
            "--ignore-rules",
            "--json",
        ],
        information_flags: &["-h", "--help", "-V", "--version"],
        serving_flags: &[],
    },
    guard_flags: commands::FLAGS,
    guard_variables: &[],
    settings_flag: None,
    trust_flags: &["--trust"],
    directory_flags: &["-C", "--cd"],
    scrub: &["CODEX_MANAGED_*"],
    withheld: &[],
    keys: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    login_prompt: None,
    refuses_requests: None,
};
