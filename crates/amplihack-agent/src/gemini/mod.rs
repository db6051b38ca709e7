//! Google Gemini CLI.

mod decode;
mod messages;
mod wire;

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::prompt_delivery::DeliveryMode;

pub(crate) use messages::message_line;

use crate::command::Permissions;
use crate::grammar::{Grammar, Positional, PromptFlag};
use crate::matrix::{
    ArgShape, BOTH, Capability, Evidence, HEADLESS, INTERACTIVE, Row, RunMode, Slot, VersionRange,
};
use crate::profile::{Counts, Profile};

const PROVED: VersionRange = VersionRange { from: (0, 61, 0), below: (0, 62, 0) };
const PROMPTS: Evidence = Evidence::Probe(PROVED, "gemini_takes_every_prompt_unchanged");
const OPTIONS: Evidence = Evidence::Probe(PROVED, "gemini_understands_every_option");
const LEVELS: Evidence = Evidence::Probe(PROVED, "gemini_keeps_its_permission_levels");
const HOOKS: Evidence = Evidence::Probe(PROVED, "gemini_is_held_by_the_guard");
const TERMINAL: Evidence = Evidence::Probe(PROVED, "gemini_takes_a_prompt_in_a_terminal");
const STREAM: Evidence = Evidence::Probe(PROVED, "gemini_streams_what_it_does");

const AT_FILES: &str = "Gemini replaces `@file` in a prompt by the file, and runs nothing headless in a folder that it does not trust; the guard needs that trust too";

/// Google Gemini CLI.
pub(crate) static PROFILE: Profile = Profile {
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
        Row::new(Capability::Start, HEADLESS, ArgShape::Words(Slot::Option, &[]), PROMPTS),
        Row::new(Capability::Prompt(DeliveryMode::Argv), HEADLESS, ArgShape::FlagEq("--prompt"), PROMPTS)
            .note(AT_FILES),
        Row::new(Capability::Prompt(DeliveryMode::Stdin), HEADLESS, ArgShape::Stdin(&[]), PROMPTS)
            .note(AT_FILES),
        Row::new(
            Capability::Prompt(DeliveryMode::Argv),
            INTERACTIVE,
            ArgShape::FlagEq("--prompt-interactive"),
            TERMINAL,
        ),
        Row::new(Capability::Hooks, BOTH, ArgShape::Variable("GEMINI_CLI_SYSTEM_SETTINGS_PATH"), HOOKS)
            .note("for root; Gemini reads that file from no other user, whom `amplihack install` serves"),
        Row::new(Capability::Model, BOTH, ArgShape::FlagEq("--model"), OPTIONS),
        Row::new(Capability::Resume, BOTH, ArgShape::FlagEq("--resume"), OPTIONS),
        Row::new(Capability::Continue, BOTH, ArgShape::Words(Slot::Option, &["--resume=latest"]), OPTIONS),
        Row::new(Capability::AddDir, BOTH, ArgShape::FlagEq("--include-directories"), OPTIONS)
            .note("a comma divides two directories"),
        Row::new(
            Capability::Permissions(Permissions::Ask),
            BOTH,
            ArgShape::Words(Slot::Option, &["--approval-mode=default"]),
            LEVELS,
        )
        .note("headless, tools that need leave are not offered to the model"),
        Row::new(
            Capability::Permissions(Permissions::Edit),
            BOTH,
            ArgShape::Words(Slot::Option, &["--approval-mode=auto_edit"]),
            LEVELS,
        )
        .note("headless, the shell is not offered to the model"),
        Row::new(
            Capability::Permissions(Permissions::Full),
            BOTH,
            ArgShape::Words(Slot::Option, &["--approval-mode=yolo"]),
            LEVELS,
        ),
        Row::new(
            Capability::Stream,
            HEADLESS,
            ArgShape::Words(Slot::Option, &["--output-format", "stream-json"]),
            STREAM,
        ),
    ],
    decoder: Some(|| Box::new(decode::GeminiStream::default())),
    counts: Counts { live_file: Some(|env, _| messages::messages(env)), ..Counts::OF_THE_RUN },
    grammar: Grammar {
        subcommands: &["extension", "extensions", "gemma", "hook", "hooks", "mcp", "skill", "skills"],
        verbs: &[],
        verb_subcommands: &[],
        headless_flags: &[],
        prompt_flags: &[
            PromptFlag { flag: "-p", mode: RunMode::Headless, optional: false },
            PromptFlag { flag: "--prompt", mode: RunMode::Headless, optional: false },
            PromptFlag { flag: "-i", mode: RunMode::Interactive, optional: false },
            PromptFlag { flag: "--prompt-interactive", mode: RunMode::Interactive, optional: false },
        ],
        positional: Positional::Prompt,
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
    },
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
    refuses_requests: None,
};
