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

pub use builtin::builtin_rules;
pub use check::{RuleIssue, check_rules};
pub use delegate::{DelegatePrograms, decide_call};
pub use evaluate::{MatchedRule, PermissionEvaluation, PermissionRules, RuleSource, evaluate};
pub use file::in_settings;
pub use manage::{
    PermissionAddOptions, PermissionListOptions, PermissionTestCall, add, blocking, list, test,
};
pub use pattern::never_matches;

pub use crate::rule::Permission as PermissionRule;
