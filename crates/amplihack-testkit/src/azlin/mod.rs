//! A stand-in for `azlin`, as strict as azlin 2.7.3, whose machines are hosts of a test's network.
//!
//! It refuses what the real one refuses, in its way, and fails in the real one's ways when told to. What is left of the real one is
//! Azure. The pause between its attempts to connect again is shorter.

mod grammar;
mod play;
mod service;
mod words;

pub use play::main;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};

use crate::hosts::{Network, Spec};
use crate::{Sandbox, programs};
use service::{AzlinServiceState, Service};

/// A machine that was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vm {
    /// Its name, which is its host's name.
    pub name: String,
    /// What it belongs to.
    pub resource_group: String,
    /// Its region.
    pub location: String,
    /// Its SKU.
    pub vm_size: String,
    /// Its address.
    pub ip: String,
    /// Whether that is one for everybody.
    pub public: bool,
    /// Whether it is on.
    pub running: bool,
}

/// One way in which a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// `new`: more cores than the subscription may have. Nothing was made.
    Quota,
    /// `new`: the region has no such machine. Nothing was made.
    Capacity,
    /// `new`: the region is out of room. Nothing was made.
    Allocation,
    /// Any command: the login has expired.
    Auth,
    /// Any command: too many requests. Nothing was done.
    Throttled,
    /// `new`: the call gave up, and the machine was made nevertheless.
    TimedOut,
    /// `new`: the machine was made and reaches nothing.
    NoEgress,
    /// `kill`: the machine is gone, and not all that costs.
    Leftovers,
    /// Any command: it takes this many milliseconds longer, and works. A machine is made even if `new` is killed meanwhile.
    Slow(u64),
}

impl Fault {
    fn is_for(self, command: &str) -> bool {
        match self {
            Self::Quota | Self::Capacity | Self::Allocation | Self::TimedOut | Self::NoEgress => {
                command == "new"
            }
            Self::Leftovers => command == "kill" || command == "delete",
            Self::Auth | Self::Throttled | Self::Slow(_) => true,
        }
    }
}

/// One call, as it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AzlinCall {
    /// The words after the program's name.
    pub argv: Vec<String>,
    /// The variables that it was given.
    pub env: BTreeMap<String, String>,
}

/// A stand-in that runs. Its machines stay in the network when it ends.
#[derive(Debug)]
pub struct Azlin {
    service: Arc<Service>,
    thread: Option<JoinHandle<()>>,
}

impl Azlin {
    /// One whose machines are hosts of `network`, and whose configuration names a resource group. Its program works on the
    /// network's client side.
    pub fn start(network: &Network) -> Self {
        let directory = network.directory().join("azlin");
        std::fs::create_dir(&directory).expect("a network has one azlin");
        let script = format!(
            "#!/bin/sh\nexec '{}' '{}' \"$@\"\n",
            programs::fake_azlin_path().display(),
            directory.display()
        );
        let program = directory.join("azlin");
        std::fs::write(&program, script).expect("the network's directory is writable");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))
            .expect("a mode can be set");
        let listener = UnixListener::bind(directory.join("socket")).expect("a socket can be bound");
        let state =
            AzlinServiceState { resource_group: Some("kit-rg".to_owned()), ..AzlinServiceState::default() };
        let service = Service {
            network: network.handle(),
            directory,
            state: Mutex::new(state),
            over: AtomicBool::new(false),
        };
        let service = Arc::new(service);
        let serving = Arc::clone(&service);
        let thread = std::thread::spawn(move || serving.serve(&listener));
        Self { service, thread: Some(thread) }
    }

    /// Its program file.
    pub fn program(&self) -> PathBuf {
        self.service.directory.join("azlin")
    }

    /// Puts it into `sandbox`'s PATH.
    pub fn install(&self, sandbox: &Sandbox) -> PathBuf {
        sandbox.link("azlin", &self.program())
    }

    /// Lets the next call for which `fault` can be fail so. Several faults take their turns.
    pub fn fail(&self, fault: Fault) -> &Self {
        self.service.state().faults.push(fault);
        self
    }

    /// Faults that had no turn yet.
    pub fn faults(&self) -> Vec<Fault> {
        self.service.state().faults.clone()
    }

    /// Makes `list` answer as azlin before 2.7.0: an array.
    pub fn old_list(&self) -> &Self {
        self.service.state().bare_list = true;
        self
    }

    /// Takes the resource group out of its configuration: a call needs `--resource-group`.
    pub fn without_resource_group(&self) -> &Self {
        self.service.state().resource_group = None;
        self
    }

    /// What machines have that are made from now on.
    pub fn machines_have(&self, spec: Spec) -> &Self {
        self.service.state().spec = spec;
        self
    }

    /// All machines that there are, whether on or off.
    pub fn vms(&self) -> Vec<Vm> {
        self.service.vms()
    }

    /// The file that its machines are written to.
    pub fn state_file(&self) -> PathBuf {
        self.service.directory.join("state.json")
    }

    /// Every call so far, those that were refused included.
    pub fn calls(&self) -> Vec<AzlinCall> {
        let text = std::fs::read_to_string(calls_file(&self.service.directory)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("calls are whole")).collect()
    }

    /// How often `command` was called.
    pub fn count(&self, command: &str) -> usize {
        self.calls().iter().filter(|call| call.argv.iter().any(|word| word == command)).count()
    }
}

impl Drop for Azlin {
    fn drop(&mut self) {
        self.service.over.store(true, Ordering::Relaxed);
        // It looks whether it is over when somebody comes.
        let _ = UnixStream::connect(self.service.directory.join("socket"));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn calls_file(directory: &Path) -> PathBuf {
    directory.join("calls.jsonl")
}
