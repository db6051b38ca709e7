//! Microsoft Amplifier. It cannot be installed from a registry, so all of it is documented and none of it probed.

use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::prompt_delivery::DeliveryMode;

use crate::grammar::{Grammar, Positional};
use crate::matrix::{ArgShape, BOTH, Capability, Evidence, HEADLESS, INTERACTIVE, Row, Slot};
use crate::profile::{Counts, Profile};

const DOCS: Evidence =
    Evidence::Documented("amplifier run [OPTIONS] [PROMPT], README and --help of amplifier-app-cli");
const NOTE: &str = "argv only; upstream documents stdin now, but no probe can run Amplifier here";

/// Microsoft Amplifier.
pub(crate) static PROFILE: Profile = Profile {
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
        Row::new(Capability::Start, HEADLESS, ArgShape::Words(Slot::Front, &["run"]), DOCS),
        Row::new(Capability::Prompt(DeliveryMode::Argv), HEADLESS, ArgShape::AfterDashes, DOCS).note(NOTE),
        Row::new(Capability::Prompt(DeliveryMode::Argv), INTERACTIVE, ArgShape::AfterDashes, DOCS),
        Row::new(Capability::Model, BOTH, ArgShape::FlagEq("--model"), DOCS),
        Row::new(Capability::Resume, BOTH, ArgShape::FlagEq("--resume"), DOCS),
        Row::new(
            Capability::Start,
            INTERACTIVE,
            ArgShape::Words(Slot::Front, &["run", "--mode", "chat"]),
            DOCS,
        ),
    ],
    decoder: None,
    counts: Counts::OF_THE_RUN,
    grammar: Grammar {
        subcommands: &[
            "allowed-dirs",
            "bundle",
            "cache",
            "collection",
            "completion",
            "continue",
            "denied-dirs",
            "doctor",
            "help",
            "init",
            "logs",
            "module",
            "notify",
            "profile",
            "provider",
            "reset",
            "resume",
            "session",
            "source",
            "tool",
            "update",
            "version",
        ],
        verbs: &["run"],
        verb_subcommands: &[],
        headless_flags: &[],
        prompt_flags: &[],
        positional: Positional::Prompt,
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
    },
    scrub: &[],
    withheld: &[],
    keys: &["ANTHROPIC_API_KEY"],
    refuses_requests: Some(
        "upstream documents only `amplifier run [OPTIONS] [PROMPT]`; no stable prompt-file or stdin contract is available",
    ),
};
