//! Plans of runs: the program and files that a run would start with, without starting it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use amplihack_agent::amp::sdk::{AmpThreadChoice, SdkRun};
use amplihack_config::env::Env;
use serde_json::Value;

use crate::capability::CliFeature;
use crate::error::Result;
use crate::launch::CliLaunch;
use crate::options::{ContinueThread, Options, visibility};
use crate::prompt::AmpPrompt;
use crate::settings;

/// Stands in a [`RunPlan`] for the private file with the run's settings.
pub const SETTINGS_FILE: &str = "<TEMP_SETTINGS_0600>";
/// Stands in a [`RunPlan`] for the private file with the run's MCP servers.
pub const MCP_FILE: &str = "<TEMP_MCP_0600>";

/// The program, arguments and files that a run would start with.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunPlan {
    /// The CLI on this machine; `None` for another machine's.
    pub program: Option<PathBuf>,
    /// Arguments of the CLI, with [`SETTINGS_FILE`] and [`MCP_FILE`] where private files would be.
    pub argv: Vec<OsString>,
    /// Content of the private settings file, the user's own settings included; `None` if there would be none.
    pub settings: Option<Value>,
    /// `true` if there would be a private file with MCP servers.
    pub mcp_file: bool,
    /// Options that have no effect, or not the one that they seem to have.
    pub warnings: Vec<String>,
}

impl std::fmt::Debug for RunPlan {
    /// Without the settings, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunPlan")
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
/// use amp_sdk::{Options, plan_run};
/// # let dir = tempfile::tempdir().unwrap();
/// # let amp = dir.path().join("amp");
/// # std::fs::write(&amp, "").unwrap();
/// # std::fs::set_permissions(&amp, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
/// let options = Options::default().with_mode("high").with_cli_path(amp);
/// let plan = plan_run(&"What does this do?".into(), &options)?;
/// assert_eq!(plan.argv, ["--execute", "--stream-json", "--mode", "high"]);
/// # Ok::<(), amp_sdk::Error>(())
/// ```
///
/// # Errors
/// Those of [`Options::validate`], and `cli_not_found` if there is no CLI. `invalid_configuration` for an empty prompt, an authority whose
/// command or directory is not there, a missing ssh, and settings to be merged that cannot be read.
pub fn plan_run(prompt: &AmpPrompt, options: &Options) -> Result<RunPlan> {
    options.validate()?;
    prompt.validate()?;
    options.check_input(prompt.is_json())?;
    let launch = CliLaunch::new(options)?;
    let contents = OverlayContents::new(options, launch.env())?;
    Ok(RunPlan {
        program: launch.local_program().map(Path::to_owned),
        argv: cli_arguments(
            options,
            prompt.is_json(),
            contents.settings.is_some().then(|| SETTINGS_FILE.into()),
            contents.mcp.is_some().then(|| MCP_FILE.into()),
        ),
        settings: contents.settings,
        mcp_file: contents.mcp.is_some(),
        warnings: option_warnings(options),
    })
}

/// The contents of private files.
pub(crate) struct OverlayContents {
    pub(crate) settings: Option<Value>,
    pub(crate) mcp: Option<Vec<u8>>,
}

impl OverlayContents {
    pub(crate) fn new(options: &Options, env: &Env) -> Result<Self> {
        let overlay = settings::settings_overlay(options);
        let settings =
            if overlay.is_empty() { None } else { Some(settings::merged_settings(options, env, overlay)?) };
        let config = options.mcp_config.as_ref().filter(|config| !config.is_empty());
        Ok(Self { settings, mcp: config.and_then(|config| config.file_content().ok()) })
    }
}

/// The arguments of the CLI. `settings` and `mcp` are private files in the place of the caller's own.
pub(crate) fn cli_arguments(
    options: &Options,
    json_input: bool,
    settings: Option<PathBuf>,
    mcp: Option<PathBuf>,
) -> Vec<OsString> {
    let own_mcp = || {
        let config = options.mcp_config.as_ref().filter(|config| !config.is_empty());
        config.and_then(|config| config.file_content().err().map(Path::to_owned))
    };
    let run = SdkRun {
        thread: match &options.continue_thread {
            None => AmpThreadChoice::New,
            Some(ContinueThread::Last) => AmpThreadChoice::Last,
            Some(ContinueThread::Id(id)) => AmpThreadChoice::Id(id),
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
        executor: options.executor.as_deref(),
        runner_dir: options.runner_dir.as_deref().map(AsRef::as_ref),
        project: options.project.as_deref(),
        attach: &options.attach,
        title: options.title.as_deref(),
        no_archive_after_execute: options.no_archive_after_execute,
        no_ide: options.no_ide,
        no_notifications: options.no_notifications,
        no_color: options.no_color,
    };
    run.to_args()
}

/// `public` is `unlisted` where the CLI has no `public` any more.
fn visibility_word(options: &Options) -> Option<&str> {
    let word = options.visibility.as_deref()?;
    let mapped = word == visibility::PUBLIC
        && !CliFeature::VisibilityPublic.support_in(options.cli_version.as_ref()).is_usable();
    Some(if mapped { visibility::UNLISTED } else { word })
}

/// Returns warnings about options that have no effect, or not the one that they seem to have.
pub(crate) fn option_warnings(options: &Options) -> Vec<String> {
    let mut warnings = Vec::new();
    if options.dangerously_allow_all == Some(true)
        && options.permissions.as_ref().is_some_and(|rules| !rules.is_empty())
    {
        warnings.push("permissions have no effect with dangerously_allow_all; drop one of them".to_owned());
    }
    #[cfg(feature = "permissions")]
    warnings.extend(void_patterns(options));
    if visibility_word(options) != options.visibility.as_deref() {
        warnings.push("visibility public is not known to the CLI any more; unlisted is asked for".to_owned());
    }
    if options.no_jetbrains {
        warnings.push("no_jetbrains has no effect; the CLI has no such flag any more".to_owned());
    }
    warnings
}

/// Returns warnings about regular expressions that match nothing.
#[cfg(feature = "permissions")]
fn void_patterns(options: &Options) -> Vec<String> {
    use crate::permissions::never_matches;
    let mut warnings = Vec::new();
    for (at, rule) in options.permissions.iter().flatten().enumerate() {
        for (key, pattern) in rule.matches.iter().flatten() {
            let patterns = pattern.as_array().map_or(std::slice::from_ref(pattern), Vec::as_slice);
            if patterns.iter().filter_map(Value::as_str).any(never_matches) {
                warnings.push(format!(
                    "permissions[{at}].matches.{key} is a regular expression that does not compile; the CLI never matches it"
                ));
            }
        }
    }
    warnings
}
