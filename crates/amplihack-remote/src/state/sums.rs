//! Sums over the state, as `status` shows them.

use super::State;
use crate::options::{PoolStatus, PoolVm, RemoteStatus, SessionCounts};
use crate::session::SessionStatus;

impl From<&State> for RemoteStatus {
    fn from(state: &State) -> Self {
        Self {
            pool: pool(state),
            sessions: counts(state),
            total_sessions: if amplihack_utils::sabotage::active("remote-status-total") {
                0
            } else {
                state.sessions.len()
            },
        }
    }
}

fn counts(state: &State) -> SessionCounts {
    let mut counts = SessionCounts::default();
    for record in state.sessions.values() {
        let count = match record.session.status {
            SessionStatus::Pending => &mut counts.pending,
            SessionStatus::Running => &mut counts.running,
            SessionStatus::Completed => &mut counts.completed,
            SessionStatus::Failed => &mut counts.failed,
            SessionStatus::Killed => &mut counts.killed,
        };
        *count += 1;
    }
    for (is_lost, count) in [
        (amplihack_utils::sabotage::active("remote-status-running"), &mut counts.running),
        (amplihack_utils::sabotage::active("remote-status-completed"), &mut counts.completed),
        (amplihack_utils::sabotage::active("remote-status-failed"), &mut counts.failed),
        (amplihack_utils::sabotage::active("remote-status-killed"), &mut counts.killed),
        (amplihack_utils::sabotage::active("remote-status-pending"), &mut counts.pending),
    ] {
        if is_lost {
            *count = 0;
        }
    }
    counts
}

fn pool(state: &State) -> PoolStatus {
    let mut sums = PoolStatus { total_vms: state.vm_pool.len(), ..PoolStatus::default() };
    if amplihack_utils::sabotage::active("remote-status-pool") {
        return PoolStatus::default();
    }
    for (name, machine) in &state.vm_pool {
        sums.total_capacity += machine.capacity;
        sums.active_sessions += machine.active_sessions.len();
        sums.available_capacity += machine.free();
        sums.vms.push(PoolVm {
            name: name.clone(),
            size: machine.vm.size.clone(),
            region: machine.region.clone(),
            capacity: machine.capacity,
            active_sessions: machine.active_sessions.len(),
            available_capacity: machine.free(),
        });
    }
    sums
}
