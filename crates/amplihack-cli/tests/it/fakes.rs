//! A repository with a fake of every agent, launched through the real binary, and how a fake was called in one line.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;

use amplihack_agent::AgentBinary;
use amplihack_testkit::{Bytes, Output, Record, Run, Sandbox, StdinKind};

use crate::world::{amplihack, prepare};

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
    sandbox.write("work/.git/HEAD", "ref: refs/heads/main\n");
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

/// How an agent was called: its arguments with `|` between, then ` < stdin` if that was a pipe, ` (tty)`, or nothing for
/// `/dev/null`.
pub(crate) fn shape(record: &Record) -> String {
    let words: Vec<String> = record.args().iter().map(Bytes::lossy).collect();
    let stdin = record.stdin.as_ref().map(Bytes::lossy).unwrap_or_default();
    words.join("|")
        + &match record.stdin_kind {
            StdinKind::Null => String::new(),
            StdinKind::Pipe => format!(" < {stdin}"),
            StdinKind::Tty => " (tty)".to_owned(),
            kind => format!(" ({kind:?})"),
        }
}

/// Lines of stderr that begin with `warning: `.
pub(crate) fn warnings(output: &Output) -> Vec<String> {
    output
        .stderr_text()
        .lines()
        .filter_map(|line| line.strip_prefix("warning: ").map(str::to_owned))
        .collect()
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
