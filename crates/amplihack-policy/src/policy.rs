//! The policy: packs of rules, the user's own rules, a mode; one function that judges.

use std::path::Path;
use std::time::Duration;

use crate::decision::{Decision, RuleId, Span, Verdict};
use crate::event::{Event, World};
use crate::rules::{self, Arg, Call, Change, Ctx, Kind, Script, Settings, Subject, Target};
use crate::shell::{self, Parsed};
use crate::user::{self, Layer, Loaded, PolicyError};

/// How far judging may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time for reading one script.
    pub deadline: Duration,
    /// Bytes of one script.
    pub bytes: usize,
    /// Nesting of brackets, substitutions and wrappers.
    pub depth: usize,
    /// Commands found in one script, those in wrappers included.
    pub commands: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { deadline: Duration::from_millis(50), bytes: 1 << 20, depth: 100, commands: 10_000 }
    }
}

/// How strictly the policy is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Mode {
    /// The rules.
    #[default]
    Standard,
    /// The rules, and programs that nobody knows ask.
    Strict,
    /// Nothing is decided; what would have been is in [`Verdict::would_be`].
    Observe,
}

impl std::str::FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        match text {
            "standard" => Ok(Self::Standard),
            "strict" => Ok(Self::Strict),
            "observe" => Ok(Self::Observe),
            _ => Err(UnknownMode),
        }
    }
}

/// A word that names no mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the policy's mode must be standard, strict or observe")]
pub struct UnknownMode;

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

/// How a verdict came about.
#[derive(Debug)]
pub struct Explanation {
    /// The verdict.
    pub verdict: Verdict,
    /// Every command that was judged.
    pub commands: Vec<ExplainedCommand>,
    /// Every rule that said something, those that an `allow` lifted too.
    pub hits: Vec<Verdict>,
    /// What could not be understood.
    pub undecided: Vec<String>,
}

/// One command of an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedCommand {
    /// Its words; what is not known is `…`.
    pub words: Vec<String>,
    /// Wrappers around it, outermost first.
    pub via: Vec<String>,
    /// Where it runs, if that is known.
    pub dir: Option<String>,
    /// Where it stands.
    pub span: Span,
}

impl Policy {
    /// The built-in rules.
    pub fn standard() -> Self {
        let protected = vec!["main".to_owned(), "master".to_owned()];
        Self {
            mode: Mode::Standard,
            settings: Settings { protected, phrase: rules::override_phrase },
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

    /// The same policy, with another finder of phrases that override instructions.
    #[must_use]
    pub fn with_phrases(mut self, find: fn(&str) -> Option<Span>) -> Self {
        self.settings.phrase = find;
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
        let mut explanation = Explanation {
            verdict: Verdict::none(),
            commands: Vec::new(),
            hits: Vec::new(),
            undecided: Vec::new(),
        };
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
            Event::Shell { script, cwd } => self.shell(script, cwd, world, limits, NESTING, &mut explain),
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
            Event::Fetch { url } => self.other(Subject::Fetch(url), Path::new("/"), world, &mut explain),
            Event::Content { .. } | Event::Other { .. } => Verdict::none(),
        };
        if self.mode == Mode::Observe { verdict.observed() } else { verdict }
    }

    /// A file or an address.
    fn other(
        &self,
        subject: Subject<'_, '_>,
        cwd: &Path,
        world: &dyn World,
        explain: &mut Option<&mut Explanation>,
    ) -> Verdict {
        let parsed = Parsed::default();
        let script = Script::new(&parsed, cwd, world, &self.settings);
        // A link leads elsewhere: both places count.
        let real = match &subject {
            Subject::Write(change) => {
                linked(&change.target, world).map(|target| Change { target, ..(*change).clone() })
            }
            _ => None,
        };
        let real_read = match &subject {
            Subject::Read(target) => linked(target, world),
            _ => None,
        };
        let mut verdict = self.one(&Ctx { subject, script: &script }, explain);
        if let Some(change) = &real {
            verdict =
                verdict.join(self.one(&Ctx { subject: Subject::Write(change), script: &script }, explain));
        }
        if let Some(target) = &real_read {
            verdict =
                verdict.join(self.one(&Ctx { subject: Subject::Read(target), script: &script }, explain));
        }
        verdict
    }

    fn shell(
        &self,
        source: &[u8],
        cwd: &Path,
        world: &dyn World,
        limits: &Limits,
        nesting: usize,
        explain: &mut Option<&mut Explanation>,
    ) -> Verdict {
        if source.iter().all(u8::is_ascii_whitespace) {
            return Verdict::none();
        }
        let parsed = shell::commands(source, limits);
        let script = Script::new(&parsed, cwd, world, &self.settings);
        let mut verdict = Verdict::none();
        let mut allowed = !parsed.commands.is_empty();
        for call in &script.calls {
            if let Some(explain) = explain {
                explain.commands.push(explained(call));
            }
            let one = self.one(&Ctx { subject: Subject::Call(call), script: &script }, explain);
            allowed &= one.decision == Decision::Allow;
            if one.decision != Decision::Allow {
                verdict = verdict.join(one);
            }
            verdict = verdict.join(self.nested(call, &script, limits, nesting, explain));
            if verdict.decision == Decision::Deny && explain.is_none() {
                return verdict;
            }
        }
        verdict = verdict.join(undecided(&parsed, &script, explain));
        if verdict.decision == Decision::None && allowed {
            let rule = self.user.allow_of(&script).unwrap_or(RuleId::new("user/allow"));
            return Verdict::new(Decision::Allow, rule, "allowed by the user's own policy", Vec::new());
        }
        verdict
    }

    /// Scripts that git runs by itself.
    fn nested(
        &self,
        call: &Call<'_>,
        script: &Script<'_>,
        limits: &Limits,
        nesting: usize,
        explain: &mut Option<&mut Explanation>,
    ) -> Verdict {
        let Some(git) = rules::git(script, call).filter(|git| !git.scripts.is_empty()) else {
            return Verdict::none();
        };
        if nesting == 0 {
            return deny_undecided("git aliases run each other without end", call.span());
        }
        let dir = git.dir.as_deref().unwrap_or(script.cwd);
        git.scripts.iter().fold(Verdict::none(), |verdict, source| {
            if source.contains(rules::marks::UNKNOWN) {
                return verdict.join(deny_undecided("what git would run is made at run time", call.span()));
            }
            let mut inner = self.shell(source.as_bytes(), dir, script.world, limits, nesting - 1, explain);
            if inner.decision == Decision::Allow {
                inner = Verdict::none();
            }
            inner.spans = if inner.decision == Decision::None { Vec::new() } else { vec![call.span()] };
            verdict.join(inner)
        })
    }

    /// One command, file or address: the built-in rules, then the user's.
    fn one(&self, ctx: &Ctx<'_>, explain: &mut Option<&mut Explanation>) -> Verdict {
        let mut verdict = Verdict::none();
        let mut say = |found: Verdict, verdict: Verdict| {
            if let Some(explain) = explain {
                explain.hits.push(found.clone());
            }
            verdict.join(found)
        };
        for rule in rules::all() {
            if self.user.disabled.contains(&rule.id) {
                continue;
            }
            if let Some(hit) = (rule.check)(ctx) {
                verdict = say(
                    Verdict::new(hit.decision, rule.id.clone(), one_line(&hit.reason), vec![hit.span]),
                    verdict,
                );
            }
        }
        if self.mode == Mode::Strict
            && let Subject::Call(call) = &ctx.subject
        {
            let named = !call.command.words.is_empty() && !call.program.is_empty();
            if named
                && (call.path.text().contains('/') || !rules::is_known(&call.program))
                && !self.user.names(ctx)
            {
                let reason = format!(
                    "runs `{}`, which the strict mode does not know; a person should say whether it may",
                    Script::spoken(call)
                );
                verdict = say(
                    Verdict::new(Decision::Ask, UNKNOWN_PROGRAM, one_line(&reason), vec![call.span()]),
                    verdict,
                );
            }
        }
        for found in self.user.verdicts(ctx) {
            verdict = match found.decision {
                Decision::Allow if verdict.decision <= Decision::Ask => {
                    say(found.clone(), Verdict::none()).join(found)
                }
                Decision::Allow => verdict,
                _ => say(found, verdict),
            };
        }
        verdict
    }
}

/// Where a path leads, if that is elsewhere.
fn linked(target: &Target, world: &dyn World) -> Option<Target> {
    let real = Target::known(&world.real(&target.path()?)?);
    (real.parts != target.parts).then_some(real)
}

/// What was not understood denies; text that `eval` makes at run time is asked about by its own rule.
fn undecided(parsed: &Parsed, script: &Script<'_>, explain: &mut Option<&mut Explanation>) -> Verdict {
    let mut verdict = Verdict::none();
    for part in &parsed.undecided {
        let by_eval = script.calls.iter().any(|call| {
            call.is(&["eval"]) && call.args.iter().any(|arg| arg.dynamic) && is_all_of(part.span, call)
        });
        if let Some(explain) = explain {
            explain.undecided.push(part.why.clone());
        }
        if !by_eval {
            verdict = verdict.join(deny_undecided(&part.why, part.span));
        }
    }
    if script.overflow {
        verdict =
            verdict.join(deny_undecided("its variables have too many possible values", Span::default()));
    }
    verdict
}

/// Whether a span is the command, its arguments together, or one of them.
fn is_all_of(span: Span, call: &Call<'_>) -> bool {
    let start = call.args.first().map_or(0, |arg: &Arg| arg.span.start);
    let end = call.args.last().map_or(0, |arg| arg.span.end);
    span == call.span() || span == Span { start, end } || call.args.iter().any(|arg| arg.span == span)
}

fn deny_undecided(why: &str, span: Span) -> Verdict {
    Verdict::new(
        Decision::Deny,
        UNDECIDED,
        one_line(&format!("cannot tell what this would do: {why}; write it plainly")),
        vec![span],
    )
}

fn one_line(text: &str) -> String {
    text.chars().map(|ch| if ch.is_control() { ' ' } else { ch }).collect()
}

fn explained(call: &Call<'_>) -> ExplainedCommand {
    let words = std::iter::once(&call.path).chain(&call.args).map(|arg| rules::marks::shown(arg.marked()));
    ExplainedCommand {
        words: words.collect(),
        via: call.command.via.clone(),
        dir: call.dir.as_ref().map(|dir| dir.display().to_string()),
        span: call.span(),
    }
}
