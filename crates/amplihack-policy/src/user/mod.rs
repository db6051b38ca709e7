//! The user's own policy in TOML, in layers: what a file may say depends on whose it is.

mod error;
mod file;
mod rule;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use amplihack_sys::fs::read_regular;
use amplihack_verdict::{Decision, RuleId, Verdict};

use crate::rules::{self, ExampleWorld, JudgedScript, RuleContext, RuleSettings, RuleSubject};

pub use error::PolicyError;
use file::UserRuleExamples;
use rule::UserRule;

/// The user's policy, below the user's configuration directory.
pub const USER_FILE: &str = "amplihack/policy.toml";
/// A repository's policy, below its root.
pub const REPOSITORY_FILE: &str = ".amplihack/policy.toml";

const MAX_BYTES: u64 = 1024 * 1024;

/// The owner of a policy file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyLayerOwner {
    /// The system's: may only tighten.
    System,
    /// The repository's: may only tighten.
    Repository,
    /// The user's own: may allow, and switch built-in rules off.
    User,
}

/// A policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The file's owner.
    pub owner: PolicyLayerOwner,
    /// The file, for messages.
    pub file: PathBuf,
    /// The file's text.
    pub text: String,
}

impl Layer {
    /// Reads a file; `None` if there is none.
    ///
    /// # Errors
    /// A file that is there and cannot be read, is too large or is not UTF-8.
    pub fn read(owner: PolicyLayerOwner, file: &Path) -> Result<Option<Self>, PolicyError> {
        let fault = |source| PolicyError::Read { file: file.to_path_buf(), source };
        let bytes = match read_regular(file, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(source) => return Err(fault(source)),
        };
        let text = String::from_utf8(bytes)
            .map_err(|_| fault(io::Error::new(io::ErrorKind::InvalidData, "not UTF-8")))?;
        Ok(Some(Self { owner, file: file.to_path_buf(), text }))
    }
}

/// Something that a file asks for and does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredRequest {
    /// The file.
    pub file: PathBuf,
    /// The request.
    pub what: String,
    /// The reason why it is not granted.
    pub why: &'static str,
}

/// A rule of a policy file, as the file states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedRule<'a> {
    /// The rule's name.
    pub id: &'a RuleId,
    /// The rule's decision.
    pub decision: Decision,
    /// Programs; one of them.
    pub programs: &'a [String],
    /// Arguments; all of them, in this order.
    pub args: &'a [String],
    /// Paths; one of them.
    pub paths: &'a [String],
    /// Hosts; one of them.
    pub hosts: &'a [String],
    /// The rule's reason; may be empty.
    pub reason: &'a str,
}

/// All layers together.
#[derive(Debug, Default)]
pub(crate) struct LoadedLayers {
    rules: Vec<UserRule>,
    pub(crate) disabled: BTreeSet<RuleId>,
    /// Branches in place of the built-in ones.
    pub(crate) protected: Option<Vec<String>>,
    /// Branches beside them.
    pub(crate) also_protected: Vec<String>,
    pub(crate) ignored: Vec<IgnoredRequest>,
}

/// Loads layers and proves their examples.
pub(crate) fn load_layers(layers: &[Layer]) -> Result<LoadedLayers, PolicyError> {
    let mut loaded = LoadedLayers::default();
    for layer in layers {
        let file = file::parse_policy_file(&layer.file, &layer.text)?;
        let own = layer.owner == PolicyLayerOwner::User;
        let ignored = |what: String| IgnoredRequest {
            file: layer.file.clone(),
            what,
            why: "only the user's own file may loosen the policy",
        };
        for (rule, examples) in file.rules {
            prove_examples(layer, &rule, &examples)?;
            if rule.decision == Decision::Allow && !own {
                loaded.ignored.push(ignored(format!("allow of {}", rule.id)));
            } else {
                loaded.rules.push(rule);
            }
        }
        for (name, line, column) in file.disable {
            if !rules::builtin_rules().any(|rule| rule.id.0 == name) {
                let message =
                    format!("there is no rule `{}`; see `amplihack policy list`", name.escape_debug());
                return Err(PolicyError::Value { file: layer.file.clone(), line, column, message });
            }
            if own {
                loaded.disabled.insert(RuleId(name.into()));
            } else {
                loaded.ignored.push(ignored(format!("disable of {name}")));
            }
        }
        match file.protected {
            Some(branches) if own => loaded.protected = Some(branches),
            Some(branches) => loaded.also_protected.extend(branches),
            None => {}
        }
    }
    Ok(loaded)
}

/// Holds a rule to its examples.
fn prove_examples(layer: &Layer, rule: &UserRule, examples: &UserRuleExamples) -> Result<(), PolicyError> {
    let settings = RuleSettings::default();
    for (example, expected, line, column) in &examples.all {
        let parsed =
            amplihack_shell::commands(example.as_bytes(), &amplihack_shell::Limits::with_long_deadline());
        let world = ExampleWorld::default();
        let script = JudgedScript::new(&parsed, Path::new(ExampleWorld::CWD), &world, &settings);
        let matched = script.calls.iter().any(|call| {
            rule.matches_subject(&RuleContext { subject: RuleSubject::Call(call), script: &script })
        });
        if matched != *expected {
            return Err(PolicyError::Example {
                file: layer.file.clone(),
                line: *line,
                column: *column,
                example: example.clone(),
                expected: *expected,
            });
        }
    }
    Ok(())
}

impl LoadedLayers {
    /// The rules as the files state them.
    pub(crate) fn stated_rules(&self) -> impl Iterator<Item = StatedRule<'_>> {
        self.rules.iter().map(|rule| StatedRule {
            id: &rule.id,
            decision: rule.decision,
            programs: &rule.programs,
            args: &rule.args,
            paths: &rule.paths,
            hosts: &rule.hosts,
            reason: &rule.reason,
        })
    }

    /// Verdicts of the user's rules on a command, a file or an address; an allow comes first, since it lifts asks of built-in
    /// rules, not of the user's.
    pub(crate) fn rule_verdicts(&self, ctx: &RuleContext<'_>) -> Vec<Verdict> {
        let mut found: Vec<_> = self
            .rules
            .iter()
            .filter(|rule| rule.matches_subject(ctx))
            .map(|rule| user_verdict(rule, ctx))
            .collect();
        found.sort_by_key(|verdict| verdict.decision);
        found
    }

    /// Reports whether an allow rule names a command's program in so many words: then it is known.
    pub(crate) fn allows_by_name(&self, ctx: &RuleContext<'_>) -> bool {
        match &ctx.subject {
            RuleSubject::Call(call) => self.rules.iter().any(|rule| {
                rule.names_program(call) && rule.decision == Decision::Allow && rule.matches_subject(ctx)
            }),
            _ => false,
        }
    }

    /// The rule that allows a script's first command.
    pub(crate) fn allow_of(&self, script: &JudgedScript<'_>) -> Option<RuleId> {
        let ctx = RuleContext { subject: RuleSubject::Call(script.calls.first()?), script };
        self.rules
            .iter()
            .find(|rule| rule.decision == Decision::Allow && rule.matches_subject(&ctx))
            .map(|rule| rule.id.clone())
    }
}

fn user_verdict(rule: &UserRule, ctx: &RuleContext<'_>) -> Verdict {
    let reason = if rule.reason.is_empty() {
        format!("the user's rule {} says so", rule.id)
    } else {
        rule.reason.clone()
    };
    let spans = match &ctx.subject {
        RuleSubject::Call(call) => vec![call.span()],
        _ => Vec::new(),
    };
    Verdict::new(rule.decision, rule.id.clone(), reason.replace(['\n', '\r'], " "), spans)
}

#[cfg(test)]
mod tests;
