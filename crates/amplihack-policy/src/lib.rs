//! The policy between agents and everything that they can do: the effect of a tool call, and the verdict on it.
//!
//! A script is read by `amplihack-shell`, credentials are found by `amplihack-secrets`, and a verdict is told in the terms of `amplihack-verdict`.
//!
//! Pure: [`Policy::judge`] asks facts of the world through [`World`] and only when a rule needs them. Nothing here knows a
//! host's JSON, an agent's flags or an asynchronous runtime.

pub mod command_files;
pub mod content;
pub mod event;
pub mod fetch;
pub mod policy;
pub mod rules;
pub mod user;
pub mod xpia;

pub use event::{CommandFileOccasion, Event, FileText, Origin, World};
pub use policy::{Policy, PolicyMode};
pub use xpia::XpiaSettings;
