//! The real machine, as the policy asks about it: only when a rule needs to know.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use amplihack_policy::World;
use amplihack_utils::env::Env;
use amplihack_utils::fs::{read_limited, repository_root};
use amplihack_utils::git::Git;
use amplihack_utils::sys::{Captured, capture};

/// How long git may take for one answer. The hook's own deadline is five seconds.
const PATIENCE: Duration = Duration::from_millis(1500);
/// Bytes of a file or an answer of git's.
const LIMIT: u64 = 64 * 1024;
/// Symbolic links that are followed in one path, as many as Linux follows.
const LINKS: usize = 40;

/// Facts about this machine.
#[derive(Debug, Clone)]
pub struct Machine {
    env: Env,
}

impl Machine {
    /// The machine of a process with the environment `env`.
    pub fn new(env: &Env) -> Self {
        Self { env: env.clone() }
    }

    /// The environment that it was made for.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// git in `dir`, with nothing of the environment but where its programs and the user's settings are.
    fn git(&self, dir: &Path) -> Git {
        let env: Env = ["PATH", "HOME", "XDG_CONFIG_HOME"]
            .into_iter()
            .filter_map(|name| Some((name, self.env.get(name)?)))
            .collect();
        Git::new(&env, dir)
    }
}

/// What `git ARGS` prints, and its exit code.
fn answer(git: &Git, args: &[&str]) -> Option<(i32, String)> {
    let mut command = git.command();
    command.args(args);
    let said = said(command)?;
    Some((said.code?, String::from_utf8(said.stdout).ok()?))
}

fn said(command: Command) -> Option<Captured> {
    capture(command, PATIENCE, usize::try_from(LIMIT).unwrap_or(usize::MAX)).ok()
}

impl World for Machine {
    /// The branch; empty where there is no repository, and `HEAD` where no branch is checked out.
    fn branch(&self, dir: &Path) -> Option<String> {
        let Some(root) = repository_root(dir) else {
            return if dir.is_dir() { Some(String::new()) } else { None };
        };
        let head = read_limited(&git_directory(&root)?.join("HEAD"), LIMIT).ok()?;
        let head = String::from_utf8(head).ok()?;
        match head.trim_end().strip_prefix("ref: refs/heads/") {
            // The reference store that is not made of files keeps the truth elsewhere.
            Some(".invalid") => {
                let (code, name) = answer(&self.git(dir), &["symbolic-ref", "--short", "HEAD"])?;
                Some(if code == 0 { name.trim().to_owned() } else { "HEAD".to_owned() })
            }
            Some(branch) => Some(branch.to_owned()),
            None => Some("HEAD".to_owned()),
        }
    }

    fn dirty(&self, dir: &Path) -> Option<bool> {
        if repository_root(dir).is_none() {
            return dir.is_dir().then_some(false);
        }
        let mut git = self.git(dir);
        // A look at the files would run the repository's own filters.
        let programs = said(git.programs())?;
        git.switch_off(programs.code, &programs.stdout).ok()?;
        let (code, said) = answer(&git, &["status", "--porcelain", "--untracked-files=no"])?;
        (code == 0).then(|| !said.trim().is_empty())
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        real(path)
    }

    fn home(&self) -> Option<PathBuf> {
        self.env.home()
    }

    fn git_alias(&self, dir: &Path, name: &str) -> Option<String> {
        let (code, said) = answer(&self.git(dir), &["config", "--get", &format!("alias.{name}")])?;
        (code == 0).then(|| said.trim_end_matches('\n').to_owned())
    }
}

/// The directory that holds `HEAD` of the working tree at `root`.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = String::from_utf8(read_limited(&git, LIMIT).ok()?).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

/// `path` without symbolic links, as far as it exists; what does not exist is taken as it is written.
fn real(path: &Path) -> Option<PathBuf> {
    if !path.is_absolute() {
        return None;
    }
    let mut found = PathBuf::from("/");
    let mut left: Vec<Box<OsStr>> = Vec::new();
    push(&mut left, path);
    let mut links = 0;
    while let Some(name) = left.pop() {
        if *name == *".." {
            found.pop();
            continue;
        }
        let next = found.join(&*name);
        match std::fs::read_link(&next) {
            Ok(to) => {
                links += 1;
                if links > LINKS {
                    return None;
                }
                if to.is_absolute() {
                    found = PathBuf::from("/");
                }
                push(&mut left, &to);
            }
            // No link, or nothing at all.
            Err(_) => found = next,
        }
    }
    Some(found)
}

/// The names of `path`, so that the first of them is taken first.
fn push(left: &mut Vec<Box<OsStr>>, path: &Path) {
    left.extend(path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.into()),
        Component::ParentDir => Some(OsStr::new("..").into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    }));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn machine(home: &Path) -> Machine {
        Machine::new(&Env::empty().with("HOME", home).with("PATH", "/usr/local/bin:/usr/bin:/bin"))
    }

    fn git(dir: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(dir).args(["-c", "user.name=n", "-c", "user.email=e@example.org"]).args(args);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", dir);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn the_branch_is_that_of_the_repository_around_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let (machine, repository) = (machine(dir.path()), dir.path().join("r"));
        fs::create_dir_all(repository.join("a/b")).unwrap();
        assert_eq!(machine.branch(&repository), Some(String::new()), "no repository, nothing to commit to");
        assert_eq!(machine.branch(&dir.path().join("missing")), None);
        git(&repository, &["init", "-q", "-b", "topic/x"]);
        git(&repository, &["commit", "-q", "--allow-empty", "-m", "m"]);
        assert_eq!(machine.branch(&repository.join("a/b")).as_deref(), Some("topic/x"));
        git(&repository, &["worktree", "add", "-q", "-b", "other", "../tree"]);
        assert_eq!(machine.branch(&dir.path().join("tree")).as_deref(), Some("other"));
        git(&repository, &["checkout", "-q", "--detach"]);
        assert_eq!(machine.branch(&repository).as_deref(), Some("HEAD"));
    }

    #[test]
    fn a_tree_is_dirty_by_what_a_reset_would_lose() {
        let dir = tempfile::tempdir().unwrap();
        let machine = machine(dir.path());
        let repository = dir.path().join("r");
        fs::create_dir(&repository).unwrap();
        assert_eq!(machine.dirty(&repository), Some(false), "no repository, nothing to lose");
        git(&repository, &["init", "-q"]);
        fs::write(repository.join("f"), "1").unwrap();
        assert_eq!(machine.dirty(&repository), Some(false), "an untracked file stays");
        git(&repository, &["add", "f"]);
        assert_eq!(machine.dirty(&repository), Some(true));
        git(&repository, &["commit", "-q", "-m", "m"]);
        assert_eq!(machine.dirty(&repository), Some(false));
        fs::remove_dir_all(repository.join(".git/objects")).unwrap();
        assert_eq!(machine.dirty(&repository), None, "a broken repository is not a clean one");
    }

    #[test]
    fn looking_starts_no_program_that_a_repository_names() {
        let dir = tempfile::tempdir().unwrap();
        let repository = dir.path().join("r");
        fs::create_dir(&repository).unwrap();
        git(&repository, &["init", "-q"]);
        let trap = dir.path().join("sprung");
        fs::write(repository.join(".gitattributes"), "* filter=a=b\n").unwrap();
        fs::write(repository.join("f"), "1").unwrap();
        git(&repository, &["add", "."]);
        git(&repository, &["commit", "-q", "-m", "m"]);
        for name in ["core.fsmonitor", "filter.a=b.clean"] {
            git(&repository, &["config", name, &format!("touch {}; cat", trap.display())]);
        }
        // As long as before, so that only its content tells: git would clean it to compare.
        fs::write(repository.join("f"), "2").unwrap();
        let machine = machine(dir.path());
        assert_eq!(machine.dirty(&repository), Some(true));
        machine.git_alias(&repository, "x");
        assert!(!trap.exists());
    }

    #[test]
    fn an_alias_is_what_git_says() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q"]);
        git(dir.path(), &["config", "alias.ci", "commit --no-verify"]);
        let machine = machine(dir.path());
        assert_eq!(machine.git_alias(dir.path(), "ci").as_deref(), Some("commit --no-verify"));
        assert_eq!(machine.git_alias(dir.path(), "none"), None);
    }

    #[test]
    fn links_are_followed_as_far_as_there_is_something() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(base.join("a/b")).unwrap();
        symlink("a/b", base.join("short")).unwrap();
        symlink(base.join("short/../c"), base.join("far")).unwrap();
        symlink("loop", base.join("loop")).unwrap();
        let machine = machine(&base);
        for (path, expected) in [
            ("short/x/y", Some("a/b/x/y")),
            ("short/..", Some("a")),
            ("far/z", Some("a/c/z")),
            ("missing/../a", Some("a")),
            ("loop/x", None),
        ] {
            assert_eq!(machine.real(&base.join(path)), expected.map(|path| base.join(path)), "{path}");
        }
        assert_eq!(machine.real(Path::new("relative")), None);
    }
}
