//! Loss of commits and of work that was never committed.

use amplihack_verdict::{Decision, RuleId};

use super::example::shell_example;
use super::git::GitCall;
use super::marks::{self, may_be};
use super::{BuiltinRule, RuleContext, RuleHit, RulePack};
use crate::rules::git_call;

pub(super) static RULES: &[BuiltinRule] = &[
    BuiltinRule {
        id: RuleId::new("git_history/force-push"),
        pack: RulePack::GitHistory,
        harm: "commits of others vanish from a branch that they build on",
        decision: Decision::Ask,
        matches: &[
            shell_example("git push --force origin main"),
            shell_example("git push -f").on_branch("main"),
            shell_example("git push origin +main"),
            shell_example("git push origin +HEAD:main"),
            shell_example("git push --force-with-lease origin main"),
            shell_example("git push origin --delete main"),
            shell_example("git push origin :main"),
            shell_example("git push --mirror"),
            shell_example("git push --force origin 'refs/heads/*:refs/heads/*'"),
            shell_example("git push -uf origin main"),
            shell_example("git push --force").on_branch(""),
        ],
        not_matches: &[
            shell_example("git push --force-with-lease"),
            shell_example("git push --force origin feature/x"),
            shell_example("git push origin main"),
            shell_example("git push -u origin feature/x"),
            shell_example("git push origin --delete feature/x"),
        ],
        check: force_push,
    },
    BuiltinRule {
        id: RuleId::new("git_history/uncommitted"),
        pack: RulePack::GitHistory,
        harm: "uncommitted work is lost",
        decision: Decision::Ask,
        matches: &[
            shell_example("git reset --hard").with_dirty_tree(),
            shell_example("git reset --hard HEAD~1").with_dirty_tree(),
            shell_example("git checkout -- .").with_dirty_tree(),
            shell_example("git restore .").with_dirty_tree(),
            shell_example("git checkout -f main").with_dirty_tree(),
            shell_example("git stash drop"),
            shell_example("git clean -fdx"),
            shell_example("git clean -fd").with_dirty_tree(),
        ],
        not_matches: &[
            shell_example("git reset --hard"),
            shell_example("git reset --soft HEAD~1").with_dirty_tree(),
            shell_example("git checkout feature/y").with_dirty_tree(),
            shell_example("git clean -n"),
            shell_example("git stash"),
            shell_example("git restore --staged .").with_dirty_tree(),
        ],
        check: check_uncommitted,
    },
    BuiltinRule {
        id: RuleId::new("git_history/rewritten"),
        pack: RulePack::GitHistory,
        harm: "history is rewritten, or the means to restore it are deleted",
        decision: Decision::Ask,
        matches: &[
            shell_example("git filter-branch --tree-filter x HEAD"),
            shell_example("git filter-repo --path x"),
            shell_example("git reflog expire --expire=now --all"),
            shell_example("git gc --prune=now"),
            shell_example("git branch -D main"),
            shell_example("git update-ref -d refs/heads/x"),
            shell_example("git branch -f main abc"),
        ],
        not_matches: &[
            shell_example("git branch -D feature/y"),
            shell_example("git reflog"),
            shell_example("git gc"),
            shell_example("git branch -M main"),
            shell_example("git rebase main"),
        ],
        check: check_rewritten,
    },
];

fn is_protected(ctx: &RuleContext<'_>, branch: &str) -> bool {
    let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    ctx.script.settings.protected.iter().any(|pattern| may_be(&marks::mark_pattern(pattern), branch))
}

fn force_push(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let git = git_call(ctx.script, ctx.call()?).filter(|git| git.sub == "push")?;
    let options = git.parse_options("o", &["push-option", "repo", "receive-pack", "exec"]);
    let long = |name: &str| {
        options
            .long
            .iter()
            .any(|(given, _)| given == name || given.len() > 3 && name.starts_with(given.as_str()))
    };
    let force = options.has_short('f') || long("force") || long("force-with-lease");
    let delete = options.has_short('d') || long("delete");
    if long("mirror") || force && (long("all") || long("branches")) {
        return ctx
            .ask("would make every branch of the remote like this repository, and drop what is not in it");
    }
    let refs: Vec<&str> = options.operands.iter().skip(1).map(|arg| arg.text()).collect();
    let hit = |branch: &str| {
        ctx.ask(format!(
            "would take commits from the protected branch `{branch}` or delete it; push to another branch"
        ))
    };
    for text in &refs {
        let (plus, text) = text.strip_prefix('+').map_or((false, *text), |rest| (true, rest));
        let (from, to) = text.split_once(':').unwrap_or((text, text));
        let gone = delete || text.contains(':') && from.is_empty();
        let branch = if to == "HEAD" { current_branch(ctx, git) } else { Some(to.to_owned()) };
        let Some(branch) = branch else { return hit("…") };
        if (force || plus || gone) && (is_protected(ctx, &branch) || branch.contains([marks::UNKNOWN, '*'])) {
            return hit(&marks::display_text(&branch));
        }
    }
    if force && refs.is_empty() {
        return match current_branch(ctx, git) {
            Some(branch) if !is_protected(ctx, &branch) => None,
            Some(branch) => hit(&branch),
            None => ctx.ask("would push by force to a branch that cannot be found out; name the branch"),
        };
    }
    None
}

fn current_branch(ctx: &RuleContext<'_>, git: &GitCall) -> Option<String> {
    ctx.script.world.branch(git.dir.as_deref()?)
}

fn check_uncommitted(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let git = git_call(ctx.script, ctx.call()?)?;
    let options =
        git.parse_options("bBsUe", &["source", "pathspec-from-file", "conflict", "exclude", "orphan"]);
    let everything =
        || options.operands.iter().any(|arg| matches!(arg.text(), "." | ":/" | "*" | "./" | ":"));
    let dirty = || git.dir.as_deref().and_then(|dir| ctx.script.world.dirty(dir)) != Some(false);
    let loses = match git.sub.as_str() {
        "reset" => options.has_long("hard") && dirty(),
        "checkout" | "switch" => {
            (options.has_short('f')
                || options.long.iter().any(|(name, _)| name == "force" || name == "discard-changes")
                || everything())
                && dirty()
        }
        "restore" => {
            (!(options.has_short('S') || options.has_long("staged"))
                || options.has_short('W')
                || options.has_long("worktree"))
                && everything()
                && dirty()
        }
        "stash" => git.has_first_arg("drop") || git.has_first_arg("clear"),
        "clean" => {
            let force = options.has_short('f')
                || options.has_long("force")
                || git.configs.iter().any(|(key, _)| key == "clean.requireforce");
            let tries = options.has_short('n') || options.has_long("dry-run") || options.has_short('i');
            force && !tries && (options.has_short('x') || options.has_short('X') || dirty())
        }
        _ => false,
    };
    loses.then(|| {
        ctx.ask(format!("`git {}` would throw uncommitted work away; commit or stash it first", git.sub))
    })?
}

fn check_rewritten(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    if call.is_any_of(&["bfg", "git-filter-repo"]) {
        return ctx.ask("would rewrite the repository's whole history");
    }
    let git = git_call(ctx.script, call)?;
    let options = git.parse_options("", &[]);
    let names = |test: &dyn Fn(&str) -> bool| options.operands.iter().any(|arg| test(arg.text()));
    let loses = match git.sub.as_str() {
        "filter-branch" | "filter-repo" => true,
        "reflog" => git.has_first_arg("expire") || git.has_first_arg("delete"),
        "gc" | "prune" => options.long.iter().any(|(name, value)| {
            matches!((name.as_str(), value.as_deref()), ("prune" | "expire", Some("now" | "all")))
        }),
        "branch" => {
            let away = options.has_short('D') || options.has_short('d') || options.has_long("delete");
            let moved = options.has_short('f') || options.has_long("force");
            (away || moved) && names(&|name| is_protected(ctx, name))
        }
        "update-ref" => {
            options.has_short('d')
                || names(&|name| name.starts_with("refs/heads/") && is_protected(ctx, name))
        }
        _ => false,
    };
    loses.then(|| {
        ctx.ask(format!("`git {}` would rewrite history or delete the means to restore it", git.sub))
    })?
}
