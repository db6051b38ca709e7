//! The rules that the CLI itself has, consulted after the user's.

use std::sync::OnceLock;

use super::compiled::CompiledRule;
use crate::rule::Permission;

/// `amp permissions list --builtin --json`, 0.0.1790142911.
const LIST: &str = include_str!("builtin.json");

/// The built-in rules, in the CLI's order. They are the CLI's own list, already with every name of the shell tool.
pub fn builtin_rules() -> &'static [Permission] {
    static RULES: OnceLock<Vec<Permission>> = OnceLock::new();
    RULES.get_or_init(|| {
        let list: Vec<serde_json::Value> = serde_json::from_str(LIST).unwrap_or_default();
        list.into_iter().filter_map(|rule| Permission::try_from(rule).ok()).collect()
    })
}

/// Returns the built-in rules, compiled.
pub(super) fn compiled_rules() -> &'static [CompiledRule] {
    static RULES: OnceLock<Vec<CompiledRule>> = OnceLock::new();
    RULES.get_or_init(|| builtin_rules().iter().cloned().map(CompiledRule::new).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_rule_of_the_list_is_read() {
        let list: Vec<serde_json::Value> = serde_json::from_str(super::LIST).unwrap();
        assert!(list.len() > 90);
        let read: Vec<_> = super::builtin_rules().iter().map(crate::Permission::to_value).collect();
        assert_eq!(read, list);
    }
}
