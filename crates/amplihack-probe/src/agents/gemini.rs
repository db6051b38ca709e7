//! Gemini CLI, which speaks `generateContent`.

use std::path::Path;

use serde_json::json;

use super::{PreparedVariables, ProbedAgent, os_pairs, path_text};
use crate::loopback::{DUMMY_KEY, LoopbackOptions, write_private};
use crate::own_hooks::{OwnHooksLocation, OwnHooksPart};

pub(super) static PROBED: ProbedAgent = ProbedAgent {
    prepare: prepare_gemini,
    own: OwnHooksLocation {
        // It names the home, not the directory in it.
        variable: "GEMINI_CLI_HOME",
        directory: "",
        files: &[(".gemini/settings.json", OwnHooksPart::Keys)],
        many: None,
    },
};

fn prepare_gemini(base_url: &str, home: &Path, options: LoopbackOptions<'_>) -> PreparedVariables {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false},
    });
    write_private(&home.join(".gemini/settings.json"), settings.to_string().as_bytes())?;
    if let Some(workspace) = options.workspace {
        let trusted = json!({path_text(workspace): "TRUST_FOLDER"});
        write_private(&home.join(".gemini/trustedFolders.json"), trusted.to_string().as_bytes())?;
    }
    Ok(os_pairs([
        ("GEMINI_API_KEY", DUMMY_KEY),
        ("GOOGLE_GEMINI_BASE_URL", base_url),
        ("GEMINI_TELEMETRY_ENABLED", "false"),
        // Else it starts itself once more, for more memory.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
    ])
    .to_vec())
}
