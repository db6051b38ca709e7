//! The version cache: an agent is asked once for each state of its program file.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use amplihack_config::env::Env;
use amplihack_sys::form;
use amplihack_sys::fs::{WriteDurability, create_private_dir, read_limited, write_atomic};
use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

const FILE: &str = "versions.json";
const MAX_BYTES: u64 = 256 * 1024;
/// The form of the file that this version writes and knows.
const FORM: u64 = 1;

/// State of a program file when its version was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KnownVersion {
    size: u64,
    mtime_ns: i128,
    /// `None`: it was asked, and tells none that can be read.
    version: Option<String>,
}

/// Versions by program path. A damaged or missing file is an empty cache: the agents can be asked again. What another version wrote
/// into it stays there.
#[derive(Debug, Default)]
pub(crate) struct VersionCache {
    file: Option<PathBuf>,
    known: Map<String, Value>,
}

impl VersionCache {
    /// The cache below amplihack's home.
    pub(crate) fn open(env: &Env) -> Self {
        let Some(file) = env.amplihack_home().map(|home| home.join(FILE)) else { return Self::default() };
        read_entries(&file).map_or_else(Self::default, |known| Self { file: Some(file), known })
    }

    /// The answer of the program at `path`, if it was asked and its file is still what it was. The answer may be that it
    /// tells no version.
    #[expect(clippy::option_option, reason = "not asked, and asked without an answer, are two things")]
    pub(crate) fn get(&self, path: &Path) -> Option<Option<Version>> {
        let known = KnownVersion::deserialize(self.known.get(&*cache_key(path))?).ok()?;
        if file_state(path)? != (known.size, known.mtime_ns) {
            return None;
        }
        known.version.as_deref().map(Version::parse).transpose().ok()
    }

    /// Remembers an answer, beside what other threads of this process have remembered meanwhile. Two processes that write at once lose one
    /// entry, and ask once more.
    pub(crate) fn put_version(&mut self, path: &Path, version: Option<&Version>) {
        static WRITING: Mutex<()> = Mutex::new(());
        let (Some(file), Some((size, mtime_ns))) = (&self.file, file_state(path)) else {
            return;
        };
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = read_entries(file) else { return };
        self.known = known;
        let known = KnownVersion { size, mtime_ns, version: version.map(Version::to_string) };
        let value = serde_json::to_value(known);
        let entry = value.map(|value| self.known.insert(cache_key(path).into_owned(), value));
        let text = entry.and_then(|_| serde_json::to_vec(&self.known));
        let written = text.map_err(std::io::Error::from).and_then(|text| {
            create_private_dir(file.parent().unwrap_or(Path::new("/")))?;
            write_atomic(file, &text, 0o600, WriteDurability::Process)
        });
        if let Err(error) = written {
            tracing::debug!(%error, "the version cache cannot be written");
        }
    }
}

/// The entries of the file; `None` if it is in a form of a newer version.
fn read_entries(file: &Path) -> Option<Map<String, Value>> {
    let bytes = read_limited(file, MAX_BYTES).unwrap_or_default();
    form::check_form(file, &bytes, FORM).ok()?;
    Some(serde_json::from_slice(&bytes).unwrap_or_default())
}

/// The name of `path` in the cache; bytes that are not UTF-8 are written as `\xff`.
fn cache_key(path: &Path) -> Cow<'_, str> {
    match path.to_str() {
        Some(text) => text.into(),
        None => path.as_os_str().as_bytes().escape_ascii().to_string().into(),
    }
}

/// Size and time of change of the file that `path` leads to.
fn file_state(path: &Path) -> Option<(u64, i128)> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.size(), i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_holds_until_the_program_changes() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("claude");
        std::fs::write(&program, "one").unwrap();
        let env = Env::empty().with_variable("AMPLIHACK_HOME", dir.path().join("home"));
        let version = Version::new(2, 1, 332);
        let mut cache = VersionCache::open(&env);
        assert_eq!(cache.get(&program), None);
        cache.put_version(&program, Some(&version));
        assert_eq!(VersionCache::open(&env).get(&program), Some(Some(version)));
        std::fs::write(&program, "longer").unwrap();
        assert_eq!(VersionCache::open(&env).get(&program), None);
    }

    #[test]
    fn a_damaged_cache_is_empty_and_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("claude");
        std::fs::write(&program, "one").unwrap();
        std::fs::write(dir.path().join(FILE), "{\"torn").unwrap();
        let env = Env::empty().with_variable("AMPLIHACK_HOME", dir.path());
        let mut cache = VersionCache::open(&env);
        cache.put_version(&program, None);
        assert_eq!(VersionCache::open(&env).get(&program), Some(None));
    }

    #[test]
    fn what_a_newer_version_wrote_stays() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("claude");
        std::fs::write(&program, "one").unwrap();
        let file = dir.path().join(FILE);
        let env = Env::empty().with_variable("AMPLIHACK_HOME", dir.path());
        let newer = r#"{"/x":{"later":1},"/y":{"size":1,"mtime_ns":2,"version":"1.0.0","later":[2]}}"#;
        std::fs::write(&file, newer).unwrap();
        let mut cache = VersionCache::open(&env);
        assert_eq!(cache.get(Path::new("/x")), None);
        cache.put_version(&program, None);
        let mut text: Map<String, Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        text.remove(&*cache_key(&program)).unwrap();
        assert_eq!(Value::from(text), serde_json::from_str::<Value>(newer).unwrap());
        // In a form of its own nothing is read and nothing is written.
        let newer = r#"{"schema_version":2,"programs":{}}"#;
        std::fs::write(&file, newer).unwrap();
        VersionCache::open(&env).put_version(&program, None);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), newer);
    }
}
