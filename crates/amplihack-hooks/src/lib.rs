//! Between an agent CLI's hooks and the policy: hosts' dialects in and out, what each event does, registrations.
//!
//! Pure but for [`process`], the thin file layers of [`continuation`] and [`events`], the directory of an [`injection`],
//! and [`guard`], which puts the policy, the machine and the audit in. Nothing here knows a launch or an asynchronous runtime.

pub mod acting;
pub mod aggregate;
mod answer_code;
pub mod channel;
pub mod continuation;
pub mod coverage;
pub mod dialect;
mod error;
pub mod event;
pub mod events;
pub mod export;
pub mod guard;
pub mod hook_context;
mod host;
pub mod injection;
mod inline_commands;
mod invocation;
pub mod once;
pub mod process;
pub mod registration;
mod repeated_keys;
pub mod settings;
pub mod staging;
pub mod switches;
mod token;
pub mod xpia;

pub use answer_code::AnswerCode;
pub use error::HookError;
pub use event::HookEvent;
pub use hook_context::{HookAudit, HookAuditEntry, HookContext, HookJudge};
pub use invocation::{HookAction, HookInvocation, UsageError};
