//! Snapshots of a directory's files as git sees them, without a change to the repository: index and objects are the run's own.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use amplihack_config::git::answer_path;
use amplihack_sys::fs::{WriteDurability, write_atomic_with};

use crate::error::AutoError;
use crate::process::RunProcesses;

/// The messages of a git that could not write the snapshot itself.
const NO_SNAPSHOT: &[&str] = &["index file corrupt", "unable to write", "No space left", "index.lock"];
/// Settings under which every file is seen, whatever the agent set in the repository: what lies outside a sparse checkout, and what
/// was changed without a new size or time, and names that differ only in the case of letters.
const SEE_ALL: &[&str] = &[
    "core.ignoreCase=false",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.trustctime=true",
    "core.checkStat=default",
];

/// Comparing two trees: the plumbing command, of which no setting of the repository changes what it prints.
pub(crate) const COMPARE: &[&str] =
    &["diff-tree", "-r", "--no-color", "--no-ext-diff", "--ignore-submodules=none"];
/// The form of a patch that `git apply` takes: binary files and modes are whole in it.
pub(crate) const PATCH: &[&str] = &["-p", "--binary", "--full-index", "--no-textconv", "--submodule=short"];
/// Comparing two trees by the number of lines, a file each.
pub(crate) const NUMSTAT: &[&str] = &["diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff"];

/// Captures snapshots of the files of one repository's working tree.
#[derive(Debug)]
pub struct SnapshotStore {
    root: PathBuf,
    keep: PathBuf,
    index: PathBuf,
    objects: PathBuf,
    alternates: PathBuf,
    /// Setting of whether modes of files count, as it was when the run began.
    modes: String,
}

/// The size of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DiffStat {
    /// Files that differ.
    pub files: usize,
    /// Lines that were added; binary files have none.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
}

impl DiffStat {
    /// Adds a line of [`NUMSTAT`], and gives the file that it names. A binary file has no lines.
    pub(crate) fn add_line<'a>(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        let mut fields = line.splitn(3, |byte| *byte == b'\t');
        let mut number = || {
            let field = String::from_utf8_lossy(fields.next().unwrap_or_default());
            field.parse::<u64>().unwrap_or_default()
        };
        (self.added, self.removed) = (self.added + number(), self.removed + number());
        self.files += 1;
        fields.next()
    }
}

impl SnapshotStore {
    /// Snapshots of the repository around `directory`, kept in the run's directory `keep`. `None` outside a repository.
    pub async fn open(
        processes: &RunProcesses,
        directory: &Path,
        keep: &Path,
    ) -> Result<Option<Self>, AutoError> {
        let mut paths = Vec::new();
        // One at a time: a path may have line breaks.
        for asked in [&["--show-toplevel"][..], &["--git-path", "objects"]] {
            let args = ["rev-parse", "--path-format=absolute"].iter().chain(asked);
            match processes.run_git("find the repository", directory, &[], args).await {
                Ok(said) => paths.push(answer_path(&said)),
                Err(AutoError::Git { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let (Some(alternates), Some(root)) = (paths.pop(), paths.pop()) else { return Ok(None) };
        let objects = keep.join("objects");
        std::fs::create_dir_all(&objects).map_err(AutoError::for_path(&objects))?;
        let modes = ["config", "--type=bool", "--default=true", "core.fileMode"];
        let modes = processes.run_git("look at a setting", directory, &[], modes).await?;
        let modes = format!("core.fileMode={}", String::from_utf8_lossy(&modes).trim());
        Ok(Some(Self { root, keep: keep.to_owned(), index: keep.join("index"), objects, alternates, modes }))
    }

    /// Returns the snapshots with their objects in the repository itself, for what is to stay there.
    #[must_use]
    pub(crate) fn in_repository(mut self) -> Self {
        self.objects.clone_from(&self.alternates);
        self
    }

    /// The top directory of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files as they are now: all that git tracks, and all that it does not ignore.
    pub async fn capture(&self, processes: &RunProcesses) -> Result<String, AutoError> {
        // One that was ended in the middle, by a kill or with a run that lost its race, has left its lock.
        let _ = std::fs::remove_file(self.index.with_extension("lock"));
        let env = self.git_env();
        if !self.index.exists() {
            // Whatever is committed counts, also where it is ignored, and submodules that are not checked out. There need not be a commit.
            processes.run_git_unchecked(&self.root, &env, self.git_args(&["read-tree", "HEAD"])).await?;
        }
        let add =
            |more: &'static [&str]| self.git_args(&[&["add", "--all"][..], more, &["--", "."]].concat());
        let added = processes.run_git_unchecked(&self.root, &env, add(&[])).await?;
        if !added.exit.is_success() {
            // A repository without a commit, or a file that cannot be read, must not hide the others.
            let left = processes.run_git_unchecked(&self.root, &env, add(&["--ignore-errors"])).await?;
            let said = String::from_utf8_lossy(&left.stderr);
            if NO_SNAPSHOT.iter().any(|sign| said.contains(sign)) || left.late {
                let said = said.trim().replace('\n', "; ");
                return Err(AutoError::Git { what: "look at the files", said });
            }
        }
        self.add_forced(processes).await?;
        let tree = processes.run_git("look at the files", &self.root, &env, ["write-tree"]).await?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// Adds what is ignored and was nevertheless added to the repository's own index.
    async fn add_forced(&self, processes: &RunProcesses) -> Result<(), AutoError> {
        let forced = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
        let said = processes.run_git_unchecked(&self.root, &[], forced).await?;
        let there = |name: &&[u8]| {
            let file = self.root.join(amplihack_config::git::path_of(name));
            !name.is_empty() && file.symlink_metadata().is_ok_and(|file| !file.is_dir())
        };
        let names: Vec<&[u8]> = said.stdout.split(|byte| *byte == 0).filter(there).collect();
        if !said.exit.is_success() || names.is_empty() {
            return Ok(());
        }
        let [a, b, c, d] = self.git_env();
        let env = [a, b, c, d, ("GIT_LITERAL_PATHSPECS", Path::new("1"))];
        let add = self.git_args(&[
            "add",
            "--force",
            "--ignore-errors",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
        ]);
        processes
            .run_git_with_input("look at the files", &self.root, &env, add, names.join(&0))
            .await
            .map(drop)
    }

    /// Writes what was changed from `base` to `now` to `file`, as a patch that `git apply` takes: binary files and modes are whole in
    /// it. The file appears complete or not at all.
    pub async fn write_diff(
        &self,
        processes: &RunProcesses,
        base: &str,
        now: &str,
        file: &Path,
    ) -> Result<(), AutoError> {
        let part = self.keep.join("diff.part");
        let form = [COMPARE, PATCH, &["--find-renames", base, now, "--"]].concat();
        let out = File::create(&part).map_err(AutoError::for_path(&part))?;
        processes.run_git_to_file("compare the files", &self.root, &self.git_env(), form, out).await?;
        let mut patch = File::open(&part).map_err(AutoError::for_path(&part))?;
        write_atomic_with(file, 0o600, WriteDurability::Process, |out| {
            std::io::copy(&mut patch, out).map(drop)
        })
        .map_err(AutoError::for_path(file))?;
        // What stays costs room and nothing else.
        let _ = std::fs::remove_file(&part);
        Ok(())
    }

    /// The size of what was changed from `base` to `now`, and the names of the files.
    pub async fn diff_stat(
        &self,
        processes: &RunProcesses,
        base: &str,
        now: &str,
    ) -> Result<(DiffStat, Vec<PathBuf>), AutoError> {
        let args = NUMSTAT.iter().copied().chain([base, now, "--"]);
        let (mut stat, mut names) = (DiffStat::default(), Vec::new());
        for line in self.list_fields(processes, args).await? {
            names.extend(stat.add_line(&line).map(amplihack_config::git::path_of));
        }
        Ok((stat, names))
    }

    /// Finds the conflict markers that were left in what was changed from `base` to `now`, a line each.
    pub(crate) async fn conflict_markers(
        &self,
        processes: &RunProcesses,
        base: &str,
        now: &str,
    ) -> Result<Vec<String>, AutoError> {
        let args = ["diff", "--no-color", "--no-ext-diff", "--check", base, now, "--"];
        // It ends with a code of its own when it finds anything, blanks at the ends of lines too.
        let said = processes.run_git_unchecked(&self.root, &self.git_env(), args).await?.stdout;
        let found = String::from_utf8_lossy(&said);
        let markers = found.lines().filter(|line| line.ends_with("leftover conflict marker"));
        Ok(markers.take(20).map(str::to_owned).collect())
    }

    /// The fields of a list that git prints with a zero byte after each, however long it is.
    pub(crate) async fn list_fields<'a>(
        &self,
        processes: &RunProcesses,
        args: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<Vec<u8>>, AutoError> {
        let list = self.keep.join("list.part");
        let out = File::create(&list).map_err(AutoError::for_path(&list))?;
        let args = args.into_iter().collect::<Vec<_>>();
        processes
            .run_git_to_file("list the files", &self.root, &self.git_env(), self.git_args(&args), out)
            .await?;
        let read = BufReader::new(File::open(&list).map_err(AutoError::for_path(&list))?);
        let fields = read.split(0).collect::<Result<_, _>>().map_err(AutoError::for_path(&list))?;
        // The next list replaces one that stays.
        let _ = std::fs::remove_file(&list);
        Ok(fields)
    }

    /// A directory for a copy of the files, which nothing else uses.
    pub(crate) fn scratch_directory(&self) -> PathBuf {
        self.index.with_file_name("copy")
    }

    /// Removes what the snapshots were made of. With `keep` the objects stay, for what is compared with the beginning later.
    pub fn remove_data(&self, keep: bool) {
        // What stays costs room and nothing else.
        let _ = std::fs::remove_file(&self.index);
        if !keep && self.objects != self.alternates {
            // As above.
            let _ = std::fs::remove_dir_all(&self.objects);
        }
    }

    /// A command of git with the settings under which every file is seen.
    fn git_args<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        let settings = SEE_ALL.iter().copied().chain([self.modes.as_str()]);
        settings.flat_map(|setting| ["-c", setting]).chain(words.iter().copied()).collect()
    }

    /// The environment in which git uses the index and the objects of the run.
    pub(crate) fn git_env(&self) -> [(&'static str, &Path); 4] {
        [
            // The agent may have written from where.
            ("GIT_NO_LAZY_FETCH", Path::new("1")),
            ("GIT_INDEX_FILE", &self.index),
            ("GIT_OBJECT_DIRECTORY", &self.objects),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.alternates),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    use std::time::Duration;

    use amplihack_config::env::Env;
    use amplihack_session::InterruptSignals;

    use super::*;

    #[tokio::test]
    async fn a_snapshot_starts_nothing_that_the_repository_configures() {
        let dir = tempfile::tempdir().unwrap();
        let (root, trap, sprung) = (dir.path().join("r"), dir.path().join("trap"), dir.path().join("sprung"));
        fs::create_dir(&root).unwrap();
        fs::write(&trap, format!("#!/bin/sh\necho x >>'{}'\ncat\n", sprung.display())).unwrap();
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
        let env = Env::empty()
            .with_variable("PATH", "/usr/local/bin:/usr/bin:/bin")
            .with_variable("HOME", dir.path());
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.args(args).env_clear().envs(env.iter()).current_dir(&root);
            assert!(git.output().unwrap().status.success(), "{args:?}");
        };
        git(&["init", "--quiet"]);
        let trap = trap.to_str().unwrap();
        for name in ["filter.a=b.clean", "filter.a=b.process", "core.fsmonitor", "diff.external"] {
            git(&["config", name, trap]);
        }
        git(&["config", "filter.a=b.required", "true"]);
        fs::write(root.join(".gitattributes"), "* filter=a=b\n").unwrap();
        fs::write(root.join("f"), "1\n").unwrap();
        let quiet = InterruptSignals::without_signals();
        let processes =
            RunProcesses::new(env.clone(), Duration::from_secs(1), dir.path(), "r-1", quiet).unwrap();
        let snapshots = SnapshotStore::open(&processes, &root, dir.path()).await.unwrap().unwrap();
        let base = snapshots.capture(&processes).await.unwrap();
        fs::write(root.join("f"), "2\n").unwrap();
        let now = snapshots.capture(&processes).await.unwrap();
        let patch = dir.path().join("diff.patch");
        snapshots.write_diff(&processes, &base, &now, &patch).await.unwrap();
        assert!(fs::read_to_string(&patch).unwrap().contains("-1\n+2\n"));
        let (stat, names) = snapshots.diff_stat(&processes, &base, &now).await.unwrap();
        assert_eq!((stat, names), (DiffStat { files: 1, added: 1, removed: 1 }, vec![PathBuf::from("f")]));
        assert!(!sprung.exists(), "{}", fs::read_to_string(&sprung).unwrap_or_default());
    }
}
