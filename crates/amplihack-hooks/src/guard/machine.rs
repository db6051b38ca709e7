//! The real machine, as the policy asks about it: only when a rule needs to know.

use std::collections::BTreeSet;
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

/// What the home of amplihack has in it. Where that is a directory of other things too, these are its state.
const PARTS: [&str; 11] = [
    "audit",
    "bin",
    "hook-sessions",
    "install",
    "once",
    "proofs",
    "recipe-runs",
    "remote",
    "remote-state.json",
    "sessions",
    "versions.json",
];

/// Facts about this machine.
#[derive(Debug, Clone)]
pub struct Machine {
    env: Env,
    launch: Option<PathBuf>,
}

impl Machine {
    /// The machine of a process with the environment `env`.
    pub fn new(env: &Env) -> Self {
        Self { env: env.clone(), launch: None }
    }

    /// The same for the hook of a launch, whose registration names the directory `launch`.
    #[must_use]
    pub fn of_launch(env: &Env, launch: Option<&Path>) -> Self {
        Self { env: env.clone(), launch: launch.map(Path::to_owned) }
    }

    /// The directory of state that `directory` lies in, if it does: the guard lets no agent write there.
    pub fn state_around(&self, directory: &Path) -> Option<PathBuf> {
        let real = real(directory);
        let holds = |state: &PathBuf| {
            directory.starts_with(state) || real.as_ref().is_some_and(|real| real.starts_with(state))
        };
        self.homes().into_iter().flat_map(spellings).find(holds)
    }

    /// Where this user's amplihack may keep its state: the home in force, that of the launch, whatever the environment says by now, and
    /// the default one.
    fn homes(&self) -> Vec<PathBuf> {
        let default = self.env.home().map(|home| home.join(".amplihack"));
        // A launch's directory is `sessions/<id>/hooks`, or one of its own elsewhere.
        let of_launch = self.launch.as_deref().filter(|launch| launch.is_absolute()).map(|launch| {
            let sessions = launch.ancestors().nth(2).filter(|sessions| sessions.ends_with("sessions"));
            sessions.and_then(Path::parent).unwrap_or(launch).to_owned()
        });
        let all: BTreeSet<PathBuf> =
            [self.env.amplihack_home(), of_launch, default].into_iter().flatten().collect();
        all.into_iter().collect()
    }

    /// The environment that it was made for.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The state of the remote session that this process is part of, which may have a root of its own. Where an earlier version's work tree
    /// lies in there, it is no state.
    fn remote_session(&self) -> Option<PathBuf> {
        let session = self.env.path("AMPLIHACK_REMOTE_SESSION").filter(|path| path.is_absolute())?;
        session.join("repo").is_symlink().then_some(session)
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

    fn state(&self) -> Vec<PathBuf> {
        let user = self.env.home();
        let mut all = BTreeSet::new();
        for home in self.homes().into_iter().flat_map(spellings) {
            let shared = user.as_ref().is_some_and(|user| {
                user.starts_with(&home) || real(user).is_some_and(|user| user.starts_with(&home))
            });
            if shared {
                all.extend(PARTS.map(|part| home.join(part)));
            } else {
                all.insert(home);
            }
        }
        all.extend(self.remote_session().into_iter().flat_map(spellings));
        all.into_iter().collect()
    }

    fn git_alias(&self, dir: &Path, name: &str) -> Option<String> {
        let (code, said) = answer(&self.git(dir), &["config", "--get", &format!("alias.{name}")])?;
        (code == 0).then(|| said.trim_end_matches('\n').to_owned())
    }
}

/// `path` as it is written, and without symbolic links.
fn spellings(path: PathBuf) -> impl Iterator<Item = PathBuf> {
    let real = real(&path).filter(|real| *real != path);
    std::iter::once(path).chain(real)
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

    use amplihack_policy::{Decision, Event, Limits, Policy};

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

    /// What the policy says of a write to a file, and of a command, on the machine.
    fn denied(machine: &Machine, file: &Path) -> [bool; 2] {
        let cwd = Path::new("/");
        let script = format!("rm -rf '{}'", file.display());
        let events = [Event::Write { path: file, cwd }, Event::Shell { script: script.as_bytes(), cwd }];
        events.map(|event| {
            let verdict = Policy::standard().judge(&event, machine, &Limits::patient());
            let own =
                verdict.rule.as_ref().is_some_and(|rule| rule.to_string() == "guard_disabling/own-files");
            assert_eq!(own, verdict.decision == Decision::Deny, "{file:?}: {verdict:?}");
            own
        })
    }

    #[test]
    fn the_state_is_guarded_wherever_it_is_however_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        for name in ["home/.amplihack/sessions", "home/proj/sub", "ah/sessions", "launched/sessions/s/hooks"]
        {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        symlink("ah", base.join("link")).unwrap();
        symlink(base.join("ah/sessions"), base.join("home/proj/way")).unwrap();
        let (home, ah) = (Some("home"), base.join("ah").display().to_string());
        let at = |name: &str| base.join(name).display().to_string();
        let default = &["home/.amplihack/sessions/x", "home/.amplihack"][..];
        let named = &["ah/sessions/x", "ah", "link/sessions/x", "home/proj/way/x"][..];
        let work = &[
            "home/proj/f",
            "home/proj/sub",
            "home/.local/share/amplihack/worktrees/proj/x/f",
            "ahead/f",
        ][..];
        // HOME, AMPLIHACK_HOME, what is guarded, what is not.
        for (home, named_home, guarded, free) in [
            (home, None, &[default][..], &[named, work][..]),
            (home, Some(ah.clone()), &[default, named], &[work]),
            (home, Some(format!("{ah}/")), &[default, named], &[work]),
            (home, Some(format!("{ah}/../ah/./")), &[default, named], &[work]),
            (home, Some(at("link")), &[default, named], &[work]),
            (home, Some(at("home/.amplihack")), &[default], &[named, work]),
            // A relative one counts nowhere.
            (home, Some("ah".to_owned()), &[default], &[named, work]),
            // What else lies in the user's home is no state.
            (home, Some(at("home")), &[default, &["home/sessions/x", "home/once"]], &[named, work]),
            (None, Some(ah.clone()), &[named], &[work]),
            (None, None, &[], &[named, work]),
        ] {
            let mut env = Env::empty().with("PATH", "/usr/bin:/bin");
            if let Some(home) = home {
                env.set("HOME", base.join(home));
            }
            if let Some(named) = &named_home {
                env.set("AMPLIHACK_HOME", named);
            }
            let machine = Machine::new(&env);
            for (expected, files) in [(true, guarded), (false, free)] {
                for file in files.iter().copied().flatten() {
                    let found = denied(&machine, &base.join(file));
                    assert_eq!(found, [expected; 2], "{file} with {home:?} and {named_home:?}");
                }
            }
        }
    }

    #[test]
    fn a_launchs_home_is_guarded_whatever_the_environment_says_by_now() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let env = Env::empty().with("HOME", base.join("home")).with("AMPLIHACK_HOME", base.join("other"));
        let launch = base.join("launched/sessions/s/hooks");
        let machine = Machine::of_launch(&env, Some(&launch));
        for name in
            ["launched/audit/x", "launched/sessions/s/hooks/hooks.json", "other/x", "home/.amplihack/x"]
        {
            assert_eq!(denied(&machine, &base.join(name)), [true, true], "{name}");
        }
        // Hooks that could be written nowhere else.
        let aside = base.join("tmp/amplihack-hooks-s");
        let machine = Machine::of_launch(&env, Some(&aside));
        assert_eq!(denied(&machine, &aside.join("hooks.json")), [true, true]);
        assert_eq!(denied(&machine, &base.join("tmp/f")), [false, false]);
    }

    #[test]
    fn work_below_the_state_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(base.join("home/.amplihack/proj")).unwrap();
        symlink(base.join("home/.amplihack/proj"), base.join("proj")).unwrap();
        let machine = machine(&base.join("home"));
        let state = Some(base.join("home/.amplihack"));
        assert_eq!(machine.state_around(&base.join("home/.amplihack/proj")), state);
        assert_eq!(machine.state_around(&base.join("proj")), state);
        assert_eq!(machine.state_around(&base.join("home/proj")), None);
        let whole = Machine::new(&Env::empty().with("HOME", base.join("home")).with("AMPLIHACK_HOME", &base));
        assert_eq!(whole.state_around(&base.join("home/proj")), Some(base.clone()));
    }

    #[test]
    fn the_state_of_a_remote_session_is_guarded_and_its_work_tree_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let (session, tree) = (base.join("root/sessions/s"), base.join("root/work/s/repo"));
        for place in [&session, &tree, &base.join("old/sessions/s/repo")] {
            fs::create_dir_all(place).unwrap();
        }
        symlink(&tree, session.join("repo")).unwrap();
        let of = |session: &Path| {
            Machine::new(
                &Env::empty().with("HOME", base.join("home")).with("AMPLIHACK_REMOTE_SESSION", session),
            )
        };
        assert_eq!(denied(&of(&session), &session.join("exit")), [true, true]);
        assert_eq!(denied(&of(&session), &tree.join("f")), [false, false]);
        let old = base.join("old/sessions/s");
        assert_eq!(denied(&of(&old), &old.join("repo/f")), [false, false]);
    }
}
