//! Location of the work of a run, or of what was fetched of a remote session.

use std::path::{Path, PathBuf};

use amplihack_config::git::answer_path;

use super::{ResultSource, independent_commits, trimmed_text};
use crate::drive::diff_path;
use crate::error::AutoError;
use crate::journal::AutoRunState;
use crate::process::RunProcesses;
use crate::worktree::RunWorktree;

impl ResultSource {
    /// Locates the work of the run `story`, whose directory is `directory`, as the checkout `target` of its repository sees it;
    /// `None` if neither its worktree nor its branch is left.
    pub async fn from_run(
        processes: &RunProcesses,
        directory: &Path,
        story: &AutoRunState,
        target: &Path,
    ) -> Result<Option<Self>, AutoError> {
        let Some(tree) = &story.worktree else { return Ok(Some(Self::Patch(diff_path(directory)))) };
        if tree.path.is_dir() {
            return Ok(Some(Self::Worktree(tree.clone())));
        }
        if let Some(moved) = tree.find_moved(processes).await? {
            return Ok(Some(Self::Worktree(moved)));
        }
        let commit = branch_tip(processes, target, tree).await?;
        Ok(commit.map(|commit| Self::Commit { commit, name: tree.branch.clone() }))
    }
}

/// The commit of a worktree's branch, if that is there.
async fn branch_tip(
    processes: &RunProcesses,
    repository: &Path,
    tree: &RunWorktree,
) -> Result<Option<String>, AutoError> {
    let name = format!("refs/heads/{}", tree.branch);
    let args = ["for-each-ref", "--format=%(objectname)", &name];
    let said = match processes.run_git("look at the branch", repository, &[], args).await {
        // What is no repository any more has no branch.
        Err(AutoError::Git { .. })
            if find_checkout(processes, repository, repository, None).await.is_none() =>
        {
            return Ok(None);
        }
        said => said?,
    };
    Ok(Some(trimmed_text(&said)).filter(|commit| !commit.is_empty()))
}

/// The remote-tracking branches below `place` that no other of them contains: commits and names.
pub async fn branches_below(
    processes: &RunProcesses,
    repository: &Path,
    place: &str,
) -> Result<Vec<(String, String)>, AutoError> {
    let place = format!("refs/remotes/{place}");
    let args = ["for-each-ref", "--format=%(objectname) %(refname)", &place];
    let said = processes.run_git("list the branches", repository, &[], args).await?;
    let all: Vec<(String, String)> = String::from_utf8_lossy(&said)
        .lines()
        .filter_map(|line| line.split_once(" refs/remotes/"))
        .map(|(commit, name)| (commit.to_owned(), name.to_owned()))
        .collect();
    let commits = all.iter().map(|(commit, _)| commit.clone()).collect();
    let mut heads = independent_commits(processes, repository, commits).await?;
    // Two names of one commit are one work.
    heads.sort_unstable();
    heads.dedup();
    let mut found = Vec::new();
    for (commit, name) in all {
        if let Some(at) = heads.iter().position(|head| *head == commit) {
            heads.remove(at);
            found.push((commit, name));
        }
    }
    Ok(found)
}

/// The top of the working tree around `directory`, if that is one of the repository around `of`, and which is not `not`.
pub async fn find_checkout(
    processes: &RunProcesses,
    directory: &Path,
    of: &Path,
    not: Option<&Path>,
) -> Option<PathBuf> {
    let common = async |directory: &Path| {
        let args = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        Some(answer_path(&processes.run_git("find the repository", directory, &[], args).await.ok()?))
    };
    let top = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
    let top = answer_path(&processes.run_git("find the repository", directory, &[], top).await.ok()?);
    let other = not.is_none_or(|not| not.canonicalize().ok() != top.canonicalize().ok());
    (other && common(directory).await? == common(of).await?).then_some(top)
}
