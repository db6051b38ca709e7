//! What was changed, written down before each change: the original of every file, and what of ours is in it.

use std::path::{Path, PathBuf};

use amplihack_hooks::settings::Mark;
use amplihack_utils::agent_binary::AgentBinary;
use amplihack_utils::form;
use amplihack_utils::hex::hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::disk::{Disk, missing, read};
use super::{InstallError, Scope};

/// One part of a file that is ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// For which agent, by its name.
    pub(crate) agent: String,
    /// For whom.
    pub(crate) scope: Scope,
    /// What takes it out.
    pub(crate) mark: Mark,
    /// What another version wrote beside it.
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The file.
    pub(crate) path: PathBuf,
    /// The name of its original among the backups; `None` if there was no file.
    pub(crate) original: Option<String>,
    /// The original's permissions.
    pub(crate) mode: u32,
    /// Hashes of everything that the file was made into. Any other contents are somebody's edit.
    pub(crate) made: Vec<String>,
    /// What of it is ours.
    pub(crate) parts: Vec<Part>,
    /// Where the user's own file is kept that stood here; it comes back whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) beside: Option<PathBuf>,
    /// What another version wrote beside it.
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// Directories that were made for the journal itself.
    own: Vec<PathBuf>,
    /// Directories that were made for files.
    directories: Vec<PathBuf>,
    files: Vec<Record>,
    /// What another version wrote beside it.
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// The form of the journal that this version writes and knows.
const FORM: u64 = 1;

/// The journal in `$AMPLIHACK_HOME/install`.
pub(crate) struct Journal<'a> {
    disk: &'a Disk,
    directory: PathBuf,
    state: State,
}

/// The hash of a file's contents.
pub(crate) fn hash(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes))
}

impl<'a> Journal<'a> {
    /// Reads the journal in `directory`, for which the directories `made` were made just now.
    pub(crate) fn open(disk: &'a Disk, directory: PathBuf, made: Vec<PathBuf>) -> Result<Self, InstallError> {
        let path = directory.join("journal.json");
        let mut state = match read(&path)? {
            Some((bytes, _)) => {
                form::check(&path, &bytes, FORM)?;
                serde_json::from_slice(&bytes)
                    .map_err(|error| InstallError::Journal { path, why: error.to_string() })?
            }
            None => State::default(),
        };
        state.own.extend(made);
        Ok(Self { disk, directory, state })
    }

    /// The record of a file.
    pub(crate) fn get(&self, path: &Path) -> Option<&Record> {
        self.state.files.iter().find(|record| record.path == path)
    }

    /// All records.
    pub(crate) fn records(&self) -> &[Record] {
        &self.state.files
    }

    /// The original of a recorded file.
    pub(crate) fn original(&self, record: &Record) -> Result<Option<Vec<u8>>, InstallError> {
        let Some(name) = &record.original else { return Ok(None) };
        let path = self.directory.join("originals").join(name);
        match read(&path)? {
            Some((bytes, _)) => Ok(Some(bytes)),
            None => Err(InstallError::Journal { path, why: "the original is gone".to_owned() }),
        }
    }

    /// Keeps the original of a file and returns its name.
    pub(crate) fn keep(&self, bytes: &[u8]) -> Result<String, InstallError> {
        let directory = self.directory.join("originals");
        self.disk.make_private_dir(&directory)?;
        let name = hash(bytes);
        self.disk.write(&directory.join(&name), bytes, 0o600)?;
        Ok(name)
    }

    /// Writes a record down, in place of an older one of the same file, and the directories that will be made for it.
    pub(crate) fn put(&mut self, record: Record) -> Result<(), InstallError> {
        self.state.directories.extend(record.path.parent().map(missing).unwrap_or_default());
        self.state.files.retain(|other| other.path != record.path);
        self.state.files.push(record);
        self.save()
    }

    /// Forgets a file, and takes away the directories that were made and that nothing is in.
    pub(crate) fn forget(&mut self, path: &Path) -> Result<(), InstallError> {
        let mut directories = std::mem::take(&mut self.state.directories);
        directories.sort_by_key(|directory| std::cmp::Reverse(directory.components().count()));
        directories.dedup();
        for directory in directories.iter().filter(|directory| directory.is_dir()) {
            self.disk.remove_empty(directory)?;
        }
        directories.retain(|directory| directory.is_dir());
        self.state.directories = directories;
        self.state.files.retain(|record| record.path != path);
        self.save()?;
        self.clean()
    }

    /// Removes originals that no record names, and the journal itself when it is empty.
    pub(crate) fn clean(&self) -> Result<(), InstallError> {
        let originals = self.directory.join("originals");
        let named = |name: &std::ffi::OsStr| {
            self.state.files.iter().any(|record| record.original.as_deref().is_some_and(|kept| name == kept))
        };
        for entry in std::fs::read_dir(&originals).into_iter().flatten().flatten() {
            if !named(&entry.file_name()) {
                self.disk.remove(&entry.path())?;
            }
        }
        if !self.state.files.is_empty() || !self.directory.exists() {
            return Ok(());
        }
        self.disk.remove_empty(&originals)?;
        self.disk.remove(&self.directory.join("journal.json"))?;
        self.disk.remove(&self.directory.join("lock"))?;
        self.disk.remove_empty(&self.directory)?;
        for directory in self.state.own.iter().rev() {
            self.disk.remove_empty(directory)?;
        }
        Ok(())
    }

    fn save(&self) -> Result<(), InstallError> {
        let path = self.directory.join("journal.json");
        let bytes = serde_json::to_vec_pretty(&self.state)
            .map_err(|error| InstallError::Journal { path: path.clone(), why: error.to_string() })?;
        self.disk.write(&path, &bytes, 0o600)
    }
}

impl Part {
    pub(crate) fn is_of(&self, agent: AgentBinary, scope: &Scope) -> bool {
        self.agent == agent.name() && self.scope == *scope
    }
}
