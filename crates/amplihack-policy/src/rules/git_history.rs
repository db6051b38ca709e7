//! Loss of commits and of work that was never committed.

use super::example::sh;
use super::git::Git;
use super::marks::{self, may_be};
use super::{Ctx, Hit, Pack, Rule, git};
use crate::decision::{Decision, RuleId};

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: RuleId::new("git_history/force-push"),
        pack: Pack::GitHistory,
        harm: "commits of others vanish from a branch that they build on",
        decision: Decision::Ask,
        matches: &[
            sh("git push --force origin main"),
            sh("git push -f").on("main"),
            sh("git push origin +main"),
            sh("git push origin +HEAD:main"),
            sh("git push --force-with-lease origin main"),
            sh("git push origin --delete main"),
            sh("git push origin :main"),
            sh("git push --mirror"),
            sh("git push --force origin 'refs/heads/*:refs/heads/*'"),
            sh("git push -uf origin main"),
            sh("git push --force").on(""),
        ],
        not_matches: &[
            sh("git push --force-with-lease"),
            sh("git push --force origin feature/x"),
            sh("git push origin main"),
            sh("git push -u origin feature/x"),
            sh("git push origin --delete feature/x"),
        ],
        check: force_push,
    },
    Rule {
        id: RuleId::new("git_history/uncommitted"),
        pack: Pack::GitHistory,
        harm: "work that was never committed is gone",
        decision: Decision::Ask,
        matches: &[
            sh("git reset --hard").dirty(),
            sh("git reset --hard HEAD~1").dirty(),
            sh("git checkout -- .").dirty(),
            sh("git restore .").dirty(),
            sh("git checkout -f main").dirty(),
            sh("git stash drop"),
            sh("git clean -fdx"),
            sh("git clean -fd").dirty(),
        ],
        not_matches: &[
            sh("git reset --hard"),
            sh("git reset --soft HEAD~1").dirty(),
            sh("git checkout feature/y").dirty(),
            sh("git clean -n"),
            sh("git stash"),
            sh("git restore --staged .").dirty(),
        ],
        check: uncommitted,
    },
    Rule {
        id: RuleId::new("git_history/rewritten"),
        pack: Pack::GitHistory,
        harm: "history is rewritten, or the way back to it is thrown away",
        decision: Decision::Ask,
        matches: &[
            sh("git filter-branch --tree-filter x HEAD"),
            sh("git filter-repo --path x"),
            sh("git reflog expire --expire=now --all"),
            sh("git gc --prune=now"),
            sh("git branch -D main"),
            sh("git update-ref -d refs/heads/x"),
            sh("git branch -f main abc"),
        ],
        not_matches: &[
            sh("git branch -D feature/y"),
            sh("git reflog"),
            sh("git gc"),
            sh("git branch -M main"),
            sh("git rebase main"),
        ],
        check: rewritten,
    },
];

fn protected(ctx: &Ctx<'_>, branch: &str) -> bool {
    let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    ctx.script.settings.protected.iter().any(|pattern| may_be(&marks::pattern(pattern), branch))
}

fn force_push(ctx: &Ctx<'_>) -> Option<Hit> {
    let git = git(ctx.script, ctx.call()?).filter(|git| git.sub == "push")?;
    let options = git.options("o", &["push-option", "repo", "receive-pack", "exec"]);
    let long = |name: &str| {
        options
            .long
            .iter()
            .any(|(given, _)| given == name || given.len() > 3 && name.starts_with(given.as_str()))
    };
    let force = options.has('f') || long("force") || long("force-with-lease");
    let delete = options.has('d') || long("delete");
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
        let branch = if to == "HEAD" { current(ctx, git) } else { Some(to.to_owned()) };
        let Some(branch) = branch else { return hit("…") };
        if (force || plus || gone) && (protected(ctx, &branch) || branch.contains([marks::UNKNOWN, '*'])) {
            return hit(&marks::shown(&branch));
        }
    }
    if force && refs.is_empty() {
        return match current(ctx, git) {
            Some(branch) if !protected(ctx, &branch) => None,
            Some(branch) => hit(&branch),
            None => ctx.ask("would push by force to a branch that cannot be found out; name the branch"),
        };
    }
    None
}

fn current(ctx: &Ctx<'_>, git: &Git) -> Option<String> {
    ctx.script.world.branch(git.dir.as_deref()?)
}

fn uncommitted(ctx: &Ctx<'_>) -> Option<Hit> {
    let git = git(ctx.script, ctx.call()?)?;
    let options = git.options("bBsUe", &["source", "pathspec-from-file", "conflict", "exclude", "orphan"]);
    let everything =
        || options.operands.iter().any(|arg| matches!(arg.text(), "." | ":/" | "*" | "./" | ":"));
    let dirty = || git.dir.as_deref().and_then(|dir| ctx.script.world.dirty(dir)) != Some(false);
    let loses = match git.sub.as_str() {
        "reset" => options.has_long("hard") && dirty(),
        "checkout" | "switch" => {
            (options.has('f')
                || options.long.iter().any(|(name, _)| name == "force" || name == "discard-changes")
                || everything())
                && dirty()
        }
        "restore" => {
            (!(options.has('S') || options.has_long("staged"))
                || options.has('W')
                || options.has_long("worktree"))
                && everything()
                && dirty()
        }
        "stash" => git.first("drop") || git.first("clear"),
        "clean" => {
            let force = options.has('f')
                || options.has_long("force")
                || git.configs.iter().any(|(key, _)| key == "clean.requireforce");
            let tries = options.has('n') || options.has_long("dry-run") || options.has('i');
            force && !tries && (options.has('x') || options.has('X') || dirty())
        }
        _ => false,
    };
    loses.then(|| {
        ctx.ask(format!("`git {}` would throw uncommitted work away; commit or stash it first", git.sub))
    })?
}

fn rewritten(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    if call.is(&["bfg", "git-filter-repo"]) {
        return ctx.ask("would rewrite the repository's whole history");
    }
    let git = git(ctx.script, call)?;
    let options = git.options("", &[]);
    let names = |test: &dyn Fn(&str) -> bool| options.operands.iter().any(|arg| test(arg.text()));
    let loses = match git.sub.as_str() {
        "filter-branch" | "filter-repo" => true,
        "reflog" => git.first("expire") || git.first("delete"),
        "gc" | "prune" => options.long.iter().any(|(name, value)| {
            matches!((name.as_str(), value.as_deref()), ("prune" | "expire", Some("now" | "all")))
        }),
        "branch" => {
            let away = options.has('D') || options.has('d') || options.has_long("delete");
            let moved = options.has('f') || options.has_long("force");
            (away || moved) && names(&|name| protected(ctx, name))
        }
        "update-ref" => {
            options.has('d') || names(&|name| name.starts_with("refs/heads/") && protected(ctx, name))
        }
        _ => false,
    };
    loses.then(|| {
        ctx.ask(format!("`git {}` would rewrite history or throw away the way back to it", git.sub))
    })?
}
