//! Which process of this side is at work on something, and whether it still lives.

use amplihack_utils::sys;
use serde::{Deserialize, Serialize};

/// One process of one start of one machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Client {
    /// Its process id.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub start_time: u64,
    /// The kernel's name for that start of the machine.
    pub boot: String,
    /// The machine's name: a home may be shared by several.
    pub host: String,
}

impl Client {
    /// This process.
    pub fn this() -> Self {
        let pid = std::process::id();
        Self { pid, start_time: sys::start_time(pid).unwrap_or_default(), boot: sys::boot_id(), host: host() }
    }

    /// Whether it still runs. A process of another machine cannot be looked at, and counts as alive: what it holds is
    /// not taken away on a guess.
    pub fn is_alive(&self) -> bool {
        if self.boot == sys::boot_id() {
            return sys::process_alive(self.pid, self.start_time);
        }
        self.host != host()
    }
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_by_its_number_its_start_and_the_machines_start() {
        let this = Client::this();
        assert!(this.is_alive());
        assert!(
            !Client { start_time: this.start_time + 1, ..this.clone() }.is_alive(),
            "its number was reused"
        );
        assert!(
            !Client { boot: "an earlier one".into(), ..this.clone() }.is_alive(),
            "the machine was restarted"
        );
        let elsewhere = Client { boot: "another".into(), host: "another".into(), ..this };
        assert!(elsewhere.is_alive(), "nobody here can tell");
    }
}
