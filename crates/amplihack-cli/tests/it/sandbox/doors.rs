//! Doors that were found: each leads out, or has somebody outside run or obey what was made inside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use amplihack_testkit::{Output, Run, Sandbox};

fn shell(sandbox: &Sandbox, script: &str) -> Output {
    super::sandboxed(sandbox, None, &[], &["/bin/sh", "-c", script])
}

/// Nothing is renamed behind a link: the link itself is set aside.
#[test]
fn settings_of_the_user_stay_where_they_are() {
    let sandbox = Sandbox::repository();
    sandbox.write("home/.claude/settings.json", "{}");
    shell(&sandbox, "ln -s ~/.claude .claude").assert_code(0).assert_stderr_has(".claude.set-aside");
    assert!(sandbox.home().join(".claude/settings.json").exists());
    assert!(!sandbox.work().join(".claude").exists());
}

/// Git is led nowhere else, by whatever name, in one run or in two.
#[test]
fn git_is_led_nowhere_else() {
    let home = |sandbox: &Sandbox| sandbox.home().join(".bashrc");
    for script in [
        "echo \"$HOME\" > .git/commondir",
        "mv .git/HEAD h; echo \"gitdir: $HOME\" > .git/gitdir; mv h .git/HEAD",
    ] {
        let sandbox = Sandbox::repository();
        shell(&sandbox, script);
        sandbox.run("git", ["status", "--short"]).assert_code(0);
        shell(&sandbox, "echo x > ~/.bashrc");
        assert!(!home(&sandbox).exists(), "{script}");
        assert!(!sandbox.work().join(".git/commondir").exists(), "{script}");
    }
    // A directory without a repository does not become one that is somewhere else.
    let sandbox = Sandbox::new();
    shell(&sandbox, "echo \"gitdir: $HOME\" > .git").assert_stderr_has(".git.set-aside");
    // A file that leads to a home, as an archive could bring it, opens nothing.
    let sandbox = Sandbox::new();
    for file in ["home/HEAD", "home/objects/x", "home/refs/x"] {
        sandbox.write(file, "ref: refs/heads/main\n");
    }
    sandbox.write("work/.git", format!("gitdir: {}\n", sandbox.home().display()));
    shell(&sandbox, "echo x > ~/.bashrc");
    assert!(!home(&sandbox).exists());
}

/// Protected names keep their content behind links, in submodules, in other work trees and where git's configuration says.
#[test]
fn protected_names_are_found_wherever_they_are() {
    let prepare = |sandbox: &Sandbox| {
        for (file, text) in [
            ("work/cfg/mcp.json", "old"),
            ("work/cfg/settings.json", "old"),
            ("work/.githooks/pre-commit", "old"),
            ("work/shared.config", "old"),
            ("work/.git/modules/a/b/HEAD", "old"),
            ("work/.git/modules/a/b/config", "old"),
            ("work/.git/worktrees/x/commondir", "old"),
            ("work/.git/worktrees/x/HEAD", "old"),
        ] {
            sandbox.write(file, text);
        }
        symlink("cfg/mcp.json", sandbox.work().join(".mcp.json")).unwrap();
        symlink("cfg", sandbox.work().join(".claude")).unwrap();
        sandbox.run("git", ["config", "core.hooksPath", ".githooks"]).assert_code(0);
        sandbox.run("git", ["config", "include.path", "../shared.config"]).assert_code(0);
    };
    for name in [
        ".mcp.json",
        "cfg/mcp.json",
        ".claude/settings.json",
        ".githooks/pre-commit",
        "shared.config",
        ".git/modules/a/b/config",
        ".git/worktrees/x/commondir",
    ] {
        let sandbox = Sandbox::repository();
        prepare(&sandbox);
        let output = shell(&sandbox, &format!("echo new > {name}"));
        assert_ne!(output.code, Some(0), "{name}: {output}");
        assert_eq!(fs::read_to_string(sandbox.work().join(name)).unwrap(), "old", "{name}");
    }
}

/// A repository whose directory is elsewhere in the work tree, or that has no work tree.
#[test]
fn a_repository_is_protected_by_whatever_name() {
    let separate = Sandbox::new();
    separate.run("git", ["init", "-q", "--separate-git-dir=real", "."]).assert_code(0);
    let bare = Sandbox::new();
    bare.run("git", ["init", "-q", "--bare", "."]).assert_code(0);
    let linked = Sandbox::repository();
    fs::rename(linked.work().join(".git"), linked.work().join("real")).unwrap();
    symlink("real", linked.work().join(".git")).unwrap();
    for (sandbox, directory) in [(&separate, "real"), (&bare, "."), (&linked, "real")] {
        let config = Path::new(directory).join("config");
        let before = fs::read(sandbox.work().join(&config)).unwrap();
        for name in ["config", "hooks/pre-commit"] {
            let output = shell(sandbox, &format!("echo x >> {directory}/{name}"));
            assert_ne!(output.code, Some(0), "{directory}/{name}: {output}");
        }
        assert_eq!(fs::read(sandbox.work().join(&config)).unwrap(), before);
        assert!(!sandbox.work().join(directory).join("hooks/pre-commit").exists());
    }
}

/// Descriptors lead round every mount.
#[test]
fn nothing_but_the_streams_is_passed_on() {
    let sandbox = Sandbox::repository();
    let outside = sandbox.write("outside/file", "");
    let amplihack = env!("CARGO_BIN_EXE_amplihack");
    let run = |script: String| {
        let mut command = sandbox.command("/bin/bash");
        command.args(["-c", &script]);
        Run::new(command).stdin_as_given().output()
    };
    run(format!("exec 7>>'{}'; '{amplihack}' sandbox run -- sh -c 'echo x >&7'", outside.display()));
    run(format!(
        "exec 8<'{}'; '{amplihack}' sandbox run -- sh -c 'cd /proc/self/fd/8 && chmod 777 file'",
        sandbox.root().join("outside").display()
    ));
    assert_eq!(fs::read_to_string(&outside).unwrap(), "");
    let output =
        run(format!("'{amplihack}' sandbox run -- true < '{}'", sandbox.root().join("outside").display()));
    output.assert_code(125).assert_stderr_has("one of its streams is a directory");
}

/// What lies beside programs of the home is not theirs.
#[test]
fn a_strict_sandbox_shows_no_key() {
    let mut sandbox = Sandbox::repository();
    for file in
        ["home/.local/share/keyrings/login", "home/.ssh/id", "home/run.sh", "home/.claude/.credentials.json"]
    {
        sandbox.write(file, "echo KEY\n");
    }
    fs::create_dir_all(sandbox.home().join(".local/bin")).unwrap();
    let path = format!("{}:/usr/bin:/bin", sandbox.home().join(".local/bin").display());
    sandbox.set("PATH", path);
    let script = "cat ~/.local/share/keyrings/login ~/.ssh/id ~/.claude/.credentials.json";
    for options in [&["--mode", "strict"][..], &[], &["--mode", "strict", "--read", "../home"]] {
        let output = super::sandboxed(&sandbox, None, options, &["/bin/sh", "-c", script]);
        output.assert_nowhere("KEY");
    }
    // A program that is named opens itself, and nothing beside it.
    let program = sandbox.home().join("run.sh");
    let mut chmod = Command::new("/bin/chmod");
    chmod.arg("+x").arg(&program);
    Run::new(chmod).output().assert_code(0);
    sandbox.write("home/run.sh", "#!/bin/sh\necho ran; cat ~/.ssh/id\n");
    let output = super::sandboxed(&sandbox, None, &["--mode", "strict"], &[program.to_str().unwrap()]);
    output.assert_stdout_has("ran").assert_nowhere("KEY");
}

/// A file that somebody outside puts in a protected one's place takes the mount away that held it.
#[test]
fn what_somebody_outside_changes_meanwhile_is_told() {
    let sandbox = Sandbox::repository();
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_amplihack"));
    command.args(["sandbox", "run", "--", "/bin/sh", "-c", "echo started; sleep 0.5"]);
    let mut running = Run::new(command).spawn();
    running.until_stdout_has("started");
    sandbox.run("git", ["config", "user.name", "other"]).assert_code(0);
    running.wait().assert_code(0).assert_stderr_has(".git/config was changed while the command ran");
}
