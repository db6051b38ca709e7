//! The records that an agent keeps of its session, where no stream shows its calls.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use amplihack_agent::transcript::{has_transcript, transcript_line};
use amplihack_agent::{AgentBinary, AgentEvent};
use jiff::Timestamp;

use crate::live::FileTail;

/// The most records of one launch that are read.
const MOST: usize = 64;

/// The records of one launch.
#[derive(Debug)]
pub(super) struct AgentTranscripts {
    agent: AgentBinary,
    /// Start of the launch: what was written before is that of an earlier one.
    since: Timestamp,
    files: BTreeMap<PathBuf, FileTail>,
}

impl AgentTranscripts {
    /// The records of a launch of `agent` that begins now; `None` where its calls are seen elsewhere, or nowhere.
    pub(super) fn for_launch(agent: AgentBinary, is_streamed: bool) -> Option<Self> {
        let is_wanted = !is_streamed && has_transcript(agent);
        is_wanted.then(|| Self { agent, since: Timestamp::now(), files: BTreeMap::new() })
    }

    /// Reads `file` too, which a hook named.
    pub(super) fn follow_file(&mut self, file: &Path) {
        if self.files.len() < MOST && !self.files.contains_key(file) {
            self.files.insert(file.to_owned(), FileTail::default());
        }
    }

    /// The calls and results that were written since the last time.
    pub(super) fn read(&mut self) -> Vec<AgentEvent> {
        let Self { agent, since, files } = self;
        let lines = files.iter_mut().flat_map(|(file, tail)| tail.new_lines(file));
        let read = lines.filter_map(|line| transcript_line(*agent, &line));
        read.filter(|line| line.at.is_none_or(|at| at >= *since)).flat_map(|line| line.events).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn only_what_this_launch_wrote_is_read_and_each_line_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record.jsonl");
        let mut file = std::fs::File::create(&path).unwrap();
        let mut write = |at: Timestamp, id: &str| {
            let content = format!(r#"[{{"type":"tool_use","id":"{id}","name":"Bash"}}]"#);
            writeln!(file, r#"{{"timestamp":"{at}","message":{{"content":{content}}}}}"#).unwrap();
        };
        let mut records = AgentTranscripts::for_launch(AgentBinary::Claude, false).unwrap();
        records.follow_file(&path);
        write(records.since - jiff::SignedDuration::from_secs(1), "old");
        write(Timestamp::now(), "new");
        let ids = |records: &mut AgentTranscripts| {
            let id = |event: AgentEvent| match event {
                AgentEvent::ToolCall(call) => call.id,
                other => panic!("{other:?}"),
            };
            records.read().into_iter().map(id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&mut records), ["new"]);
        write(Timestamp::now(), "next");
        assert_eq!(ids(&mut records), ["next"]);
        assert!(AgentTranscripts::for_launch(AgentBinary::Claude, true).is_none());
        assert!(AgentTranscripts::for_launch(AgentBinary::Copilot, false).is_none());
    }
}
