//! Identity of the process of this side that is at work on something, and the check that it still lives.

use amplihack_sys as sys;
use serde::{Deserialize, Serialize};

/// Identity of a process, unique across machines and their restarts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientProcess {
    /// Process id.
    pub pid: u32,
    /// Time at which the process started, in clock ticks since boot.
    pub start_time: u64,
    /// The kernel's name for that start of the machine.
    pub boot: String,
    /// The machine's name: a home may be shared by several.
    pub host: String,
}

impl ClientProcess {
    /// The identity of the current process.
    pub fn from_current_process() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            start_time: sys::start_time(pid).unwrap_or_default(),
            boot: sys::boot_id(),
            host: host_name(),
        }
    }

    /// Reports whether the process still runs. A process of another machine cannot be looked at, and counts as alive: what it holds is
    /// not taken away on a guess.
    pub fn is_alive(&self) -> bool {
        if self.boot == sys::boot_id() {
            return sys::process_alive(self.pid, self.start_time);
        }
        self.host != host_name()
    }
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_by_its_number_its_start_and_the_machines_start() {
        let this = ClientProcess::from_current_process();
        assert!(this.is_alive());
        assert!(
            !ClientProcess { start_time: this.start_time + 1, ..this.clone() }.is_alive(),
            "its number was reused"
        );
        assert!(
            !ClientProcess { boot: "an earlier one".into(), ..this.clone() }.is_alive(),
            "the machine was restarted"
        );
        let elsewhere = ClientProcess { boot: "another".into(), host: "another".into(), ..this };
        assert!(elsewhere.is_alive(), "nobody here can tell");
    }
}
