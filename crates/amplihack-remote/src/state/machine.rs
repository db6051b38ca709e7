//! A machine as the state file keeps it: what it is, whose, what it holds, and who is at work on it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{BackendKind, Client};

/// A machine by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Vm {
    /// Its name.
    pub name: String,
    /// Its size as its provider calls it; empty where there is none.
    #[serde(default)]
    pub size: String,
    /// Where it is; empty where that means nothing.
    #[serde(default)]
    pub region: String,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// The provider's words about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Value>,
    /// What others wrote beside it.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Whether new sessions come to a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Admission {
    /// They do.
    #[default]
    Open,
    /// They do not.
    Cordoned,
    /// They do not, and it is given up when its last one has ended.
    Draining,
}

/// What a machine was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MadeFor {
    /// One prompt that is waited for.
    Exec,
    /// Sessions of the pool.
    Pool,
}

/// Work on a machine that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The process that does it.
    pub client: Client,
    /// Since when.
    pub since: Timestamp,
}

/// How to reach a machine by ssh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// What ssh is told: `user@host`, or a name of the user's configuration.
    pub destination: String,
    /// The port, if it is not ssh's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// A machine of the pool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The machine by itself.
    pub vm: Vm,
    /// How many sessions it holds at most.
    pub capacity: usize,
    /// The sessions that it holds, in the order in which they came; never more than `capacity`.
    #[serde(default)]
    pub active_sessions: Vec<String>,
    /// Where it is, as the seed has it here once more.
    #[serde(default)]
    pub region: String,
    /// What its capacity becomes as its sessions end; `None`: it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_wanted: Option<usize>,
    /// What it is reached by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendKind>,
    /// This tool made it. Nothing else is ever deleted.
    #[serde(default)]
    pub made_by_us: bool,
    /// What it was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_for: Option<MadeFor>,
    /// What an hour of it costs, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_per_hour: Option<f64>,
    /// Whether new sessions come to it.
    #[serde(default)]
    pub admission: Admission,
    /// Since when it has held no session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<Timestamp>,
    /// It is being made. Sessions may have slots on it already, and wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub making: Option<Work>,
    /// It is being deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removing: Option<Work>,
    /// How to reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// The file that its host key is pinned in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_keys: Option<String>,
    /// The user's words to choose it by.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// What others wrote beside it.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Machine {
    /// How many slots are free.
    pub fn free(&self) -> usize {
        self.capacity.saturating_sub(self.active_sessions.len())
    }

    /// Whether a new session may come to it.
    pub(crate) fn admits(&self) -> bool {
        self.admission == Admission::Open && self.removing.is_none() && self.free() > 0
    }

    /// Gives `id` a slot, if there is one or it has one.
    pub(crate) fn take(&mut self, id: &str) -> bool {
        if !self.active_sessions.iter().any(|held| held == id) {
            if self.free() == 0 {
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
        self.settle();
        if self.active_sessions.is_empty() {
            self.idle_since = Some(now);
        }
        true
    }

    /// Brings the capacity towards what is wanted, never below what is held.
    pub(crate) fn settle(&mut self) {
        if let Some(wanted) = self.capacity_wanted {
            self.capacity = wanted.max(self.active_sessions.len());
            if self.capacity == wanted {
                self.capacity_wanted = None;
            }
        }
    }
}
