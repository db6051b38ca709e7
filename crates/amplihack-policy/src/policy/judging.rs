//! From one subject to a verdict: scripts command by command, files, addresses and text by themselves.

use std::path::Path;
use std::time::Duration;

use amplihack_utils::sys::WorkLimit;

use super::explanation::{Explanation, explained};
use super::{Limits, Mode, Policy, UNDECIDED, UNKNOWN_PROGRAM};
use crate::decision::{Decision, RuleId, Span, Verdict};
use crate::event::World;
use crate::rules::{self, Call, Change, Ctx, Script, Subject, Target};
use crate::shell::{self, Parsed};

const LATE: &str = "judging the script takes too long";

impl Policy {
    /// A file or an address.
    pub(super) fn other(
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

    pub(super) fn shell(
        &self,
        source: &[u8],
        cwd: &Path,
        world: &dyn World,
        limits: &Limits,
        (nesting, deadline): (usize, WorkLimit),
        explain: &mut Option<&mut Explanation>,
    ) -> Verdict {
        if source.iter().all(u8::is_ascii_whitespace) {
            return Verdict::none();
        }
        let [for_rules, for_the_end] = kept_back(limits.deadline);
        let parsed = shell::commands_until(source, limits, deadline.earlier(for_rules));
        if parsed.is_late() && explain.is_none() {
            return deny_undecided(shell::LATE, Span { start: 0, end: source.len() });
        }
        let deadline = deadline.earlier(for_the_end);
        let mut script = Script::within(&parsed, cwd, world, &self.settings, Some(deadline));
        script.source = std::str::from_utf8(source).unwrap_or_default();
        let script = script;
        let mut verdict = Verdict::none();
        let mut allowed = !parsed.commands.is_empty();
        for call in &script.calls {
            if script.is_late() {
                return verdict.join(deny_undecided(LATE, call.span()));
            }
            if let Some(explain) = explain {
                explain.commands.push(explained(call));
            }
            let one = self.one(&Ctx { subject: Subject::Call(call), script: &script }, explain);
            allowed &= one.decision == Decision::Allow;
            if one.decision != Decision::Allow {
                verdict = verdict.join(one);
            }
            verdict = verdict.join(self.nested(call, &script, limits, (nesting, deadline), explain));
            if verdict.decision == Decision::Deny && explain.is_none() {
                return verdict;
            }
        }
        if script.was_late() {
            verdict = verdict.join(deny_undecided(LATE, Span { start: 0, end: source.len() }));
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
        (nesting, deadline): (usize, WorkLimit),
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
            let mut inner =
                self.shell(source.as_bytes(), dir, script.world, limits, (nesting - 1, deadline), explain);
            if inner.decision == Decision::Allow {
                inner = Verdict::none();
            }
            inner.spans = if inner.decision == Decision::None { Vec::new() } else { vec![call.span()] };
            verdict.join(inner)
        })
    }

    /// One command, file or address: the built-in rules, then the user's.
    fn one(&self, ctx: &Ctx<'_>, explain: &mut Option<&mut Explanation>) -> Verdict {
        // A look at the clock for each rule is worth it only where rules may take long.
        let long = matches!(&ctx.subject, Subject::Call(call) if call.is_long());
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
            if long && ctx.script.is_late() {
                break;
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

/// Of the time for a script, what reading it leaves to the rules, and what these leave for giving back what both took.
pub(super) fn kept_back(time: Duration) -> [Duration; 2] {
    [time * 3 / 10, time / 8]
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
            call.is(&["eval"]) && call.args.iter().any(|arg| arg.dynamic) && part.span == call.span()
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
            verdict.join(deny_undecided("its variables have too many or too long values", Span::default()));
    }
    verdict
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
