//! Machines for sessions: those that are configured, those that are rented, and whether they have what sessions need.

use std::collections::{BTreeMap, BTreeSet};

use crate::azlin::{self, PREFIX, REGION, Vm, Wanted, machine_name, price};
use crate::backend::Backend;
use crate::client::answers::HostReport;
use crate::client::ask::ask_each;
use crate::client::ground::{Ground, now};
use crate::client::{Client, invalid};
use crate::error::{ErrorContext, RemoteError};
use crate::hosts::Scheduler;
use crate::pool::Found;
use crate::protocol::{Probe, VERSION};
use crate::state::{Address, Machine, State};

/// Who logs in on rented machines.
const ADMIN: &str = "azureuser";
/// How many sessions this machine holds at once.
const CAPACITY_HERE: usize = 4;
/// Less room than this on a machine is too little.
const ROOM_MB: u64 = 512;

impl Client {
    /// The machines of the configuration that `backend` has and that this call may use.
    pub(crate) fn configured(&self, backend: Backend) -> Result<Vec<Machine>, RemoteError> {
        let machine = |name: &str, capacity: usize, labels: &[String], address: Option<Address>| Machine {
            vm: crate::state::Vm { name: name.to_owned(), ..Default::default() },
            capacity,
            backend: Some(backend),
            labels: labels.iter().cloned().collect(),
            address,
            ..Machine::default()
        };
        let all: Vec<Machine> = match backend {
            Backend::Azlin => Vec::new(),
            Backend::Local => vec![machine(HERE, CAPACITY_HERE, &[], None)],
            Backend::Ssh | Backend::Slurm => {
                let scheduler = (backend == Backend::Slurm).then_some(Scheduler::Slurm);
                let hosts = self.hosts.hosts.iter().filter(|(_, host)| host.scheduler == scheduler);
                let mut all: Vec<Machine> = hosts
                    .map(|(name, host)| {
                        let destination = host.address.clone().unwrap_or_else(|| name.clone());
                        let address = Address { destination, port: host.port };
                        machine(name, host.capacity(), &host.labels, Some(address))
                    })
                    .collect();
                if all.is_empty() && backend == Backend::Slurm {
                    all.push(machine(HERE_SLURM, 1000, &[], None));
                }
                all
            }
        };
        let wanted = |machine: &Machine| {
            self.host.as_ref().is_none_or(|host| *host == machine.vm.name)
                && self.labels.iter().all(|label| machine.labels.contains(label))
        };
        let fits: Vec<Machine> = all.into_iter().filter(wanted).collect();
        if fits.is_empty() && backend != Backend::Azlin {
            let file = crate::hosts::Hosts::file(&self.process).unwrap_or_default();
            let context = ErrorContext::new(format!("no machine of the backend {backend} fits"));
            let hint =
                format!("name it in {}: [hosts.NAME], with address, capacity and labels", file.display());
            return Err(RemoteError::Validation(context.with("hint", hint)));
        }
        Ok(fits)
    }

    /// Asks machines at the same time what they have.
    pub(crate) async fn probe(
        &self,
        ground: &Ground,
        machines: Vec<Machine>,
    ) -> BTreeMap<String, Result<Probe, RemoteError>> {
        let programs = self.programs();
        ask_each(machines.into_iter().map(|machine| {
            let (far, programs) = (ground.far(&machine), programs.clone());
            (machine.vm.name, async move { far.probe(&programs).await })
        }))
        .await
    }

    /// What a machine misses, with what to do about it.
    pub(crate) fn problems(&self, probe: &Probe) -> Vec<String> {
        let mut problems = Vec::new();
        if probe.protocol != VERSION {
            problems.push(format!(
                "its runner speaks version {} of the protocol, and this amplihack {VERSION}",
                probe.protocol
            ));
        }
        for program in self.programs() {
            if probe.programs.iter().any(|(name, version)| name == program && version.is_some()) {
                continue;
            }
            if program == "amplihack" && self.upload.is_some() {
                continue;
            }
            problems
                .push(format!("{program} is missing; install it there: {}", self.how_to_install(program)));
        }
        if probe.free_mb < ROOM_MB {
            problems.push(format!("its disk has {} MB free, and a session needs {ROOM_MB}", probe.free_mb));
        }
        problems
    }

    fn how_to_install(&self, program: &str) -> String {
        let profile = amplihack_agent::profile(self.agent);
        match program {
            "amplihack" => "cargo install --path crates/amplihack-cli, or give --upload here".to_owned(),
            _ if program == profile.program => profile.install_hint.to_owned(),
            other => format!("apt-get install {other}"),
        }
    }

    /// Says what machines have, and what sessions would miss there.
    pub async fn doctor(&self, state_file: Option<&std::path::Path>) -> Result<Vec<HostReport>, RemoteError> {
        let backend = self.backend()?;
        let ground = self.ground(state_file)?;
        let mut machines = self.configured(backend)?;
        if backend == Backend::Azlin {
            machines
                .extend(ground.read()?.vm_pool.into_values().filter(|known| known.backend == Some(backend)));
        }
        let answers = self.probe(&ground, machines).await;
        Ok(answers.into_iter().map(|(host, answer)| self.report(host, answer)).collect())
    }

    fn report(&self, host: String, answer: Result<Probe, RemoteError>) -> HostReport {
        match answer {
            Err(error) => {
                let hint = error.fact("hint").map(|hint| format!("; {hint}")).unwrap_or_default();
                HostReport { host, facts: Vec::new(), problems: vec![format!("{error}{hint}")] }
            }
            Ok(probe) => {
                let mut facts = vec![format!(
                    "{}, {} processors, {} MB of memory, {} MB free",
                    probe.machine, probe.cores, probe.memory_mb, probe.free_mb
                )];
                let found =
                    probe.programs.iter().filter_map(|(name, version)| Some((name, version.as_ref()?)));
                facts.extend(found.map(|(name, version)| format!("{name}: {version}")));
                HostReport { host, facts, problems: self.problems(&probe) }
            }
        }
    }

    /// The programs that a session of this client needs on its machine.
    pub(crate) fn programs(&self) -> Vec<&'static str> {
        vec!["git", "tar", "gzip", "amplihack", amplihack_agent::profile(self.agent).program]
    }

    /// Where machines are rented.
    pub(crate) fn region(&self, asked: Option<&str>) -> String {
        let named = asked.map(str::to_owned).or_else(|| self.process.text("AZURE_REGION").map(str::to_owned));
        named.filter(|region| !region.trim().is_empty()).unwrap_or_else(|| REGION.to_owned())
    }

    /// A name for a machine to be made.
    pub(crate) fn new_machine_name(&self, state: &State) -> String {
        let user = self.process.text("USER").or_else(|| self.process.text("LOGNAME")).unwrap_or("user");
        machine_name(user, now(), |name| state.vm_pool.contains_key(name))
    }

    /// Makes the machine `name`, which stands in the state as being made by this process.
    pub(crate) async fn make(
        &self,
        ground: &Ground,
        name: &str,
        extra: &[String],
        port: Option<u16>,
    ) -> Result<(), RemoteError> {
        let (size, region) = {
            let state = ground.read()?;
            let machine = state
                .vm_pool
                .get(name)
                .ok_or_else(|| invalid(format!("machine '{name}' is not in the pool")))?;
            (machine.vm.size.clone(), machine.region.clone())
        };
        self.say(&format!("renting {name}: {size} in {region}, {}", azlin::price_text(&size)));
        let (mut asked, mut there) = (size.as_str(), region.as_str());
        if amplihack_utils::sabotage::active("remote-vm-size") {
            asked = "Standard_B1s";
        }
        if amplihack_utils::sabotage::active("remote-vm-region") {
            there = "nowhere";
        }
        let wanted = Wanted { name, size: asked, region: there, extra };
        match self.azlin(ground.azlin_runner()).make(&wanted).await {
            Ok(vm) => {
                let done = ground.change(|state| state.made(name, found(&vm, port, &size), now()));
                // Somebody gave it up meanwhile: it must not stay.
                if done.is_err() {
                    self.azlin(ground.azlin_runner()).delete(name).await?;
                }
                done
            }
            Err(error) if error.fact("maybe_made").is_some() => Err(error),
            Err(error) => {
                ground.change(|state| state.not_made(name, now()))?;
                Err(error)
            }
        }
    }

    /// Gives the machine `name` back, if nothing keeps it: this tool made it, nobody uses it, its results are here.
    pub(crate) async fn give_back(
        &self,
        ground: &Ground,
        name: &str,
        discard: bool,
    ) -> Result<(), RemoteError> {
        let begun = ground.change(|state| Ok(state.begin_removal(name, discard, &ground.me, now())))?;
        if let Err(kept) = begun {
            let context = ErrorContext::new(format!("{name} is kept: {kept}"));
            return Err(RemoteError::Cleanup(context.with("vm", name).with("reason", "kept")));
        }
        match self.azlin(ground.azlin_runner()).delete(name).await {
            Ok(()) => ground.change(|state| state.removed(name, now())),
            Err(error) => {
                ground.change(|state| {
                    state.not_removed(name);
                    Ok(())
                })?;
                Err(error)
            }
        }
    }
}

/// This machine, as a place for sessions.
const HERE: &str = "local";
/// This machine, as the door to a cluster.
const HERE_SLURM: &str = "slurm";

/// What the state is told of a machine that azlin lists.
pub(crate) fn found(vm: &Vm, port: Option<u16>, size: &str) -> Found {
    let address = match port.filter(|_| !amplihack_utils::sabotage::active("remote-vm-port")) {
        // The tunnel's near end is on this machine.
        Some(port) => Some(Address { destination: format!("{ADMIN}@127.0.0.1"), port: Some(port) }),
        None => vm.address().map(|ip| Address { destination: format!("{ADMIN}@{ip}"), port: None }),
    };
    Found { address, usd_per_hour: price(size), ..Found::default() }
}

/// Machines of ours that azlin lists and nobody here knows: they cost money.
pub(crate) fn orphans(listed: &[Vm], state: &State) -> BTreeSet<String> {
    let ours = listed.iter().filter(|vm| vm.name.starts_with(PREFIX));
    ours.filter(|vm| !state.vm_pool.contains_key(&vm.name)).map(|vm| vm.name.clone()).collect()
}
