//! The inputs that the command line gives a recipe: names with values, from arguments and from a file.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_sys::fs::{WriteDurability, read_regular, write_atomic_with};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::context::RecipeContext;
use crate::spill::read_back;
use crate::value::{RecipeValue, RecipeValueKind};

/// The largest file of values.
const LARGEST: u64 = 256 << 20;

/// The inputs of a recipe's run. They are stored with the run, so that a resume has equal ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecipeInputs {
    /// Names and the texts of their values, in order; a later one counts.
    #[serde(default)]
    pub set: Vec<(String, String)>,
    /// Names and values of a file. In JSON each value is a text with its JSON, so that no reader changes a number.
    #[serde(default, with = "exact")]
    pub context: RecipeContext,
}

/// As much of what is given as a line of the journal holds, in bytes.
const INLINE: usize = 64 << 10;
/// The file of what is longer, in a run's directory.
const FILE: &str = "given.json";

/// The form of that file: values are JSON, so that they are written and read without a copy.
#[derive(Deserialize)]
struct StoredRecipeInputs<'a> {
    set: Vec<(String, String)>,
    #[serde(borrow)]
    context: BTreeMap<String, &'a RawValue>,
}

/// The form of that file for writing.
#[derive(Serialize)]
struct StoredRecipeInputsRef<'a> {
    set: &'a [(String, String)],
    context: &'a RecipeContext,
}

impl StoredRecipeInputs<'_> {
    fn into_inputs(self) -> RecipeInputs {
        RecipeInputs { set: self.set, context: context_from_raw(self.context) }
    }
}

fn context_from_raw(entries: BTreeMap<String, &RawValue>) -> RecipeContext {
    entries.into_iter().map(|(name, raw)| (name, RecipeValue::from_raw(raw))).collect()
}

mod exact {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{RecipeContext, RecipeValue};

    pub(super) fn serialize<S: Serializer>(
        context: &RecipeContext,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(context.iter().map(|(name, value)| (name, value.json_text())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RecipeContext, D::Error> {
        let entries = Vec::<(String, String)>::deserialize(deserializer)?;
        let value =
            |json: String| RecipeValue::from_json(&json).unwrap_or_else(|| RecipeValue::from_string(json));
        Ok(entries.into_iter().map(|(name, json)| (name, value(json))).collect())
    }
}

/// The reason that inputs cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeInputsError {
    /// An argument that names nothing.
    #[error("`{0}` is not NAME=VALUE")]
    Malformed(String),
    /// A file that cannot be read.
    #[error("the context file {} cannot be read: {source}; it is a JSON object of at most 256 MB", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file that is no JSON object.
    #[error("the context file {} is not a JSON object: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The fault that the JSON reader found.
        source: serde_json::Error,
    },
}

impl RecipeInputs {
    /// Reads arguments `NAME=VALUE` and perhaps a file. Values that callers spilled to files of their own are read back.
    pub fn read(arguments: &[String], file: Option<&Path>, env: &Env) -> Result<Self, RecipeInputsError> {
        let mut given = Self::default();
        for argument in arguments {
            let (name, value) = argument
                .split_once('=')
                .filter(|(name, _)| !name.trim().is_empty())
                .ok_or_else(|| RecipeInputsError::Malformed(argument.clone()))?;
            let value = read_spilled(value, env).unwrap_or_else(|| value.to_owned());
            given.set.push((name.trim().to_owned(), value));
        }
        if let Some(path) = file {
            let failed = |source| RecipeInputsError::File { path: path.to_owned(), source };
            let bytes = read_regular(path, LARGEST).map_err(failed)?;
            let failed = |source| RecipeInputsError::Json { path: path.to_owned(), source };
            // Some editors begin a file with a byte order mark.
            let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
            given.context = context_from_raw(serde_json::from_slice(text).map_err(failed)?);
        }
        Ok(given)
    }

    /// The names.
    pub fn input_names(&self) -> Vec<String> {
        let set = self.set.iter().map(|(name, _)| name.as_str());
        set.chain(self.context.iter().map(|(name, _)| name)).map(str::to_owned).collect()
    }

    /// Each name with its value as text, as an argument holds it.
    pub fn to_texts(&self) -> Vec<(String, String)> {
        let of_file = self.context.iter().map(|(name, value)| {
            let text = match value.kind() {
                RecipeValueKind::String(text) => text.to_owned(),
                _ => value.json_text().into_owned(),
            };
            (name.to_owned(), text)
        });
        of_file.chain(self.set.iter().cloned()).collect()
    }

    /// A recipe's own values with these in their place; arguments count for more than the file.
    pub fn apply_over(&self, own: &RecipeContext, env: &Env) -> RecipeContext {
        let mut context = own.clone();
        for (name, value) in self.context.iter() {
            let back = Some(value.text())
                .filter(|text| text.starts_with("file://"))
                .and_then(|text| read_spilled(text, env));
            context.set_value(name, back.map_or_else(|| value.clone(), RecipeValue::from_string));
        }
        for (name, text) in &self.set {
            context.set_path(name, RecipeValue::from_argument(text));
        }
        context
    }
}

impl RecipeInputs {
    /// Returns the inputs for a line of the journal; `None` if they are long and were written to a file of `directory`.
    pub(crate) fn store_if_long(self, directory: &Path) -> io::Result<Option<Self>> {
        let set: usize = self.set.iter().map(|(name, text)| name.len() + text.len()).sum();
        let context: usize = self.context.iter().map(|(name, value)| name.len() + value.len()).sum();
        if set + context <= INLINE {
            return Ok(Some(self));
        }
        let kept = StoredRecipeInputsRef { set: &self.set, context: &self.context };
        write_atomic_with(&directory.join(FILE), 0o600, WriteDurability::Process, |file| {
            let mut file = BufWriter::new(file);
            serde_json::to_writer(&mut file, &kept)?;
            file.flush()
        })?;
        Ok(None)
    }

    /// Reads back what is in a file of `directory`.
    pub(crate) fn load_from(directory: &Path) -> Result<Self, RecipeInputsError> {
        let path = directory.join(FILE);
        let failed = |source| RecipeInputsError::File { path: path.clone(), source };
        let bytes = read_regular(&path, 2 * LARGEST).map_err(failed)?;
        let kept: StoredRecipeInputs<'_> = serde_json::from_slice(&bytes)
            .map_err(|source| RecipeInputsError::Json { path: path.clone(), source })?;
        Ok(kept.into_inputs())
    }
}

fn read_spilled(value: &str, env: &Env) -> Option<String> {
    read_back(value, &env.temporary_dir())
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn arguments_win_over_the_file_and_the_file_over_the_recipe() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.json");
        std::fs::write(&file, r#"{"a": "from file", "n": 1.50, "o": {"k": [1]}}"#).unwrap();
        let arguments = ["a=argument", "a=last", "e=", "x=a=b"].map(str::to_owned);
        let given = RecipeInputs::read(&arguments, Some(&file), &Env::empty()).unwrap();
        let mut own = RecipeContext::new();
        own.set_value("a", RecipeValue::from_string("own"));
        own.set_value("kept", RecipeValue::from_string("kept"));
        let context = given.apply_over(&own, &Env::empty());
        let json = serde_json::to_string(&context).unwrap();
        assert_eq!(json, r#"{"a":"last","e":"","kept":"kept","n":1.50,"o":{"k":[1]},"x":"a=b"}"#);
        assert_eq!(
            serde_json::from_str::<RecipeInputs>(&serde_json::to_string(&given).unwrap()).unwrap(),
            given
        );
        for bad in ["novalue", "=x", " =x"] {
            assert!(matches!(
                RecipeInputs::read(&[bad.to_owned()], None, &Env::empty()),
                Err(RecipeInputsError::Malformed(_))
            ));
        }
        std::fs::write(&file, "[]").unwrap();
        assert!(matches!(
            RecipeInputs::read(&[], Some(&file), &Env::empty()),
            Err(RecipeInputsError::Json { .. })
        ));
    }

    #[test]
    fn what_is_long_is_kept_in_a_file_and_comes_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.json");
        let large = "x".repeat(100_000);
        for (json, inline) in [
            (
                r#"{"n": 1.50, "id": 12345678901234567890123, "s": "a\n\u0000", "bad": "\ud800", "o": {"k":1e3}}"#,
                true,
            ),
            (&format!(r#"{{"n": 1.50, "l": "{large}", "o": {{"z": 1.10, "a": [0.0]}}}}"#), false),
        ] {
            std::fs::write(&file, json).unwrap();
            let given = RecipeInputs::read(&["a=1".to_owned()], Some(&file), &Env::empty()).unwrap();
            let kept = given.clone().store_if_long(dir.path()).unwrap();
            assert_eq!(kept.is_some(), inline);
            let back = match kept {
                Some(kept) => {
                    // As the journal reads it back, through values of JSON that know no long numbers.
                    let value = serde_json::to_value(&kept).unwrap();
                    serde_json::from_value(value).unwrap()
                }
                None => RecipeInputs::load_from(dir.path()).unwrap(),
            };
            assert_eq!(back, given);
            let json = |given: &RecipeInputs| {
                serde_json::to_string(&given.apply_over(&RecipeContext::new(), &Env::empty())).unwrap()
            };
            assert_eq!(json(&back), json(&given));
        }
        let long = RecipeInputs::read(&[format!("a={large}")], None, &Env::empty()).unwrap();
        assert_eq!(long.clone().store_if_long(dir.path()).unwrap(), None);
        assert_eq!(RecipeInputs::load_from(dir.path()).unwrap(), long);
        std::fs::write(dir.path().join(FILE), "{").unwrap();
        assert!(matches!(RecipeInputs::load_from(dir.path()), Err(RecipeInputsError::Json { .. })));
    }

    #[test]
    fn values_that_a_caller_spilled_are_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with_variable("TMPDIR", dir.path());
        let long = "x".repeat(40_000);
        let spilled =
            crate::spill::spill_context(&[("v".to_owned(), long.clone())], dir.path(), 1 << 20).unwrap();
        let argument = format!("v={}", spilled.pairs()[0].1);
        assert!(argument.starts_with("v=file://"), "{argument}");
        let given = RecipeInputs::read(&[argument, "w=file:///etc/passwd".to_owned()], None, &env).unwrap();
        assert_eq!(
            given.to_texts(),
            [("v".to_owned(), long), ("w".to_owned(), "file:///etc/passwd".to_owned())]
        );
    }
}
