//! Where the work of a run, or what was fetched of a remote session, lies.

use std::path::{Path, PathBuf};

use amplihack_utils::git::path;

use super::{ResultSource, independent, text};
use crate::drive::diff_path;
use crate::error::AutoError;
use crate::journal::Story;
use crate::process::Processes;
use crate::worktree::Tree;

impl ResultSource {
    /// Where the work of the run `story` lies now, whose directory is `directory`, as the checkout `target` of its repository sees it;
    /// `None` if neither its worktree nor its branch is left.
    pub async fn of_run(
        processes: &Processes,
        directory: &Path,
        story: &Story,
        target: &Path,
    ) -> Result<Option<Self>, AutoError> {
        let Some(tree) = &story.worktree else { return Ok(Some(Self::Patch(diff_path(directory)))) };
        if tree.path.is_dir() {
            return Ok(Some(Self::Worktree(tree.clone())));
        }
        if let Some(moved) = tree.moved(processes).await? {
            return Ok(Some(Self::Worktree(moved)));
        }
        let commit = tip(processes, target, tree).await?;
        Ok(commit.map(|commit| Self::Commit { commit, name: tree.branch.clone() }))
    }
}

/// The commit of a worktree's branch, if that is there.
async fn tip(processes: &Processes, repository: &Path, tree: &Tree) -> Result<Option<String>, AutoError> {
    let name = format!("refs/heads/{}", tree.branch);
    let args = ["for-each-ref", "--format=%(objectname)", &name];
    let said = match processes.git("look at the branch", repository, &[], args).await {
        // What is no repository any more has no branch.
        Err(AutoError::Git { .. }) if checkout(processes, repository, repository, None).await.is_none() => {
            return Ok(None);
        }
        said => said?,
    };
    Ok(Some(text(&said)).filter(|commit| !commit.is_empty()))
}

/// The remote-tracking branches below `place` that no other of them contains: commits and names.
pub async fn branches_below(
    processes: &Processes,
    repository: &Path,
    place: &str,
) -> Result<Vec<(String, String)>, AutoError> {
    let place = format!("refs/remotes/{place}");
    let args = ["for-each-ref", "--format=%(objectname) %(refname)", &place];
    let said = processes.git("list the branches", repository, &[], args).await?;
    let all: Vec<(String, String)> = String::from_utf8_lossy(&said)
        .lines()
        .filter_map(|line| line.split_once(" refs/remotes/"))
        .map(|(commit, name)| (commit.to_owned(), name.to_owned()))
        .collect();
    let commits = all.iter().map(|(commit, _)| commit.clone()).collect();
    let mut heads = independent(processes, repository, commits).await?;
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
pub async fn checkout(
    processes: &Processes,
    directory: &Path,
    of: &Path,
    not: Option<&Path>,
) -> Option<PathBuf> {
    let common = async |directory: &Path| {
        let args = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        Some(path(&processes.git("look for the repository", directory, &[], args).await.ok()?))
    };
    let top = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
    let top = path(&processes.git("look for the repository", directory, &[], top).await.ok()?);
    let other = not.is_none_or(|not| not.canonicalize().ok() != top.canonicalize().ok());
    (other && common(directory).await? == common(of).await?).then_some(top)
}
