//! A machine as the state file keeps it: what it is, whose, what it holds, and who is at work on it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{BackendKind, ClientProcess};

/// A machine by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VmRecord {
    /// The name of the machine.
    pub name: String,
    /// The provider's size of the machine; empty where there is none.
    #[serde(default)]
    pub size: String,
    /// The region of the machine; empty where that means nothing.
    #[serde(default)]
    pub region: String,
    /// Time at which the machine was made; `None` if it is not known.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// The provider's words about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Value>,
    /// Fields that other programs wrote; kept as they are.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Admission of new sessions to a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MachineAdmission {
    /// New sessions come to the machine.
    #[default]
    Open,
    /// No new sessions come to the machine.
    Cordoned,
    /// No new sessions come to the machine, and it is given up when its last session has ended.
    Draining,
}

/// Purpose that a machine was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MadeFor {
    /// A single prompt that is waited for.
    Exec,
    /// Sessions of the pool.
    Pool,
}

/// Work on a machine that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineWork {
    /// The process that does it.
    pub client: ClientProcess,
    /// Since when.
    pub since: Timestamp,
}

/// Address of a machine for ssh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshAddress {
    /// Destination for ssh: `user@host`, or a name of the user's configuration.
    pub destination: String,
    /// The port, if it is not ssh's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// A machine of the pool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolMachine {
    /// The machine by itself.
    pub vm: VmRecord,
    /// Number of sessions that the machine holds at most.
    pub capacity: usize,
    /// The sessions that it holds, in the order in which they came; never more than `capacity`.
    #[serde(default)]
    pub active_sessions: Vec<String>,
    /// The region of the machine, repeated here because the seed has it in this place, too.
    #[serde(default)]
    pub region: String,
    /// The capacity that the machine gets as its sessions end; `None`: the capacity stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_wanted: Option<usize>,
    /// The backend that reaches the machine; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendKind>,
    /// Set if this tool made the machine. Nothing else is ever deleted.
    #[serde(default)]
    pub made_by_us: bool,
    /// The purpose that the machine was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_for: Option<MadeFor>,
    /// Price of the machine per hour, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_per_hour: Option<f64>,
    /// Admission of new sessions to the machine.
    #[serde(default)]
    pub admission: MachineAdmission,
    /// Since when it has held no session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<Timestamp>,
    /// The work of making the machine, while it lasts. Sessions may have slots on the machine already, and wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub making: Option<MachineWork>,
    /// The work of deleting the machine, while it lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removing: Option<MachineWork>,
    /// Address of the machine for ssh; `None`: it is reached in another way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<SshAddress>,
    /// The file that its host key is pinned in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_keys: Option<String>,
    /// The user's words to choose it by.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// Fields that other programs wrote; kept as they are.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl PoolMachine {
    /// The number of free slots.
    pub fn free_slots(&self) -> usize {
        self.capacity.saturating_sub(self.active_sessions.len())
    }

    /// Reports whether the machine may get a new session.
    pub(crate) fn is_admitting(&self) -> bool {
        self.admission == MachineAdmission::Open && self.removing.is_none() && self.free_slots() > 0
    }

    /// Gives `id` a slot, if there is one or it has one.
    pub(crate) fn take_slot(&mut self, id: &str) -> bool {
        if !self.active_sessions.iter().any(|held| held == id) {
            if self.free_slots() == 0 {
                return false;
            }
            self.active_sessions.push(id.to_owned());
        }
        self.idle_since = None;
        true
    }

    /// Takes the slot of `id` back. `false` if it had none.
    pub(crate) fn give_back(&mut self, id: &str, now: Timestamp) -> bool {
        let before = self.active_sessions.len();
        self.active_sessions.retain(|held| held != id);
        if before == self.active_sessions.len() {
            return false;
        }
        self.settle_capacity();
        if self.active_sessions.is_empty() {
            self.idle_since = Some(now);
        }
        true
    }

    /// Brings the capacity towards what is wanted, never below what is held.
    pub(crate) fn settle_capacity(&mut self) {
        if let Some(wanted) = self.capacity_wanted {
            self.capacity = wanted.max(self.active_sessions.len());
            if self.capacity == wanted {
                self.capacity_wanted = None;
            }
        }
    }
}
