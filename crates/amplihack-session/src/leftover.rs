//! What a run left whose owner died without ending it.

use std::io;
use std::time::Duration;

use amplihack_utils::sys::{self, Proc, Signal};

use crate::spec::SESSION_ID;

/// How often, and after what pauses, leftovers are killed before they are given up.
const ROUNDS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// Kills what is left of runs whose children wrote themselves into `record` (see [`RunSpec::record`](crate::RunSpec)) or carry one of
/// `tags`, and waits until it is gone. Returns how many processes were found. Blocks.
///
/// For runs whose owner is dead. They are known by group and start time: a group whose number was given to somebody else
/// since has a leader that is not the recorded one, and is left alone.
pub fn end_left(record: &[u8], tags: &[String]) -> io::Result<usize> {
    let recorded = sys::recorded(record);
    let tags: Vec<Vec<u8>> = tags.iter().map(|tag| format!("{SESSION_ID}={tag}").into_bytes()).collect();
    let mut found = 0;
    for round in 0..ROUNDS {
        let left = left(&sys::processes()?, &recorded, &tags);
        if left.is_empty() {
            break;
        }
        found = found.max(left.len());
        for proc in &left {
            // One that ended meanwhile is what is wanted.
            if let Ok(pidfd) = sys::open_pidfd(proc.pid, proc.start_time)
                && let Err(error) = sys::send(pidfd, Signal::KILL)
            {
                tracing::debug!(pid = proc.pid, %error, round, "a leftover cannot be killed");
            }
        }
        std::thread::sleep(PAUSE);
    }
    Ok(found)
}

/// The processes of `table` that are leftovers, and their descendants, this process never.
fn left(table: &[Proc], recorded: &[Proc], tags: &[Vec<u8>]) -> Vec<Proc> {
    let own = std::process::id();
    let of_group = |proc: &Proc| {
        recorded.iter().any(|child| {
            let leader = table.iter().find(|leader| leader.pid == child.pid);
            child.pgid == child.pid
                && proc.pgid == child.pgid
                && proc.start_time >= child.start_time
                && leader.is_none_or(|leader| leader.start_time == child.start_time)
        })
    };
    let tagged = |proc: &Proc| tags.iter().any(|tag| sys::environ_has(proc.pid, tag));
    let oldest = recorded.iter().map(|child| child.start_time).min();
    let mut found: Vec<Proc> = table
        .iter()
        .filter(|proc| proc.pid != own && !proc.dead)
        .filter(|proc| oldest.is_some_and(|oldest| proc.start_time >= oldest))
        .filter(|proc| of_group(proc) || tagged(proc))
        .cloned()
        .collect();
    let mut at = 0;
    while let Some(parent) = found.get(at).map(|proc| proc.pid) {
        at += 1;
        let more: Vec<Proc> = table
            .iter()
            .filter(|proc| proc.ppid == parent && proc.pid != own && !proc.dead)
            .filter(|proc| found.iter().all(|known| known.pid != proc.pid))
            .cloned()
            .collect();
        found.extend(more);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proc(pid: u32, parent: u32, group: u32, start_time: u64) -> Proc {
        let name = "p".to_owned();
        Proc { pid, ppid: parent, pgid: group, sid: group, start_time, name, dead: false }
    }

    fn pids(table: &[Proc], recorded: &[Proc]) -> Vec<u32> {
        left(table, recorded, &[]).iter().map(|proc| proc.pid).collect()
    }

    #[test]
    fn a_group_is_known_by_its_leaders_start_and_descendants_are_in_it() {
        let recorded = [proc(10, 1, 10, 500)];
        let table =
            [proc(10, 1, 10, 500), proc(11, 10, 10, 510), proc(12, 11, 12, 520), proc(13, 1, 13, 600)];
        assert_eq!(pids(&table, &recorded), [10, 11, 12]);
        // The leader is gone, its group is not.
        assert_eq!(pids(&table[1..], &recorded), [11, 12]);
        // The number is somebody else's by now.
        let reused = [proc(10, 1, 10, 900), proc(11, 10, 10, 910)];
        assert_eq!(pids(&reused, &recorded), [0_u32; 0]);
        // Nothing that is older than the run is the run's.
        assert_eq!(pids(&[proc(11, 1, 10, 400)], &recorded), [0_u32; 0]);
        // A child that led no group owns nobody.
        assert_eq!(pids(&table, &[proc(10, 1, 9, 500)]), [0_u32; 0]);
    }
}
