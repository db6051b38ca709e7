//! From one subject to a verdict: scripts command by command, files, addresses and text by themselves.

use std::path::Path;
use std::time::Duration;

use amplihack_shell::{Limits, Parsed};
use amplihack_sys::WorkLimit;
use amplihack_verdict::{Decision, RuleId, Span, Verdict};

use super::explanation::{VerdictExplanation, explain_call};
use super::{NESTING, Policy, PolicyMode, UNDECIDED, UNKNOWN_PROGRAM};
use crate::event::World;
use crate::rules::{self, CommandCall, JudgedScript, PathChange, PathTarget, RuleContext, RuleSubject};

const LATE: &str = "judging the script takes too long";

impl Policy {
    /// A file or an address.
    pub(super) fn judge_subject(
        &self,
        subject: RuleSubject<'_, '_>,
        cwd: &Path,
        world: &dyn World,
        explain: &mut Option<&mut VerdictExplanation>,
    ) -> Verdict {
        let parsed = Parsed::default();
        let script = JudgedScript::new(&parsed, cwd, world, &self.settings);
        // A link leads elsewhere: both places count.
        let real = match &subject {
            RuleSubject::Write(change) => {
                linked_target(&change.target, world).map(|target| PathChange { target, ..(*change).clone() })
            }
            _ => None,
        };
        let real_read = match &subject {
            RuleSubject::Read(target) => linked_target(target, world),
            _ => None,
        };
        let mut verdict = self.judge_one(&RuleContext { subject, script: &script }, explain);
        if let Some(change) = &real {
            verdict =
                verdict.join_strictest(self.judge_one(
                    &RuleContext { subject: RuleSubject::Write(change), script: &script },
                    explain,
                ));
        }
        if let Some(target) = &real_read {
            verdict = verdict.join_strictest(
                self.judge_one(&RuleContext { subject: RuleSubject::Read(target), script: &script }, explain),
            );
        }
        verdict
    }

    pub(super) fn judge_script(
        &self,
        source: &[u8],
        cwd: &Path,
        world: &dyn World,
        limits: &Limits,
        (nesting, deadline): (usize, WorkLimit),
        explain: &mut Option<&mut VerdictExplanation>,
    ) -> Verdict {
        if source.iter().all(u8::is_ascii_whitespace) {
            return Verdict::no_objection();
        }
        let [for_rules, for_the_end] = kept_back(limits.deadline);
        let parsed = amplihack_shell::commands_until(source, limits, deadline.shift_earlier(for_rules));
        if parsed.is_late() && explain.is_none() {
            return deny_undecided(amplihack_shell::OUT_OF_TIME, Span { start: 0, end: source.len() });
        }
        let deadline = deadline.shift_earlier(for_the_end);
        let mut script = JudgedScript::with_deadline(&parsed, cwd, world, &self.settings, Some(deadline));
        script.source = std::str::from_utf8(source).unwrap_or_default();
        let script = script;
        let mut verdict = Verdict::no_objection();
        let mut allowed = !parsed.commands.is_empty();
        let mut lifted = Vec::new();
        for call in &script.calls {
            if script.is_late() {
                return verdict.join_strictest(deny_undecided(LATE, call.span()));
            }
            if let Some(explain) = explain {
                explain.commands.push(explain_call(call));
            }
            let one =
                self.judge_one(&RuleContext { subject: RuleSubject::Call(call), script: &script }, explain);
            allowed &= one.decision == Decision::Allow;
            if one.decision == Decision::Allow {
                lifted.push(call.index);
            }
            if one.decision != Decision::Allow {
                verdict = verdict.join_strictest(one);
            }
            verdict = verdict.join_strictest(self.judge_nested(
                call,
                &script,
                limits,
                (nesting, deadline),
                explain,
            ));
            if verdict.decision == Decision::Deny && explain.is_none() {
                return verdict;
            }
        }
        if script.was_late() {
            verdict = verdict.join_strictest(deny_undecided(LATE, Span { start: 0, end: source.len() }));
        }
        verdict = verdict.join_strictest(undecided_verdict(&parsed, &script, explain));
        // Last of all: what it takes to look into files is not taken from the script.
        let mut for_files = (nesting < NESTING).then_some(deadline);
        for call in &script.calls {
            if verdict.decision == Decision::Deny {
                break;
            }
            let mut file = self.judge_run_files(call, &script, limits, nesting, &mut for_files, explain);
            if nesting == NESTING {
                file = file.join_strictest(self.judge_written(call, &script, limits, explain));
            }
            // Whoever allows a command allows what it may do, not what it would certainly do.
            if file.decision == Decision::Deny || !lifted.contains(&call.index) {
                verdict = verdict.join_strictest(file);
            }
        }
        if verdict.decision == Decision::None && allowed {
            let rule = self.user.allow_of(&script).unwrap_or(RuleId::new("user/allow"));
            return Verdict::new(Decision::Allow, rule, "allowed by the user's own policy", Vec::new());
        }
        verdict
    }

    /// Scripts that git runs by itself.
    fn judge_nested(
        &self,
        call: &CommandCall<'_>,
        script: &JudgedScript<'_>,
        limits: &Limits,
        (nesting, deadline): (usize, WorkLimit),
        explain: &mut Option<&mut VerdictExplanation>,
    ) -> Verdict {
        let Some(git) = rules::git_call(script, call).filter(|git| !git.scripts.is_empty()) else {
            return Verdict::no_objection();
        };
        if nesting == 0 {
            return deny_undecided("git aliases run each other without end", call.span());
        }
        let dir = git.dir.as_deref().unwrap_or(script.cwd);
        git.scripts.iter().fold(Verdict::no_objection(), |verdict, source| {
            if source.contains(rules::marks::UNKNOWN) {
                return verdict
                    .join_strictest(deny_undecided("what git would run is made at run time", call.span()));
            }
            let mut inner = self.judge_script(
                source.as_bytes(),
                dir,
                script.world,
                limits,
                (nesting - 1, deadline),
                explain,
            );
            if inner.decision == Decision::Allow {
                inner = Verdict::no_objection();
            }
            inner.spans = if inner.decision == Decision::None { Vec::new() } else { vec![call.span()] };
            verdict.join_strictest(inner)
        })
    }

    /// Judges one command, file or address: the built-in rules, then the user's.
    fn judge_one(&self, ctx: &RuleContext<'_>, explain: &mut Option<&mut VerdictExplanation>) -> Verdict {
        // A look at the clock for each rule is worth it only where rules may take long.
        let long = matches!(&ctx.subject, RuleSubject::Call(call) if call.is_long());
        let mut verdict = Verdict::no_objection();
        let mut say = |found: Verdict, verdict: Verdict| {
            if let Some(explain) = explain {
                explain.hits.push(found.clone());
            }
            verdict.join_strictest(found)
        };
        for rule in rules::builtin_rules() {
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
        if self.mode == PolicyMode::Strict
            && let RuleSubject::Call(call) = &ctx.subject
        {
            let named = !call.command.words.is_empty() && !call.program.is_empty();
            if named
                && (call.path.text().contains('/') || !rules::is_known(&call.program))
                && !self.user.allows_by_name(ctx)
            {
                let reason = format!(
                    "runs `{}`, which the strict mode does not know; ask the user whether it may run",
                    JudgedScript::display_call(call)
                );
                verdict = say(
                    Verdict::new(Decision::Ask, UNKNOWN_PROGRAM, one_line(&reason), vec![call.span()]),
                    verdict,
                );
            }
        }
        for found in self.user.rule_verdicts(ctx) {
            verdict = match found.decision {
                Decision::Allow if verdict.decision <= Decision::Ask => {
                    say(found.clone(), Verdict::no_objection()).join_strictest(found)
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

/// The place to which a path leads, if that is elsewhere.
fn linked_target(target: &PathTarget, world: &dyn World) -> Option<PathTarget> {
    let real = PathTarget::from_path(&world.real(&target.path()?)?);
    (real.parts != target.parts).then_some(real)
}

/// The verdict on parts not understood: they deny; text that `eval` makes at run time is asked about by its own rule.
fn undecided_verdict(
    parsed: &Parsed,
    script: &JudgedScript<'_>,
    explain: &mut Option<&mut VerdictExplanation>,
) -> Verdict {
    let mut verdict = Verdict::no_objection();
    for part in &parsed.undecided {
        let by_eval = script.calls.iter().any(|call| {
            call.is_any_of(&["eval"]) && call.args.iter().any(|arg| arg.dynamic) && part.span == call.span()
        });
        if let Some(explain) = explain {
            explain.undecided.push(part.why.clone());
        }
        if !by_eval {
            verdict = verdict.join_strictest(deny_undecided(&part.why, part.span));
        }
    }
    if script.overflow {
        verdict = verdict.join_strictest(deny_undecided(
            "its variables have too many or too long values",
            Span::default(),
        ));
    }
    verdict
}

pub(super) fn deny_undecided(why: &str, span: Span) -> Verdict {
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
