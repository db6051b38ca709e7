//! The `exec` command: a single prompt, from the package to the results.

use std::path::Path;
use std::time::Duration;

use amplihack_config::secret::Secret;
use tokio::time::Instant;

use crate::backend::Backend;
use crate::client::Client;
use crate::client::context::RemoteContext;
use crate::client::refresh::GRACE;
use crate::client::retrieve::{RetrievedWork, leftover_error};
use crate::client::start::SessionStartPlan;
use crate::client::watch::{RemoteOutputSink, find_far_side};
use crate::error::{ErrorContext, RemoteError};
use crate::options::{ExecOptions, WorkflowResult};
use crate::package::repository;
use crate::pool::MachineRequest;
use crate::size::MachineShare;
use crate::state::MadeFor;

/// Extra time that this side waits beyond the far side's own limit.
const SLACK: Duration = Duration::from_mins(2);

impl Client {
    /// Works on one prompt until its end, brings the work home, and gives the machine back.
    ///
    /// # Errors
    /// Those of [`exec_with_output`](Self::exec_with_output).
    pub async fn exec(&self, options: ExecOptions) -> Result<WorkflowResult, RemoteError> {
        self.exec_with_output(options, None, &mut |_| Ok(())).await
    }

    /// Like [`exec`](Self::exec), with the state in a file of its own, and the session's output shown as it comes.
    ///
    /// # Errors
    /// `Validation` where options, configuration, environment or state file cannot be used, or there is no repository; `Packaging`,
    /// `Provisioning`, `Transfer` and `Integration` where that step fails. `Execution` where the session does not start, does not end in
    /// its time or has no exit code, or `show` fails; `Cleanup` where work that could not be brought home is still there, or a rented
    /// machine is.
    pub async fn exec_with_output(
        &self,
        options: ExecOptions,
        state_file: Option<&Path>,
        show: RemoteOutputSink<'_>,
    ) -> Result<WorkflowResult, RemoteError> {
        let mut options = options;
        if amplihack_sys::sabotage::is_active("remote-vm-named") {
            options.vm_options.vm_name = None;
        }
        if amplihack_sys::sabotage::is_active("remote-validate-first") {
            self.open_context(state_file)?.change_state(|state| {
                state.other.insert("touched".to_owned(), true.into());
                Ok(())
            })?;
        }
        self.validate_exec(&options)?;
        let backend = self.required_backend()?;
        self.session_command(options.command, options.max_turns).check_mode()?;
        repository::require_repository(&self.process, &options.repo_path).await?;
        let ground = self.open_context(state_file)?;
        self.settle_leftovers(&ground).await?;
        let client =
            Self { host: options.vm_options.vm_name.clone().or_else(|| self.host.clone()), ..self.clone() };
        // Keys are those of `start`: an `exec` always works.
        let client = Self { idempotency_key: None, ..client };
        let id = client.begin_one(&ground, backend, &options).await?;
        let deadline = Instant::now() + Duration::from_secs(options.timeout_minutes * 60) + SLACK;
        let session = match client.follow_until(&ground, &id, 0, Some(deadline), show).await {
            Ok(session) => session,
            Err(error) if error.get_fact("reason_end") == Some("deadline") => {
                client.end_late(&ground, &id).await?;
                return Err(error);
            }
            Err(error) => {
                let hint =
                    format!("the session continues; show it again: amplihack remote output {id} --follow");
                return Err(error.with_fact("session_id", &id).with_fact("hint", hint));
            }
        };
        let RetrievedWork { summary, left } = client
            .bring_home(&ground, &id, &options.repo_path)
            .await
            .map_err(|error| error.with_fact("vm", &session.vm_name))?;
        if !left.is_empty() {
            return Err(leftover_error(&id, &session.vm_name, &left));
        }
        // One that the user named is the user's to give back.
        let asked = options.vm_options.keep_vm && !amplihack_sys::sabotage::is_active("remote-vm-keep");
        let keep = asked || client.host.is_some() || amplihack_sys::sabotage::is_active("remote-cleanup");
        let vm_name = client.clean_up(&ground, &id, &session.vm_name, keep).await?;
        let exit_code = session.exit_code.ok_or_else(|| {
            let record = ground.read_state().ok().and_then(|state| state.sessions.get(&id).cloned());
            let why =
                record.and_then(|record| record.error).unwrap_or_else(|| "no exit code is known".to_owned());
            RemoteError::Execution(ErrorContext::new(format!("{id}: {why}")).with_fact("session_id", &id))
        })?;
        Ok(WorkflowResult {
            exit_code: if amplihack_sys::sabotage::is_active("remote-exit-code") { 0 } else { exit_code },
            summary: summary.filter(|_| !amplihack_sys::sabotage::is_active("remote-summary")),
            vm_name: vm_name.filter(|_| !amplihack_sys::sabotage::is_active("remote-vm-name")),
        })
    }

    /// Starts the session of an `exec`.
    async fn begin_one(
        &self,
        ground: &RemoteContext,
        backend: Backend,
        options: &ExecOptions,
    ) -> Result<String, RemoteError> {
        let vm = &options.vm_options;
        let rents = backend.can_rent();
        let wants = MachineRequest {
            host: self.host.clone(),
            // A machine that is named is taken as it is: asking for a size or a region too would leave it out.
            size: if rents && vm.vm_name.is_none() { vm.size.clone() } else { String::new() },
            region: if rents && vm.vm_name.is_none() {
                self.rental_region(vm.region.as_deref())
            } else {
                String::new()
            },
            labels: self.labels.iter().cloned().collect(),
            made_for: MadeFor::Exec,
            reuse: (!vm.no_reuse || amplihack_sys::sabotage::is_active("remote-vm-no-reuse"))
                && !amplihack_sys::sabotage::is_active("remote-reuse")
                || !rents,
            make: self.plan_new_machine(ground, backend, 1)?,
            ..MachineRequest::from_backend(backend)
        };
        // A slot is given only on machines that the state knows, and nobody but the user knows this one.
        if let Some(name) = vm.vm_name.as_ref().filter(|_| rents) {
            self.adopt_machine(ground, name, vm.tunnel_port).await?;
        }
        let skips = options.skip_secret_scan && !amplihack_sys::sabotage::is_active("remote-skip-scan");
        let package = self
            .package_repository(
                &options.repo_path,
                skips || amplihack_sys::sabotage::is_active("remote-secret-scan"),
            )
            .await?;
        let job = SessionStartPlan {
            prompts: vec![options.prompt.clone()],
            mode: options.command,
            max_turns: options.max_turns,
            wants,
            extra: if amplihack_sys::sabotage::is_active("remote-vm-extra") {
                Vec::new()
            } else {
                vm.azlin_extra_args.clone()
            },
            port: vm.tunnel_port,
            key: Secret::new(options.api_key.clone()),
            timeout_seconds: Some(options.timeout_minutes * 60)
                .filter(|_| !amplihack_sys::sabotage::is_active("remote-timeout")),
            share: MachineShare::from_sku(&vm.size, 1),
            package,
            repo: options.repo_path.display().to_string(),
        };
        let (ids, mut outcomes) = self.place_sessions(ground, &job).await?.unwrap_or_default();
        let id = ids.into_iter().next().unwrap_or_default();
        match outcomes.remove(&id) {
            Some(Err(error)) => Err(error.with_fact("session_id", &id)),
            _ => Ok(id),
        }
    }

    /// Makes a machine known that the user names, that azlin has, and that this tool did not make.
    async fn adopt_machine(
        &self,
        ground: &RemoteContext,
        name: &str,
        port: Option<u16>,
    ) -> Result<(), RemoteError> {
        if ground.read_state()?.vm_pool.contains_key(name) {
            return Ok(());
        }
        let listed = self.azlin_cli(ground.azlin_runner()).find_machine(name).await?;
        let vm = listed.filter(crate::azlin::AzlinVm::is_running).ok_or_else(|| {
            let context = ErrorContext::new(format!("VM not found: azlin lists no running machine '{name}'"));
            RemoteError::Provisioning(context.with_fact("vm", name))
        })?;
        let size = vm.vm_size.clone().unwrap_or_default();
        let machine = crate::state::PoolMachine {
            vm: crate::state::VmRecord { name: name.to_owned(), size: size.clone(), ..Default::default() },
            capacity: 1,
            backend: Some(Backend::Azlin),
            address: super::machines::found_machine(&vm, port, &size).address,
            ..Default::default()
        };
        ground.change_state(|state| {
            state.register_machine(machine, super::context::current_time());
            Ok(())
        })
    }

    async fn end_late(&self, ground: &RemoteContext, id: &str) -> Result<(), RemoteError> {
        let state = ground.read_state()?;
        find_far_side(ground, state.session(id)?)?.end_session(id, GRACE).await?;
        self.refresh_ground(ground).await.map(|_| ())
    }

    /// Removes what the session left on its machine, and gives the machine back if nothing keeps it. Answers its name if it stays.
    async fn clean_up(
        &self,
        ground: &RemoteContext,
        id: &str,
        machine: &str,
        keep: bool,
    ) -> Result<Option<String>, RemoteError> {
        let state = ground.read_state()?;
        if let Err(error) = find_far_side(ground, state.session(id)?)?.remove_session(id).await {
            self.report_progress(&format!("{id} is still on {machine}: {error}"));
        }
        let ours = state
            .vm_pool
            .get(machine)
            .is_some_and(|machine| machine.made_by_us && machine.made_for == Some(MadeFor::Exec));
        if keep && ours {
            // From here on it is the user's pool that has it: a later exec that works on it leaves it, too.
            ground.change_state(|state| {
                if let Some(kept) = state.vm_pool.get_mut(machine) {
                    kept.made_for = Some(MadeFor::Pool);
                }
                Ok(())
            })?;
        }
        if keep || !ours {
            return Ok(Some(machine.to_owned()));
        }
        match self.give_back(ground, machine, false).await {
            Ok(()) => Ok(None),
            Err(error) if error.get_fact("reason") == Some("kept") => Ok(Some(machine.to_owned())),
            Err(error) => Err(error),
        }
    }
}
