//! The real machine, as the policy asks about it: only when a rule needs to know.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use amplihack_agent::{AgentBinary, GuardState, line_finding};
use amplihack_config::env::Env;
use amplihack_config::git::IsolatedGit;
use amplihack_policy::{FileText, World};
use amplihack_sys::fs::{find_repository_border, find_repository_root, read_regular};
use amplihack_sys::{ProgramOutput, capture_output};

use super::files;

/// The longest time that git may take for an answer. The hook's own deadline is five seconds.
const PATIENCE: Duration = Duration::from_millis(1500);
/// Bytes of a file or an answer of git's.
const LIMIT: u64 = 64 * 1024;
/// Symbolic links that are followed in one path, as many as Linux follows.
const LINKS: usize = 40;

/// Entries of the home of amplihack. Where that is a directory of other things too, these are its state.
const PARTS: [&str; 14] = [
    ".launches",
    "audit",
    "bin",
    "hook-sessions",
    "install",
    "programs.json",
    "proofs",
    "recipe-runs",
    "remote",
    "remote-state.json",
    "sessions",
    "shims",
    "trusted",
    "versions.json",
];

/// Facts about this machine.
#[derive(Debug, Clone)]
pub struct GuardMachine {
    env: Env,
    /// Git's ceilings, which a command can take away by itself: none, but in tests whose directory lies in somebody's repository.
    ceilings: Option<OsString>,
    launch: Option<PathBuf>,
    /// Directories that must survive, besides the one where a call runs.
    kept: RefCell<Vec<PathBuf>>,
}

impl GuardMachine {
    /// The machine of a process with the environment `env`.
    pub fn new(env: &Env) -> Self {
        Self::for_launch(env, None)
    }

    /// The machine for the hook of a launch, whose registration names the directory `launch`.
    #[must_use]
    pub fn for_launch(env: &Env, launch: Option<&Path>) -> Self {
        Self {
            env: env.clone(),
            ceilings: None,
            launch: launch.map(Path::to_owned),
            kept: RefCell::default(),
        }
    }

    /// Adds a directory that must survive: where the session lives, which need not be where a call runs.
    pub(super) fn keep_directory(&self, directory: &Path) {
        if directory.is_absolute() {
            self.kept.borrow_mut().push(directory.to_owned());
        }
    }

    /// The directory of state that `directory` lies in, if it does: the guard lets no agent write there.
    pub fn state_around(&self, directory: &Path) -> Option<PathBuf> {
        let real = resolve_links(directory);
        let holds = |state: &PathBuf| {
            directory.starts_with(state) || real.as_ref().is_some_and(|real| real.starts_with(state))
        };
        self.state_homes().into_iter().flat_map(path_spellings).find(holds)
    }

    /// Directories in which this user's amplihack may keep state: the home in force, that of the launch, whatever the environment says, and
    /// the default one.
    fn state_homes(&self) -> Vec<PathBuf> {
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

    /// The repository around `dir`, whatever ceilings there are.
    fn repository_root(&self, dir: &Path) -> Option<PathBuf> {
        find_repository_root(dir, self.ceilings.as_deref())
    }

    /// Reports whether nothing can be lost in `dir`: a broken repository may hold everything.
    fn has_no_repository(&self, dir: &Path) -> bool {
        dir.is_dir() && find_repository_border(dir, self.ceilings.as_deref()).is_none()
    }

    /// git in `dir`, with nothing of the environment but where its programs and the user's settings are.
    fn git_in(&self, dir: &Path) -> IsolatedGit {
        let env: Env = ["PATH", "HOME", "XDG_CONFIG_HOME"]
            .into_iter()
            .filter_map(|name| Some((name, self.env.get(name)?)))
            .collect();
        IsolatedGit::new(&env, dir)
    }
}

/// The output of `git ARGS`, and its exit code.
fn git_output(git: &IsolatedGit, args: &[&str]) -> Option<(i32, String)> {
    let mut command = git.base_command();
    command.args(args);
    let said = capture_bounded(command)?;
    Some((said.code?, String::from_utf8(said.stdout).ok()?))
}

fn capture_bounded(command: Command) -> Option<ProgramOutput> {
    capture_output(command, PATIENCE, usize::try_from(LIMIT).unwrap_or(usize::MAX)).ok()
}

impl World for GuardMachine {
    /// The branch; empty where there is no repository, and `HEAD` where no branch is checked out.
    fn branch(&self, dir: &Path) -> Option<String> {
        let Some(root) = self.repository_root(dir) else {
            return self.has_no_repository(dir).then(String::new);
        };
        let head = read_regular(&git_directory(&root)?.join("HEAD"), LIMIT).ok()?;
        let head = String::from_utf8(head).ok()?;
        match head.trim_end().strip_prefix("ref: refs/heads/") {
            // The reference store that is not made of files keeps the truth elsewhere.
            Some(".invalid") => {
                let (code, name) = git_output(&self.git_in(dir), &["symbolic-ref", "--short", "HEAD"])?;
                Some(if code == 0 { name.trim().to_owned() } else { "HEAD".to_owned() })
            }
            Some(branch) => Some(branch.to_owned()),
            None => Some("HEAD".to_owned()),
        }
    }

    fn dirty(&self, dir: &Path) -> Option<bool> {
        if self.repository_root(dir).is_none() {
            return self.has_no_repository(dir).then_some(false);
        }
        let mut git = self.git_in(dir);
        // A look at the files would run the repository's own filters.
        let programs = capture_bounded(git.list_programs())?;
        git.switch_off(programs.code, &programs.stdout).ok()?;
        let (code, said) = git_output(&git, &["status", "--porcelain", "--untracked-files=no"])?;
        (code == 0).then(|| !said.trim().is_empty())
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        resolve_links(path)
    }

    fn home(&self) -> Option<PathBuf> {
        self.env.home()
    }

    fn state_directories(&self) -> Vec<PathBuf> {
        let user = self.env.home();
        let mut all = BTreeSet::new();
        for home in self.state_homes().into_iter().flat_map(path_spellings) {
            let shared = user.as_ref().is_some_and(|user| {
                user.starts_with(&home) || resolve_links(user).is_some_and(|user| user.starts_with(&home))
            });
            if shared {
                all.extend(PARTS.map(|part| home.join(part)));
            } else {
                all.insert(home);
            }
        }
        all.extend(self.remote_session().into_iter().flat_map(path_spellings));
        // A search removes directories by their names, and this one's is known.
        all.extend(self.launch.clone().filter(|launch| launch.is_absolute()));
        all.into_iter().collect()
    }

    fn guard_directories(&self) -> Vec<(PathBuf, &'static str)> {
        files::guard_directories(&self.env)
    }

    fn guard_programs(&self) -> Vec<PathBuf> {
        files::guard_programs(&self.env)
    }

    fn kept_directories(&self) -> Vec<PathBuf> {
        let mut kept = self.kept.borrow().clone();
        kept.extend(std::env::current_dir());
        kept
    }

    fn env_variable(&self, name: &str) -> Option<String> {
        files::directory_variable(&self.env, name)
    }

    fn reaches_no_model(&self, agent: AgentBinary, args: &[OsString]) -> bool {
        line_finding(agent, args).state == GuardState::NotNeeded
    }

    fn path_exists(&self, path: &Path) -> Option<bool> {
        path.is_absolute().then(|| path.symlink_metadata().is_ok())
    }

    fn file_text(&self, path: &Path) -> Option<FileText> {
        files::file_text(path, self.launch.as_deref())
    }

    fn git_alias(&self, dir: &Path, name: &str) -> Option<String> {
        let (code, said) = git_output(&self.git_in(dir), &["config", "--get", &format!("alias.{name}")])?;
        (code == 0).then(|| said.trim_end_matches('\n').to_owned())
    }
}

/// `path` as it is written, and without symbolic links.
pub(super) fn path_spellings(path: PathBuf) -> impl Iterator<Item = PathBuf> {
    let real = resolve_links(&path).filter(|real| *real != path);
    std::iter::once(path).chain(real)
}

/// The directory that holds `HEAD` of the working tree at `root`.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = String::from_utf8(read_regular(&git, LIMIT).ok()?).ok()?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

/// `path` without symbolic links, as far as it exists; what does not exist is taken as it is written.
fn resolve_links(path: &Path) -> Option<PathBuf> {
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

    use amplihack_policy::{Event, Policy};
    use amplihack_shell::Limits;
    use amplihack_verdict::Decision;

    use super::*;

    fn machine(home: &Path) -> GuardMachine {
        let env =
            Env::empty().with_variable("HOME", home).with_variable("PATH", "/usr/local/bin:/usr/bin:/bin");
        GuardMachine { ceilings: Some(std::env::temp_dir().into()), ..GuardMachine::new(&env) }
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
    fn agents_started_by_a_session_are_told_by_their_own_table_of_commands() {
        let dir = tempfile::tempdir().unwrap();
        let machine = machine(dir.path());
        let judged = |script: &str| {
            let event = Event::Shell { script: script.as_bytes(), cwd: dir.path() };
            let limits = Limits { deadline: Duration::from_secs(5), ..Limits::default() };
            Policy::with_builtin_rules().judge(&event, &machine, &limits).decision
        };
        for free in [
            "claude --version",
            "claude mcp list",
            "claude --model opus mcp list",
            "claude update",
            "codex login status",
            "codex exec --help",
            "codex app-server generate-ts --out x",
            "copilot help",
            "gemini extensions list",
            "amp threads list",
            "amp usage",
            "amplifier bundle list",
        ] {
            assert_eq!(judged(free), Decision::None, "{free}");
        }
        for asked in [
            "claude mcp serve",
            "claude attach x",
            "claude config get theme",
            "claude list",
            "claude --new-flag mcp list",
            "claude \"$X\" mcp list",
            "codex review",
            "codex queue --thread x --message y",
            "codex mcp-server",
            "copilot init",
            "gemini list",
            "amp review",
            "amplifier -v x",
            "npx -y @openai/codex@latest exec x",
        ] {
            assert_eq!(judged(asked), Decision::Ask, "{asked}");
        }
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
    fn denied(machine: &GuardMachine, file: &Path) -> [bool; 2] {
        let cwd = Path::new("/");
        let script = format!("rm -rf '{}'", file.display());
        let events = [Event::Write { path: file, cwd }, Event::Shell { script: script.as_bytes(), cwd }];
        events.map(|event| {
            let verdict = Policy::with_builtin_rules().judge(&event, machine, &Limits::with_long_deadline());
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
            (
                home,
                Some(at("home")),
                &[default, &["home/sessions/x", "home/programs.json", "home/.launches/1-2-s"]],
                &[named, work],
            ),
            (None, Some(ah.clone()), &[named], &[work]),
            (None, None, &[], &[named, work]),
        ] {
            let mut env = Env::empty().with_variable("PATH", "/usr/bin:/bin");
            if let Some(home) = home {
                env.set_variable("HOME", base.join(home));
            }
            if let Some(named) = &named_home {
                env.set_variable("AMPLIHACK_HOME", named);
            }
            let machine = GuardMachine::new(&env);
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
        let env = Env::empty()
            .with_variable("HOME", base.join("home"))
            .with_variable("AMPLIHACK_HOME", base.join("other"));
        let launch = base.join("launched/sessions/s/hooks");
        let machine = GuardMachine::for_launch(&env, Some(&launch));
        for name in
            ["launched/audit/x", "launched/sessions/s/hooks/hooks.json", "other/x", "home/.amplihack/x"]
        {
            assert_eq!(denied(&machine, &base.join(name)), [true, true], "{name}");
        }
        // Hooks that could be written nowhere else.
        let aside = base.join("tmp/amplihack-hooks-s");
        let machine = GuardMachine::for_launch(&env, Some(&aside));
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
        let whole = GuardMachine::new(
            &Env::empty().with_variable("HOME", base.join("home")).with_variable("AMPLIHACK_HOME", &base),
        );
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
            GuardMachine::new(
                &Env::empty()
                    .with_variable("HOME", base.join("home"))
                    .with_variable("AMPLIHACK_REMOTE_SESSION", session),
            )
        };
        assert_eq!(denied(&of(&session), &session.join("exit")), [true, true]);
        assert_eq!(denied(&of(&session), &tree.join("f")), [false, false]);
        let old = base.join("old/sessions/s");
        assert_eq!(denied(&of(&old), &old.join("repo/f")), [false, false]);
    }
}
