//! Features that each known CLI version has, had or dropped, with the evidence for it: the table behind every `Unsupported`.

mod table;

use semver::Version;

use crate::error::{Error, Result};
use crate::version::{KNOWN_BUILD, newest_known};

pub use table::TABLE;

/// Something that the CLI may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CliFeature {
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
    /// `--runner-dir`.
    RunnerDir,
    /// `--project`.
    Project,
    /// `--attach`.
    Attach,
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

/// Treatment of a [`CliFeature`] by a version of the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeatureSupport {
    /// The version has the feature.
    Has,
    /// The version has the feature, and its help does not list it.
    Hidden,
    /// The version has the feature in another form than before.
    Changed,
    /// The CLI had the feature once; the version refuses it, or does something else.
    Dropped,
    /// No version up to this one has had the feature.
    Never,
    /// Nobody looked.
    Unknown,
}

impl FeatureSupport {
    /// Reports whether the SDK asks the CLI for the feature.
    pub const fn is_usable(self) -> bool {
        matches!(self, Self::Has | Self::Hidden | Self::Changed)
    }
}

/// A line of the table.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct FeatureRow {
    /// The feature that the line is about.
    pub feature: CliFeature,
    /// The flag or command, as a person would write it.
    pub name: &'static str,
    /// CLIs before [`KNOWN_BUILD`], as the documents of their time describe them; not run.
    pub older: FeatureSupport,
    /// [`KNOWN_BUILD`] and, until somebody looked, everything after it.
    pub current: FeatureSupport,
    /// Source of that knowledge, and the SDK's treatment of the feature.
    pub note: &'static str,
}

impl CliFeature {
    /// Returns the feature's line of the table.
    pub fn table_row(self) -> &'static FeatureRow {
        const NONE: &FeatureRow = &FeatureRow {
            feature: CliFeature::SystemPrompt,
            name: "",
            older: FeatureSupport::Unknown,
            current: FeatureSupport::Unknown,
            note: "",
        };
        TABLE.iter().find(|row| row.feature == self).unwrap_or(NONE)
    }

    /// Returns the support for the feature in `version`; `None` stands for [`newest_known`].
    pub fn support_in(self, version: Option<&Version>) -> FeatureSupport {
        let row = self.table_row();
        if self == Self::SystemPrompt && amplihack_sys::sabotage::is_active("amp-system-prompt")
            || row.current == FeatureSupport::Dropped
                && amplihack_sys::sabotage::is_active("amp-evidence-dropped")
        {
            return FeatureSupport::Has;
        }
        if version.is_none_or(is_current) { row.current } else { row.older }
    }

    /// Checks that `version` has it; `None` stands for [`newest_known`]. Starts nothing.
    ///
    /// # Errors
    /// `unsupported_capability` if `version` does not have it.
    pub fn require_in(self, version: Option<&Version>) -> Result<()> {
        if self.support_in(version).is_usable() {
            return Ok(());
        }
        let row = self.table_row();
        let version = version.cloned().unwrap_or_else(newest_known);
        Err(Error::unsupported_feature(
            row.name,
            Some(&version),
            Some(row.note).filter(|note| !note.is_empty()),
        ))
    }
}

/// Reports whether `version` is [`KNOWN_BUILD`] or later.
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
        assert_eq!(TABLE.len(), CliFeature::Usage as usize + 1);
    }

    #[test]
    fn what_the_current_cli_dropped_is_refused_by_name_and_version() {
        let old = Version::new(0, 0, 1_700_000_000);
        for feature in
            [CliFeature::ThreadsReplay, CliFeature::ToolsUse, CliFeature::Tasks, CliFeature::VisibilityPublic]
        {
            let error = feature.require_in(None).unwrap_err();
            assert_eq!(error.kind(), "unsupported_capability");
            assert!(error.to_string().contains("0.0.1790142911"), "{error}");
            assert!(feature.require_in(Some(&old)).is_ok(), "{feature:?}");
        }
        let released = crate::version::parse_version("0.0.1790142911-g7618fb (released 2026-09-23)").unwrap();
        assert!(CliFeature::ThreadsReplay.require_in(Some(&released)).is_err());
        assert!(CliFeature::ThreadsListJson.require_in(Some(&released)).is_ok());
        insta::assert_snapshot!(CliFeature::ThreadsReplay.require_in(None).unwrap_err());
    }
}
