//! Results of a run besides files that git sees: commits, branches, stashes, half-done operations, inner repositories, ignored files.
//! The state of the repository is captured at the beginning and at the end, and compared: one view of "changed" for reports and for
//! the removal of worktrees.

mod listing;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use amplihack_config::git::{answer_path, path_of};
use amplihack_config::launcher_context::RELATIVE_PATH;
use amplihack_sys::push_line;
use serde::{Deserialize, Serialize};

use crate::error::AutoError;
use crate::names::first_names;
use crate::process::RunProcesses;
use crate::snapshots::SnapshotStore;
use crate::worktree::RunWorktree;
use listing::{FileDigests, directory_digest};

/// File of the state at the beginning, in the run's directory.
const FILE: &str = "baseline.json";
/// Files that git leaves in its directory while an operation waits for its end.
const UNFINISHED: &[(&str, &str)] = &[
    ("rebase-merge", "a half-done rebase"),
    ("rebase-apply", "a half-done rebase or am"),
    ("MERGE_HEAD", "a half-done merge"),
    ("CHERRY_PICK_HEAD", "a half-done cherry-pick"),
    ("REVERT_HEAD", "a half-done revert"),
    ("sequencer", "a half-done series of picks"),
    ("BISECT_LOG", "a half-done bisect"),
    ("MERGE_AUTOSTASH", "a half-done merge with a stash"),
];

/// The state of a repository, as far as something in it could be lost with its working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryState {
    /// The files, as a tree of git.
    pub tree: String,
    /// The commit that is checked out.
    #[serde(default)]
    pub head: Option<String>,
    /// The ref that `HEAD` names; none while it is detached.
    #[serde(default)]
    pub branch: Option<String>,
    #[serde(default)]
    refs: BTreeMap<String, String>,
    #[serde(default)]
    stashes: Vec<String>,
    #[serde(default)]
    unfinished: BTreeSet<String>,
    /// The index differs from the commit.
    #[serde(default)]
    staged: bool,
    /// Commits that only the working tree's own `HEAD` and its log name.
    #[serde(default)]
    own_commits: BTreeSet<String>,
    /// Files that git does not track, by their first directory.
    #[serde(default)]
    ignored: FileDigests,
    /// Submodules and repositories inside, by path.
    #[serde(default)]
    inner: FileDigests,
    /// Directories of which not all could be seen.
    #[serde(default)]
    unknown: BTreeSet<String>,
}

/// A kind of difference from the beginning, in words that fit "it holds …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepositoryDifference {
    /// Files that git sees.
    Files,
    /// The index.
    Staged,
    /// A commit on a detached `HEAD`.
    Detached(String),
    /// Commits of its branch, and commits that only its log names.
    Commits(Vec<String>),
    /// A branch or tag that was made or moved.
    Ref(String),
    /// Stashes.
    Stash(usize),
    /// An operation that waits for its end.
    Unfinished(&'static str),
    /// Submodules and repositories inside it.
    Inner(Vec<String>),
    /// Files that git ignores.
    Ignored(Vec<String>),
    /// Paths that cannot be compared with the beginning, since not all of them can be seen.
    Unknown(Vec<String>),
}

impl fmt::Display for RepositoryDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files => f.write_str("changes"),
            Self::Staged => f.write_str("changes in its index"),
            Self::Detached(commit) => write!(f, "a commit on a detached HEAD ({})", short_commit(commit)),
            Self::Commits(commits) => {
                write!(
                    f,
                    "commits that are not merged ({})",
                    first_names(&commits.iter().map(|one| short_commit(one)).collect::<Vec<_>>())
                )
            }
            Self::Ref(name) => {
                let name = name.strip_prefix("refs/").unwrap_or(name);
                let name = name
                    .strip_prefix("heads/")
                    .map_or_else(|| name.to_owned(), |name| format!("branch {name}"));
                write!(f, "commits on the {name}")
            }
            Self::Stash(1) => f.write_str("a stash"),
            Self::Stash(many) => write!(f, "{many} stashes"),
            Self::Unfinished(what) => f.write_str(what),
            Self::Inner(paths) => write!(f, "changes inside {}", first_names(paths)),
            Self::Unknown(paths) => {
                write!(f, "what cannot be looked at ({})", first_names(paths))
            }
            Self::Ignored(names) => {
                write!(f, "files that git ignores ({})", first_names(names))
            }
        }
    }
}

/// `differences` in words: "it holds …".
pub fn describe_differences(differences: &[RepositoryDifference]) -> String {
    let words: Vec<String> = differences.iter().map(ToString::to_string).collect();
    match words.split_last() {
        Some((last, [])) => format!("it holds {last}"),
        Some((last, others)) => format!("it holds {} and {last}", others.join(", ")),
        None => "it holds nothing".to_owned(),
    }
}

impl RepositoryState {
    /// The state of the repository now. `own` is the worktree of the run, where it has one.
    pub async fn capture(
        processes: &RunProcesses,
        snapshots: &SnapshotStore,
        own: Option<&RunWorktree>,
    ) -> Result<Self, AutoError> {
        let tree = snapshots.capture(processes).await?;
        let root = snapshots.root();
        let asked = async |args: &[&str]| -> Result<Option<String>, AutoError> {
            let said = processes.run_git_unchecked(root, &[], args).await?;
            let text = String::from_utf8_lossy(&said.stdout).trim().to_owned();
            Ok(said.exit.is_success().then_some(text).filter(|text| !text.is_empty()))
        };
        let head = asked(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await?;
        let branch = asked(&["symbolic-ref", "--quiet", "HEAD"]).await?;
        let (refs, others) = list_refs(processes, root, own).await?;
        let staged = match &head {
            Some(_) => {
                asked(&["diff-index", "--cached", "--name-only", "--ignore-submodules=none", "HEAD", "--"])
                    .await?
            }
            None => asked(&["ls-files", "--cached"]).await?,
        };
        let own_commits = match own {
            Some(own) => own_commits(processes, root, own).await?,
            None => BTreeSet::new(),
        };
        let mut state = Self {
            tree,
            head,
            branch,
            refs,
            stashes: list_stashes(processes, root, &others).await?,
            unfinished: list_unfinished(processes, root).await?,
            staged: staged.is_some(),
            own_commits,
            ..Self::default()
        };
        state.list_untracked(processes, snapshots).await?;
        Ok(state)
    }

    /// Lists what git does not track, and looks into the repositories inside.
    async fn list_untracked(
        &mut self,
        processes: &RunProcesses,
        snapshots: &SnapshotStore,
    ) -> Result<(), AutoError> {
        let root = snapshots.root();
        let mut inner: BTreeSet<Vec<u8>> = BTreeSet::new();
        for line in snapshots.list_fields(processes, ["ls-files", "-z", "--stage"]).await? {
            if let Some(at) =
                line.iter().position(|byte| *byte == b'\t').filter(|_| line.starts_with(b"160000 "))
            {
                inner.insert(line.get(at + 1..).unwrap_or_default().to_vec());
            }
        }
        let ignored = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard"];
        // What could not be added: a repository without a commit, a file that cannot be read.
        let others = ["ls-files", "-z", "--others", "--exclude-standard"];
        for args in [&ignored[..], &others[..]] {
            for name in snapshots.list_fields(processes, args.iter().copied()).await? {
                match name.strip_suffix(b"/") {
                    Some(name) => drop(inner.insert(name.to_vec())),
                    None if is_ours(&name) => {}
                    None => self.ignored.enter_file(root, &path_of(&name)),
                }
            }
        }
        if inner.is_empty() {
            return Ok(());
        }
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let common = answer_path(&processes.run_git("find the repository", root, &[], common).await?);
        let common = common.canonicalize().unwrap_or(common);
        for name in inner {
            let name = path_of(&name);
            match directory_digest(&root.join(&name), &common) {
                // An empty directory, as of a submodule that is not checked out, holds nothing.
                Some(0) => {}
                Some(digest) => self.inner.enter_group(&name.to_string_lossy(), digest),
                None => _ = self.unknown.insert(name.to_string_lossy().into_owned()),
            }
        }
        Ok(())
    }

    /// Returns the differences of `now` from this state.
    pub fn find_differences(&self, now: &Self) -> Vec<RepositoryDifference> {
        let mut found = Vec::new();
        if now.tree != self.tree {
            found.push(RepositoryDifference::Files);
        }
        if now.staged && !self.staged && now.tree == self.tree {
            found.push(RepositoryDifference::Staged);
        }
        let mut commits: Vec<String> = now.own_commits.difference(&self.own_commits).cloned().collect();
        let detached = now.head.clone().filter(|_| now.branch.is_none() && self.branch.is_some());
        if let Some(head) = detached.filter(|head| commits.contains(head)) {
            commits.retain(|commit| *commit != head);
            found.push(RepositoryDifference::Detached(head));
        }
        if !commits.is_empty() {
            found.push(RepositoryDifference::Commits(commits));
        }
        let moved = now.refs.iter().filter(|(name, commit)| self.refs.get(*name) != Some(commit));
        // One that stands where another stood at the beginning holds nothing new.
        let known: BTreeSet<&String> = self.refs.values().chain(&self.head).collect();
        found.extend(
            moved
                .filter(|(_, commit)| !known.contains(commit))
                .map(|(name, _)| RepositoryDifference::Ref(name.clone())),
        );
        let stashes = now.stashes.iter().filter(|stash| !self.stashes.contains(stash)).count();
        if stashes > 0 {
            found.push(RepositoryDifference::Stash(stashes));
        }
        let unfinished =
            |name: &&String| UNFINISHED.iter().find(|(known, _)| known == *name).map(|(_, words)| *words);
        found.extend(
            now.unfinished
                .difference(&self.unfinished)
                .filter_map(|name| unfinished(&name))
                .map(RepositoryDifference::Unfinished),
        );
        let (inner, ignored) =
            (self.inner.changed_groups(&now.inner), self.ignored.changed_groups(&now.ignored));
        if !inner.is_empty() {
            found.push(RepositoryDifference::Inner(inner));
        }
        if !ignored.is_empty() {
            found.push(RepositoryDifference::Ignored(ignored));
        }
        if !now.unknown.is_empty() {
            found.push(RepositoryDifference::Unknown(now.unknown.iter().cloned().collect()));
        }
        found
    }

    /// A state with the files `tree` and nothing else in them, in the same repository: for a beginning that nobody looked at.
    pub(crate) fn with_tree(&self, tree: &str) -> Self {
        Self {
            tree: tree.to_owned(),
            head: self.head.clone(),
            branch: self.branch.clone(),
            refs: self.refs.clone(),
            stashes: self.stashes.clone(),
            ..Self::default()
        }
    }

    /// The state with other files that git sees.
    pub(crate) fn with_files(&self, tree: &str) -> Self {
        Self { tree: tree.to_owned(), ..self.clone() }
    }

    /// The operation that waits for its end, in words.
    pub(crate) fn half_done(&self) -> Option<&'static str> {
        UNFINISHED.iter().find(|(name, _)| self.unfinished.contains(*name)).map(|(_, words)| *words)
    }

    /// Commits that go with the worktree.
    pub(crate) fn own_commits(&self) -> impl Iterator<Item = String> {
        self.own_commits.iter().cloned()
    }

    /// Stores the state at the beginning in the run's directory.
    pub(crate) fn store(&self, directory: &Path) -> Result<(), AutoError> {
        let file = directory.join(FILE);
        let text = serde_json::to_vec(self).map_err(|error| AutoError::for_path(&file)(error.into()))?;
        amplihack_sys::fs::write_atomic(&file, &text, 0o600, amplihack_sys::fs::WriteDurability::Process)
            .map_err(AutoError::for_path(&file))
    }

    /// The state at the beginning of the run in `directory`; `None` if it has none that can be read, as runs of older versions.
    pub fn load(directory: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(directory.join(FILE)).ok()?).ok()
    }
}

/// The refs that may hold work of this run, with their commits; and the branches that are checked out elsewhere, which belong there.
async fn list_refs(
    processes: &RunProcesses,
    root: &Path,
    own: Option<&RunWorktree>,
) -> Result<(BTreeMap<String, String>, BTreeSet<String>), AutoError> {
    let args = ["for-each-ref", "--format=%(objectname)%00%(refname)%00%(worktreepath)%00"];
    let said = processes.run_git("list the branches", root, &[], args).await?;
    let fields: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
    let (mut refs, mut others) = (BTreeMap::new(), BTreeSet::new());
    let here = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    for field in fields.chunks_exact(3) {
        let [commit, name, at] = field else { continue };
        let commit = commit.strip_prefix(b"\n").unwrap_or(commit);
        let (commit, name) =
            (String::from_utf8_lossy(commit).into_owned(), String::from_utf8_lossy(name).into_owned());
        let at = path_of(at);
        let elsewhere = !at.as_os_str().is_empty() && at.canonicalize().unwrap_or(at) != here;
        if elsewhere {
            others.insert(name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned());
            continue;
        }
        let foreign =
            ["refs/remotes/", "refs/amplihack/", "refs/stash"].iter().any(|prefix| name.starts_with(prefix));
        let its_own = own.is_some_and(|own| name.strip_prefix("refs/heads/") == Some(own.branch.as_str()));
        if !foreign && !its_own {
            refs.insert(name, commit);
        }
    }
    Ok((refs, others))
}

/// The stashes, newest first, without those that were made on a branch of another worktree.
async fn list_stashes(
    processes: &RunProcesses,
    root: &Path,
    others: &BTreeSet<String>,
) -> Result<Vec<String>, AutoError> {
    let said = processes
        .run_git_unchecked(root, &[], ["reflog", "show", "--format=%H %gs", "refs/stash", "--"])
        .await?;
    if !said.exit.is_success() {
        return Ok(Vec::new());
    }
    let elsewhere = |line: &str| others.iter().any(|branch| line.contains(&format!("n {branch}:")));
    let text = String::from_utf8_lossy(&said.stdout);
    let lines = text.lines().filter(|line| !elsewhere(line));
    Ok(lines.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
}

/// The operations that wait for their end.
async fn list_unfinished(processes: &RunProcesses, root: &Path) -> Result<BTreeSet<String>, AutoError> {
    let directory =
        processes.run_git("find the repository", root, &[], ["rev-parse", "--absolute-git-dir"]).await?;
    let directory = answer_path(&directory);
    let there = UNFINISHED.iter().filter(|(name, _)| directory.join(name).exists());
    Ok(there.map(|(name, _)| (*name).to_owned()).collect())
}

/// Commits that go with the worktree `own`: named by its `HEAD`, by what git remembers of that, or by its branch, and in no other ref.
async fn own_commits(
    processes: &RunProcesses,
    root: &Path,
    own: &RunWorktree,
) -> Result<BTreeSet<String>, AutoError> {
    let mut named = String::new();
    let branch = format!("refs/heads/{}", own.branch);
    for log in ["HEAD", branch.as_str()] {
        let said =
            processes.run_git_unchecked(root, &[], ["reflog", "show", "--format=%H", log, "--"]).await?;
        named.push_str(&String::from_utf8_lossy(&said.stdout));
    }
    // Refs that only this worktree has.
    let refs = ["for-each-ref", "--format=%(objectname)", "refs/worktree", "refs/bisect", "refs/rewritten"];
    let said = processes.run_git("look at the commits", root, &[], refs).await?;
    named.push_str(&String::from_utf8_lossy(&said));
    let heads = ["HEAD", &branch, "ORIG_HEAD", "FETCH_HEAD", "CHERRY_PICK_HEAD", "MERGE_HEAD", "REBASE_HEAD"];
    let check = ["cat-file", "--batch-check=%(objecttype) %(objectname)"];
    let asked = heads.join("\n").into_bytes();
    let said = processes.run_git_with_input("look at the commits", root, &[], check, asked).await?;
    // A name that is none is "… missing".
    for commit in String::from_utf8_lossy(&said).lines().filter_map(|line| line.strip_prefix("commit ")) {
        push_line!(named, "{commit}");
    }
    push_line!(named, "^{}", own.start);
    let exclude = format!("--exclude={branch}");
    let args = [
        "rev-list",
        "--max-count=100",
        "--ignore-missing",
        "--stdin",
        "--not",
        &exclude,
        // These are the worktree's own, and go with it.
        "--exclude=refs/bisect/*",
        "--exclude=refs/worktree/*",
        "--exclude=refs/rewritten/*",
        "--glob=refs/*",
    ];
    let said =
        processes.run_git_with_input("look at the commits", root, &[], args, named.into_bytes()).await?;
    Ok(String::from_utf8_lossy(&said).lines().map(str::to_owned).collect())
}

/// Reports whether amplihack itself wrote the file there.
fn is_ours(name: &[u8]) -> bool {
    name.strip_suffix(RELATIVE_PATH.as_bytes()).is_some_and(|above| above.is_empty() || above.ends_with(b"/"))
}

fn short_commit(commit: &str) -> &str {
    commit.get(..9).unwrap_or(commit)
}
