//! Claude Code, which speaks Anthropic Messages.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};

use super::{PreparedVariables, ProbedAgent, os_pairs, path_text};
use crate::loopback::{DUMMY_KEY, LoopbackOptions, write_private};
use crate::own_hooks::{OwnHooksLocation, OwnHooksPart};

pub(super) static PROBED: ProbedAgent = ProbedAgent {
    prepare: prepare_claude,
    own: OwnHooksLocation {
        variable: "CLAUDE_CONFIG_DIR",
        directory: ".claude",
        files: &[("settings.json", OwnHooksPart::Keys)],
        many: None,
    },
};

fn prepare_claude(base_url: &str, home: &Path, options: LoopbackOptions<'_>) -> PreparedVariables {
    let settings = claude_settings(options.workspace).to_string();
    write_private(&home.join(".claude.json"), settings.as_bytes())?;
    Ok(claude_variables(base_url))
}

fn claude_variables(base_url: &str) -> Vec<(OsString, OsString)> {
    let mut env = os_pairs([
        ("ANTHROPIC_BASE_URL", base_url),
        ("ANTHROPIC_API_KEY", DUMMY_KEY),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_TELEMETRY", "1"),
    ])
    .to_vec();
    if rustix::process::geteuid().is_root() {
        // As root Claude Code skips permissions only where it is told that it is in a sandbox. This home and this
        // model are throw-away ones; a user's own launch never gets this variable from us.
        env.push(("IS_SANDBOX".into(), "1".into()));
    }
    env
}

/// Settings that answer everything between a fresh home and the first interactive prompt: onboarding, the key, the trust question.
fn claude_settings(workspace: Option<&Path>) -> Value {
    let mut settings = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [DUMMY_KEY], "rejected": []},
        "projects": {},
    });
    if let Some(workspace) = workspace {
        let trusted = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
        settings["projects"][path_text(workspace)] = trusted;
    }
    settings
}
