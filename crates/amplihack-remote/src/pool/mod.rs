//! Pool of machines and the truth after a crash: a state machine over [`RemoteState`](crate::state::RemoteState) that does nothing but
//! change it. Whoever holds the lock calls it, does what it asks for, and tells it what came of that.
//!
//! After each call three things hold. No machine holds more sessions than its capacity. Each session that is neither queued nor at
//! its end has exactly one slot, on its own machine, if that is in the pool. Each slot belongs to such a session.

mod ends;
mod machines;
mod needs;
mod observations;
mod reconcile;
mod reserve;
mod slots;

pub use machines::{MachineKeepReason, PoolMachineFacts};
pub use observations::{HostSeen, LookedUp, PoolObservations, SchedulerJobState, SeenSession};
pub use reconcile::{PoolAction, ReconcileReport, RemoteStateChange};
pub use reserve::{MachineRequest, NewMachinePlan, SlotReservation};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
