//! Repositories to send, and the far side played by plain git and tar as `docs/remote/protocol.md` says.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use amplihack_remote::package::{PackageOptions, SessionPackage};
use amplihack_testkit::{Output, Run, Sandbox};

/// A token that no scanner finds in this file; another for each `kind`.
pub(crate) fn token(kind: char) -> String {
    format!("{}{kind}8Kd03LmQpX7vRt2NwZc5YbHs1GfUe9JiTo4", "ghp_")
}

/// A sandbox with a repository in `work`.
pub(crate) struct Here {
    pub(crate) sandbox: Sandbox,
    work: PathBuf,
    pub(crate) kept: PathBuf,
}

impl Here {
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::repository();
        let (work, kept) = (sandbox.work(), sandbox.root().join("kept"));
        Self { sandbox, work, kept }
    }

    pub(crate) fn work(&self) -> &Path {
        &self.work
    }

    /// Runs git in `directory`, which must succeed; its answer without the last line break.
    #[track_caller]
    pub(crate) fn git_in<A: AsRef<OsStr>>(
        &self,
        directory: &Path,
        args: impl IntoIterator<Item = A>,
    ) -> String {
        let mut command = self.sandbox.command("git");
        command.args(args).current_dir(directory);
        done(&Run::new(command).output())
    }

    #[track_caller]
    pub(crate) fn git<const N: usize>(&self, args: [&str; N]) -> String {
        self.git_in(&self.work, args)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        self.sandbox.write(Path::new("work").join(path), text);
    }

    /// Commits everything, and says which commit it is.
    #[track_caller]
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(["rev-parse", "HEAD"])
    }

    /// What packages this repository unless something else is asked for.
    pub(crate) fn options(&self) -> PackageOptions<'_> {
        PackageOptions::new(&self.work, self.sandbox.env(), &self.kept)
    }

    /// Packages with what is not committed.
    pub(crate) async fn dirty(&self) -> SessionPackage {
        SessionPackage::build(PackageOptions { include_dirty: true, ..self.options() }).await.unwrap()
    }

    /// What the far side makes of a package: a work tree in `far/NAME`.
    #[track_caller]
    pub(crate) fn arrive(&self, package: &SessionPackage, name: &str) -> PathBuf {
        let far = self.sandbox.root().join("far").join(name);
        std::fs::create_dir_all(far.parent().unwrap()).unwrap();
        let bundle = package.bundle.as_ref().expect("all of it is sent");
        let clone = ["clone", "--quiet", "--no-checkout"].map(OsStr::new);
        self.git_in(self.sandbox.root(), clone.into_iter().chain([bundle.path.as_os_str(), far.as_os_str()]));
        self.git_in(&far, ["checkout", "--quiet", "-B", &package.branch, &package.base]);
        if let Some(extra) = &package.extra {
            let script = r#"set -e
                if tar -tzf "$1" | grep -qx '\.git/amplihack-removed'; then
                    tar -xzf "$1" .git/amplihack-removed
                    xargs -0 rm -rf -- < .git/amplihack-removed
                    rm .git/amplihack-removed
                fi
                tar -xzf "$1""#;
            let mut command = self.sandbox.command("sh");
            command.args(["-c", script, "sh"]).arg(&extra.path).current_dir(&far);
            done(&Run::new(command).output());
        }
        far
    }

    /// What `collect` does: a bundle of all branches beyond the base, and of work that is not committed.
    #[track_caller]
    pub(crate) fn collect(&self, far: &Path, base: &str, wip: Option<&str>) -> PathBuf {
        if let Some(wip) = wip {
            let script = r#"set -e
                index=$(mktemp); cp .git/index "$index"; export GIT_INDEX_FILE="$index"
                git add --all; tree=$(git write-tree)
                git update-ref "refs/heads/$1" "$(git commit-tree -p HEAD -m 'not committed' "$tree")"
                rm "$index""#;
            let mut command = self.sandbox.command("sh");
            command.args(["-c", script, "sh", wip]).current_dir(far);
            done(&Run::new(command).output());
        }
        let bundle = far.join(".git/results.bundle");
        let words = ["bundle", "create", "--quiet"].map(OsStr::new).into_iter();
        let without = format!("^{base}");
        self.git_in(far, words.chain([bundle.as_os_str(), OsStr::new("--branches"), OsStr::new(&without)]));
        bundle
    }

    /// Everything that git says of the repository besides refs of results: no pull may change it.
    pub(crate) fn state(&self) -> String {
        let refs = self.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
        let refs: Vec<&str> = refs.lines().filter(|line| !line.contains("remote-exec")).collect();
        let status = self.git(["status", "--porcelain=v2", "--branch"]);
        let written = self.work().join(".git/FETCH_HEAD").exists();
        format!("{refs:?}{status}{written}")
    }
}

/// The output of a command that must have succeeded.
#[track_caller]
fn done(output: &Output) -> String {
    output.assert_code(0);
    output.stdout_text().trim_end_matches('\n').to_owned()
}

/// Names in a directory and below, without `.git`, as bytes and in order; links are not followed.
pub(crate) fn names(directory: &Path) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() == ".git" {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                found.push(entry.path().strip_prefix(directory).unwrap().as_os_str().as_bytes().to_vec());
            }
        }
    }
    found.sort();
    found
}
