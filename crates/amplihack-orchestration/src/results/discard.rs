//! A run's work is thrown away, in such a way that a mistake can be undone.

use super::{ResultSource, RunResults, independent_commits, refusal_error};
use crate::changes::{RepositoryDifference, RepositoryState, describe_differences};
use crate::error::AutoError;
use crate::worktree::{RunWorktree, WorktreeRemoval};

/// Work that was thrown away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscardMade {
    /// Contents of the work, in words; none if nothing was lost.
    pub held: Option<String>,
    /// The command that brings it back.
    pub undo: Option<String>,
}

impl RunResults<'_> {
    /// Finds what would be lost with the worktree: what is in no other branch, and was not there at the beginning.
    pub async fn find_losses(
        &self,
        baseline: Option<&RepositoryState>,
    ) -> Result<Vec<RepositoryDifference>, AutoError> {
        let ResultSource::Worktree(tree) = &self.source else { return Ok(Vec::new()) };
        if !tree.path.is_dir() {
            return self.branch_losses(tree).await;
        }
        let captured = self.capture(tree).await?;
        let before = baseline.cloned().unwrap_or_else(|| captured.state.with_tree(&tree.start));
        let mut found = before.find_differences(&captured.state);
        // What is committed counts as a commit. Files are lost only if they are in none.
        let head_tree = match &captured.state.head {
            Some(head) => self.ask_git(&tree.path, &["rev-parse", &format!("{head}^{{tree}}")]).await?,
            None => None,
        };
        found.retain(|one| {
            !matches!(
                one,
                RepositoryDifference::Files | RepositoryDifference::Ref(_) | RepositoryDifference::Stash(_)
            )
        });
        if head_tree.as_deref() != Some(captured.tree.as_str()) {
            found.insert(0, RepositoryDifference::Files);
        }
        Ok(found)
    }

    /// Commits that only the branch of a worktree that is gone has.
    async fn branch_losses(&self, tree: &RunWorktree) -> Result<Vec<RepositoryDifference>, AutoError> {
        let own = format!("refs/heads/{}", tree.branch);
        if self.ask_git(&self.target, &["rev-parse", "--verify", "--quiet", &own]).await?.is_none() {
            return Ok(Vec::new());
        }
        let exclude = format!("--exclude={own}");
        let start = format!("^{}", tree.start);
        let args = ["rev-list", "--max-count=20", &own, &start, "--not", &exclude, "--glob=refs/*"];
        let commits = self.ask_git(&self.target, &args).await?.unwrap_or_default();
        let commits: Vec<String> = commits.lines().map(str::to_owned).collect();
        Ok(if commits.is_empty() { Vec::new() } else { vec![RepositoryDifference::Commits(commits)] })
    }

    /// Removes the worktree and its branch; without a worktree, takes the changes out of the user's files again.
    ///
    /// Without `force`, what would be lost is an error that names it.
    pub async fn discard_work(
        &self,
        baseline: Option<&RepositoryState>,
        force: bool,
    ) -> Result<DiscardMade, AutoError> {
        let losses = self.find_losses(baseline).await?;
        let held = (!losses.is_empty()).then(|| describe_differences(&losses));
        match &self.source {
            ResultSource::Worktree(tree) => {
                if let (Some(held), false) = (&held, force) {
                    let message = format!("the worktree {} is not discarded: {held}", tree.path.display());
                    return Err(refusal_error("unmerged", message, &self.force_hint()));
                }
                if force {
                    // A driver that was killed has left it locked.
                    tree.unlock(self.processes).await?;
                }
                let pinned = if held.is_some() { self.pin_work(tree).await? } else { None };
                let undo = pinned.as_ref().map(PinnedWork::undo_command);
                let said = match tree.remove(self.processes).await {
                    Ok(WorktreeRemoval::Removed) => return Ok(DiscardMade { held, undo }),
                    Ok(WorktreeRemoval::Kept(said)) => said,
                    Err(error) => error.to_string(),
                };
                let hint = match &pinned {
                    Some(pinned) if !self.remove_pin(tree, pinned).await? => {
                        format!("its work is kept: {}; see `git worktree list`", pinned.undo_command())
                    }
                    _ => "see `git worktree list`".to_owned(),
                };
                Err(refusal_error("worktree", format!("the worktree stays: {said}"), &hint))
            }
            ResultSource::Commit { commit, name } => self.discard_commit(commit, name, force).await,
            ResultSource::Patch(patch) => {
                if !force {
                    let message =
                        format!("the changes of {} in {} are not discarded", self.id, self.target.display());
                    return Err(refusal_error("unmerged", message, &self.force_hint()));
                }
                self.revert_changes(patch).await?;
                let undo = Some(format!("amplihack sessions apply {}", self.id));
                Ok(DiscardMade { held: Some("it held changes to your files".to_owned()), undo })
            }
        }
    }

    fn force_hint(&self) -> String {
        format!(
            "take it in: amplihack sessions merge {0}; or throw it away: amplihack sessions discard --force {0}",
            self.id
        )
    }

    /// Keeps the work under a ref of ours.
    async fn pin_work(&self, tree: &RunWorktree) -> Result<Option<PinnedWork>, AutoError> {
        let own = format!("refs/heads/{}", tree.branch);
        let mut commit = self.ask_git(&self.target, &["rev-parse", "--verify", "--quiet", &own]).await?;
        if tree.path.is_dir() {
            let snapshots =
                crate::snapshots::SnapshotStore::open(self.processes, &tree.path, &self.scratch).await?;
            // There need not be one, and git would compare it with the files.
            let _ = std::fs::remove_file(self.scratch.join("index"));
            if let Some(snapshots) = snapshots {
                let captured = self.capture_with(tree, snapshots.in_repository()).await?;
                let mut parents: Vec<String> = captured.state.head.iter().cloned().chain(commit).collect();
                parents.extend(captured.state.own_commits());
                parents.dedup();
                let parents = independent_commits(self.processes, &self.target, parents).await?;
                let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
                let words = super::commit_message(&self.task, &self.id);
                commit = Some(self.commit_tree(&tree.path, &captured.tree, &parents, &words).await?);
            }
        }
        let Some(commit) = commit else { return Ok(None) };
        self.keep_ref(&commit).await.map(Some)
    }

    /// Keeps `commit` under a ref of its own: what was discarded of the run before stays under the earlier ones.
    async fn keep_ref(&self, commit: &str) -> Result<PinnedWork, AutoError> {
        let first = format!("refs/amplihack/discarded/{}", self.id);
        let mut name = first.clone();
        for number in 2.. {
            match self.ask_git(&self.target, &["rev-parse", "--verify", "--quiet", &name]).await? {
                Some(there) if there == commit => return Ok(PinnedWork { name, commit: there }),
                Some(_) => name = format!("{first}-{number}"),
                None => break,
            }
        }
        // With nothing as what was there: a ref that another process makes meanwhile is not overwritten.
        let update = ["update-ref", "-m", "discarded", &name, commit, ""];
        self.processes.run_git("keep the work", &self.target, &[], update).await?;
        Ok(PinnedWork { name, commit: commit.to_owned() })
    }

    /// Removes the ref again, if the worktree that could not be removed holds the same files still.
    async fn remove_pin(&self, tree: &RunWorktree, pinned: &PinnedWork) -> Result<bool, AutoError> {
        let kept = self.ask_git(&self.target, &["rev-parse", &format!("{}^{{tree}}", pinned.commit)]).await?;
        let whole = self.capture(tree).await.is_ok_and(|now| kept.as_ref() == Some(&now.tree));
        if whole {
            let delete = ["update-ref", "-d", &pinned.name, &pinned.commit];
            self.processes.run_git("keep the work", &self.target, &[], delete).await?;
        }
        Ok(whole)
    }

    /// Removes what was fetched of a session elsewhere; on its machine everything stays.
    async fn discard_commit(&self, commit: &str, name: &str, force: bool) -> Result<DiscardMade, AutoError> {
        let head = self.target_head().await?;
        let merged =
            self.ask_git(&self.target, &["merge-base", "--is-ancestor", commit, &head]).await?.is_some();
        if !merged && !force {
            let message = format!("{name} is not discarded: it is not merged");
            return Err(refusal_error("unmerged", message, &self.force_hint()));
        }
        let undo = if merged { None } else { Some(self.keep_ref(commit).await?.undo_command()) };
        Ok(DiscardMade { held: (!merged).then(|| "it held commits that are not merged".to_owned()), undo })
    }
}

/// Work that is kept under a ref of ours.
struct PinnedWork {
    name: String,
    commit: String,
}

impl PinnedWork {
    /// The command that brings it back.
    fn undo_command(&self) -> String {
        format!("git merge {}", self.name)
    }
}
