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
    let anchor = anchor(cwd);
    let path = anchor.join(RELATIVE_PATH);
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
    if real.starts_with(anchor) {
        Ok(())
    } else {
        Err(ContextError::Outside { path: directory.to_path_buf(), anchor: anchor.to_path_buf() })
    }
}

fn replace(path: &Path, text: &[u8]) -> Result<PathBuf, ContextError> {
    write_atomic(path, text, 0o600, Durability::Process).map_err(ContextError::io(path))?;
    Ok(path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_binary::AgentBinary;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A repository that no walk leaves.
    fn repository() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap().join("repository");
        fs::create_dir_all(root.join(".git/info")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        (dir, root)
    }

    fn context(agent: AgentBinary) -> LauncherContext {
        LauncherContext::of_this_process(agent, SessionId::parse("s1").unwrap(), Path::new("/repo"))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_is_written_is_what_the_resolver_reads() {
        let (_dir, root) = repository();
        let ours = context(AgentBinary::Codex);
        let path = write(&root, &Env::empty(), &ours).unwrap();
        assert_eq!(path, root.join(RELATIVE_PATH));
        let found = read(&path, &root).unwrap();
        assert_eq!(
            (found.launcher, found.session_id, found.started_at, found.pid, found.start_time),
            (
                AgentBinary::Codex,
                Some(ours.session_id),
                Some(ours.started_at),
                Some(ours.pid),
                Some(ours.start_time)
            )
        );
    }

    #[test]
    fn the_file_has_these_fields_and_no_others() {
        let (_dir, root) = repository();
        let path = write(&root, &Env::empty(), &context(AgentBinary::Amp)).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        names.sort();
        let fields =
            ["amplihack_version", "cwd", "launcher", "pid", "session_id", "start_time", "started_at"];
        assert_eq!(names, fields);
        assert!(value["started_at"].as_str().unwrap().ends_with('Z'), "UTC");
    }

    #[test]
    fn modes_are_private_and_an_existing_directory_keeps_its_own() {
        let (_dir, root) = repository();
        fs::create_dir(root.join(".claude")).unwrap();
        fs::set_permissions(root.join(".claude"), fs::Permissions::from_mode(0o775)).unwrap();
        let path = write(&root, &Env::empty(), &context(AgentBinary::Amp)).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&root.join(".claude/runtime")), 0o700);
        assert_eq!(mode(&root.join(".claude")), 0o775);
    }

    #[test]
    fn the_location_is_the_found_file_then_the_root_then_the_directory() {
        let (_dir, root) = repository();
        let deep = root.join("a/b");
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(location(&deep), root.join(RELATIVE_PATH));
        let nearer = root.join("a/.claude/runtime");
        fs::create_dir_all(&nearer).unwrap();
        fs::write(nearer.join(FILE_NAME), "broken").unwrap();
        assert_eq!(location(&deep), nearer.join(FILE_NAME), "the resolver would stop there");

        // 33 levels below, the walk ends before it comes to the root.
        let lost = (0..33).fold(root.join("c"), |path, _| path.join("d"));
        fs::create_dir_all(&lost).unwrap();
        assert_eq!(location(&lost), lost.join(RELATIVE_PATH));
    }

    #[test]
    fn a_later_launch_replaces_the_file_whole() {
        let (_dir, root) = repository();
        let path = write(&root, &Env::empty(), &context(AgentBinary::Copilot)).unwrap();
        fs::write(&path, "x".repeat(100_000)).unwrap();
        write(&root, &Env::empty(), &context(AgentBinary::Claude)).unwrap();
        assert_eq!(read(&path, &root).unwrap().launcher, AgentBinary::Claude);
        assert_eq!(
            fs::read_dir(root.join(".claude/runtime")).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[test]
    fn the_file_of_a_living_launcher_above_is_left_alone_in_both_places() {
        let (dir, root) = repository();
        let runtime = dir.path().join("runtime");
        fs::create_dir(&runtime).unwrap();
        let env = Env::empty().with("AMPLIHACK_RUNTIME_ROOT", &runtime);
        let parent = std::os::unix::process::parent_id();
        let start_time = sys::start_time(parent).unwrap();
        let outer = LauncherContext { pid: parent, start_time, ..context(AgentBinary::Copilot) };
        let path = write(&root, &env, &outer).unwrap();
        let (stays, kept) = (fs::read(&path).unwrap(), runtime.join(FILE_NAME));
        assert_eq!(write(&root, &env, &context(AgentBinary::Claude)).unwrap(), path);
        assert_eq!((fs::read(&path).unwrap(), fs::read(&kept).unwrap()), (stays.clone(), stays));
        // The number of a launcher that has ended, given to another process; one that is no ancestor; one without a time.
        let ended = LauncherContext { start_time: start_time + 1, ..outer };
        for text in [
            serde_json::to_string(&ended).unwrap(),
            serde_json::to_string(&context(AgentBinary::Amp)).unwrap(),
            format!(r#"{{"launcher":"copilot","pid":{parent}}}"#),
        ] {
            fs::write(&path, &text).unwrap();
            write(&root, &env, &context(AgentBinary::Claude)).unwrap();
            assert_eq!(read(&path, &root).unwrap().launcher, AgentBinary::Claude, "{text}");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link_out_of_the_repository() {
        for link in [".claude", ".claude/runtime"] {
            let (dir, root) = repository();
            let outside = dir.path().join("outside");
            fs::create_dir(&outside).unwrap();
            fs::create_dir_all(root.join(link).parent().unwrap()).unwrap();
            symlink(&outside, root.join(link)).unwrap();
            let error = write(&root, &Env::empty(), &context(AgentBinary::Amp)).unwrap_err();
            assert!(
                matches!(&error, ContextError::Outside { path, .. } if *path == root.join(link)),
                "{error}"
            );
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_link_in_the_place_of_the_file_is_replaced_not_followed() {
        let (dir, root) = repository();
        let outside = dir.path().join("outside");
        fs::write(&outside, "theirs").unwrap();
        fs::create_dir_all(root.join(".claude/runtime")).unwrap();
        symlink(&outside, root.join(RELATIVE_PATH)).unwrap();
        let path = write(&root, &Env::empty(), &context(AgentBinary::Amp)).unwrap();
        assert_eq!(fs::read(&outside).unwrap(), b"theirs");
        assert_eq!(read(&path, &root).unwrap().launcher, AgentBinary::Amp);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named_and_the_runtime_root_is_still_served() {
        let (dir, root) = repository();
        let runtime = dir.path().join("runtime");
        fs::create_dir(&runtime).unwrap();
        fs::write(root.join(".claude"), "a file").unwrap();
        let env = Env::empty().with("AMPLIHACK_RUNTIME_ROOT", &runtime);
        let error = write(&root, &env, &context(AgentBinary::Amp)).unwrap_err().to_string();
        assert!(error.starts_with(&root.join(".claude").display().to_string()), "{error}");
        assert_eq!(
            read(&runtime.join(FILE_NAME), &fs::canonicalize(&runtime).unwrap()).unwrap().launcher,
            AgentBinary::Amp
        );
    }

    #[test]
    fn the_runtime_root_is_written_too_if_it_is_an_absolute_directory() {
        let (dir, root) = repository();
        let runtime = dir.path().join("runtime");
        fs::create_dir(&runtime).unwrap();
        write(&root, &Env::empty().with("AMPLIHACK_RUNTIME_ROOT", &runtime), &context(AgentBinary::Amp))
            .unwrap();
        assert_eq!(mode(&runtime.join(FILE_NAME)), 0o600);
        assert_eq!(fs::read(runtime.join(FILE_NAME)).unwrap(), fs::read(root.join(RELATIVE_PATH)).unwrap());
        for useless in ["relative", "/no/such/directory"] {
            write(&root, &Env::empty().with("AMPLIHACK_RUNTIME_ROOT", useless), &context(AgentBinary::Amp))
                .unwrap();
        }
    }
}
