//! A program that uses the SDK is killed in the middle of a run: what of its private files is seen, stays and goes.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use amplihack_testkit::{Run, Sandbox, procs};
use rustix::process::Signal;

use crate::fake::{INIT, RESULT, program};

/// The example `held`, which cargo builds with the tests.
fn held() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.ancestors().nth(2).unwrap().join("examples/held");
    assert!(
        path.is_file(),
        "{} is missing; cargo builds it with all targets of this package",
        path.display()
    );
    path
}

/// A run of the example with `body` as its CLI.
fn run(sandbox: &Sandbox, name: &str, body: &str) -> Run {
    let cli = sandbox.bin().join(name);
    program(&cli, &format!("#!/bin/sh\n{body}\n"));
    let mut command = sandbox.command(held());
    command.arg(cli).arg(sandbox.root().join("secret"));
    Run::new(command)
}

/// The private files, by name.
fn files(place: &Path) -> Vec<PathBuf> {
    let entries = |place: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let mut files: Vec<PathBuf> = entries(place).iter().flat_map(|directory| entries(directory)).collect();
    files.sort();
    files
}

#[test]
fn private_files_of_a_killed_program_are_private_and_go_with_the_next_run() {
    let sandbox = Sandbox::new();
    let secret = sandbox.marker("secret-7d1f");
    sandbox.write("secret", &secret);
    let tmp = sandbox.root().join("tmp");

    let mut first = run(&sandbox, "amp-silent", &format!("cat >/dev/null; {INIT}; exec sleep 300")).spawn();
    first.until_stdout_has("system");
    let said = String::from_utf8(first.stdout_so_far()).unwrap();
    let cli: u32 = said.trim().split(' ').nth(1).unwrap().parse().unwrap();
    let left = files(&tmp);
    let names: Vec<_> = left.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["mcp.json", "settings.json"]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for file in &left {
        assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700), "{}", file.display());
    }
    assert!(std::fs::read_to_string(&left[0]).unwrap().contains(&secret));
    // Neither the program, nor the CLI, nor anybody else has the header or the prompt where others look.
    procs::assert_none(&secret);
    assert!(procs::one(cli).is_some(), "the CLI does not run");

    first.signal(Signal::KILL);
    first.wait();
    assert_eq!(files(&tmp), left, "somebody removed the files of a program that could not");
    procs::assert_none(&secret);

    let second = run(&sandbox, "amp-quick", &format!("cat >/dev/null; {INIT}; {RESULT}")).output();
    second.assert_code(0);
    assert_eq!(files(&tmp), Vec::<PathBuf>::new(), "the dead program's files stay");
    // A library ties no child to its host's life: the silent CLI is ours to end.
    if let Some(pid) = i32::try_from(cli).ok().and_then(rustix::process::Pid::from_raw) {
        // Or it has ended meanwhile, since nobody reads what it says.
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
    procs::assert_none_soon(&sandbox.root().display().to_string(), Duration::from_secs(10));
}
