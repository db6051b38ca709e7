//! `cargo xtask test` on a machine that lacks something: nothing outside of the checkout changes unless it was asked for.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use amplihack_testkit::{Output, Sandbox, Tmux};

const XTASK: &str = env!("CARGO_BIN_EXE_xtask");

/// A machine on which only programs of `/usr/sbin` are found, besides those that would change it: they write their words to `changes`.
fn bare_machine() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", sandbox.bin());
    // What builds is not to be reached either: a run that goes on ends there.
    sandbox.set("CARGO", sandbox.bin().join("cargo"));
    let changes = sandbox.root().join("changes");
    for name in ["apt-get", "npm", "rustup", "sudo", "cargo"] {
        let text = format!("#!/bin/sh\necho {name} \"$@\" >> '{}'\nexit 1\n", changes.display());
        let path = sandbox.write(format!("bin/{name}"), text);
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    sandbox
}

fn changes(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.root().join("changes")).unwrap_or_default()
}

fn assert_refused(output: &Output) {
    output.assert_code(1).assert_stdout("");
    let text = output.stderr_text();
    assert!(text.starts_with("the tests need what this machine does not have:\n"), "{text}");
    for part in [
        "  Debian package fish\n",
        "  Rust target x86_64-unknown-linux-musl\n",
        "apt-get install --no-install-recommends ",
        "  rustup target add x86_64-unknown-linux-musl\n",
        "nothing was built, and nothing was installed",
        "hint: run the commands above, or `cargo xtask test --system`, which runs them",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn without_a_terminal_what_is_missing_is_listed_and_nothing_runs() {
    let sandbox = bare_machine();
    for args in [&["test"][..], &["test", "--long"], &["test", "--shipped-hook"], &["nightly"]] {
        assert_refused(&sandbox.run(XTASK, args));
        assert_eq!(changes(&sandbox), "", "{args:?}");
    }
    assert_eq!(fs::read_dir(sandbox.home()).unwrap().count(), 0);
}

#[test]
fn a_selection_reports_what_is_missing_and_goes_on() {
    let sandbox = bare_machine();
    let selection = ["test", "--package", "no-such-package"];
    for args in [&selection[..], &["test", "--skip-missing"]] {
        let output = sandbox.run(XTASK, args);
        output
            .assert_code(1)
            .assert_stderr_has("missing; the tests that need it are skipped, and listed at the end");
        let changes = changes(&sandbox);
        let lines = changes.lines().filter(|line| !line.starts_with("npm ci "));
        assert!(lines.clone().count() > 0, "the build was begun");
        assert!(lines.clone().all(|line| line.starts_with("cargo build --bins ")), "{changes}");
    }
}

#[test]
fn on_a_terminal_it_asks_and_anything_but_a_clear_answer_stops() {
    if !Tmux::is_installed() {
        return;
    }
    let sandbox = bare_machine();
    sandbox.link("tmux", Path::new("/usr/bin/tmux"));
    let tmux = Tmux::new(&sandbox);
    let script = format!("'{XTASK}' test; echo ended with $?; read -r _");
    tmux.new_session("asked", "/bin/sh", ["-c", &script]);
    tmux.wait_for("asked", "or stop (N)?", Duration::from_secs(30));
    tmux.send_keys("asked", &["Enter"]);
    tmux.wait_for("asked", "ended with 1", Duration::from_secs(30));
    assert_eq!(changes(&sandbox), "");
}
