//! Commit of what is not committed in a run's worktree, on its branch.

use std::path::Path;

use super::{CapturedFiles, ResultSource, RunResults, refusal_error, trimmed_text};
use crate::error::AutoError;
use crate::snapshots::{DiffStat, SnapshotStore};
use crate::worktree::RunWorktree;

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMade {
    /// The commit.
    pub commit: String,
    /// Branch of the commit; none if `HEAD` stays detached.
    pub branch: Option<String>,
    /// Size of the change.
    pub stat: DiffStat,
}

/// A commit's message out of a task: its first line is the subject, the rest the body.
pub fn commit_message(task: &str, id: &str) -> String {
    let task = task.replace('\0', "");
    let (subject, body) = task.trim().split_once('\n').unwrap_or((task.trim(), ""));
    match (subject.trim(), body.trim()) {
        ("", _) => format!("Work of the run {id}\n"),
        (subject, "") => format!("{subject}\n"),
        (subject, body) => format!("{subject}\n\n{body}\n"),
    }
}

impl RunResults<'_> {
    /// Commits what is not committed in the worktree; `None` if there is nothing of the kind.
    pub async fn commit_worktree(&self, message: &str) -> Result<Option<CommitMade>, AutoError> {
        let tree = self.require_worktree("commit")?;
        let captured = self.capture(tree).await?;
        let before = self.refuse_half_done(tree, &captured)?;
        let head_tree = self.ask_git(&tree.path, &["rev-parse", &format!("{before}^{{tree}}")]).await?;
        if head_tree.as_deref() == Some(captured.tree.as_str()) {
            return Ok(None);
        }
        let files = self.changed_files(&captured.snapshots.git_env(), &before, &captured.tree).await?;
        self.refuse_filters(&tree.path, &files).await?;
        // Once more, with the objects in the repository.
        drop(captured);
        let index = self.scratch.join("index");
        std::fs::remove_file(&index).map_err(AutoError::for_path(&index))?;
        let snapshots = SnapshotStore::open(self.processes, &tree.path, &self.scratch).await?;
        let Some(snapshots) = snapshots.map(SnapshotStore::in_repository) else {
            return Err(refusal_error("no_worktree", "the worktree is gone", "nothing was changed"));
        };
        let captured = self.capture_with(tree, snapshots).await?;
        let commit = self.commit_tree(&tree.path, &captured.tree, &[&before], message).await?;
        let branch = self.advance_branch(tree, &captured, &before, &commit).await?;
        // The worktree's own index, with flags that hid files, gives way to the commit.
        self.processes.run_git("commit", &tree.path, &[], ["read-tree", &commit]).await?;
        self.processes.run_git_unchecked(&tree.path, &[], ["update-index", "-q", "--refresh"]).await?;
        let stat = self.diff_stat(&before, &commit).await?;
        Ok(Some(CommitMade { commit, branch, stat }))
    }

    /// The run's worktree; a run without one has nothing to commit or merge.
    pub(super) fn require_worktree(&self, verb: &str) -> Result<&RunWorktree, AutoError> {
        match &self.source {
            ResultSource::Worktree(tree) => Ok(tree),
            ResultSource::Commit { name, .. } => Err(refusal_error(
                "committed",
                format!("the work of {} is committed already, as {name}", self.id),
                &format!("take it in: amplihack sessions merge {}", self.id),
            )),
            ResultSource::Patch(_) => Err(refusal_error(
                "no_worktree",
                format!(
                    "{} worked in {} itself, so there is no branch to {verb}",
                    self.id,
                    self.target.display()
                ),
                &format!("its changes are there already; see them: amplihack sessions diff {}", self.id),
            )),
        }
    }

    /// The commit that is checked out in the worktree. Refuses while an operation waits for its end there.
    pub(super) fn refuse_half_done(
        &self,
        tree: &RunWorktree,
        captured: &CapturedFiles,
    ) -> Result<String, AutoError> {
        if let Some(what) = captured.state.half_done() {
            let hint = format!("finish or abort it in {}; `git status` there shows how", tree.path.display());
            return Err(refusal_error(
                "half_done",
                format!("the worktree of {} holds {what}", self.id),
                &hint,
            ));
        }
        captured.state.head.clone().ok_or_else(|| AutoError::NoCommit { repository: tree.path.clone() })
    }

    /// A commit of the files `tree`. It runs no hook, and is not signed.
    pub(super) async fn commit_tree(
        &self,
        directory: &Path,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Result<String, AutoError> {
        let parents = parents.iter().flat_map(|parent| ["-p", *parent]);
        let args = ["commit-tree"].into_iter().chain(parents).chain(["-F", "-", tree]);
        let made = self
            .processes
            .run_git_with_input("commit", directory, &[], args, message.as_bytes().to_vec())
            .await;
        match made {
            Err(AutoError::Git { said, .. })
                if said.contains("tell me who you are") || said.contains("empty ident") =>
            {
                Err(refusal_error(
                    "identity",
                    "git does not know who commits",
                    "set user.name and user.email with git config --global",
                ))
            }
            made => made.map(|said| trimmed_text(&said)),
        }
    }

    /// Moves the branch of the worktree to `commit`. A detached `HEAD` that went on from the run's branch takes it along.
    async fn advance_branch(
        &self,
        tree: &RunWorktree,
        captured: &CapturedFiles,
        before: &str,
        commit: &str,
    ) -> Result<Option<String>, AutoError> {
        let git = async |args: &[&str]| {
            self.processes.run_git("move the branch", &tree.path, &[], args.iter().copied()).await.map(drop)
        };
        let reason = format!("commit of the run {}", self.id);
        if let Some(branch) = &captured.state.branch {
            git(&["update-ref", "-m", &reason, branch, commit, before]).await?;
            return Ok(branch.strip_prefix("refs/heads/").map(str::to_owned));
        }
        let own = format!("refs/heads/{}", tree.branch);
        let follows = ["merge-base", "--is-ancestor", &own, before];
        if self.ask_git(&tree.path, &follows).await?.is_some() {
            git(&["update-ref", "-m", &reason, &own, commit]).await?;
            git(&["symbolic-ref", "HEAD", &own]).await?;
            return Ok(Some(tree.branch.clone()));
        }
        git(&["update-ref", "--no-deref", "-m", &reason, "HEAD", commit, before]).await?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::commit_message;

    #[test]
    fn the_first_line_of_a_task_is_the_subject() {
        assert_eq!(commit_message("Fix it\n\n  why\nand how\n", "x"), "Fix it\n\nwhy\nand how\n");
        assert_eq!(commit_message(" Fix it ", "x"), "Fix it\n");
        assert_eq!(commit_message("\n\0\n", "x"), "Work of the run x\n");
    }
}
