//! Sessions are started: packaged once, given a slot, sent, claimed. Each step is written down before it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use amplihack_utils::secret::Secret;
use tokio::task::JoinSet;

use crate::backend::Backend;
use crate::client::answers::{StartRow, Started};
use crate::client::ground::{Ground, now};
use crate::client::refresh::GRACE;
use crate::client::{Client, invalid, unheard};
use crate::error::{ErrorContext, RemoteError};
use crate::far::Far;
use crate::mode::CommandMode;
use crate::options::StartOptions;
use crate::package::{Package, PackageOptions};
use crate::pool::{Make, Reservation, Wants};
use crate::protocol::{Claim, FarState, SessionSpec};
use crate::session::Session;
use crate::state::{Machine, MadeFor, NewSession, Phase, State};
use crate::work::Work;

/// The memory that the state file promises a session, in MB.
const MEMORY_MB: u32 = 32_768;
/// How long a machine that another process makes is waited for.
const MAKING: Duration = Duration::from_mins(30);

/// What is to be started.
pub(super) struct Job {
    pub(super) prompts: Vec<String>,
    pub(super) mode: CommandMode,
    pub(super) max_turns: u32,
    pub(super) wants: Wants,
    pub(super) extra: Vec<String>,
    pub(super) port: Option<u16>,
    pub(super) key: Secret,
    pub(super) timeout_seconds: Option<u64>,
    pub(super) package: Package,
    pub(super) repo: String,
}

/// What came of each session, by its id.
type Outcomes = BTreeMap<String, Result<(), RemoteError>>;

impl Client {
    /// Starts a session a prompt. What went wrong with one is in its row; an error is about all of them, and nothing was started.
    pub async fn start(&self, options: StartOptions) -> Result<Started, RemoteError> {
        self.validate_start(&options)?;
        let backend = self.backend()?;
        self.work(options.command, options.max_turns).check()?;
        let ground = self.ground(options.state_file.as_deref())?;
        if let Some(started) = self.made_before(&ground, &options)? {
            return Ok(started);
        }
        self.settle(&ground).await?;
        let package = self.package(&options.repo_path, false).await?;
        let wants = Wants {
            backend,
            host: self.host.clone(),
            size: if backend.rents() { options.size.azure_size().to_owned() } else { String::new() },
            region: if backend.rents() { self.region(options.region.as_deref()) } else { String::new() },
            labels: self.labels.iter().cloned().collect(),
            made_for: MadeFor::Pool,
            reuse: true,
            make: self.making(&ground, backend, options.size.capacity())?,
            except: BTreeSet::new(),
        };
        let job = Job {
            prompts: options.prompts,
            mode: options.command,
            max_turns: options.max_turns,
            wants,
            extra: Vec::new(),
            port: options.tunnel_port,
            key: Secret::new(options.api_key),
            timeout_seconds: None,
            package,
            repo: options.repo_path.display().to_string(),
        };
        let (ids, outcomes) = self.begin(&ground, &job).await?;
        self.rows(&ground, &job.prompts, &ids, outcomes)
    }

    /// How machines are made for `backend`, if at all.
    pub(super) fn making(
        &self,
        ground: &Ground,
        backend: Backend,
        capacity: usize,
    ) -> Result<Option<Make>, RemoteError> {
        if !backend.rents() || self.host.is_some() {
            return Ok(None);
        }
        let name = self.new_machine_name(&ground.read()?);
        Ok(Some(Make { name, capacity, at_most: self.max_vms }))
    }

    /// The sessions of an earlier call with the same key.
    fn made_before(&self, ground: &Ground, options: &StartOptions) -> Result<Option<Started>, RemoteError> {
        let Some(key) = &self.idempotency_key else { return Ok(None) };
        let state = ground.read()?;
        let made = state.made_by_key(key);
        if made.is_empty() {
            return Ok(None);
        }
        let same = made.len() == options.prompts.len()
            && made.iter().zip(&options.prompts).all(|(record, prompt)| record.session.prompt == *prompt);
        if !same {
            return Err(invalid(format!("the idempotency key '{key}' was used for other prompts")));
        }
        let row =
            |session: &Session| StartRow { prompt: session.prompt.clone(), outcome: Ok(session.clone()) };
        Ok(Some(Started { rows: made.iter().map(|record| row(&record.session)).collect() }))
    }

    /// What a session of this client does.
    pub(super) fn work(&self, mode: CommandMode, max_turns: u32) -> Work<'_> {
        Work {
            mode,
            agent: self.agent,
            max_turns,
            permissions: self.permissions,
            check: self.config.test_command(),
        }
    }

    /// What is sent of the repository around `repo`.
    pub(super) async fn package(&self, repo: &Path, skip_scan: bool) -> Result<Package, RemoteError> {
        self.say("packaging the repository");
        let directory = self.home()?.join("remote/packages");
        let package = Package::make(PackageOptions {
            include_dirty: self.include_dirty,
            cap: self.cap,
            skip_secret_scan: skip_scan,
            allow: &self.allow_secrets,
            trusted: self.config.is_trusted(repo),
            ..PackageOptions::new(repo, &self.process, &directory)
        })
        .await?;
        for left in &package.left_out {
            self.say(&format!("not sent: {}: {}", left.path.display(), left.why));
        }
        Ok(package)
    }

    /// Writes the sessions down, gets each a slot, and starts it there.
    pub(super) async fn begin(
        &self,
        ground: &Ground,
        job: &Job,
    ) -> Result<(Vec<String>, Outcomes), RemoteError> {
        let mut wants = job.wants.clone();
        let unready = self.look_over(ground, &mut wants).await?;
        let ids = self.write_down(ground, job)?;
        let reservation = ground.change(|state| state.reserve(&ids, &wants, &ground.me, now()))?;
        let mut outcomes = self.make_all(ground, job, &reservation).await;
        for id in &reservation.queued {
            outcomes.insert(id.clone(), Err(no_room(&wants, &unready)));
        }
        let mut by_machine: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let state = ground.read()?;
        for id in ids.iter().filter(|id| !outcomes.contains_key(*id)) {
            let machine = state.session(id)?.session.vm_name.clone();
            by_machine.entry(machine).or_default().push(id.clone());
        }
        let shared = Arc::new(self.clone());
        let mut sent = JoinSet::new();
        for (name, ids) in by_machine {
            let far = ground.far_of(&state, &name);
            let specs = ids.iter().map(|id| self.spec(job, &state, id)).collect::<Result<Vec<_>, _>>()?;
            let (client, ground, package, key) =
                (Arc::clone(&shared), ground.clone(), job.package.clone(), job.key.clone());
            let backend = job.wants.backend;
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
        Ok((ids, outcomes))
    }

    /// Makes the configured machines known, and leaves out those that miss something. Answers what each of those misses.
    async fn look_over(
        &self,
        ground: &Ground,
        wants: &mut Wants,
    ) -> Result<BTreeMap<String, Vec<String>>, RemoteError> {
        let configured = self.configured(wants.backend)?;
        ground.change(|state| {
            for machine in &configured {
                state.know(machine.clone(), now());
            }
            Ok(())
        })?;
        let there = |machine: &Machine| machine.making.is_none() && machine.admits() && wants.fit(machine);
        let candidates: Vec<Machine> = ground.read()?.vm_pool.into_values().filter(there).collect();
        let programs = self.programs();
        let mut unready = BTreeMap::new();
        for (name, answer) in self.probe(ground, candidates, &programs).await {
            let problems = match answer {
                Ok(probe) => self.problems(&probe, &programs),
                Err(error) => vec![error.to_string()],
            };
            if !problems.is_empty() {
                wants.except.insert(name.clone());
                unready.insert(name, problems);
            }
        }
        Ok(unready)
    }

    fn write_down(&self, ground: &Ground, job: &Job) -> Result<Vec<String>, RemoteError> {
        ground.change(|state| {
            let mut ids = Vec::new();
            for (number, prompt) in job.prompts.iter().enumerate() {
                let new = NewSession {
                    prompt: prompt.clone(),
                    command: job.mode,
                    max_turns: job.max_turns,
                    memory_mb: Some(MEMORY_MB),
                };
                let id = state.add(new, now())?;
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
                ids.push(id);
            }
            Ok(ids)
        })
    }

    /// Makes the machines that are to be made, and waits for those that others make. Answers the sessions that got none.
    async fn make_all(&self, ground: &Ground, job: &Job, reservation: &Reservation) -> Outcomes {
        let mut outcomes = Outcomes::new();
        let shared = Arc::new(self.clone());
        let mut making = JoinSet::new();
        for name in &reservation.to_make {
            let (client, ground, name) = (Arc::clone(&shared), ground.clone(), name.clone());
            let (extra, port) = (job.extra.clone(), job.port);
            making.spawn(async move {
                let made = client.make(&ground, &name, &extra, port).await;
                let ready = match made {
                    Ok(()) => client.ready(&ground, &name).await,
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
    async fn ready(&self, ground: &Ground, name: &str) -> Result<(), RemoteError> {
        let programs = self.programs();
        let far = ground.far_of(&ground.read()?, name)?;
        let probe = far.probe(&programs).await?;
        let problems = self.problems(&probe, &programs);
        if problems.is_empty() {
            return Ok(());
        }
        let context = ErrorContext::new(format!("{name} cannot run sessions: {}", problems.join("; ")));
        Err(RemoteError::Provisioning(context.with("vm", name)))
    }

    async fn made_by_another(&self, ground: &Ground, name: &str) -> Result<(), RemoteError> {
        let until = tokio::time::Instant::now() + MAKING;
        loop {
            let state = ground.read()?;
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
                        format!("{name} is being made for half an hour").into(),
                    ));
                }
                Some(_) => {}
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    fn spec(&self, job: &Job, state: &State, id: &str) -> Result<SessionSpec, RemoteError> {
        let record = state.session(id)?;
        let work = self.work(job.mode, job.max_turns);
        let key_name =
            self.key_name.clone().unwrap_or_else(|| amplihack_agent::profile(self.agent).keys[0].to_owned());
        let mut env = self.env.clone();
        // Where the user has the key under another name, tools there may look for it under that.
        if let Some((name, _)) = self.key().filter(|(name, _)| *name != key_name) {
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
            prompt: work.prompt_file(&record.session.prompt),
            timeout_seconds: job.timeout_seconds,
        })
    }

    /// Sends what sessions share once, then each session.
    async fn send_all(
        &self,
        ground: &Ground,
        far: &Far,
        backend: Backend,
        package: &Package,
        mut specs: Vec<SessionSpec>,
        key: &Secret,
    ) -> Outcomes {
        let stored = match self.missing_there(ground, far, package, &mut specs).await {
            Ok(package) => {
                self.say(&format!("sending {} KB to {}", package.bytes() / 1024, far.machine()));
                self.store(far, &package).await
            }
            Err(error) => Err(error),
        };
        let mut outcomes = Outcomes::new();
        let ids: Vec<String> = specs.iter().map(|spec| spec.id.clone()).collect();
        for spec in specs {
            let stop = self.fail_fast && outcomes.values().any(Result::is_err);
            let outcome = match &stored {
                Err(error) => Err(error.clone()),
                Ok(()) if stop => {
                    Err(RemoteError::Execution("an earlier session could not be started".into()))
                }
                Ok(()) => self.send(ground, far, backend, &spec, key).await,
            };
            outcomes.insert(spec.id, outcome);
        }
        if backend == Backend::Slurm {
            let mut good: Vec<String> =
                ids.into_iter().filter(|id| matches!(outcomes.get(id), Some(Ok(())))).collect();
            // Whoever submits the job again has them in the order of the state.
            good.sort();
            if let Err(error) = self.submit(ground, far, &good).await {
                outcomes.extend(good.into_iter().map(|id| (id, Err(error.clone()))));
            }
        }
        outcomes
    }

    async fn store(&self, far: &Far, package: &Package) -> Result<(), RemoteError> {
        let artefacts: Vec<_> = [&package.bundle, &package.extra].into_iter().flatten().collect();
        let digests: Vec<&str> = artefacts.iter().map(|artefact| artefact.sha256.as_str()).collect();
        let there = far.has(&digests).await?;
        for artefact in artefacts {
            if !there.contains(&artefact.sha256) {
                far.put(&artefact.path, &artefact.sha256).await?;
            }
        }
        self.upload_where_missing(far).await
    }

    async fn upload_where_missing(&self, far: &Far) -> Result<(), RemoteError> {
        let Some(program) = &self.upload else { return Ok(()) };
        let probe = far.probe(&["amplihack"]).await?;
        if probe.programs.iter().any(|(_, version)| version.is_some()) {
            return Ok(());
        }
        if probe.machine != std::env::consts::ARCH {
            let said = format!(
                "this amplihack is for {}, and {} is {}",
                std::env::consts::ARCH,
                far.machine(),
                probe.machine
            );
            let context = ErrorContext::new(said).with("hint", "install amplihack there");
            return Err(RemoteError::Provisioning(context.with("host", far.machine())));
        }
        self.say(&format!("sending amplihack to {}", far.machine()));
        far.install(program, "amplihack").await?;
        Ok(())
    }

    /// Sends one session, and says what is known of it then.
    async fn send(
        &self,
        ground: &Ground,
        far: &Far,
        backend: Backend,
        spec: &SessionSpec,
        key: &Secret,
    ) -> Result<(), RemoteError> {
        ground.change(|state| state.advance(&spec.id, Phase::Sent))?;
        let claimed = match backend {
            Backend::Slurm => far.prepare(spec, Some(key)).await,
            _ => far.start(spec, Some(key)).await,
        };
        match claimed {
            Ok(Claim::Started | Claim::Already) => {}
            // The connection may have been cut after the far side had done it: the machine knows.
            Err(error) => {
                let seen = far.observe(&[&spec.id]).await;
                match seen.as_ref().map(|seen| seen.first().map(|seen| seen.state)) {
                    Ok(Some(FarState::Running | FarState::Ended(_) | FarState::Killed(_))) => {}
                    Ok(Some(FarState::Waiting)) if backend == Backend::Slurm => {}
                    _ => return Err(error),
                }
            }
        }
        ground.change(|state| {
            if backend == Backend::Slurm {
                return state.advance(&spec.id, Phase::Claimed);
            }
            state.started(&spec.id, now()).map(|_| ())
        })
    }

    async fn submit(&self, ground: &Ground, far: &Far, ids: &[String]) -> Result<(), RemoteError> {
        let Some(first) = ids.first() else { return Ok(()) };
        let name = job_name(first);
        // Before it is submitted: whoever comes after a crash looks for the job by this name.
        ground.change(|state| {
            for id in ids {
                state.session_mut(id)?.job = Some(name.clone());
            }
            Ok(())
        })?;
        let options =
            self.hosts.hosts.get(far.machine()).map(|host| host.options.clone()).unwrap_or_default();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        far.submit(&name, &ids, &options).await?;
        ground.change(|state| {
            state.submitted(&ids);
            Ok(())
        })
    }

    /// What was not started gives its slot back; where nobody knows, that is left to be found out.
    async fn settle_failures(&self, ground: &Ground, outcomes: &Outcomes) -> Result<(), RemoteError> {
        for (id, outcome) in outcomes {
            let Err(error) = outcome else { continue };
            let text = error.to_string();
            let phase = ground.read()?.session(id)?.phase;
            let unknown = phase >= Some(Phase::Sent) && unheard(error);
            if !unknown {
                // What a scheduler did not take is claimed on its machine, with its key, and may have been taken nevertheless.
                let claimed = phase >= Some(Phase::Claimed);
                ground.change(|state| {
                    let failed = state.failed(id, text, now())?;
                    state.session_mut(id)?.end_unconfirmed |= failed && claimed;
                    Ok(())
                })?;
                if claimed {
                    Self::end_claimed(ground, id).await?;
                }
            }
        }
        // What was made for nothing must not cost anything.
        let unused: Vec<String> = ground
            .read()?
            .vm_pool
            .values()
            .filter(|machine| {
                machine.made_by_us && machine.active_sessions.is_empty() && machine.making.is_none()
            })
            .filter(|machine| machine.backend == Some(Backend::Azlin))
            .map(|machine| machine.vm.name.clone())
            .collect();
        let failed_on: BTreeSet<String> = {
            let state = ground.read()?;
            let failed = outcomes.iter().filter(|(_, outcome)| outcome.is_err());
            failed.filter_map(|(id, _)| Some(state.session(id).ok()?.session.vm_name.clone())).collect()
        };
        for name in unused.into_iter().filter(|name| failed_on.contains(name)) {
            if let Err(error) = self.give_back(ground, &name, false).await {
                self.say(&format!("{error}"));
            }
        }
        Ok(())
    }

    /// Makes sure that what was claimed never runs; a machine that does not answer is told at the next look.
    async fn end_claimed(ground: &Ground, id: &str) -> Result<(), RemoteError> {
        let state = ground.read()?;
        let ended = ground.far_of(&state, &state.session(id)?.session.vm_name)?.end(id, GRACE).await;
        if ended.is_ok_and(|survivors| survivors == 0) {
            ground.change(|state| state.end_confirmed(id))?;
        }
        Ok(())
    }

    fn rows(
        &self,
        ground: &Ground,
        prompts: &[String],
        ids: &[String],
        mut outcomes: Outcomes,
    ) -> Result<Started, RemoteError> {
        let state = ground.read()?;
        let row = |(prompt, id): (&String, &String)| {
            let outcome = match outcomes.remove(id) {
                Some(Err(error)) => Err(error.with("session_id", id)),
                _ => state.session(id).map(|record| record.session.clone()),
            };
            StartRow { prompt: prompt.clone(), outcome }
        };
        Ok(Started { rows: prompts.iter().zip(ids).map(row).collect() })
    }
}

/// The name of a scheduler's job for sessions of which this is the first.
pub(super) fn job_name(first: &str) -> String {
    format!("amplihack-{}", first.trim_start_matches("sess-"))
}

fn no_room(wants: &Wants, unready: &BTreeMap<String, Vec<String>>) -> RemoteError {
    let mut context =
        ErrorContext::new(format!("no machine of the backend {} has a free slot", wants.backend))
            .with("reason_slots", "full")
            .with(
                "hint",
                "wait for sessions to end, see 'amplihack remote pool list', or name more machines",
            );
    if !unready.is_empty() {
        let text: Vec<String> =
            unready.iter().map(|(name, problems)| format!("{name}: {}", problems.join("; "))).collect();
        context.message =
            format!("no machine of the backend {} can take a session: {}", wants.backend, text.join(" | "));
        context = context.with("hint", "look at the machines: amplihack remote doctor");
    }
    RemoteError::Provisioning(context)
}
