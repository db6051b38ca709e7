//! Amp.

mod decode;
pub mod sdk;
pub mod wire;

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::prompt_delivery::DeliveryMode;

pub use decode::AmpStream;

use crate::grammar::{Grammar, Positional, PromptFlag};
use crate::matrix::{ArgShape, BOTH, Capability, Evidence, HEADLESS, Row, RunMode, Slot};
use crate::profile::{Counts, Profile};

const HELP: Evidence = Evidence::Documented("amp --help, 0.0.1790142911");
const NOTE: &str = "stdin and argv are documented by amp --help; without an account no probe can show them";

/// Amp.
pub(crate) static PROFILE: Profile = Profile {
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
        Row::new(Capability::Start, HEADLESS, ArgShape::Words(Slot::Option, &[]), HELP),
        Row::new(Capability::Prompt(DeliveryMode::Argv), HEADLESS, ArgShape::FlagEq("--execute"), HELP)
            .note(NOTE),
        Row::new(Capability::Prompt(DeliveryMode::Stdin), HEADLESS, ArgShape::Stdin(&["--execute"]), HELP)
            .note(NOTE),
        Row::new(Capability::Resume, BOTH, ArgShape::WordsThen(Slot::Front, &["threads", "continue"]), HELP),
        Row::new(
            Capability::Continue,
            BOTH,
            ArgShape::Words(Slot::Front, &["threads", "continue", "--last"]),
            HELP,
        ),
        Row::new(Capability::McpConfig, BOTH, ArgShape::FlagEq("--mcp-config"), HELP),
        Row::new(Capability::Stream, HEADLESS, ArgShape::Words(Slot::Option, &["--stream-json"]), HELP),
    ],
    decoder: Some(|| Box::new(AmpStream::new())),
    counts: Counts::OF_THE_RUN,
    grammar: Grammar {
        subcommands: &[
            "apps",
            "clone",
            "completions",
            "config",
            "diagnostics",
            "domains",
            "files",
            "git-setup",
            "help",
            "l",
            "last",
            "login",
            "logout",
            "mcp",
            "net",
            "oauth-clients",
            "orb",
            "orb-spawner",
            "permission",
            "permissions",
            "plugin",
            "plugins",
            "portal",
            "projects",
            "report",
            "report-bug",
            "review",
            "runner",
            "secrets",
            "skill",
            "skills",
            "svc",
            "t",
            "thread",
            "threads",
            "tool",
            "tools",
            "top",
            "up",
            "update",
            "usage",
            "version",
        ],
        verbs: &[],
        verb_subcommands: &[],
        headless_flags: &[],
        prompt_flags: &[
            PromptFlag { flag: "-x", mode: RunMode::Headless, optional: true },
            PromptFlag { flag: "--execute", mode: RunMode::Headless, optional: true },
        ],
        positional: Positional::Foreign,
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
    },
    scrub: &[],
    withheld: &[],
    keys: &["AMP_API_KEY"],
    refuses_requests: None,
};
