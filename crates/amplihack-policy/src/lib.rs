//! The policy between agents and everything that they can do: the effect of a tool call, and the verdict on it.
//!
//! Pure: [`Policy::judge`] asks facts of the world through [`World`] and only when a rule needs them. Nothing here knows a
//! host's JSON, an agent's flags or an asynchronous runtime.

pub mod audit;
pub mod command_files;
pub mod content;
pub mod decision;
pub mod event;
pub mod fetch;
pub mod policy;
pub mod rules;
pub mod secrets;
pub mod shell;
pub mod user;
pub mod xpia;

pub use decision::{Decision, RuleId, Span, Verdict};
pub use event::{CommandFileOccasion, Event, FileText, Origin, World};
pub use policy::{BashReaders, Limits, Policy, PolicyMode};
pub use xpia::XpiaSettings;
