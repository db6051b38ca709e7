//! Carrying changes out and taking them back, one file at a time, the journal before the file.

use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_hooks::event::HookEvent;
use amplihack_hooks::registration::registered_name;
use amplihack_hooks::settings::{SettingsEdit, SettingsUndo};
use amplihack_launcher::installed::{RegistrationError, decode_text, read_file};
use serde_json::Map;

use super::disk::InstallDisk;
use super::journal::{InstallJournal, InstallRecord, InstalledPart, content_hash};
use super::plan::{ForeignFileRule, InstallChange, is_present, is_theirs, script_beside};
use super::{FileOutcome, InstallError, InstallScope};

/// Applies the changes of an installation, and takes them back.
pub(super) struct ChangeApplier<'a, 'j> {
    pub(super) disk: &'a InstallDisk,
    pub(super) journal: &'a mut InstallJournal<'j>,
    pub(super) scope: &'a InstallScope,
}

/// A file as it is.
struct CurrentFile {
    text: Option<String>,
    mode: u32,
}

fn current_file(path: &Path) -> Result<CurrentFile, InstallError> {
    Ok(match read_file(path)? {
        Some((bytes, mode)) => CurrentFile { text: Some(decode_text(path, bytes)?), mode },
        None => CurrentFile { text: None, mode: 0o600 },
    })
}

fn edit_error(path: &Path) -> impl Fn(amplihack_hooks::settings::EditError) -> RegistrationError {
    move |why| RegistrationError::Edit { path: path.to_owned(), why }
}

impl ChangeApplier<'_, '_> {
    /// Checks that `change` can be made; changes nothing.
    pub(super) fn check_change(&self, change: &InstallChange) -> Result<(), InstallError> {
        if change.foreign == ForeignFileRule::Beside && is_theirs(&change.path)? {
            let beside = script_beside(&change.path);
            // Two scripts for one place: which of them runs is the user's to say.
            return if is_present(&beside) { Err(InstallError::Foreign { path: beside }) } else { Ok(()) };
        }
        let now = current_file(&change.path)?;
        if self.is_foreign(change, &now) && change.foreign == ForeignFileRule::Refuse {
            return Err(InstallError::Foreign { path: change.path.clone() });
        }
        Ok(change.edit.apply_to(now.text.as_deref()).map(drop).map_err(edit_error(&change.path))?)
    }

    /// Reports whether a file of somebody's stands where one that is ours whole should be.
    fn is_foreign(&self, change: &InstallChange, now: &CurrentFile) -> bool {
        let Some(text) = &now.text else { return false };
        let ours = self
            .journal
            .get(&change.path)
            .is_some_and(|record| record.parts.iter().any(|part| part.mark == SettingsUndo::Whole));
        let by_name = match change.foreign {
            ForeignFileRule::Refuse => text.contains("amplihack"),
            // Files that are not ours were told apart before.
            ForeignFileRule::Beside => true,
            ForeignFileRule::Skip => false,
        };
        matches!(change.edit, SettingsEdit::Whole { .. }) && !ours && !by_name
    }

    /// Makes `change` for `agent`.
    pub(super) fn put_change(
        &mut self,
        agent: AgentBinary,
        change: &InstallChange,
    ) -> Result<FileOutcome, InstallError> {
        let path = &change.path;
        if change.foreign == ForeignFileRule::Beside && is_theirs(path)? {
            return self.put_before(agent, change);
        }
        let refused = edit_error(path);
        let now = current_file(path)?;
        if self.is_foreign(change, &now) {
            return Ok(FileOutcome::Kept);
        }
        let record = self.journal.get(path).cloned();
        let mut part = InstalledPart {
            agent: agent.name().to_owned(),
            scope: self.scope.clone(),
            mark: change.edit.undo_record(),
            other: Map::new(),
        };
        let before = record.as_ref().and_then(|record| {
            record.parts.iter().find(|before| before.is_of(agent, self.scope) && before.same_kind(&part))
        });
        part.other = before.map(|before| before.other.clone()).unwrap_or_default();
        // Entries of earlier installations that are not wanted now come out first.
        let base = match (before, &now.text) {
            (Some(before), Some(text)) if before.mark != part.mark => {
                before.mark.strip_from(text).map_err(&refused)?
            }
            _ => now.text.clone(),
        };
        let wanted = change.edit.apply_to(base.as_deref()).map_err(&refused)?;
        if now.text.as_deref() == Some(&wanted)
            && record.as_ref().is_some_and(|record| record.parts.contains(&part))
        {
            return Ok(FileOutcome::Unchanged);
        }
        let mut record = self.file_record(record, change, &now, &part)?;
        record.made.push(content_hash(wanted.as_bytes()));
        record.parts.retain(|other| !(other.is_of(agent, self.scope) && other.same_kind(&part)));
        let unchanged = now.text.as_deref() == Some(&wanted);
        let keeps = now.text.is_some() && part.mark != SettingsUndo::Whole;
        let mode = if keeps { now.mode } else { change.mode };
        record.parts.push(part);
        self.journal.put_record(record)?;
        if unchanged {
            return Ok(FileOutcome::Unchanged);
        }
        if let Some(directory) = path.parent() {
            self.disk.make_dir(directory)?;
        }
        self.disk.write(path, wanted.as_bytes(), mode)?;
        Ok(FileOutcome::Written)
    }

    /// Puts a wrapper where a script of the user's stands, which keeps its bytes, its permissions and, if it is one, its link.
    fn put_before(
        &mut self,
        agent: AgentBinary,
        change: &InstallChange,
    ) -> Result<FileOutcome, InstallError> {
        let path = &change.path;
        let beside = script_beside(path);
        let text = change.edit.apply_to(None).map_err(edit_error(path))?;
        let (scope, mark) = (self.scope.clone(), change.edit.undo_record());
        let part = InstalledPart { agent: agent.name().to_owned(), scope, mark, other: Map::new() };
        self.journal.put_record(InstallRecord {
            path: path.clone(),
            original: None,
            mode: change.mode,
            made: vec![content_hash(text.as_bytes())],
            parts: vec![part],
            beside: Some(beside.clone()),
            other: Map::new(),
        })?;
        self.disk.rename_file(path, &beside)?;
        self.disk.write(path, text.as_bytes(), change.mode)?;
        Ok(FileOutcome::Written)
    }

    /// Takes a wrapper away, and the user's script back to where it stood.
    fn put_back(&mut self, record: &InstallRecord, beside: &Path) -> Result<FileOutcome, InstallError> {
        let path = &record.path;
        let ours = match read_file(path)? {
            Some((bytes, _)) => record.made.contains(&content_hash(&bytes)),
            None => !is_present(path),
        };
        let outcome = match (ours, is_present(beside)) {
            (true, true) => self.disk.rename_file(beside, path).map(|()| FileOutcome::Restored)?,
            (true, false) => self.disk.remove(path).map(|()| FileOutcome::Removed)?,
            // It was not moved yet, or is back already, or somebody edited the wrapper.
            (false, _) => FileOutcome::Kept,
        };
        self.forget_record(record, outcome)
    }

    /// The record of the file, with its original kept. A file that was edited since gets a new original: the edited one without ours.
    fn file_record(
        &self,
        record: Option<InstallRecord>,
        change: &InstallChange,
        now: &CurrentFile,
        part: &InstalledPart,
    ) -> Result<InstallRecord, InstallError> {
        let path = &change.path;
        let untouched = |record: &InstallRecord| {
            now.text.as_ref().is_some_and(|text| record.made.contains(&content_hash(text.as_bytes())))
        };
        if let Some(record) = record.as_ref().filter(|record| untouched(record)) {
            return Ok(record.clone());
        }
        let mut marks: Vec<&SettingsUndo> =
            record.iter().flat_map(|record| &record.parts).map(|part| &part.mark).collect();
        marks.push(&part.mark);
        let mut original = now.text.clone();
        // Leftovers of an installation without a journal are no part of an original either.
        for mark in marks {
            original = match original {
                Some(text) => mark.strip_from(&text).map_err(edit_error(path))?,
                None => None,
            };
        }
        Ok(InstallRecord {
            path: path.clone(),
            original: original.map(|text| self.journal.keep_original(text.as_bytes())).transpose()?,
            mode: now.mode,
            made: Vec::new(),
            beside: record.as_ref().and_then(|record| record.beside.clone()),
            other: record.as_ref().map(|record| record.other.clone()).unwrap_or_default(),
            parts: record.map(|record| record.parts).unwrap_or_default(),
        })
    }

    /// Takes everything of `agent` out of every file that the journal knows, the last change first.
    pub(super) fn take_back(
        &mut self,
        agent: AgentBinary,
    ) -> Result<Vec<(PathBuf, FileOutcome)>, InstallError> {
        let of = |record: &&InstallRecord| record.parts.iter().any(|part| part.is_of(agent, self.scope));
        let records: Vec<InstallRecord> =
            self.journal.all_records().iter().rev().filter(of).cloned().collect();
        let mut files = Vec::new();
        for record in records {
            files.push((record.path.clone(), self.take_from(agent, record)?));
        }
        files.reverse();
        Ok(files)
    }

    fn take_from(
        &mut self,
        agent: AgentBinary,
        mut record: InstallRecord,
    ) -> Result<FileOutcome, InstallError> {
        let path = record.path.clone();
        if let Some(beside) = &record.beside {
            return self.put_back(&record, beside);
        }
        let now = current_file(&path)?;
        let (ours, others): (Vec<InstalledPart>, Vec<InstalledPart>) =
            record.parts.iter().cloned().partition(|part| part.is_of(agent, self.scope));
        let untouched =
            now.text.as_ref().is_some_and(|text| record.made.contains(&content_hash(text.as_bytes())));
        if others.is_empty() && untouched {
            let original = self.journal.read_original(&record)?;
            let outcome = if original.is_some() { FileOutcome::Restored } else { FileOutcome::Removed };
            match original {
                Some(bytes) => self.disk.write(&path, &bytes, record.mode)?,
                None => self.disk.remove(&path)?,
            }
            return self.forget_record(&record, outcome);
        }
        if others.is_empty() && now.text.as_ref().map(|text| content_hash(text.as_bytes())) == record.original
        {
            return self.forget_record(&record, FileOutcome::Restored);
        }
        // Another part of the file stays, or somebody edited it, or it was never changed.
        let stays = |mark: &SettingsUndo| others.iter().any(|part| part.mark == *mark);
        let mut text = now.text.clone();
        for part in ours.iter().filter(|part| !stays(&part.mark)) {
            text = match text {
                Some(text) => part.mark.strip_from(&text).map_err(edit_error(&path))?,
                None => None,
            };
        }
        let outcome = if text == now.text { FileOutcome::Kept } else { FileOutcome::Stripped };
        if others.is_empty() {
            let outcome = self.replace_file(&path, &now, text, outcome)?;
            return self.forget_record(&record, outcome);
        }
        record.parts = others;
        record.made.extend(text.as_ref().filter(|_| untouched).map(|text| content_hash(text.as_bytes())));
        self.journal.put_record(record)?;
        self.replace_file(&path, &now, text, outcome)
    }

    fn replace_file(
        &self,
        path: &Path,
        now: &CurrentFile,
        text: Option<String>,
        outcome: FileOutcome,
    ) -> Result<FileOutcome, InstallError> {
        match text {
            text if text == now.text => Ok(outcome),
            Some(text) => self.disk.write(path, text.as_bytes(), now.mode).map(|()| outcome),
            None => self.disk.remove(path).map(|()| FileOutcome::Removed),
        }
    }

    fn forget_record(
        &mut self,
        record: &InstallRecord,
        outcome: FileOutcome,
    ) -> Result<FileOutcome, InstallError> {
        self.journal.forget_file(&record.path)?;
        Ok(outcome)
    }

    /// Takes a registration out of a file that the journal does not know.
    pub(super) fn take_unrecorded(
        &mut self,
        agent: AgentBinary,
        path: &Path,
    ) -> Result<Option<FileOutcome>, InstallError> {
        if agent == AgentBinary::Copilot || registered_name(agent, HookEvent::PreToolUse).is_none() {
            return Ok(None);
        }
        let now = current_file(path)?;
        let Some(text) = &now.text else { return Ok(None) };
        let stripped = SettingsUndo::Hooks.strip_from(text).map_err(edit_error(path))?;
        if stripped.as_ref() == Some(text) {
            return Ok(None);
        }
        self.replace_file(path, &now, stripped, FileOutcome::Stripped).map(Some)
    }
}

impl InstalledPart {
    fn same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(&self.mark) == std::mem::discriminant(&other.mark)
    }
}
