//! Shell scripts as children, and marks by which a test finds its own processes.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use amplihack_session::{ChildOutput, ProcessOutput, RunSpec, run_to_end};
use amplihack_sys as sys;

/// Long enough that nothing ends by itself, short enough that nothing stays for ever.
pub(crate) const LONG: &str = "sleep 47";

pub(crate) fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// A headless run with both outputs captured, a short grace, and a tag of its own.
pub(crate) fn spec(script: &str) -> RunSpec {
    RunSpec {
        stdout: ChildOutput::Head(64 << 20),
        stderr: ChildOutput::Tail(64 << 10),
        grace: Duration::from_millis(400),
        tag: mark(),
        ..RunSpec::new(sh(script))
    }
}

/// A word that no other test and no other run of this test uses.
pub(crate) fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("session-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The living processes whose environment holds `AMPLIHACK_SESSION_ID=<tag>`.
pub(crate) fn tagged(tag: &str) -> Vec<String> {
    marked(&format!("AMPLIHACK_SESSION_ID={tag}"))
}

/// The living processes whose environment holds `entry`.
pub(crate) fn marked(entry: &str) -> Vec<String> {
    let alive = sys::list_processes().unwrap().into_iter().filter(|proc| !proc.dead);
    alive.filter(|proc| sys::environ_has(proc.pid, entry.as_bytes())).map(|proc| proc.name).collect()
}

/// Waits until `done`, at most half a minute.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30), "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn run(spec: RunSpec) -> ProcessOutput {
    block_on(run_to_end(spec)).unwrap()
}

/// Runs, and asserts that nothing of it is left.
pub(crate) fn run_clean(spec: RunSpec) -> ProcessOutput {
    let tag = spec.tag.clone();
    let outcome = run(spec);
    assert_eq!(outcome.survivors, []);
    assert_eq!(tagged(&tag), [""; 0]);
    outcome
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
