//! Calls of tools that have no result yet.

use std::collections::VecDeque;

use crate::event::{AgentFileChange, AgentToolKind, FileChangeKind, ToolCall, ToolLocation};

/// The most calls that are remembered. An agent asks for a few at once; one that never answers them costs no more memory than this.
const MOST: usize = 256;

/// Facts of a call that its result is read by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenCall {
    id: String,
    /// The tool, in the agent's own word.
    pub(crate) name: String,
    /// Kind of the tool.
    pub(crate) kind: AgentToolKind,
    /// The files that the call is about.
    pub(crate) locations: Vec<ToolLocation>,
}

impl OpenCall {
    /// The kind of the changes that the call makes to its files, as far as its own kind says it.
    pub(crate) const fn change_kind(&self) -> Option<FileChangeKind> {
        match self.kind {
            AgentToolKind::Edit => Some(FileChangeKind::Update),
            AgentToolKind::Write => Some(FileChangeKind::Write),
            AgentToolKind::Delete => Some(FileChangeKind::Delete),
            _ => None,
        }
    }

    /// A change of each of its files.
    pub(crate) fn file_changes(&self) -> impl Iterator<Item = AgentFileChange> {
        self.change_kind().into_iter().flat_map(|kind| {
            self.locations.iter().map(move |location| AgentFileChange::new(location.path.clone(), kind))
        })
    }
}

/// The calls without a result, the newest last.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls(VecDeque<OpenCall>);

impl OpenCalls {
    /// Remembers `call` until its result; of too many the oldest are forgotten.
    pub(crate) fn remember(&mut self, call: &ToolCall) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(OpenCall {
            id: call.id.clone(),
            name: call.name.clone(),
            kind: call.kind,
            locations: call.locations.clone(),
        });
    }

    /// The open call `id`.
    pub(crate) fn find(&self, id: &str) -> Option<&OpenCall> {
        self.0.iter().rev().find(|call| call.id == id)
    }

    /// The call `id`, which has its result now.
    pub(crate) fn take(&mut self, id: &str) -> Option<OpenCall> {
        let index = self.0.iter().rposition(|call| call.id == id)?;
        self.0.remove(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventJson;

    #[test]
    fn a_call_is_remembered_until_its_result_and_the_oldest_make_room() {
        let mut open = OpenCalls::default();
        for number in 0..=MOST {
            open.remember(&ToolCall::new(number.to_string(), "Bash", EventJson::default()));
        }
        assert!(open.find("0").is_none() && open.find("1").is_some());
        assert_eq!(open.take("9").map(|call| call.name).as_deref(), Some("Bash"));
        assert!(open.take("9").is_none());
        assert_eq!(open.0.len(), MOST - 1);
    }
}
