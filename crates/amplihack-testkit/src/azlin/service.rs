//! The side of the stand-in that has the network: it makes and deletes hosts for the calls of a test.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Fault, Vm};
use crate::hosts::{Handle, Spec};

/// What a call asks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum AzlinRequest {
    /// The settings, and the fault that is this command's turn.
    Begin { command: String },
    /// All machines.
    List,
    /// A new machine, after so many milliseconds, whether the call still waits or not.
    Create { vm: Box<Vm>, delay: u64 },
    /// The end of a machine, if there is one of that name.
    Delete { name: String },
    /// Power of a machine.
    Power { name: String, on: bool },
}

/// What it is told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Begin { fault: Option<Fault>, resource_group: Option<String>, bare_list: bool },
    Vms(Vec<Vm>),
    Done,
    Exists,
    NoSuchVm,
}

/// What all calls share.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) network: Handle,
    pub(super) directory: PathBuf,
    pub(super) state: Mutex<AzlinServiceState>,
    pub(super) over: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct AzlinServiceState {
    pub(super) vms: BTreeMap<String, Vm>,
    pub(super) faults: Vec<Fault>,
    pub(super) resource_group: Option<String>,
    pub(super) bare_list: bool,
    pub(super) spec: Spec,
}

impl Service {
    pub(super) fn state(&self) -> MutexGuard<'_, AzlinServiceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves calls until it is over.
    pub(super) fn serve(self: &Arc<Self>, listener: &UnixListener) {
        for stream in listener.incoming().map_while(Result::ok) {
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            let service = Arc::clone(self);
            // Each on its own: making a machine takes a while, and tests call many times at once.
            std::thread::spawn(move || service.answer(&stream));
        }
    }

    fn answer(&self, stream: &UnixStream) {
        let mut line = String::new();
        // A call that was killed has nobody to answer to.
        let _ = BufReader::new(stream).read_line(&mut line);
        let Ok(request) = serde_json::from_str(&line) else { return };
        let answer = serde_json::to_string(&self.act(request)).expect("answers are JSON");
        let _ = (&*stream).write_all(answer.as_bytes());
    }

    fn act(&self, request: AzlinRequest) -> Answer {
        match request {
            AzlinRequest::Begin { command } => {
                let mut state = self.state();
                let turn = state.faults.iter().position(|fault| fault.is_for(&command));
                let fault = turn.map(|turn| state.faults.remove(turn));
                let (resource_group, bare_list) = (state.resource_group.clone(), state.bare_list);
                Answer::Begin { fault, resource_group, bare_list }
            }
            AzlinRequest::List => Answer::Vms(self.vms()),
            AzlinRequest::Create { vm, delay } => {
                // It has its name from now on, as Azure sees it.
                let mut known = false;
                self.change(|vms| {
                    known = vms.contains_key(&vm.name);
                    vms.entry(vm.name.clone()).or_insert_with(|| (*vm).clone());
                });
                if known {
                    return Answer::Exists;
                }
                std::thread::sleep(Duration::from_millis(delay));
                let spec = self.state().spec.clone();
                let host = self.network.host_with(&vm.name, spec);
                let vm = Vm { ip: host.address(), ..*vm };
                self.change(|vms| drop(vms.insert(vm.name.clone(), vm)));
                Answer::Done
            }
            AzlinRequest::Delete { name } => {
                let known = self.state().vms.contains_key(&name);
                if let Some(host) = self.network.find(&name).filter(|_| known) {
                    host.destroy();
                }
                self.change(|vms| drop(vms.remove(&name)));
                if known { Answer::Done } else { Answer::NoSuchVm }
            }
            AzlinRequest::Power { name, on } => {
                let Some(host) = self.network.find(&name) else { return Answer::NoSuchVm };
                if on && !host.is_on() {
                    host.boot();
                } else if !on {
                    host.power_off();
                }
                Answer::Done
            }
        }
    }

    /// All machines with whether they run now.
    pub(super) fn vms(&self) -> Vec<Vm> {
        let vms: Vec<Vm> = self.state().vms.values().cloned().collect();
        let runs = |vm: &Vm| self.network.find(&vm.name).is_some_and(|host| host.is_on());
        vms.into_iter().map(|vm| Vm { running: runs(&vm), ..vm }).collect()
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Vm>)) {
        let mut state = self.state();
        change(&mut state.vms);
        let text = serde_json::to_string_pretty(&state.vms).expect("machines are JSON");
        std::fs::write(self.directory.join("state.json"), text).expect("the network's directory is writable");
    }
}

/// Asks the service whose files are in `directory`.
pub(super) fn ask(directory: &Path, request: &AzlinRequest) -> Result<Answer, String> {
    let fail = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut stream = UnixStream::connect(directory.join("socket")).map_err(fail)?;
    let line = serde_json::to_string(request).map_err(|error| error.to_string())?;
    stream.write_all(format!("{line}\n").as_bytes()).map_err(fail)?;
    let answer = std::io::read_to_string(&stream).map_err(fail)?;
    serde_json::from_str(&answer).map_err(|_| format!("no answer to {line}; the test shows why"))
}
