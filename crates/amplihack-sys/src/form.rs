//! The form of a file: what a newer amplihack wrote in a form of its own is left alone, and said to be so.
//!
//! A JSON object says its form by `schema_version`; one without it has the first form. Fields and lines that an older version may pass
//! over do not change the form: they are ignored by its readers and kept by its writers.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The field that names the form.
const FIELD: &str = "\"schema_version\"";

/// A file has a form that this program does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} was written by a newer amplihack (form {found}; this version reads forms up to {known}); it was left unchanged, use the newer amplihack",
    path.display()
)]
pub struct NewerFormError {
    /// The file.
    pub path: PathBuf,
    /// Form of the file.
    pub found: u64,
    /// The newest form that this program knows.
    pub known: u64,
}

/// An error if `object`, all of the file at `path` or a line of it, has a form beyond `known`. What is no object is not judged here.
pub fn check_form(path: &Path, object: &[u8], known: u64) -> Result<(), NewerFormError> {
    #[derive(Deserialize)]
    struct FormField {
        schema_version: Option<u64>,
    }
    // Most lines of a log do not name one, and need not be read twice.
    if !str::from_utf8(object).is_ok_and(|text| text.contains(FIELD)) {
        return Ok(());
    }
    match serde_json::from_slice(object) {
        Ok(FormField { schema_version: Some(found) }) if found > known => {
            Err(NewerFormError { path: path.to_owned(), found, known })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_beyond_what_is_known_is_newer() {
        let path = Path::new("/f");
        for text in [
            "",
            "{}",
            "[3]",
            "{\"schema_version\":2}",
            "{\"schema_version\":null}",
            "{\"schema_version\":\"9\"}",
            "{\"a\":{\"schema_version\":9}}",
            "{\"a\":\"\\\"schema_version\\\":9\"}",
            "{\"schema_version\":9",
        ] {
            assert_eq!(check_form(path, text.as_bytes(), 2), Ok(()), "{text}");
        }
        let newer = check_form(path, b"{\"a\":[1], \"schema_version\" : 3}", 2).unwrap_err();
        assert_eq!(newer, NewerFormError { path: path.to_owned(), found: 3, known: 2 });
        assert!(newer.to_string().starts_with("/f was written by a newer amplihack (form 3;"));
    }
}
