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
mod guards;
pub(crate) mod marks;
mod net;
mod options;
mod place;
mod privilege;
mod programs;
mod remote_code;
mod script;
mod search;
mod target;

use std::fmt;

use crate::decision::{Decision, RuleId, Span};
use crate::event::Origin;

pub(crate) use call::{Arg, Call};
pub(crate) use change::{Change, Kind, changes};
pub use example::{Example, ExampleKind, ExampleWorld};
pub(crate) use git::git;
pub(crate) use net::host;
pub(crate) use programs::is_known;
pub(crate) use script::{Script, Settings};
pub(crate) use target::Target;

/// A group of rules with one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pack {
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
    /// This plane's own files, variables and programs.
    GuardDisabling,
    /// Loss of git history and uncommitted work.
    GitHistory,
    /// Web addresses.
    Fetch,
    /// Words that try to override instructions.
    Content,
}

impl Pack {
    /// Its name in rule names.
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

impl fmt::Display for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One built-in rule.
#[derive(Debug)]
pub struct Rule {
    /// Its stable name.
    pub id: RuleId,
    /// Its pack.
    pub pack: Pack,
    /// The harm that it stops, in one line.
    pub harm: &'static str,
    /// The strictest decision that it gives.
    pub decision: Decision,
    /// Examples that it must match.
    pub matches: &'static [Example],
    /// Examples that it must leave alone.
    pub not_matches: &'static [Example],
    pub(crate) check: fn(&Ctx<'_>) -> Option<Hit>,
}

/// What a rule is asked about.
pub(crate) enum Subject<'s, 'a> {
    /// A command of a script.
    Call(&'s Call<'a>),
    /// A file to be written.
    Write(&'s Change),
    /// A file to be read.
    Read(&'s Target),
    /// An address to be fetched.
    Fetch(&'s str),
    /// Text that somebody else may have written.
    Content(&'s str, Origin),
}

/// A subject with everything around it.
pub(crate) struct Ctx<'s> {
    /// The subject.
    pub(crate) subject: Subject<'s, 's>,
    /// The script that it is in.
    pub(crate) script: &'s Script<'s>,
}

impl<'s> Ctx<'s> {
    /// The command, if it is one.
    fn call(&self) -> Option<&'s Call<'s>> {
        match self.subject {
            Subject::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Files that it changes, as long as there is time.
    fn changes(&self) -> impl Iterator<Item = &'s Change> {
        let changes = match self.subject {
            Subject::Call(call) => changes(self.script, call),
            Subject::Write(change) => std::slice::from_ref(change),
            _ => &[],
        };
        let script = self.script;
        changes.iter().take_while(|_| !script.is_late())
    }

    /// The whole subject in the judged text.
    fn span(&self) -> Span {
        self.call().map(Call::span).unwrap_or_default()
    }

    #[expect(clippy::unnecessary_wraps, reason = "rules end in it")]
    fn deny(&self, reason: impl Into<String>) -> Option<Hit> {
        Some(Hit { decision: Decision::Deny, reason: reason.into(), span: self.span() })
    }

    #[expect(clippy::unnecessary_wraps, reason = "rules end in it")]
    fn ask(&self, reason: impl Into<String>) -> Option<Hit> {
        Some(Hit { decision: Decision::Ask, reason: reason.into(), span: self.span() })
    }
}

/// What a rule says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) decision: Decision,
    pub(crate) reason: String,
    pub(crate) span: Span,
}

impl Hit {
    fn at(mut self, span: Span) -> Self {
        if span != Span::default() {
            self.span = span;
        }
        self
    }
}

/// Every built-in rule; of two that are equally strict, the first gives the reason.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [
        guards::RULES,
        destruction::RULES,
        guard_disabling::RULES,
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

    use super::*;
    use crate::policy::{Limits, Policy};

    #[test]
    fn names_are_stable_in_form_and_single() {
        let mut seen = BTreeSet::new();
        for rule in all() {
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
        let mut wrong = Vec::new();
        for rule in all() {
            for (examples, expected) in [(rule.matches, true), (rule.not_matches, false)] {
                for example in examples {
                    let policy = Policy::standard().with_xpia(example.settings());
                    let explained = example
                        .with_event(|event| policy.explain(event, &example.world(), &Limits::patient()));
                    let hit = explained.hits.iter().find(|hit| hit.rule.as_ref() == Some(&rule.id));
                    if hit.is_some() != expected {
                        wrong.push(format!(
                            "{}: {:?} should{} match; hits {:?}; undecided {:?}",
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
