//! The original's check on the agent's work: a copy of the files in which the check's own files are as they were at the beginning.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use amplihack_sys::fs::create_private_dir;

use super::{CheckContext, CheckResult, VerificationCut, command_result, observation_result};
use crate::error::AutoError;
use crate::process::RunProcesses;
use crate::snapshots::SnapshotStore;
use crate::tree_diff::{FileChange, index_info};

/// Runs the commands in a copy of the files of `now` in which `own` are the original ones.
///
/// Files that git ignores are links to those of the agent: dependencies and build results cannot be isolated. The copy is no
/// repository.
pub(super) async fn run_originals(
    processes: &RunProcesses,
    context: &CheckContext<'_>,
    now: &str,
    own: &[&FileChange],
) -> Result<Result<Vec<CheckResult>, VerificationCut>, AutoError> {
    let Some((snapshots, _)) = context.files else { return Ok(Ok(Vec::new())) };
    let copy = CheckoutCopy { processes, snapshots, top: snapshots.scratch_directory() };
    copy.remove();
    let made = copy.make_copy(now, own).await;
    let result = match made {
        Ok(()) => copy.run_checks(context, own).await,
        Err(error @ AutoError::Interrupted { .. }) => Err(error),
        // The agent may have left files of which no copy can be made.
        Err(error) => {
            let found = format!("the original checks cannot be run: {error}");
            Ok(Ok(vec![observation_result("the checks are the original ones", found)]))
        }
    };
    copy.remove();
    result
}

/// A copy of a repository's files.
struct CheckoutCopy<'a> {
    processes: &'a RunProcesses,
    snapshots: &'a SnapshotStore,
    top: PathBuf,
}

impl CheckoutCopy<'_> {
    async fn make_copy(&self, now: &str, own: &[&FileChange]) -> Result<(), AutoError> {
        create_private_dir(&self.top).map_err(AutoError::for_path(&self.top))?;
        self.run_git(&["read-tree", now]).await?;
        let originals = index_info(own.iter().map(|change| (&*change.raw, &change.before)));
        let update = ["update-index", "-z", "--index-info"];
        let (root, index) = (self.snapshots.root(), self.index_path());
        self.processes
            .run_git_with_input("copy the files", root, &self.git_env(&index), update, originals)
            .await?;
        let mut prefix = std::ffi::OsString::from("--prefix=");
        prefix.push(self.files_path());
        prefix.push("/");
        self.run_git(&[OsStr::new("checkout-index"), OsStr::new("--all"), OsStr::new("--force"), &prefix])
            .await?;
        self.link_ignored().await
    }

    /// Links what git ignores, a directory as a whole.
    async fn link_ignored(&self) -> Result<(), AutoError> {
        let args = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
        let said = self
            .processes
            .run_git("list ignored files", self.snapshots.root(), &self.snapshots.git_env(), args)
            .await?;
        for raw in said.split(|byte| *byte == 0).filter(|raw| !raw.is_empty()) {
            let raw = raw.strip_suffix(b"/").unwrap_or(raw);
            let path = Path::new(OsStr::from_bytes(raw));
            let link = self.files_path().join(path);
            if let Some(parent) = link.parent() {
                std::fs::create_dir_all(parent).map_err(AutoError::for_path(parent))?;
            }
            // One that the copy has already is the original's.
            let _ = std::os::unix::fs::symlink(self.snapshots.root().join(path), &link);
        }
        Ok(())
    }

    async fn run_checks(
        &self,
        context: &CheckContext<'_>,
        own: &[&FileChange],
    ) -> Result<Result<Vec<CheckResult>, VerificationCut>, AutoError> {
        let inside = context.directory.strip_prefix(self.snapshots.root()).unwrap_or(Path::new(""));
        let directory = self.files_path().join(inside);
        let names: Vec<&str> = own.iter().map(|change| change.path.as_str()).collect();
        let mut checks = Vec::new();
        for text in &context.commands {
            let output = context.run_command(self.processes, text, &directory).await?;
            let mut check = command_result(text, &output, context.timeout);
            check.what = format!("{} with the original {}", check.what, names.join(", "));
            let passed = check.passed;
            checks.push(check);
            if !passed {
                break;
            }
        }
        Ok(Ok(checks))
    }

    async fn run_git<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<(), AutoError> {
        let (root, index) = (self.snapshots.root(), self.index_path());
        self.processes.run_git("copy the files", root, &self.git_env(&index), args).await.map(drop)
    }

    fn index_path(&self) -> PathBuf {
        self.top.join("index")
    }

    /// The environment of the snapshots, with an index of the copy's own.
    fn git_env<'a>(&'a self, index: &'a Path) -> [(&'static str, &'a Path); 4] {
        self.snapshots
            .git_env()
            .map(|(name, value)| (name, if name == "GIT_INDEX_FILE" { index } else { value }))
    }

    fn files_path(&self) -> PathBuf {
        self.top.join("files")
    }

    fn remove(&self) {
        // What stays is removed with the run.
        let _ = std::fs::remove_dir_all(&self.top);
    }
}
