//! Rules over parsed commands, files and addresses, in packs; each with the harm that it stops and its own examples.

mod call;
mod change;
mod code;
mod content;
mod credential;
mod destruction;
mod example;
mod exfiltration;
mod fetch;
mod git;
mod git_history;
mod guard_disabling;
mod guard_files;
mod guards;
mod links;
pub(crate) mod marks;
mod net;
mod options;
mod place;
mod privilege;
mod programs;
mod raw_agent;
mod remote_code;
mod run_files;
mod script;
mod search;
mod target;

use std::fmt;

use amplihack_verdict::{Decision, RuleId, Span};

use crate::event::Origin;

pub(crate) use call::{CallArg, CommandCall};
pub(crate) use change::{PathChange, PathChangeKind, path_changes};
pub use example::{ExampleKind, ExampleWorld, RuleExample};
pub(crate) use git::git_call;
pub(crate) use net::url_host;
pub(crate) use programs::is_known;
pub(crate) use run_files::{FileRunMeans, RanFile, files_run_by, printed_text};
pub(crate) use script::{JudgedScript, RuleSettings};
pub(crate) use target::PathTarget;

/// A group of rules with one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RulePack {
    /// The working directory, protected branches, git hooks.
    Guards,
    /// Loss of files, disks, databases and machines.
    Destruction,
    /// Credentials and what is sent where.
    Exfiltration,
    /// Programs from elsewhere that run unread.
    RemoteCode,
    /// More rights, and what outlives the session.
    Privilege,
    /// The guard's own files, variables and programs.
    GuardDisabling,
    /// Loss of git history and uncommitted work.
    GitHistory,
    /// Web addresses.
    Fetch,
    /// Words that try to override instructions.
    Content,
}

impl RulePack {
    /// The pack's name in rule names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guards => "guards",
            Self::Destruction => "destruction",
            Self::Exfiltration => "exfiltration",
            Self::RemoteCode => "remote_code",
            Self::Privilege => "privilege",
            Self::GuardDisabling => "guard_disabling",
            Self::GitHistory => "git_history",
            Self::Fetch => "fetch",
            Self::Content => "content",
        }
    }
}

impl fmt::Display for RulePack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A built-in rule.
#[derive(Debug)]
pub struct BuiltinRule {
    /// The rule's stable name.
    pub id: RuleId,
    /// The rule's pack.
    pub pack: RulePack,
    /// The harm that it stops, in one line.
    pub harm: &'static str,
    /// The strictest decision that it gives.
    pub decision: Decision,
    /// Examples that it must match.
    pub matches: &'static [RuleExample],
    /// Examples that it must leave alone.
    pub not_matches: &'static [RuleExample],
    pub(crate) check: fn(&RuleContext<'_>) -> Option<RuleHit>,
}

/// The subject that a rule is asked about.
pub(crate) enum RuleSubject<'s, 'a> {
    /// A command of a script.
    Call(&'s CommandCall<'a>),
    /// A file to be written.
    Write(&'s PathChange),
    /// A file to be read.
    Read(&'s PathTarget),
    /// An address to be fetched.
    Fetch(&'s str),
    /// Text that somebody else may have written.
    Content(&'s str, Origin),
}

/// A subject with everything around it.
pub(crate) struct RuleContext<'s> {
    /// The subject.
    pub(crate) subject: RuleSubject<'s, 's>,
    /// The script that it is in.
    pub(crate) script: &'s JudgedScript<'s>,
}

impl<'s> RuleContext<'s> {
    /// The command, if it is one.
    fn call(&self) -> Option<&'s CommandCall<'s>> {
        match self.subject {
            RuleSubject::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Files that it changes, as long as there is time.
    fn changes(&self) -> impl Iterator<Item = &'s PathChange> {
        let changes = match self.subject {
            RuleSubject::Call(call) => path_changes(self.script, call),
            RuleSubject::Write(change) => std::slice::from_ref(change),
            _ => &[],
        };
        let script = self.script;
        changes.iter().take_while(|_| !script.is_late())
    }

    /// The whole subject in the judged text.
    fn span(&self) -> Span {
        self.call().map(CommandCall::span).unwrap_or_default()
    }

    #[expect(clippy::unnecessary_wraps, reason = "rules end in it")]
    fn deny(&self, reason: impl Into<String>) -> Option<RuleHit> {
        Some(RuleHit { decision: Decision::Deny, reason: reason.into(), span: self.span() })
    }

    #[expect(clippy::unnecessary_wraps, reason = "rules end in it")]
    fn ask(&self, reason: impl Into<String>) -> Option<RuleHit> {
        Some(RuleHit { decision: Decision::Ask, reason: reason.into(), span: self.span() })
    }
}

/// The answer of a rule that applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleHit {
    pub(crate) decision: Decision,
    pub(crate) reason: String,
    pub(crate) span: Span,
}

impl RuleHit {
    fn with_span(mut self, span: Span) -> Self {
        if span != Span::default() {
            self.span = span;
        }
        self
    }
}

/// Every built-in rule; of two that are equally strict, the first gives the reason.
pub fn builtin_rules() -> impl Iterator<Item = &'static BuiltinRule> {
    [
        guards::RULES,
        destruction::RULES,
        guard_disabling::RULES,
        raw_agent::RULES,
        remote_code::RULES,
        exfiltration::RULES,
        privilege::RULES,
        git_history::RULES,
        fetch::RULES,
        content::RULES,
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use amplihack_shell::{BashReaders, Limits};

    use super::*;
    use crate::policy::Policy;

    #[test]
    fn names_are_stable_in_form_and_single() {
        let mut seen = BTreeSet::new();
        for rule in builtin_rules() {
            let id = rule.id.to_string();
            assert_eq!(id.split_once('/').map(|(pack, _)| pack), Some(rule.pack.name()), "{id}");
            assert!(id.chars().all(|ch| ch.is_ascii_lowercase() || "/_-".contains(ch)), "{id}");
            assert!(seen.insert(id.clone()), "{id} twice");
            assert!(
                !rule.harm.is_empty() && !rule.matches.is_empty() && !rule.not_matches.is_empty(),
                "{id}"
            );
        }
    }

    #[test]
    fn examples_match_as_they_say() {
        for readers in [BashReaders::All, BashReaders::Tree] {
            examples_match(readers);
        }
    }

    fn examples_match(readers: BashReaders) {
        let limits = Limits { readers, ..Limits::with_long_deadline() };
        let mut wrong = Vec::new();
        for rule in builtin_rules() {
            for (examples, expected) in [(rule.matches, true), (rule.not_matches, false)] {
                for example in examples {
                    let policy = Policy::with_builtin_rules().with_xpia(example.xpia_settings());
                    let explained =
                        example.with_event(|event| policy.explain(event, &example.example_world(), &limits));
                    let hit = explained.hits.iter().find(|hit| hit.rule.as_ref() == Some(&rule.id));
                    if hit.is_some() != expected {
                        wrong.push(format!(
                            "{readers:?}: {}: {:?} should{} match; hits {:?}; undecided {:?}",
                            rule.id,
                            example.text,
                            if expected { "" } else { " not" },
                            explained.hits.iter().map(|hit| format!("{:?}", hit.rule)).collect::<Vec<_>>(),
                            explained.undecided
                        ));
                    }
                    if let Some(hit) = hit {
                        assert!(hit.decision <= rule.decision, "{}", rule.id);
                        assert!(!hit.reason.is_empty() && !hit.reason.contains('\n'), "{}", rule.id);
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}
