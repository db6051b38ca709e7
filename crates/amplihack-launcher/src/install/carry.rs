//! Carrying changes out and taking them back, one file at a time, the journal before the file.

use std::path::{Path, PathBuf};

use amplihack_hooks::event::HookEvent;
use amplihack_hooks::registration::told_as;
use amplihack_hooks::settings::{Edit, Mark};
use amplihack_utils::agent_binary::AgentBinary;
use serde_json::Map;

use super::disk::{Disk, read, text};
use super::journal::{Journal, Part, Record, hash};
use super::plan::{Change, Foreign, is_theirs, script_beside, there};
use super::{InstallError, Outcome, Scope};

/// What carries changes out.
pub(super) struct Carrier<'a, 'j> {
    pub(super) disk: &'a Disk,
    pub(super) journal: &'a mut Journal<'j>,
    pub(super) scope: &'a Scope,
}

/// A file as it is.
struct Current {
    text: Option<String>,
    mode: u32,
}

fn current(path: &Path) -> Result<Current, InstallError> {
    Ok(match read(path)? {
        Some((bytes, mode)) => Current { text: Some(text(path, bytes)?), mode },
        None => Current { text: None, mode: 0o600 },
    })
}

fn edit_error(path: &Path) -> impl Fn(amplihack_hooks::settings::EditError) -> InstallError {
    move |why| InstallError::Edit { path: path.to_owned(), why }
}

impl Carrier<'_, '_> {
    /// Whether `change` can be made; changes nothing.
    pub(super) fn check(&self, change: &Change) -> Result<(), InstallError> {
        if change.foreign == Foreign::Beside && is_theirs(&change.path)? {
            let beside = script_beside(&change.path);
            // Two scripts for one place: which of them runs is the user's to say.
            return if there(&beside) { Err(InstallError::Foreign { path: beside }) } else { Ok(()) };
        }
        let now = current(&change.path)?;
        if self.is_foreign(change, &now) && change.foreign == Foreign::Refuse {
            return Err(InstallError::Foreign { path: change.path.clone() });
        }
        change.edit.apply(now.text.as_deref()).map(drop).map_err(edit_error(&change.path))
    }

    /// Whether a file of somebody's stands where one that is ours whole should be.
    fn is_foreign(&self, change: &Change, now: &Current) -> bool {
        let Some(text) = &now.text else { return false };
        let ours = self
            .journal
            .get(&change.path)
            .is_some_and(|record| record.parts.iter().any(|part| part.mark == Mark::Whole));
        let by_name = match change.foreign {
            Foreign::Refuse => text.contains("amplihack"),
            // What is not ours was told apart before.
            Foreign::Beside => true,
            Foreign::Skip => false,
        };
        matches!(change.edit, Edit::Whole { .. }) && !ours && !by_name
    }

    /// Makes `change` for `agent`.
    pub(super) fn put(&mut self, agent: AgentBinary, change: &Change) -> Result<Outcome, InstallError> {
        let path = &change.path;
        if change.foreign == Foreign::Beside && is_theirs(path)? {
            return self.put_before(agent, change);
        }
        let refused = edit_error(path);
        let now = current(path)?;
        if self.is_foreign(change, &now) {
            return Ok(Outcome::Kept);
        }
        let record = self.journal.get(path).cloned();
        let mut part = Part {
            agent: agent.name().to_owned(),
            scope: self.scope.clone(),
            mark: change.edit.mark(),
            other: Map::new(),
        };
        let before = record.as_ref().and_then(|record| {
            record.parts.iter().find(|before| before.is_of(agent, self.scope) && before.same_kind(&part))
        });
        part.other = before.map(|before| before.other.clone()).unwrap_or_default();
        // What was put in before and is not wanted now comes out first.
        let base = match (before, &now.text) {
            (Some(before), Some(text)) if before.mark != part.mark => {
                before.mark.strip(text).map_err(&refused)?
            }
            _ => now.text.clone(),
        };
        let wanted = change.edit.apply(base.as_deref()).map_err(&refused)?;
        if now.text.as_deref() == Some(&wanted)
            && record.as_ref().is_some_and(|record| record.parts.contains(&part))
        {
            return Ok(Outcome::Unchanged);
        }
        let mut record = self.recorded(record, change, &now, &part)?;
        record.made.push(hash(wanted.as_bytes()));
        record.parts.retain(|other| !(other.is_of(agent, self.scope) && other.same_kind(&part)));
        let unchanged = now.text.as_deref() == Some(&wanted);
        let keeps = now.text.is_some() && part.mark != Mark::Whole;
        let mode = if keeps { now.mode } else { change.mode };
        record.parts.push(part);
        self.journal.put(record)?;
        if unchanged {
            return Ok(Outcome::Unchanged);
        }
        if let Some(directory) = path.parent() {
            self.disk.make_dir(directory)?;
        }
        self.disk.write(path, wanted.as_bytes(), mode)?;
        Ok(Outcome::Written)
    }

    /// Puts a wrapper where a script of the user's stands, which keeps its bytes, its permissions and, if it is one, its link.
    fn put_before(&mut self, agent: AgentBinary, change: &Change) -> Result<Outcome, InstallError> {
        let path = &change.path;
        let beside = script_beside(path);
        let text = change.edit.apply(None).map_err(edit_error(path))?;
        let (scope, mark) = (self.scope.clone(), change.edit.mark());
        let part = Part { agent: agent.name().to_owned(), scope, mark, other: Map::new() };
        self.journal.put(Record {
            path: path.clone(),
            original: None,
            mode: change.mode,
            made: vec![hash(text.as_bytes())],
            parts: vec![part],
            beside: Some(beside.clone()),
            other: Map::new(),
        })?;
        self.disk.rename(path, &beside)?;
        self.disk.write(path, text.as_bytes(), change.mode)?;
        Ok(Outcome::Written)
    }

    /// Takes a wrapper away, and the user's script back to where it stood.
    fn put_back(&mut self, record: &Record, beside: &Path) -> Result<Outcome, InstallError> {
        let path = &record.path;
        let ours = match read(path)? {
            Some((bytes, _)) => record.made.contains(&hash(&bytes)),
            None => !there(path),
        };
        let outcome = match (ours, there(beside)) {
            (true, true) => self.disk.rename(beside, path).map(|()| Outcome::Restored)?,
            (true, false) => self.disk.remove(path).map(|()| Outcome::Removed)?,
            // It was not moved yet, or is back already, or somebody edited the wrapper.
            (false, _) => Outcome::Kept,
        };
        self.forget(record, outcome)
    }

    /// The record of the file, with its original kept. A file that was edited since gets a new original: the edited one without ours.
    fn recorded(
        &self,
        record: Option<Record>,
        change: &Change,
        now: &Current,
        part: &Part,
    ) -> Result<Record, InstallError> {
        let path = &change.path;
        let untouched = |record: &Record| {
            now.text.as_ref().is_some_and(|text| record.made.contains(&hash(text.as_bytes())))
        };
        if let Some(record) = record.as_ref().filter(|record| untouched(record)) {
            return Ok(record.clone());
        }
        let mut marks: Vec<&Mark> =
            record.iter().flat_map(|record| &record.parts).map(|part| &part.mark).collect();
        marks.push(&part.mark);
        let mut original = now.text.clone();
        // What an installation without a journal left is no part of an original either.
        for mark in marks {
            original = match original {
                Some(text) => mark.strip(&text).map_err(edit_error(path))?,
                None => None,
            };
        }
        Ok(Record {
            path: path.clone(),
            original: original.map(|text| self.journal.keep(text.as_bytes())).transpose()?,
            mode: now.mode,
            made: Vec::new(),
            beside: record.as_ref().and_then(|record| record.beside.clone()),
            other: record.as_ref().map(|record| record.other.clone()).unwrap_or_default(),
            parts: record.map(|record| record.parts).unwrap_or_default(),
        })
    }

    /// Takes everything of `agent` out of every file that the journal knows, the last change first.
    pub(super) fn take_back(&mut self, agent: AgentBinary) -> Result<Vec<(PathBuf, Outcome)>, InstallError> {
        let of = |record: &&Record| record.parts.iter().any(|part| part.is_of(agent, self.scope));
        let records: Vec<Record> = self.journal.records().iter().rev().filter(of).cloned().collect();
        let mut files = Vec::new();
        for record in records {
            files.push((record.path.clone(), self.take_from(agent, record)?));
        }
        files.reverse();
        Ok(files)
    }

    fn take_from(&mut self, agent: AgentBinary, mut record: Record) -> Result<Outcome, InstallError> {
        let path = record.path.clone();
        if let Some(beside) = &record.beside {
            return self.put_back(&record, beside);
        }
        let now = current(&path)?;
        let (ours, others): (Vec<Part>, Vec<Part>) =
            record.parts.iter().cloned().partition(|part| part.is_of(agent, self.scope));
        let untouched = now.text.as_ref().is_some_and(|text| record.made.contains(&hash(text.as_bytes())));
        if others.is_empty() && untouched {
            let original = self.journal.original(&record)?;
            let outcome = if original.is_some() { Outcome::Restored } else { Outcome::Removed };
            match original {
                Some(bytes) => self.disk.write(&path, &bytes, record.mode)?,
                None => self.disk.remove(&path)?,
            }
            return self.forget(&record, outcome);
        }
        if others.is_empty() && now.text.as_ref().map(|text| hash(text.as_bytes())) == record.original {
            return self.forget(&record, Outcome::Restored);
        }
        // Another part of the file stays, or somebody edited it, or it was never changed.
        let stays = |mark: &Mark| others.iter().any(|part| part.mark == *mark);
        let mut text = now.text.clone();
        for part in ours.iter().filter(|part| !stays(&part.mark)) {
            text = match text {
                Some(text) => part.mark.strip(&text).map_err(edit_error(&path))?,
                None => None,
            };
        }
        let outcome = if text == now.text { Outcome::Kept } else { Outcome::Stripped };
        if others.is_empty() {
            let outcome = self.replace(&path, &now, text, outcome)?;
            return self.forget(&record, outcome);
        }
        record.parts = others;
        record.made.extend(text.as_ref().filter(|_| untouched).map(|text| hash(text.as_bytes())));
        self.journal.put(record)?;
        self.replace(&path, &now, text, outcome)
    }

    fn replace(
        &self,
        path: &Path,
        now: &Current,
        text: Option<String>,
        outcome: Outcome,
    ) -> Result<Outcome, InstallError> {
        match text {
            text if text == now.text => Ok(outcome),
            Some(text) => self.disk.write(path, text.as_bytes(), now.mode).map(|()| outcome),
            None => self.disk.remove(path).map(|()| Outcome::Removed),
        }
    }

    fn forget(&mut self, record: &Record, outcome: Outcome) -> Result<Outcome, InstallError> {
        self.journal.forget(&record.path)?;
        Ok(outcome)
    }

    /// Takes a registration out of a file that the journal does not know.
    pub(super) fn take_unrecorded(
        &mut self,
        agent: AgentBinary,
        path: &Path,
    ) -> Result<Option<Outcome>, InstallError> {
        if agent == AgentBinary::Copilot || told_as(agent, HookEvent::PreToolUse).is_none() {
            return Ok(None);
        }
        let now = current(path)?;
        let Some(text) = &now.text else { return Ok(None) };
        let stripped = Mark::Hooks.strip(text).map_err(edit_error(path))?;
        if stripped.as_ref() == Some(text) {
            return Ok(None);
        }
        self.replace(path, &now, stripped, Outcome::Stripped).map(Some)
    }
}

impl Part {
    fn same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(&self.mark) == std::mem::discriminant(&other.mark)
    }
}
