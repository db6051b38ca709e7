//! What the command line gives a recipe: names with values, from arguments and from a file.

use std::path::{Path, PathBuf};

use amplihack_utils::env::Env;
use amplihack_utils::fs::read_regular;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::bridge::spill::read_back;
use crate::context::Context;
use crate::value::Value;

/// The largest file of values.
const LARGEST: u64 = 256 << 20;

/// What is given. It is kept with a run, so that a resume gives the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// Names and the texts of their values, in order; a later one counts.
    #[serde(default)]
    pub set: Vec<(String, String)>,
    /// Names and their values as JSON.
    #[serde(default)]
    pub context: Vec<(String, String)>,
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
        source: std::io::Error,
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
            let entries: std::collections::BTreeMap<String, Box<RawValue>> =
                serde_json::from_slice(&bytes).map_err(failed)?;
            given.context = entries.into_iter().map(|(name, raw)| (name, raw.get().to_owned())).collect();
        }
        Ok(given)
    }

    /// The names.
    pub fn names(&self) -> Vec<String> {
        self.set.iter().chain(&self.context).map(|(name, _)| name.clone()).collect()
    }

    /// Each name with its value as text, as an argument holds it.
    pub fn texts(&self) -> Vec<(String, String)> {
        let of_file = self.context.iter().map(|(name, json)| {
            let text = serde_json::from_str::<String>(json).unwrap_or_else(|_| json.clone());
            (name.clone(), text)
        });
        of_file.chain(self.set.iter().cloned()).collect()
    }

    /// A recipe's own values with these in their place; arguments count for more than the file.
    pub fn over(&self, own: &Context, env: &Env) -> Context {
        let mut context = own.clone();
        for (name, json) in &self.context {
            let value = Value::from_json(json).unwrap_or_else(|| Value::string(json.as_str()));
            let back = Some(value.text())
                .filter(|text| text.starts_with("file://"))
                .and_then(|text| spilled(text, env));
            context.set(name.clone(), back.map_or(value, Value::string));
        }
        for (name, text) in &self.set {
            context.set_path(name, Value::argument(text));
        }
        context
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
