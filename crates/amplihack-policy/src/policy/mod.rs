//! The policy: packs of rules, the user's own rules, a mode; one function that judges.

mod explanation;
mod judging;
mod mode;

use std::path::Path;
use std::time::Duration;

use amplihack_utils::sys::WorkLimit;

use crate::decision::{Decision, RuleId, Span, Verdict};
use crate::event::{Event, World};
use crate::fetch::judge_url;
use crate::rules::{Change, Kind, Settings, Subject, Target};
use crate::user::{self, Layer, Loaded, PolicyError};
use crate::xpia::XpiaSettings;

pub use explanation::{ExplainedCommand, Explanation};
pub use mode::{Mode, UnknownMode};

/// How far judging may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time of work for reading and judging one script; what the machine does meanwhile does not count.
    pub deadline: Duration,
    /// Bytes of one script.
    pub bytes: usize,
    /// Nesting of brackets, substitutions and wrappers.
    pub depth: usize,
    /// Commands found in one script, those in wrappers included.
    pub commands: usize,
}

impl Limits {
    /// The same for judging that nobody waits for: a busy machine does not change the answer.
    #[must_use]
    pub fn patient() -> Self {
        Self { deadline: Duration::from_secs(20), ..Self::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { deadline: Duration::from_millis(50), bytes: 1 << 20, depth: 100, commands: 10_000 }
    }
}

/// What could not be decided.
pub const UNDECIDED: RuleId = RuleId::new("shell/undecided");
/// A program that nobody knows, in the strict mode.
pub const UNKNOWN_PROGRAM: RuleId = RuleId::new("strict/unknown-program");

/// Scripts inside scripts that are followed here: git's aliases and hooks of its configuration.
const NESTING: usize = 4;

/// The rules in force.
#[derive(Debug)]
pub struct Policy {
    mode: Mode,
    settings: Settings,
    user: Loaded,
}

impl Policy {
    /// The built-in rules.
    pub fn standard() -> Self {
        let protected = vec!["main".to_owned(), "master".to_owned()];
        Self {
            mode: Mode::Standard,
            settings: Settings { protected, xpia: XpiaSettings::default() },
            user: Loaded::default(),
        }
    }

    /// The built-in rules and those of files, the weakest layer first.
    ///
    /// # Errors
    /// A file that is not TOML, has a key that is none, a value that it cannot have, or an example that its rule contradicts.
    pub fn load(layers: &[Layer]) -> Result<Self, PolicyError> {
        let mut policy = Self::standard();
        policy.user = user::load(layers)?;
        if let Some(branches) = &policy.user.protected {
            policy.settings.protected.clone_from(branches);
        }
        policy.settings.protected.extend(policy.user.also_protected.iter().cloned());
        Ok(policy)
    }

    /// The same policy, applied in another way.
    #[must_use]
    pub fn with_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The same policy, with what the `XPIA_*` variables say.
    #[must_use]
    pub fn with_xpia(mut self, xpia: XpiaSettings) -> Self {
        self.settings.xpia = xpia;
        self
    }

    /// How it is applied.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What files ask for and do not get, for `policy list` and the audit.
    pub fn ignored(&self) -> &[user::Ignored] {
        &self.user.ignored
    }

    /// Built-in rules that the user switched off.
    pub fn disabled(&self) -> impl Iterator<Item = &RuleId> {
        self.user.disabled.iter()
    }

    /// The rules of policy files, the weakest layer first, for `policy list` and exports.
    pub fn users(&self) -> impl Iterator<Item = user::Stated<'_>> {
        self.user.stated()
    }

    /// Judges an event.
    ///
    /// What cannot be decided is denied. Of all that rules say the strictest holds; the user's own `allow` lifts an ask of the
    /// same command, never a deny. An allow comes out only if it is for every command of a script.
    pub fn judge(&self, event: &Event<'_>, world: &dyn World, limits: &Limits) -> Verdict {
        self.run(event, world, limits, None)
    }

    /// Judges an event and tells how.
    pub fn explain(&self, event: &Event<'_>, world: &dyn World, limits: &Limits) -> Explanation {
        let mut explanation = Explanation::new();
        explanation.verdict = self.run(event, world, limits, Some(&mut explanation));
        explanation
    }

    fn run(
        &self,
        event: &Event<'_>,
        world: &dyn World,
        limits: &Limits,
        mut explain: Option<&mut Explanation>,
    ) -> Verdict {
        let verdict = match *event {
            Event::Shell { script, cwd } => {
                let deadline = WorkLimit::after(limits.deadline);
                self.shell(script, cwd, world, limits, (NESTING, deadline), &mut explain)
            }
            Event::Write { path, cwd } => {
                let change = Change {
                    target: Target::known(&cwd.join(path)),
                    kind: Kind::Write,
                    recursive: false,
                    narrowed: false,
                    edited: false,
                    redirected: true,
                    span: Span::default(),
                };
                self.other(Subject::Write(&change), cwd, world, &mut explain)
            }
            Event::Read { path, cwd } => {
                self.other(Subject::Read(&Target::known(&cwd.join(path))), cwd, world, &mut explain)
            }
            Event::Fetch { url, cwd } => {
                let verdict = self.other(Subject::Fetch(url), cwd, world, &mut explain);
                self.outside(verdict.join(self.allowed_domain(url)))
            }
            Event::Content { text, origin } => {
                self.outside(self.other(Subject::Content(text, origin), Path::new("/"), world, &mut explain))
            }
            Event::Other { .. } => Verdict::none(),
        };
        if self.mode == Mode::Observe { verdict.observed() } else { verdict }
    }

    /// A verdict on what comes from outside, which the user may have switched off.
    fn outside(&self, verdict: Verdict) -> Verdict {
        if self.settings.xpia.enabled { verdict } else { verdict.observed() }
    }

    fn allowed_domain(&self, url: &str) -> Verdict {
        let xpia = &self.settings.xpia;
        if !xpia.may_allow || xpia.lists.allow.is_empty() {
            return Verdict::none();
        }
        let verdict = judge_url(url, &xpia.lists);
        if verdict.decision == Decision::Allow { verdict } else { Verdict::none() }
    }
}

#[cfg(test)]
mod tests;
