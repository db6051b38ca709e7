//! States of sessions, and their output.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::context::{RunnerContext, RunnerFault, RunnerResult, RunnerSession, fail_verb, parse_number};
use super::start;
use crate::session::is_session_id;

/// Pause between looks at a log.
const NAP: Duration = Duration::from_millis(50);

/// The state of a session: the words of its line except the first and the last.
struct SessionStanding {
    state: &'static str,
    exit: String,
    began: String,
    over: String,
}

pub(super) fn observe_sessions(ground: &RunnerContext, words: &[&str]) -> RunnerResult<String> {
    start::sweep_incoming(ground);
    let ids = if words.is_empty() {
        ground.session_ids()?
    } else {
        words.iter().map(|&id| id.to_owned()).collect()
    };
    if let Some(id) = ids.iter().find(|id| !is_session_id(id)) {
        return fail_verb(64, format!("'{id}' is no session's id"));
    }
    let mut text = String::new();
    for id in ids {
        let session = ground.session_by_id(&id);
        let Ok(directory) = fs::metadata(session.directory()) else {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{id} absent - - - 0");
            continue;
        };
        if directory.is_dir() {
            let SessionStanding { state, exit, began, over } = session.current_standing();
            let bytes = fs::metadata(session.path("log")).map_or(0, |log| log.len());
            let _ = writeln!(text, "{id} {state} {exit} {began} {over} {bytes}");
        }
    }
    Ok(text)
}

impl RunnerSession<'_> {
    /// The state of a session that no scheduler holds.
    fn current_standing(&self) -> SessionStanding {
        let none = || "-".to_owned();
        let mut began = self.read_line("started").unwrap_or_else(none);
        let mut ended = self.read_line("exit");
        if ended.is_none() {
            if self.has_file("ready") && !self.is_runner_alive() {
                // It may have ended between these looks.
                began = self.read_line("started").unwrap_or_else(none);
                ended = self.read_line("exit");
                if ended.is_none() && began != "-" {
                    return SessionStanding { state: "lost", exit: none(), began, over: none() };
                }
            } else {
                let runs = self.has_file("ready") && began != "-";
                let state = if runs { "running" } else { "waiting" };
                return SessionStanding { state, exit: none(), began, over: none() };
            }
        }
        let Some(ended) = ended else {
            return SessionStanding { state: "waiting", exit: none(), began, over: none() };
        };
        let (exit, over) = ended.split_once(' ').unwrap_or((&ended, &ended));
        let state = if self.has_file("killed") { "killed" } else { "ended" };
        SessionStanding { state, exit: exit.to_owned(), began, over: over.to_owned() }
    }
}

/// `read ID FROM [WAIT [MOST]]`
pub(super) fn send_log(
    session: &RunnerSession<'_>,
    words: &[&str],
    stdout: &mut dyn Write,
) -> RunnerResult<()> {
    let word = |at: usize, default: u64| words.get(at).map_or(Some(default), |word| parse_number(word));
    let from = words.get(1).and_then(|word| parse_number(word));
    let (Some(from), Some(wait), Some(most)) = (from, word(2, 0), word(3, u64::MAX)) else {
        return fail_verb(64, "read needs an offset, and may have a time and a length");
    };
    let begun = Instant::now();
    let log = session.path("log");
    while fs::metadata(&log).map_or(0, |log| log.len()) <= from && begun.elapsed().as_secs() < wait {
        if matches!(session.current_standing().state, "ended" | "killed" | "lost") {
            break;
        }
        std::thread::sleep(NAP);
    }
    send_bytes(&log, from, most, stdout)
}

/// The bytes of a file from an offset, at most so many; nothing if there is no file.
pub(super) fn send_bytes(path: &Path, from: u64, most: u64, stdout: &mut dyn Write) -> RunnerResult<()> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return fail_verb(74, format!("{} cannot be read: {error}", path.display())),
    };
    let sent = file.seek(SeekFrom::Start(from)).and_then(|_| io::copy(&mut file.take(most), stdout));
    sent.map(drop)
        .map_err(|error| RunnerFault::new(74, format!("{} cannot be sent: {error}", path.display())))
}
