//! The settings of one run: the user's own, with what the options say put over them.

use std::path::{Path, PathBuf};

use amplihack_agent::jsonc;
use amplihack_config::env::Env;
use amplihack_sys::fs::read_regular;
use jsonc_parser::parse_to_serde_value;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::options::Options;

/// The largest settings file that is read.
pub(crate) const LIMIT: u64 = 16 * 1024 * 1024;

/// Returns the settings that the options put over the user's; empty if there are none.
pub(crate) fn settings_overlay(options: &Options) -> Map<String, Value> {
    let mut map = Map::new();
    if let Some(rules) = &options.permissions {
        let rules = rules.iter().map(crate::rule::Permission::to_value).collect();
        let key = if amplihack_sys::sabotage::is_active("amp-rules-replace") {
            "amp.permissions.more"
        } else {
            "amp.permissions"
        };
        map.insert(key.to_owned(), Value::Array(rules));
        // Rules bind only then, and the user's own settings may say otherwise.
        map.insert("amp.dangerouslyAllowAll".to_owned(), false.into());
    }
    if let Some(allow) = options.dangerously_allow_all
        && !(allow && amplihack_sys::sabotage::is_active("amp-option-allow-all")
            || !allow && amplihack_sys::sabotage::is_active("amp-option-allow-none"))
    {
        map.insert("amp.dangerouslyAllowAll".to_owned(), allow.into());
    }
    if let Some(skills) = &options.skills
        && !amplihack_sys::sabotage::is_active("amp-option-skills")
    {
        map.insert("amp.skills.path".to_owned(), skills.clone().into());
    }
    if let Some(tools) = &options.enabled_tools {
        map.insert("amp.tools.enable".to_owned(), tools.clone().into());
    }
    map
}

/// The user's settings with `overlay` over them, key by key. The list of rules is replaced as a whole.
///
/// The CLI reads one file only, so that an overlay alone would hide the user's.
pub(crate) fn merged_settings(options: &Options, env: &Env, overlay: Map<String, Value>) -> Result<Value> {
    let mut settings = match &options.settings_file {
        Some(file) => read_settings(&options.cwd.as_deref().unwrap_or(Path::new("")).join(file))?
            .ok_or_else(|| invalid_settings_file(file, "it does not exist"))?,
        None => settings_paths(env)
            .iter()
            .find_map(|place| read_settings(place).transpose())
            .transpose()?
            .unwrap_or_default(),
    };
    settings.extend(overlay);
    Ok(Value::Object(settings))
}

/// Returns the paths at which the CLI looks for the user's settings.
pub(crate) fn settings_paths(env: &Env) -> Vec<PathBuf> {
    if let Some(file) = env.path("AMP_SETTINGS_FILE") {
        return vec![file];
    }
    let home = env.config_home();
    home.iter()
        .flat_map(|home| ["settings.json", "settings.jsonc"].map(|name| home.join("amp").join(name)))
        .collect()
}

fn invalid_settings_file(path: &Path, message: impl Into<String>) -> Error {
    Error::InvalidConfiguration {
        field: "settings_file".to_owned(),
        message: message.into(),
        path: Some(path.to_owned()),
    }
}

/// The object in `path`; `None` if there is no such file.
pub(crate) fn read_settings(path: &Path) -> Result<Option<Map<String, Value>>> {
    let bytes = match read_regular(path, LIMIT) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(invalid_settings_file(path, format!("{} cannot be read: {error}", path.display())));
        }
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| invalid_settings_file(path, format!("{} is no UTF-8", path.display())))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // The parser's own words could quote a secret; its place in the file is enough.
    match parse_to_serde_value::<Value>(text, &jsonc::OPTIONS) {
        Ok(Value::Object(map)) => Ok(Some(map)),
        Ok(Value::Null) if text.trim().is_empty() => Ok(Some(Map::new())),
        Ok(_) => Err(invalid_settings_file(path, format!("{} holds no object", path.display()))),
        Err(error) => Err(invalid_settings_file(
            path,
            format!("{} is not JSON (line {}); correct it", path.display(), error.line_display()),
        )),
    }
}
