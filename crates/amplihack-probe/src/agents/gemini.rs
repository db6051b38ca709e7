//! Gemini CLI, which speaks `generateContent`.

use std::path::Path;

use serde_json::json;

use super::{Prepared, Probed, pairs, text};
use crate::loopback::{DUMMY_KEY, Options, write_private};
use crate::own_hooks::{Part, Place};

pub(super) static PROBED: Probed = Probed {
    prepare,
    own: Place {
        // It names the home, not the directory in it.
        variable: "GEMINI_CLI_HOME",
        directory: "",
        files: &[(".gemini/settings.json", Part::Keys)],
        many: None,
    },
};

fn prepare(base_url: &str, home: &Path, options: Options<'_>) -> Prepared {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false},
    });
    write_private(&home.join(".gemini/settings.json"), settings.to_string().as_bytes())?;
    if let Some(workspace) = options.workspace {
        let trusted = json!({text(workspace): "TRUST_FOLDER"});
        write_private(&home.join(".gemini/trustedFolders.json"), trusted.to_string().as_bytes())?;
    }
    Ok(pairs([
        ("GEMINI_API_KEY", DUMMY_KEY),
        ("GOOGLE_GEMINI_BASE_URL", base_url),
        ("GEMINI_TELEMETRY_ENABLED", "false"),
        // Else it starts itself once more, for more memory.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
    ])
    .to_vec())
}
