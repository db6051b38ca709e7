//! Codex's records of a session and of the agents nested in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use amplihack_agent::event::UsageTotals;
use amplihack_agent::live::{ROLLOUT_DEPTH, RolloutLine, rollout_id, rollout_line, rollout_session};

use super::tail::FileTail;

/// The most that a first line of a record holds: it has the agent's instructions.
const FIRST_LINE: u64 = 4 * 1024 * 1024;

/// The records of one session, as far as they are read.
#[derive(Debug, Default)]
pub(super) struct CodexRollouts {
    own: BTreeMap<PathBuf, (FileTail, UsageTotals)>,
    /// Records of other sessions.
    foreign: BTreeSet<PathBuf>,
}

impl CodexRollouts {
    /// Totals of all agents of the session.
    pub(super) fn totals(&self) -> UsageTotals {
        let mut sum = UsageTotals::default();
        for (_, total) in self.own.values() {
            sum.add_amounts(total);
        }
        sum
    }

    /// Reads on in the records of `session` somewhere below `below`; `calls` gets the calls of nested agents.
    pub(super) fn read(&mut self, below: &Path, session: &str, calls: &mut BTreeSet<String>) {
        self.find_records(below, session, ROLLOUT_DEPTH);
        for (path, (tail, total)) in &mut self.own {
            let nested = record_id(path) != Some(session);
            for line in tail.new_lines(path) {
                match rollout_line(&line) {
                    Some(RolloutLine::Total(now)) => *total = now,
                    Some(RolloutLine::Call(call)) if nested => {
                        calls.insert(call);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Looks for new records. Ids are in the order of their making, so no older record is that of a nested agent.
    fn find_records(&mut self, directory: &Path, session: &str, depth: usize) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            match record_id(&path) {
                Some(found) if found < session => {}
                Some(found) => {
                    if self.own.contains_key(&path) || self.foreign.contains(&path) {
                        continue;
                    }
                    match (found == session).then(|| session.to_owned()).or_else(|| session_of(&path)) {
                        Some(of) if of == session => drop(self.own.insert(path, Default::default())),
                        Some(_) => drop(self.foreign.insert(path)),
                        // Its first line is not whole yet.
                        None => {}
                    }
                }
                None => {
                    // Directories are days: one before the session's own has nothing of it.
                    let earlier = |own: &PathBuf| path < *own && !own.starts_with(&path);
                    if let Some(below) = depth.checked_sub(1)
                        && !self.own.keys().next().is_some_and(earlier)
                        && path.is_dir()
                    {
                        self.find_records(&path, session, below);
                    }
                }
            }
        }
    }
}

fn record_id(path: &Path) -> Option<&str> {
    rollout_id(path.file_name()?.to_str()?)
}

/// The session that the first line of a record names.
fn session_of(path: &Path) -> Option<String> {
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?).take(FIRST_LINE).read_until(b'\n', &mut line).ok()?;
    rollout_session(&line)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn id_of(number: u8) -> String {
        format!("01a2277d-b309-71f3-9190-0000000000{number:02}")
    }

    /// Writes the record of agent `number` in session `of`, which used `input` tokens in all.
    fn record(directory: &Path, number: u8, of: u8, input: u64) {
        let text = format!(
            r#"{{"type":"session_meta","payload":{{"session_id":"{of}","id":"{id}"}}}}
{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":1}}}}}}}}
{{"type":"response_item","payload":{{"type":"function_call","call_id":"call-{number}"}}}}
{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{input}}}}}}}}}
"#,
            of = id_of(of),
            id = id_of(number),
        );
        fs::write(directory.join(format!("rollout-2026-11-29T13-27-59-{}.jsonl", id_of(number))), text)
            .unwrap();
    }

    #[test]
    fn nested_agents_of_the_session_count_and_others_do_not() {
        let below = tempfile::tempdir().unwrap();
        let day = below.path().join("2026/11/29");
        fs::create_dir_all(&day).unwrap();
        for (number, of, input) in [(1, 1, 1000), (3, 3, 10), (4, 3, 200), (5, 5, 3000), (6, 3, 40_000)] {
            record(&day, number, of, input);
        }
        let (mut rollouts, mut calls) = (CodexRollouts::default(), BTreeSet::new());
        rollouts.read(below.path(), &id_of(3), &mut calls);
        assert_eq!(rollouts.totals().input_tokens, 40_210);
        assert_eq!(calls.into_iter().collect::<Vec<_>>(), ["call-4", "call-6"]);
    }
}
