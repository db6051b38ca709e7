//! Facts about processes, read from `/proc`.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::io::Errno;

/// Line of the process table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessEntry {
    /// Process id.
    pub pid: u32,
    /// The parent's process id; 0 if the parent is outside this process namespace.
    pub ppid: u32,
    /// Process group.
    pub pgid: u32,
    /// Session.
    pub sid: u32,
    /// The device number of the controlling terminal; 0 without one.
    pub terminal: u32,
    /// Clock ticks from boot to the start of the process.
    pub start_time: u64,
    /// The kernel's short name: at most 15 bytes of the program's file name, unless the process changed it.
    pub name: String,
    /// The process has ended and waits to be reaped.
    pub dead: bool,
}

impl ProcessEntry {
    /// Reads a line of `/proc/PID/stat`. `None` if it is none, or cut off.
    pub fn parse(stat: &[u8]) -> Option<Self> {
        parse_stat(stat)
    }
}

/// The file of this program; the one that stands in its place now, if another version was put there while it runs.
pub fn own_file() -> io::Result<PathBuf> {
    std::env::current_exe().map(standing_program)
}

fn standing_program(program: PathBuf) -> PathBuf {
    // The kernel's word for a name that leads elsewhere by now.
    let name = program.as_os_str().as_bytes().strip_suffix(b" (deleted)");
    let named = name.map(|name| PathBuf::from(OsStr::from_bytes(name)));
    named.filter(|_| !program.exists()).unwrap_or(program)
}

/// All processes that can be seen, in no order.
///
/// An error when the table cannot be read whole, for want of file descriptors for example: an answer without a process
/// must mean that it is gone.
pub fn list_processes() -> io::Result<Vec<ProcessEntry>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        if let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) {
            found.extend(read_process(pid)?);
        }
    }
    Ok(found)
}

fn read_process(pid: u32) -> io::Result<Option<ProcessEntry>> {
    match ProcFileText::read(&format!("/proc/{pid}/stat")) {
        Ok(stat) => Ok(parse_stat(stat.bytes())),
        // Ended between the listing and the opening, or between the opening and the reading.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The children of this process, those that wait to be reaped included. `None` where the kernel does not list them.
///
/// None is missed unless one of this process's threads that spawn, or its main thread, ends meanwhile.
pub fn list_children() -> Option<Vec<u32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()? {
        let path = thread.ok()?.path().join("children");
        let list = fs::read_to_string(path).ok()?;
        found.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    Some(found)
}

/// Reports whether the caller's thread is the first of this process, whose end is the process's.
pub fn is_main_thread() -> bool {
    rustix::thread::gettid() == rustix::process::getpid()
}

/// Returns the start of the process `pid`, in clock ticks from boot. `None` if there is no such process.
pub fn start_time(pid: u32) -> Option<u64> {
    read_process(pid).ok()?.map(|proc| proc.start_time)
}

/// The process `pid`, if it runs; one that only waits to be reaped does not.
pub fn living_process(pid: u32) -> Option<ProcessEntry> {
    read_process(pid).ok().flatten().filter(|process| !process.dead)
}

/// The parent of this process, its parent and so on, nearest first, at most `most` of them. Ends where one cannot be seen.
pub fn list_ancestors(most: usize) -> Vec<ProcessEntry> {
    let mut found: Vec<ProcessEntry> = Vec::new();
    let mut next = living_process(std::process::id()).map(|own| own.ppid);
    while let Some(above) = next.filter(|_| found.len() < most).and_then(living_process) {
        next = Some(above.ppid);
        found.push(above);
    }
    found
}

/// Reports whether the process `pid` holds the other end of the pseudo-terminal with the number `terminal`, as far as this user may see.
pub fn holds_terminal(pid: u32, terminal: u32) -> bool {
    /// Unix98 pseudo-terminals.
    const MAJOR: u32 = 136;
    let (major, minor) = ((terminal >> 8) & 0xfff, (terminal & 0xff) | ((terminal >> 12) & 0xf_ff00));
    if major != MAJOR {
        return false;
    }
    let index = format!("tty-index:\t{minor}\n");
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter(|file| fs::read_link(file.path()).is_ok_and(|to| to.ends_with("ptmx"))).any(|file| {
        let facts = format!("/proc/{pid}/fdinfo/{}", file.file_name().display());
        fs::read_to_string(facts).is_ok_and(|facts| facts.contains(&index))
    })
}

/// The kernel's name for this start of the machine; empty where it has none. Start times mean something only within one.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Reports whether the process `pid` that started at `start_time` still runs. One that waits to be reaped does not.
pub fn process_alive(pid: u32, start_time: u64) -> bool {
    living_process(pid).is_some_and(|process| process.start_time == start_time)
}

/// Reports whether the environment that the process `pid` was started with holds `entry` (`NAME=VALUE`).
///
/// False for processes whose environment this user may not read. A process that is just being exec'd has no environment
/// for a moment; that moment is waited for, which on a busy machine is as long as the process waits for its turn.
pub fn environ_has(pid: u32, entry: &[u8]) -> bool {
    /// More than the kernel lets through an exec.
    const LIMIT: u64 = 8 << 20;
    const PATIENCE: Duration = Duration::from_secs(2);
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let before = environ_bounds(pid);
        let mut bytes = Vec::new();
        let read = fs::File::open(format!("/proc/{pid}/environ"))
            .and_then(|file| file.take(LIMIT).read_to_end(&mut bytes));
        if read.is_err() || !bytes.is_empty() {
            return bytes.split(|byte| *byte == 0).any(|one| one == entry);
        }
        // Nothing is an answer only of a program that was the same all the while: a file that was opened before an exec
        // reads as empty after it.
        match environ_bounds(pid) {
            None => return false,
            Some(bounds) if bounds != (0, 0) && before == Some(bounds) => return false,
            Some(_) => std::thread::sleep(Duration::from_micros(200)),
        }
    }
    false
}

/// Returns the bounds of the environment of the living process `pid`; zeros while the kernel has yet to say it. `None` if it has none.
fn environ_bounds(pid: u32) -> Option<(u64, u64)> {
    const KERNEL_THREAD: u64 = 0x0020_0000;
    let stat = ProcFileText::read(&format!("/proc/{pid}/stat")).ok()?;
    let stat = stat.bytes();
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = String::from_utf8_lossy(stat.get(close + 1..).unwrap_or_default()).into_owned();
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<u64>().ok());
    let dead = matches!(fields.first(), Some(&("Z" | "X" | "x")));
    if dead || number(9)? & KERNEL_THREAD != 0 {
        return None;
    }
    Some((number(50)?, number(51)?))
}

/// A short file of `/proc` that the kernel makes at once: one read takes it whole.
struct ProcFileText {
    buffer: [u8; 2048],
    length: usize,
}

impl ProcFileText {
    fn read(path: &str) -> io::Result<Self> {
        let mut buffer = [0; 2048];
        let length = fs::File::open(path)?.read(&mut buffer)?;
        Ok(Self { buffer, length })
    }

    fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }
}

/// Reads a line of `/proc/PID/stat`. The name may hold blanks, parentheses and newlines: it ends at the *last* `)`.
pub(super) fn parse_stat(stat: &[u8]) -> Option<ProcessEntry> {
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(stat.get(..open)?).ok()?.trim().parse().ok()?;
    let name = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    // The numbers are proc(5)'s; the state is number 3.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let id = |field: usize| u32::try_from(number(field)?).ok();
    // The main thread of a process may end before the others: then the state is Z, and the process still runs.
    let dead = matches!(*fields.first()?, "Z" | "X" | "x") && number(20)? <= 1;
    // A device number is printed as a signed one.
    let terminal = fields.get(7 - 3)?.parse::<i32>().ok()?.cast_unsigned();
    Some(ProcessEntry {
        pid,
        ppid: id(4)?,
        pgid: id(5)?,
        sid: id(6)?,
        terminal,
        start_time: number(22)?,
        name,
        dead,
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::{
        ProcessEntry, environ_has, is_main_thread, list_children, list_processes, parse_stat, process_alive,
        standing_program, start_time,
    };

    const LINE: &str = "42 (a) b (c) Z 7 40 39 34820 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 10 11 12";

    #[test]
    fn a_program_that_was_replaced_is_found_where_it_stood() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("a program");
        let gone = dir.path().join("a program (deleted)");
        assert_eq!(standing_program(gone.clone()), program);
        assert_eq!(standing_program(program.clone()), program);
        std::fs::write(&gone, "").unwrap();
        assert_eq!(standing_program(gone.clone()), gone, "a name that is really so");
    }

    #[test]
    fn a_process_that_is_always_in_an_exec_keeps_its_environment() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("again");
        std::fs::write(&script, "exec /bin/sh \"$0\"\n").unwrap();
        let mut command = Command::new("/bin/sh");
        command.arg(&script).env_clear().env("MARK", "x").stdin(Stdio::null());
        let mut child = command.spawn().unwrap();
        let found = (0..3000).filter(|_| environ_has(child.id(), b"MARK=x")).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, 3000);
    }

    #[test]
    fn a_name_may_hold_parentheses_and_blanks() {
        let expected = ProcessEntry {
            pid: 42,
            ppid: 7,
            pgid: 40,
            sid: 39,
            terminal: 34_820,
            start_time: 987_654,
            name: "a) b (c".into(),
            dead: true,
        };
        assert_eq!(parse_stat(LINE.as_bytes()), Some(expected));
        let threads_left = LINE.replace(" 20 0 1 0 ", " 20 0 2 0 ");
        assert!(!parse_stat(threads_left.as_bytes()).unwrap().dead);
    }

    #[test]
    fn this_process_is_in_the_table_and_alive() {
        let pid = std::process::id();
        let own = list_processes().unwrap().into_iter().find(|proc| proc.pid == pid).unwrap();
        assert_eq!(Some(own.start_time), start_time(pid));
        assert!(process_alive(pid, own.start_time));
        assert!(!process_alive(pid, own.start_time + 1));
    }

    #[test]
    fn an_unreaped_child_is_not_alive_but_has_a_start_time() {
        let mut child = Command::new("cat").env("PROC_TEST", "x=y").stdin(Stdio::piped()).spawn().unwrap();
        let started = start_time(child.id()).unwrap();
        assert!(process_alive(child.id(), started));
        assert!(environ_has(child.id(), b"PROC_TEST=x=y"));
        assert!(!environ_has(child.id(), b"PROC_TEST=x"));
        drop(child.stdin.take());
        let pidfd = crate::open_pidfd(child.id(), started).unwrap();
        while crate::child_exit(&pidfd).unwrap().is_none() {
            std::thread::yield_now();
        }
        assert!(!process_alive(child.id(), started));
        assert_eq!(start_time(child.id()), Some(started));
        child.wait().unwrap();
        assert_eq!(start_time(child.id()), None);
    }

    #[test]
    fn children_are_listed_until_they_are_reaped() {
        if list_children().is_none() {
            // A kernel without that list.
            return;
        }
        let mut child = Command::new("true").spawn().unwrap();
        let found = list_children().unwrap();
        assert!(found.contains(&child.id()), "{found:?}");
        let pidfd = crate::open_pidfd(child.id(), start_time(child.id()).unwrap()).unwrap();
        while crate::child_exit(&pidfd).unwrap().is_none() {
            std::thread::yield_now();
        }
        assert!(list_children().unwrap().contains(&child.id()));
        child.wait().unwrap();
        assert!(!list_children().unwrap().contains(&child.id()));
    }

    #[test]
    fn ancestors_lead_from_the_parent_upwards() {
        let found = super::list_ancestors(64);
        assert_eq!(found.first().map(|one| one.pid), Some(std::os::unix::process::parent_id()));
        assert!(found.windows(2).all(|pair| pair[0].ppid == pair[1].pid), "{found:?}");
        assert_eq!(super::list_ancestors(1), found[..1]);
        assert_eq!(super::list_ancestors(0), []);
    }

    #[test]
    fn another_thread_is_not_the_main_thread() {
        assert!(!std::thread::spawn(is_main_thread).join().unwrap());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_stat(&bytes);
        }

        #[test]
        fn a_cut_line_is_refused(cut in 0..LINE.len() - 14) {
            prop_assert_eq!(parse_stat(&LINE.as_bytes()[..cut]), None);
        }
    }
}
