//! Which processes are in a namespace.

use std::path::Path;

use crate::procs::{self, Process};

/// All living processes whose PID namespace is `link`, as `/proc` links name it (`pid:[4026531836]`), by their ids out here.
pub(super) fn processes(link: &str) -> Vec<Process> {
    let inside = |process: &Process| {
        process.state != 'Z'
            && std::fs::read_link(format!("/proc/{}/ns/pid", process.pid))
                .is_ok_and(|found| found == Path::new(link))
    };
    procs::all().into_iter().filter(inside).collect()
}

/// Process 1 of the PID namespace `link`, by its id out here.
pub(super) fn first(link: &str) -> Option<i32> {
    processes(link).into_iter().map(|process| process.pid).find(|pid| innermost(*pid) == Some(1))
}

/// The id that `pid` has in its own namespace.
fn innermost(pid: i32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().last()?.parse().ok()
}
