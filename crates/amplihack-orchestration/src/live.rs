//! What an agent has used by now, where its stream tells that at the end of a turn only: read where the agent writes it down meanwhile.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use amplihack_agent::AgentBinary;
use amplihack_agent::event::Totals;
use amplihack_agent::live::{LiveFile, live_file};
use amplihack_utils::env::Env;

use crate::budget::tokens;

/// The most that is read of a file at one look.
const MAX_READ: u64 = 64 * 1024 * 1024;

/// Looks at what an agent has used.
#[derive(Debug)]
pub struct Live {
    /// Where the agent writes it down; `None` for one whose stream tells.
    file: Option<LiveFile>,
    path: Option<PathBuf>,
    offset: u64,
    rest: Vec<u8>,
    seen: Totals,
}

impl Live {
    /// A look at `agent`, which runs in `env`.
    pub fn new(agent: AgentBinary, env: &Env) -> Self {
        Self {
            file: live_file(agent, env),
            path: None,
            offset: 0,
            rest: Vec::new(),
            seen: Totals::default(),
        }
    }

    /// Whether there is anything to look at besides the stream.
    pub const fn is_wanted(&self) -> bool {
        self.file.is_some()
    }

    /// What is used by now in the agent's `session`, of which the stream says `stated`.
    pub fn look(&mut self, session: Option<&str>, stated: Totals) -> Totals {
        self.read(session);
        self.settle_with(stated)
    }

    /// What was used when the turn was over, of which the stream says `stated`.
    pub fn settle(&mut self, session: Option<&str>, stated: Totals) -> Totals {
        self.read(session);
        self.settle_with(stated)
    }

    fn settle_with(&self, stated: Totals) -> Totals {
        // The agent's own last word is the larger one, unless it was cut off before it.
        if tokens(&self.seen) > tokens(&stated) {
            Totals { cost_usd: stated.cost_usd, premium_requests: stated.premium_requests, ..self.seen }
        } else {
            stated
        }
    }

    fn read(&mut self, session: Option<&str>) {
        let (Some(file), Some(session)) = (&self.file, session) else { return };
        if self.path.is_none() {
            self.path = find(file, file.root(), session, LiveFile::DEPTH);
        }
        let Some(path) = &self.path else { return };
        // What cannot be read now is read at the next look, or told by the stream at the end.
        let Ok(bytes) = read_on(path, &mut self.offset) else { return };
        self.rest.extend_from_slice(&bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        for line in whole.split(|byte| *byte == b'\n') {
            if let Some(totals) = file.line(line) {
                self.seen = totals;
            }
        }
    }
}

/// The file of `session` in `directory`, at most `depth` directories below it, the newest directory first.
fn find(file: &LiveFile, directory: &Path, session: &str, depth: usize) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort_unstable_by(|a, b| b.cmp(a));
    let is_of = |path: &&PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| file.is_of(name, session))
    };
    if let Some(found) = entries.iter().find(is_of) {
        return Some(found.clone());
    }
    let below = depth.checked_sub(1)?;
    entries.iter().filter(|path| path.is_dir()).find_map(|path| find(file, path, session, below))
}

fn read_on(path: &Path, offset: &mut u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(*offset))?;
    let mut bytes = Vec::new();
    *offset += file.take(MAX_READ).read_to_end(&mut bytes)? as u64;
    Ok(bytes)
}
