//! The evaluator: what the CLI's `permissions test` would answer, without the CLI.

use serde_json::{Map, Value};

use super::answer::{MatchedRule, PermissionEvaluation, RuleSource};
use super::compiled::CompiledRule;
use super::{alias, builtin};
use crate::rule::{Permission, PermissionAction};

/// The rules for one evaluator: the user's before the CLI's own.
#[derive(Debug)]
pub struct PermissionRules {
    user: Vec<CompiledRule>,
}

impl PermissionRules {
    /// Compiles the user's rules, first match first. Rules that the CLI would refuse are for [`check_rules`](super::check_rules) to find.
    pub fn new<'a>(rules: impl IntoIterator<Item = &'a Permission>) -> Self {
        let user = rules.into_iter().flat_map(alias::expand_aliases).map(CompiledRule::new).collect();
        Self { user }
    }

    /// Evaluates a call, see [`evaluate`].
    pub fn evaluate(
        &self,
        tool: &str,
        args: &Map<String, Value>,
        context: Option<&str>,
    ) -> PermissionEvaluation {
        let mut evaluation = self.first_match(tool, args, context);
        if let Some(program) = evaluation.delegate_program() {
            evaluation.error =
                Some(format!("{program} was not asked: an evaluation by rules alone starts no program"));
            evaluation.action = Some(PermissionAction::Reject);
        }
        evaluation
    }

    /// The first rule about the call. Its action may be [`PermissionAction::Delegate`].
    pub(super) fn first_match(
        &self,
        tool: &str,
        args: &Map<String, Value>,
        context: Option<&str>,
    ) -> PermissionEvaluation {
        let find = |list: &[CompiledRule], source| {
            let index = list.iter().position(|rule| rule.applies_to(tool, args, context))?;
            Some(MatchedRule { entry: list[index].rule.clone(), index, source })
        };
        let matched = find(&self.user, RuleSource::User)
            .or_else(|| find(builtin::compiled_rules(), RuleSource::BuiltIn));
        let message = |matched: &MatchedRule| match matched.entry.action {
            PermissionAction::Reject => matched.entry.extra.get("message")?.as_str().map(str::to_owned),
            _ => None,
        };
        PermissionEvaluation {
            tool: tool.to_owned(),
            arguments: args.clone(),
            context: context.map(str::to_owned),
            action: matched.as_ref().map(|matched| matched.entry.action),
            error: matched.as_ref().and_then(message),
            matched,
        }
    }
}

impl PermissionEvaluation {
    /// The program that has yet to decide.
    pub(super) fn delegate_program(&self) -> Option<String> {
        let delegated = self.action == Some(PermissionAction::Delegate);
        let matched = self.matched.as_ref().filter(|_| delegated)?;
        Some(matched.entry.to.clone().unwrap_or_default())
    }
}

/// Evaluates a call of `tool` with `args` under the user's `rules` and, after them, the CLI's own. Starts nothing.
///
/// The first rule that is about the call decides. A rule is about a call if
/// - its `tool`, a glob with `*` and `{a,b}`, is the tool's name in any case;
/// - each key of its `matches` is an argument, and its pattern matches: a text that equals it; a text with `*` for anything within a line; `/…/`, a
///   JavaScript regular expression found anywhere, with `^` and `$` at every line; a list of which one matches. **A text with `*` has to match one
///   whole line, whatever the other lines are**: `git *` is also about a script whose second line is something else. A `/…/` that does not compile
///   matches nothing. Patterns match arguments that are texts; any other literal matches what equals it;
/// - its `context` is absent or `context`.
///
/// A rule for `Bash`, `shell_command` or `async_shell_command` is a rule for all three.
///
/// A rule that delegates to a program rejects, since no program is started here; [`decide_call`](super::decide_call) asks it.
///
/// ```
/// use amp_sdk::permissions::evaluate;
/// use amp_sdk::{Permission, PermissionAction};
/// use serde_json::{Map, json};
///
/// let rules = [Permission::new("Bash", PermissionAction::Reject).with_match("cmd", "rm *")];
/// let serde_json::Value::Object(args) = json!({"command": "rm -r build"}) else { unreachable!() };
/// let evaluation = evaluate(&rules, "shell_command", &args, None);
/// assert_eq!(evaluation.action, Some(PermissionAction::Reject));
/// assert_eq!(evaluation.matched.unwrap().index, 1);
/// assert_eq!(evaluate(&[], "my_tool", &Map::new(), None).action, None);
/// ```
pub fn evaluate(
    rules: &[Permission],
    tool: &str,
    args: &Map<String, Value>,
    context: Option<&str>,
) -> PermissionEvaluation {
    PermissionRules::new(rules).evaluate(tool, args, context)
}
