//! What a process that lives long holds while its work goes on: memory, files, children.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use amplihack_testkit::Running;

/// A usual look at one piece of work may see so much more than at another. What leaks grows with each piece.
const CHANCE: usize = 2;
/// How often is looked.
const TICK: Duration = Duration::from_millis(5);

/// Holdings of a process at one moment, or its usual ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Memory of its own that is resident, in KiB. Pages of files are the system's to keep or drop.
    pub memory: u64,
    /// Open files.
    pub files: usize,
    /// Children, those that wait to be reaped among them.
    pub children: usize,
}

impl Held {
    /// By the process `pid` now; `None` if it has ended.
    fn by(pid: i32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let memory = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        let memory = memory.trim().strip_suffix(" kB")?.parse().ok()?;
        let mut children = 0;
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
            let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            children += list.split_whitespace().count();
        }
        Some(Self { memory, files: std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count(), children })
    }

    /// The median of each part of `looks`.
    fn median(looks: &[Self]) -> Self {
        fn middle<T: Copy + Default + Ord>(looks: &[Held], part: impl Fn(&Held) -> T) -> T {
            let mut values: Vec<T> = looks.iter().map(part).collect();
            values.sort_unstable();
            values.get(values.len() / 2).copied().unwrap_or_default()
        }
        Self {
            memory: middle(looks, |held| held.memory),
            files: middle(looks, |held| held.files),
            children: middle(looks, |held| held.children),
        }
    }
}

/// Usual holdings of a process in the quarters of its work.
///
/// The most that it held tells little: pieces of work that go on at once have their greatest moments together, or not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quarters([Held; 4]);

impl Quarters {
    /// Watches a program to its end. `done` says how much of `whole` it has done.
    pub(super) fn of(running: &mut Running, whole: usize, done: impl Fn() -> usize) -> Self {
        let mut looks: [Vec<Held>; 4] = Default::default();
        while running.is_running() {
            let quarter = (done() * 4 / whole).min(3);
            looks[quarter].extend(Held::by(running.pid().as_raw_nonzero().get()));
            sleep(TICK);
        }
        Self(looks.map(|looks| Held::median(&looks)))
    }

    /// Claims that the last quarter held no more than the second: the first is for what is made once. Memory may be `allowance` KiB more.
    ///
    /// `at_once` pieces of work share the process.
    pub(super) fn assert_level(&self, allowance: u64, at_once: usize) {
        let [_, second, _, last] = self.0;
        assert!(second.memory > 0 && last.memory > 0, "it was too quick to be seen: {self}");
        assert!(last.memory <= second.memory + allowance, "its memory grows: {self}");
        let chance = CHANCE + at_once;
        assert!(last.files <= second.files + chance, "its open files grow: {self}");
        assert!(last.children <= second.children + chance, "its children grow: {self}");
    }
}

impl fmt::Display for Quarters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, second, _, last] = self.0;
        write!(
            f,
            "memory {} KiB in the second quarter, {} KiB in the last; files {}, {}; children {}, {}",
            second.memory, last.memory, second.files, last.files, second.children, last.children
        )
    }
}
