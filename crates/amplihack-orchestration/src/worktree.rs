//! A worktree of a run's own: locked while the run lives, kept while it holds anything that the run made.

mod absent;
mod include;
mod options;
mod setup;
mod submodules;

use std::path::PathBuf;

use amplihack_utils::env::Env;
use amplihack_utils::fs::create_private_dir;
use amplihack_utils::git;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::error::AutoError;
use crate::process::Processes;
use crate::spec::Spec;

pub use include::INCLUDE_FILE;
pub use options::WorktreeOptions;

/// Git's own locks make two at once fail, so runs of one process take turns.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// A worktree that was made for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// The repository's own working tree.
    pub repository: PathBuf,
    /// The worktree.
    pub path: PathBuf,
    /// Where in it the agent works: where the user stood in the repository.
    pub workdir: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit that it began with.
    pub start: String,
}

/// The outcome of the removal of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// It held nothing, and is gone.
    Removed,
    /// It is kept, and why.
    Kept(String),
}

impl Tree {
    /// A worktree for the run `id` of `spec`, of the repository around its directory, on a branch of its own, from the commit that is
    /// checked out. It is not made yet.
    pub async fn plan(processes: &Processes, env: &Env, spec: &Spec, id: &str) -> Result<Self, AutoError> {
        let cwd = &spec.cwd;
        // One at a time: a path may have line breaks.
        let said = async |args: &[&str]| {
            let args = ["rev-parse", "--path-format=absolute"].iter().chain(args);
            processes.git("look for the repository", cwd, &[], args).await
        };
        let repository = git::path(&said(&["--show-toplevel"]).await?);
        let prefix = git::path(&said(&["--show-prefix"]).await?);
        let head = processes.git_says(cwd, &[], ["rev-parse", "--verify", "--quiet", "HEAD"]).await?;
        if !head.exit.success() {
            return Err(AutoError::NoCommit { repository });
        }
        let start = String::from_utf8_lossy(&head.stdout).trim().to_owned();
        let path = spec.worktree_options.base(env, &repository)?.join(id);
        options::check(env, &path, spec.guarded)?;
        // Below a branch of that name there is no room for others.
        let taken = ["rev-parse", "--verify", "--quiet", "refs/heads/amplihack"];
        let taken = processes.git_says(cwd, &[], taken).await?.exit.success();
        let branch = format!("amplihack{}{id}", if taken { '-' } else { '/' });
        Ok(Self { workdir: options::inside(&path, &prefix), repository, path, branch, start })
    }

    async fn has_branch(&self, processes: &Processes) -> Result<bool, AutoError> {
        let name = format!("refs/heads/{}", self.branch);
        let found = ["rev-parse", "--verify", "--quiet", &name];
        Ok(processes.git_says(&self.repository, &[], found).await?.exit.success())
    }

    /// Claims that it can be had: it is there, or its branch is.
    pub(crate) async fn require(&self, processes: &Processes) -> Result<(), AutoError> {
        if self.path.is_dir() || self.has_branch(processes).await? {
            return Ok(());
        }
        Err(AutoError::WorktreeGone { path: self.path.clone(), branch: self.branch.clone() })
    }

    /// The same worktree where one of `spec` belongs.
    pub(crate) fn elsewhere(&self, env: &Env, spec: &Spec, id: &str) -> Result<Self, AutoError> {
        let path = spec.worktree_options.base(env, &self.repository)?.join(id);
        options::check(env, &path, spec.guarded)?;
        let inside = self.workdir.strip_prefix(&self.path).unwrap_or("".as_ref());
        Ok(Self { workdir: options::inside(&path, inside), path, ..self.clone() })
    }

    /// Moves it, if it is there, to where `to` lies.
    pub(crate) async fn move_to(&self, to: &Self, processes: &Processes) -> Result<(), AutoError> {
        let _turn = ONE_AT_A_TIME.lock().await;
        if !self.path.is_dir() {
            return Ok(());
        }
        if let Some(trees) = to.path.parent() {
            create_private_dir(trees).map_err(AutoError::file(trees))?;
        }
        let (from, to) = (self.path.to_string_lossy(), to.path.to_string_lossy());
        processes.git_says(&self.repository, &[], ["worktree", "unlock", &*from]).await?;
        processes
            .git("move a worktree", &self.repository, &[], ["worktree", "move", &*from, &*to])
            .await
            .map(drop)
    }

    /// Makes it, locked from its making on; one that is there is locked. Whether it is new.
    pub async fn make(&self, processes: &Processes) -> Result<bool, AutoError> {
        let _turn = ONE_AT_A_TIME.lock().await;
        let path = self.path.to_string_lossy();
        if self.path.is_dir() {
            // It is locked still, if its run was killed.
            let lock = ["worktree", "lock", &*path];
            return processes.git_says(&self.repository, &[], lock).await.map(|_| false);
        }
        if let Some(trees) = self.path.parent() {
            create_private_dir(trees).map_err(AutoError::file(trees))?;
        }
        let reason = format!("the run of {}", self.branch);
        if self.has_branch(processes).await? {
            // Its directory is gone, and what was committed is not.
            // A killed run has left it locked.
            processes.git_says(&self.repository, &[], ["worktree", "unlock", &*path]).await?;
            processes.git("forget a worktree", &self.repository, &[], ["worktree", "prune"]).await?;
            let add = ["worktree", "add", "--quiet", "--lock", "--reason", &reason, &*path, &self.branch];
            return processes
                .git_as_configured("make a worktree again", &self.repository, add)
                .await
                .map(|_| true);
        }
        let add = [
            "worktree",
            "add",
            "--quiet",
            "--lock",
            "--reason",
            &reason,
            "-b",
            &self.branch,
            &*path,
            &self.start,
        ];
        processes.git_as_configured("make a worktree", &self.repository, add).await.map(|_| true)
    }

    /// Unlocks the worktree at the end of its run. One that was unlocked by hand is unlocked.
    pub async fn unlock(&self, processes: &Processes) -> Result<(), AutoError> {
        let _turn = ONE_AT_A_TIME.lock().await;
        let path = self.path.to_string_lossy();
        processes.git_says(&self.repository, &[], ["worktree", "unlock", &*path]).await.map(drop)
    }

    /// Removes the worktree and its branch, once it is known that nothing would be lost with them, or that it may be lost.
    ///
    /// Git refuses to remove a worktree with a submodule, or with files that a setup command made and it does not track. Whoever calls
    /// this has compared all of that with the beginning, so the second attempt is by force.
    pub async fn remove(&self, processes: &Processes) -> Result<Removal, AutoError> {
        let _turn = ONE_AT_A_TIME.lock().await;
        let path = self.path.to_string_lossy();
        let remove = ["worktree", "remove", &*path];
        let force = ["worktree", "remove", "--force", &*path];
        let removed = processes.git_says(&self.repository, &[], remove).await?;
        if !removed.exit.success()
            && let Err(AutoError::Git { said, .. }) =
                processes.git("remove a worktree", &self.repository, &[], force).await
            && self.path.exists()
        {
            return Ok(Removal::Kept(said));
        }
        let name = format!("refs/heads/{}", self.branch);
        processes.git_says(&self.repository, &[], ["update-ref", "-d", &name]).await?;
        Ok(Removal::Removed)
    }
}
