//! Processes that a killed runner left: found by its list of processes and by a mark in their environment, and ended.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use amplihack_sys::{self as sys, ProcessEntry, Signal};

use crate::output::NamedProcess;

/// Pause between two looks at the table of processes while they end.
const ROUND: Duration = Duration::from_millis(20);
/// From SIGKILL until survivors are given up.
const KILL: Duration = Duration::from_secs(2);

/// Beginning of the line that names the start of the machine for the processes behind it.
const BOOT: &str = "boot ";

/// Opens the list `path`, private to this user, for processes to write themselves into ([`crate::step::StepSpool`],
/// [`RunSpec::record`](crate::RunSpec)).
///
/// # Errors
/// The system's error, if the list cannot be opened or written.
pub fn open_list(path: &Path) -> io::Result<File> {
    let mut list = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    list.write_all(boot_line().as_bytes())?;
    Ok(list)
}

/// The processes in the list `path` that may live: nothing outlives the machine's start, and its numbers are given anew then.
///
/// # Errors
/// The system's error, if the list is there and cannot be read.
pub fn listed_processes(path: &Path) -> io::Result<Vec<ProcessEntry>> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let own = boot_line();
    let mut found = Vec::new();
    let mut now = false;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(BOOT.as_bytes()) {
            now = line == own.as_bytes();
        } else if now {
            found.extend(sys::recorded_processes(line));
        }
    }
    Ok(found)
}

/// The line of this start of the machine, with the kernel's name for it; none where it has none.
fn boot_line() -> String {
    format!("{BOOT}{}\n", sys::boot_id())
}

/// Ends every process that is one of `listed`, in a group or session that one of them led, below one of these, or that carries one of
/// `marks` (`NAME=VALUE`) in its environment: SIGTERM, after `grace` SIGKILL. Blocks. Returns what would not end.
///
/// A group whose number was given to somebody else since has a leader that is not the listed one, and is left alone. The calling
/// process and those above it are never ended, whatever they carry.
///
/// # Errors
/// The system's error, if the table of processes cannot be read whole.
pub fn end_leftovers(
    listed: &[ProcessEntry],
    marks: &[String],
    grace: Duration,
) -> io::Result<Vec<NamedProcess>> {
    let begun = Instant::now();
    let mut signalled: BTreeMap<(u32, u64), Signal> = BTreeMap::new();
    loop {
        let found = find_leftovers(sys::list_processes()?, listed, marks);
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let passed = begun.elapsed();
        if passed > grace + KILL {
            return Ok(found.iter().map(NamedProcess::from).collect());
        }
        let signal = if passed >= grace { Signal::KILL } else { Signal::TERM };
        for process in &found {
            let id = (process.pid, process.start_time);
            if signal == Signal::TERM && signalled.insert(id, signal) == Some(signal) {
                continue;
            }
            let Ok(pidfd) = sys::open_pidfd(process.pid, process.start_time) else { continue };
            if let Err(error) =
                sys::send_signal(&pidfd, signal).and_then(|()| sys::send_signal(&pidfd, Signal::CONT))
            {
                tracing::warn!(pid = process.pid, name = process.name, %error, "a process cannot be signalled");
            }
        }
        std::thread::sleep(ROUND);
    }
}

fn find_leftovers(table: Vec<ProcessEntry>, listed: &[ProcessEntry], marks: &[String]) -> Vec<ProcessEntry> {
    let parents: BTreeMap<u32, u32> = table.iter().map(|process| (process.pid, process.ppid)).collect();
    let starts: BTreeMap<u32, u64> = table.iter().map(|process| (process.pid, process.start_time)).collect();
    let own = ancestors_of(std::process::id(), &parents);
    let is_listed =
        |pid: u32| listed.iter().any(|one| one.pid == pid && starts.get(&pid) == Some(&one.start_time));
    let in_group = |process: &ProcessEntry| {
        listed.iter().any(|leader| {
            leader.pid == leader.pgid
                // The session of a leader that leads one: whoever made a group of its own is in it still.
                && (leader.pgid == process.pgid || leader.pid == process.sid)
                && process.start_time >= leader.start_time
                && starts.get(&leader.pid).is_none_or(|start| *start == leader.start_time)
        })
    };
    let is_left = |process: &ProcessEntry| {
        in_group(process)
            || ancestors_of(process.pid, &parents).into_iter().any(is_listed)
            || marks.iter().any(|mark| sys::environ_has(process.pid, mark.as_bytes()))
    };
    table
        .into_iter()
        .filter(|process| !process.dead && !own.contains(&process.pid) && is_left(process))
        .collect()
}

/// `pid` and everything above it.
fn ancestors_of(mut pid: u32, parents: &BTreeMap<u32, u32>) -> Vec<u32> {
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

    use amplihack_sys::ProcessEntry;

    use super::{Write as _, end_leftovers, find_leftovers, listed_processes, open_list};

    fn proc(pid: u32, parent: u32, group: u32, start_time: u64) -> ProcessEntry {
        let (terminal, name) = (0, "p".to_owned());
        ProcessEntry { pid, ppid: parent, pgid: group, sid: group, terminal, start_time, name, dead: false }
    }

    fn pids(table: &[ProcessEntry], recorded: &[ProcessEntry]) -> Vec<u32> {
        find_leftovers(table.to_vec(), recorded, &[]).iter().map(|proc| proc.pid).collect()
    }

    #[test]
    fn a_group_is_known_by_its_leaders_start_and_descendants_are_in_it() {
        let recorded = [proc(10, 1, 10, 500)];
        let table =
            [proc(10, 1, 10, 500), proc(11, 10, 10, 510), proc(12, 11, 12, 520), proc(13, 1, 13, 600)];
        assert_eq!(pids(&table, &recorded), [10, 11, 12]);
        // The leader is gone, its group is not.
        assert_eq!(pids(&table[1..2], &recorded), [11]);
        // The number is somebody else's by now.
        let reused = [proc(10, 1, 10, 900), proc(11, 10, 10, 910)];
        assert_eq!(pids(&reused, &recorded), [0_u32; 0]);
        // Nothing that is older than the run is the run's.
        assert_eq!(pids(&[proc(11, 1, 10, 400)], &recorded), [0_u32; 0]);
        // A group of its own within the leader's session.
        let within = ProcessEntry { sid: 10, ..proc(14, 1, 14, 610) };
        assert_eq!(pids(&[within], &recorded), [14]);
        // A child that led no group owns nobody.
        assert_eq!(pids(&table[1..], &[proc(10, 1, 9, 500)]), [0_u32; 0]);
    }

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
        let stat = std::fs::read(format!("/proc/{}/stat", root.id())).unwrap();
        // Of another start of the machine.
        std::fs::write(&list, [b"boot then\n", &stat[..]].concat()).unwrap();
        assert!(listed_processes(&list).unwrap().is_empty());
        open_list(&list).unwrap().write_all(&stat).unwrap();
        let listed = listed_processes(&list).unwrap();
        assert_eq!(listed.iter().map(|one| one.pid).collect::<Vec<_>>(), [root.id()]);
        let waits = std::thread::spawn(move || [marked.wait().unwrap(), root.wait().unwrap()]);
        assert!(end_leftovers(&listed, &[mark], Duration::from_millis(200)).unwrap().is_empty());
        waits.join().unwrap();
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(listed_processes(&dir.path().join("missing")).unwrap().is_empty());
    }
}
