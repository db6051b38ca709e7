//! The context file as launches write it: its place, its fields, who may read it, and what stands in its way.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use amplihack_config::agent_binary::AgentBinary;
use amplihack_config::env::Env;
use amplihack_config::launcher_context::{
    ContextError, FILE_NAME, LauncherContext, RELATIVE_PATH, SessionId, context_path, read, write,
};
use amplihack_sys as sys;

/// A repository that no walk leaves.
fn repository() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap().join("repository");
    amplihack_testkit::create_repository(&root);
    (dir, root)
}

fn context(agent: AgentBinary) -> LauncherContext {
    LauncherContext::of_this_process(agent, SessionId::parse("s1").unwrap(), Path::new("/repo"))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_session_id_is_one_part_of_a_path() {
    for text in ["", ".", "..", "../x", "a/b", "/etc", "a\\b/c", "a b", "a\0b", &"x".repeat(65)] {
        assert!(SessionId::parse(text).is_err(), "{text:?}");
    }
    let id = SessionId::parse("20261129T093015Z-0a1b2c").unwrap();
    assert_eq!(id.directory(Path::new("/home")), Path::new("/home/sessions/20261129T093015Z-0a1b2c"));
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
    let fields = ["amplihack_version", "cwd", "launcher", "pid", "session_id", "start_time", "started_at"];
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
    assert_eq!(context_path(&deep, &Env::empty()), root.join(RELATIVE_PATH));
    let nearer = root.join("a/.claude/runtime");
    fs::create_dir_all(&nearer).unwrap();
    fs::write(nearer.join(FILE_NAME), "broken").unwrap();
    assert_eq!(context_path(&deep, &Env::empty()), nearer.join(FILE_NAME), "the resolver would stop there");

    // 33 levels below, the walk ends before it comes to the root.
    let lost = (0..33).fold(root.join("c"), |path, _| path.join("d"));
    fs::create_dir_all(&lost).unwrap();
    assert_eq!(context_path(&lost, &Env::empty()), lost.join(RELATIVE_PATH));
}

#[test]
fn a_later_launch_replaces_the_file_whole() {
    let (_dir, root) = repository();
    let path = write(&root, &Env::empty(), &context(AgentBinary::Copilot)).unwrap();
    fs::write(&path, "x".repeat(100_000)).unwrap();
    write(&root, &Env::empty(), &context(AgentBinary::Claude)).unwrap();
    assert_eq!(read(&path, &root).unwrap().launcher, AgentBinary::Claude);
    assert_eq!(fs::read_dir(root.join(".claude/runtime")).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn the_file_of_a_living_launcher_above_is_left_alone_in_both_places() {
    let (dir, root) = repository();
    let runtime = dir.path().join("runtime");
    fs::create_dir(&runtime).unwrap();
    let env = Env::empty().with_variable("AMPLIHACK_RUNTIME_ROOT", &runtime);
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
        assert!(matches!(&error, ContextError::Outside { path, .. } if *path == root.join(link)), "{error}");
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
    let env = Env::empty().with_variable("AMPLIHACK_RUNTIME_ROOT", &runtime);
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
    write(&root, &Env::empty().with_variable("AMPLIHACK_RUNTIME_ROOT", &runtime), &context(AgentBinary::Amp))
        .unwrap();
    assert_eq!(mode(&runtime.join(FILE_NAME)), 0o600);
    assert_eq!(fs::read(runtime.join(FILE_NAME)).unwrap(), fs::read(root.join(RELATIVE_PATH)).unwrap());
    for useless in ["relative", "/no/such/directory"] {
        write(
            &root,
            &Env::empty().with_variable("AMPLIHACK_RUNTIME_ROOT", useless),
            &context(AgentBinary::Amp),
        )
        .unwrap();
    }
}
