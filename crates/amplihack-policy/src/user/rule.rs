//! A rule of the user, with the commands, files and addresses that it is about.

use amplihack_verdict::{Decision, RuleId};

use crate::rules::marks::{self, may_be};
use crate::rules::{CommandCall, PathChange, PathTarget, RuleContext, RuleSubject, path_changes, url_host};

/// A rule as its file says it. Every kind of condition that is given must hold; of the values of one kind, one is enough, but
/// `args`, which must all be among the arguments, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserRule {
    pub(crate) id: RuleId,
    pub(crate) programs: Vec<String>,
    pub(crate) args: Vec<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) hosts: Vec<String>,
    pub(crate) decision: Decision,
    pub(crate) reason: String,
}

impl UserRule {
    pub(super) fn new(id: RuleId) -> Self {
        let none = Vec::new;
        Self {
            id,
            programs: none(),
            args: none(),
            paths: none(),
            hosts: none(),
            decision: Decision::Deny,
            reason: String::new(),
        }
    }

    /// Reports whether the rule is about this subject.
    pub(crate) fn matches_subject(&self, ctx: &RuleContext<'_>) -> bool {
        match &ctx.subject {
            RuleSubject::Call(call) => self.matches_call(ctx, call),
            RuleSubject::Write(PathChange { target, .. }) => self.is_file(target, ctx),
            RuleSubject::Read(target) => self.is_file(target, ctx),
            RuleSubject::Content(..) => false,
            RuleSubject::Fetch(url) => self.is_bare() && self.paths.is_empty() && self.reaches_host(url),
        }
    }

    fn is_file(&self, target: &PathTarget, ctx: &RuleContext<'_>) -> bool {
        self.is_bare() && self.hosts.is_empty() && self.names_target(target, ctx)
    }

    /// Reports whether the rule is about no program.
    fn is_bare(&self) -> bool {
        self.programs.is_empty() && self.args.is_empty()
    }

    fn matches_call(&self, ctx: &RuleContext<'_>, call: &CommandCall<'_>) -> bool {
        if call.command.words.is_empty() && !self.programs.is_empty() {
            return false;
        }
        let program = |pattern: &String| {
            let name = if pattern.contains('/') { call.path.text() } else { &call.program };
            may_be(&marks::mark_pattern(pattern), name)
        };
        // An allow is for what is known only.
        let certain = self.decision != Decision::Allow
            || !(call.path.dynamic || call.args.iter().any(|arg| arg.dynamic));
        certain
            && (self.programs.is_empty() || self.programs.iter().any(program))
            && self.has_args(call)
            && (self.paths.is_empty() || self.touches_paths(ctx, call))
            && (self.hosts.is_empty() || call.args.iter().any(|arg| self.reaches_host(arg.text())))
    }

    fn has_args(&self, call: &CommandCall<'_>) -> bool {
        let mut rest = call.args.iter();
        self.args.iter().all(|pattern| rest.any(|arg| may_be(&marks::mark_pattern(pattern), arg.text())))
    }

    fn touches_paths(&self, ctx: &RuleContext<'_>, call: &CommandCall<'_>) -> bool {
        let named = call
            .args
            .iter()
            .chain(call.redirects.iter().map(|(_, arg)| arg))
            .any(|arg| self.names_target(&ctx.script.target(call, arg), ctx));
        named || path_changes(ctx.script, call).iter().any(|change| self.names_target(&change.target, ctx))
    }

    fn names_target(&self, target: &PathTarget, ctx: &RuleContext<'_>) -> bool {
        self.paths.iter().any(|pattern| {
            let pattern = PathTarget::new(
                &marks::mark_pattern(pattern),
                Some(ctx.script.cwd),
                ctx.script.home.as_deref(),
            );
            let everything = pattern.parts.last().is_some_and(|last| {
                last.chars().filter(|ch| *ch == marks::STAR).count() == 2 && last.chars().count() == 2
            });
            let fixed =
                if everything { &pattern.parts[..pattern.parts.len() - 1] } else { &pattern.parts[..] };
            let deep = everything && target.parts.len() > fixed.len();
            (deep || target.parts.len() == pattern.parts.len() && !everything)
                && fixed.iter().zip(&target.parts).all(|(pattern, part)| {
                    may_be(pattern, part) || may_be(part, &marks::unmark_text(pattern))
                })
        })
    }

    fn reaches_host(&self, text: &str) -> bool {
        let Some(host) = url_host(text) else { return false };
        self.hosts.iter().any(|pattern| {
            // `*.example` is for what is below, `example` for the host itself.
            may_be(&marks::mark_pattern(pattern), &host)
        })
    }

    /// Reports whether the rule names the program of a call in so many words.
    pub(crate) fn names_program(&self, call: &CommandCall<'_>) -> bool {
        self.programs.iter().any(|name| name == call.path.text() || *name == call.program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_rule_is_about_nothing_and_denies() {
        let rule = UserRule::new(RuleId::new("user/1"));
        assert!(rule.is_bare() && rule.decision == Decision::Deny);
        assert!(!rule.reaches_host("https://example.com"));
    }
}
