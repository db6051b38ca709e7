//! Files: the system's, a home directory's, everything here, and the record of what was done.

use amplihack_shell::WordPiece;

use super::super::change::{PathChange, PathChangeKind};
use super::super::marks::{STAR, UNKNOWN, is_glob};
use super::super::options::CommandOptions;
use super::super::target::TargetCoverage;
use super::super::{RuleContext, RuleHit, place};

pub(super) fn system_files(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let home = ctx.script.home.as_deref();
    if call.is_any_of(&["mv"]) && call.operands().last().is_some_and(|to| to.text() == "/dev/null") {
        return ctx.deny("would lose the file in /dev/null; remove it with `rm`, or move it somewhere else");
    }
    ctx.changes().filter(|change| change.takes_away()).find_map(|change| {
        let (what, covers) = place::system_loss(&change.target, home)?;
        // One named file of the system is the business of other rules.
        if !change.recursive && !is_glob(&change.target.raw) && what == "a part of the system" {
            return None;
        }
        let shown = change.target.display_text();
        let hit = if change.narrowed {
            if what == "the home directory" {
                return None;
            }
            ctx.ask(format!(
                "would remove files all over {what} (`{shown}`); look only in the directory that is meant"
            ))
        } else if covers == TargetCoverage::Maybe
            && !ctx
                .script
                .target_in(&change.target.raw, None)
                .parts
                .first()
                .is_some_and(|first| first.starts_with(UNKNOWN))
        {
            ctx.ask(format!(
                "may remove {what}, since `{shown}` is only known at run time; name the path in full"
            ))
        } else {
            ctx.deny(format!("would remove {what} (`{shown}`); name only files of the task"))
        };
        hit.map(|hit| hit.with_span(change.span))
    })
}

pub(super) fn system_mode(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    let home = ctx.script.home.as_deref();
    let open = call.args.iter().any(|arg| {
        matches!(
            arg.text(),
            "777" | "0777" | "666" | "0666" | "000" | "a+w" | "o+w" | "a+rwx" | "a=rwx" | "ugo+rwx" | "+w"
        )
    });
    ctx.changes().filter(|change| change.kind == PathChangeKind::Mode).find_map(|change| {
        let (what, _) = place::system_loss(&change.target, home)?;
        // One's own home may be one's own again.
        if !open && (what == "the home directory" || !change.recursive)
            || change.target.is_inside(&["usr", "local"])
        {
            return None;
        }
        ctx.deny(format!(
            "would change owners or permissions of {what} (`{}`); name only files of the task",
            change.target.display_text()
        ))
        .map(|hit| hit.with_span(change.span))
    })
}

pub(super) fn everything_here(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let call = ctx.call()?;
    ctx.changes().filter(|change| change.kind != PathChangeKind::Mode && !change.narrowed).find_map(
        |change| {
            let target = &change.target;
            let inside = target.names_behind(&[".git"]).and_then(|rest| rest.first().map(String::as_str));
            let history = match inside {
                Some("objects" | "refs" | "HEAD" | "packed-refs" | "logs") => true,
                // The rest of it is no history: `rm -f .git/index.lock` is everyday work.
                Some(_) => false,
                None => change.kind == PathChangeKind::Move && target.name() == ".git",
            };
            if !history && (change.kind != PathChangeKind::Remove || !change.recursive) {
                return None;
            }
            let what = if history {
                "the repository's whole history"
            } else if target.rooted
                && target.parts.len() == ctx.script.cwd_names.len() + 1
                && target.parts.starts_with(&ctx.script.cwd_names)
            {
                match target.name() {
                    ".git" => "the repository's whole history",
                    name if matches_all_names(name) => "everything in the working directory",
                    _ => return None,
                }
            // `find . -delete` names the directory itself and removes what is in it; other programs have to name that.
            } else if call.is_any_of(&["find"])
                && target.coverage_of(&ctx.script.cwd_names) == TargetCoverage::Yes
            {
                "everything in the working directory"
            } else if (target.is_place(&["tmp"]) && !target.raw.contains(UNKNOWN))
                || (target.parts.len() == 2 && target.is_inside(&["tmp"]) && matches_all_names(target.name()))
            {
                "everybody's temporary files"
            } else if behind_a_variable(&target.raw) || at_the_root(ctx, change) {
                "whatever stands below a variable that this script does not set"
            } else {
                return None;
            };
            ctx.ask(format!("would remove {what} (`{}`); name the files", target.display_text()))
                .map(|hit| hit.with_span(change.span))
        },
    )
}

fn matches_all_names(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|ch| ch == STAR)
}

/// `$X/` and `$X/*`: with an empty variable these are the root.
fn behind_a_variable(raw: &str) -> bool {
    raw.strip_prefix(UNKNOWN).is_some_and(|rest| {
        rest.strip_prefix('/').is_some_and(|rest| rest.is_empty() || matches_all_names(rest))
    })
}

/// `$X/NAME`, with a variable that the script does not set: if it is empty, that is a place at the root.
fn at_the_root(ctx: &RuleContext<'_>, change: &PathChange) -> bool {
    let Some(rest) = change.target.raw.strip_prefix(UNKNOWN).filter(|rest| rest.starts_with('/')) else {
        return false;
    };
    let word = ctx.call().and_then(|call| call.command.words.iter().find(|word| word.span == change.span));
    let name = match word.and_then(|word| word.pieces.first()) {
        Some(WordPiece::Variable(name)) => name.as_str(),
        // `${X:-}` and `${X-}`, which is what it is when it is not set.
        Some(WordPiece::Dynamic(text)) => {
            let Some(name) = text.strip_prefix("${").and_then(|text| text.strip_suffix('}')) else {
                return false;
            };
            let Some(name) = name.strip_suffix('-') else { return false };
            name.strip_suffix(':').unwrap_or(name)
        }
        _ => return false,
    };
    // Every session has one, where it is set at all.
    let own = name == "TMPDIR" || !name.starts_with(|ch: char| ch.is_alphabetic() || ch == '_');
    let place = ctx.script.target_in(rest, None);
    !own && !ctx.script.source.is_empty()
        && !ctx.script.may_set(name)
        && (place.parts.len() == 1 || place::system_loss(&place, ctx.script.home.as_deref()).is_some())
}

pub(super) fn check_traces(ctx: &RuleContext<'_>) -> Option<RuleHit> {
    let wiped = ctx.changes().any(|change| {
        let history = matches!(
            change.target.name(),
            ".bash_history" | ".zsh_history" | ".python_history" | ".psql_history"
        );
        let log = change.target.is_inside(&["var", "log"])
            && change.kind == PathChangeKind::Write
            && !change.redirected;
        change.kind != PathChangeKind::Mode
            && (history || log && ctx.call().is_some_and(|call| call.is_any_of(&["truncate", "shred"])))
    });
    let by_program = ctx.call().is_some_and(|call| {
        call.is_any_of(&["history"]) && CommandOptions::read(&call.args, "dwar", &[]).has_short('c')
            || call.is_any_of(&["unset"]) && call.has_any(&["HISTFILE"])
            || call
                .set_variables()
                .any(|(name, value)| name == "HISTFILE" && matches!(value.text(), "" | "/dev/null"))
    });
    (wiped || by_program)
        .then(|| ctx.deny("would delete the record of what was done; keep histories and logs"))?
}
