//! One rule of the user: which commands, files and addresses it is about.

use crate::decision::{Decision, RuleId};
use crate::rules::marks::{self, may_be};
use crate::rules::{Call, Change, Ctx, Subject, Target, changes, host};

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

    /// Whether it is about this.
    pub(crate) fn matches(&self, ctx: &Ctx<'_>) -> bool {
        match &ctx.subject {
            Subject::Call(call) => self.matches_call(ctx, call),
            Subject::Write(Change { target, .. }) => self.is_file(target, ctx),
            Subject::Read(target) => self.is_file(target, ctx),
            Subject::Content(..) => false,
            Subject::Fetch(url) => self.is_bare() && self.paths.is_empty() && self.reaches(url),
        }
    }

    fn is_file(&self, target: &Target, ctx: &Ctx<'_>) -> bool {
        self.is_bare() && self.hosts.is_empty() && self.names(target, ctx)
    }

    /// Whether it is about no program.
    fn is_bare(&self) -> bool {
        self.programs.is_empty() && self.args.is_empty()
    }

    fn matches_call(&self, ctx: &Ctx<'_>, call: &Call<'_>) -> bool {
        if call.command.words.is_empty() && !self.programs.is_empty() {
            return false;
        }
        let program = |pattern: &String| {
            let name = if pattern.contains('/') { call.path.text() } else { &call.program };
            may_be(&marks::pattern(pattern), name)
        };
        // An allow is for what is known only.
        let certain = self.decision != Decision::Allow
            || !(call.path.dynamic || call.args.iter().any(|arg| arg.dynamic));
        certain
            && (self.programs.is_empty() || self.programs.iter().any(program))
            && self.has_args(call)
            && (self.paths.is_empty() || self.touches(ctx, call))
            && (self.hosts.is_empty() || call.args.iter().any(|arg| self.reaches(arg.text())))
    }

    fn has_args(&self, call: &Call<'_>) -> bool {
        let mut rest = call.args.iter();
        self.args.iter().all(|pattern| rest.any(|arg| may_be(&marks::pattern(pattern), arg.text())))
    }

    fn touches(&self, ctx: &Ctx<'_>, call: &Call<'_>) -> bool {
        let named = call
            .args
            .iter()
            .chain(call.redirects.iter().map(|(_, arg)| arg))
            .any(|arg| self.names(&ctx.script.target(call, arg), ctx));
        named || changes(ctx.script, call).iter().any(|change| self.names(&change.target, ctx))
    }

    fn names(&self, target: &Target, ctx: &Ctx<'_>) -> bool {
        self.paths.iter().any(|pattern| {
            let pattern =
                Target::new(&marks::pattern(pattern), Some(ctx.script.cwd), ctx.script.home.as_deref());
            let everything = pattern.parts.last().is_some_and(|last| {
                last.chars().filter(|ch| *ch == marks::STAR).count() == 2 && last.chars().count() == 2
            });
            let fixed =
                if everything { &pattern.parts[..pattern.parts.len() - 1] } else { &pattern.parts[..] };
            let deep = everything && target.parts.len() > fixed.len();
            (deep || target.parts.len() == pattern.parts.len() && !everything)
                && fixed
                    .iter()
                    .zip(&target.parts)
                    .all(|(pattern, part)| may_be(pattern, part) || may_be(part, &marks::plain(pattern)))
        })
    }

    fn reaches(&self, text: &str) -> bool {
        let Some(host) = host(text) else { return false };
        self.hosts.iter().any(|pattern| {
            // `*.example` is for what is below, `example` for the host itself.
            may_be(&marks::pattern(pattern), &host)
        })
    }

    /// Whether it names the program of a call in so many words.
    pub(crate) fn names_program(&self, call: &Call<'_>) -> bool {
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
        assert!(!rule.reaches("https://example.com"));
    }
}
