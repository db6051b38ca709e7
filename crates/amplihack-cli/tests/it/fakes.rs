//! A repository with a fake of every agent, launched through the real binary, and how a fake was called in one line.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;

use amplihack_agent::AgentBinary;
use amplihack_testkit::{Bytes, Output, Record, Run, Sandbox, StdinKind};

use crate::world::{amplihack, prepare};

/// A recipe whose agent is the fake Amplifier, and its result as JSON: behind `recipe run NAME`.
pub(crate) const RECIPE_OPTIONS: [&str; 7] =
    ["--agent", "amplifier", "--no-hooks", "-f", "json", "--progress", "none"];

/// A repository with a fake agent of each name in PATH.
pub(crate) fn fakes() -> Sandbox {
    let sandbox = bare();
    for agent in AgentBinary::ALL {
        sandbox.fake(agent.name());
    }
    sandbox
}

/// A repository without any agent: PATH holds nothing but the sandbox's own programs.
pub(crate) fn bare() -> Sandbox {
    let mut sandbox = Sandbox::new();
    // All that amplihack looks at in a repository; `git init` takes twenty times as long.
    amplihack_testkit::create_repository(&sandbox.work());
    let bin = sandbox.bin();
    sandbox.set("PATH", bin);
    sandbox
}

/// Runs `amplihack` with `args` and no stdin to success. Returns its output and how the agent was called.
#[track_caller]
pub(crate) fn launch(sandbox: &Sandbox, args: &[&str]) -> (Output, Record) {
    launched(sandbox, prepare(sandbox, args))
}

/// The same with `stdin` behind a pipe.
#[track_caller]
pub(crate) fn launch_with(sandbox: &Sandbox, args: &[&str], stdin: &str) -> (Output, Record) {
    launched(sandbox, prepare(sandbox, args).stdin(stdin))
}

/// Runs `run` to success. Returns its output and the one call of an agent in it.
#[track_caller]
pub(crate) fn launched(sandbox: &Sandbox, run: Run) -> (Output, Record) {
    forget(sandbox);
    let output = run.output();
    output.assert_code(0);
    (output, sandbox.only_run())
}

/// Runs `run`, which must end with `code`, print nothing on stdout and start no agent but for its version.
#[track_caller]
pub(crate) fn refused(sandbox: &Sandbox, run: Run, code: i32) -> Output {
    forget(sandbox);
    let output = run.output();
    output.assert_code(code).assert_stdout("");
    assert_eq!(sandbox.runs(), [], "{output}");
    output
}

/// Forgets earlier calls of agents.
pub(crate) fn forget(sandbox: &Sandbox) {
    // There may have been none.
    let _ = std::fs::remove_file(sandbox.root().join("fake-agents.jsonl"));
}

/// Features of Codex that a launch sets for its guard.
const GUARD_FEATURES: [&str; 2] = ["features.hooks=true", "features.unified_exec_tty=false"];

/// `words` without those by which a launch puts its guard into the agent, which have tests of their own.
pub(crate) fn without_guard(words: Vec<String>) -> Vec<String> {
    let mut left = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let value = words.peek().map(String::as_str).unwrap_or_default();
        let pair = match word.as_str() {
            "--plugin-dir" => value.ends_with("/hooks"),
            "--settings" => value.starts_with("{\"disableAllHooks\":false,\"env\":"),
            "-c" => value.starts_with("hooks={") || GUARD_FEATURES.contains(&value),
            _ => false,
        };
        if pair {
            words.next();
        } else {
            left.push(word);
        }
    }
    left
}

/// How an agent was called: its arguments but for the guard's with `|` between, then ` < stdin` if that was a pipe, ` (tty)`, or nothing for
/// `/dev/null`.
pub(crate) fn shape(record: &Record) -> String {
    let words = without_guard(record.args().iter().map(Bytes::lossy).collect());
    let stdin = record.stdin.as_ref().map(Bytes::lossy).unwrap_or_default();
    words.join("|")
        + &match record.stdin_kind {
            StdinKind::Null => String::new(),
            StdinKind::Pipe => format!(" < {stdin}"),
            StdinKind::Tty => " (tty)".to_owned(),
            kind => format!(" ({kind:?})"),
        }
}

/// Whether a line on stderr says what a launch of some agents always says: that it has no guard, or that its calls are not shown.
fn is_about_the_guard(line: &str) -> bool {
    line.contains("runs without a guard") || line.contains("is judged is not shown here")
}

/// Lines of stderr that begin with `warning: `, but for that of agents that have no hooks, which has a test of its own.
pub(crate) fn warnings(output: &Output) -> Vec<String> {
    output
        .stderr_text()
        .lines()
        .filter_map(|line| line.strip_prefix("warning: ").map(str::to_owned))
        .filter(|line| !is_about_the_guard(line))
        .collect()
}

/// Claims that stderr is empty, but for the line about an agent that has no hooks, which has a test of its own.
#[track_caller]
pub(crate) fn assert_quiet(output: &Output) {
    let said: Vec<_> =
        output.stderr_text().lines().filter(|line| !is_about_the_guard(line)).map(str::to_owned).collect();
    assert_eq!(said, [""; 0], "{output}");
}

/// `program` in the sandbox, to be given arguments.
pub(crate) fn prepare_program(sandbox: &Sandbox, program: &str) -> Run {
    Run::new(sandbox.command(program))
}

/// Whether file permissions and mounts are no obstacle to this test.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// `amplihack` with `args`, held to the permissions of files although it may run as root.
pub(crate) fn without_privilege(sandbox: &Sandbox, args: &[&str]) -> Run {
    unprivileged(sandbox, amplihack()).args(args)
}

/// `program` in the sandbox, to be given arguments, held to the permissions of files although it may run as root.
pub(crate) fn unprivileged(sandbox: &Sandbox, program: impl AsRef<OsStr>) -> Run {
    if !is_root() {
        return Run::new(sandbox.command(program));
    }
    let drop = "-dac_override,-dac_read_search";
    let run = prepare_program(sandbox, "/usr/bin/setpriv");
    run.arg(format!("--inh-caps={drop}")).arg(format!("--bounding-set={drop}")).arg(program)
}
