//! The ends of sessions: ended, brought home, removed; machines given back.

use std::path::Path;
use std::time::Duration;

use crate::backend::Backend;
use crate::client::answers::Swept;
use crate::client::ground::{Ground, now};
use crate::client::machines::orphans;
use crate::client::refresh::GRACE;
use crate::client::watch::{reached, removed};
use crate::client::{Client, unheard};
use crate::error::{ErrorContext, RemoteError};
use crate::far::Far;
use crate::options::{IntegrationSummary, KillOptions, KillResult};
use crate::protocol::{Collected, FarState};
use crate::results::{ResultsOptions, integrate};
use crate::state::{Admission, Retrieved};

/// How often a download is taken up again where it was cut.
const TRIES: u32 = 5;

impl Client {
    /// Ends a session. Without `force` a machine that does not answer is an error, and nothing is changed here.
    pub async fn kill(&self, options: KillOptions) -> Result<KillResult, RemoteError> {
        let KillOptions { session_id: id, force, state_file } = options;
        let ground = self.ground(state_file.as_deref())?;
        let known = ground.read()?;
        if amplihack_utils::sabotage::active("remote-kill-unknown") && !known.sessions.contains_key(&id) {
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
        let held = |ground: &Ground| -> Result<bool, RemoteError> {
            Ok(ground.read()?.vm_pool.values().any(|machine| machine.active_sessions.contains(&id)))
        };
        let held_before = held(&ground)?;
        let placed = !record.session.vm_name.is_empty();
        let far =
            if placed { ground.far_of(&ground.read()?, &record.session.vm_name).map(Some) } else { Ok(None) };
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
                if force && !amplihack_utils::sabotage::active("remote-kill-forced")
                    || amplihack_utils::sabotage::active("remote-kill-unforced") =>
            {
                (false, None)
            }
            Err(error) if amplihack_utils::sabotage::active("remote-kill-unchanged") => {
                ground.change(|state| state.killed(&id, None, false, now()).map(|_| ()))?;
                return Err(error);
            }
            Err(error) => {
                let hint =
                    format!("try again, or give its slot back anyway: amplihack remote kill {id} --force");
                return Err(error.with("session_id", &id).with("hint", hint));
            }
        };
        ground.change(|state| {
            state.killed(&id, code, succeeded || !placed, now())?;
            if succeeded {
                state.end_confirmed(&id)?;
            }
            Ok(())
        })?;
        Ok(KillResult {
            session: ground.read()?.session(&id)?.session.clone(),
            remote_kill_attempted: attempted || amplihack_utils::sabotage::active("remote-kill-attempted"),
            remote_kill_succeeded: succeeded != amplihack_utils::sabotage::active("remote-kill-succeeded"),
            capacity_released: held_before
                && !held(&ground)?
                && !amplihack_utils::sabotage::active("remote-kill-released"),
        })
    }

    /// Fetches a session's work into the repository at `repo`, and verifies it; `None`: the session changed nothing.
    ///
    /// With `remove` the session's directory on its machine is removed after that.
    pub async fn pull(
        &self,
        id: &str,
        repo: &Path,
        remove: bool,
        state_file: Option<&Path>,
    ) -> Result<Option<IntegrationSummary>, RemoteError> {
        let ground = self.ground(state_file)?;
        let Brought { summary, left } = self.bring_home(&ground, id, repo).await?;
        if remove {
            let state = ground.read()?;
            if !state.session(id)?.session.status.is_final() {
                let context = ErrorContext::new(format!("{id} has not ended, and stays on its machine"));
                return Err(RemoteError::Cleanup(context.with("session_id", id)));
            }
            if !left.is_empty() && !self.discard_results {
                return Err(stays(id, &state.session(id)?.session.vm_name, &left));
            }
            reached(&ground, state.session(id)?)?.remove(id).await?;
        }
        Ok(summary)
    }

    pub(super) async fn bring_home(
        &self,
        ground: &Ground,
        id: &str,
        repo: &Path,
    ) -> Result<Brought, RemoteError> {
        let record = ground.read()?.session(id)?.clone();
        let far = reached(ground, &record)?;
        let (state, log_bytes) =
            self.observe_one(ground, &far, id).await.map_err(|error| recoverable(error, id))?;
        if state == FarState::Absent {
            return Err(removed(&record));
        }
        self.say(&format!("gathering the work of {id}"));
        let collected = far.collect(id).await.map_err(|error| recoverable(error, id))?;
        let summary = if collected.bytes == 0 {
            None
        } else {
            let private = tempfile::tempdir().map_err(|error| {
                RemoteError::Transfer(format!("there is no place for the results: {error}").into())
            })?;
            room_for(collected.bytes, private.path()).map_err(|error| recoverable(error, id))?;
            let bundle = private.path().join("results.bundle");
            download(&far, id, &collected, &bundle).await.map_err(|error| recoverable(error, id))?;
            let results = integrate(ResultsOptions {
                repo,
                env: &self.process,
                bundle: &bundle,
                session_id: id,
                base: record.base.as_deref().unwrap_or_default(),
                wip: collected.wip.as_deref(),
            })
            .await
            .map_err(|error| recoverable(error, id))?;
            for note in &results.notes {
                self.say(note);
            }
            Some(results.summary)
        };
        let refs =
            summary.as_ref().map(|summary: &IntegrationSummary| summary.branches.clone()).unwrap_or_default();
        ground.change(|state| {
            let record = state.session_mut(id)?;
            // Of one that goes on there will be more.
            let whole = collected.left.is_empty() || self.discard_results;
            let verified = record.session.status.is_final() && whole;
            record.retrieved = Some(Retrieved { refs, verified, at: now(), log_bytes });
            Ok(())
        })?;
        Ok(Brought { summary, left: collected.left })
    }

    /// A command that shows a session in tmux, in this terminal.
    pub fn attach(&self, id: &str, state_file: Option<&Path>) -> Result<std::process::Command, RemoteError> {
        let ground = self.ground(state_file)?;
        let state = ground.read()?;
        let record = state.session(id)?;
        reached(&ground, record)?;
        let machine = state.vm_pool.get(&record.session.vm_name).ok_or_else(|| {
            RemoteError::Execution(
                format!("machine '{}' is not known any more", record.session.vm_name).into(),
            )
        })?;
        Ok(ground.terminal(machine, id))
    }

    /// Places no more sessions on a machine, or places them there again.
    pub fn drain(&self, vm: &str, on: bool, state_file: Option<&Path>) -> Result<(), RemoteError> {
        let ground = self.ground(state_file)?;
        let admission = if on { Admission::Draining } else { Admission::Open };
        ground.change(|state| state.set_admission(vm, admission))
    }

    /// Gives back rented machines on which nothing ran for `idle`.
    pub async fn gc(
        &self,
        idle: Duration,
        dry_run: bool,
        discard: bool,
        state_file: Option<&Path>,
    ) -> Result<Swept, RemoteError> {
        let ground = self.ground(state_file)?;
        if !dry_run {
            self.settle(&ground).await?;
        }
        let state = ground.read()?;
        let mut swept = Swept::default();
        for name in state.idle(idle, now()) {
            match state.kept(&name, discard) {
                Some(why) => _ = swept.kept.insert(name, why.to_string()),
                None if dry_run => swept.released.push(name),
                None => match self.give_back(&ground, &name, discard).await {
                    Ok(()) => swept.released.push(name),
                    Err(error) => _ = swept.failed.insert(name, error.to_string()),
                },
            }
        }
        if self.backend == Some(Backend::Azlin) {
            let listed = self.azlin(ground.azlin_runner()).list().await?;
            for name in orphans(&listed, &ground.read()?) {
                let why =
                    format!("nobody here knows it, and it costs money; delete it: azlin kill {name} --force");
                swept.kept.insert(name, why);
            }
        }
        Ok(swept)
    }
}

/// Ends a session on its machine, and answers its code if it has one.
async fn end_there(far: &Far, id: &str) -> Result<Option<i32>, RemoteError> {
    let survivors = far.end(id, GRACE).await?;
    if survivors > 0 {
        let context = ErrorContext::new(format!("{survivors} processes of {id} do not end"));
        return Err(RemoteError::Execution(context.with("host", far.machine())));
    }
    let seen = far.observe(&[id]).await?;
    Ok(seen.first().and_then(|seen| match seen.state {
        FarState::Ended(code) | FarState::Killed(code) => Some(code),
        _ => None,
    }))
}

/// What came of bringing a session's work home.
pub(super) struct Brought {
    /// The sums; `None`: nothing was changed.
    pub(super) summary: Option<IntegrationSummary>,
    /// What could not be brought.
    pub(super) left: Vec<String>,
}

/// The error of a session that holds what could not be brought home.
pub(super) fn stays(id: &str, machine: &str, left: &[String]) -> RemoteError {
    let message =
        format!("{id} stays on {machine}, with work that could not be brought home: {}", left.join("; "));
    let hint = format!(
        "the rest is under refs/remotes/remote-exec/{id}/; look at it there, in ~/.amplihack/remote/sessions/{id}, or give it up: amplihack remote pull {id} --remove --discard-results"
    );
    let context = ErrorContext::new(message).with("session_id", id).with("vm", machine);
    RemoteError::Cleanup(context.with("reason", "left").with("hint", hint))
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
    Err(RemoteError::Transfer(ErrorContext::new(message).with("reason", "room").with("hint", hint)))
}

/// Fetches a bundle, from where it was cut, until it is the one that was announced.
async fn download(far: &Far, id: &str, collected: &Collected, to: &Path) -> Result<(), RemoteError> {
    let mut last = None;
    for _ in 0..TRIES {
        match far.fetch(id, collected, to).await {
            Ok(()) => return Ok(()),
            Err(error) if unheard(&error) || error.fact("reason") == Some("digest") => last = Some(error),
            Err(error) => return Err(error),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Err(last.unwrap_or_else(|| RemoteError::Transfer("the results could not be fetched".into())))
}

/// Says that nothing is lost, and how to get it.
fn recoverable(error: RemoteError, id: &str) -> RemoteError {
    let first = error.fact("hint").map(|hint| format!("{hint}; ")).unwrap_or_default();
    let hint = format!("{first}nothing was deleted; try again: amplihack remote pull {id}");
    error.with("session_id", id).with("hint", hint)
}
