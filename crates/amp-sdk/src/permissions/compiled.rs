//! A rule, ready to be asked.

use serde_json::{Map, Value};

use super::glob::ToolGlob;
use super::pattern::RulePattern;
use crate::rule::Permission;

/// A rule with its patterns compiled.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: Permission,
    tool: ToolGlob,
    matches: Vec<(String, RulePattern)>,
}

impl CompiledRule {
    pub(super) fn new(rule: Permission) -> Self {
        let matches = rule.matches.iter().flatten();
        let matches = matches.map(|(key, pattern)| (key.clone(), RulePattern::new(pattern))).collect();
        Self { tool: ToolGlob::new(&rule.tool), matches, rule }
    }

    /// Reports whether the rule is about this call.
    pub(super) fn applies_to(&self, tool: &str, args: &Map<String, Value>, context: Option<&str>) -> bool {
        let here = self.rule.context.is_none() || self.rule.context.as_deref() == context;
        here && self.tool.matches(tool)
            && self
                .matches
                .iter()
                .all(|(key, pattern)| args.get(key).is_some_and(|value| pattern.matches(value)))
    }
}
