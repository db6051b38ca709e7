//! The branch of a run is merged into the checked-out branch of the user's repository.

use std::path::PathBuf;

use super::{Results, Source, names, refused, text};
use crate::error::AutoError;
use crate::snapshots::DiffStat;

/// A merge that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The commit of the run.
    pub commit: String,
    /// The commit that was made for what was not committed.
    pub committed: bool,
    /// The branch that has it now.
    pub into: String,
    /// The checkout of that branch.
    pub checkout: PathBuf,
    /// The size of what came in; none if all was there already.
    pub stat: Option<DiffStat>,
    /// Work of the run that is not in what was merged.
    pub left: Option<String>,
}

/// What merging two commits gives.
pub(super) enum Trial {
    /// A tree without conflicts.
    Clean(String),
    /// Files with conflicts.
    Conflicts(Vec<PathBuf>),
    /// This git cannot tell.
    Unknown,
}

impl Results<'_> {
    /// Merges the work into the branch that is checked out in the target, after a commit of what is not committed.
    pub async fn merge(&self, message: &str) -> Result<Merged, AutoError> {
        let into = self.target_branch().await?;
        let (commit, committed, name, left) = match &self.source {
            Source::Commit { commit, name } => (commit.clone(), false, name.clone(), None),
            _ => self.ready(message).await?,
        };
        let head = self.target_head().await?;
        let mut merged = Merged { commit, committed, into, checkout: self.target.clone(), stat: None, left };
        if self.ask(&self.target, &["merge-base", "--is-ancestor", &merged.commit, &head]).await?.is_some() {
            return Ok(merged);
        }
        let files = match self.try_merge(&[], &head, &merged.commit).await? {
            Trial::Clean(tree) => self.files(&[], &head, &tree).await?,
            Trial::Conflicts(files) => return Err(self.conflict(&files)),
            Trial::Unknown => self.files(&[], &head, &merged.commit).await?,
        };
        self.refuse_uncommitted(&files).await?;
        self.refuse_filters(&self.target, &files).await?;
        let words = format!("Merge {name}\n\n{message}");
        let merge = [
            "merge",
            "--quiet",
            "--ff",
            "--no-edit",
            "--no-gpg-sign",
            "--no-stat",
            "-m",
            &words,
            &merged.commit,
        ];
        if let Err(AutoError::Git { said, .. }) = self.processes.git("merge", &self.target, &[], merge).await
        {
            // A git that could not try it before leaves the conflict behind.
            self.ask(&self.target, &["merge", "--abort"]).await?;
            return Err(refused("merge", format!("git does not merge it: {said}"), "nothing was changed"));
        }
        merged.stat = Some(self.stat(&head, "HEAD").await?);
        Ok(merged)
    }

    /// The branch that is checked out in the target, where nothing waits for its end.
    async fn target_branch(&self) -> Result<String, AutoError> {
        let place = self.target.display();
        let Some(branch) = self.ask(&self.target, &["symbolic-ref", "--quiet", "--short", "HEAD"]).await?
        else {
            return Err(refused(
                "detached",
                format!("no branch is checked out in {place}"),
                "check one out: git switch BRANCH",
            ));
        };
        for name in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD"] {
            if self.ask(&self.target, &["rev-parse", "--verify", "--quiet", name]).await?.is_some() {
                let message = format!("a merge, rebase or pick waits for its end in {place}");
                return Err(refused(
                    "half_done",
                    message,
                    "finish or abort it first; `git status` shows how",
                ));
            }
        }
        Ok(branch)
    }

    /// The commit of the worktree that is to be merged, whether it was made now, its name, and what is not in it.
    async fn ready(&self, message: &str) -> Result<(String, bool, String, Option<String>), AutoError> {
        let tree = self.worktree("merge")?;
        // What would conflict is refused before anything is committed.
        let captured = self.capture(tree).await?;
        let before = self.refuse_half_done(tree, &captured)?;
        let env = captured.snapshots.env();
        let trial = self.commit_in(&env, &captured.tree, &before).await?;
        if let Trial::Conflicts(files) = self.try_merge(&env, &self.target_head().await?, &trial).await? {
            return Err(self.conflict(&files));
        }
        let made = self.commit(message).await?;
        let head = self.ask(&tree.path, &["rev-parse", "HEAD"]).await?.unwrap_or(before);
        let own = format!("refs/heads/{}", tree.branch);
        let missing = self.ask(&tree.path, &["rev-list", "--max-count=1", &own, "--not", &head]).await?;
        let left =
            missing.filter(|one| !one.is_empty()).map(|_| format!("commits on the branch {}", tree.branch));
        Ok((head, made.is_some(), tree.branch.clone(), left))
    }

    /// A commit of `tree` on `parent` among the objects of `env`, to try something with.
    pub(super) async fn commit_in(
        &self,
        env: &[(&str, &std::path::Path)],
        tree: &str,
        parent: &str,
    ) -> Result<String, AutoError> {
        let args = [
            "-c",
            "user.name=amplihack",
            "-c",
            "user.email=amplihack@localhost",
            "commit-tree",
            "-p",
            parent,
            "-m",
            "trial",
            tree,
        ];
        self.processes.git("try the merge", &self.target, env, args).await.map(|said| text(&said))
    }

    /// What merging `theirs` into `ours` would give. It changes no file.
    pub(super) async fn try_merge(
        &self,
        env: &[(&str, &std::path::Path)],
        ours: &str,
        theirs: &str,
    ) -> Result<Trial, AutoError> {
        self.try_merge_on(env, &[], ours, theirs).await
    }

    pub(super) async fn try_merge_on(
        &self,
        env: &[(&str, &std::path::Path)],
        more: &[&str],
        ours: &str,
        theirs: &str,
    ) -> Result<Trial, AutoError> {
        let args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"];
        let args = args.iter().chain(more).chain([&ours, &theirs]).copied();
        let scratch = self.scratch.join("objects");
        std::fs::create_dir_all(&scratch).map_err(AutoError::file(&scratch))?;
        let said = self.processes.git_says(&self.target, env, args).await?;
        let mut fields = said.stdout.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let tree = fields.next().map(text);
        Ok(match (said.exit.code(), tree) {
            (0, Some(tree)) => Trial::Clean(tree),
            (1, Some(_)) => Trial::Conflicts(fields.map(amplihack_utils::git::path_of).collect()),
            _ => Trial::Unknown,
        })
    }

    pub(super) fn conflict(&self, files: &[PathBuf]) -> AutoError {
        let message = format!("{} conflicts with {} in {}", self.id, self.target.display(), names(files));
        let hint = match &self.source {
            Source::Worktree(tree) => format!(
                "nothing was changed; to settle it by hand: git -C {} status; git merge {}",
                tree.path.display(),
                tree.branch
            ),
            Source::Commit { name, .. } => {
                format!("nothing was changed; to settle it by hand: git merge {name}")
            }
            Source::Patch(patch) => {
                format!("nothing was changed; to settle it by hand: git apply --reject {}", patch.display())
            }
        };
        refused("conflict", message, &hint)
    }
}
