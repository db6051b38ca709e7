//! Machines are asked once how their sessions stand, and what a process that died left behind is settled.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::backend::Backend;
use crate::client::Client;
use crate::client::answers::{ListRow, SessionListing};
use crate::client::ask::ask_each;
use crate::client::context::{RemoteContext, current_time};
use crate::client::machines::found_machine;
use crate::client::send::job_name;
use crate::error::RemoteError;
use crate::options::{ListOptions, RemoteStatus, StatusOptions};
use crate::pool::{
    HostSeen, LookedUp, PoolAction, PoolObservations, RemoteStateChange, SchedulerJobState, SeenSession,
};
use crate::protocol::{FarState, Observed};
use crate::session::Session;
use crate::state::{self, RemoteState, SessionRecord, StartPhase};

/// Time for processes to end by themselves before they are killed.
pub(super) const GRACE: Duration = Duration::from_secs(10);

impl Client {
    /// The sessions as the state file knows them; no machine is asked, and nothing is written.
    ///
    /// # Errors
    /// `Validation` where the environment or the state file cannot be used.
    pub fn session_listing(&self, options: &ListOptions) -> Result<SessionListing, RemoteError> {
        let state = self.open_context(options.state_file.as_deref())?.read_state()?;
        let unsettled = state.needs_reconciling(state::ClientProcess::is_alive);
        let wanted = |session: &Session| {
            !amplihack_sys::sabotage::is_active("remote-list")
                && options.status.is_none_or(|status| {
                    status == session.status || amplihack_sys::sabotage::is_active("remote-list-status")
                })
        };
        let mut rows: Vec<ListRow> = state
            .sessions
            .into_values()
            .filter(|record| wanted(&record.session))
            .map(|record| ListRow {
                end: record.session.run_end().map(|end| end.outcome()),
                session: record.session,
                condition: record.condition,
                backend: record.backend,
            })
            .collect();
        rows.sort_by(|one, other| {
            (one.session.created_at, &one.session.session_id)
                .cmp(&(other.session.created_at, &other.session.session_id))
        });
        Ok(SessionListing { rows, unsettled })
    }

    /// The sessions, as [`listing`](Self::session_listing) has them.
    ///
    /// # Errors
    /// `Validation` where the environment or the state file cannot be used.
    #[expect(clippy::unused_async, reason = "all six commands are asynchronous")]
    pub async fn list_sessions(&self, options: ListOptions) -> Result<Vec<Session>, RemoteError> {
        Ok(self.session_listing(&options)?.rows.into_iter().map(|row| row.session).collect())
    }

    /// Sums over machines and sessions, as they are known here.
    ///
    /// # Errors
    /// `Validation` where the environment or the state file cannot be used.
    #[expect(clippy::unused_async, reason = "all six commands are asynchronous")]
    pub async fn remote_status(&self, options: StatusOptions) -> Result<RemoteStatus, RemoteError> {
        Ok(RemoteStatus::from(&self.open_context(options.state_file.as_deref())?.read_state()?))
    }

    /// Asks each machine once, and brings what is known here up to date.
    ///
    /// # Errors
    /// `Validation` where the environment or the state file cannot be used; `Execution` where a session is to be ended or submitted again
    /// and its machine is not known any more. A machine that does not answer is no error.
    pub async fn refresh_sessions(
        &self,
        state_file: Option<&Path>,
    ) -> Result<Vec<RemoteStateChange>, RemoteError> {
        self.refresh_ground(&self.open_context(state_file)?).await
    }

    /// Settles what a process that died left behind, if there is anything.
    pub(super) async fn settle_leftovers(&self, ground: &RemoteContext) -> Result<(), RemoteError> {
        if !ground.read_state()?.needs_reconciling(state::ClientProcess::is_alive).is_empty() {
            self.refresh_ground(ground).await?;
        }
        Ok(())
    }

    pub(super) async fn refresh_ground(
        &self,
        ground: &RemoteContext,
    ) -> Result<Vec<RemoteStateChange>, RemoteError> {
        let state = ground.read_state()?;
        let seen = PoolObservations {
            hosts: Self::observe_machines(ground, &state).await,
            looked_up: BTreeMap::new(),
        };
        let first = ground.change_state(|state| {
            state.reconcile(&seen, &ground.me, &state::ClientProcess::is_alive, current_time())
        })?;
        let mut changes = first.changes;
        let mut look_up = Vec::new();
        for action in first.actions {
            match action {
                PoolAction::LookUp(name) => look_up.push(name),
                other => self.perform_action(ground, other).await?,
            }
        }
        if !look_up.is_empty() {
            let looked_up = self.look_up(ground, &look_up).await?;
            let seen = PoolObservations { hosts: BTreeMap::new(), looked_up };
            let second = ground.change_state(|state| {
                state.reconcile(&seen, &ground.me, &state::ClientProcess::is_alive, current_time())
            })?;
            changes.extend(second.changes);
        }
        for change in &changes {
            if let RemoteStateChange::MayCost(name, why) = change {
                self.report_progress(&format!("{name} may cost money, and its state is unknown: {why}"));
            }
        }
        Ok(changes)
    }

    /// Asks all machines at the same time, with one question each.
    async fn observe_machines(ground: &RemoteContext, state: &RemoteState) -> BTreeMap<String, HostSeen> {
        let questions = state.to_observe().into_iter().filter_map(|(name, ids)| {
            let machine = state.vm_pool.get(&name)?;
            let scheduled = machine.backend == Some(Backend::Slurm);
            let far = ground.far_side(machine);
            Some((name, async move {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                let Ok(sessions) = far.observe_sessions(&ids).await else { return HostSeen::Unreachable };
                let seen = sessions.into_iter().map(|observed| {
                    let job = scheduled.then_some(match observed.state {
                        // Submitting again finds the job by its name, if there is one.
                        FarState::Waiting => SchedulerJobState::Absent,
                        _ => SchedulerJobState::Known,
                    });
                    (observed.id.clone(), SeenSession { observed, job })
                });
                HostSeen::Answered(seen.collect())
            }))
        });
        ask_each(questions).await
    }

    async fn look_up(
        &self,
        ground: &RemoteContext,
        names: &[String],
    ) -> Result<BTreeMap<String, LookedUp>, RemoteError> {
        let listed = self.azlin_cli(ground.azlin_runner()).list_machines().await;
        let state = ground.read_state()?;
        let answer = |name: &String| match &listed {
            Err(error) => LookedUp::Unknown(error.to_string()),
            Ok(vms) => match vms.iter().find(|vm| vm.name == *name) {
                None => LookedUp::Gone,
                Some(vm) if vm.is_running() => {
                    let size =
                        state.vm_pool.get(name).map(|machine| machine.vm.size.clone()).unwrap_or_default();
                    LookedUp::There(found_machine(vm, None, &size))
                }
                Some(vm) => LookedUp::Unknown(format!(
                    "azlin lists it as {}",
                    vm.power_state.as_deref().unwrap_or("there")
                )),
            },
        };
        Ok(names.iter().map(|name| (name.clone(), answer(name))).collect())
    }

    /// Does what the state asks for. What fails is left for the next time.
    async fn perform_action(&self, ground: &RemoteContext, action: PoolAction) -> Result<(), RemoteError> {
        let state = ground.read_state()?;
        match action {
            PoolAction::LookUp(_) => {}
            PoolAction::End(id, machine) => end_for_good(ground, &state, &id, &machine).await.map(|_| ())?,
            // The key came with the start that was cut off, and is not here any more: it is made sure that it never runs.
            PoolAction::FinishStart(id, machine) => {
                if end_for_good(ground, &state, &id, &machine).await? {
                    let why = "its start was cut off before it ran; start it again";
                    // One that came to its program until then has its own end by now.
                    ground.change_state(|state| state.mark_failed(&id, why, current_time()).map(|_| ()))?;
                }
            }
            PoolAction::Resubmit(id, machine) => {
                // Another session of the same job may have come first.
                if state.session(&id)?.phase >= Some(StartPhase::Submitted) {
                    return Ok(());
                }
                let far = ground.far_side_named(&state, &machine)?;
                let given = state.session(&id)?.job.clone();
                let name = given.clone().unwrap_or_else(|| job_name(&id));
                if given.is_none() {
                    ground.change_state(|state| {
                        state.session_mut(&id)?.job = Some(name.clone());
                        Ok(())
                    })?;
                }
                let in_job = |(other, record): (&String, &SessionRecord)| {
                    (*other == id || record.job.as_deref() == Some(&name)).then(|| other.clone())
                };
                let batch: Vec<String> = state.sessions.iter().filter_map(in_job).collect();
                let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
                let options = self.job_options(&machine, state.session(&id)?.job_options.clone());
                match far.submit_job(&name, &batch, &options).await {
                    Ok(_) => ground.change_state(|state| {
                        state.mark_submitted(&batch);
                        Ok(())
                    })?,
                    Err(error) => self.report_progress(&format!("{id}: {error}")),
                }
            }
        }
        Ok(())
    }
}

/// Makes sure that nothing of a session runs or will run, and takes in the end of one that came to its program until then. Answers
/// whether that is so; a machine that does not answer is told at the next look.
pub(super) async fn end_for_good(
    ground: &RemoteContext,
    state: &RemoteState,
    id: &str,
    machine: &str,
) -> Result<bool, RemoteError> {
    let far = ground.far_side_named(state, machine)?;
    if !far.end_session(id, GRACE).await.is_ok_and(|survivors| survivors == 0) {
        return Ok(false);
    }
    let seen = far.observe_sessions(&[id]).await.unwrap_or_default();
    let Some(seen) = seen.into_iter().find(|seen| seen.id == id) else { return Ok(false) };
    if seen.started.is_some() {
        take_in(ground, machine, seen)?;
    } else {
        ground.change_state(|state| state.end_confirmed(id))?;
    }
    Ok(true)
}

/// Brings what is known here to what a machine says of one session.
pub(super) fn take_in(ground: &RemoteContext, machine: &str, observed: Observed) -> Result<(), RemoteError> {
    let sessions = [(observed.id.clone(), SeenSession { observed, job: None })].into();
    let hosts = [(machine.to_owned(), HostSeen::Answered(sessions))].into();
    let seen = PoolObservations { hosts, ..PoolObservations::default() };
    ground.change_state(|state| {
        state.reconcile(&seen, &ground.me, &state::ClientProcess::is_alive, current_time()).map(|_| ())
    })
}
