//! Guards of the session itself: its working directory, the protected branches, the git hooks.

use super::change::Kind;
use super::example::sh;
use super::git::Git;
use super::marks::{self, may_be};
use super::options::abbreviates;
use super::target::Covers;
use super::{Call, Change, Ctx, Hit, Pack, Rule, git};
use crate::decision::{Decision, RuleId};

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: RuleId::new("guards/cwd-delete"),
        pack: Pack::Guards,
        harm: "the session's working directory is gone, and with it the session",
        decision: Decision::Deny,
        matches: &[
            sh("rm -rf /home/u/proj"),
            sh("rm -rf ."),
            sh("rm --force --recursive .."),
            sh("rm -rf \"$PWD\""),
            sh("rm /home/u/proj -rf"),
            sh("rm -rf /home/u/*"),
            sh("(cd / && rm -rf /home/u/proj)"),
            sh("find /home/u/proj -delete"),
            sh("rmdir ../proj"),
            sh("cd .. && rm -r proj"),
            sh("D=/home/u/proj; rm -rf \"$D\""),
            sh("python3 -c \"import shutil; shutil.rmtree('/home/u/proj')\""),
            sh("cd \"$(mktemp -d)\" && rm -rf ."),
            sh("git worktree remove --force /home/u/proj"),
        ],
        not_matches: &[
            sh("rm -rf ./target"),
            sh("rm -f /home/u/proj/x"),
            sh("rm -rf ../other"),
            sh("echo rm -rf ."),
            sh("find . -name '*.pyc' -delete"),
            sh("cd build && rm -rf *"),
            sh("git clean -fdx"),
        ],
        check: cwd_delete,
    },
    Rule {
        id: RuleId::new("guards/cwd-rename"),
        pack: Pack::Guards,
        harm: "the session's working directory is elsewhere, and the session works on nothing",
        decision: Decision::Deny,
        matches: &[
            sh("mv /home/u/proj /tmp/x"),
            sh("mv . ../new"),
            sh("mv -t /tmp/dst a /home/u/proj"),
            sh("mv /home/u/pr* /tmp/"),
            sh("env mv /home/u/proj /tmp/x"),
            sh("rsync -a --remove-source-files /home/u/proj/ /tmp/x/"),
        ],
        not_matches: &[
            sh("mv ../a ../b"),
            sh("mv /tmp/a /home/u/proj"),
            sh("mv /home/u/zz* /tmp/"),
            sh("git mv a b"),
        ],
        check: cwd_rename,
    },
    Rule {
        id: RuleId::new("guards/protected-branch"),
        pack: Pack::Guards,
        harm: "unreviewed commits on a branch that others build on",
        decision: Decision::Deny,
        matches: &[
            sh("git commit -m x").on("main"),
            sh("git  commit --amend --no-edit").on("master"),
            sh("git -C /home/u/other commit -m y"),
            sh("cd /home/u/other && git commit -m y"),
            sh("git --git-dir=/home/u/other/.git --work-tree=. commit -m y"),
            sh("git ci -m x").on("main"),
            sh("git -c user.name=x commit -m x").on("main"),
            sh("git commit -m x").on(""),
            sh("git switch main && git commit -am x"),
            sh("git cherry-pick abc").on("main"),
            sh("bash -c 'git commit -m x'").on("main"),
            sh("git switch -c t; git commit -m x").on("main"),
            sh("git switch -c t || git commit -m x").on("main"),
            sh("git switch -c t | git commit -m x").on("main"),
            sh("git switch -c t & git commit -m x").on("main"),
            sh("git switch -c t\ngit commit -m x").on("main"),
            sh("true || git switch -c t && git commit -m x").on("main"),
            sh("! git switch -c t && git commit -m x").on("main"),
            sh("git switch -c t && git switch main && git commit -m x").on("main"),
            sh("git switch -c t && true; git commit -m x").on("main"),
            sh("git switch -c t && git checkout - && git commit -m x").on("main"),
            sh("git switch \"$B\" && git commit -m x").on("main"),
            sh("git checkout README.md && git commit -m x").on("main"),
            sh("git() { true; }; git switch -c t && command git commit -m x").on("main"),
            sh("git -C /home/u/other switch -c t && git commit -m x").on("main"),
        ],
        not_matches: &[
            sh("git commit -m x"),
            sh("git switch -c t && git commit -m x").on("main"),
            sh("git checkout -b t && git add -A && git commit -m x").on("main"),
            sh("git fetch; git switch -q -c t origin/dev &&\n  git commit -m x && git push -u origin t")
                .on("main"),
            sh("git switch t && git commit -m x").on("main"),
            sh("echo 'use git commit to save'").on("main"),
            sh("grep -rn 'git commit' docs").on("main"),
            sh("git commit-tree HEAD^{tree}").on("main"),
            sh("git commit-graph write").on("main"),
            sh("git commit --dry-run").on("main"),
            sh("git log --grep commit").on("main"),
        ],
        check: protected_branch,
    },
    Rule {
        id: RuleId::new("guards/no-verify"),
        pack: Pack::Guards,
        harm: "checks that the repository runs on every commit and push are skipped",
        decision: Decision::Deny,
        matches: &[
            sh("git commit --no-verify -m x"),
            sh("git commit -n -m x"),
            sh("git commit -anm x"),
            sh("git commit --no-veri -m x"),
            sh("git push --no-verify"),
            sh("git merge --no-verify b"),
            sh("git rebase --no-verify main"),
            sh("git am -n x.patch"),
            sh("git -c core.hooksPath=/dev/null commit -m x"),
            sh("git -c CORE.HOOKSPATH=/tmp commit -m x"),
            sh("git config core.hooksPath /dev/null"),
            sh("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/x git commit -m x"),
            sh("HUSKY=0 git commit -m x"),
            sh("export HUSKY=0; git commit -m x"),
            sh("SKIP=ruff git commit -m x"),
            sh("LEFTHOOK=0 git push"),
            sh("git ci --no-verify -m x"),
            sh("git yolo"),
        ],
        not_matches: &[
            sh("git commit -m '--no-verify is bad'"),
            sh("git commit -m --no-verify"),
            sh("git push -n"),
            sh("git merge -n b"),
            sh("git config core.hooksPath"),
            sh("git clone -n https://example.com/x"),
            sh("git commit -mn"),
            sh("git log -n 5"),
            sh("git commit -m x -- --no-verify"),
        ],
        check: no_verify,
    },
];

fn cwd_delete(ctx: &Ctx<'_>) -> Option<Hit> {
    ctx.changes()
        .filter(|change| change.kind == Kind::Remove && change.recursive && !change.narrowed)
        .find_map(|change| taken(ctx, change, "remove"))
}

fn cwd_rename(ctx: &Ctx<'_>) -> Option<Hit> {
    ctx.changes().filter(|change| change.kind == Kind::Move).find_map(|change| taken(ctx, change, "rename"))
}

/// Whether a change takes the working directory away.
fn taken(ctx: &Ctx<'_>, change: &Change, verb: &str) -> Option<Hit> {
    let (script, call) = (ctx.script, ctx.call()?);
    let target = &change.target;
    let mut covers = target.covers(&script.cwd_names);
    // Wherever the shell stands: `.` and `..` are its working directory or hold it.
    if covers == Covers::No && target.is_dots() {
        covers = Covers::Yes;
    }
    if covers == Covers::No
        && let (Some(cwd), Some(real)) = (script.cwd_real(), script.real(target, call.dir.as_deref()))
    {
        covers = real.covers(cwd);
    }
    if covers == Covers::No {
        return None;
    }
    let shown = target.shown();
    let hit = match covers {
        Covers::No => None,
        Covers::Maybe => ctx.ask(format!("may {verb} the working directory, since `{shown}` is only known at run time; name the path in full")),
        Covers::Yes => ctx.deny(format!(
            "would {verb} the working directory {} or a parent of it (`{shown}`); change to another session directory first, or name only what is below it",
            script.cwd.display().to_string().replace('\n', " ")
        )),
    };
    hit.map(|hit| hit.at(change.span))
}

fn protected_branch(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let git = git(ctx.script, call)?;
    let commits = match git.sub.as_str() {
        "commit" => {
            let options = git.commit_options();
            !options.has_long("dry-run") && !options.has('h') && !options.has_long("help")
        }
        "cherry-pick" | "revert" | "am" => {
            let options = git.options("mX", &["mainline", "strategy", "strategy-option"]);
            let stops = ["abort", "quit", "skip", "show-current-patch", "no-commit", "help"]
                .iter()
                .any(|long| options.long.iter().any(|(name, _)| name == long));
            !stops && (git.sub == "am" || !options.has('n'))
        }
        _ => false,
    };
    if !commits {
        return None;
    }
    let protected = |branch: &str| {
        ctx.script.settings.protected.iter().any(|pattern| may_be(&marks::pattern(pattern), branch))
    };
    if switched_away(ctx, call, git, &protected) {
        return None;
    }
    // A branch that the script itself changes to counts as well; what it changes away from still does, since the change may fail.
    let switched =
        ctx.script.calls.iter().take_while(|before| before.index < call.index).filter_map(|before| {
            let before = super::git(ctx.script, before).filter(|before| before.dir == git.dir)?;
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

/// Whether the last thing that the script does to the branch before this command is to leave it for one that is not protected,
/// and this command runs only if that was done.
fn switched_away(ctx: &Ctx<'_>, call: &Call<'_>, git: &Git, protected: &dyn Fn(&str) -> bool) -> bool {
    let script = ctx.script;
    // Somebody else's `git` proves nothing.
    if ["git()", "git ()", "function git", "alias"].iter().any(|text| script.source.contains(text)) {
        return false;
    }
    let changes = script.calls.iter().filter(|before| before.index < call.index).filter_map(|before| {
        let change = super::git(script, before)?;
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
fn new_branch(git: &Git) -> Option<&str> {
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

fn no_verify(ctx: &Ctx<'_>) -> Option<Hit> {
    let call = ctx.call()?;
    let git = git(ctx.script, call)?;
    if git.sub == "config" {
        return hooks_path(ctx, git);
    }
    if !HOOKED.contains(&git.sub.as_str()) {
        return None;
    }
    let options = match git.sub.as_str() {
        "commit" => git.commit_options(),
        "push" => git.options("o", &["push-option", "repo", "receive-pack", "exec"]),
        "merge" | "pull" => git.options("mFsX", &["message", "file", "strategy", "strategy-option"]),
        _ => git.options("sXxCmp", &["onto", "exec", "strategy", "strategy-option", "directory"]),
    };
    let short = matches!(git.sub.as_str(), "commit" | "am") && options.has('n');
    // git takes abbreviations; up to here others begin the same way, and it refuses those.
    let long =
        options.long.iter().any(|(name, _)| name.len() > "no-v".len() && abbreviates(name, "no-verify"));
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
        .filter(|before| before.is(&["export", "", "declare", "typeset"]))
        .chain(std::iter::once(call))
        .flat_map(|call| {
            call.sets().map(|(name, value)| (name.to_owned(), value.text().to_owned())).collect::<Vec<_>>()
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
fn hooks_path(ctx: &Ctx<'_>, git: &Git) -> Option<Hit> {
    let options = git.options("f", &["file", "type", "default", "blob"]);
    let mut operands =
        options.operands.iter().map(|arg| arg.text()).skip_while(|text| matches!(*text, "set" | "unset"));
    if operands.next().is_none_or(|key| !key.eq_ignore_ascii_case("core.hooksPath")) || git.first("get") {
        return None;
    }
    if git.first("unset") || options.has_long("unset") || options.has_long("unset-all") {
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
