//! The rules of a settings file.

use std::path::Path;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::settings;

/// The value of `amp.permissions` in a settings file, as it stands there; `null` if it is not. Comments and trailing commas are read.
///
/// For [`check`](super::check_rules()), then [`Permission::try_from`](crate::Permission).
///
/// # Errors
/// `invalid_configuration` with the path, if the file is not there, cannot be read or holds no JSON object. It quotes nothing of the file.
pub fn in_settings(path: &Path) -> Result<Value> {
    let missing = || Error::InvalidConfiguration {
        field: "settings_file".to_owned(),
        message: format!("{} does not exist", path.display()),
        path: Some(path.to_owned()),
    };
    let mut map = settings::read_settings(path)?.ok_or_else(missing)?;
    Ok(map.remove("amp.permissions").unwrap_or(Value::Null))
}
