//! The policy: packs of rules, the user's own rules, a mode; one function that judges.

mod explanation;
mod files;
mod judging;
mod mode;

use std::path::Path;

use amplihack_shell::Limits;
use amplihack_sys::WorkLimit;
use amplihack_verdict::{Decision, RuleId, Verdict};

use crate::event::{CommandFileOccasion, Event, World};
use crate::fetch::judge_url;
use crate::rules::{PathChange, PathTarget, RuleSettings, RuleSubject};
use crate::user::{self, Layer, LoadedLayers, PolicyError};
use crate::xpia::XpiaSettings;

pub use explanation::{ExplainedCommand, VerdictExplanation};
pub use mode::{PolicyMode, UnknownPolicyMode};

/// The rule for a part that could not be decided.
pub const UNDECIDED: RuleId = RuleId::new("shell/undecided");
/// A program that nobody knows, in the strict mode.
pub const UNKNOWN_PROGRAM: RuleId = RuleId::new("strict/unknown-program");

/// Scripts inside scripts that are followed here: git's aliases and hooks of its configuration.
const NESTING: usize = 4;

/// The rules in force.
#[derive(Debug)]
pub struct Policy {
    mode: PolicyMode,
    settings: RuleSettings,
    user: LoadedLayers,
}

impl Policy {
    /// The built-in rules.
    pub fn with_builtin_rules() -> Self {
        let protected = vec!["main".to_owned(), "master".to_owned()];
        Self {
            mode: PolicyMode::Standard,
            settings: RuleSettings { protected, xpia: XpiaSettings::default() },
            user: LoadedLayers::default(),
        }
    }

    /// The built-in rules and those of files, the weakest layer first.
    ///
    /// # Errors
    /// A file that is not TOML, has a key that is none, a value that it cannot have, or an example that its rule contradicts.
    pub fn load(layers: &[Layer]) -> Result<Self, PolicyError> {
        let mut policy = Self::with_builtin_rules();
        policy.user = user::load_layers(layers)?;
        if let Some(branches) = &policy.user.protected {
            policy.settings.protected.clone_from(branches);
        }
        policy.settings.protected.extend(policy.user.also_protected.iter().cloned());
        Ok(policy)
    }

    /// Returns this policy, applied in another mode.
    #[must_use]
    pub fn with_mode(mut self, mode: PolicyMode) -> Self {
        self.mode = mode;
        self
    }

    /// Returns this policy, with the settings of the `XPIA_*` variables.
    #[must_use]
    pub fn with_xpia(mut self, xpia: XpiaSettings) -> Self {
        self.settings.xpia = xpia;
        self
    }

    /// The mode in which the policy is applied.
    pub fn mode(&self) -> PolicyMode {
        self.mode
    }

    /// Requests of policy files that were not granted, for `policy list` and the audit.
    pub fn ignored_requests(&self) -> &[user::IgnoredRequest] {
        &self.user.ignored
    }

    /// Built-in rules that the user switched off.
    pub fn disabled_rules(&self) -> impl Iterator<Item = &RuleId> {
        self.user.disabled.iter()
    }

    /// The rules of policy files, the weakest layer first, for `policy list` and exports.
    pub fn user_rules(&self) -> impl Iterator<Item = user::StatedRule<'_>> {
        self.user.stated_rules()
    }

    /// Judges an event.
    ///
    /// What cannot be decided is denied. Of all that rules say the strictest holds; the user's own `allow` lifts an ask of the
    /// same command, never a deny. An allow comes out only if it is for every command of a script.
    pub fn judge(&self, event: &Event<'_>, world: &dyn World, limits: &Limits) -> Verdict {
        self.judge_event(event, world, limits, None)
    }

    /// Judges an event and tells how.
    pub fn explain(&self, event: &Event<'_>, world: &dyn World, limits: &Limits) -> VerdictExplanation {
        let mut explanation = VerdictExplanation::new();
        explanation.verdict = self.judge_event(event, world, limits, Some(&mut explanation));
        explanation
    }

    fn judge_event(
        &self,
        event: &Event<'_>,
        world: &dyn World,
        limits: &Limits,
        mut explain: Option<&mut VerdictExplanation>,
    ) -> Verdict {
        let verdict = match *event {
            Event::Shell { script, cwd } => {
                let deadline = WorkLimit::from_now(limits.deadline);
                self.judge_script(script, cwd, world, limits, (NESTING, deadline), &mut explain)
            }
            Event::Write { path, cwd } => {
                let change = PathChange::from_tool_write(PathTarget::from_path(&cwd.join(path)));
                self.judge_subject(RuleSubject::Write(&change), cwd, world, &mut explain)
            }
            Event::Read { path, cwd } => self.judge_subject(
                RuleSubject::Read(&PathTarget::from_path(&cwd.join(path))),
                cwd,
                world,
                &mut explain,
            ),
            Event::Fetch { url, cwd } => {
                let verdict = self.judge_subject(RuleSubject::Fetch(url), cwd, world, &mut explain);
                self.apply_xpia_switch(verdict.join_strictest(self.allowed_domain(url)))
            }
            Event::Content { text, origin } => self.apply_xpia_switch(self.judge_subject(
                RuleSubject::Content(text, origin),
                Path::new("/"),
                world,
                &mut explain,
            )),
            Event::CommandFile { path, text, cwd, occasion } => {
                let is_new = occasion == CommandFileOccasion::Written
                    || world.file_text(&cwd.join(path)).is_none_or(|file| file.is_new);
                let file = files::CommandFile { path: &cwd.join(path), text, is_new };
                self.command_file(&file, occasion, cwd, world, limits, &mut explain)
            }
            Event::Other { .. } => Verdict::no_objection(),
        };
        // Let through only now: the audit and `explain` tell what would have been decided.
        if self.mode == PolicyMode::Observe { verdict.as_observed() } else { verdict }
    }

    /// A verdict on what comes from outside, which the user may have switched off.
    fn apply_xpia_switch(&self, verdict: Verdict) -> Verdict {
        if self.settings.xpia.enabled { verdict } else { verdict.as_observed() }
    }

    fn allowed_domain(&self, url: &str) -> Verdict {
        let xpia = &self.settings.xpia;
        if !xpia.may_allow || xpia.lists.allow.is_empty() {
            return Verdict::no_objection();
        }
        let verdict = judge_url(url, &xpia.lists);
        if verdict.decision == Decision::Allow { verdict } else { Verdict::no_objection() }
    }
}

#[cfg(test)]
mod tests;
