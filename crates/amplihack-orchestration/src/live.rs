//! What an agent has used by now, where its stream tells that at the end of a turn only: read where the agent writes it down meanwhile.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use amplihack_agent::AgentBinary;
use amplihack_agent::event::Totals;
use amplihack_agent::live::{Counted, LiveFile, ROLLOUT_DEPTH, live_file};
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
    /// What the session had used before this launch.
    before: Totals,
    seen: Totals,
    /// The session, as its stream or its file told it.
    session: Option<String>,
}

impl Live {
    /// A look at a launch of `agent` in `env`, whose session had used `before` it; `ours` is where a file of ours may be.
    pub fn new(agent: AgentBinary, env: &Env, ours: &Path, before: Totals) -> Self {
        Self {
            file: live_file(agent, env, ours),
            path: None,
            offset: 0,
            rest: Vec::new(),
            before,
            seen: Totals::default(),
            session: None,
        }
    }

    /// The environment `env` with what the agent needs to write its file, which is begun anew.
    pub fn prepare(&self, env: &Env) -> Env {
        let mut env = env.clone();
        if let Some(LiveFile::Spans { file, env: more }) = &self.file {
            // There need not be one.
            let _ = std::fs::remove_file(file);
            for (name, value) in more {
                env.set(name, value);
            }
        }
        env
    }

    /// Whether there is anything to look at besides the stream.
    pub(crate) const fn is_wanted(&self) -> bool {
        self.file.is_some()
    }

    /// What is used by now in the agent's `session`, of which the stream says `stated`.
    pub fn look(&mut self, session: Option<&str>, stated: Totals) -> Totals {
        if let Some(session) = session {
            self.session = Some(session.to_owned());
        }
        self.read();
        // The agent's own last word is the larger one, unless it was cut off before it.
        if tokens(&self.seen) > tokens(&stated) {
            Totals { cost_usd: stated.cost_usd, premium_requests: stated.premium_requests, ..self.seen }
        } else {
            stated
        }
    }

    /// The session, where its file has told it before its stream does.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn read(&mut self) {
        let Some(file) = &self.file else { return };
        if self.path.is_none() {
            self.path = match file {
                LiveFile::Rollout { below } => {
                    self.session.as_deref().and_then(|session| find(below, session, ROLLOUT_DEPTH))
                }
                LiveFile::Spans { file, .. } => Some(file.clone()),
            };
        }
        let Some(path) = &self.path else { return };
        // What cannot be read now is read at the next look, or told by the stream at the end.
        let Ok(bytes) = read_on(path, &mut self.offset) else { return };
        self.rest.extend_from_slice(&bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        for line in whole.split(|byte| *byte == b'\n') {
            match file.line(line) {
                Some(Counted::Total(total)) => self.seen = total,
                Some(Counted::More { session, amounts }) => {
                    let own = self.session.get_or_insert_with(|| session.clone());
                    // A nested agent writes here too, later.
                    if *own != session {
                        continue;
                    }
                    if !self.seen.has_tokens() {
                        self.seen = self.before;
                    }
                    self.seen.add(&amounts);
                }
                None => {}
            }
        }
    }
}

/// The file of `session` below `directory`, at most `depth` directories deep, the newest first.
fn find(directory: &Path, session: &str, depth: usize) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort_unstable_by(|a, b| b.cmp(a));
    let is_of = |path: &&PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| LiveFile::is_of(name, session))
    };
    if let Some(found) = entries.iter().find(is_of) {
        return Some(found.clone());
    }
    let below = depth.checked_sub(1)?;
    entries.iter().filter(|path| path.is_dir()).find_map(|path| find(path, session, below))
}

fn read_on(path: &Path, offset: &mut u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(*offset))?;
    let mut bytes = Vec::new();
    *offset += file.take(MAX_READ).read_to_end(&mut bytes)? as u64;
    Ok(bytes)
}
