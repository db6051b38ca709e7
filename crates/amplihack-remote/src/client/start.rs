//! Sessions are started: packaged once, given a slot, sent, claimed. Each step is written down before it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use amplihack_config::secret::Secret;
use tokio::task::JoinSet;

use crate::backend::Backend;
use crate::client::answers::{StartReport, StartRow};
use crate::client::context::{RemoteContext, current_time};
use crate::client::refresh::end_for_good;
use crate::client::{Client, invalid_input, may_answer_later};
use crate::error::{ErrorContext, RemoteError};
use crate::mode::CommandMode;
use crate::options::StartOptions;
use crate::package::{PackageOptions, SessionPackage, repository};
use crate::pool::{MachineRequest, NewMachinePlan, SlotReservation};
use crate::protocol::SessionSpec;
use crate::session::{Session, SessionStatus};
use crate::session_command::SessionCommand;
use crate::size::MachineShare;
use crate::state::{NewSession, PoolMachine, RemoteState, SessionRecord, StartPhase};

/// The memory that the state file promises a session, in MB.
const MEMORY_MB: u32 = 32_768;
/// Time to wait for a machine that another process makes.
const MAKING: Duration = Duration::from_mins(30);

/// The sessions of a call that are to be started, with the needs that they share.
pub(super) struct SessionStartPlan {
    pub(super) prompts: Vec<String>,
    pub(super) mode: CommandMode,
    pub(super) max_turns: u32,
    pub(super) wants: MachineRequest,
    pub(super) extra: Vec<String>,
    pub(super) port: Option<u16>,
    pub(super) key: Secret,
    pub(super) timeout_seconds: Option<u64>,
    /// The share of a machine that a scheduler is asked for; `None` for no request.
    pub(super) share: Option<MachineShare>,
    pub(super) package: SessionPackage,
    pub(super) repo: String,
}

/// The start results of sessions, by id.
pub(super) type StartOutcomes = BTreeMap<String, Result<(), RemoteError>>;

impl Client {
    /// Starts a session a prompt. What went wrong with one is in its row.
    ///
    /// # Errors
    /// `Validation` where options, configuration, environment or state file cannot be used, there is no repository, or the idempotency key
    /// was used for other prompts; `Packaging` where the repository cannot or must not be sent; `Execution` where a start ended early, or a
    /// machine with leftovers is not known any more. An error is about all sessions, and nothing was started, unless a start ended early or
    /// the state file failed after sessions were sent.
    pub async fn start_sessions(&self, options: StartOptions) -> Result<StartReport, RemoteError> {
        if amplihack_sys::sabotage::is_active("remote-validate-first") {
            self.open_context(options.state_file.as_deref())?.change_state(|state| {
                state.other.insert("touched".to_owned(), true.into());
                Ok(())
            })?;
        }
        self.validate_start(&options)?;
        let backend = self.required_backend()?;
        self.session_command(options.command, options.max_turns).check_mode()?;
        repository::require_repository(&self.process, &options.repo_path).await?;
        let ground = self.open_context(options.state_file.as_deref())?;
        if let Some(started) = self.made_before(&ground, &options)?
            && !started.rows.iter().any(|row| row.outcome.as_ref().is_ok_and(is_pending))
        {
            return Ok(started);
        }
        // A start with this key that was cut off is settled before anything is said of it.
        self.settle_leftovers(&ground).await?;
        if let Some(started) = self.made_before(&ground, &options)? {
            return Ok(started);
        }
        let package = self.package_repository(&options.repo_path, false).await?;
        let wants = MachineRequest {
            host: self.host.clone(),
            size: match backend.can_rent() {
                true if amplihack_sys::sabotage::is_active("remote-start-size") => "Standard_B1s".to_owned(),
                true => options.size.azure_size().to_owned(),
                false => String::new(),
            },
            region: match backend.can_rent() {
                true if amplihack_sys::sabotage::is_active("remote-start-region") => "nowhere".to_owned(),
                true => self.rental_region(options.region.as_deref()),
                false => String::new(),
            },
            labels: self.labels.iter().cloned().collect(),
            make: self.plan_new_machine(&ground, backend, options.size.capacity())?,
            ..MachineRequest::from_backend(backend)
        };
        let job = SessionStartPlan {
            prompts: options.prompts.clone(),
            mode: options.command,
            max_turns: options.max_turns,
            wants,
            extra: Vec::new(),
            port: options.tunnel_port.filter(|_| !amplihack_sys::sabotage::is_active("remote-start-port")),
            key: Secret::new(options.api_key.clone()),
            timeout_seconds: None,
            share: MachineShare::from_sku(options.size.azure_size(), options.size.capacity()),
            package,
            repo: options.repo_path.display().to_string(),
        };
        match self.place_sessions(&ground, &job).await? {
            Some((ids, outcomes)) => build_rows(&ground, &job.prompts, &ids, outcomes),
            None => self.made_before(&ground, &options)?.ok_or_else(|| {
                RemoteError::Execution("the sessions of the idempotency key no longer exist".into())
            }),
        }
    }

    /// The plan for a new machine of `backend`; `None` if the backend makes none or a machine is named.
    pub(super) fn plan_new_machine(
        &self,
        ground: &RemoteContext,
        backend: Backend,
        capacity: usize,
    ) -> Result<Option<NewMachinePlan>, RemoteError> {
        if !backend.can_rent() || self.host.is_some() {
            return Ok(None);
        }
        let name = self.new_machine_name(&ground.read_state()?);
        Ok(Some(NewMachinePlan { name, capacity, at_most: self.max_vms }))
    }

    /// The sessions of an earlier call with the same key.
    fn made_before(
        &self,
        ground: &RemoteContext,
        options: &StartOptions,
    ) -> Result<Option<StartReport>, RemoteError> {
        let Some(key) = &self.idempotency_key else { return Ok(None) };
        let state = ground.read_state()?;
        let made = state.made_by_key(key);
        if made.is_empty() {
            return Ok(None);
        }
        let same = made.len() == options.prompts.len()
            && made.iter().zip(&options.prompts).all(|(record, prompt)| record.session.prompt == *prompt);
        if !same {
            return Err(invalid_input(format!("the idempotency key '{key}' was used for other prompts")));
        }
        let row = |record: &&SessionRecord| {
            let session = &record.session;
            // What never began was not started, whoever asks.
            let never = session.status.is_final()
                && session.started_at.is_none()
                && (session.exit_code.is_none() || session.status == SessionStatus::Killed);
            let outcome = if never {
                let why = record.error.as_deref().unwrap_or("it was ended before it began");
                let context = ErrorContext::new(format!("{}: {why}", session.session_id));
                let hint = "start it again with another idempotency key";
                Err(RemoteError::Execution(
                    context.with_fact("session_id", &session.session_id).with_fact("hint", hint),
                ))
            } else {
                Ok(session.clone())
            };
            StartRow { prompt: session.prompt.clone(), outcome }
        };
        Ok(Some(StartReport { rows: made.iter().map(row).collect() }))
    }

    /// The command that a session of this client runs.
    pub(super) fn session_command(&self, mode: CommandMode, max_turns: u32) -> SessionCommand<'_> {
        SessionCommand {
            mode,
            agent: self.agent,
            max_turns,
            permissions: self.permissions,
            check: self.config.test_command(),
        }
    }

    /// Packages the repository around `repo` for sending.
    pub(super) async fn package_repository(
        &self,
        repo: &Path,
        skip_scan: bool,
    ) -> Result<SessionPackage, RemoteError> {
        self.report_progress("packaging the repository");
        let directory = self.amplihack_home()?.join("remote/packages");
        let package = SessionPackage::build(PackageOptions {
            include_dirty: self.include_dirty,
            cap: self.cap,
            skip_secret_scan: skip_scan,
            allow: &self.allow_secrets,
            trusted: self.config.is_trusted(repo),
            ..PackageOptions::new(repo, &self.process, &directory)
        })
        .await?;
        for left in &package.left_out {
            self.report_progress(&format!("not sent: {}: {}", left.path.display(), left.why));
        }
        Ok(package)
    }

    /// Writes the sessions down, gets each a slot, and starts it there. `None`: another process has just done so by the same key.
    pub(super) async fn place_sessions(
        &self,
        ground: &RemoteContext,
        job: &SessionStartPlan,
    ) -> Result<Option<(Vec<String>, StartOutcomes)>, RemoteError> {
        let mut wants = job.wants.clone();
        let unready = self.look_over(ground, &mut wants).await?;
        let Some(ids) = self.write_down(ground, job)? else { return Ok(None) };
        // Slots and names of machines stand in the state before anything is sent: whoever finds it after a crash knows where to look.
        let reservation =
            ground.change_state(|state| state.reserve_slots(&ids, &wants, &ground.me, current_time()))?;
        let mut outcomes = self.make_all(ground, job, &reservation).await;
        for id in &reservation.queued {
            outcomes.insert(id.clone(), Err(no_room(&wants, &unready)));
        }
        let mut by_machine: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let state = ground.read_state()?;
        for id in ids.iter().filter(|id| !outcomes.contains_key(*id)) {
            let machine = state.session(id)?.session.vm_name.clone();
            by_machine.entry(machine).or_default().push(id.clone());
        }
        let shared = Arc::new(self.clone());
        let mut sent = JoinSet::new();
        for (name, ids) in by_machine {
            let far = ground.far_side_named(&state, &name);
            let specs =
                ids.iter().map(|id| self.session_spec(job, &state, id)).collect::<Result<Vec<_>, _>>()?;
            let (client, ground, package, key) =
                (Arc::clone(&shared), ground.clone(), job.package.clone(), job.key.clone());
            let backend = job.wants.backend;
            // A task for each machine: what its sessions share is sent once, and a slow machine holds up no other.
            sent.spawn(async move {
                match far {
                    Ok(far) => client.send_all(&ground, &far, backend, &package, specs, &key).await,
                    Err(error) => ids.into_iter().map(|id| (id, Err(error.clone()))).collect(),
                }
            });
        }
        while let Some(done) = sent.join_next().await {
            match done {
                Ok(some) => outcomes.extend(some),
                Err(error) => {
                    return Err(RemoteError::Execution(format!("a start ended early: {error}").into()));
                }
            }
        }
        self.settle_failures(ground, &outcomes).await?;
        Ok(Some((ids, outcomes)))
    }

    /// Makes the configured machines known, and leaves out those that miss something. Answers what each of those misses.
    async fn look_over(
        &self,
        ground: &RemoteContext,
        wants: &mut MachineRequest,
    ) -> Result<BTreeMap<String, Vec<String>>, RemoteError> {
        let configured = self.configured_machines(wants.backend)?;
        ground.change_state(|state| {
            for machine in &configured {
                state.register_machine(machine.clone(), current_time());
            }
            Ok(())
        })?;
        let there = |machine: &PoolMachine| {
            machine.making.is_none() && machine.is_admitting() && wants.is_met_by(machine)
        };
        let candidates: Vec<PoolMachine> = ground.read_state()?.vm_pool.into_values().filter(there).collect();
        let mut unready = BTreeMap::new();
        for (name, answer) in self.probe_machines(ground, candidates).await {
            let problems = match answer {
                Ok(probe) => self.machine_problems(&probe),
                Err(error) => vec![error.to_string()],
            };
            if !problems.is_empty() {
                wants.except.insert(name.clone());
                unready.insert(name, problems);
            }
        }
        Ok(unready)
    }

    fn write_down(
        &self,
        ground: &RemoteContext,
        job: &SessionStartPlan,
    ) -> Result<Option<Vec<String>>, RemoteError> {
        ground.change_state(|state| {
            // Looked at again under the lock: of starts with one key at the same time only one starts something.
            if self.idempotency_key.as_ref().is_some_and(|key| !state.made_by_key(key).is_empty()) {
                return Ok(None);
            }
            let mut ids = Vec::new();
            for (number, prompt) in job.prompts.iter().enumerate() {
                let new = NewSession {
                    prompt: prompt.clone(),
                    command: job.mode,
                    max_turns: job.max_turns,
                    memory_mb: Some(MEMORY_MB)
                        .filter(|_| !amplihack_sys::sabotage::is_active("remote-memory")),
                };
                let id = state.add_session(new, current_time())?;
                let record = state.session_mut(&id)?;
                record.backend = Some(job.wants.backend);
                record.agent = Some(self.agent.name().to_owned());
                record.client = Some(ground.me.clone());
                record.repo_path = Some(job.repo.clone());
                record.base = Some(job.package.base.clone());
                record.branch = Some(job.package.branch.clone());
                record.bundle = job.package.bundle.as_ref().map(|bundle| bundle.sha256.clone());
                record.labels = self.labels.iter().cloned().collect();
                record.idempotency_key.clone_from(&self.idempotency_key);
                record.prompt_number = u32::try_from(number).ok();
                if let (Backend::Slurm, Some(share)) = (job.wants.backend, job.share) {
                    record.job_options = share.sbatch_options().to_vec();
                }
                ids.push(id);
            }
            Ok(Some(ids))
        })
    }

    /// Makes the machines that are to be made, and waits for those that others make. Answers the sessions that got none.
    async fn make_all(
        &self,
        ground: &RemoteContext,
        job: &SessionStartPlan,
        reservation: &SlotReservation,
    ) -> StartOutcomes {
        let mut outcomes = StartOutcomes::new();
        let shared = Arc::new(self.clone());
        let mut making = JoinSet::new();
        for name in &reservation.to_make {
            let (client, ground, name) = (Arc::clone(&shared), ground.clone(), name.clone());
            let (extra, port) = (job.extra.clone(), job.port);
            making.spawn(async move {
                let made = client.rent_machine(&ground, &name, &extra, port).await;
                let ready = match made {
                    Ok(()) => client.check_new_machine(&ground, &name).await,
                    Err(error) => Err(error),
                };
                (name, ready)
            });
        }
        while let Some(done) = making.join_next().await {
            let Ok((name, Err(error))) = done else { continue };
            let on_it = reservation.placed.iter().filter(|(_, machine)| **machine == name);
            outcomes.extend(on_it.map(|(id, _)| (id.clone(), Err(error.clone()))));
        }
        for (id, name) in &reservation.placed {
            if !reservation.to_make.contains(name)
                && !outcomes.contains_key(id)
                && let Err(error) = self.made_by_another(ground, name).await
            {
                outcomes.insert(id.clone(), Err(error));
            }
        }
        outcomes
    }

    /// Waits for a machine that was just made to have what sessions need.
    async fn check_new_machine(&self, ground: &RemoteContext, name: &str) -> Result<(), RemoteError> {
        let far = ground.far_side_named(&ground.read_state()?, name)?;
        let problems = self.machine_problems(&far.probe_machine(&self.required_programs()).await?);
        if problems.is_empty() {
            return Ok(());
        }
        let context = ErrorContext::new(format!("{name} cannot run sessions: {}", problems.join("; ")));
        Err(RemoteError::Provisioning(context.with_fact("vm", name)))
    }

    async fn made_by_another(&self, ground: &RemoteContext, name: &str) -> Result<(), RemoteError> {
        let until = tokio::time::Instant::now() + MAKING;
        loop {
            let state = ground.read_state()?;
            let Some(machine) = state.vm_pool.get(name) else {
                return Err(RemoteError::Provisioning(
                    format!("the process that made {name} could not").into(),
                ));
            };
            match &machine.making {
                None => return Ok(()),
                Some(work) if !work.client.is_alive() => self.refresh_ground(ground).await.map(|_| ())?,
                Some(_) if tokio::time::Instant::now() > until => {
                    return Err(RemoteError::Provisioning(
                        format!("{name} has been in creation for half an hour").into(),
                    ));
                }
                Some(_) => {}
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    fn session_spec(
        &self,
        job: &SessionStartPlan,
        state: &RemoteState,
        id: &str,
    ) -> Result<SessionSpec, RemoteError> {
        let record = state.session(id)?;
        let work = self.session_command(job.mode, job.max_turns);
        let key_name = self
            .key_name
            .clone()
            .unwrap_or_else(|| amplihack_agent::agent_profile(self.agent).keys[0].to_owned());
        let mut env = self.env.clone();
        if amplihack_sys::sabotage::is_active("remote-node-options") {
            env.push(("NODE_OPTIONS".to_owned(), Secret::new("--trace-uncaught".to_owned())));
        }
        // Where the user has the key under another name, tools there may look for it under that.
        if let Some((name, _)) = self.agent_key().filter(|(name, _)| *name != key_name) {
            env.push((name.to_owned(), job.key.clone()));
        }
        Ok(SessionSpec {
            id: id.to_owned(),
            argv: work.argv(),
            env,
            key_name: Some(key_name),
            bundle: job.package.bundle.as_ref().map(|bundle| bundle.sha256.clone()).unwrap_or_default(),
            bases: Vec::new(),
            extra: job.package.extra.as_ref().map(|extra| extra.sha256.clone()),
            base: job.package.base.clone(),
            branch: job.package.branch.clone(),
            prompt: work.prompt_file(if amplihack_sys::sabotage::is_active("remote-start-each") {
                &job.prompts[0]
            } else {
                &record.session.prompt
            }),
            timeout_seconds: job.timeout_seconds,
        })
    }

    /// Gives back the slots of sessions that were not started; if that is not known, the next refresh finds out.
    async fn settle_failures(
        &self,
        ground: &RemoteContext,
        outcomes: &StartOutcomes,
    ) -> Result<(), RemoteError> {
        let before = ground.read_state()?;
        let mut failed_on = BTreeSet::new();
        for (id, outcome) in outcomes {
            let Err(error) = outcome else { continue };
            let record = before.session(id)?;
            let (phase, machine) = (record.phase, &record.session.vm_name);
            failed_on.insert(machine);
            if phase >= Some(StartPhase::Sent) && may_answer_later(error) {
                continue;
            }
            // What a scheduler did not take is claimed on its machine, with its key, and may have been taken nevertheless.
            let claimed = phase >= Some(StartPhase::Claimed);
            ground.change_state(|state| {
                let failed = state.mark_failed(id, error.to_string(), current_time())?;
                state.session_mut(id)?.end_unconfirmed |= failed && claimed;
                Ok(())
            })?;
            if claimed {
                end_for_good(ground, &before, id, machine).await?;
            }
        }
        // What was made for nothing must not cost anything.
        let after = ground.read_state()?;
        let unused = after.vm_pool.values().filter(|machine| {
            machine.backend == Some(Backend::Azlin)
                && machine.made_by_us
                && machine.active_sessions.is_empty()
                && machine.making.is_none()
                && failed_on.contains(&machine.vm.name)
        });
        for machine in unused {
            if let Err(error) = self.give_back(ground, &machine.vm.name, false).await {
                self.report_progress(&format!("{error}"));
            }
        }
        Ok(())
    }
}

/// Reports whether a session has neither begun nor failed.
fn is_pending(session: &Session) -> bool {
    session.status == SessionStatus::Pending
}

fn build_rows(
    ground: &RemoteContext,
    prompts: &[String],
    ids: &[String],
    mut outcomes: StartOutcomes,
) -> Result<StartReport, RemoteError> {
    let state = ground.read_state()?;
    let row = |(prompt, id): (&String, &String)| {
        let outcome = match outcomes.remove(id) {
            Some(Err(error)) => Err(error.with_fact("session_id", id)),
            _ => state.session(id).map(|record| record.session.clone()),
        };
        StartRow { prompt: prompt.clone(), outcome }
    };
    Ok(StartReport { rows: prompts.iter().zip(ids).map(row).collect() })
}

fn no_room(wants: &MachineRequest, unready: &BTreeMap<String, Vec<String>>) -> RemoteError {
    let mut context =
        ErrorContext::new(format!("no machine of the backend {} has a free slot", wants.backend))
            .with_fact("reason_slots", "full")
            .with_fact(
                "hint",
                "wait for sessions to end, see 'amplihack remote pool list', or name more machines",
            );
    if !unready.is_empty() {
        let text: Vec<String> =
            unready.iter().map(|(name, problems)| format!("{name}: {}", problems.join("; "))).collect();
        context.message =
            format!("no machine of the backend {} can take a session: {}", wants.backend, text.join(" | "));
        context = context.with_fact("hint", "look at the machines: amplihack remote doctor");
    }
    RemoteError::Provisioning(context)
}
