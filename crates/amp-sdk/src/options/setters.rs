//! Setters of the options.

use std::path::PathBuf;

use amplihack_config::env::Env;
use semver::Version;
use serde_json::Value;

use super::{ContinueThread, Options};
#[cfg(feature = "governed")]
use crate::governed::GovernedAuthority;
use crate::mcp_config::McpConfig;
use crate::model::Selection;
use crate::rule::Permission;
use crate::setters::setters;
use crate::surface::ExecutionSurface;

setters! {
    Options {
        into(PathBuf) with_cwd = cwd,
        into(String) with_mode = mode,
        some(bool) with_dangerously_allow_all = dangerously_allow_all,
        into(String) with_visibility = visibility,
        into(ContinueThread) with_continue_thread = continue_thread,
        into(PathBuf) with_settings_file = settings_file,
        into(String) with_log_level = log_level,
        into(PathBuf) with_log_file = log_file,
        pairs with_env = env,
        some(Env) with_base_env = base_env,
        into(PathBuf) with_cli_path = cli_path,
        some(Version) with_cli_version = cli_version,
        into(McpConfig) with_mcp_config = mcp_config,
        into(PathBuf) with_toolbox = toolbox,
        into(String) with_skills = skills,
        some_list(Permission) with_permissions = permissions,
        some_list(String) with_enabled_tools = enabled_tools,
        list(String) with_labels = labels,
        list(String) with_features = features,
        into(String) with_title = title,
        into(String) with_executor = executor,
        into(PathBuf) with_runner_dir = runner_dir,
        into(String) with_project = project,
        list(PathBuf) with_attach = attach,
        plain(bool) with_thinking = thinking,
        plain(bool) with_completion_only = completion_only,
        into(Value) with_output_schema = output_schema,
        some(Selection) with_model_payload = model_payload,
        plain(ExecutionSurface) with_execution_surface = execution_surface,
        plain(u64) with_startup_timeout_ms = startup_timeout_ms,
        plain(u64) with_stream_timeout_ms = stream_timeout_ms,
        some(u64) with_run_deadline_ms = run_deadline_ms,
        plain(u64) with_linger_timeout_ms = linger_timeout_ms,
        plain(u64) with_transport_headless_timeout_ms = transport_headless_timeout_ms,
        plain(usize) with_max_stderr_buffer_bytes = max_stderr_buffer_bytes,
        plain(bool) with_strict = strict,
        plain(bool) with_no_ide = no_ide,
        plain(bool) with_no_notifications = no_notifications,
        plain(bool) with_no_color = no_color,
        plain(bool) with_no_jetbrains = no_jetbrains,
        plain(bool) with_no_archive_after_execute = no_archive_after_execute,
    }
}

#[cfg(feature = "governed")]
setters! {
    Options {
        some(GovernedAuthority) with_governed_authority = governed_authority,
    }
}
