//! A worktree of a run's own: locked while the run lives, kept while it holds anything that the run made.

mod include;
mod options;
mod setup;
mod submodules;
mod uncommitted;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use amplihack_config::env::Env;
use amplihack_config::git;
use amplihack_sys::fs::create_private_dir;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::error::AutoError;
use crate::process::RunProcesses;
use crate::spec::AutoRunSpec;

pub use include::INCLUDE_FILE;
pub use options::WorktreeOptions;

/// Git's own locks make two at once fail, so runs of one process take turns.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// A worktree that was made for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunWorktree {
    /// The repository's own working tree.
    pub repository: PathBuf,
    /// The worktree.
    pub path: PathBuf,
    /// Directory in it in which the agent works: where the user stood in the repository.
    pub workdir: PathBuf,
    /// Branch of the worktree.
    pub branch: String,
    /// The commit that it began with.
    pub start: String,
}

/// The outcome of the removal of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeRemoval {
    /// The worktree held nothing, and is gone.
    Removed,
    /// The worktree is kept; with the reason.
    Kept(String),
}

impl RunWorktree {
    /// A worktree for the run `id` of `spec`, of the repository around its directory, on a branch of its own, from the commit that is
    /// checked out. It is not made yet.
    pub async fn plan_for_run(
        processes: &RunProcesses,
        env: &Env,
        spec: &AutoRunSpec,
        id: &str,
    ) -> Result<Self, AutoError> {
        let cwd = &spec.cwd;
        // One at a time: a path may have line breaks.
        let said = async |args: &[&str]| {
            let args = ["rev-parse", "--path-format=absolute"].iter().chain(args);
            processes.run_git("find the repository", cwd, &[], args).await
        };
        let repository = said(&["--show-toplevel"]).await.map_err(|error| match error {
            AutoError::Git { said, .. } if said.contains("not a git repository") => {
                AutoError::NoRepository { directory: cwd.clone() }
            }
            error => error,
        })?;
        let repository = git::answer_path(&repository);
        let prefix = git::answer_path(&said(&["--show-prefix"]).await?);
        let head =
            processes.run_git_unchecked(cwd, &[], ["rev-parse", "--verify", "--quiet", "HEAD"]).await?;
        if !head.exit.is_success() {
            return Err(AutoError::NoCommit { repository });
        }
        let start = String::from_utf8_lossy(&head.stdout).trim().to_owned();
        if !prefix.as_os_str().is_empty() {
            let directory = [b"HEAD:", prefix.as_os_str().as_bytes()].concat();
            let known = [OsStr::new("cat-file"), OsStr::new("-e"), OsStr::from_bytes(&directory)];
            if !processes.run_git_unchecked(&repository, &[], known).await?.exit.is_success() {
                return Err(AutoError::NotInCommit { directory: cwd.to_owned() });
            }
        }
        let path = spec.worktree_options.base_directory(env, &repository)?.join(id);
        options::check_location(env, &path, spec.guarded)?;
        // Below a branch of that name there is no room for others.
        let taken = ["rev-parse", "--verify", "--quiet", "refs/heads/amplihack"];
        let taken = processes.run_git_unchecked(cwd, &[], taken).await?.exit.is_success();
        let branch = format!("amplihack{}{id}", if taken { '-' } else { '/' });
        Ok(Self { workdir: options::join_below(&path, &prefix), repository, path, branch, start })
    }

    async fn has_branch(&self, processes: &RunProcesses) -> Result<bool, AutoError> {
        let name = format!("refs/heads/{}", self.branch);
        let found = ["rev-parse", "--verify", "--quiet", &name];
        Ok(processes.run_git_unchecked(&self.repository, &[], found).await?.exit.is_success())
    }

    /// Claims that it can be had: it is there, or its branch is.
    pub(crate) async fn require_available(&self, processes: &RunProcesses) -> Result<(), AutoError> {
        if self.path.is_dir() || self.has_branch(processes).await? {
            return Ok(());
        }
        Err(AutoError::WorktreeGone { path: self.path.clone(), branch: self.branch.clone() })
    }

    /// Returns the worktree at the place where one of `spec` belongs.
    pub(crate) fn with_new_path(&self, env: &Env, spec: &AutoRunSpec, id: &str) -> Result<Self, AutoError> {
        let path = spec.worktree_options.base_directory(env, &self.repository)?.join(id);
        options::check_location(env, &path, spec.guarded)?;
        let inside = self.workdir.strip_prefix(&self.path).unwrap_or("".as_ref());
        Ok(Self { workdir: options::join_below(&path, inside), path, ..self.clone() })
    }

    /// Moves it, if it is there, to where `to` lies.
    pub(crate) async fn move_to(&self, to: &Self, processes: &RunProcesses) -> Result<(), AutoError> {
        let _turn = ONE_AT_A_TIME.lock().await;
        if !self.path.is_dir() {
            return Ok(());
        }
        if let Some(trees) = to.path.parent() {
            create_private_dir(trees).map_err(AutoError::for_path(trees))?;
        }
        let (from, to) = (self.path.to_string_lossy(), to.path.to_string_lossy());
        processes.run_git_unchecked(&self.repository, &[], ["worktree", "unlock", &*from]).await?;
        processes
            .run_git("move a worktree", &self.repository, &[], ["worktree", "move", &*from, &*to])
            .await
            .map(drop)
    }

    /// Makes it, locked from its making on; one that is there is locked. Whether it is new.
    pub async fn make_or_lock(&self, processes: &RunProcesses) -> Result<bool, AutoError> {
        let _turn = ONE_AT_A_TIME.lock().await;
        let path = self.path.to_string_lossy();
        if self.path.is_dir() {
            // It is locked still, if its run was killed.
            let lock = ["worktree", "lock", &*path];
            return processes.run_git_unchecked(&self.repository, &[], lock).await.map(|_| false);
        }
        if let Some(trees) = self.path.parent() {
            create_private_dir(trees).map_err(AutoError::for_path(trees))?;
        }
        let reason = format!("the run of {}", self.branch);
        if self.has_branch(processes).await? {
            // Its directory is gone, and what was committed is not.
            // A killed run has left it locked.
            processes.run_git_unchecked(&self.repository, &[], ["worktree", "unlock", &*path]).await?;
            self.pin_head(processes).await?;
            // By force, since git still knows it. `git worktree prune` would forget the user's own worktrees on disks that are absent.
            let add = [
                "worktree",
                "add",
                "--force",
                "--quiet",
                "--lock",
                "--reason",
                &reason,
                &*path,
                &self.branch,
            ];
            return processes
                .run_git("make a worktree again", &self.repository, &[], add)
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
        processes.run_git("make a worktree", &self.repository, &[], add).await.map(|_| true)
    }

    /// Keeps the commit that was checked out in a worktree whose directory is gone, if no branch or tag has it: git forgets it with the
    /// worktree. It is then `refs/amplihack/kept/<id>`.
    async fn pin_head(&self, processes: &RunProcesses) -> Result<(), AutoError> {
        let list = ["worktree", "list", "--porcelain", "-z"];
        let said = processes.run_git("list the worktrees", &self.repository, &[], list).await?;
        let mut fields = said.split(|byte| *byte == 0);
        let ours = [b"worktree ", self.path.as_os_str().as_bytes()].concat();
        let Some(head) = fields.find(|field| *field == ours).and_then(|_| fields.next()) else {
            return Ok(());
        };
        let Some(head) = head.strip_prefix(b"HEAD ").and_then(|head| std::str::from_utf8(head).ok()) else {
            return Ok(());
        };
        let unreachable = ["rev-list", "--max-count=1", head, "--not", "--branches", "--tags"];
        let said = processes.run_git_unchecked(&self.repository, &[], unreachable).await?;
        if !said.exit.is_success() || said.stdout.is_empty() {
            return Ok(());
        }
        let id = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("refs/amplihack/kept/{id}");
        processes.run_git("keep a commit", &self.repository, &[], ["update-ref", &name, head]).await.map(drop)
    }

    /// Unlocks the worktree at the end of its run. One that was unlocked by hand is unlocked.
    pub async fn unlock(&self, processes: &RunProcesses) -> Result<(), AutoError> {
        let _turn = ONE_AT_A_TIME.lock().await;
        let path = self.path.to_string_lossy();
        processes.run_git_unchecked(&self.repository, &[], ["worktree", "unlock", &*path]).await.map(drop)
    }

    /// The commit that its branch names.
    pub(crate) async fn branch_tip(&self, processes: &RunProcesses) -> Result<Option<String>, AutoError> {
        let name = format!("refs/heads/{}", self.branch);
        let asked = ["rev-parse", "--verify", "--quiet", &name];
        let said = processes.run_git_unchecked(&self.repository, &[], asked).await?;
        let tip = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        Ok(Some(tip).filter(|_| said.exit.is_success()))
    }

    /// Removes the worktree and its branch, whatever they hold: it is known that nothing would be lost with them, or that it may be.
    pub async fn remove(&self, processes: &RunProcesses) -> Result<WorktreeRemoval, AutoError> {
        let tip = self.branch_tip(processes).await?;
        self.remove_if(processes, tip.as_deref(), async || Ok(None)).await
    }

    /// Removes the worktree, and its branch if that still names `tip`.
    ///
    /// Git refuses to remove a worktree with a submodule, with files that a setup command made and it does not track, and with a file
    /// that has appeared since somebody looked. So `why_not` looks again before it is done by force, and says what speaks against it.
    pub(crate) async fn remove_if(
        &self,
        processes: &RunProcesses,
        tip: Option<&str>,
        why_not: impl AsyncFnOnce() -> Result<Option<String>, AutoError>,
    ) -> Result<WorktreeRemoval, AutoError> {
        let _turn = ONE_AT_A_TIME.lock().await;
        let path = self.path.to_string_lossy();
        let remove = ["worktree", "remove", &*path];
        let force = ["worktree", "remove", "--force", &*path];
        let removed = processes.run_git_unchecked(&self.repository, &[], remove).await?;
        if !removed.exit.is_success() || removed.late {
            if let Some(why) = why_not().await? {
                return Ok(WorktreeRemoval::Kept(why));
            }
            match processes.run_git("remove a worktree", &self.repository, &[], force).await {
                Ok(_) => {}
                // Somebody else was faster, or only git's own record of it was in the way.
                Err(AutoError::Git { .. }) if !self.is_there() => {}
                Err(AutoError::Git { said, .. }) => return Ok(WorktreeRemoval::Kept(said)),
                Err(error) => return Err(error),
            }
        }
        if self.is_there() {
            return Ok(WorktreeRemoval::Kept("git left its directory".to_owned()));
        }
        if let Some(moved) = self.find_moved(processes).await? {
            return Ok(WorktreeRemoval::Kept(format!("it was moved to {}", moved.path.display())));
        }
        if let Some(tip) = tip {
            let name = format!("refs/heads/{}", self.branch);
            // One that names another commit by now stays: it holds what nobody has looked at.
            processes.run_git_unchecked(&self.repository, &[], ["update-ref", "-d", &name, tip]).await?;
        }
        Ok(WorktreeRemoval::Removed)
    }

    /// The worktree where git has it now, if an agent moved it: git's own record of it keeps its first name.
    pub async fn find_moved(&self, processes: &RunProcesses) -> Result<Option<Self>, AutoError> {
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let common = processes.run_git_unchecked(&self.repository, &[], common).await?;
        let Some(name) = self.path.file_name().filter(|_| common.exit.is_success()) else { return Ok(None) };
        let record = git::answer_path(&common.stdout).join("worktrees").join(name).join("gitdir");
        let Ok(record) = std::fs::read(record) else { return Ok(None) };
        let Some(path) = git::answer_path(&record).parent().map(Path::to_owned) else { return Ok(None) };
        if path == self.path || !path.is_dir() {
            return Ok(None);
        }
        let inside = self.workdir.strip_prefix(&self.path).unwrap_or("".as_ref());
        Ok(Some(Self { workdir: options::join_below(&path, inside), path, ..self.clone() }))
    }

    fn is_there(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }
}
