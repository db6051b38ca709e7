//! Launches that were killed: what each needed while it lived stays, since nobody was left to take it away.

use std::io;
use std::path::Path;

use amplihack_config::launcher_context::{SessionContext, SessionId, sessions_directory};
use amplihack_sys as sys;

/// Files in the directory of a launch that keeps no journal.
const OWN: [&str; 3] = ["context.json", "hooks", "denials"];

/// The launches below `home` whose launcher is gone and that left nothing but what is of no use after them.
pub fn broken_off(home: &Path) -> io::Result<Vec<(SessionId, SessionContext)>> {
    let entries = match std::fs::read_dir(sessions_directory(home)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let ended = |id: SessionId| {
        let context = SessionContext::read(home, &id).ok()??;
        let over = !sys::process_alive(context.pid, context.start_time);
        (over && holds_nothing_else(&id.directory(home))).then_some((id, context))
    };
    let ids = entries.flatten().filter_map(|entry| SessionId::parse(entry.file_name().to_str()?).ok());
    let mut found: Vec<_> = ids.filter_map(ended).collect();
    found.sort_by(|a, b| (a.1.started_at, &a.0).cmp(&(b.1.started_at, &b.0)));
    Ok(found)
}

/// A journal, also one that cannot be read, is somebody's.
fn holds_nothing_else(directory: &Path) -> bool {
    let own = |entry: io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| OWN.iter().any(|own| entry.file_name() == *own))
    };
    std::fs::read_dir(directory).is_ok_and(|mut entries| entries.all(own))
}
