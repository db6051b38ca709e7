//! The state of a directory's files as git sees it, without a change to the repository: index and objects are the run's own.

use std::path::{Path, PathBuf};

use amplihack_utils::git::path;

use crate::error::AutoError;
use crate::process::Processes;

/// The most that is kept of a diff.
const MAX_DIFF: usize = 8 * 1024 * 1024;
/// What git says where it could not write the snapshot itself.
const NO_SNAPSHOT: &[&str] = &["index file corrupt", "unable to write", "No space left", "index.lock"];

/// Takes snapshots of the files of one repository's working tree.
#[derive(Debug)]
pub struct Snapshots {
    root: PathBuf,
    index: PathBuf,
    objects: PathBuf,
    alternates: PathBuf,
}

impl Snapshots {
    /// Snapshots of the repository around `directory`, kept in the run's directory `keep`. `None` outside a repository.
    pub async fn open(
        processes: &Processes,
        directory: &Path,
        keep: &Path,
    ) -> Result<Option<Self>, AutoError> {
        let mut paths = Vec::new();
        // One at a time: a path may have line breaks.
        for asked in [&["--show-toplevel"][..], &["--git-path", "objects"]] {
            let args = ["rev-parse", "--path-format=absolute"].iter().chain(asked);
            match processes.git("look for the repository", directory, &[], args).await {
                Ok(said) => paths.push(path(&said)),
                Err(AutoError::Git { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let (Some(alternates), Some(root)) = (paths.pop(), paths.pop()) else { return Ok(None) };
        let objects = keep.join("objects");
        std::fs::create_dir_all(&objects).map_err(AutoError::file(&objects))?;
        Ok(Some(Self { root, index: keep.join("index"), objects, alternates }))
    }

    /// The files as they are now: all that git does not ignore.
    pub async fn capture(&self, processes: &Processes) -> Result<String, AutoError> {
        let env = self.env();
        let add = |more: &'static [&str]| [&["add", "--all"][..], more, &["--", "."]].concat();
        let added = processes.git_says(&self.root, &env, add(&[])).await?;
        if !added.exit.success() {
            // A repository without a commit, or a file that cannot be read, must not hide the others.
            let left = processes.git_says(&self.root, &env, add(&["--ignore-errors"])).await?;
            let said = String::from_utf8_lossy(&left.stderr);
            if NO_SNAPSHOT.iter().any(|sign| said.contains(sign)) || left.late {
                let said = said.trim().replace('\n', "; ");
                return Err(AutoError::Git { what: "look at the files", said });
            }
        }
        let tree = processes.git("look at the files", &self.root, &env, ["write-tree"]).await?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// What was changed from `base` to `now`, as a patch.
    pub async fn diff(&self, processes: &Processes, base: &str, now: &str) -> Result<Vec<u8>, AutoError> {
        let args = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", base, now, "--"];
        let mut diff = processes.git("compare the files", &self.root, &self.env(), args).await?;
        diff.truncate(MAX_DIFF);
        Ok(diff)
    }

    /// Where conflict markers were left in what was changed from `base` to `now`, a line each.
    pub(crate) async fn markers(
        &self,
        processes: &Processes,
        base: &str,
        now: &str,
    ) -> Result<Vec<String>, AutoError> {
        let args = ["diff", "--no-color", "--no-ext-diff", "--check", base, now, "--"];
        // It ends with a code of its own when it finds anything, blanks at the ends of lines too.
        let said = processes.git_says(&self.root, &self.env(), args).await?.stdout;
        let found = String::from_utf8_lossy(&said);
        let markers = found.lines().filter(|line| line.ends_with("leftover conflict marker"));
        Ok(markers.take(20).map(str::to_owned).collect())
    }

    /// Removes what the snapshots were made of.
    pub fn forget(&self) {
        // What stays costs room and nothing else.
        let _ = std::fs::remove_file(&self.index);
        let _ = std::fs::remove_dir_all(&self.objects);
    }

    /// The top of the working tree.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A directory for a copy of the files, which nothing else uses.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.index.with_file_name("copy")
    }

    /// The environment in which git uses the snapshots' index and objects.
    pub(crate) fn env(&self) -> [(&'static str, &Path); 4] {
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

    use amplihack_session::Interrupts;
    use amplihack_utils::env::Env;

    use super::*;

    #[tokio::test]
    async fn a_snapshot_starts_nothing_that_the_repository_configures() {
        let dir = tempfile::tempdir().unwrap();
        let (root, trap, sprung) = (dir.path().join("r"), dir.path().join("trap"), dir.path().join("sprung"));
        fs::create_dir(&root).unwrap();
        fs::write(&trap, format!("#!/bin/sh\necho x >>'{}'\ncat\n", sprung.display())).unwrap();
        fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
        let env = Env::empty().with("PATH", "/usr/local/bin:/usr/bin:/bin").with("HOME", dir.path());
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
        let quiet = Interrupts::none();
        let processes =
            Processes::new(env.clone(), Duration::from_secs(1), dir.path(), "r-1", quiet).unwrap();
        let snapshots = Snapshots::open(&processes, &root, dir.path()).await.unwrap().unwrap();
        let base = snapshots.capture(&processes).await.unwrap();
        fs::write(root.join("f"), "2\n").unwrap();
        let now = snapshots.capture(&processes).await.unwrap();
        let diff = snapshots.diff(&processes, &base, &now).await.unwrap();
        assert!(String::from_utf8(diff).unwrap().contains("-1\n+2\n"));
        assert!(!sprung.exists(), "{}", fs::read_to_string(&sprung).unwrap_or_default());
    }
}
