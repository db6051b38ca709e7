//! A rule, ready to be asked.

use serde_json::{Map, Value};

use super::glob::ToolGlob;
use super::pattern::Pattern;
use crate::rule::Permission;

/// A rule with its patterns compiled.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) rule: Permission,
    tool: ToolGlob,
    matches: Vec<(String, Pattern)>,
}

impl Compiled {
    pub(super) fn new(rule: Permission) -> Self {
        let matches = rule.matches.iter().flatten();
        let matches = matches.map(|(key, pattern)| (key.clone(), Pattern::new(pattern))).collect();
        Self { tool: ToolGlob::new(&rule.tool), matches, rule }
    }

    /// Whether the rule is about this call.
    pub(super) fn applies(&self, tool: &str, args: &Map<String, Value>, context: Option<&str>) -> bool {
        let here = self.rule.context.is_none() || self.rule.context.as_deref() == context;
        here && self.tool.matches(tool)
            && self
                .matches
                .iter()
                .all(|(key, pattern)| args.get(key).is_some_and(|value| pattern.matches(value)))
    }
}
