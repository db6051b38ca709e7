//! The table itself.

use super::FeatureSupport::{Changed, Dropped, Has, Hidden, Never, Unknown};
use super::{CliFeature, FeatureRow, FeatureSupport};

// Rows look alike, and each says something else: the table is the place to compare them.
const fn feature_row(
    feature: CliFeature,
    name: &'static str,
    older: FeatureSupport,
    current: FeatureSupport,
    note: &'static str,
) -> FeatureRow {
    FeatureRow { feature, name, older, current, note }
}

const HELP: &str = "documented by `amp --help`, 0.0.1790142911";

/// Facts known about each feature, from the CLI's own help, from running 0.0.1790142911 without an account, and for older ones from the
/// documents of their time.
pub const TABLE: &[FeatureRow] = &[
    feature_row(CliFeature::StreamJson, "--stream-json", Has, Has, HELP),
    feature_row(CliFeature::StreamJsonThinking, "--stream-json-thinking", Has, Has, HELP),
    feature_row(
        CliFeature::StreamJsonInput,
        "--stream-json-input",
        Has,
        Has,
        "0.0.1790142911 refuses it without --stream-json, so both are given",
    ),
    feature_row(CliFeature::ContinueThread, "threads continue ID", Has, Has, HELP),
    feature_row(CliFeature::ContinueLast, "threads continue --last", Unknown, Has, HELP),
    feature_row(
        CliFeature::Mode,
        "--mode",
        Has,
        Changed,
        "low, medium, high, ultra and plugins' modes; an open set",
    ),
    feature_row(CliFeature::Model, "--model", Never, Never, "the mode chooses the model; set Options::mode"),
    feature_row(
        CliFeature::Effort,
        "--effort",
        Never,
        Never,
        "0.0.1790142911 calls it an unknown option; set Options::mode",
    ),
    feature_row(CliFeature::Visibility, "--visibility", Has, Has, HELP),
    feature_row(
        CliFeature::VisibilityPublic,
        "--visibility public",
        Has,
        Dropped,
        "0.0.1790142911 refuses it, and calls it unlisted",
    ),
    feature_row(CliFeature::VisibilityUnlisted, "--visibility unlisted", Never, Has, HELP),
    feature_row(CliFeature::Label, "--label", Has, Has, HELP),
    feature_row(CliFeature::SettingsFile, "--settings-file", Has, Has, HELP),
    feature_row(
        CliFeature::McpConfig,
        "--mcp-config",
        Has,
        Has,
        "takes JSON or a path; the SDK gives a private file's path",
    ),
    feature_row(
        CliFeature::NoJetbrains,
        "--no-jetbrains",
        Has,
        Hidden,
        "0.0.1790142911 takes it in silence and without effect; the SDK does not give it",
    ),
    feature_row(CliFeature::Features, "--features", Unknown, Has, HELP),
    feature_row(CliFeature::Title, "--title", Unknown, Has, HELP),
    feature_row(CliFeature::NoArchive, "--no-archive-after-execute", Unknown, Has, HELP),
    feature_row(CliFeature::Executor, "--executor", Unknown, Has, HELP),
    feature_row(CliFeature::RunnerDir, "--runner-dir", Unknown, Has, HELP),
    feature_row(CliFeature::Project, "--project", Unknown, Has, HELP),
    feature_row(CliFeature::Attach, "--attach", Unknown, Has, HELP),
    feature_row(
        CliFeature::OutputSchema,
        "output_schema",
        Never,
        Never,
        "no version follows a schema; parse the text of the result",
    ),
    feature_row(
        CliFeature::CompletionOnly,
        "completion_only",
        Never,
        Never,
        "no version runs without its tools; reject them with permission rules",
    ),
    feature_row(
        CliFeature::SystemPrompt,
        "system_prompt",
        Never,
        Never,
        "no flag sets it; say it in the prompt or in AGENTS.md",
    ),
    feature_row(
        CliFeature::ThreadsNew,
        "threads new",
        Has,
        Changed,
        "0.0.1790142911 prints a URL, older ones a bare id; the SDK returns the id",
    ),
    feature_row(
        CliFeature::ThreadsList,
        "threads list",
        Has,
        Changed,
        "its table has a column Thread URL now",
    ),
    feature_row(
        CliFeature::ThreadsListJson,
        "threads list --json",
        Unknown,
        Has,
        "id, title, updated, tree, messageCount",
    ),
    feature_row(CliFeature::ThreadsSearch, "threads search", Has, Has, HELP),
    feature_row(CliFeature::ThreadsMarkdown, "threads markdown", Has, Has, HELP),
    feature_row(CliFeature::ThreadsExport, "threads export", Unknown, Has, HELP),
    feature_row(CliFeature::ThreadsShare, "threads share", Has, Has, HELP),
    feature_row(
        CliFeature::ThreadsShareSupport,
        "threads share --support",
        Has,
        Dropped,
        "0.0.1790142911 calls it an unknown option",
    ),
    feature_row(CliFeature::ThreadsRename, "threads rename", Has, Has, HELP),
    feature_row(CliFeature::ThreadsArchive, "threads archive", Has, Has, HELP),
    feature_row(CliFeature::ThreadsUnarchive, "threads archive --unarchive", Unknown, Has, HELP),
    feature_row(CliFeature::ThreadsDelete, "threads delete", Has, Has, HELP),
    feature_row(
        CliFeature::ThreadsHandoff,
        "threads handoff",
        Has,
        Hidden,
        "its help lists no options any more",
    ),
    feature_row(
        CliFeature::ThreadsReplay,
        "threads replay",
        Has,
        Dropped,
        "0.0.1790142911 takes the word for a request to list threads",
    ),
    feature_row(CliFeature::ToolsList, "tools list", Has, Has, HELP),
    feature_row(CliFeature::ToolsShow, "tools show", Has, Has, HELP),
    feature_row(CliFeature::ToolsUse, "tools use", Has, Dropped, "0.0.1790142911 has only list and show"),
    feature_row(CliFeature::ToolsMake, "tools make", Has, Dropped, "0.0.1790142911 has only list and show"),
    feature_row(CliFeature::Tasks, "tasks", Has, Dropped, "0.0.1790142911 calls it an unknown command"),
    feature_row(CliFeature::Skills, "skill", Has, Has, HELP),
    feature_row(CliFeature::Permissions, "permissions", Has, Has, "test exits with 0 allow, 1 ask, 2 reject"),
    feature_row(
        CliFeature::Mcp,
        "mcp",
        Has,
        Changed,
        "`mcp list --json` nests what a server is in `spec`; the SDK reads both forms",
    ),
    feature_row(CliFeature::Review, "review", Has, Hidden, "not in the list of commands; it works"),
    feature_row(
        CliFeature::ReviewSummaryOnly,
        "review --summary-only",
        Has,
        Dropped,
        "not in the help of 0.0.1790142911",
    ),
    feature_row(CliFeature::Usage, "usage", Has, Has, HELP),
];
