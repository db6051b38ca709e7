//! The one writer of `launcher_context.json`.

use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

use super::{
    Context, ContextError, FILE_NAME, LauncherContext, RELATIVE_PATH, SESSION_VAR, SessionId, exclude, read,
};
use crate::agent_binary::{MAX_ANCESTORS, runtime_root};
use crate::env::Env;
use crate::fs::{
    Durability, RealDirectory, Stop, create_private_dir, real_directory, repository_root, walk, write_atomic,
};
use crate::sabotage;
use crate::sys;

/// The file that a launch in `cwd` writes: the one that the resolver would find from there, else the one at the root
/// of the repository, else the one in `cwd` itself.
pub fn location(cwd: &Path) -> PathBuf {
    anchor(cwd).join(RELATIVE_PATH)
}

/// The directory that holds the `.claude` in question, without symbolic links if there is one at all.
fn anchor(cwd: &Path) -> PathBuf {
    let Ok(start) = RealDirectory::open(cwd) else { return cwd.to_path_buf() };
    match walk(&start, Some(RELATIVE_PATH)) {
        Stop::Found { directory, .. } | Stop::Repository(directory) => directory,
        Stop::Exhausted => start.path,
    }
}

/// Writes `context` at [`location`] and, if `AMPLIHACK_RUNTIME_ROOT` names a directory, there too. Returns the path of the
/// first.
///
/// A file of a launch that this process descends from is left alone while its launcher lives: a nested launch does not take
/// the place of the outer one, and its own descendants find it by their ancestors.
///
/// The file is replaced whole and has mode 0600. A `.claude/runtime` that is missing is made with 0700 and hidden from git by
/// a line in the repository's `info/exclude`; if only that fails, it is a warning.
///
/// # Errors
/// Both places are tried before the first error is returned. Nothing is written through a symbolic link out of the
/// repository.
pub fn write(cwd: &Path, env: &Env, context: &LauncherContext) -> Result<PathBuf, ContextError> {
    let anchor = if sabotage::active("routing-repository-root") { cwd.to_path_buf() } else { anchor(cwd) };
    let path = anchor.join(RELATIVE_PATH);
    if sabotage::active("routing-launch-writes-file") {
        return Ok(path);
    }
    let mut text =
        serde_json::to_vec_pretty(context).map_err(|error| ContextError::io(&path)(error.into()))?;
    text.push(b'\n');
    let written = if belongs_above(&path, &anchor) { Ok(path) } else { write_below(&anchor, &path, &text) };
    if written.is_ok()
        && let Some(root) = repository_root(&anchor)
        && let Err(error) = exclude::hide(&root, &anchor)
    {
        tracing::warn!(repository = ?root, error = %error, "cannot hide .claude/runtime from git");
    }
    if let Some(root) = runtime_root(env) {
        let file = root.join(FILE_NAME);
        if belongs_above(&file, &root) { written } else { replace(&file, &text).and(written) }
    } else {
        written
    }
}

/// Whether a launcher above this process wrote `file` and lives. One from which a re-parented process of its session
/// descends is told by the session in this process's own environment.
fn belongs_above(file: &Path, anchor: &Path) -> bool {
    let Ok(Context { pid: Some(pid), start_time: Some(start_time), session_id, .. }) = read(file, anchor)
    else {
        return false;
    };
    let above = |process: &sys::Proc| (process.pid, process.start_time) == (pid, start_time);
    let own_session = |id: &SessionId| {
        sys::environ_has(std::process::id(), format!("{SESSION_VAR}={id}").as_bytes())
            && sys::process_alive(pid, start_time)
    };
    sys::ancestors(MAX_ANCESTORS).iter().any(above) || session_id.as_ref().is_some_and(own_session)
}

fn write_below(anchor: &Path, path: &Path, text: &[u8]) -> Result<PathBuf, ContextError> {
    let claude = anchor.join(".claude");
    // The project's own directory, not a private one.
    match DirBuilder::new().create(&claude) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(ContextError::io(&claude)(error));
        }
        _ => must_be_inside(anchor, &claude)?,
    }
    let runtime = claude.join("runtime");
    create_private_dir(&runtime).map_err(ContextError::io(&runtime))?;
    must_be_inside(anchor, &runtime)?;
    replace(path, text)
}

/// Holds the writer to the resolver's rule: what would not be read is not written.
fn must_be_inside(anchor: &Path, directory: &Path) -> Result<(), ContextError> {
    let real = real_directory(directory).map_err(ContextError::io(directory))?;
    if real.starts_with(anchor) || sabotage::active("routing-link-write") {
        Ok(())
    } else {
        Err(ContextError::Outside { path: directory.to_path_buf(), anchor: anchor.to_path_buf() })
    }
}

fn replace(path: &Path, text: &[u8]) -> Result<PathBuf, ContextError> {
    let mode = if sabotage::active("routing-file-mode") { 0o644 } else { 0o600 };
    write_atomic(path, text, mode, Durability::Process).map_err(ContextError::io(path))?;
    Ok(path.to_path_buf())
}
