//! Between an agent CLI's hooks and the policy: hosts' dialects in and out, what each event does, registrations.
//!
//! Pure but for [`process`], the thin file layers of [`continuation`] and [`events`], the directory of an [`injection`],
//! and [`guard`], which puts the policy, the machine and the audit in. Nothing here knows a launch or an asynchronous runtime.

pub mod aggregate;
pub mod continuation;
pub mod dialect;
mod error;
pub mod event;
pub mod events;
pub mod export;
pub mod guard;
mod host;
pub mod injection;
mod invocation;
pub mod once;
pub mod plane;
pub mod process;
pub mod registration;
mod repeated;
pub mod settings;
pub mod staging;
pub mod switches;
pub mod xpia;

pub use error::HookError;
pub use event::HookEvent;
pub use invocation::{Action, Invocation, UsageError};
pub use plane::{Audit, Entry, Judge, Plane};
