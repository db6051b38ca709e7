//! What the command line gives a recipe: names with values, from arguments and from a file.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use amplihack_utils::env::Env;
use amplihack_utils::fs::{Durability, read_regular, write_atomic_with};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::bridge::spill::read_back;
use crate::context::Context;
use crate::value::{Kind, Value};

/// The largest file of values.
const LARGEST: u64 = 256 << 20;

/// What is given. It is kept with a run, so that a resume gives the same.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// Names and the texts of their values, in order; a later one counts.
    #[serde(default)]
    pub set: Vec<(String, String)>,
    /// Names and values of a file. In JSON each value is a text with its JSON, so that no reader changes a number.
    #[serde(default, with = "exact")]
    pub context: Context,
}

/// As much of what is given as a line of the journal holds, in bytes.
const INLINE: usize = 64 << 10;
/// The file of what is longer, in a run's directory.
const FILE: &str = "given.json";

/// The form of that file: values are JSON, so that they are written and read without a copy.
#[derive(Deserialize)]
struct Kept<'a> {
    set: Vec<(String, String)>,
    #[serde(borrow)]
    context: BTreeMap<String, &'a RawValue>,
}

/// The same for writing.
#[derive(Serialize)]
struct ToKeep<'a> {
    set: &'a [(String, String)],
    context: &'a Context,
}

impl Kept<'_> {
    fn given(self) -> Given {
        Given { set: self.set, context: values(self.context) }
    }
}

fn values(entries: BTreeMap<String, &RawValue>) -> Context {
    entries.into_iter().map(|(name, raw)| (name, Value::from_raw(raw))).collect()
}

mod exact {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::{Context, Value};

    pub(super) fn serialize<S: Serializer>(context: &Context, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(context.iter().map(|(name, value)| (name, value.json_text())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Context, D::Error> {
        let entries = Vec::<(String, String)>::deserialize(deserializer)?;
        let value = |json: String| Value::from_json(&json).unwrap_or_else(|| Value::string(json));
        Ok(entries.into_iter().map(|(name, json)| (name, value(json))).collect())
    }
}

/// Why what is given cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GivenError {
    /// An argument that names nothing.
    #[error("`{0}` gives no name a value; write it as NAME=VALUE")]
    Malformed(String),
    /// A file that cannot be read.
    #[error("the context file {} cannot be read: {source}; it is a JSON object of at most 256 MB", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file that is no JSON object.
    #[error("the context file {} is no JSON object: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl Given {
    /// Reads arguments `NAME=VALUE` and perhaps a file. Values that callers spilled to files of their own are read back.
    pub fn read(arguments: &[String], file: Option<&Path>, env: &Env) -> Result<Self, GivenError> {
        let mut given = Self::default();
        for argument in arguments {
            let (name, value) = argument
                .split_once('=')
                .filter(|(name, _)| !name.trim().is_empty())
                .ok_or_else(|| GivenError::Malformed(argument.clone()))?;
            let value = spilled(value, env).unwrap_or_else(|| value.to_owned());
            given.set.push((name.trim().to_owned(), value));
        }
        if let Some(path) = file {
            let failed = |source| GivenError::File { path: path.to_owned(), source };
            let bytes = read_regular(path, LARGEST).map_err(failed)?;
            let failed = |source| GivenError::Json { path: path.to_owned(), source };
            given.context = values(serde_json::from_slice(&bytes).map_err(failed)?);
        }
        Ok(given)
    }

    /// The names.
    pub fn names(&self) -> Vec<String> {
        let set = self.set.iter().map(|(name, _)| name.as_str());
        set.chain(self.context.iter().map(|(name, _)| name)).map(str::to_owned).collect()
    }

    /// Each name with its value as text, as an argument holds it.
    pub fn texts(&self) -> Vec<(String, String)> {
        let of_file = self.context.iter().map(|(name, value)| {
            let text = match value.kind() {
                Kind::String(text) => text.to_owned(),
                _ => value.json_text().into_owned(),
            };
            (name.to_owned(), text)
        });
        of_file.chain(self.set.iter().cloned()).collect()
    }

    /// A recipe's own values with these in their place; arguments count for more than the file.
    pub fn over(&self, own: &Context, env: &Env) -> Context {
        let mut context = own.clone();
        for (name, value) in self.context.iter() {
            let back = Some(value.text())
                .filter(|text| text.starts_with("file://"))
                .and_then(|text| spilled(text, env));
            context.set(name, back.map_or_else(|| value.clone(), Value::string));
        }
        for (name, text) in &self.set {
            context.set_path(name, Value::argument(text));
        }
        context
    }
}

impl Given {
    /// What a line of the journal is to hold of it: all, or nothing if it is long and was written to a file of `directory`.
    pub(crate) fn keep(self, directory: &Path) -> io::Result<Option<Self>> {
        let set: usize = self.set.iter().map(|(name, text)| name.len() + text.len()).sum();
        let context: usize = self.context.iter().map(|(name, value)| name.len() + value.len()).sum();
        if set + context <= INLINE {
            return Ok(Some(self));
        }
        let kept = ToKeep { set: &self.set, context: &self.context };
        write_atomic_with(&directory.join(FILE), 0o600, Durability::Process, |file| {
            let mut file = BufWriter::new(file);
            serde_json::to_writer(&mut file, &kept)?;
            file.flush()
        })?;
        Ok(None)
    }

    /// Reads back what is in a file of `directory`.
    pub(crate) fn kept(directory: &Path) -> Result<Self, GivenError> {
        let path = directory.join(FILE);
        let failed = |source| GivenError::File { path: path.clone(), source };
        let bytes = read_regular(&path, 2 * LARGEST).map_err(failed)?;
        let kept: Kept<'_> = serde_json::from_slice(&bytes)
            .map_err(|source| GivenError::Json { path: path.clone(), source })?;
        Ok(kept.given())
    }
}

fn spilled(value: &str, env: &Env) -> Option<String> {
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
        let given = Given::read(&arguments, Some(&file), &Env::empty()).unwrap();
        let mut own = Context::new();
        own.set("a", Value::string("own"));
        own.set("kept", Value::string("kept"));
        let context = given.over(&own, &Env::empty());
        let json = serde_json::to_string(&context).unwrap();
        assert_eq!(json, r#"{"a":"last","e":"","kept":"kept","n":1.50,"o":{"k":[1]},"x":"a=b"}"#);
        assert_eq!(serde_json::from_str::<Given>(&serde_json::to_string(&given).unwrap()).unwrap(), given);
        for bad in ["novalue", "=x", " =x"] {
            assert!(matches!(
                Given::read(&[bad.to_owned()], None, &Env::empty()),
                Err(GivenError::Malformed(_))
            ));
        }
        std::fs::write(&file, "[]").unwrap();
        assert!(matches!(Given::read(&[], Some(&file), &Env::empty()), Err(GivenError::Json { .. })));
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
            let given = Given::read(&["a=1".to_owned()], Some(&file), &Env::empty()).unwrap();
            let kept = given.clone().keep(dir.path()).unwrap();
            assert_eq!(kept.is_some(), inline);
            let back = match kept {
                Some(kept) => {
                    // As the journal reads it back, through values of JSON that know no long numbers.
                    let value = serde_json::to_value(&kept).unwrap();
                    serde_json::from_value(value).unwrap()
                }
                None => Given::kept(dir.path()).unwrap(),
            };
            assert_eq!(back, given);
            let json =
                |given: &Given| serde_json::to_string(&given.over(&Context::new(), &Env::empty())).unwrap();
            assert_eq!(json(&back), json(&given));
        }
        let long = Given::read(&[format!("a={large}")], None, &Env::empty()).unwrap();
        assert_eq!(long.clone().keep(dir.path()).unwrap(), None);
        assert_eq!(Given::kept(dir.path()).unwrap(), long);
        std::fs::write(dir.path().join(FILE), "{").unwrap();
        assert!(matches!(Given::kept(dir.path()), Err(GivenError::Json { .. })));
    }

    #[test]
    fn values_that_a_caller_spilled_are_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with("TMPDIR", dir.path());
        let long = "x".repeat(40_000);
        let spilled =
            crate::bridge::spill::write(&[("v".to_owned(), long.clone())], dir.path(), 1 << 20).unwrap();
        let argument = format!("v={}", spilled.pairs()[0].1);
        assert!(argument.starts_with("v=file://"), "{argument}");
        let given = Given::read(&[argument, "w=file:///etc/passwd".to_owned()], None, &env).unwrap();
        assert_eq!(
            given.texts(),
            [("v".to_owned(), long), ("w".to_owned(), "file:///etc/passwd".to_owned())]
        );
    }
}
