//! The repository that is sent: where it is, and which commit and branch.

use amplihack_config::repository::repository_root;
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;

use crate::error::{ErrorContext, RemoteError};
use crate::git::{self, RemoteGit, RemoteGitAnswer};

/// The branch that a work tree is on over there if it is on none here.
pub(super) const DETACHED: &str = "detached";

pub(super) struct PackageRepository {
    pub git: RemoteGit,
    /// The top of the work tree; `None`: there is none.
    pub root: Option<PathBuf>,
    /// Full object id of HEAD's commit.
    pub head: String,
    /// The branch that HEAD is on, without `refs/heads/`.
    pub branch: Option<String>,
}

impl PackageRepository {
    pub(super) async fn open(env: &Env, directory: &Path) -> Result<Self, ErrorContext> {
        let (git, said) = open_git(env, directory).await?;
        let flags =
            String::from_utf8_lossy(&said.stdout).lines().map(|flag| flag == "true").collect::<Vec<_>>();
        let [bare, inside, shallow] = flags[..] else {
            return Err(said.failure_error("look at the repository"));
        };
        if shallow {
            let message =
                "the repository is shallow, and a bundle of a history without its beginning cannot be cloned";
            let hint = "run 'git fetch --unshallow' first";
            return Err(ErrorContext::new(message).with_fact("reason", "shallow").with_fact("hint", hint));
        }
        let head = git.run_unchecked(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], &[]).await?;
        if head.code != 0 {
            let message = "the repository has no commit on this branch yet";
            let hint = "commit something first, for example with 'git commit --allow-empty -m start'";
            return Err(ErrorContext::new(message).with_fact("reason", "no_commits").with_fact("hint", hint));
        }
        let head = String::from_utf8_lossy(&head.stdout).trim().to_owned();
        let branch = git.run_unchecked(["symbolic-ref", "--quiet", "HEAD"], &[]).await?;
        let branch = String::from_utf8(branch.stdout).ok();
        let branch =
            branch.and_then(|name| Some(name.trim_end_matches('\n').strip_prefix("refs/heads/")?.to_owned()));
        let root = if bare || inside { None } else { Some(work_tree_root(&git, env, directory).await?) };
        let git = match &root {
            Some(root) => git.in_directory(root),
            None => git,
        };
        Ok(Self { git, root, head, branch })
    }
}

/// The reason of an error about a repository that is not there.
const MISSING: &str = "no_repository";

/// Git in a directory, and what it answers to what kind of repository that is in.
async fn open_git(env: &Env, directory: &Path) -> Result<(RemoteGit, RemoteGitAnswer), ErrorContext> {
    let git = RemoteGit::open(env, directory).await?;
    let flags = ["--is-bare-repository", "--is-inside-git-dir", "--is-shallow-repository"];
    let said = git.run_unchecked(["rev-parse"].into_iter().chain(flags), &[]).await?;
    if said.stderr.contains("not a git repository") {
        let message = format!("{} is in no git repository", directory.display());
        let hint = "run it in a repository, or make one with 'git init' and commit";
        return Err(ErrorContext::new(message).with_fact("reason", MISSING).with_fact("hint", hint));
    }
    if said.code != 0 {
        return Err(said.failure_error("look at the repository"));
    }
    Ok((git, said))
}

/// Makes sure that `directory` is in a repository, and changes nothing.
///
/// # Errors
/// `Validation` where there is none, `Packaging` where git cannot tell.
pub(crate) async fn require_repository(env: &Env, directory: &Path) -> Result<(), RemoteError> {
    open_git(env, directory).await.map(drop).map_err(repository_error)
}

/// The error of what could not be packaged: a repository that is not there is the caller's mistake.
pub(super) fn repository_error(context: ErrorContext) -> RemoteError {
    let missing = context.context.get("reason").is_some_and(|reason| reason == MISSING);
    if missing && !amplihack_sys::sabotage::is_active("remote-repository") {
        RemoteError::Validation(context)
    } else {
        RemoteError::Packaging(context)
    }
}

/// The top of the work tree, which must be where the repository is: `core.worktree` could name the user's home.
async fn work_tree_root(git: &RemoteGit, env: &Env, directory: &Path) -> Result<PathBuf, ErrorContext> {
    let said = git.run_checked("find the top of the work tree", ["rev-parse", "--show-toplevel"]).await?;
    let root = git::answer_path(&said);
    let real = root.canonicalize().ok();
    if real.is_some() && real == repository_root(directory, env).and_then(|found| found.canonicalize().ok()) {
        return Ok(root);
    }
    let message = format!("the work tree of {} is configured to be {}", directory.display(), root.display());
    let hint = "run it in that directory, or look at core.worktree in the repository's configuration";
    Err(ErrorContext::new(message).with_fact("reason", "foreign_work_tree").with_fact("hint", hint))
}
