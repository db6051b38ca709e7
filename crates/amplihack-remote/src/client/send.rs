//! Transfer of a package to a machine, once, and of each session; every step is written down before it is done.

use amplihack_config::secret::Secret;

use crate::backend::Backend;
use crate::client::Client;
use crate::client::context::{RemoteContext, current_time};
use crate::client::start::StartOutcomes;
use crate::error::{ErrorContext, RemoteError};
use crate::far::FarSide;
use crate::package::SessionPackage;
use crate::protocol::{Claim, FarState, SessionSpec};
use crate::state::StartPhase;

impl Client {
    /// Sends what sessions share once, then each session.
    pub(super) async fn send_all(
        &self,
        ground: &RemoteContext,
        far: &FarSide,
        backend: Backend,
        package: &SessionPackage,
        mut specs: Vec<SessionSpec>,
        key: &Secret,
    ) -> StartOutcomes {
        let stored = match self.missing_there(ground, far, package, &mut specs).await {
            Ok(package) => {
                self.report_progress(&format!(
                    "sending {} KB to {}",
                    package.total_bytes() / 1024,
                    far.machine()
                ));
                self.store_package(far, &package).await
            }
            Err(error) => Err(error),
        };
        let mut outcomes = StartOutcomes::new();
        let ids: Vec<String> = specs.iter().map(|spec| spec.id.clone()).collect();
        for spec in specs {
            let stop = self.fail_fast && outcomes.values().any(Result::is_err);
            let outcome = match &stored {
                Err(error) => Err(error.clone()),
                Ok(()) if stop => {
                    Err(RemoteError::Execution("an earlier session could not be started".into()))
                }
                Ok(()) => self.send_session(ground, far, backend, &spec, key).await,
            };
            outcomes.insert(spec.id, outcome);
        }
        if backend == Backend::Slurm {
            let mut good: Vec<String> =
                ids.into_iter().filter(|id| matches!(outcomes.get(id), Some(Ok(())))).collect();
            // Whoever submits the job again has them in the order of the state.
            good.sort();
            if let Err(error) = self.submit_job(ground, far, &good).await {
                outcomes.extend(good.into_iter().map(|id| (id, Err(error.clone()))));
            }
        }
        outcomes
    }

    async fn store_package(&self, far: &FarSide, package: &SessionPackage) -> Result<(), RemoteError> {
        let artefacts: Vec<_> = [&package.bundle, &package.extra].into_iter().flatten().collect();
        // What is there already is not sent again.
        for artefact in artefacts {
            far.store_file(&artefact.path, &artefact.sha256).await?;
        }
        self.upload_where_missing(far).await
    }

    async fn upload_where_missing(&self, far: &FarSide) -> Result<(), RemoteError> {
        let Some(program) = &self.upload else { return Ok(()) };
        let probe = far.probe_machine(&["amplihack"]).await?;
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
            let context = ErrorContext::new(said).with_fact("hint", "install amplihack there");
            return Err(RemoteError::Provisioning(context.with_fact("host", far.machine())));
        }
        self.report_progress(&format!("sending amplihack to {}", far.machine()));
        far.install_program(program, "amplihack").await?;
        Ok(())
    }

    /// Sends one session, and says what is known of it then.
    async fn send_session(
        &self,
        ground: &RemoteContext,
        far: &FarSide,
        backend: Backend,
        spec: &SessionSpec,
        key: &Secret,
    ) -> Result<(), RemoteError> {
        ground.change_state(|state| state.advance_start(&spec.id, StartPhase::Sent))?;
        let claimed = match backend {
            Backend::Slurm => far.prepare_session(spec, Some(key)).await,
            _ => far.start_session(spec, Some(key)).await,
        };
        match claimed {
            Ok(Claim::Started | Claim::Already) => {}
            // The connection may have been cut after the far side had done it: the machine knows.
            Err(error) => {
                let seen = far.observe_sessions(&[&spec.id]).await;
                match seen.as_ref().map(|seen| seen.first().map(|seen| seen.state)) {
                    Ok(Some(FarState::Running | FarState::Ended(_) | FarState::Killed(_))) => {}
                    Ok(Some(FarState::Waiting)) if backend == Backend::Slurm => {}
                    _ => return Err(error),
                }
            }
        }
        ground.change_state(|state| {
            if backend == Backend::Slurm {
                return state.advance_start(&spec.id, StartPhase::Claimed);
            }
            state.mark_started(&spec.id, current_time()).map(|_| ())
        })
    }

    async fn submit_job(
        &self,
        ground: &RemoteContext,
        far: &FarSide,
        ids: &[String],
    ) -> Result<(), RemoteError> {
        let Some(first) = ids.first() else { return Ok(()) };
        let name = job_name(first);
        // Before it is submitted: whoever comes after a crash looks for the job by this name.
        let asks = ground.change_state(|state| {
            for id in ids {
                state.session_mut(id)?.job = Some(name.clone());
            }
            Ok(state.session(first)?.job_options.clone())
        })?;
        let options = self.job_options(far.machine(), asks);
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        far.submit_job(&name, &ids, &options).await?;
        ground.change_state(|state| {
            state.mark_submitted(&ids);
            Ok(())
        })
    }

    /// The options of a scheduler's job: `asks`, except where the options of the host in `hosts.toml` replace them.
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
