//! The branch of a run is merged into the checked-out branch of the user's repository.

use std::path::{Path, PathBuf};

use super::{ResultSource, Results, names, refused, text};
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
    ///
    /// Everything that refuses it is looked at before that commit is made.
    pub async fn merge(&self, message: &str) -> Result<MergeMade, AutoError> {
        let into = self.target_branch().await?;
        let head = self.target_head().await?;
        let (commit, committed, name, left) = match &self.source {
            ResultSource::Commit { commit, name } => (commit.clone(), false, name.clone(), None),
            _ => self.ready(&head, message).await?,
        };
        let mut merged =
            MergeMade { commit, committed, into, checkout: self.target.clone(), stat: None, left };
        if self.has(&merged.commit, &head).await? {
            return Ok(merged);
        }
        // Once more with the commit that was made: its tree is what must come out.
        let tree = self.tried(&[], &head, &merged.commit).await?;
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
        std::fs::write(&file, words).map_err(AutoError::file(&file))?;
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
        let done = self.processes.git("merge", &self.target, &[], args).await;
        // What follows is done also if a signal ended git.
        let processes = self.processes.from_now();
        let now = Results { processes: &processes, ..self.clone() };
        if now.landed(&merged.commit, tree).await? {
            return now.stat(head, "HEAD").await;
        }
        let why = match done {
            Ok(_) => "what came out is not what the work and the branch give together".to_owned(),
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
        Err(refused("merge", format!("git does not merge it: {why}"), &hint))
    }

    /// Whether the commit checked out in the target has `commit`, with nothing half done, and is `tree` where that is known.
    async fn landed(&self, commit: &str, tree: Option<&str>) -> Result<bool, AutoError> {
        let half = ["rev-parse", "--verify", "--quiet", "MERGE_HEAD"];
        if self.ask(&self.target, &half).await?.is_some() || !self.has(commit, "HEAD").await? {
            return Ok(false);
        }
        let made = self.ask(&self.target, &["rev-parse", "HEAD^{tree}"]).await?;
        Ok(tree.is_none_or(|tree| made.as_deref() == Some(tree)))
    }

    /// Takes a merge back that did not do what it should; whether nothing of it is left.
    async fn taken_back(&self, head: &str, commit: &str) -> Result<bool, AutoError> {
        // A git that could not try it before leaves the conflict behind.
        self.ask(&self.target, &["merge", "--abort"]).await?;
        if self.target_head().await? != head {
            self.ask(&self.target, &["reset", "--quiet", "--keep", head]).await?;
        }
        let files = self.files(&[], head, commit).await?;
        Ok(self.target_head().await? == head && self.refuse_uncommitted(&files).await.is_ok())
    }

    /// Whether `of` has `commit` in its history.
    async fn has(&self, commit: &str, of: &str) -> Result<bool, AutoError> {
        let follows = ["merge-base", "--is-ancestor", commit, of];
        Ok(self.ask(&self.target, &follows).await?.is_some())
    }

    /// Tries to merge `theirs` into the target's commit `head`, and refuses what cannot be merged; the tree that comes out, if this git
    /// can tell.
    async fn tried(
        &self,
        env: &[(&str, &Path)],
        head: &str,
        theirs: &str,
    ) -> Result<Option<String>, AutoError> {
        let (tree, files) = match self.try_merge(env, head, theirs).await? {
            Trial::Clean(tree) => {
                let files = self.files(env, head, &tree).await?;
                (Some(tree), files)
            }
            Trial::Conflicts(files) => return Err(self.conflict(&files)),
            Trial::Unknown => (None, self.files(env, head, theirs).await?),
        };
        self.refuse_uncommitted(&files).await?;
        self.refuse_filters(&self.target, &files).await?;
        Ok(tree)
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

    /// The commit of the worktree that is to be merged into the target's commit, whether it was made now, its name, and what is not in it.
    async fn ready(
        &self,
        target: &str,
        message: &str,
    ) -> Result<(String, bool, String, Option<String>), AutoError> {
        let tree = self.worktree("merge")?;
        // What would be refused is refused before anything is committed.
        let captured = self.capture(tree).await?;
        let before = self.refuse_half_done(tree, &captured)?;
        let env = captured.snapshots.env();
        let trial = self.commit_in(&env, &captured.tree, &before).await?;
        let same = self.files(&env, &before, &captured.tree).await?.is_empty();
        if !(same && self.has(&before, target).await?) {
            self.tried(&env, target, &trial).await?;
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
        self.processes.git("try the merge", &self.target, env, args).await.map(|said| text(&said))
    }

    /// What merging `theirs` into `ours` would give. It changes no file.
    pub(super) async fn try_merge(
        &self,
        env: &[(&str, &Path)],
        ours: &str,
        theirs: &str,
    ) -> Result<Trial, AutoError> {
        self.try_merge_on(env, &[], ours, theirs).await
    }

    pub(super) async fn try_merge_on(
        &self,
        env: &[(&str, &Path)],
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
        refused("conflict", message, &hint)
    }
}
