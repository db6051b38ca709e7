//! The ends of sessions: ended, brought home, removed; machines given back.

use std::path::Path;
use std::time::Duration;

use crate::backend::Backend;
use crate::client::answers::SweepReport;
use crate::client::context::{RemoteContext, current_time};
use crate::client::machines::unknown_machines;
use crate::client::refresh::GRACE;
use crate::client::watch::{find_far_side, removed_error};
use crate::client::{Client, may_answer_later};
use crate::error::{ErrorContext, RemoteError};
use crate::far::FarSide;
use crate::options::{IntegrationSummary, KillOptions, KillResult};
use crate::protocol::{CollectedResults, FarState};
use crate::results::{ResultsOptions, integrate_results};
use crate::state::{MachineAdmission, RetrievedResults};

/// Number of attempts to download results; each resumes where the last was cut.
const TRIES: u32 = 5;

impl Client {
    /// Ends a session.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Validation` where the environment or the state file cannot be used. Without `force`
    /// also `Transfer` where the machine does not answer, and `Execution` where it is not known any more or the session does not end there;
    /// nothing is changed here then.
    pub async fn kill_session(&self, options: KillOptions) -> Result<KillResult, RemoteError> {
        let KillOptions { session_id: id, force, state_file } = options;
        let ground = self.open_context(state_file.as_deref())?;
        let known = ground.read_state()?;
        if amplihack_sys::sabotage::is_active("remote-kill-unknown") && !known.sessions.contains_key(&id) {
            return Err(RemoteError::Execution("there is nothing to end".into()));
        }
        let record = known.session(&id)?.clone();
        if record.session.status.is_final() && !record.end_unconfirmed {
            return Ok(KillResult {
                session: record.session,
                remote_kill_attempted: false,
                remote_kill_succeeded: false,
                capacity_released: false,
            });
        }
        let held = |ground: &RemoteContext| -> Result<bool, RemoteError> {
            Ok(ground.read_state()?.vm_pool.values().any(|machine| machine.active_sessions.contains(&id)))
        };
        let held_before = held(&ground)?;
        let placed = !record.session.vm_name.is_empty();
        let far = if placed {
            ground.far_side_named(&ground.read_state()?, &record.session.vm_name).map(Some)
        } else {
            Ok(None)
        };
        // A machine that nobody knows is not asked.
        let attempted = matches!(far, Ok(Some(_)));
        let ended = match far {
            Ok(Some(far)) => end_there(&far, &id).await,
            Ok(None) => Ok(None),
            Err(unknown) => Err(unknown),
        };
        let (succeeded, code) = match ended {
            Ok(code) => (attempted, code),
            Err(_)
                if force && !amplihack_sys::sabotage::is_active("remote-kill-forced")
                    || amplihack_sys::sabotage::is_active("remote-kill-unforced") =>
            {
                (false, None)
            }
            Err(error) if amplihack_sys::sabotage::is_active("remote-kill-unchanged") => {
                ground
                    .change_state(|state| state.mark_killed(&id, None, false, current_time()).map(|_| ()))?;
                return Err(error);
            }
            Err(error) => {
                let hint =
                    format!("try again, or give its slot back anyway: amplihack remote kill {id} --force");
                return Err(error.with_fact("session_id", &id).with_fact("hint", hint));
            }
        };
        ground.change_state(|state| {
            state.mark_killed(&id, code, succeeded || !placed, current_time())?;
            if succeeded {
                state.end_confirmed(&id)?;
            }
            Ok(())
        })?;
        Ok(KillResult {
            session: ground.read_state()?.session(&id)?.session.clone(),
            remote_kill_attempted: attempted || amplihack_sys::sabotage::is_active("remote-kill-attempted"),
            remote_kill_succeeded: succeeded != amplihack_sys::sabotage::is_active("remote-kill-succeeded"),
            capacity_released: held_before
                && !held(&ground)?
                && !amplihack_sys::sabotage::is_active("remote-kill-released"),
        })
    }

    /// Fetches a session's work into the repository at `repo`, and verifies it; `None`: the session changed nothing.
    ///
    /// With `remove` the session's directory on its machine is removed after that.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Validation` where the environment or the state file cannot be used; `Execution`
    /// where it is on no machine, its machine has it no more, or the command fails there; `Transfer` where the machine cannot be asked,
    /// there is no room here, or other bytes arrive; `Integration` where the repository does not take the results. With `remove` also
    /// `Cleanup` where the session has not ended, or not all of its work could be brought home.
    pub async fn pull_results(
        &self,
        id: &str,
        repo: &Path,
        remove: bool,
        state_file: Option<&Path>,
    ) -> Result<Option<IntegrationSummary>, RemoteError> {
        let ground = self.open_context(state_file)?;
        let RetrievedWork { summary, left } = self.bring_home(&ground, id, repo).await?;
        if remove {
            let state = ground.read_state()?;
            if !state.session(id)?.session.status.is_final() {
                let context = ErrorContext::new(format!("{id} has not ended, and stays on its machine"));
                return Err(RemoteError::Cleanup(context.with_fact("session_id", id)));
            }
            if !left.is_empty() && !self.discard_results {
                return Err(leftover_error(id, &state.session(id)?.session.vm_name, &left));
            }
            find_far_side(&ground, state.session(id)?)?.remove_session(id).await?;
        }
        Ok(summary)
    }

    pub(super) async fn bring_home(
        &self,
        ground: &RemoteContext,
        id: &str,
        repo: &Path,
    ) -> Result<RetrievedWork, RemoteError> {
        let record = ground.read_state()?.session(id)?.clone();
        let far = find_far_side(ground, &record)?;
        let (state, log_bytes) =
            self.observe_one(ground, &far, id).await.map_err(|error| add_recovery_hint(error, id))?;
        if state == FarState::Absent {
            return Err(removed_error(&record));
        }
        self.report_progress(&format!("gathering the work of {id}"));
        let collected = far.collect_results(id).await.map_err(|error| add_recovery_hint(error, id))?;
        let summary = if collected.bytes == 0 {
            None
        } else {
            let private = tempfile::tempdir().map_err(|error| {
                RemoteError::Transfer(format!("the results could not be stored: {error}").into())
            })?;
            room_for(collected.bytes, private.path()).map_err(|error| add_recovery_hint(error, id))?;
            let bundle = private.path().join("results.bundle");
            download_results(&far, id, &collected, &bundle)
                .await
                .map_err(|error| add_recovery_hint(error, id))?;
            let results = integrate_results(ResultsOptions {
                repo,
                env: &self.process,
                bundle: &bundle,
                session_id: id,
                base: record.base.as_deref().unwrap_or_default(),
                wip: collected.wip.as_deref(),
            })
            .await
            .map_err(|error| add_recovery_hint(error, id))?;
            for note in &results.notes {
                self.report_progress(note);
            }
            Some(results.summary)
        };
        let refs =
            summary.as_ref().map(|summary: &IntegrationSummary| summary.branches.clone()).unwrap_or_default();
        ground.change_state(|state| {
            let record = state.session_mut(id)?;
            // Of one that goes on there will be more.
            let whole = collected.left.is_empty() || self.discard_results;
            let verified = record.session.status.is_final() && whole;
            record.retrieved = Some(RetrievedResults { refs, verified, at: current_time(), log_bytes });
            Ok(())
        })?;
        Ok(RetrievedWork { summary, left: collected.left })
    }

    /// A command that shows a session in tmux, in this terminal.
    ///
    /// # Errors
    /// `SessionNotFound` where no session has the id; `Execution` where it is on no machine or its machine is not known any more;
    /// `Validation` where the environment or the state file cannot be used.
    pub fn attach_command(
        &self,
        id: &str,
        state_file: Option<&Path>,
    ) -> Result<std::process::Command, RemoteError> {
        let ground = self.open_context(state_file)?;
        let state = ground.read_state()?;
        let record = state.session(id)?;
        find_far_side(&ground, record)?;
        let machine = state.vm_pool.get(&record.session.vm_name).ok_or_else(|| {
            RemoteError::Execution(
                format!("machine '{}' is not known any more", record.session.vm_name).into(),
            )
        })?;
        Ok(ground.terminal_command(machine, id))
    }

    /// Places no more sessions on a machine, or places them there again.
    ///
    /// # Errors
    /// `Provisioning` where the machine is not in the pool; `Validation` where the environment or the state file cannot be used.
    pub fn set_draining(&self, vm: &str, on: bool, state_file: Option<&Path>) -> Result<(), RemoteError> {
        let ground = self.open_context(state_file)?;
        let admission = if on { MachineAdmission::Draining } else { MachineAdmission::Open };
        ground.change_state(|state| state.set_admission(vm, admission))
    }

    /// Gives back rented machines on which nothing ran for `idle`.
    ///
    /// # Errors
    /// Those of [`refresh_sessions`](Self::refresh_sessions); with the backend azlin also those of
    /// [`AzlinCli::list_machines`](crate::azlin::AzlinCli::list_machines). A machine that cannot be given back is no error: the report says
    /// why.
    pub async fn release_idle_machines(
        &self,
        idle: Duration,
        dry_run: bool,
        discard: bool,
        state_file: Option<&Path>,
    ) -> Result<SweepReport, RemoteError> {
        let ground = self.open_context(state_file)?;
        if !dry_run {
            self.settle_leftovers(&ground).await?;
        }
        let state = ground.read_state()?;
        let mut swept = SweepReport::default();
        for name in state.idle_machines(idle, current_time()) {
            match state.keep_reason(&name, discard) {
                Some(why) => _ = swept.kept.insert(name, why.to_string()),
                None if dry_run => swept.released.push(name),
                None => match self.give_back(&ground, &name, discard).await {
                    Ok(()) => swept.released.push(name),
                    Err(error) => _ = swept.failed.insert(name, error.to_string()),
                },
            }
        }
        if self.backend == Some(Backend::Azlin) {
            let listed = self.azlin_cli(ground.azlin_runner()).list_machines().await?;
            for name in unknown_machines(&listed, &ground.read_state()?) {
                let why = format!(
                    "it is not recorded here, and it costs money; delete it: azlin kill {name} --force"
                );
                swept.kept.insert(name, why);
            }
        }
        Ok(swept)
    }
}

/// Ends a session on its machine, and answers its code if it has one.
async fn end_there(far: &FarSide, id: &str) -> Result<Option<i32>, RemoteError> {
    let survivors = far.end_session(id, GRACE).await?;
    if survivors > 0 {
        let context = ErrorContext::new(format!("{survivors} processes of {id} do not end"));
        return Err(RemoteError::Execution(context.with_fact("host", far.machine())));
    }
    let seen = far.observe_sessions(&[id]).await?;
    Ok(seen.first().and_then(|seen| match seen.state {
        FarState::Ended(code) | FarState::Killed(code) => Some(code),
        _ => None,
    }))
}

/// The work that was brought home from a session.
pub(super) struct RetrievedWork {
    /// The sums; `None`: nothing was changed.
    pub(super) summary: Option<IntegrationSummary>,
    /// Descriptions of the work that could not be brought home.
    pub(super) left: Vec<String>,
}

/// The error of a session that holds what could not be brought home.
pub(super) fn leftover_error(id: &str, machine: &str, left: &[String]) -> RemoteError {
    let message =
        format!("{id} stays on {machine}, with work that could not be brought home: {}", left.join("; "));
    let hint = format!(
        "the rest is under refs/remotes/remote-exec/{id}/; look at it there, in ~/.amplihack/remote/sessions/{id}, or give it up: amplihack remote pull {id} --remove --discard-results"
    );
    let context = ErrorContext::new(message).with_fact("session_id", id).with_fact("vm", machine);
    RemoteError::Cleanup(context.with_fact("reason", "left").with_fact("hint", hint))
}

/// Refuses results that `place` has no room for, by what their machine says.
fn room_for(bytes: u64, place: &Path) -> Result<(), RemoteError> {
    let Ok(disk) = rustix::fs::statvfs(place) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    // The answer, and the bundle that is made of it.
    if bytes <= free / 2 {
        return Ok(());
    }
    let message = format!(
        "the results have {} MB, and {} has {} MB free",
        bytes >> 20,
        place.parent().unwrap_or(place).display(),
        free >> 20
    );
    let hint = "make room, or set TMPDIR to a directory that holds them twice";
    Err(RemoteError::Transfer(ErrorContext::new(message).with_fact("reason", "room").with_fact("hint", hint)))
}

/// Fetches a bundle, from where it was cut, until it is the one that was announced.
async fn download_results(
    far: &FarSide,
    id: &str,
    collected: &CollectedResults,
    to: &Path,
) -> Result<(), RemoteError> {
    let mut last = None;
    for _ in 0..TRIES {
        match far.fetch_results(id, collected, to).await {
            Ok(()) => return Ok(()),
            Err(error) if may_answer_later(&error) || error.get_fact("reason") == Some("digest") => {
                last = Some(error);
            }
            Err(error) => return Err(error),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Err(last.unwrap_or_else(|| RemoteError::Transfer("the results could not be fetched".into())))
}

/// Says that nothing is lost, and how to get it.
fn add_recovery_hint(error: RemoteError, id: &str) -> RemoteError {
    let first = error.get_fact("hint").map(|hint| format!("{hint}; ")).unwrap_or_default();
    let hint = format!("{first}nothing was deleted; try again: amplihack remote pull {id}");
    error.with_fact("session_id", id).with_fact("hint", hint)
}
