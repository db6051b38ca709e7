//! Permission rules: judged as the CLI judges them, without the CLI; and its own commands about them.

mod alias;
mod builtin;
mod check;
mod compiled;
mod delegate;
mod evaluate;
mod file;
mod glob;
mod manage;
mod pattern;

pub use builtin::builtin;
pub use check::{Issue, check};
pub use delegate::{Delegates, decide};
pub use evaluate::{Evaluation, Matched, Rules, Source, evaluate};
pub use file::in_settings;
pub use manage::{Add, List, Test, add, blocking, list, test};
pub use pattern::never_matches;

pub use crate::rule::Permission as PermissionRule;
