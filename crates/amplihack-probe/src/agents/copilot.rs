//! GitHub Copilot CLI, which speaks `OpenAI` Chat Completions to a provider of one's own.

use std::ffi::OsString;
use std::path::Path;

use serde_json::json;

use super::{PreparedVariables, ProbedAgent, os_pairs, path_text};
use crate::loopback::{DUMMY_KEY, LoopbackOptions, write_private};
use crate::model::MODEL;
use crate::own_hooks::{OwnHooksLocation, OwnHooksPart};

pub(super) static PROBED: ProbedAgent = ProbedAgent {
    prepare: prepare_copilot,
    own: OwnHooksLocation {
        variable: "COPILOT_HOME",
        directory: ".copilot",
        files: &[("config.json", OwnHooksPart::Keys), ("settings.json", OwnHooksPart::Keys)],
        many: Some("hooks"),
    },
};

fn prepare_copilot(base_url: &str, home: &Path, options: LoopbackOptions<'_>) -> PreparedVariables {
    let mut env = copilot_variables(base_url).to_vec();
    if let Some(cache) = options.cache {
        env.push(("COPILOT_CACHE_HOME".into(), cache.into()));
    }
    if let Some(workspace) = options.workspace {
        // `--trust-folder` says the same, but an interactive Copilot refuses to start with it.
        let settings = json!({"trustedFolders": [path_text(workspace)]});
        write_private(&home.join(".copilot/config.json"), settings.to_string().as_bytes())?;
    }
    Ok(env)
}

fn copilot_variables(base_url: &str) -> [(OsString, OsString); 6] {
    os_pairs([
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("COPILOT_PROVIDER_BASE_URL", &format!("{base_url}/v1")),
        ("COPILOT_PROVIDER_TYPE", "openai"),
        ("COPILOT_PROVIDER_API_KEY", DUMMY_KEY),
        ("COPILOT_MODEL", MODEL),
    ])
}
