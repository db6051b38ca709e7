//! Guards of the session itself: its working directory, the protected branches, the git hooks.

use amplihack_verdict::{Decision, RuleId};

use super::change::PathChangeKind;
use super::example::shell_example;
use super::git::GitCall;
use super::marks::{self, may_be};
use super::options::is_abbreviation;
use super::target::{PathTarget, TargetCoverage};
use super::{BuiltinRule, CommandCall, PathChange, RuleContext, RuleHit, RulePack};
use crate::rules::git_call;

pub(super) static RULES: &[BuiltinRule] = &[
    BuiltinRule {
        id: RuleId::new("guards/cwd-delete"),
        pack: RulePack::Guards,
        harm: "the session's working directory is deleted, which ends the session",
        decision: Decision::Deny,
        matches: &[
            shell_example("rm -rf /home/u/proj"),
            shell_example("rm -rf ."),
            shell_example("rm --force --recursive .."),
            shell_example("rm -rf \"$PWD\""),
            shell_example("rm /home/u/proj -rf"),
            shell_example("rm -rf /home/u/*"),
            shell_example("(cd / && rm -rf /home/u/proj)"),
            shell_example("find /home/u/proj -delete"),
            shell_example("rmdir ../proj"),
            shell_example("cd .. && rm -r proj"),
            shell_example("D=/home/u/proj; rm -rf \"$D\""),
            shell_example("python3 -c \"import shutil; shutil.rmtree('/home/u/proj')\""),
            shell_example("cd \"$(mktemp -d)\" && rm -rf ."),
            shell_example("git worktree remove --force /home/u/proj"),
            shell_example("cd / && rm -rf /srv/launched"),
            shell_example("rm -rf /srv/launched/repo"),
            shell_example("find .. -maxdepth 1 -name proj -exec rm -rf {} \\;"),
            shell_example("find /home/u -type d -name 'pro*' -exec rm -r {} +"),
            shell_example("fd -t d proj .. -x rm -rf"),
        ],
        not_matches: &[
            shell_example("rm -rf ./target"),
            shell_example("rm -f /home/u/proj/x"),
            shell_example("rm -rf ../other"),
            shell_example("echo rm -rf ."),
            shell_example("find . -name '*.pyc' -delete"),
            shell_example("cd build && rm -rf *"),
            shell_example("git clean -fdx"),
            shell_example("rm -rf /srv/launched/repo/target /srv/other"),
            shell_example("T=; rm -rf \"$T\""),
            shell_example("find . -name 'proj*' -delete"),
            shell_example("find /home/u -type f -name 'proj*' -delete"),
            shell_example("find .. -name node_modules -type d -exec rm -rf {} +"),
        ],
        check: cwd_delete,
    },
    BuiltinRule {
        id: RuleId::new("guards/cwd-rename"),
        pack: RulePack::Guards,
        harm: "the session's working directory is moved, and the session works in the wrong place",
        decision: Decision::Deny,
        matches: &[
            shell_example("mv /home/u/proj /tmp/x"),
            shell_example("mv . ../new"),
            shell_example("mv -t /tmp/dst a /home/u/proj"),
            shell_example("mv /home/u/pr* /tmp/"),
            shell_example("env mv /home/u/proj /tmp/x"),
            shell_example("rsync -a --remove-source-files /home/u/proj/ /tmp/x/"),
            shell_example("cd /tmp && mv /srv/launched/repo gone"),
            shell_example("mount --bind /tmp /home/u/proj"),
            shell_example("sudo mount -t tmpfs none /home/u"),
        ],
        not_matches: &[
            shell_example("mv ../a ../b"),
            shell_example("mv /tmp/a /home/u/proj"),
            shell_example("mv /home/u/zz* /tmp/"),
            shell_example("git mv a b"),
        ],
        check: cwd_rename,
    },
    BuiltinRule {
        id: RuleId::new("guards/protected-branch"),
        pack: RulePack::Guards,
        harm: "unreviewed commits on a branch that others build on",
        decision: Decision::Deny,
        matches: &[
            shell_example("git commit -m x").on_branch("main"),
            shell_example("git  commit --amend --no-edit").on_branch("master"),
            shell_example("git -C /home/u/other commit -m y"),
            shell_example("cd /home/u/other && git commit -m y"),
            shell_example("git --git-dir=/home/u/other/.git --work-tree=. commit -m y"),
            shell_example("git ci -m x").on_branch("main"),
            shell_example("git -c user.name=x commit -m x").on_branch("main"),
            shell_example("git commit -m x").on_branch(""),
            shell_example("git switch main && git commit -am x"),
            shell_example("git cherry-pick abc").on_branch("main"),
            shell_example("bash -c 'git commit -m x'").on_branch("main"),
            shell_example("git switch -c t; git commit -m x").on_branch("main"),
            shell_example("git switch -c t || git commit -m x").on_branch("main"),
            shell_example("git switch -c t | git commit -m x").on_branch("main"),
            shell_example("git switch -c t & git commit -m x").on_branch("main"),
            shell_example("git switch -c t\ngit commit -m x").on_branch("main"),
            shell_example("true || git switch -c t && git commit -m x").on_branch("main"),
            shell_example("! git switch -c t && git commit -m x").on_branch("main"),
            shell_example("git switch -c t && git switch main && git commit -m x").on_branch("main"),
            shell_example("git switch -c t && true; git commit -m x").on_branch("main"),
            shell_example("git switch -c t && git checkout - && git commit -m x").on_branch("main"),
            shell_example("git switch \"$B\" && git commit -m x").on_branch("main"),
            shell_example("git checkout README.md && git commit -m x").on_branch("main"),
            shell_example("git() { true; }; git switch -c t && command git commit -m x").on_branch("main"),
            shell_example("git -C /home/u/other switch -c t && git commit -m x").on_branch("main"),
        ],
        not_matches: &[
            shell_example("git commit -m x"),
            shell_example("git switch -c t && git commit -m x").on_branch("main"),
            shell_example("git checkout -b t && git add -A && git commit -m x").on_branch("main"),
            shell_example(
                "git fetch; git switch -q -c t origin/dev &&\n  git commit -m x && git push -u origin t",
            )
            .on_branch("main"),
            shell_example("git switch t && git commit -m x").on_branch("main"),
            shell_example("echo 'use git commit to save'").on_branch("main"),
            shell_example("grep -rn 'git commit' docs").on_branch("main"),
            shell_example("git commit-tree HEAD^{tree}").on_branch("main"),
            shell_example("git commit-graph write").on_branch("main"),
            shell_example("git commit --dry-run").on_branch("main"),
            shell_example("git log --grep commit").on_branch("main"),
        ],
        check: protected_branch,
    },
    BuiltinRule {
        id: RuleId::new("guards/no-verify"),
        pack: RulePack::Guards,
        harm: "the repository's own checks on commits and pushes are skipped",
        decision: Decision::Deny,
        matches: &[
            shell_example("git commit --no-verify -m x"),
            shell_example("git commit -n -m x"),
            shell_example("git commit -anm x"),
            shell_example("git commit --no-veri -m x"),
            shell_example("git push --no-verify"),
            shell_example("git merge --no-verify b"),
            shell_example("git rebase --no-verify main"),
            shell_example("git am -n x.patch"),
            shell_example("git -c core.hooksPath=/dev/null commit -m x"),
            shell_example("git -c CORE.HOOKSPATH=/tmp commit -m x"),
            shell_example("git clone --config core.hooksPath=/tmp a"),
            shell_example("git config core.hooksPath /dev/null"),
            shell_example(
                "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/x git commit -m x",
            ),
            shell_example("HUSKY=0 git commit -m x"),
            shell_example("export HUSKY=0; git commit -m x"),
            shell_example("SKIP=ruff git commit -m x"),
            shell_example("LEFTHOOK=0 git push"),
            shell_example("git ci --no-verify -m x"),
            shell_example("git yolo"),
        ],
        not_matches: &[
            shell_example("git commit -m '--no-verify is bad'"),
            shell_example("git commit -m --no-verify"),
            shell_example("git push -n"),
            shell_example("git merge -n b"),
            shell_example("git config core.hooksPath"),
            shell_example("git clone -n https://example.com/x"),
            shell_example("git commit -mn"),
            shell_example("git log -n 5"),
            shell_example("git commit -m x -- --no-verify"),
        ],
        check: no_verify,
    },
];

fn cwd_delete(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    ctx.changes()
        .filter(|change| change.kind == PathChangeKind::Remove && change.recursive)
        .filter(|change| !change.narrowed || !change.named.is_empty() && !change.files_only)
        .find_map(|change| check_taken(ctx, change, "remove"))
}

fn cwd_rename(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let mounted = ctx.call().is_some_and(|call| call.is_any_of(&["mount"]));
    ctx.changes()
        .filter(|change| change.kind == PathChangeKind::Move || mounted && change.spreads_tree())
        .find_map(|change| check_taken(ctx, change, if mounted { "hide" } else { "rename" }))
}

/// Reports a change that takes a directory of the session away.
fn check_taken(ctx: &RuleContext<'_>, change: &PathChange, verb: &str) -> Option<RuleHit> {
    let (script, call) = (ctx.script, ctx.call()?);
    let target = &change.target;
    // An empty word names nothing; code may have made it of a name that it is not known of.
    if target.raw.is_empty() && super::code::interpreter_language(&call.program).is_none() {
        return None;
    }
    let certain = |target: &PathTarget| {
        let kept = script.kept_directories().iter();
        kept.map(|kept| (change_coverage(change, target, kept), kept)).max_by_key(|(covers, _)| *covers)
    };
    let (mut covers, mut kept) = certain(target)?;
    // Wherever the shell stands: `.` and `..` are its working directory or hold it.
    if covers == TargetCoverage::No && target.is_dots() && !change.narrowed {
        covers = TargetCoverage::Yes;
    }
    if covers == TargetCoverage::No
        && let Some(real) = script.real_target(target, call.dir.as_deref())
    {
        (covers, kept) = certain(&real)?;
    }
    if covers == TargetCoverage::No {
        return None;
    }
    let shown = target.display_text();
    let hit = match covers {
        TargetCoverage::No => None,
        TargetCoverage::Maybe => ctx.ask(format!("may {verb} the working directory, since `{shown}` is only known at run time; name the path in full")),
        TargetCoverage::Yes => ctx.deny(format!(
            "would {verb} the working directory /{} or a parent of it (`{shown}`); change to another session directory first, or name only what is below it",
            kept.join("/").replace('\n', " ")
        )),
    };
    hit.map(|hit| hit.with_span(change.span))
}

/// Reports whether a change is made to `kept` or to a directory above it, by the names that it chooses.
fn change_coverage(change: &PathChange, target: &PathTarget, kept: &[String]) -> TargetCoverage {
    let covers = target.coverage_of(kept);
    if covers == TargetCoverage::No || !change.narrowed {
        return covers;
    }
    // A search sees where it begins by the name that it was given.
    let from = target.parts.len() - usize::from(!target.is_dots() && !target.parts.is_empty());
    let chosen = |name: &String| change.named.iter().all(|pattern| may_be(pattern, name));
    if kept[from..].iter().any(chosen) { covers } else { TargetCoverage::No }
}

fn protected_branch(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let git = git_call(ctx.script, call)?;
    let commits = match git.sub.as_str() {
        "commit" => {
            let options = git.commit_options();
            !options.has_long("dry-run") && !options.has_short('h') && !options.has_long("help")
        }
        "cherry-pick" | "revert" | "am" => {
            let options = git.parse_options("mX", &["mainline", "strategy", "strategy-option"]);
            let stops = ["abort", "quit", "skip", "show-current-patch", "no-commit", "help"]
                .iter()
                .any(|long| options.long.iter().any(|(name, _)| name == long));
            !stops && (git.sub == "am" || !options.has_short('n'))
        }
        _ => false,
    };
    if !commits {
        return None;
    }
    let protected = |branch: &str| {
        ctx.script.settings.protected.iter().any(|pattern| may_be(&marks::mark_pattern(pattern), branch))
    };
    if switched_away(ctx, call, git, &protected) {
        return None;
    }
    // A branch that the script itself changes to counts as well; what it changes away from still does, since the change may fail.
    let switched =
        ctx.script.calls.iter().take_while(|before| before.index < call.index).filter_map(|before| {
            let before = git_call(ctx.script, before).filter(|before| before.dir == git.dir)?;
            let to = before.args.iter().rfind(|arg| !arg.text().starts_with('-'))?;
            (matches!(before.sub.as_str(), "checkout" | "switch") && protected(to.text()))
                .then(|| to.text().to_owned())
        });
    if let Some(branch) = switched.last() {
        return ctx.deny(format!("would commit to the protected branch `{branch}`; commit on a branch of its own and open a pull request"));
    }
    let branch = git.dir.as_deref().and_then(|dir| ctx.script.world.branch(dir));
    match branch {
        Some(branch) if protected(&branch) => ctx.deny(format!(
            "would commit to the protected branch `{branch}`; run `git switch -c NAME` by itself first, then commit there"
        )),
        Some(_) => None,
        None => ctx.ask("commits in a repository whose branch cannot be found out; run it from that repository's directory"),
    }
}

/// Reports whether the script's last change of branch before this command is to leave it for one that is not protected,
/// and this command runs only if that was done.
fn switched_away(
    ctx: &RuleContext<'_>,
    call: &CommandCall<'_>,
    git: &GitCall,
    protected: &dyn Fn(&str) -> bool,
) -> bool {
    let script = ctx.script;
    // Somebody else's `git` proves nothing.
    if ["git()", "git ()", "function git", "alias"].iter().any(|text| script.source.contains(text)) {
        return false;
    }
    let changes = script.calls.iter().filter(|before| before.index < call.index).filter_map(|before| {
        let change = git_call(script, before)?;
        let files = change.args.iter().any(|arg| arg.text() == "--");
        (matches!(change.sub.as_str(), "checkout" | "switch") && !files).then_some((before, change))
    });
    let Some((before, change)) = changes.last() else { return false };
    change.dir.is_some()
        && change.dir == git.dir
        && new_branch(change).is_some_and(|branch| !protected(branch))
        && script.only_if(before, call)
}

/// The branch that a `git switch` or `git checkout -b` that succeeds leaves the repository on, if it is known.
fn new_branch(git: &GitCall) -> Option<&str> {
    let mut made = false;
    let mut names = Vec::new();
    for arg in &git.args {
        match arg.text() {
            "-q" | "--quiet" | "-t" | "--track" | "--no-track" => {}
            "-c" | "-C" | "--create" | "--force-create" if git.sub == "switch" => made = true,
            "-b" | "-B" if git.sub == "checkout" => made = true,
            text if text.starts_with('-') || arg.dynamic || text.contains('@') => return None,
            text => names.push(text),
        }
    }
    // Without `-b` a checkout may be one of files.
    match names.as_slice() {
        [name] if made || git.sub == "switch" => Some(name),
        [name, _] if made => Some(name),
        _ => None,
    }
}

/// Commands that run hooks.
const HOOKED: [&str; 10] =
    ["commit", "merge", "push", "rebase", "am", "cherry-pick", "pull", "revert", "checkout", "switch"];

fn no_verify(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let git = git_call(ctx.script, call)?;
    if git.sub == "config" {
        return hooks_path(ctx, git);
    }
    if git.sub == "clone" && git.set_for_good().iter().any(|(key, _)| key == "core.hookspath") {
        return ctx.deny(
            "would point core.hooksPath of the new repository elsewhere and so skip its hooks; clone without",
        );
    }
    if !HOOKED.contains(&git.sub.as_str()) {
        return None;
    }
    let options = match git.sub.as_str() {
        "commit" => git.commit_options(),
        "push" => git.parse_options("o", &["push-option", "repo", "receive-pack", "exec"]),
        "merge" | "pull" => git.parse_options("mFsX", &["message", "file", "strategy", "strategy-option"]),
        _ => git.parse_options("sXxCmp", &["onto", "exec", "strategy", "strategy-option", "directory"]),
    };
    let short = matches!(git.sub.as_str(), "commit" | "am") && options.has_short('n');
    // git takes abbreviations; up to here others begin the same way, and it refuses those.
    let long =
        options.long.iter().any(|(name, _)| name.len() > "no-v".len() && is_abbreviation(name, "no-verify"));
    if short || long {
        return ctx.deny(format!("would skip the repository's hooks on `git {}`; run it without --no-verify and mend what the hooks report", git.sub));
    }
    if git.configs.iter().any(|(key, _)| key == "core.hookspath") {
        return ctx.deny("would point core.hooksPath elsewhere for this command and so skip the repository's hooks; run it without");
    }
    let variable = ctx
        .script
        .calls
        .iter()
        .take_while(|before| before.index < call.index)
        .filter(|before| before.is_any_of(&["export", "", "declare", "typeset"]))
        .chain(std::iter::once(call))
        .flat_map(|call| {
            call.set_variables()
                .map(|(name, value)| (name.to_owned(), value.text().to_owned()))
                .collect::<Vec<_>>()
        })
        .find(|(name, value)| skips_hooks(name, value));
    let (name, _) = variable?;
    ctx.deny(format!("would skip the repository's hooks by the variable {name}; run it without and mend what the hooks report"))
}

fn skips_hooks(name: &str, value: &str) -> bool {
    match name {
        "HUSKY" | "LEFTHOOK" => matches!(value, "0" | "false" | "no" | "off"),
        "HUSKY_SKIP_HOOKS"
        | "PRE_COMMIT_ALLOW_NO_CONFIG"
        | "SKIP_HOOKS"
        | "OVERCOMMIT_DISABLE"
        | "SKIP_SIMPLE_GIT_HOOKS" => !matches!(value, "" | "0" | "false"),
        "SKIP" | "LEFTHOOK_EXCLUDE" => !value.is_empty(),
        _ => false,
    }
}

/// `git config core.hooksPath VALUE`.
fn hooks_path(ctx: &RuleContext<'_>, git: &GitCall) -> Option<RuleHit> {
    let options = git.parse_options("f", &["file", "type", "default", "blob"]);
    let mut operands =
        options.operands.iter().map(|arg| arg.text()).skip_while(|text| matches!(*text, "set" | "unset"));
    if operands.next().is_none_or(|key| !key.eq_ignore_ascii_case("core.hooksPath"))
        || git.has_first_arg("get")
    {
        return None;
    }
    if git.has_first_arg("unset") || options.has_long("unset") || options.has_long("unset-all") {
        return ctx.ask("would put the repository's hooks back to git's own directory");
    }
    match operands.next()? {
        "" | "/dev/null" => ctx.deny(
            "would switch the repository's hooks off for every later command; leave core.hooksPath as it is",
        ),
        path if path.starts_with("/tmp") || path.starts_with("/nonexist") => ctx.deny(
            "would switch the repository's hooks off for every later command; leave core.hooksPath as it is",
        ),
        _ => ctx.ask("would change which hooks the repository runs"),
    }
}
