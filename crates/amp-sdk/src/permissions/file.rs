//! The rules of a settings file.

use std::path::Path;

use amplihack_utils::fs::read_regular;
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

use crate::error::{Error, Result};

/// More is no settings file.
const MOST: u64 = 16 * 1024 * 1024;

/// The value of `amp.permissions` in a settings file, as it stands there; `null` if it is not. Comments and trailing commas are read.
///
/// For [`check`](super::check()), then [`Permission::try_from`](crate::Permission). Errors: `invalid_configuration` with the path; they quote nothing of the
/// file.
pub fn in_settings(path: &Path) -> Result<Value> {
    let refused = |message: String| Error::InvalidConfiguration {
        field: path.display().to_string(),
        message,
        path: Some(path.to_owned()),
    };
    let bytes = read_regular(path, MOST).map_err(|error| refused(format!("it cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8; correct it".to_owned()))?;
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    match parse_to_serde_value::<Value>(&text, &options) {
        Ok(Value::Object(mut map)) => Ok(map.remove("amp.permissions").unwrap_or(Value::Null)),
        Ok(_) => Err(refused("it is no JSON object; correct it".to_owned())),
        Err(error) => Err(refused(format!("line {} is not JSON; correct it", error.line_display()))),
    }
}
