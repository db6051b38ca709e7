//! GitHub Copilot CLI.

pub(crate) mod decode;
pub mod nested;
mod spans;
mod tools;
mod wire;

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::prompt_delivery::DeliveryMode;

pub(crate) use spans::span;

use crate::command::Permissions;
use crate::grammar::{Grammar, Positional, PromptFlag};
use crate::matrix::{
    ArgShape, BOTH, Capability, Evidence, HEADLESS, INTERACTIVE, Row, RunMode, Slot, VersionRange,
};
use crate::profile::{Counts, Profile};

const PROVED: VersionRange = VersionRange { from: (1, 0, 102), below: (1, 1, 0) };
const PROMPTS: Evidence = Evidence::Probe(PROVED, "copilot_takes_every_prompt_unchanged");
const OPTIONS: Evidence = Evidence::Probe(PROVED, "copilot_understands_every_option");
const LEVELS: Evidence = Evidence::Probe(PROVED, "copilot_keeps_its_permission_levels");
const HOOKS: Evidence = Evidence::Probe(PROVED, "copilot_is_held_by_the_guard");
const TERMINAL: Evidence = Evidence::Probe(PROVED, "copilot_takes_a_prompt_in_a_terminal");
const STREAM: Evidence = Evidence::Probe(PROVED, "copilot_streams_what_it_does");

const TRIMS: &str = "Copilot trims blanks at the end, puts the date before the prompt, and refuses prompts beyond its model's budget";

/// GitHub Copilot CLI.
pub(crate) static PROFILE: Profile = Profile {
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
        Row::new(Capability::Start, HEADLESS, ArgShape::Words(Slot::Option, &[]), PROMPTS),
        Row::new(Capability::Prompt(DeliveryMode::Argv), HEADLESS, ArgShape::FlagEq("--prompt"), PROMPTS)
            .note(TRIMS),
        Row::new(Capability::Prompt(DeliveryMode::Stdin), HEADLESS, ArgShape::Stdin(&[]), PROMPTS)
            .note(TRIMS),
        Row::new(
            Capability::Prompt(DeliveryMode::Argv),
            INTERACTIVE,
            ArgShape::FlagEq("--interactive"),
            TERMINAL,
        )
        .note(TRIMS),
        Row::new(Capability::Hooks, BOTH, ArgShape::WordsThen(Slot::Option, &["--plugin-dir"]), HOOKS)
            .note("in a folder that Copilot does not trust too"),
        Row::new(Capability::Model, BOTH, ArgShape::FlagEq("--model"), OPTIONS),
        Row::new(Capability::Resume, BOTH, ArgShape::FlagEq("--resume"), OPTIONS),
        Row::new(Capability::Continue, BOTH, ArgShape::Words(Slot::Option, &["--continue"]), OPTIONS),
        Row::new(Capability::AddDir, BOTH, ArgShape::FlagEq("--add-dir"), OPTIONS),
        Row::new(Capability::McpConfig, BOTH, ArgShape::FlagEqAt("--additional-mcp-config"), OPTIONS),
        Row::new(Capability::Permissions(Permissions::Ask), BOTH, ArgShape::Words(Slot::Option, &[]), LEVELS)
            .note("Copilot asks by itself; headless, what needs leave is refused"),
        Row::new(
            Capability::Permissions(Permissions::Edit),
            BOTH,
            ArgShape::Words(Slot::Option, &["--allow-tool=write"]),
            LEVELS,
        )
        .note("headless, shell commands are refused"),
        Row::new(
            Capability::Permissions(Permissions::Full),
            BOTH,
            ArgShape::Words(Slot::Option, &["--allow-all"]),
            LEVELS,
        ),
        Row::new(
            Capability::Stream,
            HEADLESS,
            ArgShape::Words(Slot::Option, &["--output-format", "json"]),
            STREAM,
        )
        .note("without tokens"),
        Row::new(Capability::UsageFile, HEADLESS, ArgShape::FlagEq("--usage-output-file"), STREAM)
            .note("after a resume its tokens are those of all of the session"),
    ],
    decoder: Some(|| Box::new(decode::CopilotStream::default())),
    counts: Counts {
        session_totals: true,
        usage_file: Some(decode::usage_file),
        live_file: Some(spans::spans),
        ..Counts::OF_THE_RUN
    },
    grammar: Grammar {
        subcommands: &[
            "app",
            "completion",
            "config",
            "help",
            "init",
            "instruction",
            "login",
            "lsp",
            "mcp",
            "memories",
            "plugin",
            "sandbox",
            "sessions",
            "skill",
            "update",
            "version",
            "workflow",
        ],
        verbs: &[],
        verb_subcommands: &[],
        headless_flags: &[],
        prompt_flags: &[
            PromptFlag { flag: "-p", mode: RunMode::Headless, optional: false },
            PromptFlag { flag: "--prompt", mode: RunMode::Headless, optional: false },
            PromptFlag { flag: "-i", mode: RunMode::Interactive, optional: false },
            PromptFlag { flag: "--interactive", mode: RunMode::Interactive, optional: false },
        ],
        positional: Positional::Foreign,
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
    },
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
    refuses_requests: None,
};
