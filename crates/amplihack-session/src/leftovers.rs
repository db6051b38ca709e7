//! What a runner that was killed left running: found by its list of processes and by a mark in their environment, and ended.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use amplihack_utils::sys::{self, Proc, Signal};

use crate::outcome::Process;

/// How often the table of processes is looked at while they end.
const ROUND: Duration = Duration::from_millis(20);
/// From SIGKILL until survivors are given up.
const KILL: Duration = Duration::from_secs(2);

/// The processes that the file `list` names ([`crate::step::Spool`]), by id and start time.
pub fn listed(list: &Path) -> io::Result<Vec<(u32, u64)>> {
    match std::fs::read(list) {
        Ok(bytes) => Ok(bytes
            .split(|byte| *byte == b'\n')
            .filter_map(Proc::parse)
            .map(|found| (found.pid, found.start_time))
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Ends every process that is one of `listed`, in the group of one of them that lives, below one of these, or that carries
/// `mark` (`NAME=VALUE`) in its environment: SIGTERM, after `grace` SIGKILL. Blocks. Returns what would not end.
///
/// The calling process and those above it are never ended, whatever they carry.
pub fn end(listed: &[(u32, u64)], mark: &str, grace: Duration) -> io::Result<Vec<Process>> {
    let begun = Instant::now();
    let mut signalled: BTreeMap<(u32, u64), Signal> = BTreeMap::new();
    loop {
        let found = found(listed, mark.as_bytes())?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let passed = begun.elapsed();
        if passed > grace + KILL {
            return Ok(found.iter().map(Process::from).collect());
        }
        let signal = if passed >= grace { Signal::KILL } else { Signal::TERM };
        for process in &found {
            let id = (process.pid, process.start_time);
            if signal == Signal::TERM && signalled.insert(id, signal) == Some(signal) {
                continue;
            }
            let Ok(pidfd) = sys::open_pidfd(process.pid, process.start_time) else { continue };
            if let Err(error) = sys::send(&pidfd, signal).and_then(|()| sys::send(&pidfd, Signal::CONT)) {
                tracing::warn!(pid = process.pid, name = process.name, %error, "a process cannot be signalled");
            }
        }
        std::thread::sleep(ROUND);
    }
}

fn found(listed: &[(u32, u64)], mark: &[u8]) -> io::Result<Vec<Proc>> {
    let table = sys::processes()?;
    let parents: BTreeMap<u32, u32> = table.iter().map(|process| (process.pid, process.ppid)).collect();
    let own = ancestors(std::process::id(), &parents);
    let roots: Vec<u32> = table
        .iter()
        .filter(|process| listed.contains(&(process.pid, process.start_time)))
        .map(|process| process.pid)
        .collect();
    let is_ours = |process: &Proc| {
        roots.contains(&process.pid)
            || roots.contains(&process.pgid)
            || ancestors(process.ppid, &parents).iter().any(|above| roots.contains(above))
            || sys::environ_has(process.pid, mark)
    };
    let living = table.iter().filter(|process| !process.dead && !own.contains(&process.pid));
    Ok(living.filter(|process| is_ours(process)).cloned().collect())
}

/// `pid` and everything above it.
fn ancestors(mut pid: u32, parents: &BTreeMap<u32, u32>) -> Vec<u32> {
    let mut found = Vec::new();
    while pid != 0 && !found.contains(&pid) {
        found.push(pid);
        pid = parents.get(&pid).copied().unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::{end, listed};

    #[test]
    fn the_listed_the_marked_and_those_below_are_ended_and_nobody_else() {
        let mark = format!("LEFTOVERS_TEST=x-{}", std::process::id());
        let (name, value) = mark.split_once('=').unwrap();
        let sleeper = || {
            let mut command = Command::new("sleep");
            command.arg("600").stdin(Stdio::null());
            command
        };
        let mut marked = sleeper().env(name, value).spawn().unwrap();
        let mut other = sleeper().spawn().unwrap();
        let mut bash = Command::new("bash");
        let script = "trap '' TERM; sleep 600 & echo go; wait; wait";
        bash.args(["-c", script]).stdout(Stdio::piped()).process_group(0);
        let mut root = bash.spawn().unwrap();
        std::io::Read::read_exact(root.stdout.as_mut().unwrap(), &mut [0; 3]).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("list");
        std::fs::copy(format!("/proc/{}/stat", root.id()), &list).unwrap();
        let listed = listed(&list).unwrap();
        assert_eq!(listed[0].0, root.id());
        let waits = std::thread::spawn(move || [marked.wait().unwrap(), root.wait().unwrap()]);
        assert!(end(&listed, &mark, Duration::from_millis(200)).unwrap().is_empty());
        waits.join().unwrap();
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(super::listed(&dir.path().join("missing")).unwrap().is_empty());
    }
}
