//! Results of sessions: a bundle is verified, fetched under names of its session alone, and compared with what is here.
//! Work tree, index, HEAD and every other ref stay as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use amplihack_config::env::Env;

use crate::error::{ErrorContext, RemoteError};
use crate::git::{self, RemoteGit, is_object_id};
use crate::options::IntegrationSummary;
use crate::session::is_session_id;

/// Prefix of the references of all results.
const PLACE: &str = "refs/remotes/remote-exec";

/// A bundle that came home.
#[derive(Debug, Clone)]
pub struct ResultsOptions<'a> {
    /// A directory of the repository.
    pub repo: &'a Path,
    /// The environment that git runs in.
    pub env: &'a Env,
    /// The bundle.
    pub bundle: &'a Path,
    /// The id of the session that the results come from.
    pub session_id: &'a str,
    /// The commit that the session started from.
    pub base: &'a str,
    /// The branch of the bundle with work that was not committed over there.
    pub wip: Option<&'a str>,
}

/// The results of a session that were fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionResults {
    /// The sums.
    pub summary: IntegrationSummary,
    /// The one of the branches with work that was not committed over there.
    pub wip: Option<String>,
    /// Facts that could not be found out, as fragments for the user.
    pub notes: Vec<String>,
    /// Commands that bring each branch into the one that is checked out here.
    pub advice: Vec<String>,
}

/// Verifies and fetches results.
///
/// # Errors
/// `Integration` where the session's id or base cannot be used, the repository does not have the base, the bundle is damaged or unsound, or
/// git fails. Nothing was fetched then, unless git failed at the comparison, which comes after the fetch.
pub async fn integrate_results(options: ResultsOptions<'_>) -> Result<SessionResults, RemoteError> {
    fetch_and_compare(options).await.map_err(RemoteError::Integration)
}

/// Removes what was fetched of a session. What is merged stays.
///
/// # Errors
/// `Cleanup` where `session_id` is no session's id, there is no repository, or git cannot remove the references.
pub async fn remove_results(env: &Env, repo: &Path, session_id: &str) -> Result<usize, RemoteError> {
    let forget = async {
        let git = RemoteGit::open(env, repo).await?;
        let branches = list_branches(&git, &session_namespace(session_id)?).await?;
        let place = session_namespace(session_id)?;
        let mut orders = Vec::new();
        for (name, id) in &branches {
            orders.extend_from_slice(format!("delete {place}{name}\0{id}\0").as_bytes());
        }
        git.run_with_stdin("remove the results", ["update-ref", "-z", "--stdin"], orders, 1024).await?;
        Ok(branches.len())
    };
    forget.await.map_err(RemoteError::Cleanup)
}

async fn fetch_and_compare(options: ResultsOptions<'_>) -> Result<SessionResults, ErrorContext> {
    let place = session_namespace(options.session_id)?;
    if !is_object_id(options.base) {
        return Err(ErrorContext::new("the session's base is no commit's id").with_fact("reason", "base"));
    }
    let bundle = options.bundle.canonicalize().map_err(|error| {
        ErrorContext::new(format!("{} could not be read: {error}", options.bundle.display()))
    })?;
    let git = RemoteGit::open(options.env, options.repo).await?;
    let base = format!("{}^{{commit}}", options.base);
    if git.run_unchecked(["cat-file", "-e", &base], &[]).await?.code != 0 {
        let message =
            format!("the commit {} that the session started from is not in this repository", options.base);
        let hint = "run it in the repository that the session was started from";
        return Err(ErrorContext::new(message).with_fact("reason", "base").with_fact("hint", hint));
    }
    let offered = verify_bundle(&git, &bundle).await?;
    check_objects(&git, &bundle).await?;
    fetch_branches(&git, &bundle, &place).await?;
    let branches = list_branches(&git, &place).await?;
    let mut results = compare_results(&git, &options, &branches).await?;
    let refused = offered.iter().filter(|(name, _)| !branches.contains_key(*name)).count();
    if refused > 0 {
        results
            .notes
            .push(format!("{refused} branches have names that git does not take, and were left behind"));
    }
    Ok(results)
}

/// The prefix of a session's refs.
fn session_namespace(session_id: &str) -> Result<String, ErrorContext> {
    if is_session_id(session_id) {
        Ok(format!("{PLACE}/{session_id}/"))
    } else {
        Err(ErrorContext::new(format!("'{}' is no session's id", session_id.escape_debug())))
    }
}

/// Branches that a bundle offers, with their commits, after a look at whether it can be fetched.
async fn verify_bundle(git: &RemoteGit, bundle: &Path) -> Result<BTreeMap<String, String>, ErrorContext> {
    let arguments = |verb: &'static str| ["bundle".as_ref(), verb.as_ref(), bundle.as_os_str()];
    let damaged = |error: ErrorContext| {
        error
            .with_fact("reason", "verify")
            .with_fact("hint", "fetch the results again; nothing was changed here")
    };
    git.run_checked("verify the results", arguments("verify")).await.map_err(damaged)?;
    let heads = git.run_checked("read the results", arguments("list-heads")).await.map_err(damaged)?;
    // A setting of the repository can send a fetch elsewhere.
    let words = ["ls-remote".as_ref(), "--quiet".as_ref(), "--".as_ref(), bundle.as_os_str()];
    let seen = git.run_checked("look at the results", words).await.map_err(damaged)?;
    let (heads, seen) = (String::from_utf8_lossy(&heads), String::from_utf8_lossy(&seen));
    let pairs = |text: &str, sign: char| -> BTreeSet<(String, String)> {
        text.lines()
            .filter_map(|line| line.split_once(sign))
            .map(|(id, name)| (id.into(), name.into()))
            .collect()
    };
    let (heads, seen) = (pairs(&heads, ' '), pairs(&seen, '\t'));
    if heads != seen {
        let hint = "look for url.….insteadOf in the repository's configuration";
        let message = "git reads something else than the bundle";
        return Err(ErrorContext::new(message).with_fact("reason", "mismatch").with_fact("hint", hint));
    }
    let branch = |(id, name): (String, String)| Some((name.strip_prefix("refs/heads/")?.to_owned(), id));
    Ok(heads.into_iter().filter_map(branch).collect())
}

/// Looks at each object of a bundle: a file named `.git/…` is in none that git itself made. Git before 2.46 does not look when it fetches
/// from a bundle. What it finds is written beside the bundle.
async fn check_objects(git: &RemoteGit, bundle: &Path) -> Result<(), ErrorContext> {
    let unread =
        |error: std::io::Error| ErrorContext::new(format!("{} could not be read: {error}", bundle.display()));
    let mut pack = BufReader::new(File::open(bundle).map_err(unread)?);
    let mut line = Vec::new();
    // The header ends with an empty line.
    while pack.read_until(b'\n', &mut line).map_err(unread)? > 0 && line != b"\n" {
        line.clear();
    }
    let at = pack.stream_position().map_err(unread)?;
    let mut pack = pack.into_inner();
    pack.seek(SeekFrom::Start(at)).map_err(unread)?;
    let private = tempfile::tempdir_in(bundle.parent().unwrap_or(bundle)).map_err(unread)?;
    let objects =
        git.run_checked("find its objects", ["rev-parse", "--path-format=absolute", "--git-path", "objects"]);
    let objects = git::answer_path(&objects.await?);
    // Not by the environment, where a colon in a path would end it.
    let mut list = objects.into_os_string();
    list.push("\n");
    let info = private.path().join("info");
    std::fs::create_dir(&info)
        .and_then(|()| std::fs::write(info.join("alternates"), list.as_encoded_bytes()))
        .map_err(unread)?;
    let more = [("GIT_OBJECT_DIRECTORY", private.path().as_os_str())];
    let words = ["index-pack", "--stdin", "--fix-thin", "--strict"];
    git.run_with_file("look at the results", words, pack, &more).await.map(drop).map_err(|error| {
        let hint = "do not take them: they were created by hand; nothing was changed here";
        error.with_fact("reason", "unsound").with_fact("hint", hint)
    })
}

async fn fetch_branches(git: &RemoteGit, bundle: &Path, place: &str) -> Result<(), ErrorContext> {
    let place = if amplihack_sys::sabotage::is_active("remote-git-state") { "refs/lost/" } else { place };
    let refspec = format!("+refs/heads/*:{place}*");
    let settings =
        ["-c", "fetch.fsckObjects=true", "-c", "fetch.unpackLimit=1", "-c", "fetch.writeCommitGraph=false"];
    let fetch =
        ["fetch", "--quiet", "--atomic", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];
    let switches = ["--no-auto-maintenance", "--no-prune", "--"];
    let words = settings.into_iter().chain(fetch).chain(switches).map(AsRef::as_ref);
    let said = git.run_unchecked(words.chain([bundle.as_os_str(), refspec.as_ref()]), &[]).await?;
    if said.code == 0 {
        return Ok(());
    }
    let hint = if said.stderr.contains("cannot lock ref") {
        format!(
            "a branch of an earlier pull is in the way: 'git for-each-ref {place}' shows them, 'git update-ref -d REF' removes one"
        )
    } else {
        "fetch the results again; nothing was changed here".to_owned()
    };
    Err(said.failure_error("fetch the results").with_fact("reason", "fetch").with_fact("hint", hint))
}

/// A session's branches, with their commits.
async fn list_branches(git: &RemoteGit, place: &str) -> Result<BTreeMap<String, String>, ErrorContext> {
    let arguments = ["for-each-ref", "--format=%(objectname) %(refname)", place];
    let said = git.run_checked("list the results", arguments).await?;
    let lines = String::from_utf8_lossy(&said).into_owned();
    let branch = |line: &str| {
        let (id, name) = line.split_once(' ')?;
        Some((name.strip_prefix(place)?.to_owned(), id.to_owned()))
    };
    Ok(lines.lines().filter_map(branch).collect())
}

async fn compare_results(
    git: &RemoteGit,
    options: &ResultsOptions<'_>,
    branches: &BTreeMap<String, String>,
) -> Result<SessionResults, ErrorContext> {
    let mut results = SessionResults::default();
    if !branches.is_empty() {
        let without = format!("^{}", options.base);
        let revisions = git::join_lines(branches.values().chain([&without]));
        let count =
            git.run_with_stdin("count commits", ["rev-list", "--count", "--stdin"], revisions, 1024).await?;
        results.summary.commits = String::from_utf8_lossy(&count).trim().parse().unwrap_or_default();
    }
    let mut files: BTreeSet<Vec<u8>> = BTreeSet::new();
    let commits: BTreeSet<&String> = branches.values().collect();
    for commit in &commits {
        let arguments =
            ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", options.base, commit];
        let changed =
            git.run_with_stdin("compare the results", arguments, Vec::new(), 256 * 1024 * 1024).await?;
        files.extend(changed.split(|&byte| byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec));
    }
    results.summary.files_changed = files.len();
    let mut conflicts = BTreeSet::new();
    for commit in &commits {
        match conflicts_of(git, commit).await? {
            Ok(found) => conflicts.extend(found),
            Err(note) if !results.notes.contains(&note) => results.notes.push(note),
            Err(_) => {}
        }
    }
    results.summary.conflicts = conflicts.into_iter().collect();
    results.wip = options.wip.filter(|wip| branches.contains_key(*wip)).map(str::to_owned);
    results.advice = branches.keys().map(|branch| merge_command(options.session_id, branch)).collect();
    results.summary.branches = branches.keys().cloned().collect();
    Ok(results)
}

/// Files that would conflict if `commit` were merged into HEAD now; or why that cannot be told.
async fn conflicts_of(git: &RemoteGit, commit: &str) -> Result<Result<Vec<String>, String>, ErrorContext> {
    let arguments = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "HEAD", commit];
    let said = git.run_unchecked(arguments, &[]).await?;
    if said.code == 129 || said.stderr.contains("usage:") {
        return Ok(Err("conflicts were not looked for: that needs git 2.38".to_owned()));
    }
    if !matches!(said.code, 0 | 1) {
        return Ok(Err(format!("conflicts could not be looked for: {}", said.stderr)));
    }
    let names = said.stdout.split(|&byte| byte == 0).skip(1).filter(|name| !name.is_empty());
    Ok(Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()))
}

/// The command that brings a branch of a session into the one that is checked out here. It is safe to paste.
pub fn merge_command(session_id: &str, branch: &str) -> String {
    let place = PLACE.strip_prefix("refs/remotes/").unwrap_or(PLACE);
    format!("git merge {}", quote_word(&format!("{place}/{session_id}/{branch}")))
}

/// A word for a shell: names of branches come from the far side, and people paste what they are told to run.
fn quote_word(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.');
    if word.bytes().all(plain) {
        return word.to_owned();
    }
    let shown: String = word.chars().map(|sign| if sign.is_control() { '\u{fffd}' } else { sign }).collect();
    format!("'{}'", shown.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_safe_to_paste() {
        assert_eq!(quote_word("remote-exec/s/feat/a-1_b.c"), "remote-exec/s/feat/a-1_b.c");
        assert_eq!(quote_word("r/$(touch${IFS}x)"), "'r/$(touch${IFS}x)'");
        assert_eq!(quote_word("r/a'b"), r"'r/a'\''b'");
        assert_eq!(quote_word("r/\u{9b}31m"), "'r/\u{fffd}31m'");
    }

    #[test]
    fn only_a_session_has_a_place() {
        assert_eq!(
            session_namespace("sess-20260502-030405-00ff").unwrap(),
            "refs/remotes/remote-exec/sess-20260502-030405-00ff/"
        );
        for wrong in ["", "..", "sess-20260502-030405-00f/", "*"] {
            session_namespace(wrong).unwrap_err();
        }
    }
}
