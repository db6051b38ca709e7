//! The state of a directory's files as git sees it, without a change to the repository: index and objects are the run's own.

use std::path::{Path, PathBuf};

use amplihack_utils::fs::git::path;

use crate::error::AutoError;
use crate::process::Processes;

/// The most that is kept of a diff.
const MAX_DIFF: usize = 8 * 1024 * 1024;
/// What git says where it could not write the picture itself.
const NO_PICTURE: &[&str] = &["index file corrupt", "unable to write", "No space left", "index.lock"];

/// Takes pictures of the files of one repository's working tree.
#[derive(Debug)]
pub struct Pictures {
    root: PathBuf,
    index: PathBuf,
    objects: PathBuf,
    alternates: PathBuf,
}

impl Pictures {
    /// Pictures of the repository around `directory`, kept in the run's directory `keep`. `None` outside a repository.
    pub async fn of(processes: &Processes, directory: &Path, keep: &Path) -> Result<Option<Self>, AutoError> {
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
    pub async fn take(&self, processes: &Processes) -> Result<String, AutoError> {
        let env = self.env();
        let add = |more: &'static [&str]| [&["add", "--all"][..], more, &["--", "."]].concat();
        let added = processes.git_says(&self.root, &env, add(&[])).await?;
        if !added.exit.success() {
            // A repository without a commit, or a file that cannot be read, must not hide the others.
            let left = processes.git_says(&self.root, &env, add(&["--ignore-errors"])).await?;
            let said = String::from_utf8_lossy(&left.stderr);
            if NO_PICTURE.iter().any(|sign| said.contains(sign)) || left.late {
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
    pub async fn markers(
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

    /// Removes what the pictures were made of.
    pub fn forget(&self) {
        // What stays costs room and nothing else.
        let _ = std::fs::remove_file(&self.index);
        let _ = std::fs::remove_dir_all(&self.objects);
    }

    fn env(&self) -> [(&'static str, &Path); 3] {
        [
            ("GIT_INDEX_FILE", &self.index),
            ("GIT_OBJECT_DIRECTORY", &self.objects),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.alternates),
        ]
    }
}
