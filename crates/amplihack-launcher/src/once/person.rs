//! Check that a person is at the other end of a launch's socket: told from the process table, never from what that end claims.
//!
//! The process that asks must have a terminal, which is none of the session's and which no process of the session made; none of its
//! ancestors may belong to a session; and its ancestry must lead to something that ran before the launch and is no service that
//! starts programs for others. A program that left its parents behind has no such ancestry.

use std::collections::{BTreeMap, BTreeSet};

use amplihack_config::env::Env;
use amplihack_hooks::once::session_mark;
use amplihack_sys::{self as sys, ProcessEntry};

/// Ancestors that are looked at.
const MOST_ANCESTORS: usize = 128;

/// Programs that start others for whoever asks them, by the kernel's name.
const SERVICES: [&str; 9] =
    ["systemd", "init", "cron", "crond", "atd", "anacron", "dbus-daemon", "dbus-broker", "launchd"];

/// Programs whose terminals any program of the user can type into.
const MULTIPLEXERS: [&str; 6] = ["tmux", "screen", "SCREEN", "zellij", "dtach", "abduco"];

/// A process at the other end of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SocketPeer {
    /// Process id, as the kernel noted it when it connected.
    pub(crate) pid: u32,
    /// Clock ticks from boot to the start of the process that had this id when the connection was accepted.
    pub(crate) start_time: u64,
}

/// Reasons why nobody takes the other end for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PersonError {
    /// The process has ended.
    #[error("the program that asked has ended")]
    Gone,
    /// There is no terminal.
    #[error("it was not started in a terminal")]
    NoTerminal,
    /// A terminal of the session.
    #[error("its terminal is the session's own")]
    SessionsTerminal,
    /// The session started it, or its terminal.
    #[error("a program of the session started it")]
    OfTheSession,
    /// Another session did.
    #[error("a program of an agent's session started it")]
    OfAnotherSession,
    /// A terminal that programs type into.
    #[error("in a terminal multiplexer any program can type")]
    Multiplexer,
    /// Nothing shows where it comes from.
    #[error("it was not started by a terminal that was open before the session, or its own window")]
    Orphan,
}

/// Checks that `peer` is a person, for the launch of this process.
///
/// # Errors
/// It may be an agent.
pub(crate) fn check_person(peer: SocketPeer) -> Result<(), PersonError> {
    let table = ProcessTable::new(sys::list_processes().map_err(|_| PersonError::Gone)?);
    let own = std::process::id();
    let path = table.check_peer(peer, own)?;
    let session = table.descendants_of(own);
    let terminal = table.terminal_of(peer.pid);
    if session.iter().any(|pid| sys::holds_terminal(*pid, terminal)) {
        return Err(PersonError::OfTheSession);
    }
    let marked = |pid: &u32| Env::of_process(*pid).is_some_and(|env| session_mark(&env).is_some());
    if path.iter().any(marked) { Err(PersonError::OfAnotherSession) } else { Ok(()) }
}

/// The processes of one moment.
struct ProcessTable(BTreeMap<u32, ProcessEntry>);

impl ProcessTable {
    fn new(processes: Vec<ProcessEntry>) -> Self {
        Self(processes.into_iter().map(|process| (process.pid, process)).collect())
    }

    fn terminal_of(&self, pid: u32) -> u32 {
        self.0.get(&pid).map_or(0, |process| process.terminal)
    }

    /// The process `root` and all below it.
    fn descendants_of(&self, root: u32) -> BTreeSet<u32> {
        let mut found = BTreeSet::from([root]);
        loop {
            let more: Vec<u32> = self
                .0
                .values()
                .filter(|process| found.contains(&process.ppid) && !found.contains(&process.pid))
                .map(|process| process.pid)
                .collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }

    /// Judges `peer` for the launch whose process is `launcher`, by what the table alone shows. Returns the peer and its ancestors.
    fn check_peer(&self, peer: SocketPeer, launcher: u32) -> Result<Vec<u32>, PersonError> {
        let begin = self.0.get(&launcher).ok_or(PersonError::Gone)?.start_time;
        let asking = self.0.get(&peer.pid).filter(|found| found.start_time == peer.start_time);
        let asking = asking.ok_or(PersonError::Gone)?;
        if asking.terminal == 0 {
            return Err(PersonError::NoTerminal);
        }
        let session = self.descendants_of(launcher);
        let path = self.ancestry_of(asking, launcher, begin)?;
        if session.iter().any(|pid| self.terminal_of(*pid) == asking.terminal) {
            return Err(PersonError::SessionsTerminal);
        }
        Ok(path)
    }

    /// The ancestry of `asking`, itself first.
    fn ancestry_of(&self, asking: &ProcessEntry, launcher: u32, begin: u64) -> Result<Vec<u32>, PersonError> {
        let mut path = Vec::new();
        let mut process = asking;
        loop {
            path.push(process.pid);
            if process.pid == launcher {
                return Err(PersonError::OfTheSession);
            }
            if MULTIPLEXERS.iter().any(|name| process.name.split(':').next() == Some(name)) {
                return Err(PersonError::Multiplexer);
            }
            if process.ppid == 0 {
                // It came from outside of this process namespace, or is the first process.
                return Ok(path);
            }
            let Some(parent) = self.0.get(&process.ppid).filter(|_| path.len() < MOST_ANCESTORS) else {
                return Err(PersonError::Orphan);
            };
            let is_service = parent.pid == 1 || SERVICES.contains(&parent.name.as_str());
            if process.start_time >= begin && is_service {
                return Err(PersonError::Orphan);
            }
            process = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAUNCHER: u32 = 50;
    const BEGIN: u64 = 1000;

    fn process(pid: u32, parent: u32, terminal: u32, start_time: u64, name: &str) -> ProcessEntry {
        let name = name.to_owned();
        ProcessEntry { pid, ppid: parent, pgid: pid, sid: pid, terminal, start_time, name, dead: false }
    }

    /// A desktop on which a launch runs in terminal 1, with an agent and a tool below it.
    fn desktop() -> Vec<ProcessEntry> {
        vec![
            process(1, 0, 0, 1, "systemd"),
            process(10, 1, 0, 10, "systemd"),
            process(20, 10, 0, 100, "gnome-terminal-"),
            process(30, 20, 1, 200, "bash"),
            process(LAUNCHER, 30, 1, BEGIN, "amplihack"),
            process(60, LAUNCHER, 1, 1001, "claude"),
            process(70, 60, 0, 1002, "sh"),
        ]
    }

    fn judged(more: Vec<ProcessEntry>) -> Result<(), PersonError> {
        let asking = more.last().unwrap();
        let peer = SocketPeer { pid: asking.pid, start_time: asking.start_time };
        let table = ProcessTable::new(desktop().into_iter().chain(more).collect());
        table.check_peer(peer, LAUNCHER).map(drop)
    }

    #[test]
    fn a_person_has_another_window_or_another_login() {
        for own in [
            vec![process(80, 20, 2, 1500, "bash"), process(81, 80, 2, 1501, "amplihack")],
            vec![
                process(11, 1, 0, 20, "sshd"),
                process(80, 11, 0, 1500, "sshd-session"),
                process(81, 80, 2, 1501, "bash"),
                process(82, 81, 2, 1502, "amplihack"),
            ],
            // `docker exec`.
            vec![process(80, 0, 2, 1500, "bash"), process(81, 80, 2, 1501, "amplihack")],
        ] {
            assert_eq!(judged(own), Ok(()));
        }
    }

    #[test]
    fn nothing_that_a_session_starts_is_a_person() {
        for (why, own) in [
            (PersonError::NoTerminal, vec![process(80, 20, 0, 1500, "amplihack")]),
            (PersonError::SessionsTerminal, vec![process(80, 30, 1, 1500, "amplihack")]),
            (PersonError::OfTheSession, vec![process(80, 70, 2, 1500, "amplihack")]),
            // A terminal of its own, made by `script`.
            (
                PersonError::OfTheSession,
                vec![process(80, 70, 0, 1500, "script"), process(81, 80, 2, 1501, "amplihack")],
            ),
            // Re-parented, to the launch as the nearest that takes orphans.
            (
                PersonError::OfTheSession,
                vec![process(80, LAUNCHER, 0, 1500, "script"), process(81, 80, 2, 1501, "amplihack")],
            ),
            // Re-parented past it, or started by a service.
            (
                PersonError::Orphan,
                vec![process(80, 1, 0, 1500, "script"), process(81, 80, 2, 1501, "amplihack")],
            ),
            (
                PersonError::Orphan,
                vec![process(80, 10, 0, 1500, "script"), process(81, 80, 2, 1501, "amplihack")],
            ),
            (PersonError::Orphan, vec![process(80, 79, 2, 1500, "amplihack")]),
            (
                PersonError::Multiplexer,
                vec![
                    process(12, 1, 0, 30, "tmux: server"),
                    process(80, 12, 2, 300, "bash"),
                    process(81, 80, 2, 1501, "amplihack"),
                ],
            ),
        ] {
            assert_eq!(judged(own), Err(why));
        }
    }

    #[test]
    fn a_process_id_that_was_used_again_is_nobody() {
        let mut all = desktop();
        all.extend([process(80, 20, 2, 1500, "bash"), process(81, 80, 2, 1501, "amplihack")]);
        let peer = SocketPeer { pid: 81, start_time: 1400 };
        assert_eq!(ProcessTable::new(all).check_peer(peer, LAUNCHER), Err(PersonError::Gone));
    }
}
