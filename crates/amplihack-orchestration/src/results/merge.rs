//! The branch of a run is merged into the checked-out branch of the user's repository.

use std::path::{Path, PathBuf};

use super::{ResultSource, RunResults, join_names, refusal_error, trimmed_text};
use crate::error::AutoError;
use crate::snapshots::DiffStat;

/// A merge that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeMade {
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

/// Result of a merge of two commits that is only tried.
pub(super) enum MergeTrial {
    /// A tree without conflicts.
    Clean(String),
    /// Files with conflicts.
    Conflicts(Vec<PathBuf>),
    /// No answer: this git cannot tell.
    Unknown,
}

impl RunResults<'_> {
    /// Merges the work into the branch that is checked out in the target, after a commit of what is not committed.
    ///
    /// Everything that refuses it is looked at before that commit is made.
    pub async fn merge_work(&self, message: &str) -> Result<MergeMade, AutoError> {
        let into = self.target_branch().await?;
        let head = self.target_head().await?;
        let (commit, committed, name, left) = match &self.source {
            ResultSource::Commit { commit, name } => (commit.clone(), false, name.clone(), None),
            _ => self.prepare_merge(&head, message).await?,
        };
        let mut merged =
            MergeMade { commit, committed, into, checkout: self.target.clone(), stat: None, left };
        if self.contains_commit(&merged.commit, &head).await? {
            return Ok(merged);
        }
        // Once more with the commit that was made: its tree is what must come out.
        let tree = self.try_merge_into_target(&[], &head, &merged.commit).await?;
        let words = format!("Merge {name}\n\n{message}");
        merged.stat = Some(self.merge_commit(&merged, &head, tree.as_deref(), &words).await?);
        Ok(merged)
    }

    /// Has git merge the commit of `merged` into the target, whose commit is `head`, and claims that it did: that `tree` came out. Gives
    /// the size.
    async fn merge_commit(
        &self,
        merged: &MergeMade,
        head: &str,
        tree: Option<&str>,
        words: &str,
    ) -> Result<DiffStat, AutoError> {
        // The repository's own options of the branch, as `--squash`, are as little asked as its hooks.
        let options = format!("branch.{}.mergeOptions=", merged.into);
        let without: &[&str] = if merged.into.contains('=') { &[] } else { &["-c", &options] };
        // In a private file: a message may be longer than an argument can be, and is nobody else's business.
        let file = self.scratch.join("merge-message");
        std::fs::write(&file, words).map_err(AutoError::for_path(&file))?;
        let merge = [
            "merge",
            "--quiet",
            "--commit",
            "--no-squash",
            "--ff",
            "--no-edit",
            "--no-autostash",
            "--no-gpg-sign",
            "--no-stat",
            "-F",
            &file.to_string_lossy(),
            &merged.commit,
        ];
        let args = without.iter().chain(&merge).copied();
        let done = self.processes.run_git("merge", &self.target, &[], args).await;
        // What follows is done also if a signal ended git.
        let processes = self.processes.from_now();
        let now = RunResults { processes: &processes, ..self.clone() };
        if now.has_landed(&merged.commit, tree).await? {
            return now.diff_stat(head, "HEAD").await;
        }
        let why = match done {
            Ok(_) => "the result differs from the merge of the work and the branch".to_owned(),
            Err(AutoError::Git { said, .. }) => said,
            Err(error) => error.to_string(),
        };
        let mut hint = if now.taken_back(head, &merged.commit).await? {
            format!("nothing was changed in {}", self.target.display())
        } else {
            format!("something of it is left in {}: see `git status` there", self.target.display())
        };
        if merged.committed {
            hint.push_str("; the work is committed on the run's own branch");
        }
        Err(refusal_error("merge", format!("git does not merge it: {why}"), &hint))
    }

    /// Reports whether the commit checked out in the target has `commit`, with nothing half done, and is `tree` where that is known.
    async fn has_landed(&self, commit: &str, tree: Option<&str>) -> Result<bool, AutoError> {
        let half = ["rev-parse", "--verify", "--quiet", "MERGE_HEAD"];
        if self.ask_git(&self.target, &half).await?.is_some() || !self.contains_commit(commit, "HEAD").await?
        {
            return Ok(false);
        }
        let made = self.ask_git(&self.target, &["rev-parse", "HEAD^{tree}"]).await?;
        Ok(tree.is_none_or(|tree| made.as_deref() == Some(tree)))
    }

    /// Takes a merge back that did not do what it should; whether nothing of it is left.
    async fn taken_back(&self, head: &str, commit: &str) -> Result<bool, AutoError> {
        // A git that could not try it before leaves the conflict behind.
        self.ask_git(&self.target, &["merge", "--abort"]).await?;
        if self.target_head().await? != head {
            self.ask_git(&self.target, &["reset", "--quiet", "--keep", head]).await?;
        }
        let files = self.changed_files(&[], head, commit).await?;
        Ok(self.target_head().await? == head && self.refuse_uncommitted(&files).await.is_ok())
    }

    /// Reports whether `of` has `commit` in its history.
    async fn contains_commit(&self, commit: &str, of: &str) -> Result<bool, AutoError> {
        let follows = ["merge-base", "--is-ancestor", commit, of];
        Ok(self.ask_git(&self.target, &follows).await?.is_some())
    }

    /// Tries to merge `theirs` into the target's commit `head`, and refuses what cannot be merged; the tree that comes out, if this git
    /// can tell.
    async fn try_merge_into_target(
        &self,
        env: &[(&str, &Path)],
        head: &str,
        theirs: &str,
    ) -> Result<Option<String>, AutoError> {
        let (tree, files) = match self.try_merge(env, head, theirs).await? {
            MergeTrial::Clean(tree) => {
                let files = self.changed_files(env, head, &tree).await?;
                (Some(tree), files)
            }
            MergeTrial::Conflicts(files) => return Err(self.conflict_error(&files)),
            MergeTrial::Unknown => (None, self.changed_files(env, head, theirs).await?),
        };
        self.refuse_uncommitted(&files).await?;
        self.refuse_filters(&self.target, &files).await?;
        Ok(tree)
    }

    /// The branch that is checked out in the target, where nothing waits for its end.
    async fn target_branch(&self) -> Result<String, AutoError> {
        let place = self.target.display();
        let Some(branch) =
            self.ask_git(&self.target, &["symbolic-ref", "--quiet", "--short", "HEAD"]).await?
        else {
            return Err(refusal_error(
                "detached",
                format!("no branch is checked out in {place}"),
                "check one out: git switch BRANCH",
            ));
        };
        for name in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD"] {
            if self.ask_git(&self.target, &["rev-parse", "--verify", "--quiet", name]).await?.is_some() {
                let message = format!("a merge, rebase or pick waits for its end in {place}");
                return Err(refusal_error(
                    "half_done",
                    message,
                    "finish or abort it first; `git status` shows how",
                ));
            }
        }
        Ok(branch)
    }

    /// The commit of the worktree that is to be merged into the target's commit, whether it was made now, its name, and what is not in it.
    async fn prepare_merge(
        &self,
        target: &str,
        message: &str,
    ) -> Result<(String, bool, String, Option<String>), AutoError> {
        let tree = self.require_worktree("merge")?;
        // What would be refused is refused before anything is committed.
        let captured = self.capture(tree).await?;
        let before = self.refuse_half_done(tree, &captured)?;
        let env = captured.snapshots.git_env();
        let trial = self.commit_in(&env, &captured.tree, &before).await?;
        let same = self.changed_files(&env, &before, &captured.tree).await?.is_empty();
        if !(same && self.contains_commit(&before, target).await?) {
            self.try_merge_into_target(&env, target, &trial).await?;
        }
        let made = self.commit_worktree(message).await?;
        let head = self.ask_git(&tree.path, &["rev-parse", "HEAD"]).await?.unwrap_or(before);
        let own = format!("refs/heads/{}", tree.branch);
        let missing = self.ask_git(&tree.path, &["rev-list", "--max-count=1", &own, "--not", &head]).await?;
        let left =
            missing.filter(|one| !one.is_empty()).map(|_| format!("commits on the branch {}", tree.branch));
        Ok((head, made.is_some(), tree.branch.clone(), left))
    }

    /// A commit of `tree` on `parent` among the objects of `env`, to try something with.
    pub(super) async fn commit_in(
        &self,
        env: &[(&str, &Path)],
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
        self.processes.run_git("try the merge", &self.target, env, args).await.map(|said| trimmed_text(&said))
    }

    /// Tries to merge `theirs` into `ours`. It changes no file.
    pub(super) async fn try_merge(
        &self,
        env: &[(&str, &Path)],
        ours: &str,
        theirs: &str,
    ) -> Result<MergeTrial, AutoError> {
        self.try_merge_on(env, &[], ours, theirs).await
    }

    pub(super) async fn try_merge_on(
        &self,
        env: &[(&str, &Path)],
        more: &[&str],
        ours: &str,
        theirs: &str,
    ) -> Result<MergeTrial, AutoError> {
        let args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"];
        let args = args.iter().chain(more).chain([&ours, &theirs]).copied();
        let scratch = self.scratch.join("objects");
        std::fs::create_dir_all(&scratch).map_err(AutoError::for_path(&scratch))?;
        let said = self.processes.run_git_unchecked(&self.target, env, args).await?;
        let mut fields = said.stdout.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let tree = fields.next().map(trimmed_text);
        Ok(match (said.exit.code(), tree) {
            (0, Some(tree)) => MergeTrial::Clean(tree),
            (1, Some(_)) => MergeTrial::Conflicts(fields.map(amplihack_config::git::path_of).collect()),
            _ => MergeTrial::Unknown,
        })
    }

    pub(super) fn conflict_error(&self, files: &[PathBuf]) -> AutoError {
        let message =
            format!("{} conflicts with {} in {}", self.id, self.target.display(), join_names(files));
        let hint = match &self.source {
            ResultSource::Worktree(tree) => format!(
                "nothing was changed; to settle it by hand: amplihack sessions commit {}; git merge {}",
                self.id, tree.branch
            ),
            ResultSource::Commit { name, .. } => {
                format!("nothing was changed; to settle it by hand: git merge {name}")
            }
            ResultSource::Patch(patch) => {
                format!("nothing was changed; to settle it by hand: git apply --reject {}", patch.display())
            }
        };
        refusal_error("conflict", message, &hint)
    }
}
