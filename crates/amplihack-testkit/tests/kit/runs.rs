//! Sandboxes are built from nothing, and every wait has an end.

use std::time::{Duration, Instant};

use amplihack_testkit::{Run, Sandbox, procs};

#[test]
fn the_environment_is_exactly_the_sandbox_s() {
    let mut sandbox = Sandbox::new();
    sandbox.set("EXTRA", "1").unset("LANG");
    let output = sandbox.run("env", [""; 0]);
    let text = output.stdout_text();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    assert_eq!(
        names,
        ["EXTRA", "FAKE_AGENT_LOG", "GIT_CEILING_DIRECTORIES", "HOME", "PATH", "TERM", "TMPDIR", "TZ"]
    );
    sandbox
        .run("pwd", [""; 0])
        .assert_stdout(format!("{}\n", sandbox.work().canonicalize().unwrap().display()));
}

#[test]
fn a_repository_is_the_same_every_time() {
    let heads = [Sandbox::repository(), Sandbox::repository()]
        .map(|sandbox| sandbox.run("git", ["rev-parse", "HEAD"]).assert_code(0).stdout_text());
    assert_eq!(heads[0], heads[1]);
    assert_eq!(heads[0].trim().len(), 40);
}

#[test]
fn a_large_stdin_does_not_block_a_large_stdout() {
    let sandbox = Sandbox::new();
    let bytes = vec![b'z'; 1_000_000];
    Run::new(sandbox.command("cat")).stdin(bytes.clone()).output().assert_code(0).assert_stdout(bytes);
}

#[test]
fn a_timeout_fails_the_test_and_leaves_no_process() {
    let sandbox = Sandbox::new();
    let marker = sandbox.marker("timeout");
    let mut command = sandbox.command("sh");
    command.arg("-c").arg("echo started; sleep 30 & sleep 30").arg(&marker).env("MARKER", &marker);
    let started = Instant::now();
    let run = std::panic::AssertUnwindSafe(Run::new(command).timeout(Duration::from_millis(300)));
    let panic = std::panic::catch_unwind(|| { run }.0.output()).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("timed out") && text.contains("started"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(10));
    procs::assert_none_soon(&marker, Duration::from_secs(2));
}

#[test]
fn an_open_stdin_stays_open_until_it_is_closed() {
    let sandbox = Sandbox::new();
    let mut running = Run::new(sandbox.command("cat")).open_stdin().spawn();
    std::thread::sleep(Duration::from_millis(100));
    assert!(running.is_running());
    running.close_stdin();
    running.wait().assert_code(0);
}

#[test]
fn a_failed_claim_shows_the_whole_end() {
    let sandbox = Sandbox::new();
    let output = sandbox.run("sh", ["-c", "echo to-out; echo to-err >&2; exit 3"]);
    let panic = std::panic::catch_unwind(|| output.assert_code(0).code).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    for part in ["expected exit code 0", "exit code 3", "to-out", "to-err"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
