//! The table itself.

use super::Support::{Changed, Dropped, Has, Hidden, Never, Unknown};
use super::{Feature, Row, Support};

// Rows look alike, and each says something else: the table is the place to compare them.
const fn row(
    feature: Feature,
    name: &'static str,
    older: Support,
    current: Support,
    note: &'static str,
) -> Row {
    Row { feature, name, older, current, note }
}

const HELP: &str = "documented by `amp --help`, 0.0.1790142911";

/// What is known of each feature, from the CLI's own help, from running 0.0.1790142911 without an account, and for older ones from the
/// documents of their time.
pub const TABLE: &[Row] = &[
    row(Feature::StreamJson, "--stream-json", Has, Has, HELP),
    row(Feature::StreamJsonThinking, "--stream-json-thinking", Has, Has, HELP),
    row(
        Feature::StreamJsonInput,
        "--stream-json-input",
        Has,
        Has,
        "0.0.1790142911 refuses it without --stream-json, so both are given",
    ),
    row(Feature::ContinueThread, "threads continue ID", Has, Has, HELP),
    row(Feature::ContinueLast, "threads continue --last", Unknown, Has, HELP),
    row(Feature::Mode, "--mode", Has, Changed, "low, medium, high, ultra and plugins' modes; an open set"),
    row(Feature::Model, "--model", Never, Never, "the mode chooses the model; set Options::mode"),
    row(
        Feature::Effort,
        "--effort",
        Never,
        Never,
        "0.0.1790142911 calls it an unknown option; set Options::mode",
    ),
    row(Feature::Visibility, "--visibility", Has, Has, HELP),
    row(
        Feature::VisibilityPublic,
        "--visibility public",
        Has,
        Dropped,
        "0.0.1790142911 refuses it, and calls it unlisted",
    ),
    row(Feature::VisibilityUnlisted, "--visibility unlisted", Never, Has, HELP),
    row(Feature::Label, "--label", Has, Has, HELP),
    row(Feature::SettingsFile, "--settings-file", Has, Has, HELP),
    row(
        Feature::McpConfig,
        "--mcp-config",
        Has,
        Has,
        "takes JSON or a path; the SDK gives a private file's path",
    ),
    row(
        Feature::NoJetbrains,
        "--no-jetbrains",
        Has,
        Hidden,
        "0.0.1790142911 takes it in silence and without effect; the SDK does not give it",
    ),
    row(Feature::Features, "--features", Unknown, Has, HELP),
    row(Feature::Title, "--title", Unknown, Has, HELP),
    row(Feature::NoArchive, "--no-archive-after-execute", Unknown, Has, HELP),
    row(Feature::Executor, "--executor", Unknown, Has, HELP),
    row(
        Feature::OutputSchema,
        "output_schema",
        Never,
        Never,
        "no version follows a schema; parse the text of the result",
    ),
    row(
        Feature::CompletionOnly,
        "completion_only",
        Never,
        Never,
        "no version runs without its tools; reject them with permission rules",
    ),
    row(
        Feature::SystemPrompt,
        "system_prompt",
        Never,
        Never,
        "no flag sets it; say it in the prompt or in AGENTS.md",
    ),
    row(
        Feature::ThreadsNew,
        "threads new",
        Has,
        Changed,
        "0.0.1790142911 prints a URL, older ones a bare id; the SDK returns the id",
    ),
    row(Feature::ThreadsList, "threads list", Has, Changed, "its table has a column Thread URL now"),
    row(
        Feature::ThreadsListJson,
        "threads list --json",
        Unknown,
        Has,
        "id, title, updated, tree, messageCount",
    ),
    row(Feature::ThreadsSearch, "threads search", Has, Has, HELP),
    row(Feature::ThreadsMarkdown, "threads markdown", Has, Has, HELP),
    row(Feature::ThreadsExport, "threads export", Unknown, Has, HELP),
    row(Feature::ThreadsShare, "threads share", Has, Has, HELP),
    row(
        Feature::ThreadsShareSupport,
        "threads share --support",
        Has,
        Dropped,
        "0.0.1790142911 calls it an unknown option",
    ),
    row(Feature::ThreadsRename, "threads rename", Has, Has, HELP),
    row(Feature::ThreadsArchive, "threads archive", Has, Has, HELP),
    row(Feature::ThreadsUnarchive, "threads archive --unarchive", Unknown, Has, HELP),
    row(Feature::ThreadsDelete, "threads delete", Has, Has, HELP),
    row(Feature::ThreadsHandoff, "threads handoff", Has, Hidden, "its help lists no options any more"),
    row(
        Feature::ThreadsReplay,
        "threads replay",
        Has,
        Dropped,
        "0.0.1790142911 takes the word for a request to list threads",
    ),
    row(Feature::ToolsList, "tools list", Has, Has, HELP),
    row(Feature::ToolsShow, "tools show", Has, Has, HELP),
    row(Feature::ToolsUse, "tools use", Has, Dropped, "0.0.1790142911 has only list and show"),
    row(Feature::ToolsMake, "tools make", Has, Dropped, "0.0.1790142911 has only list and show"),
    row(Feature::Tasks, "tasks", Has, Dropped, "0.0.1790142911 calls it an unknown command"),
    row(Feature::Skills, "skill", Has, Has, HELP),
    row(Feature::Permissions, "permissions", Has, Has, "test exits with 0 allow, 1 ask, 2 reject"),
    row(
        Feature::Mcp,
        "mcp",
        Has,
        Changed,
        "`mcp list --json` nests what a server is in `spec`; the SDK reads both forms",
    ),
    row(Feature::Review, "review", Has, Hidden, "not in the list of commands; it works"),
    row(
        Feature::ReviewSummaryOnly,
        "review --summary-only",
        Has,
        Dropped,
        "not in the help of 0.0.1790142911",
    ),
    row(Feature::Usage, "usage", Has, Has, HELP),
];
