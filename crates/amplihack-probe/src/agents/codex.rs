//! Codex, which speaks `OpenAI` Responses.

use std::path::Path;

use serde_json::{Value, json};

use super::{PreparedVariables, ProbedAgent, path_text};
use crate::loopback::{DUMMY_KEY, LoopbackError, LoopbackOptions, write_private};
use crate::model::MODEL;
use crate::own_hooks::{OwnHooksLocation, OwnHooksPart};

pub(super) static PROBED: ProbedAgent = ProbedAgent {
    prepare: prepare_codex,
    own: OwnHooksLocation {
        variable: "CODEX_HOME",
        directory: ".codex",
        files: &[("config.toml", OwnHooksPart::Toml), ("hooks.json", OwnHooksPart::All)],
        many: None,
    },
};

fn prepare_codex(base_url: &str, home: &Path, options: LoopbackOptions<'_>) -> PreparedVariables {
    let path = home.join(".codex/config.toml");
    let settings = toml::to_string(&codex_settings(base_url, options.workspace))
        .map_err(|source| LoopbackError::Toml { path: path.clone(), source })?;
    write_private(&path, settings.as_bytes())?;
    Ok(vec![("FAKE_KEY".into(), DUMMY_KEY.into())])
}

fn codex_settings(base_url: &str, workspace: Option<&Path>) -> Value {
    let mut settings = json!({
        "model": MODEL,
        "model_provider": "fake",
        "check_for_update_on_startup": false,
        "analytics": {"enabled": false},
        // Without this Codex waits for an unreachable server for ever.
        "features": {"unbounded_connection_retries": false},
        "model_providers": {"fake": {
            "name": "fake",
            "base_url": format!("{base_url}/v1"),
            "env_key": "FAKE_KEY",
            "wire_api": "responses",
            "request_max_retries": 1,
            "stream_max_retries": 1,
        }},
        "projects": {},
    });
    if let Some(workspace) = workspace {
        settings["projects"][path_text(workspace)] = json!({"trust_level": "trusted"});
    }
    settings
}
