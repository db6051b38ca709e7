//! Journal of the changes, written before each of them: the original of every file, and what of ours is in it.

use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_hooks::settings::SettingsUndo;
use amplihack_launcher::installed::read_file;
use amplihack_sys::form;
use amplihack_sys::hex::to_hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::disk::{InstallDisk, missing_directories};
use super::{InstallError, InstallScope};

/// A part of a file that is ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct InstalledPart {
    /// For which agent, by its name.
    pub(crate) agent: String,
    /// For whom.
    pub(crate) scope: InstallScope,
    /// Mark by which it is taken out.
    pub(crate) mark: SettingsUndo,
    /// Fields that another version wrote beside it.
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

/// Record of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct InstallRecord {
    /// The file.
    pub(crate) path: PathBuf,
    /// The name of its original among the backups; `None` if there was no file.
    pub(crate) original: Option<String>,
    /// The original's permissions.
    pub(crate) mode: u32,
    /// Hashes of everything that the file was made into. Any other contents are somebody's edit.
    pub(crate) made: Vec<String>,
    /// Parts of it that are ours.
    pub(crate) parts: Vec<InstalledPart>,
    /// Path at which the user's own file is kept that stood here; it comes back whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) beside: Option<PathBuf>,
    /// Fields that another version wrote beside it.
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct InstallJournalState {
    /// Directories that were made for the journal itself.
    own: Vec<PathBuf>,
    /// Directories that were made for files.
    directories: Vec<PathBuf>,
    files: Vec<InstallRecord>,
    /// Fields that another version wrote beside it.
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// The form of the journal that this version writes and knows.
const FORM: u64 = 1;

/// The journal in `$AMPLIHACK_HOME/install`.
pub(crate) struct InstallJournal<'a> {
    disk: &'a InstallDisk,
    directory: PathBuf,
    state: InstallJournalState,
}

/// The hash of a file's contents.
pub(crate) fn content_hash(bytes: &[u8]) -> String {
    to_hex(Sha256::digest(bytes))
}

impl<'a> InstallJournal<'a> {
    /// Reads the journal in `directory`, for which the directories `made` were made just now.
    pub(crate) fn open(
        disk: &'a InstallDisk,
        directory: PathBuf,
        made: Vec<PathBuf>,
    ) -> Result<Self, InstallError> {
        let path = directory.join("journal.json");
        let mut state = match read_file(&path)? {
            Some((bytes, _)) => {
                form::check_form(&path, &bytes, FORM)?;
                serde_json::from_slice(&bytes)
                    .map_err(|error| InstallError::Journal { path, why: error.to_string() })?
            }
            None => InstallJournalState::default(),
        };
        state.own.extend(made);
        Ok(Self { disk, directory, state })
    }

    /// The record of a file.
    pub(crate) fn get(&self, path: &Path) -> Option<&InstallRecord> {
        self.state.files.iter().find(|record| record.path == path)
    }

    /// All records.
    pub(crate) fn all_records(&self) -> &[InstallRecord] {
        &self.state.files
    }

    /// The original of a recorded file.
    pub(crate) fn read_original(&self, record: &InstallRecord) -> Result<Option<Vec<u8>>, InstallError> {
        let Some(name) = &record.original else { return Ok(None) };
        let path = self.directory.join("originals").join(name);
        match read_file(&path)? {
            Some((bytes, _)) => Ok(Some(bytes)),
            None => Err(InstallError::Journal { path, why: "the original is gone".to_owned() }),
        }
    }

    /// Keeps the original of a file and returns its name.
    pub(crate) fn keep_original(&self, bytes: &[u8]) -> Result<String, InstallError> {
        let directory = self.directory.join("originals");
        self.disk.make_private_dir(&directory)?;
        let name = content_hash(bytes);
        self.disk.write(&directory.join(&name), bytes, 0o600)?;
        Ok(name)
    }

    /// Writes a record down, in place of an older one of the same file, and the directories that will be made for it.
    pub(crate) fn put_record(&mut self, record: InstallRecord) -> Result<(), InstallError> {
        self.state.directories.extend(record.path.parent().map(missing_directories).unwrap_or_default());
        self.state.files.retain(|other| other.path != record.path);
        self.state.files.push(record);
        self.save_state()
    }

    /// Forgets a file, and takes away the directories that were made and that nothing is in.
    pub(crate) fn forget_file(&mut self, path: &Path) -> Result<(), InstallError> {
        let mut directories = std::mem::take(&mut self.state.directories);
        directories.sort_by_key(|directory| std::cmp::Reverse(directory.components().count()));
        directories.dedup();
        for directory in directories.iter().filter(|directory| directory.is_dir()) {
            self.disk.remove_empty(directory)?;
        }
        directories.retain(|directory| directory.is_dir());
        self.state.directories = directories;
        self.state.files.retain(|record| record.path != path);
        self.save_state()?;
        self.clean_up()
    }

    /// Removes originals that no record names, and the journal itself when it is empty.
    pub(crate) fn clean_up(&self) -> Result<(), InstallError> {
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

    fn save_state(&self) -> Result<(), InstallError> {
        let path = self.directory.join("journal.json");
        let bytes = serde_json::to_vec_pretty(&self.state)
            .map_err(|error| InstallError::Journal { path: path.clone(), why: error.to_string() })?;
        self.disk.write(&path, &bytes, 0o600)
    }
}

impl InstalledPart {
    pub(crate) fn is_of(&self, agent: AgentBinary, scope: &InstallScope) -> bool {
        self.agent == agent.name() && self.scope == *scope
    }
}
