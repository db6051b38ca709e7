//! What the command line gives a recipe: names with values, from arguments and from a file.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use amplihack_utils::env::Env;
use amplihack_utils::fs::read_regular;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::context::Context;
use crate::value::Value;

/// The largest file of values.
const LARGEST: u64 = 256 << 20;
/// How the directory of values is called that were too long for an argument.
const SPILLED: &str = "recipe-context-";

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

/// The value in a file that a caller wrote it to since it was too long: a private file of this user in a private directory
/// `recipe-context-…` directly below the directory of temporary files. Any other `file://` value is plain text.
pub fn spilled(value: &str, env: &Env) -> Option<String> {
    let path = Path::new(value.strip_prefix("file://")?);
    let temporary =
        env.path("TMPDIR").filter(|path| path.is_absolute()).unwrap_or_else(|| PathBuf::from("/tmp"));
    let directory = path.parent()?;
    let name = directory.file_name()?.to_str()?;
    if !name.starts_with(SPILLED) || directory.parent()? != temporary {
        return None;
    }
    let own = rustix::process::getuid().as_raw();
    let private = |path: &Path, mode: u32| {
        // Of the file itself: a link leads elsewhere.
        std::fs::symlink_metadata(path).is_ok_and(|found| found.uid() == own && found.mode() & 0o7777 == mode)
    };
    if !private(directory, 0o700) || !private(path, 0o600) {
        return None;
    }
    String::from_utf8(read_regular(path, LARGEST).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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
    fn only_private_files_of_a_caller_are_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::empty().with("TMPDIR", dir.path());
        let folder = dir.path().join("recipe-context-1");
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("v");
        std::fs::write(&file, "long").unwrap();
        let mode =
            |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        let uri = format!("file://{}", file.display());
        for (of_folder, of_file, expected) in
            [(0o700, 0o600, Some("long")), (0o755, 0o600, None), (0o700, 0o644, None)]
        {
            mode(&folder, of_folder);
            mode(&file, of_file);
            assert_eq!(spilled(&uri, &env).as_deref(), expected);
        }
        mode(&file, 0o600);
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
        assert_eq!(spilled(&uri, &env), None);
        assert_eq!(spilled("file:///etc/passwd", &env), None);
        assert_eq!(spilled("plain", &env), None);
    }
}
