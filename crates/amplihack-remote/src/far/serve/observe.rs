//! How sessions stand, and what they wrote.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::ground::{Done, Fault, Ground, Session, fail, number};
use super::start;
use crate::session::is_session_id;

/// How often a log is looked at.
const NAP: Duration = Duration::from_millis(50);

/// How a session stands: the words of its line but the first and the last.
struct Stand {
    state: &'static str,
    exit: String,
    began: String,
    over: String,
}

pub(super) fn observe(ground: &Ground, words: &[&str]) -> Done<String> {
    start::sweep(ground);
    let ids = if words.is_empty() { ground.all()? } else { words.iter().map(|&id| id.to_owned()).collect() };
    if let Some(id) = ids.iter().find(|id| !is_session_id(id)) {
        return fail(64, format!("'{id}' is no session's id"));
    }
    let mut text = String::new();
    for id in ids {
        let session = ground.at(&id);
        let Ok(directory) = fs::metadata(session.directory()) else {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{id} absent - - - 0");
            continue;
        };
        if directory.is_dir() {
            let Stand { state, exit, began, over } = session.stands();
            let bytes = fs::metadata(session.path("log")).map_or(0, |log| log.len());
            let _ = writeln!(text, "{id} {state} {exit} {began} {over} {bytes}");
        }
    }
    Ok(text)
}

impl Session<'_> {
    /// How it stands, for one that no scheduler has.
    fn stands(&self) -> Stand {
        let none = || "-".to_owned();
        let mut began = self.line("started").unwrap_or_else(none);
        let mut ended = self.line("exit");
        if ended.is_none() {
            if self.has("ready") && !self.lives() {
                // It may have ended between these looks.
                began = self.line("started").unwrap_or_else(none);
                ended = self.line("exit");
                if ended.is_none() && began != "-" {
                    return Stand { state: "lost", exit: none(), began, over: none() };
                }
            } else {
                let runs = self.has("ready") && began != "-";
                let state = if runs { "running" } else { "waiting" };
                return Stand { state, exit: none(), began, over: none() };
            }
        }
        let Some(ended) = ended else {
            return Stand { state: "waiting", exit: none(), began, over: none() };
        };
        let (exit, over) = ended.split_once(' ').unwrap_or((&ended, &ended));
        let state = if self.has("killed") { "killed" } else { "ended" };
        Stand { state, exit: exit.to_owned(), began, over: over.to_owned() }
    }
}

/// `read ID FROM [WAIT [MOST]]`
pub(super) fn read(session: &Session<'_>, words: &[&str], stdout: &mut dyn Write) -> Done<()> {
    let word = |at: usize, default: u64| words.get(at).map_or(Some(default), |word| number(word));
    let from = words.get(1).and_then(|word| number(word));
    let (Some(from), Some(wait), Some(most)) = (from, word(2, 0), word(3, u64::MAX)) else {
        return fail(64, "read needs an offset, and may have a time and a length");
    };
    let begun = Instant::now();
    let log = session.path("log");
    while fs::metadata(&log).map_or(0, |log| log.len()) <= from && begun.elapsed().as_secs() < wait {
        if matches!(session.stands().state, "ended" | "killed" | "lost") {
            break;
        }
        std::thread::sleep(NAP);
    }
    bytes(&log, from, most, stdout)
}

/// The bytes of a file from an offset, at most so many; nothing if there is no file.
pub(super) fn bytes(path: &Path, from: u64, most: u64, stdout: &mut dyn Write) -> Done<()> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return fail(74, format!("{} cannot be read: {error}", path.display())),
    };
    let sent = file.seek(SeekFrom::Start(from)).and_then(|_| io::copy(&mut file.take(most), stdout));
    sent.map(drop).map_err(|error| Fault::new(74, format!("{} cannot be sent: {error}", path.display())))
}
