//! Machines for sessions: those that are configured, those that are rented, and whether they have what sessions need.

use std::collections::{BTreeMap, BTreeSet};

use crate::azlin::{self, AzlinVm, AzlinVmRequest, PREFIX, REGION, hourly_price, machine_name};
use crate::backend::Backend;
use crate::client::answers::HostReport;
use crate::client::ask::ask_each;
use crate::client::context::{RemoteContext, current_time};
use crate::client::{Client, invalid_input};
use crate::error::{ErrorContext, RemoteError};
use crate::hosts::HostScheduler;
use crate::pool::PoolMachineFacts;
use crate::protocol::{RemoteProbe, VERSION};
use crate::state::{PoolMachine, RemoteState, SshAddress};

/// Login user on rented machines.
const ADMIN: &str = "azureuser";
/// Number of sessions that the local machine holds at once.
const CAPACITY_HERE: usize = 4;
/// Less room than this on a machine is too little.
const ROOM_MB: u64 = 512;

impl Client {
    /// The machines of the configuration that `backend` has and that this call may use.
    pub(crate) fn configured_machines(&self, backend: Backend) -> Result<Vec<PoolMachine>, RemoteError> {
        let machine =
            |name: &str, capacity: usize, labels: &[String], address: Option<SshAddress>| PoolMachine {
                vm: crate::state::VmRecord { name: name.to_owned(), ..Default::default() },
                capacity,
                backend: Some(backend),
                labels: labels.iter().cloned().collect(),
                address,
                ..PoolMachine::default()
            };
        let all: Vec<PoolMachine> = match backend {
            Backend::Azlin => Vec::new(),
            Backend::Local => vec![machine(HERE, CAPACITY_HERE, &[], None)],
            Backend::Ssh | Backend::Slurm => {
                let scheduler = (backend == Backend::Slurm).then_some(HostScheduler::Slurm);
                let hosts = self.hosts.hosts.iter().filter(|(_, host)| host.scheduler == scheduler);
                let mut all: Vec<PoolMachine> = hosts
                    .map(|(name, host)| {
                        let destination = host.address.clone().unwrap_or_else(|| name.clone());
                        let address = SshAddress { destination, port: host.port };
                        machine(name, host.capacity(), &host.labels, Some(address))
                    })
                    .collect();
                // Without a host, `sbatch` of this machine is used; the cluster has its own queue, so that the capacity is only a bound.
                if all.is_empty() && backend == Backend::Slurm {
                    all.push(machine(HERE_SLURM, 1000, &[], None));
                }
                all
            }
        };
        let wanted = |machine: &PoolMachine| {
            self.host.as_ref().is_none_or(|host| *host == machine.vm.name)
                && self.labels.iter().all(|label| machine.labels.contains(label))
        };
        let fits: Vec<PoolMachine> = all.into_iter().filter(wanted).collect();
        if fits.is_empty() && backend != Backend::Azlin {
            let file = crate::hosts::RemoteHosts::file_path(&self.process).unwrap_or_default();
            let context = ErrorContext::new(format!("no machine of the backend {backend} fits"));
            let hint =
                format!("name it in {}: [hosts.NAME], with address, capacity and labels", file.display());
            return Err(RemoteError::Validation(context.with_fact("hint", hint)));
        }
        Ok(fits)
    }

    /// Asks machines at the same time what they have.
    pub(crate) async fn probe_machines(
        &self,
        ground: &RemoteContext,
        machines: Vec<PoolMachine>,
    ) -> BTreeMap<String, Result<RemoteProbe, RemoteError>> {
        let programs = self.required_programs();
        ask_each(machines.into_iter().map(|machine| {
            let (far, programs) = (ground.far_side(&machine), programs.clone());
            (machine.vm.name, async move { far.probe_machine(&programs).await })
        }))
        .await
    }

    /// The requirements of sessions that a machine does not meet, with what to do about each.
    pub(crate) fn machine_problems(&self, probe: &RemoteProbe) -> Vec<String> {
        let mut problems = Vec::new();
        if probe.protocol != VERSION {
            problems.push(format!(
                "its runner speaks version {} of the protocol, and this amplihack {VERSION}",
                probe.protocol
            ));
        }
        for program in self.required_programs() {
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
        let profile = amplihack_agent::agent_profile(self.agent);
        match program {
            "amplihack" => "cargo install --path crates/amplihack-cli, or give --upload here".to_owned(),
            _ if program == profile.program => profile.install_hint.to_owned(),
            other => format!("apt-get install {other}"),
        }
    }

    /// Says what machines have, and what sessions would miss there.
    ///
    /// # Errors
    /// `Validation` where no backend is chosen, no configured machine fits, or the environment or the state file cannot be used. A machine
    /// that cannot be asked is no error: its report says so.
    pub async fn check_machines(
        &self,
        state_file: Option<&std::path::Path>,
    ) -> Result<Vec<HostReport>, RemoteError> {
        let backend = self.required_backend()?;
        let ground = self.open_context(state_file)?;
        let mut machines = self.configured_machines(backend)?;
        if backend == Backend::Azlin {
            machines.extend(
                ground.read_state()?.vm_pool.into_values().filter(|known| known.backend == Some(backend)),
            );
        }
        let answers = self.probe_machines(&ground, machines).await;
        Ok(answers.into_iter().map(|(host, answer)| self.machine_report(host, answer)).collect())
    }

    fn machine_report(&self, host: String, answer: Result<RemoteProbe, RemoteError>) -> HostReport {
        match answer {
            Err(error) => {
                let hint = error.get_fact("hint").map(|hint| format!("; {hint}")).unwrap_or_default();
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
                HostReport { host, facts, problems: self.machine_problems(&probe) }
            }
        }
    }

    /// The programs that a session of this client needs on its machine.
    pub(crate) fn required_programs(&self) -> Vec<&'static str> {
        vec!["git", "tar", "gzip", "amplihack", amplihack_agent::agent_profile(self.agent).program]
    }

    /// The Azure region for rented machines: `asked`, else `AZURE_REGION`, else the default.
    pub(crate) fn rental_region(&self, asked: Option<&str>) -> String {
        let named = asked.map(str::to_owned).or_else(|| self.process.text("AZURE_REGION").map(str::to_owned));
        named.filter(|region| !region.trim().is_empty()).unwrap_or_else(|| REGION.to_owned())
    }

    /// A name for a machine to be made.
    pub(crate) fn new_machine_name(&self, state: &RemoteState) -> String {
        let user = self.process.text("USER").or_else(|| self.process.text("LOGNAME")).unwrap_or("user");
        machine_name(user, current_time(), |name| state.vm_pool.contains_key(name))
    }

    /// Makes the machine `name`, which stands in the state as being made by this process.
    pub(crate) async fn rent_machine(
        &self,
        ground: &RemoteContext,
        name: &str,
        extra: &[String],
        port: Option<u16>,
    ) -> Result<(), RemoteError> {
        let (size, region) = {
            let state = ground.read_state()?;
            let machine = state
                .vm_pool
                .get(name)
                .ok_or_else(|| invalid_input(format!("machine '{name}' is not in the pool")))?;
            (machine.vm.size.clone(), machine.region.clone())
        };
        self.report_progress(&format!("renting {name}: {size} in {region}, {}", azlin::price_text(&size)));
        let (mut asked, mut there) = (size.as_str(), region.as_str());
        if amplihack_sys::sabotage::is_active("remote-vm-size") {
            asked = "Standard_B1s";
        }
        if amplihack_sys::sabotage::is_active("remote-vm-region") {
            there = "nowhere";
        }
        let wanted = AzlinVmRequest { name, size: asked, region: there, extra };
        match self.azlin_cli(ground.azlin_runner()).create_machine(&wanted).await {
            Ok(vm) => {
                let done = ground.change_state(|state| {
                    state.mark_made(name, found_machine(&vm, port, &size), current_time())
                });
                // Somebody gave it up meanwhile: it must not stay.
                if done.is_err() {
                    self.azlin_cli(ground.azlin_runner()).delete_machine(name).await?;
                }
                done
            }
            Err(error) if error.get_fact("maybe_made").is_some() => Err(error),
            Err(error) => {
                ground.change_state(|state| state.not_made(name, current_time()))?;
                Err(error)
            }
        }
    }

    /// Gives the machine `name` back, if nothing keeps it: this tool made it, nobody uses it, its results are here.
    pub(crate) async fn give_back(
        &self,
        ground: &RemoteContext,
        name: &str,
        discard: bool,
    ) -> Result<(), RemoteError> {
        let begun = ground
            .change_state(|state| Ok(state.begin_removal(name, discard, &ground.me, current_time())))?;
        if let Err(kept) = begun {
            let context = ErrorContext::new(format!("{name} is kept: {kept}"));
            return Err(RemoteError::Cleanup(context.with_fact("vm", name).with_fact("reason", "kept")));
        }
        match self.azlin_cli(ground.azlin_runner()).delete_machine(name).await {
            Ok(()) => ground.change_state(|state| state.mark_removed(name, current_time())),
            Err(error) => {
                ground.change_state(|state| {
                    state.not_removed(name);
                    Ok(())
                })?;
                Err(error)
            }
        }
    }
}

/// Name of the local machine as a place for sessions.
const HERE: &str = "local";
/// Name of the local machine as a login node of a cluster.
const HERE_SLURM: &str = "slurm";

/// The facts for the state file about a machine that azlin lists.
pub(crate) fn found_machine(vm: &AzlinVm, port: Option<u16>, size: &str) -> PoolMachineFacts {
    let address = match port.filter(|_| !amplihack_sys::sabotage::is_active("remote-vm-port")) {
        // The tunnel's near end is on this machine.
        Some(port) => Some(SshAddress { destination: format!("{ADMIN}@127.0.0.1"), port: Some(port) }),
        None => vm.public_address().map(|ip| SshAddress { destination: format!("{ADMIN}@{ip}"), port: None }),
    };
    PoolMachineFacts { address, usd_per_hour: hourly_price(size), ..PoolMachineFacts::default() }
}

/// Machines of ours that azlin lists and nobody here knows: they cost money.
pub(crate) fn unknown_machines(listed: &[AzlinVm], state: &RemoteState) -> BTreeSet<String> {
    let ours = listed.iter().filter(|vm| vm.name.starts_with(PREFIX));
    ours.filter(|vm| !state.vm_pool.contains_key(&vm.name)).map(|vm| vm.name.clone()).collect()
}
