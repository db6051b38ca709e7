//! A run's work is thrown away, in such a way that a mistake can be undone.

use super::{ResultSource, Results, independent, refused};
use crate::changes::{Difference, RepositoryState, reason};
use crate::error::AutoError;
use crate::worktree::{Tree, WorktreeRemoval};

/// Work that was thrown away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscardMade {
    /// What it held, in words; none if nothing was lost.
    pub held: Option<String>,
    /// The command that brings it back.
    pub undo: Option<String>,
}

impl Results<'_> {
    /// What would be lost with the worktree: what is in no other branch, and was not there at the beginning.
    pub async fn losses(&self, baseline: Option<&RepositoryState>) -> Result<Vec<Difference>, AutoError> {
        let ResultSource::Worktree(tree) = &self.source else { return Ok(Vec::new()) };
        if !tree.path.is_dir() {
            return self.branch_losses(tree).await;
        }
        let captured = self.capture(tree).await?;
        let before = baseline.cloned().unwrap_or_else(|| captured.state.with_tree(&tree.start));
        let mut found = before.differences(&captured.state);
        // What is committed counts as a commit. Files are lost only if they are in none.
        let head_tree = match &captured.state.head {
            Some(head) => self.ask(&tree.path, &["rev-parse", &format!("{head}^{{tree}}")]).await?,
            None => None,
        };
        found.retain(|one| !matches!(one, Difference::Files | Difference::Ref(_) | Difference::Stash(_)));
        if head_tree.as_deref() != Some(captured.tree.as_str()) {
            found.insert(0, Difference::Files);
        }
        Ok(found)
    }

    /// Commits that only the branch of a worktree that is gone has.
    async fn branch_losses(&self, tree: &Tree) -> Result<Vec<Difference>, AutoError> {
        let own = format!("refs/heads/{}", tree.branch);
        if self.ask(&self.target, &["rev-parse", "--verify", "--quiet", &own]).await?.is_none() {
            return Ok(Vec::new());
        }
        let exclude = format!("--exclude={own}");
        let start = format!("^{}", tree.start);
        let args = ["rev-list", "--max-count=20", &own, &start, "--not", &exclude, "--glob=refs/*"];
        let commits = self.ask(&self.target, &args).await?.unwrap_or_default();
        let commits: Vec<String> = commits.lines().map(str::to_owned).collect();
        Ok(if commits.is_empty() { Vec::new() } else { vec![Difference::Commits(commits)] })
    }

    /// Removes the worktree and its branch; without a worktree, takes the changes out of the user's files again.
    ///
    /// Without `force`, what would be lost is an error that names it.
    pub async fn discard(
        &self,
        baseline: Option<&RepositoryState>,
        force: bool,
    ) -> Result<DiscardMade, AutoError> {
        let losses = self.losses(baseline).await?;
        let held = (!losses.is_empty()).then(|| reason(&losses));
        match &self.source {
            ResultSource::Worktree(tree) => {
                if let (Some(held), false) = (&held, force) {
                    let message = format!("the worktree {} is not discarded: {held}", tree.path.display());
                    return Err(refused("unmerged", message, &self.force_hint()));
                }
                if force {
                    // A driver that was killed has left it locked.
                    tree.unlock(self.processes).await?;
                }
                let pinned = if held.is_some() { self.pin(tree).await? } else { None };
                let undo = pinned.as_ref().map(Pinned::undo);
                let said = match tree.remove(self.processes).await {
                    Ok(WorktreeRemoval::Removed) => return Ok(DiscardMade { held, undo }),
                    Ok(WorktreeRemoval::Kept(said)) => said,
                    Err(error) => error.to_string(),
                };
                let hint = match &pinned {
                    Some(pinned) if !self.unpinned(tree, pinned).await? => {
                        format!("its work is kept: {}; see `git worktree list`", pinned.undo())
                    }
                    _ => "see `git worktree list`".to_owned(),
                };
                Err(refused("worktree", format!("the worktree stays: {said}"), &hint))
            }
            ResultSource::Commit { commit, name } => self.discard_commit(commit, name, force).await,
            ResultSource::Patch(patch) => {
                if !force {
                    let message =
                        format!("the changes of {} in {} are not discarded", self.id, self.target.display());
                    return Err(refused("unmerged", message, &self.force_hint()));
                }
                self.unapply(patch).await?;
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
    async fn pin(&self, tree: &Tree) -> Result<Option<Pinned>, AutoError> {
        let own = format!("refs/heads/{}", tree.branch);
        let mut commit = self.ask(&self.target, &["rev-parse", "--verify", "--quiet", &own]).await?;
        if tree.path.is_dir() {
            let snapshots =
                crate::snapshots::Snapshots::open(self.processes, &tree.path, &self.scratch).await?;
            let _ = std::fs::remove_file(self.scratch.join("index"));
            if let Some(snapshots) = snapshots {
                let captured = self.captured(tree, snapshots.in_repository()).await?;
                let mut parents: Vec<String> = captured.state.head.iter().cloned().chain(commit).collect();
                parents.extend(captured.state.own_commits());
                parents.dedup();
                let parents = independent(self.processes, &self.target, parents).await?;
                let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
                let words = super::message(&self.task, &self.id);
                commit = Some(self.commit_tree(&tree.path, &captured.tree, &parents, &words).await?);
            }
        }
        let Some(commit) = commit else { return Ok(None) };
        self.keep_ref(&commit).await.map(Some)
    }

    /// Keeps `commit` under a ref of its own: what was discarded of the run before stays under the earlier ones.
    async fn keep_ref(&self, commit: &str) -> Result<Pinned, AutoError> {
        let first = format!("refs/amplihack/discarded/{}", self.id);
        let mut name = first.clone();
        for number in 2.. {
            match self.ask(&self.target, &["rev-parse", "--verify", "--quiet", &name]).await? {
                Some(there) if there == commit => return Ok(Pinned { name, commit: there }),
                Some(_) => name = format!("{first}-{number}"),
                None => break,
            }
        }
        // With nothing as what was there: a ref that another process makes meanwhile is not overwritten.
        let update = ["update-ref", "-m", "discarded", &name, commit, ""];
        self.processes.git("keep the work", &self.target, &[], update).await?;
        Ok(Pinned { name, commit: commit.to_owned() })
    }

    /// Removes the ref again, if the worktree that could not be removed holds the same files still.
    async fn unpinned(&self, tree: &Tree, pinned: &Pinned) -> Result<bool, AutoError> {
        let kept = self.ask(&self.target, &["rev-parse", &format!("{}^{{tree}}", pinned.commit)]).await?;
        let whole = self.capture(tree).await.is_ok_and(|now| kept.as_ref() == Some(&now.tree));
        if whole {
            let delete = ["update-ref", "-d", &pinned.name, &pinned.commit];
            self.processes.git("keep the work", &self.target, &[], delete).await?;
        }
        Ok(whole)
    }

    /// Removes what was fetched of a session elsewhere; on its machine everything stays.
    async fn discard_commit(&self, commit: &str, name: &str, force: bool) -> Result<DiscardMade, AutoError> {
        let head = self.target_head().await?;
        let merged = self.ask(&self.target, &["merge-base", "--is-ancestor", commit, &head]).await?.is_some();
        if !merged && !force {
            let message = format!("{name} is not discarded: it is not merged");
            return Err(refused("unmerged", message, &self.force_hint()));
        }
        let undo = if merged { None } else { Some(self.keep_ref(commit).await?.undo()) };
        Ok(DiscardMade { held: (!merged).then(|| "it held commits that are not merged".to_owned()), undo })
    }
}

/// Work that is kept under a ref of ours.
struct Pinned {
    name: String,
    commit: String,
}

impl Pinned {
    /// The command that brings it back.
    fn undo(&self) -> String {
        format!("git merge {}", self.name)
    }
}
