//! OpenAI Codex CLI.

pub(crate) mod decode;
mod rollout;
mod wire;

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::prompt_delivery::DeliveryMode;

pub(crate) use rollout::{rollout_line, rollout_session, rollouts};

use crate::command::Permissions;
use crate::grammar::{Grammar, Positional};
use crate::live::LiveFile;
use crate::matrix::{
    ArgShape, BOTH, Capability, Evidence, HEADLESS, INTERACTIVE, Limit, Row, Slot, VersionRange,
};
use crate::profile::{Counts, Profile};

const PROVED: VersionRange = VersionRange { from: (0, 171, 0), below: (0, 172, 0) };
const PROMPTS: Evidence = Evidence::Probe(PROVED, "codex_takes_every_prompt_unchanged");
const OPTIONS: Evidence = Evidence::Probe(PROVED, "codex_understands_every_option");
const LEVELS: Evidence = Evidence::Probe(PROVED, "codex_keeps_its_permission_levels");
const HOOKS: Evidence = Evidence::Probe(PROVED, "codex_is_held_by_the_guard");
const TERMINAL: Evidence = Evidence::Probe(PROVED, "codex_takes_a_prompt_in_a_terminal");
const SCHEMA: Evidence = Evidence::Probe(PROVED, "codex_answers_by_a_schema");
const STREAM: Evidence = Evidence::Probe(PROVED, "codex_streams_what_it_does");
const HELP: Evidence = Evidence::Documented("codex --help, 0.171.0");

/// "Input exceeds the maximum length of 1048576 characters".
const STDIN_LIMIT: Limit = Limit::Chars(1_048_576);
const BOM: &str = "a byte order mark at the start is dropped by Codex";

/// OpenAI Codex CLI.
pub(crate) static PROFILE: Profile = Profile {
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
        Row::new(Capability::Start, HEADLESS, ArgShape::Words(Slot::Front, &["exec"]), PROMPTS),
        Row::new(Capability::Prompt(DeliveryMode::Argv), HEADLESS, ArgShape::AfterDashes, PROMPTS),
        Row::new(Capability::Prompt(DeliveryMode::Stdin), HEADLESS, ArgShape::Stdin(&["-"]), PROMPTS)
            .limit(STDIN_LIMIT)
            .note(BOM),
        Row::new(Capability::Prompt(DeliveryMode::Argv), INTERACTIVE, ArgShape::AfterDashes, TERMINAL),
        Row::new(
            Capability::Hooks,
            BOTH,
            ArgShape::EachThen("-c", &["-c", "features.hooks=true", "--dangerously-bypass-hook-trust"]),
            HOOKS,
        )
        .note("the bypass is for these hooks, which are the launch's own"),
        Row::new(Capability::Model, BOTH, ArgShape::FlagEq("--model"), OPTIONS),
        Row::new(Capability::Resume, BOTH, ArgShape::WordsThen(Slot::Tail, &["resume"]), OPTIONS),
        Row::new(Capability::Continue, BOTH, ArgShape::Words(Slot::Tail, &["resume", "--last"]), OPTIONS),
        Row::new(Capability::AddDir, BOTH, ArgShape::FlagEq("--add-dir"), OPTIONS),
        Row::new(
            Capability::AppendSystemPrompt,
            BOTH,
            ArgShape::Toml("-c", "developer_instructions"),
            OPTIONS,
        )
        .note("sent in the developer role; a resumed session keeps the text that it began with"),
        Row::new(
            Capability::Permissions(Permissions::Ask),
            HEADLESS,
            ArgShape::Words(Slot::Option, &["--sandbox=read-only"]),
            LEVELS,
        )
        .note("nobody can be asked: what needs leave is refused"),
        Row::new(
            Capability::Permissions(Permissions::Edit),
            HEADLESS,
            ArgShape::Words(Slot::Option, &["--sandbox=workspace-write"]),
            LEVELS,
        )
        .note("any command runs, and may write only in its directory and in temporary ones"),
        Row::new(
            Capability::Permissions(Permissions::Ask),
            INTERACTIVE,
            ArgShape::Words(Slot::Option, &["--ask-for-approval=on-request", "--sandbox=read-only"]),
            HELP,
        ),
        Row::new(
            Capability::Permissions(Permissions::Edit),
            INTERACTIVE,
            ArgShape::Words(Slot::Option, &["--ask-for-approval=on-request", "--sandbox=workspace-write"]),
            HELP,
        ),
        Row::new(
            Capability::Permissions(Permissions::Full),
            BOTH,
            ArgShape::Words(Slot::Option, &["--dangerously-bypass-approvals-and-sandbox"]),
            LEVELS,
        ),
        Row::new(Capability::Stream, HEADLESS, ArgShape::Words(Slot::Option, &["--json"]), STREAM)
            .note("an interrupted run says nothing of its end; after a resume its tokens are those of all of the session"),
        Row::new(Capability::AnswerSchema, HEADLESS, ArgShape::FlagEq("--output-schema"), SCHEMA),
    ],
    decoder: Some(|| Box::new(decode::CodexStream::default())),
    counts: Counts {
        session_totals: true,
        live_file: Some(|env, _| rollouts(env).map(|below| LiveFile::Rollout { below })),
        ..Counts::OF_THE_RUN
    },
    grammar: Grammar {
        subcommands: &[
            "a",
            "agents",
            "app-server",
            "apply",
            "archive",
            "cloud",
            "completion",
            "debug",
            "delete",
            "doctor",
            "exec-server",
            "features",
            "fork",
            "help",
            "login",
            "logout",
            "mcp",
            "migrate-nfs-db",
            "migrate-rollouts",
            "plugin",
            "queue",
            "remote-control",
            "resume",
            "review",
            "sandbox",
            "unarchive",
            "update",
        ],
        verbs: &["exec", "e"],
        verb_subcommands: &["resume", "fork", "review", "help"],
        headless_flags: &[],
        prompt_flags: &[],
        positional: Positional::Prompt,
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
    },
    scrub: &["CODEX_MANAGED_*"],
    withheld: &[],
    keys: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    refuses_requests: None,
};
