//! What a run would start, without starting it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use amplihack_agent::amp::sdk::{SdkRun, Thread};
use amplihack_utils::env::Env;
use serde_json::Value;

use crate::capability::Feature;
use crate::error::Result;
use crate::launch::Launch;
use crate::options::{ContinueThread, Options, visibility};
use crate::permissions::never_matches;
use crate::prompt::Prompt;
use crate::settings;

/// Stands in a [`Plan`] for the private file with the run's settings.
pub const SETTINGS_FILE: &str = "<TEMP_SETTINGS_0600>";
/// Stands in a [`Plan`] for the private file with the run's MCP servers.
pub const MCP_FILE: &str = "<TEMP_MCP_0600>";

/// What a run would start.
#[derive(Clone)]
#[non_exhaustive]
pub struct Plan {
    /// The CLI on this machine; `None` for another machine's.
    pub program: Option<PathBuf>,
    /// Its arguments, with [`SETTINGS_FILE`] and [`MCP_FILE`] where private files would be.
    pub argv: Vec<OsString>,
    /// What the private settings file would hold, the user's own included; `None` if there would be none.
    pub settings: Option<Value>,
    /// Whether there would be a private file with MCP servers.
    pub mcp_file: bool,
    /// Options that have no effect, or not the one that they seem to have.
    pub warnings: Vec<String>,
}

impl std::fmt::Debug for Plan {
    /// Without the settings, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("program", &self.program)
            .field("argv", &self.argv)
            .field("settings", &self.settings.is_some())
            .field("mcp_file", &self.mcp_file)
            .field("warnings", &self.warnings)
            .finish()
    }
}

/// Says what [`execute`](crate::execute) would start, and refuses what it would refuse. Reads the user's settings if they would be
/// merged; writes and starts nothing.
///
/// ```
/// use amp_sdk::{Options, plan};
/// # let dir = tempfile::tempdir().unwrap();
/// # let amp = dir.path().join("amp");
/// # std::fs::write(&amp, "").unwrap();
/// # std::fs::set_permissions(&amp, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
/// let options = Options { mode: Some("high".into()), cli_path: Some(amp), ..Options::default() };
/// let plan = plan(&"What does this do?".into(), &options)?;
/// assert_eq!(plan.argv, ["--execute", "--stream-json", "--mode", "high"]);
/// # Ok::<(), amp_sdk::Error>(())
/// ```
pub fn plan(prompt: &Prompt, options: &Options) -> Result<Plan> {
    options.validate()?;
    prompt.validate()?;
    let launch = Launch::new(options)?;
    let contents = Contents::new(options, launch.env())?;
    Ok(Plan {
        program: launch.local_program().map(Path::to_owned),
        argv: words(
            options,
            prompt.is_json(),
            contents.settings.is_some().then(|| SETTINGS_FILE.into()),
            contents.mcp.is_some().then(|| MCP_FILE.into()),
        ),
        settings: contents.settings,
        mcp_file: contents.mcp.is_some(),
        warnings: warnings(options),
    })
}

/// What private files hold.
pub(crate) struct Contents {
    pub(crate) settings: Option<Value>,
    pub(crate) mcp: Option<Vec<u8>>,
}

impl Contents {
    pub(crate) fn new(options: &Options, env: &Env) -> Result<Self> {
        let overlay = settings::overlay(options);
        let settings = if overlay.is_empty() { None } else { Some(settings::merged(options, env, overlay)?) };
        let config = options.mcp_config.as_ref().filter(|config| !config.is_empty());
        Ok(Self { settings, mcp: config.and_then(|config| config.content().ok()) })
    }
}

/// The arguments of the CLI. `settings` and `mcp` are private files in the place of the caller's own.
pub(crate) fn words(
    options: &Options,
    json_input: bool,
    settings: Option<PathBuf>,
    mcp: Option<PathBuf>,
) -> Vec<OsString> {
    let own_mcp = || {
        let config = options.mcp_config.as_ref().filter(|config| !config.is_empty());
        config.and_then(|config| config.content().err().map(Path::to_owned))
    };
    let run = SdkRun {
        thread: match &options.continue_thread {
            None => Thread::New,
            Some(ContinueThread::Last) => Thread::Last,
            Some(ContinueThread::Id(id)) => Thread::Id(id),
        },
        thinking: options.thinking,
        json_input,
        visibility: visibility_word(options),
        settings_file: settings.or_else(|| options.settings_file.clone()),
        log_level: options.log_level.as_deref(),
        log_file: options.log_file.as_deref().map(AsRef::as_ref),
        mode: options.mode.as_deref(),
        mcp_config: mcp.or_else(own_mcp),
        labels: &options.labels,
        features: &options.features,
        title: options.title.as_deref(),
        no_archive_after_execute: options.no_archive_after_execute,
        no_ide: options.no_ide,
        no_notifications: options.no_notifications,
        no_color: options.no_color,
    };
    run.words()
}

/// `public` is `unlisted` where the CLI has no `public` any more.
fn visibility_word(options: &Options) -> Option<&str> {
    let word = options.visibility.as_deref()?;
    let mapped = word == visibility::PUBLIC
        && !Feature::VisibilityPublic.support(options.cli_version.as_ref()).usable();
    Some(if mapped { visibility::UNLISTED } else { word })
}

/// What has no effect, or not the one that it seems to have.
pub(crate) fn warnings(options: &Options) -> Vec<String> {
    let mut warnings = Vec::new();
    if options.dangerously_allow_all == Some(true) && !options.permissions.is_empty() {
        warnings.push("permissions have no effect with dangerously_allow_all; drop one of them".to_owned());
    }
    for (at, rule) in options.permissions.iter().enumerate() {
        for (key, pattern) in rule.matches.iter().flatten() {
            let patterns = pattern.as_array().map_or(std::slice::from_ref(pattern), Vec::as_slice);
            if patterns.iter().filter_map(Value::as_str).any(never_matches) {
                warnings.push(format!(
                    "permissions[{at}].matches.{key} is a regular expression that does not compile; the CLI never matches it"
                ));
            }
        }
    }
    if visibility_word(options) != options.visibility.as_deref() {
        warnings.push("visibility public is not known to the CLI any more; unlisted is asked for".to_owned());
    }
    if options.no_jetbrains {
        warnings.push("no_jetbrains has no effect; the CLI has no such flag any more".to_owned());
    }
    warnings
}
