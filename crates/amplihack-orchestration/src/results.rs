//! The results of a run, taken in: shown, applied, committed, merged or discarded. Whatever is refused has changed nothing.
//!
//! Everything is done with git's plumbing, on an index of our own: no hook runs, nothing is signed, and no filter or merge driver that
//! the repository itself configures is started, since an agent may have written them.

mod apply;
mod commit;
mod discard;
mod locate;
mod merge;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use amplihack_config::git::path_of;

use crate::changes::RepositoryState;
use crate::error::AutoError;
use crate::names::first_names;
use crate::process::RunProcesses;
use crate::snapshots::{COMPARE, DiffStat, NUMSTAT, PATCH, SnapshotStore};
use crate::tree_diff::{index_info, tree_diff};
use crate::worktree::RunWorktree;

pub use commit::{CommitMade, commit_message};
pub use discard::DiscardMade;
pub use locate::{branches_below, find_checkout};
pub use merge::MergeMade;

/// Location of the work.
#[derive(Debug, Clone)]
pub enum ResultSource {
    /// In a worktree of the run's own, with what is not committed there.
    Worktree(RunWorktree),
    /// In a commit, with the name that it has for people.
    Commit {
        /// The commit.
        commit: String,
        /// Name of the commit, for people.
        name: String,
    },
    /// In the user's own files; a patch says what was changed.
    Patch(PathBuf),
}

/// The results of one run.
#[derive(Debug, Clone)]
pub struct RunResults<'a> {
    /// Starts git.
    pub processes: &'a RunProcesses,
    /// The run or session.
    pub id: String,
    /// Task of the run.
    pub task: String,
    /// The commit that it began with; none if that is not known.
    pub base: Option<String>,
    /// The files that it began with, where they were other than that commit.
    pub base_tree: Option<String>,
    /// Location of the work.
    pub source: ResultSource,
    /// The working tree that it is taken into.
    pub target: PathBuf,
    /// A directory for what is needed meanwhile; it is the caller's to remove.
    pub scratch: PathBuf,
    /// Directory of the objects of files that were not committed when the run began.
    pub objects: Option<PathBuf>,
}

/// The form of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffForm {
    /// A patch for `git apply`.
    Patch,
    /// A line a file with the number of its lines that changed.
    Stat,
    /// The names of the files.
    Names,
}

/// The files of a worktree, ready to be compared or committed.
struct CapturedFiles {
    snapshots: SnapshotStore,
    state: RepositoryState,
    /// The files without what the setup of the worktree had made.
    tree: String,
}

impl RunResults<'_> {
    /// Writes the diff to `file`.
    pub async fn write_diff(&self, form: DiffForm, file: &Path) -> Result<(), AutoError> {
        let words = match form {
            DiffForm::Patch => [PATCH, &["--find-renames"]].concat(),
            DiffForm::Stat => vec!["--stat=80", "--find-renames"],
            DiffForm::Names => vec!["--name-only"],
        };
        let compare = |base: &str, now: &str| {
            let words = COMPARE.iter().chain(&words).copied().chain([base, now, "--"]);
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        let out = std::fs::File::create(file).map_err(AutoError::for_path(file))?;
        match &self.source {
            ResultSource::Worktree(tree) => {
                let captured = self.capture(tree).await?;
                let args = compare(&tree.start, &captured.tree);
                let env = captured.snapshots.git_env();
                self.processes.run_git_to_file("compare the files", &tree.path, &env, args, out).await
            }
            ResultSource::Commit { commit, .. } => {
                let args = compare(self.require_base()?, commit);
                self.processes.run_git_to_file("compare the files", &self.target, &[], args, out).await
            }
            ResultSource::Patch(patch) if form == DiffForm::Patch => {
                std::fs::copy(patch, file).map(drop).map_err(AutoError::for_path(patch))
            }
            ResultSource::Patch(patch) => {
                let how = if form == DiffForm::Stat { "--stat=80" } else { "--numstat" };
                let args = ["apply", how, "--", &patch.to_string_lossy()];
                self.processes.run_git_to_file("read the diff", &self.scratch, &[], args, out).await
            }
        }
    }

    fn require_base(&self) -> Result<&str, AutoError> {
        self.base.as_deref().ok_or_else(|| {
            refusal_error(
                "no_base",
                format!("the commit that {} began with is not known", self.id),
                "merge its branch with git",
            )
        })
    }

    /// The files of the worktree now, in the scratch directory.
    async fn capture(&self, tree: &RunWorktree) -> Result<CapturedFiles, AutoError> {
        let gone = || {
            let message = format!("the worktree {} of {} is gone", tree.path.display(), self.id);
            refusal_error(
                "no_worktree",
                message,
                &format!("git worktree add {} {}", tree.path.display(), tree.branch),
            )
        };
        if !tree.path.is_dir() {
            return Err(gone());
        }
        let snapshots =
            SnapshotStore::open(self.processes, &tree.path, &self.scratch).await?.ok_or_else(gone)?;
        if snapshots.root() != tree.path
            && snapshots.root().canonicalize().ok() != tree.path.canonicalize().ok()
        {
            return Err(gone());
        }
        self.capture_with(tree, snapshots).await
    }

    async fn capture_with(
        &self,
        tree: &RunWorktree,
        snapshots: SnapshotStore,
    ) -> Result<CapturedFiles, AutoError> {
        let state = RepositoryState::capture(self.processes, &snapshots, Some(tree)).await?;
        let files = self.own_files(&snapshots, tree, &state.tree).await?;
        Ok(CapturedFiles { snapshots, state, tree: files })
    }

    /// The files of the run's commit with what differs between its beginning and `now`. What was other than in the commit already when it
    /// began is no change of its own: files that a setup made or changed, files outside of a sparse checkout.
    async fn own_files(
        &self,
        snapshots: &SnapshotStore,
        tree: &RunWorktree,
        now: &str,
    ) -> Result<String, AutoError> {
        let Some(base) = self.base_tree.as_deref() else { return Ok(now.to_owned()) };
        let mut env = snapshots.git_env();
        let mut alternates = env[3].1.as_os_str().to_owned();
        if let Some(objects) = &self.objects {
            // What was not committed lies there only.
            alternates.push(":");
            alternates.push(objects);
        }
        env[3].1 = Path::new(&alternates);
        let what = "compare the files";
        let changed = tree_diff(self.processes, &tree.path, &env, base, now).await?;
        let changed = index_info(changed.iter().map(|change| (&*change.raw, &change.after)));
        self.processes.run_git(what, &tree.path, &env, ["read-tree", &tree.start]).await?;
        let update = ["update-index", "-z", "--index-info"];
        self.processes.run_git_with_input(what, &tree.path, &env, update, changed).await?;
        Ok(trimmed_text(&self.processes.run_git(what, &tree.path, &env, ["write-tree"]).await?))
    }

    /// Refuses where a changed file needs a filter that the repository itself configures: an agent may have written it, so it is not
    /// started, and without it the contents would be wrong.
    async fn refuse_filters(&self, directory: &Path, files: &[PathBuf]) -> Result<(), AutoError> {
        let wanted =
            ["config", "--show-scope", "-z", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$"];
        let said = self.processes.run_git_unchecked(directory, &[], wanted).await?;
        let fields: Vec<&[u8]> = said.stdout.split(|byte| *byte == 0).collect();
        let mut own = BTreeSet::new();
        for pair in fields.chunks_exact(2) {
            let [scope, setting] = pair else { continue };
            let name = setting.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let name = String::from_utf8_lossy(name).into_owned();
            if (*scope == b"local" || *scope == b"worktree")
                && let Some((name, _)) = name.strip_prefix("filter.").and_then(|name| name.rsplit_once('.'))
            {
                own.insert(name.to_owned());
            }
        }
        if own.is_empty() || files.is_empty() {
            return Ok(());
        }
        let list: Vec<&[u8]> = files.iter().map(|file| file.as_os_str().as_encoded_bytes()).collect();
        let args = ["check-attr", "-z", "--stdin", "filter"];
        let said = self
            .processes
            .run_git_with_input("look at attributes", directory, &[], args, list.join(&0))
            .await?;
        let fields: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
        let filtered = fields.chunks_exact(3).find(|row| own.contains(&*String::from_utf8_lossy(row[2])));
        let Some(row) = filtered else { return Ok(()) };
        let message = format!(
            "{} needs the filter {}, which the repository's own configuration names: an agent may have written it, so it is not started",
            path_of(row[0]).display(),
            String::from_utf8_lossy(row[2])
        );
        Err(refusal_error(
            "filter",
            message,
            &format!("look at `git config --local --list`, then use git itself in {}", directory.display()),
        ))
    }

    /// Returns the answer of git in `directory`, as text; `None` if git fails.
    async fn ask_git(&self, directory: &Path, args: &[&str]) -> Result<Option<String>, AutoError> {
        let said = self.processes.run_git_unchecked(directory, &[], args.iter().copied()).await?;
        Ok(said.exit.is_success().then(|| trimmed_text(&said.stdout)))
    }

    /// The commit that is checked out in the target.
    async fn target_head(&self) -> Result<String, AutoError> {
        let head = self.ask_git(&self.target, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await?;
        head.ok_or_else(|| AutoError::NoCommit { repository: self.target.clone() })
    }

    /// Refuses if one of `files` in the target differs from its commit, or stands where none is known.
    async fn refuse_uncommitted(&self, files: &[PathBuf]) -> Result<(), AutoError> {
        let args =
            ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching"];
        let said = self.processes.run_git("look at your files", &self.target, &[], args).await?;
        let dirty: BTreeSet<PathBuf> = said
            .split(|byte| *byte == 0)
            .filter_map(|line| line.get(3..).filter(|name| !name.is_empty()))
            .map(path_of)
            .collect();
        let touched: Vec<&PathBuf> = files.iter().filter(|file| self.is_in_the_way(&dirty, file)).collect();
        if touched.is_empty() {
            return Ok(());
        }
        let message = format!(
            "{} in {} has changes that are not committed",
            join_names(&touched),
            self.target.display()
        );
        Err(refusal_error("uncommitted", message, "commit or stash them first; nothing was changed"))
    }

    /// Reports whether something of the user's stands where `file` comes: the file, a file where it needs a directory, or what lies below.
    /// An ignored directory is named as a whole, so what is in it is looked for.
    fn is_in_the_way(&self, dirty: &BTreeSet<PathBuf>, file: &Path) -> bool {
        let above = |directory: &Path| {
            dirty.contains(directory)
                && (!self.target.join(directory).is_dir()
                    || self.target.join(file).symlink_metadata().is_ok())
        };
        dirty.range(file.to_owned()..).next().is_some_and(|below| below.starts_with(file))
            || file.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()).any(above)
    }

    /// The files in which two commits or trees differ.
    async fn changed_files(
        &self,
        env: &[(&str, &Path)],
        from: &str,
        to: &str,
    ) -> Result<Vec<PathBuf>, AutoError> {
        let args = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to, "--"];
        let said = self.processes.run_git("compare the files", &self.target, env, args).await?;
        Ok(said.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(path_of).collect())
    }

    /// The size of what differs between two commits or trees.
    async fn diff_stat(&self, from: &str, to: &str) -> Result<DiffStat, AutoError> {
        let args = NUMSTAT.iter().copied().chain([from, to, "--"]);
        let said = self.processes.run_git("compare the files", &self.target, &[], args).await?;
        let mut stat = DiffStat::default();
        for line in said.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            stat.add_line(line);
        }
        Ok(stat)
    }
}

/// Returns the commits of `commits` that no other of them contains, in their order.
async fn independent_commits(
    processes: &RunProcesses,
    repository: &Path,
    commits: Vec<String>,
) -> Result<Vec<String>, AutoError> {
    if commits.len() < 2 {
        return Ok(commits);
    }
    let args = ["merge-base", "--independent"].into_iter().chain(commits.iter().map(String::as_str));
    let said = processes.run_git("compare the commits", repository, &[], args).await?;
    let heads: BTreeSet<String> = trimmed_text(&said).lines().map(str::to_owned).collect();
    Ok(commits.into_iter().filter(|commit| heads.contains(commit)).collect())
}

pub(crate) fn refusal_error(kind: &'static str, message: impl Into<String>, hint: &str) -> AutoError {
    AutoError::Refused { kind, message: message.into(), hint: hint.to_owned() }
}

fn trimmed_text(said: &[u8]) -> String {
    String::from_utf8_lossy(said).trim().to_owned()
}

/// The first of `files` in words.
fn join_names(files: &[impl AsRef<Path>]) -> String {
    let shown: Vec<String> = files.iter().map(|file| file.as_ref().display().to_string()).collect();
    first_names(&shown)
}
