//! Who gets which machine, and what is true after a crash: a state machine over [`State`](crate::state::State) that does nothing but
//! change it. Whoever holds the lock calls it, does what it asks for, and tells it what came of that.
//!
//! After each call three things hold. No machine holds more sessions than its capacity. Each session that is neither queued nor at
//! its end has exactly one slot, on its own machine, if that is in the pool. Each slot belongs to such a session.

mod ends;
mod machines;
mod needs;
mod reconcile;
mod reserve;
mod seen;
mod slots;

pub use machines::{Found, Kept};
pub use reconcile::{Action, Change, Reconciled};
pub use reserve::{Make, Reservation, Wants};
pub use seen::{HostSeen, Job, LookedUp, Observations, SeenSession};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
