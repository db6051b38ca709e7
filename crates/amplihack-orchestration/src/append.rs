//! Messages of the user to a run that goes on: files in the run's directory, told to the agent with its next turn.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use amplihack_config::launcher_context::new_session_id;
use amplihack_sys::fs::{WriteDurability, create_private_dir, read_regular, write_atomic};

use crate::error::AutoError;
use crate::journal::{find_run, read_run};

/// The longest message, in bytes.
pub(crate) const MAX_MESSAGE: usize = 100 * 1024;
/// So many messages may wait.
pub(crate) const MAX_WAITING: usize = 20;

fn message_directory(run: &Path) -> PathBuf {
    run.join("append")
}

/// Puts `text` into the next turn of the run `wanted` below `home`. Returns the run's id.
pub fn append_message(home: &Path, wanted: &str, text: &str) -> Result<String, AutoError> {
    if text.trim().is_empty() {
        return Err(AutoError::Message("it is empty"));
    }
    if text.len() > MAX_MESSAGE {
        return Err(AutoError::Message("it is longer than 100 KiB; put it into a file and name that"));
    }
    let id = find_run(home, wanted)?;
    if let Some(ended) = read_run(home, &id)?.ended {
        return Err(AutoError::Over { id: id.to_string(), end: ended.run.outcome() });
    }
    let run = id.directory(home);
    if !is_own(&run) {
        return Err(AutoError::Message("the run is another user's"));
    }
    let directory = message_directory(&run);
    create_private_dir(&directory).map_err(AutoError::for_path(&directory))?;
    if message_names(&directory).len() >= MAX_WAITING {
        return Err(AutoError::Message("20 messages wait already; wait for the run's next turn"));
    }
    let name = new_session_id().map_err(AutoError::for_path(&directory))?;
    let path = directory.join(format!("{name}.md"));
    write_atomic(&path, text.as_bytes(), 0o600, WriteDurability::Process)
        .map_err(AutoError::for_path(&path))?;
    Ok(id.to_string())
}

/// The messages that wait in the directory of a run and are none of `told`, oldest first: file and text. Files of other users are left alone.
pub fn read_messages(run: &Path, told: &[String]) -> Vec<(String, String)> {
    let directory = message_directory(run);
    message_names(&directory)
        .into_iter()
        .filter(|name| !told.contains(name))
        .take(MAX_WAITING)
        .filter_map(|name| {
            let path = directory.join(&name);
            let bytes = read_regular(&path, MAX_MESSAGE as u64).ok().filter(|_| is_own(&path))?;
            Some((name, String::from_utf8_lossy(&bytes).into_owned()))
        })
        .collect()
}

/// Removes messages that were told.
pub fn remove_messages(run: &Path, told: &[String]) {
    for name in told {
        // One that stays is known to be told.
        let _ = std::fs::remove_file(message_directory(run).join(name));
    }
}

fn message_names(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().ok();
    let is_message = |name: &String| name.strip_suffix(".md").is_some_and(|stem| !stem.starts_with('.'));
    let mut names: Vec<String> = entries.flatten().filter_map(name).filter(is_message).collect();
    names.sort();
    names
}

fn is_own(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    std::fs::symlink_metadata(path).is_ok_and(|found| found.uid() == own)
}
