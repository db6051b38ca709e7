//! What works inside, as outside.

use std::process::Command;
use std::time::Duration;

use amplihack_testkit::{Run, Sandbox, procs};
use rustix::process::Signal;

use super::{repository_of, sandboxed, users};

/// A shell's script in the sandbox.
fn shell(sandbox: &Sandbox, options: &[&str], script: &str) -> amplihack_testkit::Output {
    sandboxed(sandbox, None, options, &["/bin/sh", "-c", script])
}

#[test]
fn git_works_and_its_configuration_stays() {
    for user in users() {
        let sandbox = repository_of(user);
        let script = "set -e; echo a > a; git add a; git commit -qm one; git checkout -qb other; echo b >> a; git stash -q; git stash pop -q; \
                      git commit -qam two; git tag t; git checkout -q main; git rebase -q other; git gc -q; git log --format=%s";
        let output = sandboxed(&sandbox, user, &[], &["/bin/sh", "-c", script]);
        output.assert_code(0).assert_stdout("two\none\nstart\n");
        let output = sandboxed(&sandbox, user, &[], &["git", "config", "core.hooksPath", "/tmp"]);
        assert_ne!(output.code, Some(0), "{output}");
    }
}

/// The repository of an additional work tree is elsewhere: it may change, and what leads git elsewhere may not.
#[test]
fn git_works_in_an_additional_work_tree() {
    let sandbox = Sandbox::repository();
    sandbox.run("git", ["worktree", "add", "-q", "../tree"]).assert_code(0);
    let run = |script: &str| {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_amplihack"));
        command.current_dir(sandbox.root().join("tree"));
        command.args(["sandbox", "run", "--", "/bin/sh", "-c", script]);
        Run::new(command).output()
    };
    run("echo a > a && git add a && git commit -qm one && git log --format=%s").assert_stdout("one\nstart\n");
    for script in [
        "echo x > .git",
        "echo /tmp > ../work/.git/worktrees/tree/commondir",
        "echo x > ../work/.git/hooks/pre-commit",
        "mv ../work/.git/worktrees ../work/.git/moved",
    ] {
        let output = run(script);
        assert_ne!(output.code, Some(0), "{script}: {output}");
    }
    // Beside it, only a directory of the program's own is there.
    run("echo x > ../work/file");
    assert!(!sandbox.work().join("file").exists());
}

#[test]
fn streams_and_ends_pass_through() {
    let sandbox = Sandbox::repository();
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_amplihack"));
    command.args(["sandbox", "run", "--", "/bin/sh", "-c", "cat; echo e >&2; exit 7"]);
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let output = Run::new(command).stdin(bytes.clone()).output();
    output.assert_code(7).assert_stdout(bytes).assert_stderr("e\n");
    shell(&sandbox, &[], "kill -9 $$").assert_code(137);
    let missing = sandboxed(&sandbox, None, &[], &["/nonexistent/program"]);
    missing.assert_code(125).assert_stderr_has("failed to start /nonexistent/program");
}

/// Everything is gone with the sandbox's own process, whatever it was ended by.
#[test]
fn nothing_outlives_the_sandbox() {
    for signal in [Signal::KILL, Signal::TERM] {
        let sandbox = Sandbox::repository();
        let marker = sandbox.marker("left");
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_amplihack"));
        let script = format!("setsid sh -c 'trap \"\" TERM HUP; sleep 100; : {marker}' & echo started; wait");
        command.args(["sandbox", "run", "--", "/bin/sh", "-c", &script]);
        let mut running = Run::new(command).spawn();
        running.until_stdout_has("started");
        running.signal(signal);
        running.wait();
        procs::assert_none_soon(&marker, Duration::from_secs(10));
    }
    // The program's own end is the end of what it left, too.
    let sandbox = Sandbox::repository();
    let marker = sandbox.marker("left");
    shell(&sandbox, &[], &format!("setsid sh -c 'sleep 100; : {marker}' & exit 0")).assert_code(0);
    procs::assert_none(&marker);
}

#[test]
fn what_appears_under_a_protected_name_is_set_aside() {
    let sandbox = Sandbox::repository();
    let script = "mkdir -p .github/workflows && echo x > .github/workflows/ci.yml && echo '{}' > .mcp.json && echo x > other";
    let output = shell(&sandbox, &[], script);
    output.assert_code(0).assert_stderr_has(".mcp.json.set-aside").assert_stderr_has("workflows.set-aside");
    let work = sandbox.work();
    assert!(!work.join(".mcp.json").exists() && !work.join(".github/workflows").exists());
    assert!(work.join(".github/workflows.set-aside/ci.yml").exists() && work.join("other").exists());
    // Opened, it may be written.
    std::fs::create_dir_all(work.join(".github/workflows")).unwrap();
    shell(&sandbox, &["--write", ".github/workflows"], "echo x > .github/workflows/ci.yml").assert_code(0);
    assert!(work.join(".github/workflows/ci.yml").exists());
}

/// Packages are there, and what a tool does to them is gone with it.
#[test]
fn fetched_packages_can_be_changed_for_the_program_alone() {
    let sandbox = Sandbox::repository();
    sandbox.write("home/.cargo/registry/there", "old");
    let script = "cat ~/.cargo/registry/there && echo new > ~/.cargo/registry/there && cat ~/.cargo/registry/there && mkdir ~/.cargo/more";
    shell(&sandbox, &[], script).assert_code(0).assert_stdout("oldnew\n");
    let cargo = sandbox.home().join(".cargo");
    assert_eq!(std::fs::read_to_string(cargo.join("registry/there")).unwrap(), "old");
    assert!(!cargo.join("more").exists());
}

const EXPLAINED: [&str; 9] = [
    "work/file",
    "work/.vscode/settings.json",
    "work/.git/config",
    "home/file",
    "home/.ssh/id",
    "home/.cache/file",
    "victim/file",
    "opened/file",
    "home/.amplihack/record",
];

/// What `explain` says is what happens.
#[test]
fn what_is_explained_is_what_happens() {
    let sandbox = Sandbox::repository();
    for file in EXPLAINED.iter().filter(|file| !file.ends_with("config")) {
        sandbox.write(file, "x");
    }
    let options = ["--write", "../opened"];
    for mode in ["workspace", "strict"] {
        for file in EXPLAINED {
            let path = sandbox.root().join(file);
            let path = path.to_str().unwrap();
            let mut command = sandbox.command(env!("CARGO_BIN_EXE_amplihack"));
            command.args(["sandbox", "explain", "--mode", mode]).args(options).arg(path);
            let told = Run::new(command).output();
            let word = told.assert_code(0).stdout_text().split_whitespace().next().unwrap().to_owned();
            let options = [&["--mode", mode][..], &options].concat();
            let reads = shell(&sandbox, &options, &format!("cat '{path}'")).code == Some(0);
            let writes = shell(&sandbox, &options, &format!("echo y >> '{path}'")).code == Some(0);
            let changed = std::fs::read_to_string(path).unwrap().ends_with("y\n");
            let expected = match word.as_str() {
                "write" => (true, true, true),
                "read" => (true, false, false),
                "scratch" => (reads, writes, false),
                _ => (false, false, false),
            };
            assert_eq!((reads, writes, changed), expected, "{mode}, {file}: {told}");
        }
    }
}

/// Where a layer is missing, nothing runs.
#[test]
fn without_a_layer_nothing_starts() {
    let sandbox = Sandbox::repository();
    let mut command = sandbox.command("/usr/bin/unshare");
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces; '{0}' sandbox check; echo $?; '{0}' sandbox run -- touch ran; echo $?",
        env!("CARGO_BIN_EXE_amplihack")
    );
    command.args(["--user", "--map-root-user", "/bin/sh", "-c", &script]);
    let output = Run::new(command).output();
    output.assert_stdout_has("missing  namespaces").assert_stdout_has("holds    seccomp");
    assert!(output.stdout_text().contains("\n1\n125\n"), "{output}");
    output.assert_stderr_has("failed to enter new namespaces");
    assert!(!sandbox.work().join("ran").exists());
}

#[test]
fn a_workspace_that_holds_the_home_is_refused() {
    let sandbox = Sandbox::repository();
    let mut command = Command::new(env!("CARGO_BIN_EXE_amplihack"));
    command.env_clear().env("HOME", sandbox.home()).env("PATH", "/usr/bin:/bin").current_dir(sandbox.root());
    command.args(["sandbox", "run", "--", "true"]);
    Run::new(command).output().assert_code(125).assert_stderr_has("holds the home directory");
}

#[test]
fn a_sandbox_without_a_home_to_protect_is_refused() {
    let sandbox = Sandbox::repository();
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_amplihack"));
    command.env_remove("HOME").args(["sandbox", "run", "--", "true"]);
    Run::new(command).output().assert_code(125).assert_stderr_has("HOME is not set");
}

/// A home behind a link is there by that name.
#[test]
fn a_home_behind_a_link_is_found() {
    let sandbox = Sandbox::repository();
    sandbox.write("home/file", "x");
    std::os::unix::fs::symlink(sandbox.home(), sandbox.root().join("link")).unwrap();
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_amplihack"));
    command.env("HOME", sandbox.root().join("link")).args([
        "sandbox",
        "run",
        "--",
        "/bin/sh",
        "-c",
        "cat ~/file",
    ]);
    Run::new(command).output().assert_code(0).assert_stdout("x");
}

/// An environment of the workspace's own is part of it.
#[test]
fn what_a_variable_names_in_the_workspace_can_change() {
    let mut sandbox = Sandbox::repository();
    sandbox.write("work/.venv/bin/tool", "");
    let work = sandbox.work();
    sandbox.set("VIRTUAL_ENV", work.join(".venv")).set("CARGO_HOME", work.join(".cargo"));
    shell(&sandbox, &[], "echo x > .venv/bin/tool && mkdir .cargo && echo x > .cargo/file").assert_code(0);
    assert!(sandbox.work().join(".cargo/file").exists());
}

#[test]
fn keys_in_the_environment_are_passed_by_name_only() {
    let mut sandbox = Sandbox::repository();
    sandbox.set("DEPLOY_TOKEN", "canary").set("PLAIN", "plain");
    let output = shell(&sandbox, &[], "echo $DEPLOY_TOKEN:$PLAIN");
    output.assert_stdout(":plain\n").assert_stderr_has("DEPLOY_TOKEN").assert_nowhere("canary");
    shell(&sandbox, &["--env", "DEPLOY_TOKEN"], "echo $DEPLOY_TOKEN").assert_stdout("canary\n");
}

/// A stop by the terminal is one stop: continued, the program goes on.
#[test]
fn a_stopped_program_goes_on() {
    let sandbox = Sandbox::repository();
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_amplihack"));
    command.args(["sandbox", "run", "--", "/bin/sh", "-c", "echo started; sleep 1; echo done"]);
    let mut running = Run::new(command).spawn();
    running.until_stdout_has("started");
    for _ in 0..3 {
        running.signal_group(Signal::TSTP);
        std::thread::sleep(Duration::from_millis(100));
        running.signal_group(Signal::CONT);
    }
    running.wait().assert_code(0).assert_stdout("started\ndone\n");
}
