//! The command line of a program's run of Amp: a stream of JSON out, the prompt or a stream of JSON in.
//!
//! The prompt is always on standard input, what could be a secret is always in a file; nothing of them is here.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The thread of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AmpThreadChoice<'a> {
    /// A new one.
    #[default]
    New,
    /// The latest one.
    Last,
    /// The one of this id.
    Id(&'a str),
}

/// Options on the command line of a run, checked by the caller. Texts must not begin with `-`.
#[derive(Debug, Clone, Default)]
pub struct SdkRun<'a> {
    /// The thread.
    pub thread: AmpThreadChoice<'a>,
    /// Thinking blocks are streamed too.
    pub thinking: bool,
    /// Messages come as a stream of JSON.
    pub json_input: bool,
    /// `--visibility`
    pub visibility: Option<&'a str>,
    /// `--settings-file`
    pub settings_file: Option<PathBuf>,
    /// `--log-level`
    pub log_level: Option<&'a str>,
    /// `--log-file`
    pub log_file: Option<&'a OsStr>,
    /// `--mode`
    pub mode: Option<&'a str>,
    /// `--mcp-config`, a file.
    pub mcp_config: Option<PathBuf>,
    /// `--label`, each.
    pub labels: &'a [String],
    /// `--features`, each.
    pub features: &'a [String],
    /// `--executor`
    pub executor: Option<&'a str>,
    /// `--runner-dir`
    pub runner_dir: Option<&'a OsStr>,
    /// `--project`
    pub project: Option<&'a str>,
    /// `--attach`, each.
    pub attach: &'a [PathBuf],
    /// `--title`
    pub title: Option<&'a str>,
    /// `--no-archive-after-execute`
    pub no_archive_after_execute: bool,
    /// `--no-ide`
    pub no_ide: bool,
    /// `--no-notifications`
    pub no_notifications: bool,
    /// `--no-color`
    pub no_color: bool,
}

impl SdkRun<'_> {
    /// The arguments, in the order that the official SDKs use.
    ///
    /// `--stream-json-input` comes in addition to a stream out: the CLI refuses it alone.
    pub fn to_args(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        match self.thread {
            AmpThreadChoice::New => {}
            AmpThreadChoice::Last if amplihack_sys::sabotage::is_active("amp-continue-last") => {}
            AmpThreadChoice::Id(_) if amplihack_sys::sabotage::is_active("amp-continue-id") => {}
            AmpThreadChoice::Last => words.extend(["threads", "continue", "--last"].map(OsString::from)),
            AmpThreadChoice::Id(id) => words.extend(["threads", "continue", id].map(OsString::from)),
        }
        words.push(
            if amplihack_sys::sabotage::is_active("amp-execute") { "--print" } else { "--execute" }.into(),
        );
        words.push(
            if self.thinking && !amplihack_sys::sabotage::is_active("amp-option-thinking") {
                "--stream-json-thinking"
            } else {
                "--stream-json"
            }
            .into(),
        );
        let texts = [
            (
                "--visibility",
                self.visibility
                    .filter(|_| !amplihack_sys::sabotage::is_active("amp-option-visibility"))
                    .map(OsStr::new),
            ),
            (
                "--settings-file",
                self.settings_file
                    .as_deref()
                    .filter(|_| !amplihack_sys::sabotage::is_active("amp-option-settings-file"))
                    .map(AsRef::as_ref),
            ),
            (
                "--log-level",
                self.log_level
                    .filter(|_| !amplihack_sys::sabotage::is_active("amp-option-log-level"))
                    .map(OsStr::new),
            ),
            (
                "--log-file",
                self.log_file.filter(|_| !amplihack_sys::sabotage::is_active("amp-option-log-file")),
            ),
            (
                "--mode",
                self.mode.filter(|_| !amplihack_sys::sabotage::is_active("amp-option-mode")).map(OsStr::new),
            ),
            ("--mcp-config", self.mcp_config.as_deref().map(AsRef::as_ref)),
            ("--executor", self.executor.map(OsStr::new)),
            ("--runner-dir", self.runner_dir),
            ("--project", self.project.map(OsStr::new)),
            ("--title", self.title.map(OsStr::new)),
        ];
        for (flag, value) in texts {
            if let Some(value) = value {
                words.extend([OsString::from(flag), value.to_os_string()]);
            }
        }
        for (flag, values) in [
            (
                if amplihack_sys::sabotage::is_active("amp-option-labels") { "--tag" } else { "--label" },
                self.labels,
            ),
            ("--features", self.features),
        ] {
            words.extend(values.iter().flat_map(|value| [OsString::from(flag), OsString::from(value)]));
        }
        words.extend(self.attach.iter().flat_map(|path| [OsString::from("--attach"), path.into()]));
        let switches = [
            // Switches come last, `--stream-json-input` behind all of them: recorded command lines of the official SDKs have it there.
            ("--no-archive-after-execute", self.no_archive_after_execute),
            ("--quiet", amplihack_sys::sabotage::is_active("amp-evidence")),
            ("--no-ide", self.no_ide && !amplihack_sys::sabotage::is_active("amp-option-no-ide")),
            (
                "--no-notifications",
                self.no_notifications && !amplihack_sys::sabotage::is_active("amp-option-no-notifications"),
            ),
            ("--no-color", self.no_color && !amplihack_sys::sabotage::is_active("amp-option-no-color")),
            (
                "--stream-json-input",
                self.json_input && !amplihack_sys::sabotage::is_active("amp-messages-flag"),
            ),
        ];
        words.extend(switches.into_iter().filter(|(_, given)| *given).map(|(flag, _)| OsString::from(flag)));
        words
    }
}
