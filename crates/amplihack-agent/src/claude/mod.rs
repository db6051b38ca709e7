//! Claude Code.

pub(crate) mod decode;
mod messages;
mod result;
mod system;
mod wire;

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::prompt_delivery::DeliveryMode;

pub(crate) use messages::message_line;

use crate::command::Permissions;
use crate::grammar::{Grammar, Positional};
use crate::matrix::{
    ArgShape, BOTH, Capability, Evidence, HEADLESS, INTERACTIVE, Limit, Row, Slot, VersionRange,
};
use crate::profile::{Counts, Profile};

const PROVED: VersionRange = VersionRange { from: (2, 1, 332), below: (2, 2, 0) };
const PROMPTS: Evidence = Evidence::Probe(PROVED, "claude_takes_every_prompt_unchanged");
const OPTIONS: Evidence = Evidence::Probe(PROVED, "claude_understands_every_option");
const LEVELS: Evidence = Evidence::Probe(PROVED, "claude_keeps_its_permission_levels");
const HOOKS: Evidence = Evidence::Probe(PROVED, "claude_is_held_by_the_guard");
const TERMINAL: Evidence = Evidence::Probe(PROVED, "claude_takes_a_prompt_in_a_terminal");
const DOLLARS: Evidence = Evidence::Probe(PROVED, "claude_keeps_its_budget_in_dollars");
const COUNTS: Evidence = Evidence::Probe(PROVED, "claude_counts_while_it_works");
const SYSTEM_FILE: Evidence = Evidence::Probe(PROVED, "claude_reads_a_system_prompt_from_a_file");
const STREAM: Evidence = Evidence::Probe(PROVED, "claude_streams_what_it_does");

/// Beyond this the CLI itself refuses: "Prompt is too long".
const STDIN_LIMIT: Limit = Limit::Bytes(9_900_000);
const KEEPS: &str = "a resumed session keeps the system prompt that it began with";
const SLASH: &str = "a prompt that begins with / is a command of Claude's own";

/// Claude Code.
pub(crate) static PROFILE: Profile = Profile {
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
        Row::new(Capability::Start, HEADLESS, ArgShape::Words(Slot::Front, &["-p"]), PROMPTS),
        Row::new(Capability::Prompt(DeliveryMode::Argv), HEADLESS, ArgShape::AfterDashes, PROMPTS)
            .note(SLASH),
        Row::new(Capability::Prompt(DeliveryMode::Stdin), HEADLESS, ArgShape::Stdin(&[]), PROMPTS)
            .limit(STDIN_LIMIT)
            .note(SLASH),
        Row::new(Capability::Prompt(DeliveryMode::Argv), INTERACTIVE, ArgShape::AfterDashes, TERMINAL)
            .note(SLASH),
        Row::new(
            Capability::Hooks,
            BOTH,
            ArgShape::EachThen("--plugin-dir", &["--settings", "{\"disableAllHooks\":false}"]),
            HOOKS,
        ),
        Row::new(Capability::Model, BOTH, ArgShape::FlagEq("--model"), OPTIONS),
        Row::new(Capability::Resume, BOTH, ArgShape::FlagEq("--resume"), OPTIONS),
        Row::new(Capability::Continue, BOTH, ArgShape::Words(Slot::Option, &["--continue"]), OPTIONS),
        Row::new(Capability::AddDir, BOTH, ArgShape::FlagEq("--add-dir"), OPTIONS),
        Row::new(Capability::McpConfig, BOTH, ArgShape::FlagEq("--mcp-config"), OPTIONS),
        Row::new(Capability::AppendSystemPrompt, BOTH, ArgShape::FlagEq("--append-system-prompt"), OPTIONS)
            .note(KEEPS),
        Row::new(
            Capability::AppendSystemPromptFile,
            HEADLESS,
            ArgShape::FlagEq("--append-system-prompt-file"),
            SYSTEM_FILE,
        )
        .note("the flag is not in Claude's help"),
        Row::new(
            Capability::Permissions(Permissions::Ask),
            BOTH,
            ArgShape::Words(Slot::Option, &["--permission-mode", "manual"]),
            LEVELS,
        )
        .note("headless, what needs leave is refused"),
        Row::new(
            Capability::Permissions(Permissions::Edit),
            BOTH,
            ArgShape::Words(Slot::Option, &["--permission-mode", "acceptEdits"]),
            LEVELS,
        )
        .note("also runs shell commands that only change files, such as touch; headless, others are refused"),
        Row::new(
            Capability::Permissions(Permissions::Full),
            BOTH,
            ArgShape::Words(Slot::Option, &["--dangerously-skip-permissions"]),
            LEVELS,
        )
        .note("refused as root unless IS_SANDBOX=1 is set"),
        Row::new(
            Capability::Stream,
            HEADLESS,
            ArgShape::Words(Slot::Option, &["--output-format", "stream-json", "--verbose"]),
            STREAM,
        ),
        Row::new(
            Capability::LiveUsage,
            HEADLESS,
            ArgShape::Words(Slot::Option, &["--include-partial-messages"]),
            COUNTS,
        )
        .note("only with its stream"),
        Row::new(Capability::BudgetUsd, HEADLESS, ArgShape::FlagEq("--max-budget-usd"), DOLLARS)
            .note("of the process: what the session cost before does not count"),
    ],
    decoder: Some(|| Box::new(decode::ClaudeStream::default())),
    counts: Counts { dollars: true, live_file: Some(|env, _| messages::messages(env)), ..Counts::OF_THE_RUN },
    grammar: Grammar {
        subcommands: &[
            "agents",
            "attach",
            "auth",
            "auto-mode",
            "doctor",
            "gateway",
            "help",
            "import",
            "install",
            "kill",
            "logs",
            "mcp",
            "plugin",
            "plugins",
            "purge",
            "respawn",
            "rm",
            "setup-token",
            "stop",
            "ultrareview",
            "update",
            "upgrade",
        ],
        verbs: &[],
        verb_subcommands: &[],
        headless_flags: &["-p", "--print"],
        prompt_flags: &[],
        positional: Positional::Prompt,
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
    },
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
    refuses_requests: None,
};
