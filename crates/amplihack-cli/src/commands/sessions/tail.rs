//! `sessions tail`: the journal as it is, to the byte.

use std::path::Path;
use std::time::Duration;

use amplihack_session::journal::{JournaledRun, events_path};
use amplihack_sys::log::read_from;

use crate::ui::{self, CommandFailure};

/// Interval at which a follower looks for new events.
const PAUSE: Duration = Duration::from_millis(100);

/// Prints the events of `run` from byte `from` on: what was printed is what the next `--from` adds to it.
pub(super) fn tail_events(
    home: &Path,
    run: &JournaledRun,
    mut from: u64,
    follow: bool,
) -> Result<u8, CommandFailure> {
    let path = events_path(&run.directory);
    loop {
        // Asked before the reading: what a run wrote before its end is read then.
        let goes_on = follow && JournaledRun::read(home, &run.id)?.is_some_and(|now| now.record.is_running());
        for line in read_from(&path, from)? {
            let (offset, line) = line?;
            ui::print_data(&(String::from_utf8_lossy(&line) + "\n"))?;
            from = offset + line.len() as u64 + 1;
        }
        if !goes_on {
            return Ok(0);
        }
        ui::wait_while_read(PAUSE)?;
    }
}
