//! The one writer of `launcher_context.json`.

use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

use super::{
    ContextError, FILE_NAME, LauncherContext, LauncherContextFile, RELATIVE_PATH, SESSION_VAR, SessionId,
    exclude, read,
};
use crate::agent_binary::{MAX_ANCESTORS, runtime_root};
use crate::env::Env;
use crate::repository::repository_root;
use amplihack_sys as sys;
use amplihack_sys::fs::{
    CEILING_VAR, RealDirectory, WalkStop, WriteDurability, create_private_dir, real_directory, walk_up,
    write_atomic,
};
use amplihack_sys::sabotage;

/// The file that a launch in `cwd` writes: the one that the resolver would find from there, else the one at the root
/// of the repository, else the one in `cwd` itself.
pub fn context_path(cwd: &Path, env: &Env) -> PathBuf {
    anchor_directory(cwd, env).join(RELATIVE_PATH)
}

/// The directory that holds the `.claude` in question, without symbolic links if there is one at all.
fn anchor_directory(cwd: &Path, env: &Env) -> PathBuf {
    let Ok(start) = RealDirectory::open(cwd) else { return cwd.to_path_buf() };
    match walk_up(&start, RELATIVE_PATH, env.get(CEILING_VAR)) {
        WalkStop::Found { directory, .. } => directory,
        // The resolver does not look beyond a `.git` that git passes over, nor may anything be written there.
        WalkStop::Border(border) if repository_root(&start.path, env).as_ref() == Some(&border) => border,
        WalkStop::Border(_) | WalkStop::Exhausted => start.path,
    }
}

/// Writes `context` at [`context_path`] and, if `AMPLIHACK_RUNTIME_ROOT` names a directory, there too. Returns the path of the
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
    let anchor_directory = if sabotage::is_active("routing-repository-root") {
        cwd.to_path_buf()
    } else {
        anchor_directory(cwd, env)
    };
    let path = anchor_directory.join(RELATIVE_PATH);
    if sabotage::is_active("routing-launch-writes-file") {
        return Ok(path);
    }
    let mut text =
        serde_json::to_vec_pretty(context).map_err(|error| ContextError::io_error(&path)(error.into()))?;
    text.push(b'\n');
    let written = if belongs_above(&path, &anchor_directory) {
        Ok(path)
    } else {
        write_below(&anchor_directory, &path, &text)
    };
    if written.is_ok()
        && let Some(root) = repository_root(&anchor_directory, env)
        && let Err(error) = exclude::hide_runtime(&root, &anchor_directory)
    {
        tracing::warn!(repository = ?root, error = %error, "cannot hide .claude/runtime from git");
    }
    if let Some(root) = runtime_root(env) {
        let file = root.join(FILE_NAME);
        if belongs_above(&file, &root) { written } else { replace_file(&file, &text).and(written) }
    } else {
        written
    }
}

/// Reports whether a launcher above this process wrote `file` and lives. One from which a re-parented process of its session
/// descends is told by the session in this process's own environment.
fn belongs_above(file: &Path, anchor: &Path) -> bool {
    let Ok(LauncherContextFile { pid: Some(pid), start_time: Some(start_time), session_id, .. }) =
        read(file, anchor)
    else {
        return false;
    };
    // The file of an earlier launch is the usual case, and one look.
    if !sys::process_alive(pid, start_time) {
        return false;
    }
    let above = |process: &sys::ProcessEntry| (process.pid, process.start_time) == (pid, start_time);
    let own_session =
        |id: &SessionId| sys::environ_has(std::process::id(), format!("{SESSION_VAR}={id}").as_bytes());
    sys::list_ancestors(MAX_ANCESTORS).iter().any(above) || session_id.as_ref().is_some_and(own_session)
}

fn write_below(anchor: &Path, path: &Path, text: &[u8]) -> Result<PathBuf, ContextError> {
    let claude = anchor.join(".claude");
    // The project's own directory, not a private one.
    match DirBuilder::new().create(&claude) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(ContextError::io_error(&claude)(error));
        }
        _ => must_be_inside(anchor, &claude)?,
    }
    let runtime = claude.join("runtime");
    create_private_dir(&runtime).map_err(ContextError::io_error(&runtime))?;
    must_be_inside(anchor, &runtime)?;
    replace_file(path, text)
}

/// Holds the writer to the resolver's rule: what would not be read is not written.
fn must_be_inside(anchor: &Path, directory: &Path) -> Result<(), ContextError> {
    let real = real_directory(directory).map_err(ContextError::io_error(directory))?;
    if real.starts_with(anchor) || sabotage::is_active("routing-link-write") {
        Ok(())
    } else {
        Err(ContextError::Outside { path: directory.to_path_buf(), anchor: anchor.to_path_buf() })
    }
}

fn replace_file(path: &Path, text: &[u8]) -> Result<PathBuf, ContextError> {
    let mode = if sabotage::is_active("routing-file-mode") { 0o644 } else { 0o600 };
    write_atomic(path, text, mode, WriteDurability::Process).map_err(ContextError::io_error(path))?;
    Ok(path.to_path_buf())
}
