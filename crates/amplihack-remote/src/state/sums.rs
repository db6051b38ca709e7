//! Sums over the state, as `status` shows them.

use super::RemoteState;
use crate::options::{PoolStatus, PoolVm, RemoteStatus, SessionCounts};
use crate::session::SessionStatus;

impl From<&RemoteState> for RemoteStatus {
    fn from(state: &RemoteState) -> Self {
        Self {
            pool: sum_pool(state),
            sessions: count_sessions(state),
            total_sessions: if amplihack_sys::sabotage::is_active("remote-status-total") {
                0
            } else {
                state.sessions.len()
            },
        }
    }
}

fn count_sessions(state: &RemoteState) -> SessionCounts {
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
        (amplihack_sys::sabotage::is_active("remote-status-running"), &mut counts.running),
        (amplihack_sys::sabotage::is_active("remote-status-completed"), &mut counts.completed),
        (amplihack_sys::sabotage::is_active("remote-status-failed"), &mut counts.failed),
        (amplihack_sys::sabotage::is_active("remote-status-killed"), &mut counts.killed),
        (amplihack_sys::sabotage::is_active("remote-status-pending"), &mut counts.pending),
    ] {
        if is_lost {
            *count = 0;
        }
    }
    counts
}

fn sum_pool(state: &RemoteState) -> PoolStatus {
    let mut sums = PoolStatus { total_vms: state.vm_pool.len(), ..PoolStatus::default() };
    if amplihack_sys::sabotage::is_active("remote-status-pool") {
        return PoolStatus::default();
    }
    for (name, machine) in &state.vm_pool {
        sums.total_capacity += machine.capacity;
        sums.active_sessions += machine.active_sessions.len();
        sums.available_capacity += machine.free_slots();
        sums.vms.push(PoolVm {
            name: name.clone(),
            size: machine.vm.size.clone(),
            region: machine.region.clone(),
            capacity: machine.capacity,
            active_sessions: machine.active_sessions.len(),
            available_capacity: machine.free_slots(),
        });
    }
    sums
}
