//! The user's own policy in TOML, in layers: what a file may say depends on whose it is.

mod error;
mod file;
mod rule;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use amplihack_utils::fs::read_regular;

use crate::decision::{Decision, RuleId, Verdict};
use crate::rules::{self, Ctx, ExampleWorld, Script, Settings, Subject};
use crate::shell;

pub use error::PolicyError;
use file::Examples;
use rule::UserRule;

/// The user's policy, below the user's configuration directory.
pub const USER_FILE: &str = "amplihack/policy.toml";
/// A repository's policy, below its root.
pub const REPOSITORY_FILE: &str = ".amplihack/policy.toml";

const MAX_BYTES: u64 = 1024 * 1024;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// The system's: may only tighten.
    System,
    /// The repository's: may only tighten.
    Repository,
    /// The user's own: may allow, and switch built-in rules off.
    User,
}

/// One policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Whose it is.
    pub owner: Owner,
    /// The file, for messages.
    pub file: PathBuf,
    /// What is in it.
    pub text: String,
}

impl Layer {
    /// Reads a file; `None` if there is none.
    ///
    /// # Errors
    /// A file that is there and cannot be read, is too large or is not UTF-8.
    pub fn read(owner: Owner, file: &Path) -> Result<Option<Self>, PolicyError> {
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
pub struct Ignored {
    /// The file.
    pub file: PathBuf,
    /// What it asks for.
    pub what: String,
    /// Why it does not get it.
    pub why: &'static str,
}

/// A rule of a policy file, as the file states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stated<'a> {
    /// Its name.
    pub id: &'a RuleId,
    /// What it decides.
    pub decision: Decision,
    /// Programs; one of them.
    pub programs: &'a [String],
    /// Arguments; all of them, in this order.
    pub args: &'a [String],
    /// Paths; one of them.
    pub paths: &'a [String],
    /// Hosts; one of them.
    pub hosts: &'a [String],
    /// Why; may be empty.
    pub reason: &'a str,
}

/// All layers together.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    rules: Vec<UserRule>,
    pub(crate) disabled: BTreeSet<RuleId>,
    /// Branches in place of the built-in ones.
    pub(crate) protected: Option<Vec<String>>,
    /// Branches beside them.
    pub(crate) also_protected: Vec<String>,
    pub(crate) ignored: Vec<Ignored>,
}

/// Loads layers and proves their examples.
pub(crate) fn load(layers: &[Layer]) -> Result<Loaded, PolicyError> {
    let mut loaded = Loaded::default();
    for layer in layers {
        let file = file::read(&layer.file, &layer.text)?;
        let own = layer.owner == Owner::User;
        let ignored = |what: String| Ignored {
            file: layer.file.clone(),
            what,
            why: "only the user's own file may loosen the policy",
        };
        for (rule, examples) in file.rules {
            prove(layer, &rule, &examples)?;
            if rule.decision == Decision::Allow && !own {
                loaded.ignored.push(ignored(format!("allow of {}", rule.id)));
            } else {
                loaded.rules.push(rule);
            }
        }
        for (name, line, column) in file.disable {
            if !rules::all().any(|rule| rule.id.0 == name) {
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
fn prove(layer: &Layer, rule: &UserRule, examples: &Examples) -> Result<(), PolicyError> {
    let settings = Settings::default();
    for (example, expected, line, column) in &examples.all {
        let parsed = shell::commands(example.as_bytes(), &crate::policy::Limits::patient());
        let world = ExampleWorld::default();
        let script = Script::new(&parsed, Path::new(ExampleWorld::CWD), &world, &settings);
        let matched = script
            .calls
            .iter()
            .any(|call| rule.matches(&Ctx { subject: Subject::Call(call), script: &script }));
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

impl Loaded {
    /// The rules as the files state them.
    pub(crate) fn stated(&self) -> impl Iterator<Item = Stated<'_>> {
        self.rules.iter().map(|rule| Stated {
            id: &rule.id,
            decision: rule.decision,
            programs: &rule.programs,
            args: &rule.args,
            paths: &rule.paths,
            hosts: &rule.hosts,
            reason: &rule.reason,
        })
    }

    /// What the user's rules say about a command, a file or an address; an allow comes first, since it lifts asks of built-in
    /// rules, not of the user's.
    pub(crate) fn verdicts(&self, ctx: &Ctx<'_>) -> Vec<Verdict> {
        let mut found: Vec<_> =
            self.rules.iter().filter(|rule| rule.matches(ctx)).map(|rule| verdict(rule, ctx)).collect();
        found.sort_by_key(|verdict| verdict.decision);
        found
    }

    /// Whether a rule names a command's program in so many words: then it is known.
    pub(crate) fn names(&self, ctx: &Ctx<'_>) -> bool {
        match &ctx.subject {
            Subject::Call(call) => self.rules.iter().any(|rule| {
                rule.names_program(call) && rule.decision == Decision::Allow && rule.matches(ctx)
            }),
            _ => false,
        }
    }

    /// The rule that allows a script's first command.
    pub(crate) fn allow_of(&self, script: &Script<'_>) -> Option<RuleId> {
        let ctx = Ctx { subject: Subject::Call(script.calls.first()?), script };
        self.rules
            .iter()
            .find(|rule| rule.decision == Decision::Allow && rule.matches(&ctx))
            .map(|rule| rule.id.clone())
    }
}

fn verdict(rule: &UserRule, ctx: &Ctx<'_>) -> Verdict {
    let reason = if rule.reason.is_empty() {
        format!("the user's rule {} says so", rule.id)
    } else {
        rule.reason.clone()
    };
    let spans = match &ctx.subject {
        Subject::Call(call) => vec![call.span()],
        _ => Vec::new(),
    };
    Verdict::new(rule.decision, rule.id.clone(), reason.replace(['\n', '\r'], " "), spans)
}

#[cfg(test)]
mod tests;
