//! Everything that a run may be given.

mod setters;
mod validate;

use std::collections::BTreeMap;
use std::path::PathBuf;

use amplihack_config::env::Env;
use semver::Version;
use serde_json::Value;

#[cfg(feature = "governed")]
use crate::governed::GovernedAuthority;
use crate::mcp_config::McpConfig;
use crate::model::Selection;
use crate::rule::Permission;
use crate::surface::ExecutionSurface;

#[cfg(feature = "governed")]
pub(crate) use validate::is_variable;

/// Names of modes. The set is open: plugins bring their own.
pub mod mode {
    /// Current CLIs: cheapest.
    pub const LOW: &str = "low";
    /// Current CLIs: what they take by default.
    pub const MEDIUM: &str = "medium";
    /// Current CLIs.
    pub const HIGH: &str = "high";
    /// Current CLIs: most thorough.
    pub const ULTRA: &str = "ultra";
    /// Older CLIs: their default, the one that streamed.
    pub const SMART: &str = "smart";
    /// Older CLIs, without a stream.
    pub const RUSH: &str = "rush";
    /// Older CLIs, without a stream.
    pub const DEEP: &str = "deep";
    /// Older CLIs, interactive only.
    pub const FREE: &str = "free";
    /// Older CLIs.
    pub const LARGE: &str = "large";
}

/// Names of visibilities. The set is open.
pub mod visibility {
    /// Only for the thread's creator.
    pub const PRIVATE: &str = "private";
    /// For everybody with the link: older CLIs. Current ones are asked for [`UNLISTED`].
    pub const PUBLIC: &str = "public";
    /// For everybody with the link: current CLIs.
    pub const UNLISTED: &str = "unlisted";
    /// For the workspace.
    pub const WORKSPACE: &str = "workspace";
    /// For the group.
    pub const GROUP: &str = "group";
}

/// The log levels: the CLI has these five.
pub mod log_level {
    /// Every level.
    pub const ALL: &[&str] = &[DEBUG, INFO, WARN, ERROR, AUDIT];
    /// Everything.
    pub const DEBUG: &str = "debug";
    /// Ordinary activity.
    pub const INFO: &str = "info";
    /// Odd conditions.
    pub const WARN: &str = "warn";
    /// Failures.
    pub const ERROR: &str = "error";
    /// Actions that were taken.
    pub const AUDIT: &str = "audit";
}

/// The thread that a run continues.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContinueThread {
    /// The latest one.
    Last,
    /// A given thread: `T-…`, or the thread's address.
    Id(String),
}

impl From<&str> for ContinueThread {
    fn from(id: &str) -> Self {
        Self::Id(id.to_owned())
    }
}

impl From<String> for ContinueThread {
    fn from(id: String) -> Self {
        Self::Id(id)
    }
}

/// Everything that a run may be given. Set what differs from [`Options::default`], with the setters or in the fields.
///
/// Nothing of it is read from this process's environment but the base (see [`Options::base_env`]), and nothing of it reaches a command
/// line that could be a secret. Checked before anything is started, see [`Options::validate`].
///
/// ```
/// use amp_sdk::{Options, visibility};
///
/// let options = Options::default().with_visibility(visibility::PRIVATE);
/// options.validate()?;
/// # Ok::<(), amp_sdk::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Working directory of the CLI. Default: this process's; on another machine: the login directory there.
    pub cwd: Option<PathBuf>,
    /// Agent mode, see [`mode`]. Default: the CLI's own.
    pub mode: Option<String>,
    /// `Some(true)`: every tool runs without a question, and permission rules have no effect. `Some(false)`: none does, whatever the user's
    /// settings contain. Default: as the user's settings are; with permission rules as `Some(false)`.
    pub dangerously_allow_all: Option<bool>,
    /// Audience that sees the thread, see [`visibility`](mod@visibility). Default: the CLI's own.
    pub visibility: Option<String>,
    /// Go on with a thread. Default: a new one.
    pub continue_thread: Option<ContinueThread>,
    /// A settings file in the place of the user's own. Comments and trailing commas are read.
    pub settings_file: Option<PathBuf>,
    /// A level of [`log_level`](mod@log_level); anything else is refused.
    pub log_level: Option<String>,
    /// File to which the CLI logs.
    pub log_file: Option<PathBuf>,
    /// Variables for the CLI, over the base: `AMP_API_KEY`, `AMP_URL`, … Values do not show in Debug.
    pub env: BTreeMap<String, String>,
    /// Base of [`Options::env`]. `None`: this process's environment without its `AMP_*` variables. `Some`: exactly this, also without
    /// them (`AMP_TEST_*` are kept). Not used on another machine.
    pub base_env: Option<Env>,
    /// The CLI, a program or a `.js` file. Default: `AMP_CLI_PATH` in [`Options::env`], `~/.amp/bin/amp`, `~/.local/bin/amp`, PATH.
    pub cli_path: Option<PathBuf>,
    /// Version of the CLI, from [`version::probe_version`](crate::version::probe_version). Default: the newest that this crate knows.
    pub cli_version: Option<Version>,
    /// MCP servers, given to the CLI in a private file.
    pub mcp_config: Option<McpConfig>,
    /// A directory of toolbox scripts: `AMP_TOOLBOX` of the CLI.
    pub toolbox: Option<PathBuf>,
    /// Directories of skills, separated by `:`.
    pub skills: Option<String>,
    /// Permission rules, the first that matches decides. They take the place of those in the user's settings, also if there are none:
    /// with an empty list the CLI goes by its own rules alone. Default: the user's.
    pub permissions: Option<Vec<Permission>>,
    /// Globs over tools that are enabled at all. Default: those of the user's settings.
    pub enabled_tools: Option<Vec<String>>,
    /// Labels of the thread: at most 20, each 1 to 32 letters, digits and `-`, the first no `-`.
    pub labels: Vec<String>,
    /// Thread features, such as `fast`.
    pub features: Vec<String>,
    /// The title of a new thread, at most 256 characters.
    pub title: Option<String>,
    /// Place where a new thread runs: `local`, `orb`, or `runner:ID`. Default: the CLI's own, here.
    pub executor: Option<String>,
    /// Directory of the runner in which a new thread runs, absolute; only with the executor `runner:ID`.
    pub runner_dir: Option<PathBuf>,
    /// Project of Amp's that a new thread runs on, only with the executor `orb`: `namespace/name`, `owner/repo` or an address.
    pub project: Option<String>,
    /// Files that are uploaded and added to the message, only with a remote executor. Relative to the CLI's directory.
    pub attach: Vec<PathBuf>,
    /// Stream thinking blocks too. Default: false.
    pub thinking: bool,
    /// A run without tools. No CLI has it: always `unsupported_capability`.
    pub completion_only: bool,
    /// A schema for the answer. No CLI has it: always `unsupported_capability`.
    pub output_schema: Option<Value>,
    /// A resolved model, see [`model`](crate::model).
    pub model_payload: Option<Selection>,
    /// Machine on which the CLI runs. Default: this one.
    pub execution_surface: ExecutionSurface,
    /// Governed execution, see [`governed`](crate::governed).
    #[cfg(feature = "governed")]
    pub governed_authority: Option<GovernedAuthority>,
    /// Milliseconds from the start to the first byte. Default: 30 000.
    pub startup_timeout_ms: u64,
    /// Milliseconds from one output to the next, before the run counts as stuck. Default: 300 000.
    pub stream_timeout_ms: u64,
    /// Milliseconds for the whole run, also while nobody polls it. Default: as long as it likes.
    pub run_deadline_ms: Option<u64>,
    /// Milliseconds that the CLI has to end by itself after its result or its standard output's end, before it is ended. Default: 2 000.
    pub linger_timeout_ms: u64,
    /// Milliseconds that the CLI and its tools have to end when a deadline has passed, or when they are interrupted: SIGINT comes at
    /// once, SIGTERM after half of them, SIGKILL after all. Default: 5 000.
    pub transport_headless_timeout_ms: u64,
    /// Bytes of stderr that are kept, the last ones. Default: 262 144.
    pub max_stderr_buffer_bytes: usize,
    /// A line that is not JSON, or no message, ends the stream. Default: false, it is a diagnostic.
    pub strict: bool,
    /// No context from an IDE.
    pub no_ide: bool,
    /// No notifications.
    pub no_notifications: bool,
    /// No colours.
    pub no_color: bool,
    /// No context from JetBrains. Current CLIs have no such flag; nothing is given to them.
    pub no_jetbrains: bool,
    /// Do not archive the thread after the run.
    pub no_archive_after_execute: bool,
}

impl Options {
    /// Reports whether an authority materializes the run.
    #[cfg_attr(
        not(feature = "governed"),
        expect(clippy::unused_self, reason = "there is no authority without the feature")
    )]
    pub(crate) const fn is_governed(&self) -> bool {
        #[cfg(feature = "governed")]
        return self.governed_authority.is_some();
        #[cfg(not(feature = "governed"))]
        false
    }

    /// The time from SIGINT to SIGTERM, and from there to SIGKILL: together what the option allows.
    pub(crate) const fn grace(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.transport_headless_timeout_ms.div_ceil(2))
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cwd: None,
            mode: None,
            dangerously_allow_all: None,
            visibility: None,
            continue_thread: None,
            settings_file: None,
            log_level: None,
            log_file: None,
            env: BTreeMap::new(),
            base_env: None,
            cli_path: None,
            cli_version: None,
            mcp_config: None,
            toolbox: None,
            skills: None,
            permissions: None,
            enabled_tools: None,
            labels: Vec::new(),
            features: Vec::new(),
            title: None,
            executor: None,
            runner_dir: None,
            project: None,
            attach: Vec::new(),
            thinking: false,
            completion_only: false,
            output_schema: None,
            model_payload: None,
            execution_surface: ExecutionSurface::Local,
            #[cfg(feature = "governed")]
            governed_authority: None,
            startup_timeout_ms: 30_000,
            stream_timeout_ms: 300_000,
            run_deadline_ms: None,
            linger_timeout_ms: 2_000,
            transport_headless_timeout_ms: 5_000,
            max_stderr_buffer_bytes: 262_144,
            strict: false,
            no_ide: false,
            no_notifications: false,
            no_color: false,
            no_jetbrains: false,
            no_archive_after_execute: false,
        }
    }
}

impl std::fmt::Debug for Options {
    /// Names and numbers; no value of the environment, of an MCP server or of an authority.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("cwd", &self.cwd)
            .field("mode", &self.mode)
            .field("dangerously_allow_all", &self.dangerously_allow_all)
            .field("visibility", &self.visibility)
            .field("continue_thread", &self.continue_thread)
            .field("settings_file", &self.settings_file)
            .field("log_level", &self.log_level)
            .field("log_file", &self.log_file)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("base_env", &self.base_env)
            .field("cli_path", &self.cli_path)
            .field("cli_version", &self.cli_version)
            .field("mcp_config", &self.mcp_config)
            .field("toolbox", &self.toolbox)
            .field("skills", &self.skills)
            .field("permissions", &self.permissions)
            .field("enabled_tools", &self.enabled_tools)
            .field("labels", &self.labels)
            .field("features", &self.features)
            .field("executor", &self.executor)
            .field("project", &self.project)
            .field("attach", &self.attach)
            .field("thinking", &self.thinking)
            .field("execution_surface", &self.execution_surface)
            .field("governed", &self.is_governed())
            .field("startup_timeout_ms", &self.startup_timeout_ms)
            .field("stream_timeout_ms", &self.stream_timeout_ms)
            .field("run_deadline_ms", &self.run_deadline_ms)
            .field("strict", &self.strict)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn defaults_are_the_documented_ones() {
        let options = Options::default();
        assert_eq!((options.startup_timeout_ms, options.stream_timeout_ms), (30_000, 300_000));
        assert_eq!((options.run_deadline_ms, options.linger_timeout_ms), (None, 2_000));
        assert_eq!((options.mode, options.visibility, options.continue_thread), (None, None, None));
        assert!(options.dangerously_allow_all.is_none() && !options.thinking && !options.strict);
        assert!(options.env.is_empty() && options.permissions.is_none() && options.labels.is_empty());
    }
}
