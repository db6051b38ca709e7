//! Permission rules: judged as the CLI judges them, without the CLI (feature `permissions`); and its own commands about them.

#[cfg(feature = "permissions")]
mod alias;
mod answer;
#[cfg(feature = "permissions")]
mod builtin;
mod check;
#[cfg(feature = "permissions")]
mod compiled;
#[cfg(feature = "permissions")]
mod delegate;
#[cfg(feature = "permissions")]
mod evaluate;
#[cfg(feature = "permissions")]
mod file;
#[cfg(feature = "permissions")]
mod glob;
mod manage;
#[cfg(feature = "permissions")]
mod pattern;

pub use answer::{MatchedRule, PermissionEvaluation, RuleSource};
#[cfg(feature = "permissions")]
pub use builtin::builtin_rules;
pub use check::{RuleIssue, check_rules};
#[cfg(feature = "permissions")]
pub use delegate::{DelegatePrograms, decide_call};
#[cfg(feature = "permissions")]
pub use evaluate::{PermissionRules, evaluate};
#[cfg(feature = "permissions")]
pub use file::in_settings;
pub use manage::{
    PermissionAddOptions, PermissionListOptions, PermissionTestCall, add, blocking, list, test,
};
#[cfg(feature = "permissions")]
pub use pattern::never_matches;

pub use crate::rule::Permission as PermissionRule;
