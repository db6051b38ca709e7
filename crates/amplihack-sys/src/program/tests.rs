//! Started programs as they find themselves: signals, groups, streams, directories, and what cannot be started.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::{ProgramSurroundings, can_start_program, start_program};
use crate::{ChildOptions, Signal, ignores_signal, recorded_processes};

/// Output of `command`, with nothing but `PATH` in its environment.
fn printed(mut command: Command, options: ChildOptions) -> std::io::Result<String> {
    let file = tempfile::tempfile()?;
    command.env_clear().env("PATH", "/nonexistent:/usr/bin:/bin");
    let streams = [None, Some(OwnedFd::from(file.try_clone()?)), None];
    start_program(&command, &ProgramSurroundings { streams, options, record: None })?.wait()?;
    let mut text = String::new();
    (&file).rewind()?;
    (&file).read_to_string(&mut text)?;
    Ok(text)
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn signals_are_neither_ignored_nor_blocked() {
    // The test process itself ignores SIGPIPE, as each Rust program does.
    assert!(ignores_signal(Signal::PIPE));
    for field in ["SigIgn", "SigBlk"] {
        let line =
            printed(shell(&format!("grep ^{field}: /proc/self/status")), ChildOptions::default()).unwrap();
        let mask = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!(mask, 0, "{line}");
    }
    let here = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    assert!(here.contains("SigBlk:\t0000000000000000"), "this thread blocks what it blocked before: {here}");
}

#[test]
fn a_group_is_led_when_asked_for() {
    let ids = "read _ _ _ _ pgid sid _ < /proc/$$/stat; echo $((pgid == $$)) $((sid == $$))";
    for (group, expected) in [(false, "0 0"), (true, "1 0")] {
        let options = ChildOptions { group, death_signal: true };
        assert_eq!(printed(shell(ids), options).unwrap().trim(), expected, "{options:?}");
    }
}

#[test]
fn the_environment_is_the_commands_and_no_other() {
    assert_eq!(
        printed(Command::new("env"), ChildOptions::default()).unwrap(),
        "PATH=/nonexistent:/usr/bin:/bin\n"
    );
}

#[test]
fn the_directory_and_the_arguments_are_the_commands() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = shell("pwd -P; printf '<%s>' \"$@\"");
    command.args(["sh", "", "a b", "\u{e9}'\"$x\n"]).current_dir(directory.path());
    let place = directory.path().canonicalize().unwrap();
    let expected = format!("{}\n<><a b><\u{e9}'\"$x\n>", place.display());
    assert_eq!(printed(command, ChildOptions::default()).unwrap(), expected);
}

#[test]
fn a_script_without_a_first_line_is_the_shells() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    std::fs::write(&script, "echo \"ran $1\"\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(&script);
    command.arg("so");
    assert_eq!(printed(command, ChildOptions::default()).unwrap(), "ran so\n");
}

#[test]
fn what_cannot_be_started_is_the_systems_error() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let mut nowhere = Command::new("true");
    nowhere.current_dir(directory.path().join("nowhere"));
    for (command, error) in [
        (Command::new("/nonexistent/program"), libc::ENOENT),
        (Command::new("no-such-program-here"), libc::ENOENT),
        (Command::new(""), libc::ENOENT),
        (Command::new(&plain), libc::EACCES),
        (Command::new(directory.path()), libc::EACCES),
        (nowhere, libc::ENOENT),
    ] {
        let name = format!("{command:?}");
        let failed = printed(command, ChildOptions::default()).unwrap_err();
        assert_eq!(failed.raw_os_error(), Some(error), "{name}");
    }
    let mut torn = Command::new("true");
    torn.env("NAME", "a\0b");
    let streams = ProgramSurroundings::default();
    assert_eq!(start_program(&torn, &streams).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}

/// The standard library says so only when it starts the program.
#[test]
fn what_has_a_zero_byte_is_left_to_the_standard_library() {
    let mut argument = Command::new("true");
    argument.arg("a\0b");
    let mut directory = Command::new("true");
    directory.current_dir("/a\0b");
    for mut command in [Command::new("tr\0ue"), argument, directory] {
        assert!(!can_start_program(&command), "{command:?}");
        assert_eq!(command.spawn().unwrap_err().kind(), std::io::ErrorKind::InvalidInput, "{command:?}");
    }
    assert!(can_start_program(&Command::new("true")));
}

#[test]
fn a_child_writes_down_who_it_is_before_it_is_the_program() {
    let record: File = tempfile::tempfile().unwrap();
    let mut command = shell("exit 0");
    command.env_clear().env("PATH", "/usr/bin:/bin");
    let surroundings = ProgramSurroundings {
        options: ChildOptions { group: true, ..ChildOptions::default() },
        record: Some(record.try_clone().unwrap()),
        ..ProgramSurroundings::default()
    };
    let started = start_program(&command, &surroundings).unwrap();
    let pid = started.id();
    started.wait().unwrap();
    let mut text = Vec::new();
    (&record).rewind().unwrap();
    (&record).read_to_end(&mut text).unwrap();
    let found = recorded_processes(&text).pop().unwrap();
    assert_eq!((found.pid, found.pgid), (pid, pid));
    assert!(found.start_time > 0);
}
