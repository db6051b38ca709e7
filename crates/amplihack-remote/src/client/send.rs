//! What sessions need is sent to their machine once, then each session; every step is written down before it is done.

use amplihack_utils::secret::Secret;

use crate::backend::Backend;
use crate::client::Client;
use crate::client::ground::{Ground, now};
use crate::client::start::Outcomes;
use crate::error::{ErrorContext, RemoteError};
use crate::far::Far;
use crate::package::Package;
use crate::protocol::{Claim, FarState, SessionSpec};
use crate::state::Phase;

impl Client {
    /// Sends what sessions share once, then each session.
    pub(super) async fn send_all(
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
        // What is there already is not sent again.
        for artefact in artefacts {
            far.put(&artefact.path, &artefact.sha256).await?;
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
        let asks = ground.change(|state| {
            for id in ids {
                state.session_mut(id)?.job = Some(name.clone());
            }
            Ok(state.session(first)?.job_options.clone())
        })?;
        let options = self.job_options(far.machine(), asks);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        far.submit(&name, &ids, &options).await?;
        ground.change(|state| {
            state.submitted(&ids);
            Ok(())
        })
    }

    /// What a scheduler is told beside what to run: what the job asks for, as far as its host's options do not say other things.
    pub(super) fn job_options(&self, machine: &str, mut asks: Vec<String>) -> Vec<String> {
        let given = self.hosts.hosts.get(machine).map(|host| host.options.clone()).unwrap_or_default();
        // Of two words for the same the last one counts, but memory can be asked for in more than one way.
        if given.iter().any(|word| word.starts_with("--mem")) {
            asks.retain(|word| !word.starts_with("--mem"));
        }
        asks.extend(given);
        asks
    }
}

/// The name of a scheduler's job for sessions of which this is the first.
pub(super) fn job_name(first: &str) -> String {
    format!("amplihack-{}", first.trim_start_matches("sess-"))
}
