//! The changes of a run are put into the user's files, uncommitted.

use std::path::{Path, PathBuf};

use super::merge::MergeTrial;
use super::{ResultSource, RunResults, refusal_error};
use crate::error::AutoError;
use crate::process::RunProcesses;
use crate::snapshots::{COMPARE, PATCH, SnapshotStore};

impl RunResults<'_> {
    /// Applies the changes to the target's files, three-way where it has gone on since; gives the files.
    pub async fn apply_changes(&self) -> Result<Vec<PathBuf>, AutoError> {
        let patch = self.scratch.join("apply.patch");
        let files = match self.write_merge_patch(&patch).await? {
            Some(files) => files,
            None => self.write_own_patch(&patch).await?,
        };
        if files.is_empty() {
            return Ok(files);
        }
        self.refuse_uncommitted(&files).await?;
        self.refuse_filters(&self.target, &files).await?;
        let name = patch.to_string_lossy().into_owned();
        // It looks at all files before it writes one.
        let apply = ["apply", "--whitespace=nowarn", "--", &name];
        match self.processes.run_git("apply the diff", &self.target, &[], apply).await {
            Err(AutoError::Git { said, .. }) => Err(refusal_error(
                "conflict",
                format!("the changes do not fit: {said}"),
                "nothing was changed",
            )),
            done => done.map(|_| files),
        }
    }

    /// Writes the patch from the target's commit to what merging the changes into it gives; `None` where that cannot be told.
    async fn write_merge_patch(&self, patch: &Path) -> Result<Option<Vec<PathBuf>>, AutoError> {
        let head = self.target_head().await?;
        let Some(snapshots) = SnapshotStore::open(self.processes, &self.target, &self.scratch).await? else {
            return Ok(None);
        };
        let (base, theirs) = match &self.source {
            ResultSource::Worktree(tree) => {
                let captured = self.capture(tree).await?;
                let commit =
                    self.commit_in(&captured.snapshots.git_env(), &captured.tree, &tree.start).await?;
                (tree.start.clone(), commit)
            }
            ResultSource::Commit { commit, .. } => (self.require_base()?.to_owned(), commit.clone()),
            ResultSource::Patch(_) => return Ok(None),
        };
        let env = snapshots.git_env();
        let follows = ["merge-base", "--is-ancestor", &base, &head];
        let on = format!("--merge-base={base}");
        // Where the target does not have the commit that the run began with, only the run's own changes count.
        let more: &[&str] = if self.ask_git(&self.target, &follows).await?.is_some() { &[] } else { &[&on] };
        let tree = match self.try_merge_on(&env, more, &head, &theirs).await? {
            MergeTrial::Clean(tree) => tree,
            MergeTrial::Conflicts(files) => return Err(self.conflict_error(&files)),
            MergeTrial::Unknown => return Ok(None),
        };
        let args = COMPARE.iter().chain(PATCH).copied().chain([head.as_str(), tree.as_str(), "--"]);
        write_comparison(self.processes, &self.target, &env, args, patch).await?;
        self.changed_files(&env, &head, &tree).await.map(Some)
    }

    /// The run's own patch, where nothing better can be made.
    async fn write_own_patch(&self, patch: &Path) -> Result<Vec<PathBuf>, AutoError> {
        self.write_diff(super::DiffForm::Patch, patch).await?;
        let name = patch.to_string_lossy().into_owned();
        if std::fs::metadata(patch).is_ok_and(|patch| patch.len() == 0) {
            return Ok(Vec::new());
        }
        let reverse = ["apply", "--check", "--reverse", "--", &name];
        if self.ask_git(&self.target, &reverse).await?.is_some() {
            let message = format!("the changes of {} are in {} already", self.id, self.target.display());
            return Err(refusal_error("applied", message, "nothing was changed"));
        }
        let listed = ["apply", "--numstat", "-z", "--", &name];
        let said = self.processes.run_git("read the diff", &self.target, &[], listed).await?;
        let files =
            said.split(|byte| *byte == 0).filter_map(|line| line.splitn(3, |byte| *byte == b'\t').nth(2));
        Ok(files.filter(|name| !name.is_empty()).map(amplihack_config::git::path_of).collect())
    }

    /// Takes the changes out of the target's files again; gives the files.
    pub(super) async fn revert_changes(&self, patch: &Path) -> Result<(), AutoError> {
        let name = patch.to_string_lossy().into_owned();
        let reverse = ["apply", "--reverse", "--whitespace=nowarn", "--", &name];
        match self.processes.run_git("apply the diff", &self.target, &[], reverse).await {
            Err(AutoError::Git { said, .. }) => {
                let message = format!("the changes of {} cannot be taken back: {said}", self.id);
                Err(refusal_error(
                    "conflict",
                    message,
                    "the files were changed since; nothing was changed now",
                ))
            }
            done => done.map(drop),
        }
    }
}

async fn write_comparison<'a>(
    processes: &RunProcesses,
    directory: &Path,
    env: &[(&str, &Path)],
    args: impl Iterator<Item = &'a str>,
    file: &Path,
) -> Result<(), AutoError> {
    let out = std::fs::File::create(file).map_err(AutoError::for_path(file))?;
    processes.run_git_to_file("compare the files", directory, env, args, out).await
}
