//! `install.sh` where something goes wrong: the home is as it was, or whole.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use amplihack_testkit::Sandbox;

use crate::installer::{PLACES, assert_installed, home, install, installer, scene};
use crate::release::{PROGRAMS, folder, name};
use crate::server::Server;

/// Runs `attack` in an empty home and in one with the old version, and claims that neither changes.
fn nothing_changes(sandbox: &Sandbox, attack: &dyn Fn()) {
    let empty = home(sandbox);
    attack();
    assert_eq!(home(sandbox), empty, "an empty home");
    install(sandbox, "old", "1.0.0", &[]).assert_code(0);
    let installed = home(sandbox);
    attack();
    assert_eq!(home(sandbox), installed, "a home with the old version");
    assert_installed(sandbox, "1.0.0");
}

#[test]
fn a_wrong_sum_changes_nothing() {
    let sandbox = scene();
    let new = sandbox.root().join("new");
    let archive = new.join(format!("{}.tar.gz", name("2.0.0")));
    let server = Server::start(&new, "");
    let wrong = "0".repeat(64);
    let damaged = |file: &Path, attack: &dyn Fn()| {
        let whole = std::fs::read(file).unwrap();
        let mut bytes = whole.clone();
        let last = bytes.len() / 2;
        bytes[last] ^= 1;
        std::fs::write(file, bytes).unwrap();
        attack();
        std::fs::write(file, whole).unwrap();
    };
    nothing_changes(&sandbox, &|| {
        let source = archive.to_str().unwrap();
        let refused = |args: &[&str]| {
            let output = installer(&sandbox, "new", args).output();
            output
                .assert_code(1)
                .assert_stderr_has("it is damaged, or not what was published; nothing was changed");
        };
        refused(&[source, "--sha256", &wrong]);
        refused(&[&server.url(), "--sha256", &wrong]);
        damaged(&archive, &|| refused(&[source]));
        damaged(&archive, &|| refused(&[&server.url()]));
        for file in ["bin/amplihack-hooks", "share/man/man1/amplihack.1"] {
            let folder = folder(&sandbox, "new", "2.0.0");
            damaged(&folder.join(file), &|| refused(&[folder.to_str().unwrap()]));
        }
    });
}

#[test]
fn a_release_that_names_files_outside_of_it_changes_nothing() {
    let sandbox = scene();
    let folder = folder(&sandbox, "new", "2.0.0");
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    nothing_changes(&sandbox, &|| {
        for outside in ["../../x", "/etc/passwd", "bin/../../x"] {
            sandbox.write(folder.join("SHA256SUMS"), format!("{}  {outside}\n{sums}", "0".repeat(64)));
            let output = install(&sandbox, "new", "2.0.0", &[]);
            output.assert_code(1).assert_stderr_has("names a file outside of the release");
        }
    });
}

#[test]
fn a_download_that_breaks_off_changes_nothing() {
    let sandbox = scene();
    let archive = Server::start(&sandbox.root().join("new"), ".tar.gz");
    let sums = Server::start(&sandbox.root().join("new"), "SHA256SUMS");
    let nothing = Server::start(&sandbox.work(), "");
    nothing_changes(&sandbox, &|| {
        for (server, file) in [(&archive, ".tar.gz"), (&sums, "SHA256SUMS"), (&nothing, "SHA256SUMS")] {
            let output = installer(&sandbox, "new", &[&server.url()]).output();
            output.assert_code(1).assert_stderr_has("failed to download http://127.0.0.1");
            output.assert_stderr_has(&format!("{file}; nothing was changed"));
        }
    });
    assert_eq!(std::fs::read_dir(sandbox.root().join("tmp")).unwrap().count(), 0, "temporary files are left");
}

#[test]
fn a_script_that_came_in_part_does_nothing() {
    let sandbox = scene();
    let script = std::fs::read_to_string(sandbox.root().join("new/install.sh")).unwrap();
    let lines: Vec<&str> = script.lines().collect();
    let source = folder(&sandbox, "new", "2.0.0");
    for count in (1..lines.len()).step_by(7) {
        let part = sandbox.write("part.sh", lines[..count].join("\n"));
        sandbox.run("sh", [&part, &source]);
        assert_eq!(home(&sandbox).len(), 0, "the first {count} lines did something");
    }
}

/// An `mv` that kills the installer, or fails, at its call number `at`.
fn breaking_mv(sandbox: &Sandbox, at: usize, how: &str) {
    sandbox.write("count", "0\n");
    let text = format!(
        "#!/bin/sh\nread -r n <'{0}'; n=$((n + 1)); echo $n >'{0}'\n[ $n != {at} ] || {{ {how}; }}\nexec /bin/mv \"$@\"\n",
        sandbox.root().join("count").display()
    );
    let path = sandbox.write("bin/mv", text);
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Claims that each program is whole, of one version or the other.
fn assert_whole(sandbox: &Sandbox, versions: &[&str]) {
    for name in PROGRAMS {
        let program = sandbox.home().join(".local/bin").join(name);
        if !program.exists() && !versions.contains(&"1.0.0") {
            continue;
        }
        let said = sandbox.run(program, ["--version"]).assert_code(0).stdout_text();
        assert!(versions.iter().any(|version| said == format!("amplihack {version}\n")), "{name}: {said}");
    }
}

#[test]
fn an_installation_that_was_killed_is_taken_back_or_done_by_the_next() {
    let sandbox = scene();
    for upgrade in [false, true] {
        for at in 1..=PLACES.len() + 4 {
            if upgrade {
                install(&sandbox, "old", "1.0.0", &[]).assert_code(0);
            }
            breaking_mv(&sandbox, at, "kill -9 $PPID; exit 1");
            let output = install(&sandbox, "new", "2.0.0", &[]);
            std::fs::remove_file(sandbox.bin().join("mv")).unwrap();
            if output.code == Some(0) {
                assert!(at > PLACES.len(), "only {at} files were put in place");
                assert_installed(&sandbox, "2.0.0");
                installer(&sandbox, "new", &["--uninstall"]).output().assert_code(0);
                continue;
            }
            output.assert_signal(9);
            assert_whole(&sandbox, if upgrade { &["1.0.0", "2.0.0"] } else { &["2.0.0"] });
            // The next one starts from what was there before the one that was killed.
            install(&sandbox, "new", "2.0.0", &[]).assert_code(0);
            assert_installed(&sandbox, "2.0.0");
            if upgrade && at <= PLACES.len() {
                installer(&sandbox, "new", &["--rollback"]).output().assert_code(0);
                assert_installed(&sandbox, "1.0.0");
            }
            installer(&sandbox, "new", &["--uninstall"]).output().assert_code(0);
            assert_eq!(home(&sandbox).len(), 0);
        }
    }
}

#[test]
fn an_installation_that_fails_takes_itself_back() {
    let sandbox = scene();
    for at in 2..=PLACES.len() {
        sandbox.write("home/.local/bin/xpia-defend", "theirs");
        let theirs = home(&sandbox);
        breaking_mv(&sandbox, at, "echo 'mv: no space left' >&2; exit 1");
        install(&sandbox, "new", "2.0.0", &["--force"]).assert_code(1).assert_stderr_has("no space left");
        assert_eq!(home(&sandbox), theirs, "call {at}, first installation");

        std::fs::remove_file(sandbox.bin().join("mv")).unwrap();
        std::fs::remove_file(sandbox.home().join(".local/bin/xpia-defend")).unwrap();
        install(&sandbox, "old", "1.0.0", &[]).assert_code(0);
        let before = home(&sandbox);
        breaking_mv(&sandbox, at, "exit 1");
        install(&sandbox, "new", "2.0.0", &[]).assert_code(1);
        assert_eq!(home(&sandbox), before, "call {at}, upgrade");
        std::fs::remove_file(sandbox.bin().join("mv")).unwrap();
        installer(&sandbox, "old", &["--uninstall"]).output().assert_code(0);
    }
}

#[test]
fn two_at_once_do_not_meet() {
    let sandbox = scene();
    install(&sandbox, "old", "1.0.0", &[]).assert_code(0);
    let own = std::process::id();
    sandbox.write("home/.local/share/amplihack/lock/pid", format!("{own}\n"));
    let output = install(&sandbox, "new", "2.0.0", &[]);
    output.assert_code(1).assert_stderr_has("another installation is at work in ");
    // One that is gone holds nothing.
    sandbox.write("home/.local/share/amplihack/lock/pid", "4194304\n");
    install(&sandbox, "new", "2.0.0", &[]).assert_code(0);
    assert_installed(&sandbox, "2.0.0");
}
